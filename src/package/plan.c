/* SPDX-License-Identifier: Apache-2.0 */
#include "package/plan.h"

#include "package/plan_parts.h"
#include "package/pod.h"

static void carry(struct findings *to, const struct findings *from)
{
    vec_each(&from->list, it)
    {
        findings_add(to, it->reason, "%.*s", STR(it->message));
    }
    to->more += from->more;
}

/* ---- Grants. ---- */

struct granting {
    struct arena *a;
    VEC(struct plan_grant) list;
};

/* namespace: empty for the whole cluster. */
static void grant(struct granting *g, enum plan_subject who, str namespace, struct rules rules)
{
    if (rules.n)
        *vec_push(g->a, &g->list) = (struct plan_grant){
            .who = who, .is_cluster_wide = namespace.n == 0, .namespace = namespace, .rules = rules};
}

static void add_grants(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                       struct plan *plan)
{
    struct granting g = {.a = a};
    str where = args->install->is_cluster ? (str){0} : args->install->namespace;
    grant(&g, PLAN_CONTROLLER, where, rights->system);
    grant(&g, PLAN_CONTROLLER, (str){0}, rights->system_cluster);
    for (int i = 0; i < PLAN_PERSONAS; i++)
        grant(&g, (enum plan_subject)(PLAN_ADMIN + i), where, rights->persona[i]);
    plan->grants = g.list.p;
    plan->n_grants = g.list.n;
}

/* ---- What people should know before they agree. ---- */

static void warn_of_cluster_wide(const struct plan_install *install, const struct rule *rule, struct findings *warnings)
{
    strs_each(rule->api_groups, group)
    {
        strs_each(rule->resources, resource)
        {
            findings_add(warnings, (str){0},
                         "ServiceAccount %.*s/%.*s may read and change all %.*s.%.*s: they belong to no namespace",
                         STR(install->namespace), STR(install->name), STR(*resource), STR(*group));
        }
    }
}

/* Rights to all of a group grow with the group, and nobody agrees to that a second time. */
static void warn_of_groups(const struct plan_args *args, struct findings *warnings)
{
    const struct package *p = args->package;
    const struct plan_install *install = args->install;
    struct map told = {0};
    for (size_t i = 0; i < p->n_dependencies; i++) {
        if (str_eq(p->dependencies[i].plural, S("*")) && !map_set(&told, p->dependencies[i].group, &told))
            findings_add(warnings, (str){0},
                         "ServiceAccount %.*s/%.*s may read and change whatever kinds %.*s gets later, too",
                         STR(install->namespace), STR(install->name), STR(p->dependencies[i].group));
    }
    map_done(&told);
}

static void add_warnings(const struct plan_args *args, const struct plan_rights *rights, struct findings *warnings)
{
    const struct plan_install *install = args->install;
    if (install->is_cluster)
        findings_add(warnings, (str){0},
                     "ServiceAccount %.*s/%.*s may read and change ConfigMaps, Events and Secrets in all namespaces",
                     STR(install->namespace), STR(install->name));
    rules_each(rights->system_cluster, rule)
    {
        warn_of_cluster_wide(install, rule, warnings);
    }
    warn_of_groups(args, warnings);
    if (args->options.pass_full_deployment && !json_is_null(&args->package->deployment))
        findings_add(warnings, (str){0}, "the Deployment may do on its node whatever install.yaml asks for");
    else
        package_warn_of_pod(args->package, warnings);
}

/* ---- The plan. ---- */

static void add_objects(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                        struct plan *plan)
{
    const struct plan_install *install = args->install;
    struct plan_sharers alone = {.namespaces = &install->namespace, .n_namespaces = !install->is_cluster};
    struct plan_objects roles = plan_roles_of(a, args, rights, &alone);
    struct plan_objects bindings = plan_bindings_of(a, args, rights);
    plan->roles = roles.p;
    plan->n_roles = roles.n;
    plan->bindings = bindings.p;
    plan->n_bindings = bindings.n;
    plan->cluster_role = plan_cluster_role_of(a, args, rights);
    plan->account = plan_account_of(a, install);
    plan->deployment = plan_deployment_of(a, args);
}

void plan_make(struct arena *a, const struct plan_args *args, struct plan *ret)
{
    *ret = (struct plan){.findings = {.arena = a}, .warnings = {.arena = a}};
    struct plan_rights rights = plan_rights_of(a, args);
    carry(&ret->findings, &args->package->findings);
    carry(&ret->warnings, &args->package->warnings);
    plan_conflicts(args, &rights, &ret->findings);
    ret->waits = rights.waits;
    ret->n_waits = rights.n_waits;
    if (ret->findings.list.n)
        return; /* fail closed: what must not be carried out is not there */
    add_objects(a, args, &rights, ret);
    add_grants(a, args, &rights, ret);
    add_warnings(args, &rights, &ret->warnings);
}

struct rules plan_cluster_access(const struct plan_install *install, const struct plan *plan)
{
    for (size_t i = 0; !install->is_cluster && i < plan->n_grants; i++) {
        if (plan->grants[i].who == PLAN_CONTROLLER && plan->grants[i].is_cluster_wide)
            return plan->grants[i].rules;
    }
    return (struct rules){0};
}

/* ---- A cluster that has nothing. ---- */

static bool no_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    (void)ctx;
    (void)a;
    (void)name;
    (void)ret;
    return false;
}

static size_t no_crds(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    (void)ctx;
    (void)a;
    (void)group;
    (void)ret;
    return 0;
}

void plan_make_alone(struct arena *a, const struct package *p, struct plan_options options, struct plan *ret)
{
    static const struct plan_facts nothing = {.crd = no_crd, .crds_of_group = no_crds};
    const bool is_cluster = p->scope == PACKAGE_CLUSTER;
    struct plan_install *install = ARENA_NEW(a, struct plan_install);
    *install = (struct plan_install){
        .dialect = &dialect_packages,
        .is_cluster = is_cluster,
        .name = p->name,
        .namespace = is_cluster ? S(ENVIRONMENT_NAMESPACE) : S("default"),
        .image = p->name,
        .pull_secrets = json_null(),
        .account_annotations = json_null(),
    };
    plan_make(a, &(struct plan_args){.package = p, .install = install, .facts = &nothing, .options = options}, ret);
}
