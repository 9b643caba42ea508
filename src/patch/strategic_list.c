/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that a strategic merge patch merges: by a key of their maps, or as sets of scalars; and the order that results. */
#include "patch/strategic_parts.h"

#include "base/budget.h"

#include <stdlib.h>

#include "base/map.h"
#include "object/go_text.h"

/* ---- Errors. ---- */

static int no_key(struct smp *s, const struct json *item, str key)
{
    struct buf b = {.arena = s->arena};
    go_text(&b, item);
    return err_set(s->err, ERR_INTERNAL, "map: %.*s does not contain declared merge key: %.*s", STR(buf_str(&b)),
                   STR(key));
}

static int not_identical(struct smp *s, const struct json *x, const struct json *y)
{
    static const struct json none = {.type = JSON_ARR};
    struct buf b = {.arena = s->arena};
    buf_add_char(&b, '[');
    go_text(&b, x ? x : &none);
    buf_add_char(&b, ' ');
    go_text(&b, y ? y : &none);
    buf_add_char(&b, ']');
    return err_set(s->err, ERR_INTERNAL, "list element types are not identical: %.*s", STR(buf_str(&b)));
}

/* All items of both lists have one type, and that is no list. */
static int check_items(struct smp *s, const struct json *x, const struct json *y, bool *ret_maps)
{
    const struct json *first = NULL, *lists[] = {x, y};
    for (size_t l = 0; l < 2; l++) {
        json_each_item(lists[l], it)
        {
            if (!first && json_is_arr(it))
                return err_set(s->err, ERR_INVALID, "lists of lists are not supported");
            first = first ? first : it;
            if (json_is_null(it) || strcmp(go_type_name(first), go_type_name(it)) != 0)
                return not_identical(s, x, y);
        }
    }
    if (!first)
        return err_set(s->err, ERR_INTERNAL, "no elements in any of the given slices");
    *ret_maps = json_is_obj(first);
    return 0;
}

/* ---- Items and their identity. ---- */

struct entry {
    struct json value;
    str id;         /* of the scalar, or of the key's value */
    ptrdiff_t rank; /* while sorting: odd for what has a position, even for what goes in front of one */
};

typedef VEC(struct entry) entries;

static str id_of(struct arena *a, const struct json *v)
{
    struct buf b = {.arena = a};
    buf_add_char(&b, (char)('0' + json_type(v))); /* 1 and "1" differ, and for Go so do 1 and 1.0 */
    if (json_is_str(v))
        buf_add_str(&b, json_text(v));
    else
        json_encode(&b, v, JSON_SORTED);
    return buf_str(&b);
}

static int add_entry(struct smp *s, entries *to, const struct json *item, str key)
{
    if (!budget_charge(8))
        return ERR_TOO_LARGE;
    const struct json *v = item;
    if (key.n) {
        if (!json_is_obj(item))
            return smp_type_error(s, "map[string]interface {}", item);
        v = json_get(item, key);
        if (!v)
            return no_key(s, item, key);
    }
    *vec_push(s->arena, to) = (struct entry){.value = *item, .id = id_of(s->arena, v)};
    return 0;
}

static int add_all(struct smp *s, entries *to, const struct json *list, str key)
{
    int rc = 0;
    json_each_item(list, it) rc = rc ? rc : add_entry(s, to, it, key);
    return rc;
}

/* The first position of each identity, counted from one. */
static void index_entries(struct map *ret, const entries *list)
{
    *ret = (struct map){0};
    for (size_t i = 0; i < list->n; i++) {
        if (!map_get(ret, list->p[i].id))
            map_set(ret, list->p[i].id, (void *)(uintptr_t)(i + 1));
    }
}

static ptrdiff_t position(const struct map *index, str id)
{
    return (ptrdiff_t)(uintptr_t)map_get(index, id) - 1;
}

#define MAP_SCOPE __attribute__((cleanup(map_done)))

/* ---- Order. ---- */

static int by_rank(const void *x, const void *y)
{
    const struct entry *const *a = x, *const *b = y;
    if ((*a)->rank != (*b)->rank)
        return (*a)->rank < (*b)->rank ? -1 : 1;
    int as_they_came = *a < *b ? -1 : *a > *b;
    return (*a)->rank % 2 ? as_they_came : -as_they_came;
}

/* Sorts by the position in order. What is not there moves in front of all that came before it, and what comes later may
 * still overtake it: so does Go's stable sort (of up to 20 items), for which an unknown item is less than any other. */
static void sort_by(struct smp *s, entries *list, const struct map *order)
{
    size_t n = list->n;
    ptrdiff_t lowest = PTRDIFF_MAX - 1;
    const struct entry **sorted = arena_alloc(s->arena, arena_array_size(n + 1, sizeof *sorted));
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = position(order, list->p[i].id);
        if (at >= 0 && at * 2 < lowest)
            lowest = at * 2;
        list->p[i].rank = at >= 0 ? at * 2 + 1 : lowest;
        sorted[i] = &list->p[i];
    }
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, by_rank);
    struct entry *out = arena_alloc(s->arena, arena_array_size(n + 1, sizeof *out));
    for (size_t i = 0; i < n; i++)
        out[i] = *sorted[i];
    list->p = out;
}

/* Items that `wanted` orders keep its order; the others keep the order of the document and stand where they stood in it,
 * as far as that can be told: in front of the first wanted item that used to follow them, else at the end. */
static struct json arrange(struct smp *s, const entries *merged, const entries *wanted, const entries *doc)
{
    struct map by_wanted MAP_SCOPE, by_doc MAP_SCOPE;
    entries ours = {0}, theirs = {0};
    index_entries(&by_wanted, wanted);
    index_entries(&by_doc, doc);
    vec_each(merged, e)
    {
        if (position(&by_wanted, e->id) >= 0)
            *vec_push(s->arena, &ours) = *e;
        else
            *vec_push(s->arena, &theirs) = *e;
    }
    sort_by(s, &ours, &by_wanted);
    sort_by(s, &theirs, &by_doc);
    struct json out = json_arr_sized(s->arena, merged->n);
    size_t i = 0, j = 0;
    while (i < theirs.n || j < ours.n) {
        ptrdiff_t left = i < theirs.n ? position(&by_doc, theirs.p[i].id) : -1;
        ptrdiff_t right = j < ours.n ? position(&by_doc, ours.p[j].id) : -1;
        bool first = j == ours.n || (i < theirs.n && left >= 0 && right >= 0 && left < right);
        json_push(s->arena, &out, first ? theirs.p[i++].value : ours.p[j++].value);
    }
    return out;
}

/* ---- Sets of scalars. ---- */

static void add_missing(struct smp *s, entries *to, struct map *known, const entries *from)
{
    vec_each(from, e)
    {
        if (!map_get(known, e->id)) {
            map_set(known, e->id, e);
            *vec_push(s->arena, to) = *e;
        }
    }
}

static struct json merge_scalars(struct smp *s, const struct json *doc, const struct json *patch, bool is_deletion)
{
    struct map known MAP_SCOPE = {0};
    entries ours = {0}, theirs = {0}, merged = {0};
    add_all(s, &theirs, doc, (str){0});
    add_all(s, &ours, patch, (str){0});
    if (is_deletion) {
        struct json out = json_arr_sized(s->arena, doc->n);
        index_entries(&known, &ours);
        vec_each(&theirs, e)
        {
            if (position(&known, e->id) < 0)
                json_push(s->arena, &out, e->value);
        }
        return out;
    }
    add_missing(s, &merged, &known, &theirs);
    add_missing(s, &merged, &known, &ours);
    return arrange(s, &merged, &ours, &theirs);
}

/* ---- Lists of maps. ---- */

static int bad_directive(struct smp *s, const struct json *directive, const struct json *item)
{
    struct buf b = {.arena = s->arena};
    if (str_eq(json_text(directive), S("merge")))
        return err_set(s->err, ERR_INTERNAL, "merging lists cannot yet be specified in the patch");
    go_text(&b, directive);
    buf_add_str(&b, S(" in map: "));
    go_text(&b, item);
    return err_set(s->err, ERR_INTERNAL, "unknown patch type: %.*s", STR(buf_str(&b)));
}

/* Sorts the patch into items to merge and keys to delete. */
static int read_patch(struct smp *s, const struct smp_list *list, const struct json *patch, entries *ret_plain,
                      struct map *ret_deleted, bool *ret_replace)
{
    struct json plain = json_arr_sized(s->arena, patch->n);
    json_each_item(patch, it)
    {
        const struct json *directive = json_get(it, S("$patch")), *v = json_get(it, list->key);
        if (!directive)
            json_push(s->arena, &plain, *it);
        else if (str_eq(json_text(directive), S("replace")))
            *ret_replace = true;
        else if (!str_eq(json_text(directive), S("delete")))
            return bad_directive(s, directive, it);
        else if (!v)
            return no_key(s, it, list->key);
        else
            map_set(ret_deleted, id_of(s->arena, v), ret_deleted);
    }
    return add_all(s, ret_plain, &plain, list->key);
}

/* Lays the items of the patch over those of the document with the same key; new ones go to the end. */
static int lay_over(struct smp *s, const struct smp_list *list, entries *merged, const entries *plain)
{
    struct map known MAP_SCOPE;
    int rc = 0;
    index_entries(&known, merged);
    vec_each(plain, e)
    {
        ptrdiff_t at = position(&known, e->id);
        struct json v;
        if (at >= 0 && merged->p) {
            v = smp_merge_map(s, list->item, &merged->p[at].value, &e->value, &rc);
            if (rc < 0)
                return rc;
            merged->p[at].value = v;
        } else {
            smp_clean(s, &e->value, false, &v);
            *vec_push(s->arena, merged) = (struct entry){.value = v, .id = e->id};
            map_set(&known, e->id, (void *)(uintptr_t)merged->n);
        }
    }
    return 0;
}

static struct json replacement(struct smp *s, const entries *plain)
{
    struct json out = json_arr_sized(s->arena, plain->n), v;
    vec_each(plain, e)
    {
        smp_clean(s, &e->value, false, &v);
        json_push(s->arena, &out, v);
    }
    return out;
}

/* *ret_order: the order of the document, for those who arrange the result again. Items that the patch adds count as
 * part of it as far as they fill the gaps that it tore; an accident of Go's slices that clients have learnt to expect. */
static struct json merge_maps(struct smp *s, const struct smp_list *list, const struct json *doc,
                              const struct json *patch, entries *ret_order, int *rc)
{
    struct map deleted MAP_SCOPE = {0};
    entries plain = {0}, theirs = {0}, merged = {0}, kept = {0};
    bool replace = false;
    *rc = read_patch(s, list, patch, &plain, &deleted, &replace);
    if (*rc == 0)
        *rc = add_all(s, &theirs, replace ? NULL : doc, list->key);
    if (*rc < 0)
        return json_null();
    vec_each(&theirs, e)
    {
        if (!map_get(&deleted, e->id)) {
            *vec_push(s->arena, &merged) = *e;
            *vec_push(s->arena, &kept) = *e;
        }
    }
    if (replace)
        return replacement(s, &plain);
    *rc = lay_over(s, list, &merged, &plain);
    if (*rc < 0)
        return json_null();
    *ret_order = kept;
    for (size_t i = kept.n; i < merged.n && i < theirs.n; i++)
        *vec_push(s->arena, ret_order) = merged.p[i];
    return arrange(s, &merged, &plain, &kept);
}

/* ---- Both. ---- */

static struct json merge_list(struct smp *s, const struct smp_list *list, const struct json *doc,
                              const struct json *patch, entries *ret_order, int *rc)
{
    bool maps = false;
    struct json out;
    if (!list->merge && !list->is_deletion) {
        smp_clean(s, patch, false, &out);
        *rc = add_all(s, ret_order, doc, list->key);
        return out;
    }
    if (doc->n == 0 && patch->n == 0)
        return *doc;
    *rc = check_items(s, doc, patch, &maps);
    if (*rc < 0)
        return json_null();
    if (!maps) {
        add_all(s, ret_order, doc, (str){0});
        return merge_scalars(s, doc, patch, list->is_deletion);
    }
    if (list->key.n == 0) {
        *rc = err_set(s->err, ERR_INTERNAL, "cannot merge lists without merge key for %s",
                      list->item.type == SHAPE_RECORD ? "struct" : "string");
        return json_null();
    }
    return merge_maps(s, list, doc, patch, ret_order, rc);
}

struct json smp_merge_list(struct smp *s, const struct smp_list *list, const struct json *doc, const struct json *patch,
                           int *rc)
{
    entries order = {0};
    struct smp_list plain = *list;
    if (!list->merge)
        plain.key = (str){0};
    return merge_list(s, &plain, doc, patch, &order, rc);
}

/* What tells the item of a list that is put in order; NULL: error is set. */
static const struct json *ordered_by(struct smp *s, const struct smp_list *list, const struct json *item)
{
    if (list->key.n == 0)
        return item;
    if (!json_is_obj(item)) {
        smp_type_error(s, "map[string]interface {}", item);
        return NULL;
    }
    const struct json *v = json_get(item, list->key);
    if (!v)
        no_key(s, item, list->key);
    return v;
}

static int order_mismatch(struct smp *s, const struct json *patch, const struct json *order)
{
    struct buf b = {.arena = s->arena};
    buf_add_str(&b, S("The order in patch list:\n"));
    go_text(&b, patch);
    buf_add_str(&b, S("\n doesn't match $setElementOrder list:\n"));
    go_text(&b, order);
    return err_set(s->err, ERR_INTERNAL, "%.*s\n", STR(buf_str(&b)));
}

/* The items of the patch must come in the order that it asks for, and all of them be named there. */
static int check_order(struct smp *s, const struct smp_list *list, const struct json *patch, const struct json *order)
{
    size_t j = 0;
    if (!patch || patch->n == 0 || order->n == 0)
        return 0;
    json_each_item(patch, it)
    {
        const struct json *directive = list->key.n ? json_get(it, S("$patch")) : NULL;
        if (directive && str_eq(json_text(directive), S("delete")))
            continue;
        bool found = directive != NULL;
        if (found && j == order->n)
            return order_mismatch(s, patch, order);
        const struct json *x = !found && j < order->n ? ordered_by(s, list, it) : NULL;
        while (!found && j < order->n) {
            const struct json *y = x ? ordered_by(s, list, &order->items[j++]) : NULL;
            if (!y)
                return ERR_INTERNAL;
            found = json_equal(x, y);
        }
        if (!found)
            return order_mismatch(s, patch, order);
    }
    return 0;
}

struct json smp_order_list(struct smp *s, const struct smp_list *list, const struct json *doc, const struct json *patch,
                           const struct json *order, int *rc)
{
    struct json now;
    entries merged = {0}, wanted = {0}, theirs = {0};
    bool maps = false;
    *rc = check_order(s, list, patch, order);
    if (*rc < 0)
        return json_null();
    if (doc && patch) {
        now = merge_list(s, list, doc, patch, &theirs, rc);
    } else {
        now = doc ? *doc : json_arr();
        if (patch)
            smp_clean(s, patch, true, &now);
        *rc = add_all(s, &theirs, doc, list->key);
    }
    if (*rc == 0)
        *rc = check_items(s, doc, patch, &maps);
    if (*rc == 0)
        *rc = add_all(s, &merged, &now, list->key);
    if (*rc == 0)
        *rc = add_all(s, &wanted, order, list->key);
    return *rc < 0 ? json_null() : arrange(s, &merged, &wanted, &theirs);
}
