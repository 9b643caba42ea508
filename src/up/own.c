/* SPDX-License-Identifier: Apache-2.0 */
#include "up/own.h"

#include "authz/bootstrap.h"
#include "controllers/controllers.h"
#include "package/crds.h"

#define GROUP "rbac.authorization.k8s.io"

static struct json object_of(struct arena *a, str kind, str name)
{
    struct json metadata = json_obj(), object = json_obj();
    json_add(a, &metadata, S("name"), json_str(name));
    json_add(a, &object, S("apiVersion"), json_str(S(GROUP "/v1")));
    json_add(a, &object, S("kind"), json_str(kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static struct json role_of(struct arena *a, const struct controller_row *row, str name)
{
    struct json role = object_of(a, S("ClusterRole"), name), rules = json_arr();
    for (const char *const *right = row->rights; *right; right++)
        json_push(a, &rules, bootstrap_rule(a, str_of(*right)));
    json_add(a, &role, S("rules"), rules);
    return role;
}

static struct json binding_of(struct arena *a, const struct controller_row *row, str name)
{
    struct json binding = object_of(a, S("ClusterRoleBinding"), name);
    struct json ref = json_obj(), subject = json_obj(), subjects = json_arr();
    json_add(a, &ref, S("apiGroup"), json_str(S(GROUP)));
    json_add(a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_add(a, &ref, S("name"), json_str(name));
    json_add(a, &subject, S("kind"), json_str(S("ServiceAccount")));
    json_add(a, &subject, S("name"), json_str(str_of(row->account)));
    json_add(a, &subject, S("namespace"), json_str(S("kube-system")));
    json_push(a, &subjects, subject);
    json_add(a, &binding, S("roleRef"), ref);
    json_add(a, &binding, S("subjects"), subjects);
    return binding;
}

static str text_of(struct arena *a, struct json object)
{
    struct buf text = {.arena = a};
    json_encode(&text, &object, 0);
    return buf_str(&text);
}

struct strs own_objects(struct arena *a)
{
    VEC(str) all = {0};
    for (size_t i = 0; i < package_crds_n; i++)
        *vec_push(a, &all) = package_crds[i];
    for (size_t i = 0; i < controllers_count(); i++) {
        const struct controller_row *row = controllers_row(i);
        str name = str_fmt(a, "reeve:controller:%s", row->account);
        if (row->in_kubernetes)
            continue;
        *vec_push(a, &all) = text_of(a, role_of(a, row, name));
        *vec_push(a, &all) = text_of(a, binding_of(a, row, name));
    }
    return (struct strs){all.p, all.n};
}
