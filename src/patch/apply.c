/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/apply.h"

#include "base/budget.h"
#include "patch/apply_internal.h"

#include <stdlib.h>

/* ---- Conflicts. ---- */

struct conflict_set {
    const struct managed_entry *entry;
    struct fieldset set;
};

typedef VEC(struct conflict_set) conflict_sets;

static str name_manager(struct arena *a, const struct managed_entry *e)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, e->manager);
    if (e->subresource.n) {
        buf_add_str(&b, S(" with subresource "));
        buf_add_quoted(&b, e->subresource);
    }
    if (!e->applied)
        buf_fmt(&b, " using %.*s", STR(e->api_version));
    return buf_str(&b);
}

static int by_id(const void *x, const void *y)
{
    const struct conflict_set *a = x, *b = y;
    return str_cmp(a->entry->id, b->entry->id);
}

struct listing {
    struct arena *arena;
    struct apply_result *ret;
    str message;
};

static void add_conflict(void *ctx, const struct fieldset_path *path)
{
    struct listing *l = ctx;
    struct buf b = {.arena = l->arena};
    fieldset_path_format(&b, path);
    *vec_push(l->arena, &l->ret->conflicts) = (struct apply_conflict){l->message, buf_str(&b)};
}

/* Fills in conflicts, message and err; returns ERR_CONFLICT. */
static int conflict_report(struct arena *a, const conflict_sets *sets, struct apply_result *ret, struct err *err)
{
    struct buf all = {.arena = a};
    qsort(sets->p, sets->n, sizeof *sets->p, by_id);
    vec_each(sets, s)
    {
        str name = name_manager(a, s->entry);
        size_t first = ret->conflicts.n;
        fieldset_each(s->set, add_conflict, &(struct listing){a, ret, str_fmt(a, "conflict with %.*s", STR(name))});
        buf_fmt(&all, "%sconflicts with %.*s:", all.n ? "\n" : "", STR(name));
        for (size_t i = first; i < ret->conflicts.n; i++)
            buf_fmt(&all, "\n- %.*s", STR(ret->conflicts.p[i].field));
    }
    if (ret->conflicts.n == 1)
        ret->message = str_fmt(a, "Apply failed with 1 conflict: %.*s: %.*s", STR(ret->conflicts.p[0].message),
                               STR(ret->conflicts.p[0].field));
    else
        ret->message = str_fmt(a, "Apply failed with %zu conflicts: %.*s", ret->conflicts.n, STR(buf_str(&all)));
    return err_set(err, ERR_CONFLICT, "%.*s", STR(ret->message));
}

/* The annotation in which client-side apply remembers what it applied. kubectl moves from that to server-side apply
 * without conflicts: fields that the annotation set and that are unchanged since are its own. */

static const str annotation_name = S_INIT("kubectl.kubernetes.io/last-applied-configuration");

enum { ANNOTATIONS_MAX = 256 * 1024 };

static const struct json *annotations_of(const struct json *object)
{
    return json_get(json_get(object, S("metadata")), S("annotations"));
}

str last_applied_text(const struct json *object)
{
    return json_get_text(annotations_of(object), annotation_name);
}

/* Fields that the last-applied annotation of live set and that still have that value; false when there is no usable
 * annotation. */
static bool last_applied_fields(struct arena *a, const struct managed_write *w, const struct json *live,
                                struct fieldset *ret)
{
    str text = last_applied_text(live);
    struct json config;
    struct fieldset change;
    struct err err;
    if (text.n == 0 || json_decode(a, text, NULL, NULL, &config, &err) < 0 || !json_is_obj(&config))
        return false;
    if (!str_eq(json_get_text(&config, S("apiVersion")), w->api_version))
        return false;
    if (value_check(&w->type, &config, a, &err) < 0 || value_diff(a, &w->type, &config, live, &change, &err) < 0)
        return false;
    *ret = fieldset_minus(a, value_fields(a, &w->type, &config), change, FIELDSET_IN | FIELDSET_REMOVED);
    return true;
}

/* Object with metadata.annotations set, or removed when it is null. */
static struct json with_annotations(struct arena *a, const struct json *object, struct json annotations)
{
    struct json out = json_dup_top(a, object), meta = json_dup_top(a, json_get(object, S("metadata")));
    json_set(a, &meta, S("annotations"), annotations);
    json_set(a, &out, S("metadata"), meta);
    return out;
}

static str annotation_text(struct arena *a, const struct json *config)
{
    struct json plain = *config;
    const struct json *annotations = annotations_of(config);
    if (json_get(annotations, annotation_name)) {
        struct json rest = json_dup_top(a, annotations);
        json_remove(&rest, annotation_name);
        plain = with_annotations(a, config, rest);
    }
    struct buf b = {.arena = a};
    json_encode(&b, &plain, JSON_SORTED);
    buf_add_char(&b, '\n');
    return buf_str(&b);
}

struct json last_applied_refresh(struct arena *a, const struct json *object, const struct json *config)
{
    const struct json *annotations = annotations_of(object);
    size_t total = 0;
    if (last_applied_text(object).n == 0)
        return *object;
    str text = annotation_text(a, config);
    if (str_eq(text, last_applied_text(object)))
        return *object;
    struct json next = json_dup_top(a, annotations);
    json_set(a, &next, annotation_name, json_str(text));
    json_each_member(&next, m) total += m->key_n + json_text(&m->val).n;
    if (total > ANNOTATIONS_MAX)
        json_remove(&next, annotation_name);
    return with_annotations(a, object, next);
}

/* ---- Merging a configuration into a live object, and removing what its manager no longer sets. ---- */

bool value_is_shared(const struct json *x, const struct json *y)
{
    if (x->type != y->type || x->n != y->n)
        return false;
    switch ((enum json_type)x->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return x->b == y->b;
    case JSON_STR:
        return x->n == 0 || x->s == y->s;
    case JSON_ARR:
    case JSON_OBJ:
        return x->n == 0 || x->items == y->items;
    default:
        return x->u == y->u;
    }
}

/* ---- Merge. ---- */

static struct json merge(struct arena *a, const struct typed *t, const struct json *live, const struct json *config);

/* The order of a merged list: items keep the order of the configuration among themselves, and items only the live list
 * has stay behind the one they followed, as far as both wishes go together.
 *
 *     live a b c d, config d x b   →   a c d x b     (b waits for d; x comes where the configuration has it) */
struct weave {
    struct arena *arena;
    struct typed item_type;
    struct items live, config;
    bool *taken;      /* items of the configuration that have been put */
    uint32_t *shared; /* items of the configuration the live list has too, in order */
    uint32_t n_shared, at_shared;
    struct json out;
};

static void put_live(struct weave *w, uint32_t i)
{
    json_push(w->arena, &w->out, *w->live.p[i].value);
}

static void put_config(struct weave *w, uint32_t j)
{
    static const struct json null = {.type = JSON_NULL};
    const struct item *it = &w->config.p[j];
    uint32_t i = items_find(&w->live, &it->elem);
    if (i == ITEM_NONE) {
        json_push(w->arena, &w->out, *it->value);
    } else {
        /* Live items that repeat an element cannot be distinguished: none of them is merged into. */
        const struct json *with = w->live.p[i].next == ITEM_NONE ? w->live.p[i].value : &null;
        json_push(w->arena, &w->out, merge(w->arena, &w->item_type, with, it->value));
    }
    w->taken[j] = true;
    if (w->at_shared < w->n_shared && w->shared[w->at_shared] == j)
        w->at_shared++;
}

static void weave_items(struct weave *w)
{
    uint32_t i = 0, j = 0;
    while (i < w->live.n || j < w->config.n) {
        uint32_t same = i < w->live.n ? items_find(&w->config, &w->live.p[i].elem) : ITEM_NONE;
        if (i < w->live.n && same == ITEM_NONE) {
            put_live(w, i++);
            continue;
        }
        if (i < w->live.n && j < w->config.n) {
            if (same == j) {
                put_config(w, j++);
                i++;
                continue;
            }
            if (w->at_shared < w->n_shared && w->shared[w->at_shared] != same) {
                i++; /* the configuration has it elsewhere */
                continue;
            }
        }
        if (i < w->live.n && w->taken[same])
            i++;
        if (j < w->config.n)
            put_config(w, j++);
    }
}

static bool same_items(const struct json *x, const struct json *y)
{
    if (x->n != y->n)
        return false;
    for (uint32_t i = 0; i < x->n; i++) {
        if (!value_is_shared(&x->items[i], &y->items[i]))
            return false;
    }
    return true;
}

static struct json merge_list(struct arena *a, const struct typed *t, const struct json *live,
                              const struct json *config)
{
    struct weave w = {.arena = a, .item_type = typed_item(t)};
    if (items_init(a, &w.live, t, live, NULL) < 0 || items_init(a, &w.config, t, config, NULL) < 0)
        return *config;
    w.taken = arena_zalloc(a, w.config.n + 1);
    w.shared = arena_alloc(a, arena_array_size(w.config.n + 1, sizeof *w.shared));
    for (uint32_t j = 0; j < w.config.n; j++) {
        if (items_find(&w.live, &w.config.p[j].elem) != ITEM_NONE)
            w.shared[w.n_shared++] = j;
    }
    w.out = json_arr_sized(a, w.live.n > w.config.n ? w.live.n : w.config.n);
    weave_items(&w);
    return same_items(&w.out, live) ? *live : w.out;
}

static struct json merge_map(struct arena *a, const struct typed *t, const struct json *live, const struct json *config)
{
    struct json_index known JSON_INDEX_SCOPE;
    struct json out = *live;
    bool copied = false;
    json_index_init(&known, live);
    json_each_member(config, m)
    {
        struct typed child;
        const struct json_member *old = json_index_find(&known, json_key(m));
        typed_member(t, m, &child);
        struct json v = old ? merge(a, &child, &old->val, &m->val) : m->val;
        if (old && value_is_shared(&v, &old->val))
            continue;
        if (!copied)
            out = json_dup_top(a, live);
        copied = true;
        if (old)
            out.members[old - live->members].val = v;
        else
            json_add(a, &out, json_key(m), v);
    }
    return out;
}

static struct json merge(struct arena *a, const struct typed *t, const struct json *live, const struct json *config)
{
    budget_charge(4);
    unsigned form = typed_deduce(t, config);
    /* An empty or null map or list of the configuration removes nothing. */
    if (form == TYPED_MAP && !t->atomic && json_is_obj(live) && live->n > 0)
        return merge_map(a, t, live, config);
    if (form == TYPED_LIST && t->list != TYPED_LIST_ATOMIC && json_is_arr(live) && live->n > 0)
        return json_is_arr(config) && config->n ? merge_list(a, t, live, config) : *live;
    return json_equal(config, live) ? *live : *config;
}

/* live with config laid over it; the very same handle when that changes nothing. */
static struct json value_merge(struct arena *a, const struct typed *t, const struct json *live,
                               const struct json *config)
{
    return merge(a, t, live, config);
}

/* ---- Prune. ---- */

static struct json value_prune(struct arena *a, const struct typed *t, const struct json *v, struct fieldset before,
                               struct fieldset managed);

/* Whether the place of an entry counts as in the set. A declared field is there because of what is in it. */
static bool holds(const struct fieldset_entry *e, bool is_field)
{
    return e && (e->marks || (is_field && e->below.n));
}

struct pruning {
    struct arena *arena;
    struct fieldset before, managed;
};

/* Prunes one child, *v; true when it is to be dropped. */
static bool prune_child(const struct pruning *p, const struct fieldset_elem *elem, const struct typed *t, bool is_field,
                        struct json *v)
{
    budget_charge(4);
    const struct fieldset_entry *before = fieldset_find(p->before, elem);
    if (!before)
        return false;
    const struct fieldset_entry *managed = fieldset_find(p->managed, elem);
    if (holds(before, is_field) && !holds(managed, is_field))
        return true;
    if (before->below.n)
        *v = value_prune(p->arena, t, v, before->below, managed ? managed->below : (struct fieldset){0});
    return false;
}

/* A map or list that loses all it holds is null in built-in kinds, as it is in Kubernetes: the place is still there for
 * who manages it, until value_tidy. In custom resources it is empty, as its managers want it; Kubernetes makes it null,
 * which validation then mostly refuses. */
static struct json prune_map(const struct pruning *p, const struct typed *t, const struct json *v)
{
    struct json out = json_obj_sized(p->arena, v->n);
    bool changed = false;
    json_each_member(v, m)
    {
        struct typed child;
        struct json kept = m->val;
        const struct fieldset_elem name = fieldset_name(json_key(m));
        bool is_field = typed_member(t, m, &child) == TYPED_FIELD;
        bool drop = prune_child(p, &name, &child, is_field, &kept);
        changed |= drop || !value_is_shared(&kept, &m->val);
        if (child.source == TYPED_SHAPE && json_len(&m->val) && !json_len(&kept))
            kept = json_null();
        if (!drop)
            json_add(p->arena, &out, json_key(m), kept);
    }
    return changed ? out : *v;
}

/* An item whose keys have no manager any more is removed, even if its other fields have one. */
static bool is_still(struct arena *a, const struct typed *list, const struct json *item,
                     const struct fieldset_elem *was)
{
    struct fieldset_elem is;
    return item_elem(a, list, item, &is, NULL) == 0 && fieldset_elem_compare(&is, was) == 0;
}

static struct json prune_list(const struct pruning *p, const struct typed *t, const struct json *v)
{
    struct items items;
    if (items_init(p->arena, &items, t, v, NULL) < 0)
        return *v;
    struct typed item_type = typed_item(t);
    struct json out = json_arr_sized(p->arena, v->n);
    bool changed = false;
    for (uint32_t i = 0; i < items.n; i++) {
        struct json kept = *items.p[i].value;
        bool drop = prune_child(p, &items.p[i].elem, &item_type, false, &kept);
        bool differs = !value_is_shared(&kept, items.p[i].value);
        drop |= differs && !is_still(p->arena, t, &kept, &items.p[i].elem);
        changed |= drop || differs;
        if (!drop)
            json_push(p->arena, &out, kept);
    }
    return changed ? out : *v;
}

/* v without what was applied before and has no manager now; the very same handle if there is none. */
static struct json value_prune(struct arena *a, const struct typed *t, const struct json *v, struct fieldset before,
                               struct fieldset managed)
{
    struct pruning p = {.arena = a, .before = before, .managed = managed};
    struct json out = *v;
    if (json_is_obj(v) && v->n && t->allows & TYPED_MAP && !t->atomic)
        out = prune_map(&p, t, v);
    else if (json_is_arr(v) && v->n && t->allows & TYPED_LIST && t->list != TYPED_LIST_ATOMIC)
        out = prune_list(&p, t, v);
    return out;
}

/* ---- Tidy. ---- */

static struct json value_tidy(struct arena *a, const struct typed *t, const struct json *v, const struct json *live);

/* What Go leaves out of the records of built-in kinds: null, and empty maps and lists; a record that has become
 * null. */
static bool is_unset(const struct typed *t, const struct json *v, const struct json *live)
{
    if (t->source != TYPED_SHAPE)
        return false;
    if (json_is_null(v))
        return !t->present || t->card == SHAPE_ONE || json_len(live);
    return !t->present && t->card != SHAPE_ONE && v->type >= JSON_ARR && v->n == 0;
}

static struct json tidy_map(struct arena *a, const struct typed *t, const struct json *v, const struct json *live)
{
    struct json_index known JSON_INDEX_SCOPE;
    struct json out = json_obj_sized(a, v->n);
    json_index_init(&known, live);
    json_each_member(v, m)
    {
        struct typed child;
        const struct json_member *old = json_index_find(&known, json_key(m));
        const struct json *was = old ? &old->val : NULL;
        bool is_entry = typed_member(t, m, &child) == TYPED_ENTRY;
        struct json kept = value_tidy(a, &child, &m->val, was);
        if (is_entry && child.source == TYPED_SHAPE && json_is_null(&kept) && typed_scalar(&child) == TYPED_STRING)
            kept = json_str(S("")); /* in a map of strings there is no null */
        if ((was && value_is_shared(&kept, was)) || !is_unset(&child, &kept, was))
            json_add(a, &out, json_key(m), kept);
    }
    return out;
}

static struct json tidy_list(struct arena *a, const struct typed *t, const struct json *v, const struct json *live)
{
    struct items known, now;
    if (items_init(a, &known, t, live, NULL) < 0 || items_init(a, &now, t, v, NULL) < 0)
        return *v;
    struct typed item_type = typed_item(t);
    struct json out = json_arr_sized(a, v->n);
    for (uint32_t i = 0; i < now.n; i++) {
        uint32_t was = items_find(&known, &now.p[i].elem);
        json_push(a, &out, value_tidy(a, &item_type, now.p[i].value, was == ITEM_NONE ? NULL : known.p[was].value));
    }
    return out;
}

/* v, made of live (or NULL) by the two above, without what Go omits. Fields are tracked on v before this. */
static struct json value_tidy(struct arena *a, const struct typed *t, const struct json *v, const struct json *live)
{
    budget_charge(4);
    if (live && value_is_shared(v, live))
        return *v;
    if (json_is_obj(v) && t->allows & TYPED_MAP && !t->atomic && t->source >= TYPED_SHAPE)
        return tidy_map(a, t, v, live);
    if (json_is_arr(v) && t->allows & TYPED_LIST && t->list == TYPED_LIST_KEYED)
        return tidy_list(a, t, v, live);
    return *v;
}

/* ---- Apply. ---- */

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

/* The fields of all managers. */
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

/* Merges, prunes, and collects the conflicts with other managers. */
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

/* kubectl may take over, without force, the fields that the last-applied annotation shows to be its own. */
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
            managed_set(e, fieldset_minus(a, e->set, managed_never(), FIELDSET_IN));
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

/* An object without managedFields: all its fields count as one early update. */
static int begin_tracking(struct applying *ap, struct err *err)
{
    struct managed_write before = ap->args->write;
    before.manager = S("before-first-apply");
    if (managed_track(&ap->managed, &before, NULL, &ap->live, err) < 0)
        return err_wrap(err, "failed to create manager for existing fields");
    return 0;
}

/* The entry under which this manager applied before, as the object has it; NULL when there is none, or none that is
 * sure to be the only one. */
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
