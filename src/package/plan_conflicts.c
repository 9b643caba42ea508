/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of an install: the wrong kind of it, CRDs that are somebody else's, a pod that reaches too far. All of it
 * is found before anything is written. */
#include "object/name.h"
#include "package/family.h"
#include "package/plan_internal.h"
#include "package/pod.h"

enum {
    ROLE_RULES_MAX = 1024 * 1024, /* bytes: servers refuse objects of more than 1.5 MiB, and labels need room, too */
    RESOURCE_OVERHEAD = sizeof "\"\"," - 1, /* of one text in a list */
};

#define CONFLICT S("CRDConflict")
#define INVALID S("InvalidPackage")

/* ---- Which kind of install. ---- */

static void check_scope(const struct plan_args *args, struct findings *f)
{
    const struct plan_install *install = args->install;
    const struct package *p = args->package;
    bool wants_cluster = p->scope == PACKAGE_CLUSTER;
    if (wants_cluster == install->is_cluster)
        return;
    str asked = install->dialect->install[install->is_cluster].kind;
    str right = install->dialect->install[wants_cluster].kind;
    findings_add(f, S("ScopeMismatch"),
                 "%.*s is a %.*s for %s (permissionScope: %s): ask for it with a %.*s, not with a %.*s", STR(p->family),
                 STR(install->dialect->word), wants_cluster ? "the whole cluster" : "single namespaces",
                 wants_cluster ? "Cluster" : "Namespaced", STR(right), STR(asked));
}

/* ---- CRDs. ---- */

/* Packages of a namespace that bring such CRDs were refused when they were read. */
static void check_crd_scope(const struct plan_args *args, const struct crd_info *crd, struct findings *f)
{
    const struct dialect *dialect = args->install->dialect;
    if (!crd->is_namespaced && !dialect->has_cluster_crds && args->package->scope == PACKAGE_CLUSTER)
        findings_add(f, INVALID, "CRD %.*s: must be of namespace scope: %.*ss bring no others", STR(crd->name),
                     STR(dialect->word));
}

/* What the install holds itself is not in its way. */
static bool is_foreign_source(const struct plan_args *args, str source)
{
    str held = args->install->held_source;
    return source.n && !str_eq(source, held) && !(held.n && str_eq(args->package->source, held)) &&
           !str_eq(source, args->package->source);
}

/* What is being deleted is in the way whoever had it, but not for long: its reason tells that trying again helps. */
static void check_crd_owner(const struct plan_args *args, const struct plan_crd *there, struct findings *f)
{
    if (there->is_deleting)
        findings_add(f, S("CRDTerminating"), "CRD %.*s: is being deleted; it can be made again when it is gone",
                     STR(there->name));
    else if (args->is_kept)
        return;
    else if (!there->is_managed)
        findings_add(f, CONFLICT, "CRD %.*s: exists already, and no package brought it", STR(there->name));
    else if (!str_eq(there->family, args->package->family))
        findings_add(f, CONFLICT, "CRD %.*s: belongs to package %.*s", STR(there->name), STR(there->family));
    else if (is_foreign_source(args, there->source))
        family_check_source(args->package, there->source, (str){0}, f);
}

/* "group/Kind" → the name of its CRD. */
struct kinds {
    struct arena *a;
    struct map names, groups;
    struct map asked; /* groups whose use was checked */
};

static void *boxed(struct arena *a, str text)
{
    str *box = ARENA_NEW(a, str);
    *box = text;
    return box;
}

static void add_kinds_of_group(struct kinds *k, const struct plan_facts *facts, str group)
{
    if (map_set(&k->groups, group, k))
        return;
    const struct plan_crd *list = NULL;
    size_t n = facts->crds_of_group(facts->ctx, k->a, group, &list);
    for (size_t i = 0; i < n; i++)
        map_set(&k->names, str_fmt(k->a, "%.*s/%.*s", STR(group), STR(list[i].kind)), boxed(k->a, list[i].name));
}

/* The server takes a second CRD of a kind, but never serves it. */
static void check_kind(struct kinds *k, const struct plan_facts *facts, const struct crd_info *crd, struct findings *f)
{
    add_kinds_of_group(k, facts, crd->group);
    str key = str_fmt(k->a, "%.*s/%.*s", STR(crd->group), STR(crd->kind));
    const str *other = map_get(&k->names, key);
    if (other == NULL)
        map_set(&k->names, key, boxed(k->a, crd->name));
    else if (!str_eq(*other, crd->name))
        findings_add(f, CONFLICT, "CRD %.*s: its kind %.*s is that of CRD %.*s", STR(crd->name), STR(crd->kind),
                     STR(*other));
}

/* ---- API groups. ---- */

int plan_groups_check(str patterns, struct err *err)
{
    str pattern, rest = patterns;
    do {
        str_cut(rest, ',', &pattern, &rest);
        str name = str_has_prefix(pattern, S("*.")) ? str_from(pattern, 2) : pattern;
        bool is_word = str_eq(pattern, S("*")) || str_eq(pattern, S("none"));
        if (!is_word && (!name_is(NAME_DNS_SUBDOMAIN, name) || str_find_char(name, '.') < 0))
            return err_set(err, ERR_BAD_REQUEST,
                           "invalid API group \"%.*s\": use a group such as blog.example.org, *.example.org, * or none",
                           STR(pattern));
    } while (rest.n);
    return 0;
}

bool plan_groups_match(str patterns, str group)
{
    str pattern;
    while (patterns.n) {
        str_cut(patterns, ',', &pattern, &patterns);
        bool is_below = str_has_prefix(pattern, S("*.")) && str_has_suffix(group, str_from(pattern, 1));
        if (str_eq(pattern, S("*")) || str_eq(pattern, group) || is_below)
            return true;
    }
    return false;
}

/* A CRD in the group that is not of this family, while none is; NULL: there is none. What is not known to be somebody else's does
 * not count, nor what check_crd_owner tells. */
static const struct plan_crd *find_foreign(const struct plan_crd *list, size_t n, const struct package *p)
{
    const struct plan_crd *foreign = NULL;
    for (size_t i = 0; i < n; i++) {
        if (list[i].is_managed && str_eq(list[i].family, p->family))
            return NULL;
        bool is_unknown = list[i].is_managed && list[i].family.n == 0;
        if (!foreign && !is_unknown && !package_find_crd(p, list[i].name))
            foreign = &list[i];
    }
    return foreign;
}

/* A tenant could otherwise put kinds of her own beside those that an administrator or another tenant trusts. */
static void check_group(const struct plan_args *args, struct kinds *k, const struct crd_info *crd, struct findings *f)
{
    str patterns = args->options.namespaced_groups;
    if (args->install->is_cluster || args->is_kept || map_set(&k->asked, crd->group, k))
        return; /* each group once */
    if (patterns.n) {
        if (!plan_groups_match(patterns, crd->group))
            findings_add(f, S("GroupNotAllowed"),
                         "CRD %.*s: namespaced packages may define kinds only in the API groups %.*s", STR(crd->name),
                         STR(patterns));
        return;
    }
    const struct plan_crd *list = NULL;
    size_t n = args->facts->crds_of_group(args->facts->ctx, k->a, crd->group, &list);
    const struct plan_crd *foreign = find_foreign(list, n, args->package);
    if (foreign)
        findings_add(f, S("GroupNotAllowed"),
                     "CRD %.*s: its API group %.*s has CRD %.*s already, which %s%.*s. An administrator can allow the "
                     "group with --namespaced-package-groups",
                     STR(crd->name), STR(crd->group), STR(foreign->name),
                     foreign->is_managed ? "belongs to package " : "no package brought", STR(foreign->family));
}

static void check_crds(const struct plan_args *args, struct findings *f)
{
    const struct plan_facts *facts = args->facts;
    struct arena scratch ARENA_SCOPE = {0};
    struct kinds kinds = {.a = &scratch};
    for (size_t i = 0; i < args->package->n_crds; i++) {
        const struct crd_info *crd = &args->package->crds[i].info;
        struct plan_crd there;
        check_crd_scope(args, crd, f);
        if (facts->crd(facts->ctx, &scratch, crd->name, &there))
            check_crd_owner(args, &there, f);
        check_kind(&kinds, facts, crd, f);
        check_group(args, &kinds, crd, f);
    }
    map_done(&kinds.names);
    map_done(&kinds.groups);
    map_done(&kinds.asked);
}

/* ---- Rights. ---- */

static size_t size_of(struct rules rules)
{
    size_t bytes = 0;
    rules_each(rules, rule)
    {
        strs_each(rule->api_groups, group)
        {
            bytes += group->n + RESOURCE_OVERHEAD;
        }
        strs_each(rule->resources, resource)
        {
            bytes += resource->n + RESOURCE_OVERHEAD;
        }
    }
    return bytes;
}

static void check_rules(const struct plan_args *args, const struct plan_rights *rights, struct findings *f)
{
    for (size_t i = 0; i < rights->n_unusable; i++)
        findings_add(f, INVALID, "dependsOn: CRD %.*s must be of namespace scope: %.*ss use no others",
                     STR(rights->unusable[i]), STR(args->install->dialect->word));
    if (size_of(rights->system) > ROLE_RULES_MAX || size_of(rights->system_cluster) > ROLE_RULES_MAX)
        findings_add(f, INVALID, "it owns and depends on more CRDs than one role can list");
}

void plan_conflicts(const struct plan_args *args, const struct plan_rights *rights, struct findings *findings)
{
    const struct plan_install *install = args->install;
    check_scope(args, findings);
    check_crds(args, findings);
    check_rules(args, rights, findings);
    if (!args->options.pass_full_deployment)
        package_check_pod(&args->package->deployment, install->name, install->namespace, findings);
}
