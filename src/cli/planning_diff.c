/* SPDX-License-Identifier: Apache-2.0 */
/* What changes, by what is there and what will be. */
#include "cli/planning.h"

#include "base/shell.h"
#include "cli/help.h"
#include "object/object.h"

#include <stdlib.h>

/* ---- CRDs. ---- */

static int by_name(const void *x, const void *y)
{
    return str_cmp(((const struct planning_crd *)x)->name, ((const struct planning_crd *)y)->name);
}

static bool is_same_package(const struct planning *p)
{
    const struct package *package = p->source.package;
    return str_eq(p->running.digest, package->digest) && str_eq(p->running.version, package->version) &&
           str_eq(p->running.family, package->family);
}

/* Of one that is there: what is served is the union of what all of the family have. */
static enum planning_change change_of(const struct planning *p, const struct package_crd *crd)
{
    bool is_found = false;
    if (!map_get(&p->world.by_name, crd->info.name))
        return CHANGE_ADDED;
    if (p->is_held)
        return CHANGE_NONE;
    vec_each(&p->others, other)
    {
        const struct package_crd *theirs = package_find_crd(other->package, crd->info.name);
        is_found |= theirs != NULL;
        if (theirs && str_eq(theirs->hash, crd->hash))
            return CHANGE_NONE;
    }
    return is_found ? CHANGE_CHANGED : CHANGE_UNKNOWN;
}

static bool is_kept(const struct planning *p, str name)
{
    bool is_kept = package_find_crd(p->source.package, name) != NULL;
    vec_each(&p->others, other)
    {
        bool is_running = str_eq(other->package->digest, p->running.digest);
        is_kept |= !is_running && package_find_crd(other->package, name);
    }
    return is_kept;
}

static void add_removed(struct planning *p)
{
    const struct package *old = p->running.old.package;
    for (size_t i = 0; old && i < old->n_crds; i++) {
        const struct crd_info *info = &old->crds[i].info;
        if (!is_kept(p, info->name))
            *vec_push(p->a, &p->crds) =
                (struct planning_crd){info->name, info->kind, info->is_namespaced, CHANGE_REMOVED};
    }
}

static void compare_crds(struct planning *p)
{
    const struct package *package = p->source.package;
    for (size_t i = 0; i < package->n_crds; i++) {
        const struct crd_info *info = &package->crds[i].info;
        *vec_push(p->a, &p->crds) =
            (struct planning_crd){info->name, info->kind, info->is_namespaced, change_of(p, &package->crds[i])};
    }
    add_removed(p);
    if (p->crds.n)
        qsort(p->crds.p, p->crds.n, sizeof *p->crds.p, by_name);
}

/* ---- The Deployment. ---- */

/* Whether all that is wanted is there; servers add defaults, but to lists they add no items. */
static bool is_within(const struct json *want, const struct json *have)
{
    if (json_is_obj(want)) {
        json_each_member(want, m)
        {
            if (!is_within(&m->val, json_get(have, json_key(m))))
                return false;
        }
        return json_is_obj(have) || want->n == 0;
    }
    if (!json_is_arr(want))
        return json_is_null(want) || json_equal(want, have);
    if (json_len(want) != json_len(have) || (want->n && !json_is_arr(have)))
        return false;
    for (size_t i = 0; i < want->n; i++) {
        if (!is_within(&want->items[i], &have->items[i]))
            return false;
    }
    return true;
}

static enum planning_change compare_deployment(const struct planning *p)
{
    bool is_wanted = !json_is_null(&p->plan.deployment), is_there = !json_is_null(&p->deployment);
    if (!is_wanted || !is_there)
        return is_wanted ? CHANGE_ADDED : is_there ? CHANGE_REMOVED : CHANGE_NONE;
    return is_within(json_get(&p->plan.deployment, S("spec")), json_get(&p->deployment, S("spec"))) ? CHANGE_NONE
                                                                                                    : CHANGE_CHANGED;
}

/* ---- People who are bound everywhere to a role for one namespace: they gain the same everywhere. ---- */

static const struct plan_grant *gain_of(const struct planning *p, enum plan_subject who)
{
    for (size_t i = 0; i < p->gains.n; i++) {
        if (p->gains.p[i].who == who && !p->gains.p[i].is_cluster_wide)
            return &p->gains.p[i];
    }
    return NULL;
}

/* A role may have it already, by an install in another namespace. */
static bool is_new_to(const struct planning *p, str name, struct rules gain)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct authz_role *role = authz_get_role(p->rights.index, AUTHZ_CLUSTER_ROLE, (str){0}, name);
    return !role || !rules_cover(&scratch, role->rules, gain, NULL);
}

static void reach_everywhere(struct planning *p, enum plan_subject who, struct rules gain)
{
    struct map by_role = {0}; /* few roles, perhaps bound to thousands: each is looked at once */
    vec_each(&p->people[who - PLAN_ADMIN].list, it)
    {
        const struct planning_subject *known = map_get(&by_role, it->role);
        if (it->namespace.n)
            continue;
        it->gains_everywhere = known ? known->gains_everywhere : is_new_to(p, it->role, gain);
        if (!known)
            map_set(&by_role, it->role, it);
    }
    map_done(&by_role);
}

static void reach(struct planning *p)
{
    for (enum plan_subject who = PLAN_ADMIN; p->knows_people && who <= PLAN_VIEW; who++) {
        const struct plan_grant *gain = gain_of(p, who);
        if (gain)
            reach_everywhere(p, who, gain->rules);
    }
}

bool planning_gains_everywhere(const struct planning *p, enum plan_subject who)
{
    vec_each(&p->people[who - PLAN_ADMIN].list, it)
    {
        if (it->gains_everywhere)
            return true;
    }
    return false;
}

bool planning_misses_people(const struct planning *p)
{
    return p->gains.n && !p->knows_people;
}

/* ---- All. ---- */

static bool has_changes(const struct planning *p)
{
    bool changes = !is_same_package(p) || p->gains.n || p->losses.n || p->deployment_change != CHANGE_NONE;
    vec_each(&p->crds, crd)
    {
        changes |= crd->change != CHANGE_NONE;
    }
    return changes;
}

void planning_compare(struct planning *p)
{
    p->after = (struct plan_grants){p->plan.grants, p->plan.n_grants};
    p->gains = plan_grants_added(p->a, p->before, p->after);
    p->losses = plan_grants_added(p->a, p->after, p->before);
    reach(p);
    compare_crds(p);
    p->deployment_change = compare_deployment(p);
    p->has_changes = has_changes(p);
}

/* ---- In words. ---- */

const char *planning_outcome(const struct planning *p)
{
    return p->findings.list.n ? "Refused" : p->has_changes ? "Changes" : "NoChanges";
}

const char *planning_who(enum plan_subject who)
{
    static const char *const words[] = {
        [PLAN_CONTROLLER] = "controller", [PLAN_ADMIN] = "admins", [PLAN_EDIT] = "editors", [PLAN_VIEW] = "viewers"};
    return words[who];
}

const char *planning_change_name(enum planning_change change)
{
    static const char *const words[] = {[CHANGE_NONE] = "None",
                                        [CHANGE_ADDED] = "Added",
                                        [CHANGE_CHANGED] = "Changed",
                                        [CHANGE_REMOVED] = "Removed",
                                        [CHANGE_UNKNOWN] = "Unknown"};
    return words[change];
}

static size_t count_rights(struct rules rules)
{
    size_t n = 0;
    rules_each(rules, r)
    {
        size_t names = r->resource_names.n ? r->resource_names.n : 1;
        n += r->verbs.n * (r->api_groups.n * r->resources.n * names + r->non_resource_urls.n);
    }
    return n;
}

static void count_grants(struct plan_grants grants, size_t *ret, size_t *ret_wide, unsigned *who)
{
    for (size_t i = 0; i < grants.n; i++) {
        size_t n = count_rights(grants.p[i].rules);
        *ret += n;
        *ret_wide += grants.p[i].is_cluster_wide ? n : 0;
        *who |= 1U << grants.p[i].who;
    }
}

/* What the account of the package gains: each right once, however many bindings give it, and none that the package gives it, too. */
static struct rules waiting_rules(const struct planning *p)
{
    struct rule_set all = {.arena = p->a};
    struct rules own = {0};
    vec_each(&p->waiting, it) rules_each(it->rules, rule)
    {
        (void)rule_set_add(&all, rule);
    }
    for (size_t i = 0; i < p->after.n; i++)
        if (p->after.p[i].who == PLAN_CONTROLLER && p->after.p[i].is_cluster_wide)
            own = p->after.p[i].rules;
    struct rules gained = rules_added(p->a, own, rules_normal(p->a, rule_set_rules(&all)), NULL);
    rule_set_done(&all);
    return gained;
}

struct planning_count planning_count(const struct planning *p)
{
    struct planning_count c = {0};
    size_t ignored = 0;
    unsigned who = 0;
    count_grants(p->gains, &c.gained, &c.wide, &who);
    count_grants(p->losses, &c.lost, &ignored, &who);
    for (enum plan_subject k = PLAN_ADMIN; k <= PLAN_VIEW; k++)
        c.by_bindings += planning_gains_everywhere(p, k) ? count_rights(gain_of(p, k)->rules) : 0;
    size_t waiting = count_rights(waiting_rules(p));
    c.by_bindings += waiting;
    c.wide += c.by_bindings;
    c.accounts = who & 1U << PLAN_CONTROLLER || waiting ? 1 : 0;
    for (int k = PLAN_ADMIN; k <= PLAN_VIEW; k++)
        c.personas += who >> k & 1U;
    return c;
}

/* ---- What can be done about a finding. ---- */

/* "reeve plan acme/wordpress:1.0 -n team-a" */
static str again(const struct planning *p, bool is_cluster, bool is_stack)
{
    struct buf b = {.arena = p->a};
    buf_fmt(&b, "%s plan ", help_program());
    shell_add_word(&b, str_of(p->what));
    if (is_cluster)
        buf_add_str(&b, S(" --cluster"));
    else
        buf_fmt(&b, " -n %.*s", STR(p->self.is_cluster ? S("NAMESPACE") : shell_word(p->a, p->asked.namespace)));
    if (is_stack)
        buf_add_str(&b, S(" --stack"));
    return buf_str(&b);
}

/* What a directory is called makes the difference between the next version of a package and another one. */
static str remedy_for_crds(const struct planning *p)
{
    for (size_t i = 0; p->source.is_directory && p->tag.n == 0 && i < p->source.package->n_crds; i++) {
        const struct plan_crd *there = map_get(&p->world.by_name, p->source.package->crds[i].info.name);
        str repo, name;
        if (there && there->family.n && str_cut(there->family, ':', &repo, &name))
            return str_fmt(p->a, "if this is the next version of it: %.*s --tag %.*s",
                           STR(again(p, p->self.is_cluster, p->is_stack)),
                           STR(shell_word(p->a, str_fmt(p->a, "%.*s/%.*s:VERSION", STR(repo), STR(name)))));
    }
    return S("its owner has to give it up: uninstall that package, or delete the CRD");
}

static str remedy_for_rival(const struct planning *p)
{
    vec_each(&p->world.list, it)
    {
        struct rival other = {it->dialect, it->is_cluster, &it->object};
        struct findings ignored = {.arena = p->a};
        rival_check_package(p->a, &p->self, p->source.package->family, &other, &ignored);
        bool is_near = it->is_cluster || str_eq(object_namespace(&it->object), object_namespace(&p->install));
        if (ignored.list.n == 0 || it->is_cluster != p->self.is_cluster || !is_near)
            continue;
        return str_fmt(p->a, "change that one: %.*s --name %.*s",
                       STR(again(p, it->is_cluster, it->dialect == &dialect_stacks)), STR(object_name(&it->object)));
    }
    return S("give what has changed a version of its own");
}

/* "CRD lamps.example.org: is being deleted; …" */
static str remedy_for_going(const struct planning *p, const struct finding *f)
{
    str head, name = {0}, rest;
    str_cut(f->message, ':', &head, &rest);
    str_cut(head, ' ', &rest, &name);
    return str_fmt(p->a, "kubectl wait --for=delete crd/%.*s", STR(shell_word(p->a, name)));
}

static str remedy_for_package(const struct planning *p)
{
    bool is_dialect = p->is_stack && p->source.package->findings.list.n == 0;
    if (is_dialect)
        return str_fmt(p->a, "it is no stack, but may be a package: %.*s", STR(again(p, p->self.is_cluster, false)));
    if (p->source.is_directory)
        return str_fmt(p->a, "%s package lint %.*s", help_program(), STR(shell_word(p->a, str_of(p->what))));
    return S("its author has to mend it");
}

str planning_remedy(const struct planning *p, const struct finding *f)
{
    if (str_eq(f->reason, S("ScopeMismatch")))
        return again(p, p->source.package->scope == PACKAGE_CLUSTER, p->is_stack);
    if (str_eq(f->reason, S("CRDConflict")))
        return remedy_for_crds(p);
    if (str_eq(f->reason, S("NameConflict")))
        return S("install it under another repository name, or uninstall the package that has this name");
    if (str_eq(f->reason, S("GroupNotAllowed")))
        return S("use an API group of its own, or install it for the whole cluster if it is meant for that");
    if (str_eq(f->reason, S("CRDTerminating")))
        return remedy_for_going(p, f);
    if (str_eq(f->reason, S("AlreadyInstalled")))
        return remedy_for_rival(p);
    if (str_eq(f->reason, S("Conflict")) && str_has_prefix(f->message, S("ClusterRole")))
        return S("whoever made it has to give it up: that name is the package's");
    if (str_eq(f->reason, S("Conflict")))
        return str_fmt(p->a, "choose another name: %.*s --name NAME", STR(again(p, p->self.is_cluster, p->is_stack)));
    if (str_eq(f->reason, S("InvalidPackage")))
        return remedy_for_package(p);
    return (str){0};
}
