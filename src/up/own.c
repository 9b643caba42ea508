/* SPDX-License-Identifier: Apache-2.0 */
#include "up/own.h"

#include "controllers/clusters/role.h"
#include "controllers/controllers.h"
#include "controllers/rbac.h"
#include "package/crds.h"

static str text_of(struct arena *a, struct json object)
{
    struct buf text = {.arena = a};
    json_encode(&text, &object, 0);
    return buf_str(&text);
}

void own_add_rights(struct arena *a, own_texts *all, str name, str account, struct json rules)
{
    struct rbac_names names = {.name = name};
    struct rbac_grant grant = {
        .role = name, .is_cluster_role = true, .account_namespace = S("kube-system"), .account = account};
    *vec_push(a, all) = text_of(a, rbac_role(a, &names, rules));
    *vec_push(a, all) = text_of(a, rbac_binding(a, &names, &grant));
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
    *vec_push(a, all) = text_of(a, clusters_agent_role(a));
}
