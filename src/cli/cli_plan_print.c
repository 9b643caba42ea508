/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/cli_plan_internal.h"
#include "cli/help.h"
#include "cli/term.h"
#include "object/object.h"
#include "package/pod.h"
#include "package/semver.h"

#include <stdlib.h>

static bool planning_gains_everywhere(const struct planning *p, enum plan_subject who);

/* A plan for people. What reaches furthest comes first: rights everywhere, then those in the namespace; in each the controller's, then
 * people's. Everything that nobody can read the rights from comes after them. */

enum { CRDS_MAX = 24, PEOPLE_MAX = 12 };

struct printing {
    struct buf *b;
    const struct planning *p;
    const struct term *t;
    struct arena *a;
    bool is_wide;
};

static void say(struct printing *s, unsigned indent, enum term_style style, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void say(struct printing *s, unsigned indent, enum term_style style, const char *fmt, ...)
{
    struct planning_lines l = {.term = s->t, .arena = s->a, .indent = indent};
    struct buf text = {.arena = s->a};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    planning_add_wrapped(s->b, &l, style, buf_str(&text));
}

static void gap(struct printing *s)
{
    buf_add_char(s->b, '\n');
}

static const char *arrow(const struct printing *s)
{
    return s->t->has_utf8 ? "→" : "->";
}

/* On one line, however long: for people to copy. */
static void say_command(struct printing *s, str text)
{
    term_add(s->b, s->t, STYLE_FAINT, str_fmt(s->a, "    %s %.*s", arrow(s), STR(text)));
    buf_add_char(s->b, '\n');
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- What it is about. ---- */

static const char *way_of(str from, str to)
{
    if (!package_version_is_numbered(from) || !package_version_is_numbered(to))
        return "a change";
    return package_version_compare(from, to) < 0 ? "an upgrade" : "a downgrade";
}

static void say_change(struct printing *s)
{
    const struct planning *p = s->p;
    const struct package *package = p->source.package;
    const struct planning_running *r = &p->running;
    if (r->reference.n == 0)
        say(s, 2, STYLE_PLAIN, "version %.*s, not installed yet", STR(package->version));
    else if (!str_eq(r->family, package->family))
        say(s, 2, STYLE_PLAIN, "%.*s %.*s %s %.*s %.*s, another package", STR(r->family), STR(r->version), arrow(s),
            STR(package->family), STR(package->version));
    else if (str_eq(r->version, package->version))
        say(s, 2, STYLE_PLAIN, "version %.*s, %s", STR(package->version),
            str_eq(r->digest, package->digest) ? "as installed" : "from another image than what is installed");
    else
        say(s, 2, STYLE_PLAIN, "version %.*s %s %.*s, %s", STR(r->version), arrow(s), STR(package->version),
            way_of(r->version, package->version));
}

static void print_head(struct printing *s)
{
    const struct planning *p = s->p;
    const struct package *package = p->source.package;
    say(s, 0, STYLE_HEAD, "%.*s: %.*s", STR(rival_title(s->a, &p->self)), STR(package->family));
    say_change(s);
    if (p->source.is_directory)
        say(s, 2, STYLE_FAINT, "directory %s, as %.*s", p->what, STR(p->source.reference));
    else
        say(s, 2, STYLE_FAINT, "image %.*s", STR(p->asked.image));
    if (!p->source.is_directory || !p->images.is_quick)
        say(s, 2, STYLE_FAINT, "%.*s", STR(package->digest));
}

/* ---- Rights. ---- */

static const struct plan_grant *grant_of(struct plan_grants grants, enum plan_subject who, bool is_wide)
{
    for (size_t i = 0; i < grants.n; i++) {
        if (grants.p[i].who == who && grants.p[i].is_cluster_wide == is_wide)
            return &grants.p[i];
    }
    return NULL;
}

static bool changes(const struct planning *p, enum plan_subject who, bool is_wide)
{
    return grant_of(p->gains, who, is_wide) || grant_of(p->losses, who, is_wide);
}

static struct rules rules_of(const struct plan_grant *grant)
{
    return grant ? grant->rules : (struct rules){0};
}

static void print_changes(struct printing *s, enum plan_subject who, bool is_wide)
{
    struct planning_lines l = {.term = s->t, .arena = s->a, .indent = 4, .sign = '+', .is_whole = s->is_wide};
    planning_add_rules(s->b, &l, rules_of(grant_of(s->p->gains, who, is_wide)));
    l.sign = '-';
    planning_add_rules(s->b, &l, rules_of(grant_of(s->p->losses, who, is_wide)));
}

static bool are_alike(const struct planning *p, enum plan_subject x, enum plan_subject y, bool is_wide)
{
    return changes(p, x, is_wide) && changes(p, y, is_wide) &&
           rules_equal(rules_of(grant_of(p->gains, x, is_wide)), rules_of(grant_of(p->gains, y, is_wide))) &&
           rules_equal(rules_of(grant_of(p->losses, x, is_wide)), rules_of(grant_of(p->losses, y, is_wide)));
}

static void add_subject(struct buf *b, const struct planning *p, const struct planning_subject *it)
{
    cli_add_visibly(b, authz_subject_title(p->a, &it->subject)); /* a NUL would end the list of all who follow */
    if (it->namespace.n == 0 && !p->asked.is_cluster)
        buf_add_str(b, S(" (everywhere)"));
    else if (it->namespace.n && (p->asked.is_cluster || !str_eq(it->namespace, p->asked.namespace)))
        buf_fmt(b, " (in %.*s)", STR(it->namespace));
}

/* "Group crossplane:masters by ClusterRoleBinding crossplane-masters" */
static void add_bound(struct buf *b, const struct planning *p, const struct planning_subject *it)
{
    cli_add_visibly(b, authz_subject_title(p->a, &it->subject));
    buf_fmt(b, " by %.*s ", STR(authz_kind_name(it->binding_kind)));
    cli_add_visibly(b, it->binding);
}

/* "User jane, Group crossplane:masters (everywhere)"; all, or only those who gain it everywhere, and by which binding. */
static str people_of(struct printing *s, enum plan_subject who, bool is_everywhere)
{
    const struct planning_people *people = &s->p->people[who - PLAN_ADMIN];
    struct buf text = {.arena = s->a};
    size_t n = 0;
    if (people->list.n == 0)
        return people->n_roles ? S("nobody yet") : S("nobody");
    vec_each(&people->list, it)
    {
        if ((is_everywhere && !it->gains_everywhere) || (n++ >= PEOPLE_MAX && !s->is_wide))
            continue;
        buf_add_str(&text, text.n ? S(", ") : S(""));
        if (is_everywhere)
            add_bound(&text, s->p, it);
        else
            add_subject(&text, s->p, it);
    }
    if (n > PEOPLE_MAX && !s->is_wide)
        buf_fmt(&text, " and %zu more", n - PEOPLE_MAX);
    return buf_str(&text);
}

static void say_everywhere(struct printing *s, struct rules rules, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say_everywhere(struct printing *s, struct rules rules, const char *fmt, ...)
{
    struct planning_lines l = {.term = s->t, .arena = s->a, .indent = 4, .sign = '+', .is_whole = s->is_wide};
    struct buf who = {.arena = s->a};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&who, fmt, args);
    va_end(args);
    say(s, 2, STYLE_NAME, "%.*s", STR(buf_str(&who)));
    planning_add_rules(s->b, &l, rules);
}

/* First, whoever is bound everywhere to what is meant for one namespace. */
static void print_everywhere(struct printing *s)
{
    const struct planning *p = s->p;
    if (planning_count(p).by_bindings == 0)
        return;
    gap(s);
    say(s, 0, STYLE_WARN, "! cluster-wide: for those who are bound everywhere already");
    vec_each(&p->waiting, it)
        say_everywhere(s, it->rules, "ServiceAccount %.*s/%.*s by ClusterRoleBinding %.*s", STR(p->asked.namespace),
                       STR(p->asked.name), STR(cli_visible(s->a, it->binding)));
    for (enum plan_subject who = PLAN_ADMIN; who <= PLAN_VIEW; who++) {
        if (planning_gains_everywhere(p, who))
            say_everywhere(s, rules_of(grant_of(p->gains, who, false)), "%s: %.*s", planning_who(who),
                           STR(people_of(s, who, true)));
    }
}

static void print_people(struct printing *s, bool is_wide)
{
    for (enum plan_subject who = PLAN_ADMIN; who <= PLAN_VIEW; who++) {
        if (!changes(s->p, who, is_wide))
            continue;
        str people = s->p->knows_people ? people_of(s, who, false) : (str){0};
        say(s, 2, STYLE_NAME, "%s%s%.*s", planning_who(who), people.n ? ": " : "", STR(people));
        if (who == PLAN_VIEW || !are_alike(s->p, who, who + 1, is_wide))
            print_changes(s, who, is_wide);
    }
}

static void print_place(struct printing *s, bool is_wide)
{
    const struct planning *p = s->p;
    bool is_any = false;
    for (enum plan_subject who = PLAN_CONTROLLER; who <= PLAN_VIEW; who++)
        is_any |= changes(p, who, is_wide);
    if (!is_any)
        return;
    gap(s);
    if (is_wide)
        say(s, 0, STYLE_WARN, "! cluster-wide: in all namespaces and outside of them");
    else
        say(s, 0, STYLE_HEAD, "in namespace %.*s", STR(p->asked.namespace));
    if (changes(p, PLAN_CONTROLLER, is_wide)) {
        say(s, 2, STYLE_NAME, "ServiceAccount %.*s/%.*s, the package's controller", STR(p->asked.namespace),
            STR(p->asked.name));
        print_changes(s, PLAN_CONTROLLER, is_wide);
    }
    print_people(s, is_wide);
    if (!is_wide && changes(p, PLAN_VIEW, false) && p->knows_people && p->people[PLAN_VIEW - PLAN_ADMIN].n_roles == 0) {
        say(s, 2, STYLE_WARN, "! the namespace has no roles for people, unless somebody asks for them");
        say_command(s, str_fmt(s->a, "kubectl label namespace %.*s %s=true", STR(shell_word(s->a, p->asked.namespace)),
                               LABEL_MANAGED_ROLES));
    }
}

/* ---- CRDs. ---- */

static enum term_style style_of(enum planning_change change)
{
    return change == CHANGE_ADDED ? STYLE_GAIN : change == CHANGE_REMOVED ? STYLE_LOSS : STYLE_PLAIN;
}

static const char *words_of(enum planning_change change)
{
    return change == CHANGE_UNKNOWN   ? ", may change"
           : change == CHANGE_REMOVED ? ", goes when no object of it is left"
                                      : "";
}

static void print_crds(struct printing *s)
{
    static const char signs[] = {
        [CHANGE_ADDED] = '+', [CHANGE_CHANGED] = '~', [CHANGE_REMOVED] = '-', [CHANGE_UNKNOWN] = '~'};
    size_t n = 0, kept = 0;
    vec_each(&s->p->crds, crd)
    {
        kept += crd->change == CHANGE_NONE;
        if (crd->change == CHANGE_NONE || (n++ >= CRDS_MAX && !s->is_wide))
            continue;
        if (n == 1) {
            gap(s);
            say(s, 0, STYLE_HEAD, "CustomResourceDefinitions");
        }
        say(s, 2, style_of(crd->change), "%c %.*s (%.*s, %s)%s", signs[crd->change], STR(crd->name), STR(crd->kind),
            crd->is_namespaced ? "namespaced" : "of the cluster", words_of(crd->change));
    }
    if (n > CRDS_MAX && !s->is_wide)
        say(s, 2, STYLE_FAINT, "and %zu more; -o wide names all", n - CRDS_MAX);
    if (n && kept)
        say(s, 2, STYLE_FAINT, "%zu stay%s as %s", kept, kept == 1 ? "s" : "", kept == 1 ? "it is" : "they are");
}

/* ---- The Deployment. ---- */

/* Of the container of that name as it is now; empty: there is none. */
static str image_now(const struct printing *s, const char *list, str name)
{
    const struct json *containers = json_dig(&s->p->deployment, list);
    json_each_item(containers, c)
    {
        if (str_eq(json_get_text(c, S("name")), name))
            return json_get_text(c, S("image"));
    }
    return (str){0};
}

/* Without the digest: that of the package's own image is in the head of the plan. */
static str short_image(str image)
{
    str name = image, digest;
    str_cut(image, '@', &name, &digest);
    return name;
}

static void print_images(struct printing *s, const char *list)
{
    const struct json *containers = json_dig(&s->p->plan.deployment, list);
    json_each_item(containers, c)
    {
        str name = json_get_text(c, S("name")), image = json_get_text(c, S("image")), now = image_now(s, list, name);
        bool is_same_tag = str_eq(short_image(now), short_image(image)); /* then the digests are shown */
        if (now.n && !str_eq(now, image))
            say(s, 2, STYLE_PLAIN, "container %.*s: %.*s %s %.*s", STR(name), STR(is_same_tag ? now : short_image(now)),
                arrow(s), STR(is_same_tag ? image : short_image(image)));
        else
            say(s, 2, STYLE_PLAIN, "container %.*s: %.*s", STR(name), STR(short_image(image)));
    }
}

static void print_facts(struct printing *s, enum term_style style, const char *what, const str *list, size_t n)
{
    struct buf text = {.arena = s->a};
    for (size_t i = 0; i < n; i++)
        buf_fmt(&text, "%s%.*s", i ? ", " : "", STR(list[i]));
    if (n)
        say(s, 2, style, "%s: %.*s", what, STR(buf_str(&text)));
}

static void print_deployment(struct printing *s)
{
    const struct planning *p = s->p;
    struct pod_facts facts = package_describe_pod(s->a, &p->plan.deployment);
    static const char *const words[] = {[CHANGE_ADDED] = "starts", [CHANGE_CHANGED] = "changes"};
    if (p->deployment_change == CHANGE_NONE)
        return;
    gap(s);
    if (p->deployment_change == CHANGE_REMOVED) {
        say(s, 0, STYLE_HEAD, "Deployment %.*s/%.*s is stopped and removed", STR(object_namespace(&p->deployment)),
            STR(object_name(&p->deployment)));
        return;
    }
    say(s, 0, STYLE_HEAD, "Deployment %.*s/%.*s %s", STR(object_namespace(&p->plan.deployment)),
        STR(object_name(&p->plan.deployment)), words[p->deployment_change]);
    print_images(s, "spec.template.spec.initContainers");
    print_images(s, "spec.template.spec.containers");
    print_facts(s, STYLE_PLAIN, "ports", facts.ports.p, facts.ports.n);
    print_facts(s, STYLE_PLAIN, "volumes", facts.volumes.p, facts.volumes.n);
    print_facts(s, STYLE_WARN, "unusual", facts.unusual.p, facts.unusual.n);
    if (p->pass_full_deployment)
        say(s, 2, STYLE_WARN, "runs as ServiceAccount %.*s; all else as the package says", STR(p->asked.name));
    else
        say(s, 2, STYLE_PLAIN, "forced: ServiceAccount %.*s, runAsNonRoot, not privileged, no privilege escalation",
            STR(p->asked.name));
}

/* ---- The rest. ---- */

static void print_waits(struct printing *s)
{
    const struct plan *plan = &s->p->plan;
    if (plan->n_waits == 0)
        return;
    gap(s);
    say(s, 0, STYLE_HEAD, "Will wait for%s", s->p->is_offline ? " (unless they are installed)" : "");
    for (size_t i = 0; i < plan->n_waits; i++)
        say(s, 2, STYLE_PLAIN, "%.*s", STR(plan->waits[i]));
    if (s->p->source.package->n_dependencies)
        say(s, 2, STYLE_FAINT,
            "when a kind is there, the controller gets all verbs on it: everywhere, if it belongs to no namespace");
}

static void print_warnings(struct printing *s)
{
    const struct findings *w = &s->p->plan.warnings;
    if (w->list.n == 0)
        return;
    gap(s);
    say(s, 0, STYLE_HEAD, "Warnings");
    vec_each(&w->list, it)
    {
        say(s, 2, STYLE_WARN, "! %.*s", STR(it->message));
    }
    if (w->more)
        say(s, 2, STYLE_WARN, "! and %zu more", w->more);
}

static void print_notes(struct printing *s)
{
    if (s->p->notes.n == 0)
        return;
    gap(s);
    say(s, 0, STYLE_HEAD, "Could not be seen");
    vec_each(&s->p->notes, note)
    {
        say(s, 2, STYLE_PLAIN, "%.*s", STR(*note));
    }
}

static void print_refusal(struct printing *s)
{
    const struct findings *f = &s->p->findings;
    gap(s);
    say(s, 0, STYLE_LOSS, "refused: it would not be installed, and nothing would change");
    vec_each(&f->list, it)
    {
        str remedy = planning_remedy(s->p, it), next = {0};
        say(s, 2, STYLE_PLAIN, "%.*s: %.*s", STR(it->reason), STR(it->message));
        if (it + 1 < f->list.p + f->list.n)
            next = planning_remedy(s->p, it + 1);
        if (remedy.n && !str_eq(remedy, next)) /* of several with the same the last one shows it */
            say_command(s, remedy);
    }
    if (f->more)
        say(s, 2, STYLE_PLAIN, "and %zu more", f->more);
}

/* "16 cluster-wide, by bindings that exist already" */
static str wide_of(struct printing *s, const struct planning_count *c)
{
    struct buf text = {.arena = s->a};
    buf_fmt(&text, "%zu cluster-wide", c->wide);
    if (c->by_bindings && c->by_bindings == c->wide)
        buf_add_str(&text, S(", by bindings that exist already"));
    else if (c->by_bindings)
        buf_fmt(&text, ", %zu of them by bindings that exist already", c->by_bindings);
    if (planning_misses_people(s->p))
        buf_add_str(&text, S(" by the package itself; existing bindings were not seen"));
    return buf_str(&text);
}

static void print_summary(struct printing *s)
{
    const struct planning *p = s->p;
    struct planning_count c = planning_count(p);
    size_t refusals = p->findings.list.n + p->findings.more;
    gap(s);
    if (refusals)
        say(s, 0, STYLE_HEAD, "plan: refused for %zu reason%s", refusals, plural(refusals));
    else if (!p->has_changes)
        say(s, 0, STYLE_HEAD, "plan: no changes");
    else if (c.accounts + c.personas == 0)
        say(s, 0, STYLE_HEAD, "plan: no rights change");
    else
        say(s, 0, STYLE_HEAD, "plan: %zu ServiceAccount%s, %zu persona%s: %zu right%s gained, %zu lost; %.*s",
            c.accounts, plural(c.accounts), c.personas, plural(c.personas), c.gained, plural(c.gained), c.lost,
            STR(wide_of(s, &c)));
}

void planning_print(struct buf *b, const struct planning *p)
{
    struct printing s = {b, p, &p->c->term, p->a, p->output == OUTPUT_WIDE};
    print_head(&s);
    if (p->findings.list.n) {
        print_refusal(&s);
    } else {
        print_place(&s, true);
        print_everywhere(&s);
        print_place(&s, false);
        print_crds(&s);
        print_deployment(&s);
        print_waits(&s);
        if (p->has_changes)
            print_warnings(&s);
    }
    print_notes(&s);
    print_summary(&s);
}

/* What changes, by what is there and what will be. */

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

/* A persona's gain in one namespace that somebody of it has everywhere. */
static bool planning_gains_everywhere(const struct planning *p, enum plan_subject who)
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
