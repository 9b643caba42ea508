/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/apply.h"

#include "patch/apply_parts.h"

static const str client_side_manager = S_INIT("kubectl");

/* "apps/v1, Kind=Deployment"; the core group is empty: "/v1, Kind=Pod". */
static str gvk_text(struct arena *a, const struct json *object)
{
    str version = json_get_text(object, S("apiVersion")), kind = json_get_text(object, S("kind"));
    bool has_group = str_find_char(version, '/') >= 0;
    return str_fmt(a, "%s%.*s, Kind=%.*s", has_group ? "" : "/", STR(version), STR(kind));
}

static int check_config(struct arena *a, const struct apply_args *args, struct err *err)
{
    const struct json *config = args->config;
    str gvk = gvk_text(a, config);
    if (!str_eq(json_get_text(config, S("apiVersion")), args->write.api_version) ||
        !str_eq(json_get_text(config, S("kind")), args->write.kind))
        return err_set(err, ERR_BAD_REQUEST, "invalid object type: %.*s", STR(gvk));
    if (json_len(managed_of(config)))
        return err_set(err, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
    if (value_check(&args->write.type, config, a, err) < 0) {
        const struct json *meta = json_get(config, S("metadata"));
        return err_wrap(err, "failed to create typed patch object (%.*s/%.*s; %.*s)",
                        STR(json_get_text(meta, S("namespace"))), STR(json_get_text(meta, S("name"))), STR(gvk));
    }
    return 0;
}

/* Everything one apply works on. */
struct applying {
    struct arena *arena;
    const struct apply_args *args;
    struct json live;       /* without managedFields */
    struct managed managed; /* of live; then of the result */
    struct json merged;
};

/* What anybody manages. */
static struct fieldset managed_by_all(struct arena *a, const struct managed *m)
{
    struct fieldset *sets = arena_alloc(a, arena_array_size(m->list.n + 1, sizeof *sets));
    for (size_t i = 0; i < m->list.n; i++)
        sets[i] = m->list.p[i].set;
    return fieldset_union_all(a, sets, m->list.n);
}

/* The entry of this manager with the set that it applies now; *ret_before gets what it applied before. */
static void enter_manager(struct applying *ap, struct fieldset *ret_before)
{
    const struct managed_write *w = &ap->args->write;
    str id = managed_id(ap->arena, w, true);
    struct managed_entry *mine = managed_find(&ap->managed, id);
    struct fieldset set = value_fields(ap->arena, &w->type, ap->args->config);
    set = fieldset_without(ap->arena, set, fieldset_of_names(ap->arena, w->reset, w->n_reset));
    if (!mine) {
        mine = vec_push(ap->arena, &ap->managed.list);
        *mine = (struct managed_entry){
            .manager = w->manager.n ? w->manager : S("unknown"),
            .subresource = w->subresource,
            .applied = true,
            .id = id,
        };
    }
    *ret_before = mine->set;
    mine->api_version = w->api_version;
    mine->fields = NULL;
    mine->set = set;
}

/* Merges, prunes, and finds out whom that takes fields from. */
static int merge_and_compare(struct applying *ap, struct fieldset *ret_change, conflict_sets *ret_conflicts,
                             struct err *err)
{
    struct arena *a = ap->arena;
    const struct managed_write *w = &ap->args->write;
    struct fieldset before;
    enter_manager(ap, &before);
    ap->merged = value_merge(a, &w->type, &ap->live, ap->args->config);
    if (before.n)
        ap->merged = value_prune(a, &w->type, &ap->merged, before, managed_by_all(a, &ap->managed));
    *ret_change = (struct fieldset){0};
    if (value_is_shared(&ap->merged, &ap->live))
        return 0;
    int rc = value_diff(a, &w->type, &ap->live, &ap->merged, ret_change, err);
    if (rc < 0)
        return err_wrap(err, "failed to compare objects");
    *ret_change = fieldset_without(a, *ret_change, fieldset_of_names(a, w->reset, w->n_reset));
    str id = managed_id(a, w, true);
    vec_each(&ap->managed.list, e)
    {
        struct fieldset set =
            str_eq(e->id, id) ? (struct fieldset){0} : fieldset_common(a, e->set, *ret_change, FIELDSET_IN);
        if (set.n)
            *vec_push(a, ret_conflicts) = (struct conflict_set){e, set};
    }
    return 0;
}

/* kubectl may take over, unasked, what the last-applied annotation shows to be its own. */
static bool drop_allowed(struct applying *ap, conflict_sets *conflicts)
{
    struct fieldset allowed;
    size_t kept = 0;
    if (!str_eq(ap->args->write.manager, client_side_manager) ||
        !last_applied_fields(ap->arena, &ap->args->write, &ap->live, &allowed))
        return false;
    for (size_t i = 0; i < conflicts->n; i++) {
        struct conflict_set *c = &conflicts->p[i];
        c->set = fieldset_minus(ap->arena, c->set, allowed, FIELDSET_IN);
        if (c->set.n)
            conflicts->p[kept++] = *c;
    }
    conflicts->n = kept;
    return kept == 0;
}

static void settle(struct applying *ap, struct fieldset change)
{
    struct arena *a = ap->arena;
    const struct managed_write *w = &ap->args->write;
    str id = managed_id(a, w, true);
    vec_each(&ap->managed.list, e)
    {
        if (!str_eq(e->id, id))
            managed_set(e, fieldset_minus(a, e->set, change, FIELDSET_IN | FIELDSET_REMOVED));
        else
            managed_set(e, fieldset_minus(a, e->set, managed_never(a), FIELDSET_IN));
    }
    if (!value_is_shared(&ap->merged, &ap->live))
        managed_find(&ap->managed, id)->time = w->time;
    managed_sweep(&ap->managed);
}

static int merge_and_settle(struct applying *ap, struct apply_result *ret, struct err *err)
{
    struct fieldset change;
    conflict_sets conflicts = {0};
    int rc = merge_and_compare(ap, &change, &conflicts, err);
    if (rc < 0)
        return rc;
    if (conflicts.n && !ap->args->force && !drop_allowed(ap, &conflicts))
        return conflict_report(ap->arena, &conflicts, ret, err);
    settle(ap, change);
    ret->object = value_tidy(ap->arena, &ap->args->write.type, &ap->merged, &ap->live);
    if (str_eq(ap->args->write.manager, client_side_manager))
        ret->object = last_applied_refresh(ap->arena, &ret->object, ap->args->config);
    ret->object = managed_attach(ap->arena, &ret->object, &ap->managed);
    ret->changed = !ap->args->live || !managed_is_same(ap->args->live, &ret->object);
    if (!ret->changed)
        ret->object = *ap->args->live;
    return 0;
}

/* An object that nobody tracked so far: all that is there counts as one early update. */
static int begin_tracking(struct applying *ap, struct err *err)
{
    struct managed_write before = ap->args->write;
    before.manager = S("before-first-apply");
    if (managed_track(&ap->managed, &before, NULL, &ap->live, err) < 0)
        return err_wrap(err, "failed to create manager for existing fields");
    return 0;
}

/* The entry under which this manager applied before, as the object has it; NULL when there is none, or none that is sure
 * to be the only one. */
static const struct json *own_entry(const struct apply_args *args)
{
    const struct managed_write *w = &args->write;
    const struct json *own = NULL;
    json_each_item(managed_of(args->live), e)
    {
        if (!str_eq(json_get_text(e, S("manager")), w->manager) ||
            !str_eq(json_get_text(e, S("operation")), S("Apply")) ||
            !str_eq(json_get_text(e, S("subresource")), w->subresource))
            continue;
        if (own || !str_eq(json_get_text(e, S("apiVersion")), w->api_version))
            return NULL;
        own = e;
    }
    return own;
}

int apply_thoroughly(struct arena *a, const struct apply_args *args, struct apply_result *ret, struct err *err)
{
    struct applying ap = {.arena = a, .args = args, .live = json_obj(), .managed = {.arena = a}};
    *ret = (struct apply_result){0};
    if (managed_decode(a, managed_of(args->live), &ap.managed, err) < 0)
        return err_wrap(err, "failed to decode managed fields");
    int rc = check_config(a, args, err);
    if (rc < 0)
        return rc;
    if (args->live)
        ap.live = managed_attach(a, args->live, &(struct managed){.arena = a});
    if (ap.managed.list.n == 0)
        rc = begin_tracking(&ap, err);
    else
        managed_reconcile(&ap.managed, &args->write);
    return rc < 0 ? rc : merge_and_settle(&ap, ret, err);
}

int apply_patch(struct arena *a, const struct apply_args *args, struct apply_result *ret, struct err *err)
{
    const struct json *own = own_entry(args);
    if (!own || !apply_is_noop(args, own) || !managed_is_reconciled(managed_of(args->live), &args->write))
        return apply_thoroughly(a, args, ret, err);
    *ret = (struct apply_result){.object = *args->live};
    return 0;
}
