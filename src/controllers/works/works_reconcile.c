/* SPDX-License-Identifier: Apache-2.0 */
/* One visit of one work: everything that touches the managed cluster.
 *
 *   the hub has it ─► keep:  named in its AppliedManifestWork ─► applied ─► surplus removed ─► recorded ─► facts
 *   it is going    ─► leave: AppliedManifestWork deleted, objects removed, let go ─► the hub is told that nothing is left
 *   it is missing  ─► evict: after a long while, by two clocks, and if the hub says so once more: as leave */
#include "base/map.h"
#include "controllers/works/works_executor.h"
#include "controllers/works/works_internal.h"
#include "controllers/works/works_roles.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

#define DENIED_NS (60 * NS_PER_S)
#define SOON_NS (20 * NS_PER_MS)
#define READ_ONLY_NS (15 * NS_PER_S)       /* what is only read is not watched */
#define READ_ONLY_EACH_NS (50 * NS_PER_MS) /* many are read less often */

static const struct client_resource works_kind = CLIENT_RESOURCE(FLEET_WORKS);

static int64_t now(const struct visit *v)
{
    return clock_mono_ns(&v->r->clock);
}

void visit_again(struct visit *v, int64_t after_ns)
{
    if (v->again == 0 || after_ns < v->again)
        v->again = after_ns;
}

/* Up to half as much again, by the name, so that works are not all visited at once. */
static int64_t resync_after(const struct visit *v)
{
    int64_t share = (int64_t)(hash_str(v->name) % 1000);
    return v->w->options.resync_ns + v->w->options.resync_ns / 2000 * share;
}

/* ---- The executor. ---- */

static bool is_allowed_still(struct visit *v)
{
    struct memo *memo = memo_take(v->w->memos, v->name);
    bool is_so =
        memo->allowed_at && memo->generation == object_generation(&v->work) && now(v) - memo->allowed_at < DENIED_NS;
    memo_give(v->w->memos);
    return is_so;
}

static void remember_allowed(struct visit *v, bool is_allowed)
{
    struct memo *memo = memo_take(v->w->memos, v->name);
    memo->allowed_at = is_allowed ? now(v) : 0;
    memo->generation = object_generation(&v->work);
    memo_give(v->w->memos);
}

static void deny(struct visit *v, struct work_item *item, str text)
{
    item->report.reason = S(REPORT_FAILED);
    item->report.problem = text;
    visit_again(v, DENIED_NS);
}

/* False: it may not, or nobody knows. */
static bool check_item(struct visit *v, struct work_item *item, const struct executor *executor)
{
    struct executor_question question = {
        .executor = *executor,
        .resource = &item->resource,
        .object_namespace = item->namespace,
        .object_name = item->name,
        .object = &item->want,
        .may_delete = !item->is_orphaned,
    };
    struct err err;
    str denied = {0};
    int code = executor_check(v->managed, v->a, &question, &denied, &err);
    if (code < 0) {
        denied = str_dup(v->a, str_of(err.msg));
        if (v->failure.code == 0)
            v->failure = err;
    }
    if (denied.n)
        deny(v, item, denied);
    return !denied.n;
}

static void check_executor(struct visit *v)
{
    struct executor executor;
    str denied = {0};
    bool is_allowed = true;
    if (!executor_read(&v->work, &executor, &denied) || is_allowed_still(v))
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct work_item *item = &v->items[i];
        if (item->report.reason.n || item->report.manifest->strategy == MANIFEST_READ_ONLY)
            continue;
        if (denied.n)
            deny(v, item, denied);
        is_allowed &= !denied.n && check_item(v, item, &executor);
    }
    remember_allowed(v, is_allowed);
}

/* ---- Keep. ---- */

static void tell(struct visit *v)
{
    struct report_entry *entries = ARENA_ARRAY(v->a, struct report_entry, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const struct work_item *item = &v->items[i];
        entries[i] = item->report;
        if (item->twin) { /* there is one object, and what became of it is known by now */
            entries[i].presence = item->twin->report.presence;
            entries[i].unknown = item->twin->report.unknown;
            entries[i].live = item->twin->report.live;
        }
        if (item->twin && !entries[i].reason.n) {
            entries[i].reason = item->twin->report.reason;
            entries[i].problem = item->twin->report.problem;
        }
    }
    struct json facts = report_facts(v->a, &v->work, entries, v->n);
    hub_tell(v, &facts);
}

static void remember(struct visit *v)
{
    bool selects = false;
    json_each_item(json_dig(&v->work, "spec.workload.manifests"), m)
    {
        selects |= json_get(object_annotations(m), S(FLEET_ANNOTATION_SELECTOR)) != NULL;
    }
    struct memo *memo = memo_take(v->w->memos, v->name);
    memo->selects = selects;
    memo->waits = v->waits;
    memo->gone_since = 0;
    memo->is_left = false;
    memo_give(v->w->memos);
}

static void wake(void *ctx, str work)
{
    struct visit *v = ctx;
    if (!str_eq(work, v->name))
        control_enqueue(v->w->visits, (str){0}, work);
}

/* Works that bind a role which is somebody else's now take their bindings back. Told once: two that bind each other's would go on
 * for ever. */
static void tell_binders(struct visit *v)
{
    uint64_t conflicts = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].is_in_conflict)
            conflicts += hash_str(work_item_key(v->a, v->items[i].resource.group, v->items[i].resource.plural,
                                                v->items[i].namespace, v->items[i].name));
    struct memo *memo = memo_take(v->w->memos, v->name);
    bool is_new = memo->conflicts != conflicts;
    memo->conflicts = conflicts;
    memo_give(v->w->memos);
    for (size_t i = 0; i < v->n && is_new; i++)
        if (v->items[i].is_in_conflict)
            roles_each_binder(v->w->roles, v->items[i].resource.plural, v->items[i].name, wake, v);
}

static void plan_return(struct visit *v)
{
    size_t read_only = 0;
    for (size_t i = 0; i < v->n; i++)
        read_only += v->items[i].report.manifest->strategy == MANIFEST_READ_ONLY;
    if (read_only)
        visit_again(v, READ_ONLY_NS + (int64_t)read_only * READ_ONLY_EACH_NS);
    visit_again(v, resync_after(v));
    v->r->again_ns = v->again;
}

static int apply_all(struct visit *v, struct err *err)
{
    check_executor(v);
    bool has_work = false;
    for (size_t i = 0; i < v->n; i++) {
        apply_look(v, &v->items[i]);
        has_work |= !v->items[i].is_done;
    }
    int code = has_work ? applied_intend(v, err) : 0;
    for (size_t i = 0; i < v->n && code == 0; i++)
        if (!v->items[i].is_done)
            apply_item(v, &v->items[i]);
    return code;
}

/* Its AppliedManifestWork cannot have a name. */
static int refuse_name(struct visit *v)
{
    expand_work(v);
    for (size_t i = 0; i < v->n; i++) {
        v->items[i].report.reason = S(REPORT_FAILED);
        v->items[i].report.problem =
            str_fmt(v->a, "the name of the ManifestWork has more than %d characters", FLEET_WORK_NAME);
    }
    tell(v);
    return 0;
}

/* What is wrong with one object stands in the facts; it is tried again later and later, with all others left as they are. */
static int keep(struct visit *v, struct err *err)
{
    struct json pending;
    if (v->name.n > FLEET_WORK_NAME)
        return refuse_name(v);
    remember(v); /* before namespaces are looked at: whoever comes then is told of */
    int code = applied_ensure(v, err);
    if (code < 0)
        return code;
    if (object_is_deleting(&v->applied)) /* somebody deleted it: it goes with all it has, and comes anew */
        return visit_take_back(v, err);
    if ((code = applied_set_eviction(v, json_null(), err)) < 0)
        return code;
    expand_work(v);
    if (v->is_early) {
        v->r->again_ns = SOON_NS;
        return 0;
    }
    if ((code = apply_all(v, err)) < 0)
        return code;
    int removed = remove_surplus(v, &pending, err);
    struct err own;
    code = applied_record(v, &pending, removed < 0 ? &own : err);
    remember(v);
    tell_binders(v);
    tell(v);
    if (removed < 0 || code < 0)
        return removed < 0 ? removed : code;
    if (v->failure.code < 0) {
        *err = v->failure;
        return err->code == ERR_CONFLICT ? err_set(err, ERR_UNAVAILABLE, "%s", v->failure.msg) : (int)err->code;
    }
    plan_return(v);
    return 0;
}

/* ---- Leave. ---- */

int visit_take_back(struct visit *v, struct err *err)
{
    struct json pending = json_arr();
    int code = applied_delete(v, err);
    if (code < 0 || json_is_null(&v->applied))
        return code;
    v->items = NULL;
    v->n = 0;
    int removed = remove_surplus(v, &pending, err);
    struct err own;
    code = applied_record(v, &pending, removed < 0 ? &own : err);
    if (removed < 0 || code < 0)
        return removed < 0 ? removed : code;
    if (json_len(&pending)) {
        v->r->again_ns = v->again;
        return 0;
    }
    if ((code = applied_release(v, err)) < 0)
        return code;
    v->applied = json_null();
    v->r->again_ns = SOON_NS; /* until our copy knows */
    return 0;
}

static int leave(struct visit *v, struct err *err)
{
    int code = applied_ask(v, err);
    if (code == 0 && !json_is_null(&v->applied))
        code = visit_take_back(v, err);
    bool is_refused = code == ERR_FORBIDDEN || code == ERR_INVALID; /* what else goes wrong passes */
    struct json facts = report_leaving(v->a, is_refused ? str_of(err->msg) : (str){0});
    hub_tell(v, &facts);
    if (code == 0 && json_is_null(&v->applied)) {
        v->r->again_ns = 0;
        hub_release(v->w, v->name);
    }
    return code;
}

/* ---- Evict. ---- */

/* How much longer, by our own clock and by that which everybody has: neither of them may be jumped over. */
static int64_t left_of_grace(struct visit *v, int64_t started_s)
{
    int64_t grace = v->w->options.eviction_ns, mono = now(v);
    int64_t wall = clock_wall_ns(&v->r->clock);
    struct memo *memo = memo_take(v->w->memos, v->name);
    if (memo->gone_since == 0)
        memo->gone_since = mono ? mono : 1;
    int64_t left = memo->gone_since + grace - mono;
    memo_give(v->w->memos);
    int64_t by_wall = started_s * NS_PER_S + grace - wall;
    return by_wall > left ? by_wall : left;
}

static bool is_in_future(struct visit *v, str time, int64_t *ret_s)
{
    uint32_t nanos;
    int64_t wall = clock_wall_ns(&v->r->clock);
    return !time_parse(time, ret_s, &nanos) || *ret_s > wall / NS_PER_S;
}

/* Our copy says that it is gone; before anything is taken back the hub says so, too. */
static int is_surely_missing(struct visit *v, bool *ret, struct err *err)
{
    struct client_ref ref = {.resource = &works_kind, .namespace = v->w->options.cluster, .name = v->name};
    int code = client_get_metadata(v->w->options.hub, v->a, &ref, NULL, err);
    *ret = code < 0 && client_is_gone(err);
    return *ret ? 0 : code;
}

static int evict(struct visit *v, struct err *err)
{
    int64_t started_s = 0;
    bool is_missing = true;
    int code = 0;
    if (object_is_deleting(&v->applied))
        return visit_take_back(v, err);
    if (!applied_is_own(v))
        return 0; /* it is another agent's to know */
    str started = json_text(json_dig(&v->applied, "status.evictionStartTime"));
    if (is_in_future(v, started, &started_s)) {
        struct json time = meta_now(v->a, &v->r->clock);
        if ((code = applied_set_eviction(v, time, err)) < 0)
            return code;
        uint32_t nanos;
        (void)time_parse(json_text(&time), &started_s, &nanos);
    }
    int64_t left = left_of_grace(v, started_s);
    if (left > 0) {
        v->r->again_ns = left < v->w->options.resync_ns ? left : v->w->options.resync_ns;
        return 0;
    }
    if (!v->is_left && is_surely_missing(v, &is_missing, err) < 0)
        return err_wrap(err, "ask the hub for ManifestWork %.*s", STR(v->name));
    if (!is_missing) {
        v->r->again_ns = NS_PER_S;
        return 0;
    }
    return visit_take_back(v, err);
}

/* ---- The visit. ---- */

static int visit_left(struct visit *v, struct err *err)
{
    if (!informer_read(v->w->applied, v->a, (str){0}, v->name, &v->applied) || !applied_is_left(v->w, &v->applied)) {
        memo_forget(v->w->memos, v->name);
        return 0;
    }
    v->is_left = true;
    return evict(v, err);
}

int works_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct works *w = ctx;
    struct visit v = {.w = w, .r = r, .a = r->arena, .managed = w->options.managed, .name = r->name};
    v.applied_name = r->namespace.n ? r->name : applied_name(v.a, w, v.name);
    if (r->namespace.n)
        return visit_left(&v, err);
    if (!informer_read(w->works, v.a, w->options.cluster, v.name, &v.work))
        v.work = json_null();
    applied_look(&v);
    if (json_is_null(&v.work) && json_is_null(&v.applied)) {
        memo_forget(w->memos, v.name);
        return 0;
    }
    if (json_is_null(&v.work))
        return evict(&v, err);
    if (object_is_deleting(&v.work))
        return leave(&v, err);
    if (!object_has_finalizer(&v.work, S(FLEET_FINALIZER_WORK))) {
        control_enqueue(w->reports, (str){0}, v.name); /* it is held first; the change brings us back */
        return 0;
    }
    int code = keep(&v, err);
    map_done(&v.by_key);
    return code;
}
