/* SPDX-License-Identifier: Apache-2.0 */
/* From rows of the tables to objects. */
#include "authz/bootstrap.h"

#include "authz/bootstrap_tables.h"

#include <assert.h>

#define GROUP "rbac.authorization.k8s.io"
#define AGGREGATE_PREFIX GROUP "/"
#define CONTROLLER_PREFIX "system:controller:"

static struct json text(const char *s)
{
    return json_str(str_of(s));
}

static struct json list_of(struct arena *a, str commas)
{
    struct json list = json_arr();
    str item;
    bool more;
    do {
        more = str_cut(commas, ',', &item, &commas);
        json_push(a, &list, json_str(item));
    } while (more);
    return list;
}

/* "get,list::pods" and "get@/version" */
struct json bootstrap_rule(struct arena *a, str source)
{
    static const str fields[] = {S_INIT("apiGroups"), S_INIT("resources"), S_INIT("resourceNames")};
    struct json rule = json_obj();
    str verbs, rest, part;
    if (str_cut(source, '@', &verbs, &rest)) {
        json_add(a, &rule, S("verbs"), list_of(a, verbs));
        json_add(a, &rule, S("nonResourceURLs"), list_of(a, rest));
        return rule;
    }
    enum { FIELDS = sizeof fields / sizeof *fields };
    bool more = str_cut(source, ':', &verbs, &rest);
    json_add(a, &rule, S("verbs"), list_of(a, verbs));
    for (size_t i = 0; more; i++) {
        part = rest;
        more = i + 1 < FIELDS && str_cut(rest, ':', &part, &rest);
        json_add(a, &rule, fields[i], list_of(a, part));
    }
    return rule;
}

static struct json make_object(struct arena *a, const char *kind, str name, const char *namespace, const char *label)
{
    struct json object = json_obj(), labels = json_obj(), notes = json_obj(), meta = json_obj();
    json_add(a, &labels, S("kubernetes.io/bootstrapping"), text("rbac-defaults"));
    if (label)
        json_add(a, &labels, str_fmt(a, AGGREGATE_PREFIX "%s", label), text("true"));
    json_add(a, &notes, S("rbac.authorization.kubernetes.io/autoupdate"), text("true"));
    json_add(a, &meta, S("name"), json_str(name));
    if (namespace)
        json_add(a, &meta, S("namespace"), text(namespace));
    json_add(a, &meta, S("labels"), labels);
    json_add(a, &meta, S("annotations"), notes);
    json_add(a, &object, S("kind"), text(kind));
    json_add(a, &object, S("apiVersion"), text(GROUP "/v1"));
    json_add(a, &object, S("metadata"), meta);
    return object;
}

static struct json aggregation_rule(struct arena *a, const char *label)
{
    struct json labels = json_obj(), selector = json_obj(), selectors = json_arr(), rule = json_obj();
    json_add(a, &labels, str_fmt(a, AGGREGATE_PREFIX "%s", label), text("true"));
    json_add(a, &selector, S("matchLabels"), labels);
    json_push(a, &selectors, selector);
    json_add(a, &rule, S("clusterRoleSelectors"), selectors);
    return rule;
}

static struct json make_role(struct arena *a, const struct bootstrap_role *row, const char *prefix)
{
    struct json rules = json_arr();
    struct json role = make_object(a, row->namespace ? "Role" : "ClusterRole", str_fmt(a, "%s%s", prefix, row->name),
                                   row->namespace, row->label);
    for (size_t i = 0; row->rules[i]; i++)
        json_push(a, &rules, bootstrap_rule(a, str_of(row->rules[i])));
    json_add(a, &role, S("rules"), row->selects ? json_null() : rules);
    if (row->selects)
        json_add(a, &role, S("aggregationRule"), aggregation_rule(a, row->selects));
    return role;
}

/* "Group g" and "ServiceAccount namespace/name" */
static struct json make_subject(struct arena *a, str source)
{
    struct json subject = json_obj();
    str kind, who, namespace, name;
    bool has_kind = str_cut(source, ' ', &kind, &who);
    assert(has_kind);
    json_add(a, &subject, S("kind"), json_str(kind));
    if (str_cut(who, '/', &namespace, &name)) {
        json_add(a, &subject, S("name"), json_str(name));
        json_add(a, &subject, S("namespace"), json_str(namespace));
    } else {
        json_add(a, &subject, S("apiGroup"), text(GROUP));
        json_add(a, &subject, S("name"), json_str(who));
    }
    return subject;
}

static struct json make_binding(struct arena *a, const struct bootstrap_binding *row)
{
    struct json subjects = json_arr(), ref = json_obj();
    struct json binding =
        make_object(a, row->namespace ? "RoleBinding" : "ClusterRoleBinding", str_of(row->name), row->namespace, NULL);
    for (size_t i = 0; row->subjects[i]; i++)
        json_push(a, &subjects, make_subject(a, str_of(row->subjects[i])));
    json_add(a, &ref, S("apiGroup"), text(GROUP));
    json_add(a, &ref, S("kind"), text(row->namespace ? "Role" : "ClusterRole"));
    json_add(a, &ref, S("name"), text(row->role ? row->role : row->name));
    if (json_len(&subjects))
        json_add(a, &binding, S("subjects"), subjects);
    json_add(a, &binding, S("roleRef"), ref);
    return binding;
}

static struct json controller_binding(struct arena *a, const struct bootstrap_role *controller)
{
    str name = str_fmt(a, CONTROLLER_PREFIX "%s", controller->name);
    str subject = str_fmt(a, "ServiceAccount kube-system/%s", controller->name);
    struct bootstrap_binding row = {.name = str_cstr(a, name), {str_cstr(a, subject)}};
    return make_binding(a, &row);
}

size_t bootstrap_count(void)
{
    return bootstrap_cluster_roles_n + 2 * bootstrap_controllers_n + bootstrap_cluster_role_bindings_n +
           bootstrap_namespaced_roles_n + bootstrap_role_bindings_n;
}

struct json bootstrap_object(struct arena *a, size_t i)
{
    assert(i < bootstrap_count());
    if (i < bootstrap_cluster_roles_n)
        return make_role(a, &bootstrap_cluster_roles[i], "");
    i -= bootstrap_cluster_roles_n;
    if (i < bootstrap_controllers_n)
        return make_role(a, &bootstrap_controllers[i], CONTROLLER_PREFIX);
    i -= bootstrap_controllers_n;
    if (i < bootstrap_cluster_role_bindings_n)
        return make_binding(a, &bootstrap_cluster_role_bindings[i]);
    i -= bootstrap_cluster_role_bindings_n;
    if (i < bootstrap_controllers_n)
        return controller_binding(a, &bootstrap_controllers[i]);
    i -= bootstrap_controllers_n;
    if (i < bootstrap_namespaced_roles_n)
        return make_role(a, &bootstrap_namespaced_roles[i], "");
    return make_binding(a, &bootstrap_role_bindings[i - bootstrap_namespaced_roles_n]);
}
