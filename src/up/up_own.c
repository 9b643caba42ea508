/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_own.h"

#include "controllers/clusters/clusters_role.h"
#include "controllers/controllers.h"
#include "package/crds.h"

void own_add(struct arena *a, own_texts *all, struct json object)
{
    struct buf text = {.arena = a};
    json_encode(&text, &object, 0);
    *vec_push(a, all) = buf_str(&text);
}

void own_add_rights_in(struct arena *a, own_texts *all, const struct rbac_names *names, str account, struct json rules)
{
    struct rbac_grant grant = {.role = names->name,
                               .is_cluster_role = names->namespace.n == 0,
                               .account_namespace = S("kube-system"),
                               .account = account};
    own_add(a, all, rbac_role(a, names, rules));
    own_add(a, all, rbac_binding(a, names, &grant));
}

void own_add_rights(struct arena *a, own_texts *all, str name, str account, struct json rules)
{
    own_add_rights_in(a, all, &(struct rbac_names){.name = name}, account, rules);
}

void own_objects(struct arena *a, own_texts *all)
{
    for (size_t i = 0; i < package_crds_n; i++)
        *vec_push(a, all) = package_crds[i];
    for (size_t i = 0; i < controllers_count(); i++) {
        const struct controller_row *row = controllers_row(i);
        struct json rules = json_arr();
        if (row->in_kubernetes)
            continue;
        rbac_add_rights(a, &rules, row->rights);
        own_add_rights(a, all, str_fmt(a, "reeve:controller:%s", row->account), str_of(row->account), rules);
    }
    own_add(a, all, clusters_agent_role(a));
}
