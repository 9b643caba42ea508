/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/rbac.h"

#include "authz/bootstrap.h"
#include "json/yaml.h"

#define GROUP "rbac.authorization.k8s.io"

static struct json make_object(struct arena *a, str kind, const struct rbac_names *names)
{
    struct json object = json_obj(), metadata = json_obj(), labels = json_obj();
    json_add(a, &metadata, S("name"), json_str(names->name));
    if (names->namespace.n)
        json_add(a, &metadata, S("namespace"), json_str(names->namespace));
    if (names->component.n) {
        json_add(a, &labels, S("app.kubernetes.io/name"), json_str(S("reeve")));
        json_add(a, &labels, S("app.kubernetes.io/component"), json_str(names->component));
        json_add(a, &metadata, S("labels"), labels);
    }
    json_add(a, &object, S("apiVersion"), json_str(S(GROUP "/v1")));
    json_add(a, &object, S("kind"), json_str(kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

void rbac_add_rights(struct arena *a, struct json *rules, const char *const *rights)
{
    for (; *rights; rights++) {
        struct json rule = bootstrap_rule(a, str_of(*rights));
        bool is_there = false;
        json_each_item(rules, known) is_there = is_there || json_equal(known, &rule);
        if (!is_there)
            json_push(a, rules, rule);
    }
}

void rbac_add_lease(struct arena *a, struct json *rules, str lease)
{
    json_push(a, rules, bootstrap_rule(a, S("create:coordination.k8s.io:leases")));
    json_push(a, rules, bootstrap_rule(a, str_fmt(a, "get,update:coordination.k8s.io:leases:%.*s", STR(lease))));
}

struct json rbac_role(struct arena *a, const struct rbac_names *names, struct json rules)
{
    struct json role = make_object(a, names->namespace.n ? S("Role") : S("ClusterRole"), names);
    json_add(a, &role, S("rules"), rules);
    return role;
}

struct json rbac_binding(struct arena *a, const struct rbac_names *names, const struct rbac_grant *grant)
{
    struct json binding = make_object(a, names->namespace.n ? S("RoleBinding") : S("ClusterRoleBinding"), names);
    struct json ref = json_obj(), subject = json_obj(), subjects = json_arr();
    json_add(a, &ref, S("apiGroup"), json_str(S(GROUP)));
    json_add(a, &ref, S("kind"), json_str(grant->is_cluster_role ? S("ClusterRole") : S("Role")));
    json_add(a, &ref, S("name"), json_str(grant->role));
    json_add(a, &subject, S("kind"), json_str(S("ServiceAccount")));
    json_add(a, &subject, S("name"), json_str(grant->account));
    json_add(a, &subject, S("namespace"), json_str(grant->account_namespace));
    json_push(a, &subjects, subject);
    json_add(a, &binding, S("roleRef"), ref);
    json_add(a, &binding, S("subjects"), subjects);
    return binding;
}

void rbac_print(struct buf *b, const struct json *object)
{
    buf_add_str(b, S("---\n"));
    yaml_encode(b, object);
}
