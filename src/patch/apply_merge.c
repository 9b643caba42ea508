/* SPDX-License-Identifier: Apache-2.0 */
/* Laying a configuration over a live object, and taking away what its manager no longer asks for. */
#include "patch/apply_parts.h"

#include "base/budget.h"

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
        /* Live items that repeat an element cannot be told apart: none of them is merged into. */
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
    /* An empty or null map or list of the configuration takes nothing away. */
    if (form == TYPED_MAP && !t->atomic && json_is_obj(live) && live->n > 0)
        return merge_map(a, t, live, config);
    if (form == TYPED_LIST && t->list != TYPED_LIST_ATOMIC && json_is_arr(live) && live->n > 0)
        return json_is_arr(config) && config->n ? merge_list(a, t, live, config) : *live;
    return json_equal(config, live) ? *live : *config;
}

struct json value_merge(struct arena *a, const struct typed *t, const struct json *live, const struct json *config)
{
    return merge(a, t, live, config);
}

/* ---- Prune. ---- */

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

/* An item whose keys nobody owns any more loses them, and goes with them, whoever owns the rest. */
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

struct json value_prune(struct arena *a, const struct typed *t, const struct json *v, struct fieldset before,
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

/* What Go leaves out of the records of built-in kinds: null, and empty maps and lists; a record that has become null. */
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

struct json value_tidy(struct arena *a, const struct typed *t, const struct json *v, const struct json *live)
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
