/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for people. What reaches furthest comes first: rights everywhere, then those in the namespace; in each the controller's, then
 * people's. Everything that nobody can read the rights from comes after them. */
#include "cli/planning.h"

#include "base/shell.h"
#include "cli/help.h"
#include "cli/visible.h"
#include "object/object.h"
#include "package/pod.h"
#include "package/semver.h"

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
