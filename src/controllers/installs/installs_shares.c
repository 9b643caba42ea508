/* SPDX-License-Identifier: Apache-2.0 */
/* What the installs of one family share: CRDs that serve all their versions, and the ClusterRoles of each version, labelled for
 * every namespace that uses it. One key per family, so that a thousand installs become few writes.
 *
 *   holdings of the family ─► versions ─► ClusterRoles (an apply set: what no version wants any more goes)
 *            │                       └──► CRDs (union of the versions), written where they differ
 *            └── those who leave ───────► CRDs that nobody else has: deleted once no object of their kind is left
 *
 * Rounds rest: with many namespaces each object has as many labels, and costs as much to write. After a round that took in new installs,
 * the next ones are taken in when three times as long has passed as that round took, at most REST_MAX_NS. Only who is new waits: when
 * an install leaves or changes its version, the family is written at once, with all that wait.
 *
 * Nothing is touched while somebody who may hold something of the family has not been visited since the start. */
#include "control/applyset.h"
#include "controllers/installs/installs_internal.h"
#include "object/object.h"
#include "package/family.h"

#include <stdlib.h>

#define WAIT_MAX_NS INT64_C(50000000)
#define REST_MAX_NS (2 * NS_PER_S)
enum { REST_FACTOR = 3 };

void shares_enqueue(struct installs *s, str label)
{
    if (label.n)
        control_enqueue_after(s->shares, (str){0}, label, s->share_wait_ns);
}

/* ---- Who takes part. ---- */

/* A holding as it was when the work began; texts and packages are the work's own. */
struct part {
    str uid, record, place, since, approved;
    const struct lane *lane;
    const struct package *now, *old;
    bool is_leaving, is_reserved;
    str conflict; /* of its CRDs, once they are written */
    bool is_lacking;
};

/* A version, and who uses it. */
struct edition {
    const struct package *package;
    const struct lane *lane;
    struct family_side side;
    VEC(str) namespaces;
    VEC(str) records;
};

struct work {
    struct installs *s;
    struct reconcile *r;
    struct arena *a;
    str label;
    VEC(struct part) parts;
    VEC(struct edition) editions;
    VEC(const struct package *) packages; /* of the editions, each digest once */
    VEC(struct share_crd) crds;
    retained_vec retained;
    bool has_departure; /* one leaves, or changes its version */
    bool is_resting;
    size_t fresh; /* new installs that this round takes in, or leaves waiting while it rests */
    size_t going; /* CRDs that were to be deleted and are still there */
};

static void take(struct work *w, const struct holding *h)
{
    *vec_push(w->a, &w->parts) = (struct part){.uid = str_dup(w->a, h->uid),
                                               .record = str_dup(w->a, h->record),
                                               .place = str_dup(w->a, h->place),
                                               .since = str_dup(w->a, h->since),
                                               .approved = str_dup(w->a, h->approved),
                                               .lane = h->lane,
                                               .now = h->now ? package_ref(h->now) : NULL,
                                               .old = h->old ? package_ref(h->old) : NULL,
                                               .is_leaving = h->is_leaving,
                                               .is_reserved = h->is_reserved};
}

static int by_place(const void *x, const void *y)
{
    const struct part *l = x, *r = y;
    int c = str_cmp(l->place, r->place);
    return c ? c : str_cmp(l->uid, r->uid);
}

static bool has_family(struct arena *a, const struct package *p, str label)
{
    return p && str_eq(plan_family_label(a, p->family), label);
}

static bool takes_part(struct work *w, const struct holding *h)
{
    return ((h->record.n && h->now) || h->is_leaving) &&
           (str_eq(h->label, w->label) || has_family(w->a, h->old, w->label));
}

static bool find_departure(struct work *w)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(&w->s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        if (takes_part(w, h) && (h->is_leaving || h->old))
            return true;
    }
    return false;
}

/* False: somebody has not been visited yet. */
static bool gather(struct work *w)
{
    size_t at = 0;
    str key;
    void *value;
    installs_lock(w->s);
    bool is_complete = awaited_find(w->s, w->label, (str){0}) == NULL;
    w->has_departure = find_departure(w);
    w->is_resting &= !w->has_departure; /* then nobody waits */
    while (is_complete && map_next(&w->s->holdings, &at, &key, &value)) {
        struct holding *h = value;
        if (!takes_part(w, h))
            continue;
        w->fresh += h->is_fresh;
        if (h->is_fresh && w->is_resting)
            continue;
        h->is_fresh = false; /* from now on something of it may be written */
        take(w, h);
    }
    installs_unlock(w->s);
    if (w->parts.n)
        qsort(w->parts.p, w->parts.n, sizeof *w->parts.p, by_place);
    return is_complete;
}

static void release(struct work *w)
{
    vec_each(&w->parts, p)
    {
        package_unref(p->now);
        package_unref(p->old);
    }
}

static struct edition *edition_of(struct work *w, const struct part *part, const struct package *p)
{
    vec_each(&w->editions, e)
    {
        if (e->lane->dialect == part->lane->dialect && e->lane->is_cluster == part->lane->is_cluster &&
            package_is_same(e->package, p))
            return e;
    }
    *vec_push(w->a, &w->editions) = (struct edition){.package = p, .lane = part->lane};
    return &w->editions.p[w->editions.n - 1];
}

/* An edition counts as the first of its installs does. */
static void rank_edition(struct edition *e, const struct part *part, bool is_old)
{
    struct family_side side = {.package = e->package,
                               .install = part->uid,
                               .since = part->since,
                               .approved = is_old ? (str){0} : part->approved,
                               .is_cluster = part->lane->is_cluster,
                               .is_old = is_old};
    if (!e->side.package) {
        e->side = side;
        return;
    }
    int order = str_cmp(e->side.approved, side.approved);
    if (!str_eq(e->side.install, side.install))
        side.install = (str){0};
    side.is_old &= e->side.is_old;
    if (order > 0 || (order == 0 && str_cmp(e->side.since, side.since) < 0)) {
        side.since = e->side.since;
        side.approved = e->side.approved;
    }
    e->side = side;
}

static void use(struct work *w, const struct part *part, const struct package *p, bool is_old)
{
    if (!has_family(w->a, p, w->label))
        return;
    struct edition *e = edition_of(w, part, p);
    rank_edition(e, part, is_old);
    if (!part->lane->is_cluster && (e->namespaces.n == 0 || !str_eq(e->namespaces.p[e->namespaces.n - 1], part->place)))
        *vec_push(w->a, &e->namespaces) = part->place;
    *vec_push(w->a, &e->records) = part->record;
}

static int by_version(const void *x, const void *y)
{
    const struct edition *l = x, *r = y;
    int c = (int)l->side.is_old - (int)r->side.is_old; /* what is being replaced comes last */
    if (c == 0)
        c = str_cmp(l->package->version, r->package->version);
    return c ? c : str_cmp(l->package->digest, r->package->digest);
}

static void sort_out(struct work *w)
{
    vec_each(&w->parts, part)
    {
        if (part->is_leaving)
            continue;
        if (!part->is_reserved)
            use(w, part, part->now, false);
        if (part->old)
            use(w, part, part->old, part->now && !part->is_reserved);
    }
    if (w->editions.n)
        qsort(w->editions.p, w->editions.n, sizeof *w->editions.p, by_version);
    vec_each(&w->editions, e)
    {
        bool is_known = false;
        vec_each(&w->packages, p)
        {
            is_known |= str_eq((*p)->digest, e->package->digest);
        }
        if (!is_known)
            *vec_push(w->a, &w->packages) = e->package;
    }
}

static struct plan_sharers sharers_of(const struct edition *e)
{
    return (struct plan_sharers){e->namespaces.p, e->namespaces.n, e->records.p, e->records.n};
}

/* ---- ClusterRoles. ---- */

typedef VEC(struct applyset_object) objects;

static void want_roles(struct work *w, const struct edition *e, objects *wants)
{
    struct plan_facts facts = crd_table_facts(w->s->crds);
    struct plan_install install = {.dialect = e->lane->dialect, .is_cluster = e->lane->is_cluster};
    struct plan_args args = {.package = e->package, .install = &install, .facts = &facts, .options = w->s->options};
    struct plan_sharers sharers = sharers_of(e);
    const struct json *roles;
    size_t n = plan_roles(w->a, &args, &sharers, &roles);
    for (size_t i = 0; i < n; i++)
        *vec_push(w->a, wants) = (struct applyset_object){own_resources[OWN_CLUSTER_ROLE], &roles[i]};
}

static void want_retained_roles(struct work *w, objects *wants)
{
    vec_each(&w->retained, one)
    {
        struct plan_sharers sharers = retain_places(w->a, one);
        const struct json *roles;
        size_t n =
            sharers.n_namespaces || one->is_environment ? plan_retained_roles(w->a, &one->crd, &sharers, &roles) : 0;
        for (size_t i = 0; i < n; i++)
            *vec_push(w->a, wants) = (struct applyset_object){own_resources[OWN_CLUSTER_ROLE], &roles[i]};
    }
}

static int add_live_role(struct work *w, objects *have, const struct json *role, struct err *err)
{
    vec_each(have, known)
    {
        if (str_eq(object_name(known->object), object_name(role)))
            return 0;
    }
    struct json *live = ARENA_NEW(w->a, struct json);
    struct client_ref ref = {.resource = &own_resources[OWN_CLUSTER_ROLE], .name = object_name(role)};
    int code = client_get(w->r->client, w->a, &ref, live, err);
    if (code == 0)
        *vec_push(w->a, have) = (struct applyset_object){own_resources[OWN_CLUSTER_ROLE], live};
    return code == ERR_NOT_FOUND ? 0 : code;
}

static void add_role(struct work *w, objects *have, struct json role)
{
    if (!plan_is_role_name(object_name(&role)))
        return; /* labelled by hand: a foreign role is not deleted for that */
    struct json *tree = ARENA_NEW(w->a, struct json);
    *tree = role;
    *vec_push(w->a, have) = (struct applyset_object){own_resources[OWN_CLUSTER_ROLE], tree};
}

/* The roles of the family. When one leaves, the server is asked: a cache that is behind could show them as they were before it came, and
 * its access would stay. */
static int find_roles(struct work *w, objects *have, struct err *err)
{
    if (!w->has_departure) {
        struct items items ITEMS_SCOPE = informer_by_label(w->s->roles, S(LABEL_FAMILY), w->label);
        for (size_t i = 0; i < items.n; i++)
            add_role(w, have, item_tree(w->a, items.p[i]));
        return 0;
    }
    struct client_ref ref = {.resource = &own_resources[OWN_CLUSTER_ROLE]};
    struct client_list_options options = {.label_selector = str_fmt(w->a, LABEL_FAMILY "=%.*s", STR(w->label))};
    struct json *list = ARENA_NEW(w->a, struct json);
    int code = client_list(w->r->client, w->a, &ref, &options, list, NULL, err);
    if (code < 0)
        return err_wrap(err, "list the ClusterRoles of a package");
    json_each_item(list, role)
    {
        add_role(w, have, *role);
    }
    return 0;
}

static int write_roles(struct work *w, struct err *err)
{
    struct applyset set = {.label_key = S(LABEL_FAMILY),
                           .label_value = w->label,
                           .hash_key = S(ANNOTATION_APPLIED),
                           .field_manager = S(FIELD_MANAGER_PACKAGES)};
    objects wants = {0}, have = {0};
    vec_each(&w->editions, e)
    {
        want_roles(w, e, &wants);
    }
    want_retained_roles(w, &wants);
    int code = find_roles(w, &have, err);
    if (code < 0)
        return code;
    vec_each(&wants, want)
    {
        code = add_live_role(w, &have, want->object, err);
        if (code < 0)
            return err_wrap(err, "look for ClusterRole %.*s", STR(object_name(want->object)));
    }
    struct applyset_plan plan = applyset_plan(w->a, &set, wants.p, wants.n, have.p, have.n);
    for (size_t i = 0; i < plan.n; i++) {
        if (plan.p[i].action == APPLYSET_CONFLICT)
            return err_set(err, ERR_ALREADY_EXISTS, "%.*s", STR(plan.p[i].text));
    }
    code = applyset_run(w->r->client, w->a, &set, &plan, NULL, err);
    for (size_t i = 0; code == 0 && i < plan.n; i++)
        applyset_report_repair(w->s->control, w->s->recorder, w->a, NULL, &plan.p[i]);
    return code;
}

/* ---- CRDs. ---- */

static struct share_crd *crd_of(struct work *w, struct map *known, const struct edition *e,
                                const struct package_crd *crd)
{
    size_t i = (size_t)(uintptr_t)map_get(known, crd->info.name);
    if (i)
        return &w->crds.p[i - 1];
    *vec_push(w->a, &w->crds) = (struct share_crd){.name = crd->info.name, .dialect = e->lane->dialect};
    map_set(known, crd->info.name, (void *)(uintptr_t)w->crds.n);
    return &w->crds.p[w->crds.n - 1];
}

/* All that have it take part. */
static void share(struct work *w, struct share_crd *c, const struct edition *e)
{
    if (c->n_sides == 0) { /* the usual case */
        c->sides = &e->side;
        c->n_sides = 1;
    } else {
        struct family_side *sides = ARENA_ARRAY(w->a, struct family_side, c->n_sides + 1);
        for (size_t i = 0; i < c->n_sides; i++)
            sides[i] = c->sides[i];
        sides[c->n_sides++] = e->side;
        c->sides = sides;
    }
    if (e->lane->dialect->has_personas)
        c->dialect = e->lane->dialect;
    if (c->sharers.n_records == 0) { /* the usual case: one edition; its lists serve all its CRDs */
        c->sharers = sharers_of(e);
        return;
    }
    struct plan_sharers more = sharers_of(e);
    VEC(str) namespaces = {0}, records = {0};
    for (size_t i = 0, k = 0; i < c->sharers.n_namespaces || k < more.n_namespaces;) {
        int order = i == c->sharers.n_namespaces ? 1
                    : k == more.n_namespaces     ? -1
                                                 : str_cmp(c->sharers.namespaces[i], more.namespaces[k]);
        *vec_push(w->a, &namespaces) = order <= 0 ? c->sharers.namespaces[i] : more.namespaces[k];
        i += order <= 0;
        k += order >= 0;
    }
    for (size_t i = 0; i < c->sharers.n_records; i++)
        *vec_push(w->a, &records) = c->sharers.records[i];
    for (size_t i = 0; i < more.n_records; i++) {
        bool is_there = false;
        for (size_t k = 0; !is_there && k < c->sharers.n_records; k++)
            is_there = str_eq(c->sharers.records[k], more.records[i]);
        if (!is_there)
            *vec_push(w->a, &records) = more.records[i];
    }
    c->sharers = (struct plan_sharers){namespaces.p, namespaces.n, records.p, records.n};
}

static void collect_crds(struct work *w)
{
    struct map known = {0};
    vec_each(&w->editions, e)
    {
        for (size_t i = 0; i < e->package->n_crds; i++) {
            const struct package_crd *crd = &e->package->crds[i];
            share(w, crd_of(w, &known, e, crd), e);
        }
    }
    map_done(&known);
}

static bool is_wanted(const struct map *wanted, str name)
{
    return map_get(wanted, name) != NULL;
}

static bool is_retained(const struct work *w, str name)
{
    vec_each(&w->retained, one)
    {
        if (str_eq(one->crd.name, name))
            return true;
    }
    return false;
}

/* CRDs that were the family's and are wanted no more. One that had instances when they were counted stays until the next count, even if
 * they are gone by now: the roles that give access to them go first. */
static int prune_crds(struct work *w, struct err *err)
{
    struct map wanted = {0};
    const struct crd_row *rows;
    size_t n = crd_table_of_family(w->s->crds, w->a, w->label, &rows);
    VEC(const struct crd_row *) unwanted = {0};
    vec_each(&w->crds, c)
    {
        map_set(&wanted, c->name, c);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(&wanted, rows[i].crd.name) || is_retained(w, rows[i].crd.name))
            continue;
        if (rows[i].crd.is_deleting)
            w->going++;
        else
            *vec_push(w->a, &unwanted) = &rows[i];
    }
    map_done(&wanted);
    return shares_delete_crds(w->s, w->r, unwanted.p, unwanted.n, &w->going, err);
}

/* ---- What those who take part are told. ---- */

/* Whether all CRDs of a package are established. */
static bool count(const struct map *established, const struct package *p, size_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < p->n_crds; i++)
        *ret += map_get(established, p->crds[i].info.name) != NULL;
    return *ret == p->n_crds;
}

/* By name: one that an administrator has taken over is not of the family any more, and is served all the same. */
static void find_established(struct work *w, struct map *ret)
{
    vec_each(&w->crds, c)
    {
        struct crd_row row;
        if (crd_table_get(w->s->crds, w->a, c->name, &row) && row.is_established && !row.crd.is_deleting)
            map_set(ret, c->name, c);
    }
}

/* Of those who leave: no CRD that they alone had is there any more, but for those that were kept. */
static bool tell_one(struct work *w, const struct part *part, struct map *established, const char *problem)
{
    struct holding *h = holding_get(w->s, part->uid);
    if (!h || h->now != part->now || h->old != part->old || h->is_leaving != part->is_leaving || h->is_reserved)
        return false; /* it changed meanwhile and has been enqueued again */
    struct holding before = *h;
    holding_set_problem(h, str_of(problem));
    if (h->is_leaving) {
        h->is_unshared = problem[0] == 0 && w->going == 0;
        return h->is_unshared != before.is_unshared || problem[0];
    }
    if (!str_eq(h->label, w->label))
        return false; /* only its old version is of this family */
    str retained = retain_text(w->a, &w->retained, part->lane->is_cluster ? (str){0} : part->place);
    bool is_other =
        !str_eq(h->conflict, part->conflict) || h->is_lacking != part->is_lacking || !str_eq(h->retained, retained);
    holding_set_conflict(h, part->conflict);
    h->is_lacking = part->is_lacking;
    if (!str_eq(h->retained, retained))
        h->retained = str_dup(&h->arena, retained);
    h->is_shared = problem[0] == 0;
    h->wanted = h->now->n_crds;
    h->is_in_force = count(established, h->now, &h->established) && h->is_shared;
    return is_other || h->is_shared != before.is_shared || h->is_in_force != before.is_in_force ||
           (h->established != before.established && !h->is_in_force) || problem[0];
}

static void tell(struct work *w, const char *problem)
{
    struct map established = {0};
    find_established(w, &established);
    vec_each(&w->parts, part)
    {
        if (part->now && !part->is_leaving)
            part->conflict = shares_conflict(w->s, w->a, w->label, part->now, &part->is_lacking);
        installs_lock(w->s);
        bool is_news = tell_one(w, part, &established, problem);
        struct holding *h = holding_get(w->s, part->uid);
        bool is_over = h && h->is_orphan && h->is_unshared;
        if (is_news && h && !is_over)
            control_enqueue(h->lane->controller, h->namespace, h->name);
        if (is_over)
            holding_drop(w->s, part->uid);
        installs_unlock(w->s);
    }
    map_done(&established);
}

/* ---- One family. ---- */

static int carry_out(struct work *w, struct err *err)
{
    sort_out(w);
    collect_crds(w);
    int code = retain_find(w->s, w->r, w->label, w->crds.p, w->crds.n, &w->retained, err);
    if (code < 0)
        return code;
    w->r->again_ns = shares_recheck_ns(w->s, w->label, &w->retained);
    retain_labels(w->a, &w->retained, w->crds.p, w->crds.n);
    code = write_roles(w, err);
    if (code == 0)
        code = shares_write_crds(w->s, w->r, w->label, w->crds.p, w->crds.n, err);
    return code == 0 ? prune_crds(w, err) : code;
}

static void call_again(struct reconcile *r, int64_t delay_ns)
{
    if (r->again_ns == 0 || r->again_ns > delay_ns)
        r->again_ns = delay_ns;
}

int shares_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct work w = {.s = ctx, .r = r, .a = r->arena, .label = r->name};
    int code = 0;
    int64_t start = clock_mono_ns(&r->clock), *rest = shares_rest(w.s, w.label);
    w.is_resting = start < *rest;
    if (gather(&w)) {
        code = carry_out(&w, err);
        if (code != ERR_CONFLICT) /* then the cache was behind, and the next try says more */
            tell(&w, code < 0 ? err->msg : "");
    }
    release(&w);
    int64_t took = clock_mono_ns(&r->clock) - start;
    w.s->share_wait_ns = took < WAIT_MAX_NS ? took : WAIT_MAX_NS;
    if (w.fresh && w.is_resting)
        call_again(r, *rest - start);
    else if (w.fresh)
        *rest = start + took + (REST_FACTOR * took < REST_MAX_NS ? REST_FACTOR * took : REST_MAX_NS);
    return code;
}
