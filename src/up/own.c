/* SPDX-License-Identifier: Apache-2.0 */
#include "up/own.h"

#include "controllers/clusters/role.h"
#include "controllers/controllers.h"
#include "controllers/rbac.h"
#include "package/crds.h"

typedef VEC(str) text_vec;

static str text_of(struct arena *a, struct json object)
{
    struct buf text = {.arena = a};
    json_encode(&text, &object, 0);
    return buf_str(&text);
}

/* A role with exactly the rights of a controller, bound to its account. */
static void add_row(struct arena *a, text_vec *all, const struct controller_row *row)
{
    struct rbac_names names = {.name = str_fmt(a, "reeve:controller:%s", row->account)};
    struct rbac_grant grant = {.role = names.name,
                               .is_cluster_role = true,
                               .account_namespace = S("kube-system"),
                               .account = str_of(row->account)};
    struct json rules = json_arr();
    rbac_add_rights(a, &rules, row->rights);
    *vec_push(a, all) = text_of(a, rbac_role(a, &names, rules));
    *vec_push(a, all) = text_of(a, rbac_binding(a, &names, &grant));
}

struct strs own_objects(struct arena *a)
{
    text_vec all = {0};
    for (size_t i = 0; i < package_crds_n; i++)
        *vec_push(a, &all) = package_crds[i];
    for (size_t i = 0; i < controllers_count(); i++)
        if (!controllers_row(i)->in_kubernetes)
            add_row(a, &all, controllers_row(i));
    *vec_push(a, &all) = text_of(a, clusters_agent_role(a));
    return (struct strs){all.p, all.n};
}
