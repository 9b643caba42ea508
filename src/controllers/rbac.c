/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/rbac.h"

#include "authz/bootstrap.h"
#include "json/yaml.h"

#define GROUP "rbac.authorization.k8s.io"

static struct json make_object(struct arena *a, const char *kind, str name, str namespace)
{
    struct json object = json_obj(), metadata = json_obj(), labels = json_obj();
    json_add(a, &labels, S("app.kubernetes.io/name"), json_str(S("reeve")));
    json_add(a, &labels, S("app.kubernetes.io/component"), json_str(S("manager")));
    json_add(a, &metadata, S("name"), json_str(name));
    if (namespace.n)
        json_add(a, &metadata, S("namespace"), json_str(namespace));
    json_add(a, &metadata, S("labels"), labels);
    json_add(a, &object, S("apiVersion"), json_str(S(GROUP "/v1")));
    json_add(a, &object, S("kind"), json_str(str_of(kind)));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static struct json make_binding(struct arena *a, const struct rbac_args *args, const char *kind, const char *role)
{
    bool is_cluster = str_has_prefix(str_of(kind), S("Cluster"));
    struct json binding = make_object(a, kind, args->name, is_cluster ? (str){0} : args->namespace);
    struct json ref = json_obj(), subject = json_obj(), subjects = json_arr();
    json_add(a, &ref, S("apiGroup"), json_str(S(GROUP)));
    json_add(a, &ref, S("kind"), json_str(str_of(role)));
    json_add(a, &ref, S("name"), json_str(args->name));
    json_add(a, &subject, S("kind"), json_str(S("ServiceAccount")));
    json_add(a, &subject, S("name"), json_str(args->name));
    json_add(a, &subject, S("namespace"), json_str(args->namespace));
    json_push(a, &subjects, subject);
    json_add(a, &binding, S("roleRef"), ref);
    json_add(a, &binding, S("subjects"), subjects);
    return binding;
}

/* Each rule once, in the order of the rows. */
static struct json all_rules(struct arena *a, const struct rbac_args *args)
{
    struct json rules = json_arr();
    for (size_t i = 0; i < args->n_rows; i++) {
        for (const char *const *right = args->rows[i]->rights; *right; right++) {
            struct json rule = bootstrap_rule(a, str_of(*right));
            bool is_there = false;
            json_each_item(&rules, known) is_there = is_there || json_equal(known, &rule);
            if (!is_there)
                json_push(a, &rules, rule);
        }
    }
    return rules;
}

static struct json lease_rules(struct arena *a, str lease)
{
    struct json rules = json_arr();
    json_push(a, &rules, bootstrap_rule(a, S("create:coordination.k8s.io:leases")));
    json_push(a, &rules, bootstrap_rule(a, str_fmt(a, "get,update:coordination.k8s.io:leases:%.*s", STR(lease))));
    return rules;
}

static void print(struct buf *b, const struct json *object)
{
    buf_add_str(b, S("---\n"));
    yaml_encode(b, object);
}

void rbac_print(struct buf *b, const struct rbac_args *args)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json role = make_object(&scratch, "ClusterRole", args->name, (str){0});
    json_add(&scratch, &role, S("rules"), all_rules(&scratch, args));
    struct json binding = make_binding(&scratch, args, "ClusterRoleBinding", "ClusterRole");
    print(b, &role);
    print(b, &binding);
    if (args->lease.n == 0)
        return;
    role = make_object(&scratch, "Role", args->name, args->namespace);
    json_add(&scratch, &role, S("rules"), lease_rules(&scratch, args->lease));
    binding = make_binding(&scratch, args, "RoleBinding", "Role");
    print(b, &role);
    print(b, &binding);
}
