/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/aggregate.h"
#include "cli/cli_output.h"
#include "cli/cli_plan_internal.h"
#include "object/object.h"
#include "package/pod.h"

#include <stdlib.h>

/* Rights as lines that a person reads: verbs together, resources together, a resource and its parts as one.
 *
 *   + get, list, watch on buckets, networks (and /status) of compute.example.org */

enum {
    LIST_MAX = 24, /* names of a list that is shortened */
    HANG = 4,      /* columns by which the further lines of a paragraph stand back */
    NARROWEST = 40,
};

/* ---- Lines. ---- */

static str spaces(struct arena *a, unsigned n)
{
    return str_fmt(a, "%*s", (int)n, "");
}

void planning_add_wrapped(struct buf *b, const struct planning_lines *l, enum term_style style, str text)
{
    struct buf line = {.arena = l->arena};
    struct term_wrap wrap = {.width = l->term->width < NARROWEST ? NARROWEST : l->term->width,
                             .lead = spaces(l->arena, l->indent),
                             .hang = spaces(l->arena, l->indent + HANG)};
    if (l->sign)
        text = str_fmt(l->arena, "%c %.*s", l->sign, STR(text));
    term_add(&line, l->term, style, text);
    term_add_wrapped(b, l->term, &wrap, buf_str(&line));
}

/* ---- Lists. ---- */

typedef VEC(str) names;

static void add_names(struct buf *b, const struct planning_lines *l, const names *list)
{
    size_t n = l->is_whole || list->n <= LIST_MAX ? list->n : LIST_MAX;
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s%.*s", i ? ", " : "", STR(list->p[i]));
    if (n < list->n)
        buf_fmt(b, " and %zu more", list->n - n);
}

static void add_strs(struct buf *b, struct strs list)
{
    strs_each(list, it)
    {
        buf_fmt(b, "%s%.*s", it == list.p ? "" : ", ", STR(*it));
    }
}

static bool is_all(struct strs list)
{
    return list.n == 1 && str_eq(list.p[0], S("*"));
}

/* ---- Resources with the same parts. ---- */

struct resource {
    str name;
    names parts; /* "/status" */
    bool is_whole;
};

struct bunch {
    str parts; /* "/finalizers, /status" */
    names list;
};

struct sorting {
    struct arena *a;
    VEC(struct resource *) resources;
    VEC(struct bunch *) bunches;
    struct map by_name, by_parts;
};

static void sort_resources(struct sorting *s, struct strs list)
{
    strs_each(list, it)
    {
        str name, part;
        bool is_part = str_cut(*it, '/', &name, &part);
        struct resource *r = map_get(&s->by_name, name);
        if (!r) {
            r = ARENA_NEW(s->a, struct resource);
            r->name = name;
            map_set(&s->by_name, name, r);
            *vec_push(s->a, &s->resources) = r;
        }
        r->is_whole |= !is_part;
        if (is_part)
            *vec_push(s->a, &r->parts) = str_from(*it, name.n);
    }
}

static void put(struct sorting *s, str parts, str name)
{
    struct bunch *found = map_get(&s->by_parts, parts);
    if (!found) {
        found = ARENA_NEW(s->a, struct bunch);
        found->parts = parts;
        map_set(&s->by_parts, parts, found);
        *vec_push(s->a, &s->bunches) = found;
    }
    *vec_push(s->a, &found->list) = name;
}

static void sort_bunches(struct sorting *s)
{
    vec_each(&s->resources, r)
    {
        struct buf parts = {.arena = s->a};
        vec_each(&(*r)->parts, part)
        {
            if ((*r)->is_whole)
                buf_fmt(&parts, "%s%.*s", parts.n ? ", " : "", STR(*part));
            else /* a part alone is told by its whole name */
                put(s, (str){0}, str_fmt(s->a, "%.*s%.*s", STR((*r)->name), STR(*part)));
        }
        if ((*r)->is_whole)
            put(s, buf_str(&parts), (*r)->name);
    }
}

/* ---- Rules. ---- */

/* All that is said of the same verbs. */
struct phrase {
    struct strs verbs;
    names what; /* "networks, subnetworks (and /status) of compute.example.org" */
};

typedef VEC(struct phrase) phrases;

static bool are_same(struct strs x, struct strs y)
{
    bool same = x.n == y.n;
    for (size_t i = 0; same && i < x.n; i++)
        same = str_eq(x.p[i], y.p[i]);
    return same;
}

/* Rules are in normal form, so there are only a few different lists of verbs. */
static void add_phrase(const struct planning_lines *l, phrases *list, struct strs verbs, const struct buf *what)
{
    struct phrase *found = NULL;
    vec_each(list, it)
    {
        if (are_same(it->verbs, verbs))
            found = it;
    }
    if (!found) {
        found = vec_push(l->arena, list);
        *found = (struct phrase){.verbs = verbs};
    }
    *vec_push(l->arena, &found->what) = buf_str(what);
}

static void add_bunch(const struct planning_lines *l, phrases *list, const struct rule *rule, str group,
                      const struct bunch *bunch)
{
    struct buf text = {.arena = l->arena};
    if (bunch->list.n == 1 && str_eq(bunch->list.p[0], S("*")))
        buf_add_str(&text, S("all resources"));
    else
        add_names(&text, l, &bunch->list);
    if (bunch->parts.n)
        buf_fmt(&text, " (and %.*s)", STR(bunch->parts));
    if (rule->resource_names.n) {
        buf_add_str(&text, S(" named "));
        add_strs(&text, rule->resource_names);
    }
    if (str_eq(group, S("*")))
        buf_add_str(&text, S(" of all groups"));
    else if (group.n)
        buf_fmt(&text, " of %.*s", STR(group));
    add_phrase(l, list, rule->verbs, &text);
}

static void add_rule(const struct planning_lines *l, phrases *list, const struct rule *rule)
{
    struct sorting s = {.a = l->arena};
    struct buf urls = {.arena = l->arena};
    sort_resources(&s, rule->resources);
    sort_bunches(&s);
    strs_each(rule->api_groups, group)
    {
        vec_each(&s.bunches, bunch)
        {
            add_bunch(l, list, rule, *group, *bunch);
        }
    }
    add_strs(&urls, rule->non_resource_urls);
    if (urls.n)
        add_phrase(l, list, rule->verbs, &urls);
    map_done(&s.by_name);
    map_done(&s.by_parts);
}

/* One line; or, where there is more of it, the verbs and a line for each. */
static void print_phrase(struct buf *b, const struct planning_lines *l, const struct phrase *phrase)
{
    enum term_style style = l->sign == '-' ? STYLE_LOSS : STYLE_GAIN;
    struct planning_lines inner = {.term = l->term, .arena = l->arena, .indent = l->indent + HANG};
    struct buf text = {.arena = l->arena};
    if (is_all(phrase->verbs))
        buf_add_str(&text, S("all verbs"));
    else
        add_strs(&text, phrase->verbs);
    if (phrase->what.n == 1)
        buf_fmt(&text, " on %.*s", STR(phrase->what.p[0]));
    else
        buf_add_str(&text, S(" on:"));
    planning_add_wrapped(b, l, style, buf_str(&text));
    for (size_t i = 0; phrase->what.n > 1 && i < phrase->what.n; i++)
        planning_add_wrapped(b, &inner, style, phrase->what.p[i]);
}

void planning_add_rules(struct buf *b, const struct planning_lines *l, struct rules rules)
{
    phrases list = {0};
    rules_each(rules, rule)
    {
        add_rule(l, &list, rule);
    }
    vec_each(&list, phrase)
    {
        print_phrase(b, l, phrase);
    }
}

/* Who has what a persona has: whoever is bound to a role that aggregates the persona's role of the package, at once or by way of
 * others. The labels that the role will have decide it, so this holds for roles that anybody has made, too. */

struct aggregate {
    const struct authz_role *role;
    struct aggregate_selectors selectors;
};

struct gathering {
    struct planning *p;
    VEC(struct aggregate) aggregates;
    struct map roles[PLANNING_PERSONAS]; /* names of those that will have the rules of a persona */
};

/* ---- Which roles. ---- */

static bool gather(void *ctx, const struct authz_role *role)
{
    struct gathering *g = ctx;
    struct aggregate one = {.role = role};
    if (role->kind == AUTHZ_CLUSTER_ROLE && role->aggregation_rule &&
        aggregate_selectors_parse(g->p->a, role->aggregation_rule, &one.selectors, NULL) == 0)
        *vec_push(g->p->a, &g->aggregates) = one;
    return true;
}

static bool selects(const struct aggregate *a, const struct json *labels)
{
    for (size_t i = 0; i < a->selectors.n; i++) {
        if (selector_matches(&a->selectors.p[i], labels))
            return true;
    }
    return false;
}

/* Those that select these labels, and those that select those; each is entered once. */
static void follow(struct gathering *g, struct map *found, const struct json *labels)
{
    VEC(const struct json *) next = {0};
    *vec_push(g->p->a, &next) = labels;
    for (size_t i = 0; i < next.n; i++) {
        vec_each(&g->aggregates, it)
        {
            if (!map_get(found, it->role->name) && selects(it, next.p[i])) {
                map_set(found, it->role->name, g);
                *vec_push(g->p->a, &next) = it->role->labels;
            }
        }
    }
}

static void follow_all(struct gathering *g)
{
    static const char *const labels[] = {"admin", "edit", "view"};
    const struct planning *p = g->p;
    const char *prefix = p->asked.is_cluster ? LABEL_TO_ENVIRONMENT : LABEL_TO_NAMESPACE;
    for (size_t i = 0; i < p->plan.n_roles; i++) {
        for (int k = 0; k < PLANNING_PERSONAS; k++) {
            if (str_eq(object_label(&p->plan.roles[i], str_fmt(p->a, "%s%s", prefix, labels[k])), S("true")))
                follow(g, &g->roles[k], object_labels(&p->plan.roles[i]));
        }
    }
}

/* ---- Who is bound to them. Everywhere: a role for the people of one namespace can be bound in another, and has there what it has
 *      here. ---- */

static bool meet(void *ctx, const struct authz_grant *grant)
{
    struct gathering *g = ctx;
    for (int k = 0; grant->role_kind == AUTHZ_CLUSTER_ROLE && k < PLANNING_PERSONAS; k++) {
        if (!map_get(&g->roles[k], grant->role_name))
            continue;
        for (size_t i = 0; i < authz_binding_subjects(grant->binding); i++)
            *vec_push(g->p->a, &g->p->people[k].list) =
                (struct planning_subject){.subject = authz_binding_subject(grant->binding, i),
                                          .binding_kind = grant->kind,
                                          .binding = grant->name,
                                          .namespace = grant->namespace,
                                          .role = grant->role_name};
    }
    return true;
}

static int by_place_and_name(const void *x, const void *y, void *ctx)
{
    const struct planning_subject *l = x, *r = y;
    const str *here = ctx;
    int order = (int)str_eq(r->namespace, *here) - (int)str_eq(l->namespace, *here); /* those of this place first */
    if (order == 0)
        order = (int)(l->namespace.n == 0) - (int)(r->namespace.n == 0); /* then those of another namespace */
    if (order == 0)
        order = str_cmp(l->namespace, r->namespace);
    if (order == 0)
        order = (int)l->subject.kind - (int)r->subject.kind;
    if (order == 0)
        order = str_cmp(l->subject.namespace, r->subject.namespace);
    if (order == 0)
        order = str_cmp(l->subject.name, r->subject.name);
    return order ? order : str_cmp(l->binding, r->binding);
}

static void find_people(struct planning *p)
{
    struct gathering g = {.p = p};
    authz_visit_roles(p->rights.index, gather, &g);
    follow_all(&g);
    authz_visit_bindings(p->rights.index, meet, &g);
    p->knows_people = true;
    for (int k = 0; k < PLANNING_PERSONAS; k++) {
        struct planning_people *people = &p->people[k];
        people->n_roles = g.roles[k].n;
        map_done(&g.roles[k]);
        if (people->list.n)
            qsort_r(people->list.p, people->list.n, sizeof *people->list.p, by_place_and_name, &p->asked.namespace);
    }
}

/* ---- What waits for the account. ---- */

struct everyone {
    struct planning *p;
    str namespace; /* of the binding that it is compared with; empty: cluster-wide */
    struct rules rules;
};

static bool add_everyone(void *ctx, const struct authz_grant *grant)
{
    struct everyone *e = ctx;
    if (grant->role && (grant->namespace.n == 0 || str_eq(grant->namespace, e->namespace)))
        e->rules = rules_union(e->p->a, e->rules, grant->role->rules);
    return true;
}

/* As controllers/installs/installs_foreign.c decides it: the account would get more than every authenticated account has. */
static bool is_refused(struct planning *p, const struct authz_grant *grant)
{
    static const str groups[] = {S_INIT("system:authenticated"), S_INIT("system:serviceaccounts")};
    struct authz_identity all = {.groups = {groups, 2}};
    struct everyone everyone = {.p = p, .namespace = grant->namespace};
    authz_visit_everywhere(p->rights.index, &all, add_everyone, &everyone);
    return p->running.reference.n == 0 && !(grant->role && rules_cover(p->a, everyone.rules, grant->role->rules, NULL));
}

static bool warn_of(void *ctx, const struct authz_grant *grant)
{
    struct planning *p = ctx;
    findings_add(&p->plan.warnings, (str){0},
                 "ServiceAccount %.*s/%.*s has more from the start: %.*s %.*s%s%.*s binds %.*s to %.*s %.*s%s",
                 STR(p->asked.namespace), STR(p->asked.name), STR(authz_kind_name(grant->kind)), STR(grant->namespace),
                 grant->namespace.n ? "/" : "", STR(grant->name), STR(authz_subject_title(p->a, &grant->subject)),
                 STR(authz_kind_name(grant->role_kind)), STR(grant->role_name),
                 is_refused(p, grant) ? ". The install is refused (ServiceAccountConflict)" : "");
    if (grant->kind == AUTHZ_CLUSTER_ROLE_BINDING && grant->role)
        *vec_push(p->a, &p->waiting) = (struct planning_waiting){grant->name, grant->role->rules};
    return true;
}

/* Bindings do not ask whether there is an account: those to its name, and to all accounts of its namespace, count from the moment it is
 * made. What all accounts of a cluster have is no news. */
static void meet_account(struct planning *p)
{
    struct authz_subject account = {AUTHZ_SERVICE_ACCOUNT, p->asked.name, p->asked.namespace};
    str group = str_fmt(p->a, "system:serviceaccounts:%.*s", STR(p->asked.namespace));
    struct authz_identity who = {.user = authz_subject_user(p->a, &account), .groups = {&group, 1}};
    authz_visit_everywhere(p->rights.index, &who, warn_of, p);
}

/* ---- All. ---- */

/* Who may not look everywhere looks in the one namespace. */
static int load(struct planning *p, struct err *err)
{
    int code = rights_load(p->c, (str){0}, &p->rights, err);
    if (code != ERR_FORBIDDEN || p->asked.is_cluster)
        return code;
    code = rights_load(p->c, p->asked.namespace, &p->rights, err);
    if (code == 0)
        planning_note(p, "who has such rights by bindings of other namespaces: you may not list all of them");
    return code;
}

int planning_see_people(struct planning *p, struct err *err)
{
    if (!p->world.is_known)
        return 0;
    int code = load(p, err);
    if (code == ERR_FORBIDDEN) {
        planning_note(p, p->self.dialect->has_personas
                             ? "who the admins, editors and viewers are: you may not list all roles and bindings"
                             : "what the ServiceAccount is bound to already: you may not list all bindings");
        return 0;
    }
    if (code < 0)
        return code;
    if (p->self.dialect->has_personas)
        find_people(p);
    if (json_is_null(&p->running.record)) /* else it has that already */
        meet_account(p);
    return 0;
}

/* A plan for programs. What is here stays: fields may be added, none is renamed. The manual describes it. */

static void add_text(struct arena *a, struct json *obj, str key, str text)
{
    if (text.n)
        json_add(a, obj, key, json_str(text));
}

static void add_word(struct arena *a, struct json *obj, str key, const char *word)
{
    json_add(a, obj, key, json_str(str_of(word)));
}

static void add_number(struct arena *a, struct json *obj, str key, size_t n)
{
    json_add(a, obj, key, json_uint(n));
}

/* ---- What it is about. ---- */

static struct json package_tree(const struct planning *p)
{
    const struct package *package = p->source.package;
    struct json o = json_obj();
    add_text(p->a, &o, S("reference"), p->source.is_directory ? p->source.reference : p->asked.image);
    if (p->source.is_directory)
        add_word(p->a, &o, S("directory"), p->what);
    if (!p->source.is_directory || !p->images.is_quick)
        add_text(p->a, &o, S("digest"), package->digest);
    add_text(p->a, &o, S("repository"), package->repo);
    add_text(p->a, &o, S("name"), package->name);
    add_text(p->a, &o, S("version"), package->version);
    add_text(p->a, &o, S("family"), package->family);
    add_word(p->a, &o, S("permissionScope"), package->scope == PACKAGE_CLUSTER ? "Cluster" : "Namespaced");
    return o;
}

static struct json install_tree(const struct planning *p)
{
    struct json o = json_obj(), installed = json_obj();
    add_text(p->a, &o, S("apiVersion"), object_api_version(&p->install));
    add_text(p->a, &o, S("kind"), p->self.dialect->install[p->self.is_cluster].kind);
    if (!p->self.is_cluster)
        add_text(p->a, &o, S("namespace"), p->asked.namespace);
    add_text(p->a, &o, S("name"), p->asked.name);
    json_add(p->a, &o, S("exists"), json_bool(p->running.install != NULL));
    if (p->running.reference.n == 0)
        return o;
    add_text(p->a, &installed, S("package"), p->running.reference);
    add_text(p->a, &installed, S("digest"), p->running.digest);
    add_text(p->a, &installed, S("version"), p->running.version);
    json_add(p->a, &o, S("installed"), installed);
    return o;
}

/* ---- Who. ---- */

static struct json account_tree(const struct planning *p)
{
    struct json list = json_arr(), o = json_obj();
    add_word(p->a, &o, S("kind"), "ServiceAccount");
    add_text(p->a, &o, S("namespace"), p->asked.namespace);
    add_text(p->a, &o, S("name"), p->asked.name);
    json_push(p->a, &list, o);
    return list;
}

static struct json binding_tree(const struct planning *p, const struct planning_subject *it)
{
    struct json o = json_obj();
    json_add(p->a, &o, S("kind"), json_str(authz_kind_name(it->binding_kind)));
    add_text(p->a, &o, S("namespace"), it->namespace);
    add_text(p->a, &o, S("name"), it->binding);
    add_text(p->a, &o, S("role"), it->role);
    return o;
}

static struct json people_tree(const struct planning *p, enum plan_subject who)
{
    struct json list = json_arr();
    vec_each(&p->people[who - PLAN_ADMIN].list, it)
    {
        struct json o = document_subject(p->a, &it->subject);
        json_add(p->a, &o, S("binding"), binding_tree(p, it));
        if (it->gains_everywhere)
            json_add(p->a, &o, S("isClusterWide"), json_bool(true));
        json_push(p->a, &list, o);
    }
    return list;
}

/* ---- What. ---- */

static struct json grants_tree(const struct planning *p, struct plan_grants grants)
{
    struct json list = json_arr();
    for (int round = 0; round < 2; round++) { /* what reaches furthest comes first */
        for (size_t i = 0; i < grants.n; i++) {
            const struct plan_grant *g = &grants.p[i];
            struct json o = json_obj();
            if (g->is_cluster_wide != (round == 0))
                continue;
            add_word(p->a, &o, S("who"), planning_who(g->who));
            json_add(p->a, &o, S("isClusterWide"), json_bool(g->is_cluster_wide));
            add_text(p->a, &o, S("namespace"), g->namespace);
            if (g->who == PLAN_CONTROLLER || p->knows_people)
                json_add(p->a, &o, S("subjects"), g->who == PLAN_CONTROLLER ? account_tree(p) : people_tree(p, g->who));
            json_add(p->a, &o, S("rules"), rules_to_json(p->a, g->rules));
            json_push(p->a, &list, o);
        }
    }
    return list;
}

static struct json crds_tree(const struct planning *p)
{
    struct json list = json_arr_sized(p->a, p->crds.n);
    vec_each(&p->crds, it)
    {
        struct json o = json_obj();
        add_text(p->a, &o, S("name"), it->name);
        add_text(p->a, &o, S("kind"), it->kind);
        add_word(p->a, &o, S("scope"), it->is_namespaced ? "Namespaced" : "Cluster");
        add_word(p->a, &o, S("change"), planning_change_name(it->change));
        json_push(p->a, &list, o);
    }
    return list;
}

/* The digest of a directory that was not packed is not known. */
static void push_images(const struct planning *p, struct json *list, const char *path)
{
    const struct json *containers = json_dig(&p->plan.deployment, path);
    bool is_digest_known = !p->source.is_directory || !p->images.is_quick;
    json_each_item(containers, c)
    {
        str image = json_get_text(c, S("image")), name = image, digest;
        if (!is_digest_known)
            str_cut(image, '@', &name, &digest);
        json_push(p->a, list, json_str(name));
    }
}

static void add_facts(struct arena *a, struct json *o, const char *key, const str *facts, size_t n)
{
    struct json list = json_arr();
    for (size_t i = 0; i < n; i++)
        json_push(a, &list, json_str(facts[i]));
    json_add(a, o, str_of(key), list);
}

void planning_add_pod(struct arena *a, struct json *o, const struct json *deployment)
{
    struct pod_facts f = package_describe_pod(a, deployment);
    add_facts(a, o, "ports", f.ports.p, f.ports.n);
    add_facts(a, o, "volumes", f.volumes.p, f.volumes.n);
    add_facts(a, o, "unusual", f.unusual.p, f.unusual.n);
}

static struct json deployment_tree(const struct planning *p)
{
    const struct json *object = json_is_null(&p->plan.deployment) ? &p->deployment : &p->plan.deployment;
    struct json o = json_obj(), images = json_arr();
    if (json_is_null(object))
        return json_null();
    push_images(p, &images, "spec.template.spec.initContainers");
    push_images(p, &images, "spec.template.spec.containers");
    add_text(p->a, &o, S("namespace"), object_namespace(object));
    add_text(p->a, &o, S("name"), object_name(object));
    add_word(p->a, &o, S("change"), planning_change_name(p->deployment_change));
    json_add(p->a, &o, S("images"), images);
    planning_add_pod(p->a, &o, &p->plan.deployment);
    return o;
}

/* ---- The rest. ---- */

static struct json findings_tree(const struct planning *p)
{
    struct json list = json_arr();
    vec_each(&p->findings.list, it)
    {
        struct json o = json_obj();
        add_text(p->a, &o, S("reason"), it->reason);
        add_text(p->a, &o, S("message"), it->message);
        add_text(p->a, &o, S("remedy"), planning_remedy(p, it));
        json_push(p->a, &list, o);
    }
    return list;
}

static struct json warnings_tree(const struct planning *p)
{
    struct json list = json_arr();
    vec_each(&p->plan.warnings.list, it)
    {
        json_push(p->a, &list, json_str(it->message));
    }
    return list;
}

static struct json texts_tree(const struct planning *p, const str *texts, size_t n)
{
    struct json list = json_arr();
    for (size_t i = 0; i < n; i++)
        json_push(p->a, &list, json_str(texts[i]));
    return list;
}

static struct json summary_tree(const struct planning *p)
{
    struct planning_count c = planning_count(p);
    struct json o = json_obj();
    add_number(p->a, &o, S("serviceAccounts"), c.accounts);
    add_number(p->a, &o, S("personas"), c.personas);
    add_number(p->a, &o, S("gained"), c.gained);
    add_number(p->a, &o, S("lost"), c.lost);
    add_number(p->a, &o, S("clusterWide"), c.wide);
    add_number(p->a, &o, S("clusterWideByBindings"), c.by_bindings);
    json_add(p->a, &o, S("mayBeMore"), json_bool(planning_misses_people(p)));
    return o;
}

struct json planning_tree(const struct planning *p)
{
    struct arena *a = p->a;
    struct json o = document_new(a, "Plan"), deployment = deployment_tree(p);
    add_word(a, &o, S("outcome"), planning_outcome(p));
    json_add(a, &o, S("isOffline"), json_bool(p->is_offline));
    json_add(a, &o, S("isClusterWide"), json_bool(planning_count(p).wide > 0));
    json_add(a, &o, S("package"), package_tree(p));
    json_add(a, &o, S("install"), install_tree(p));
    json_add(a, &o, S("gains"), grants_tree(p, p->gains));
    json_add(a, &o, S("losses"), grants_tree(p, p->losses));
    json_add(a, &o, S("crds"), crds_tree(p));
    if (!json_is_null(&deployment) && p->findings.list.n == 0)
        json_add(a, &o, S("deployment"), deployment);
    json_add(a, &o, S("waits"), texts_tree(p, p->plan.waits, p->plan.n_waits));
    json_add(a, &o, S("findings"), findings_tree(p));
    json_add(a, &o, S("warnings"), warnings_tree(p));
    json_add(a, &o, S("notSeen"), texts_tree(p, p->notes.p, p->notes.n));
    json_add(a, &o, S("summary"), summary_tree(p));
    return o;
}
