/* SPDX-License-Identifier: Apache-2.0 */
/* Where the tables of the design and its prose differ from what was built in the end:
 *
 *   records           (Package and the like) are only read by people, whatever the tables say: one made by hand grants nothing
 *   crossplane-admin  may do what the others may, so that it can bind people to them: nobody can grant what he does not have
 *   Events            of installs are read by the personas that read the installs. Those of cluster-scoped objects are in namespace
 *                     default, and roles of the environment are bound for the whole cluster: they read Events everywhere
 *   kinds             personas of an environment see which kinds exist and in which namespaces they can be used. CRDs are cluster-scoped
 *                     and readable to every authenticated user (crossplane-crd-view); for Namespaces the personas of a namespace
 *                     need a ClusterRoleBinding to crossplane:system:ns-persona-cluster-rights */
#include "controllers/personas/personas_roles.h"

#include "authz/bootstrap.h"
#include "package/dialect.h"

#include <assert.h>

#define GROUP "rbac.authorization.k8s.io"
#define READ "get,list,watch"
#define ALL "create,delete,deletecollection,get,list,patch,update,watch"
#define PACKAGES ":packages.crossplane.io:"
#define STACKS ":stacks.crossplane.io:"
#define SEES_CRDS READ ":apiextensions.k8s.io:customresourcedefinitions"
#define SEES_NAMESPACES READ "::namespaces"
#define SEES_EVENTS READ "::events"
#define PREFIX "crossplane:ns:"
#define DEFAULT_PREFIX "crossplane:package-manager:ns:default:"

static const char *const role_names[ROLES_IN_NAMESPACE] = {"admin", "edit", "view"};

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): a rule is its verbs and what they are for, several literals */
const struct persona_role persona_roles[] = {
    {.name = PERSONA_ADMIN, .scope = "system", .selects = LABEL_TO_ADMIN},
    {
        .name = "crossplane:system:aggregate-to-crossplane-admin",
        .scope = "system",
        .labels = {LABEL_TO_ADMIN},
        .rules = {ALL "::namespaces", ALL ":" GROUP ":clusterrolebindings,clusterroles,rolebindings,roles"},
    },
    {.name = PERSONA_ENVIRONMENT "admin", .scope = "environment", .selects = LABEL_TO_ENVIRONMENT "admin"},
    {.name = PERSONA_ENVIRONMENT "edit", .scope = "environment", .selects = LABEL_TO_ENVIRONMENT "edit"},
    {.name = PERSONA_ENVIRONMENT "view", .scope = "environment", .selects = LABEL_TO_ENVIRONMENT "view"},
    {
        .name = "crossplane:package-manager:env:default:admin",
        .labels = {LABEL_TO_ENVIRONMENT "admin", LABEL_TO_ADMIN},
        .rules = {ALL PACKAGES "clusterpackageinstalls", READ PACKAGES "clusterpackages",
                  ALL STACKS "clusterstackinstalls", READ STACKS "clusterstacks", SEES_CRDS, SEES_NAMESPACES,
                  SEES_EVENTS},
    },
    {
        .name = "crossplane:package-manager:env:default:edit",
        .labels = {LABEL_TO_ENVIRONMENT "edit"},
        .rules = {ALL PACKAGES "clusterpackageinstalls", READ PACKAGES "clusterpackages",
                  ALL STACKS "clusterstackinstalls", READ STACKS "clusterstacks", SEES_CRDS, SEES_NAMESPACES,
                  SEES_EVENTS},
    },
    {
        .name = "crossplane:package-manager:env:default:view",
        .labels = {LABEL_TO_ENVIRONMENT "view"},
        .rules = {READ PACKAGES "clusterpackageinstalls,clusterpackages",
                  READ STACKS "clusterstackinstalls,clusterstacks", SEES_CRDS, SEES_NAMESPACES, SEES_EVENTS},
    },
    {
        .name = DEFAULT_PREFIX "admin",
        .labels = {LABEL_TO_NAMESPACE "admin", LABEL_TO_ADMIN},
        .has_namespaces = true,
        .rules = {ALL PACKAGES "packageinstalls", READ PACKAGES "packages", ALL STACKS "stackinstalls",
                  READ STACKS "stacks", ALL "::configmaps,secrets", SEES_EVENTS},
    },
    {
        .name = DEFAULT_PREFIX "edit",
        .labels = {LABEL_TO_NAMESPACE "edit"},
        .has_namespaces = true,
        .rules = {ALL PACKAGES "packageinstalls", ALL STACKS "stackinstalls", ALL "::configmaps,secrets", SEES_EVENTS},
    },
    {
        .name = DEFAULT_PREFIX "view",
        .labels = {LABEL_TO_NAMESPACE "view"},
        .has_namespaces = true,
        .rules = {READ PACKAGES "packageinstalls", READ STACKS "stackinstalls", SEES_EVENTS},
    },
    {.name = PERSONA_CRD_VIEW, .scope = "system", .rules = {SEES_CRDS}},
    {.name = "crossplane:system:ns-persona-cluster-rights", .scope = "system", .rules = {SEES_CRDS, SEES_NAMESPACES}},
};
/* NOLINTEND(bugprone-suspicious-missing-comma) */
const size_t persona_roles_n = COUNT(persona_roles);

/* ---- Objects. ---- */

static void add_true(struct arena *a, struct json *labels, str key)
{
    json_add(a, labels, key, json_str(S("true")));
}

static str namespace_label(struct arena *a, str namespace)
{
    return str_fmt(a, LABEL_NAMESPACE_PREFIX "%.*s", STR(namespace));
}

static struct json object_of(struct arena *a, str kind, str name, struct json labels)
{
    struct json metadata = json_obj(), object = json_obj();
    json_add(a, &metadata, S("name"), json_str(name));
    if (json_len(&labels))
        json_add(a, &metadata, S("labels"), labels);
    json_add(a, &object, S("apiVersion"), json_str(S(GROUP "/v1")));
    json_add(a, &object, S("kind"), json_str(kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

/* Rules are not named: whoever applies them owns them, and that is the aggregation controller. */
static void add_selector(struct arena *a, struct json *role, struct json labels)
{
    struct json selector = json_obj(), selectors = json_arr(), rule = json_obj();
    json_add(a, &selector, S("matchLabels"), labels);
    json_push(a, &selectors, selector);
    json_add(a, &rule, S("clusterRoleSelectors"), selectors);
    json_add(a, role, S("aggregationRule"), rule);
}

static struct json rules_of(struct arena *a, const struct persona_role *role)
{
    struct json rules = json_arr();
    for (size_t i = 0; i < ROLES_RULES && role->rules[i]; i++)
        json_push(a, &rules, bootstrap_rule(a, str_of(role->rules[i])));
    return rules;
}

struct json persona_role_object(struct arena *a, const struct persona_role *role, const str *namespaces, size_t n)
{
    struct json labels = json_obj();
    if (role->scope)
        json_add(a, &labels, S(LABEL_SCOPE), json_str(str_of(role->scope)));
    for (const char *const *label = role->labels; *label; label++)
        add_true(a, &labels, str_of(*label));
    for (size_t i = 0; role->has_namespaces && i < n; i++)
        add_true(a, &labels, namespace_label(a, namespaces[i]));
    struct json object = object_of(a, S("ClusterRole"), str_of(role->name), labels);
    if (role->selects) {
        struct json selected = json_obj();
        add_true(a, &selected, str_of(role->selects));
        add_selector(a, &object, selected);
    } else {
        json_add(a, &object, S("rules"), rules_of(a, role));
    }
    return object;
}

struct json persona_binding(struct arena *a, str role, str group)
{
    struct json labels = json_obj(), ref = json_obj(), subject = json_obj(), subjects = json_arr();
    json_add(a, &labels, S(LABEL_SCOPE), json_str(S("system")));
    struct json binding = object_of(a, S("ClusterRoleBinding"), role, labels);
    json_add(a, &ref, S("apiGroup"), json_str(S(GROUP)));
    json_add(a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_add(a, &ref, S("name"), json_str(role));
    json_add(a, &subject, S("apiGroup"), json_str(S(GROUP)));
    json_add(a, &subject, S("kind"), json_str(S("Group")));
    json_add(a, &subject, S("name"), json_str(group));
    json_push(a, &subjects, subject);
    json_add(a, &binding, S("roleRef"), ref);
    json_add(a, &binding, S("subjects"), subjects);
    return binding;
}

/* ---- Of a namespace. ---- */

str persona_name(struct arena *a, str namespace, size_t i)
{
    assert(i < ROLES_IN_NAMESPACE);
    return str_fmt(a, PREFIX "%.*s:%s", STR(namespace), role_names[i]);
}

struct json persona_of_namespace(struct arena *a, str namespace, size_t i)
{
    struct json labels = json_obj(), selected = json_obj();
    str label = namespace_label(a, namespace);
    json_add(a, &labels, S(LABEL_SCOPE), json_str(S("namespace")));
    add_true(a, &labels, label);
    struct json role = object_of(a, S("ClusterRole"), persona_name(a, namespace, i), labels);
    add_true(a, &selected, str_fmt(a, LABEL_TO_NAMESPACE "%s", role_names[i]));
    add_true(a, &selected, label);
    add_selector(a, &role, selected);
    return role;
}

/* Both parts of "crossplane:ns:x:admin"; NULL: it is no such name. */
static const char *split_name(str name, str *ret_namespace)
{
    str role;
    if (!str_has_prefix(name, S(PREFIX)) || !str_cut(str_from(name, S(PREFIX).n), ':', ret_namespace, &role))
        return NULL;
    for (size_t i = 0; i < ROLES_IN_NAMESPACE; i++)
        if (str_eq(role, str_of(role_names[i])))
            return role_names[i];
    return NULL;
}

str persona_namespace(str name)
{
    str namespace;
    return split_name(name, &namespace) ? namespace : (str){0};
}

struct json persona_default_rules(struct arena *a, str name)
{
    str namespace;
    const char *role = split_name(name, &namespace);
    str of_namespace = role ? str_fmt(a, DEFAULT_PREFIX "%s", role) : (str){0};
    for (size_t i = 0; i < persona_roles_n; i++)
        if (str_eq(of_namespace, str_of(persona_roles[i].name)))
            return rules_of(a, &persona_roles[i]);
    return json_null();
}
