/* SPDX-License-Identifier: Apache-2.0 */
/* The items of sets and keyed lists, found by what tells them apart. */
#include "patch/apply_parts.h"

#include "base/budget.h"
#include "base/map.h"

static int key_elem(struct arena *a, const struct typed *list, const struct json *item, struct fieldset_elem *ret,
                    struct err *err)
{
    budget_charge(5);
    if (json_is_null(item))
        return err_set(err, ERR_INTERNAL, "associative list with keys may not have a null element");
    if (!json_is_obj(item))
        return err_set(err, ERR_INTERNAL, "associative list with keys may not have non-map elements");
    str keys[TYPED_MAX_KEYS];
    size_t n = typed_keys(list, keys);
    struct json key = json_obj_sized(a, n);
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(item, keys[i]);
        struct json preset;
        if (!v && typed_key_default(list, keys[i], a, &preset))
            v = &preset;
        if (!v)
            return err_set(err, ERR_INTERNAL,
                           "associative list with keys has an element that omits key field \"%.*s\" (and doesn't have "
                           "default value)",
                           STR(keys[i]));
        json_add(a, &key, keys[i], *v);
    }
    *ret = fieldset_key(a, key);
    return 0;
}

int item_elem(struct arena *a, const struct typed *list, const struct json *item, struct fieldset_elem *ret,
              struct err *err)
{
    if (list->list == TYPED_LIST_KEYED)
        return key_elem(a, list, item, ret, err);
    switch (json_type(item)) {
    case JSON_OBJ:
        return err_set(err, ERR_INTERNAL, "associative list without keys has an element that's a map type");
    case JSON_ARR:
        return err_set(err, ERR_INTERNAL, "not supported: associative list with lists as elements");
    case JSON_NULL:
        return err_set(err, ERR_INTERNAL, "associative list without keys has an element that's an explicit null");
    default:
        *ret = fieldset_value(a, item);
        return 0;
    }
}

enum { INDEX_FROM = 8 }; /* items; below, a linear search is as quick */

static bool same_elem(const struct fieldset_elem *x, const struct fieldset_elem *y)
{
    /* All items of a list have the same kind of element, and its text is never empty. */
    return x->text.p && y->text.p && str_eq(x->text, y->text);
}

uint32_t items_find(const struct items *set, const struct fieldset_elem *elem)
{
    if (!set->slots) {
        for (uint32_t i = 0; i < set->n; i++) {
            if (same_elem(&set->p[i].elem, elem))
                return i;
        }
        return ITEM_NONE;
    }
    uint32_t at = (uint32_t)hash_str(elem->text) & set->mask;
    for (; set->slots[at] != ITEM_NONE; at = (at + 1) & set->mask) {
        if (same_elem(&set->p[set->slots[at]].elem, elem))
            return set->slots[at];
    }
    return ITEM_NONE;
}

static void make_slots(struct arena *a, struct items *set, uint32_t n)
{
    uint32_t size = 16;
    while (size < n * 2)
        size *= 2;
    set->slots = arena_alloc(a, arena_array_size(size, sizeof *set->slots));
    memset(set->slots, 0xff, size * sizeof *set->slots);
    set->mask = size - 1;
}

static void enter(struct items *set, uint32_t i)
{
    if (!set->slots)
        return;
    uint32_t at = (uint32_t)hash_str(set->p[i].elem.text) & set->mask;
    while (set->slots[at] != ITEM_NONE)
        at = (at + 1) & set->mask;
    set->slots[at] = i;
}

int items_init(struct arena *a, struct items *ret, const struct typed *list, const struct json *v, struct err *err)
{
    uint32_t n = json_is_arr(v) ? v->n : 0;
    *ret = (struct items){0};
    if (n == 0)
        return 0;
    ret->p = arena_alloc(a, arena_array_size(n, sizeof *ret->p));
    if (n >= INDEX_FROM)
        make_slots(a, ret, n);
    for (; ret->n < n; ret->n++) {
        struct item *it = &ret->p[ret->n];
        *it = (struct item){.value = &v->items[ret->n], .next = ITEM_NONE};
        int rc = item_elem(a, list, it->value, &it->elem, err);
        if (rc < 0)
            return err_wrap(err, "element %u", (unsigned)ret->n);
        uint32_t first = items_find(ret, &it->elem);
        if (first == ITEM_NONE) {
            enter(ret, ret->n);
            continue;
        }
        it->is_repeat = true;
        it->next = ret->p[first].next; /* repeated items hang behind the first, the latest in front */
        ret->p[first].next = ret->n;
    }
    return 0;
}
