/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of type set hold no value twice, lists of type map no key twice. A value that comes several times is reported
 * once, where it comes for the second time. Short lists are compared pair by pair, long ones through a hash map. */
#include "base/budget.h"
#include "base/map.h"
#include "schema/schema_check.h"

enum { PAIRS_UPTO = 16 };

/* What an item is told apart by: the item itself, or an object of its key fields. */
struct identity {
    const struct schema *schema;
    const uint32_t *keys; /* n, names; NULL: a set */
};

/* Key field k of an item, NULL when it has none (null items have none). */
static const struct json *key_field(const struct identity *id, const struct json *item, uint32_t k)
{
    if (item->type != JSON_OBJ)
        return NULL;
    const struct json_member *m = schema_find_member(id->schema, item, id->keys[2 + 2 * k], id->keys[1 + 2 * k]);
    return m ? &m->val : NULL;
}

/* As Go compares: 1 and 1.0 are two values, but not inside of others, as several keys together are. */
static bool is_same_value(const struct json *a, const struct json *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->type == JSON_STR && b->type == JSON_STR)
        return str_eq(json_text(a), json_text(b));
    return a->type == b->type && json_equal(a, b);
}

/* By all of several keys. */
static bool is_same(const struct identity *id, const struct json *a, const struct json *b)
{
    for (uint32_t k = 0; k < id->keys[0]; k++) {
        const struct json *x = key_field(id, a, k), *y = key_field(id, b, k);
        if ((x == NULL) != (y == NULL) || !json_equal(x, y))
            return false;
    }
    return true;
}

static void add_identity(struct buf *b, const struct json *v, bool is_alone)
{
    if (v == NULL)
        buf_add_char(b, '-');
    else if (is_alone && v->type == JSON_REAL)
        buf_add_char(b, 'r');
    if (v)
        json_encode(b, v, JSON_SORTED);
}

static str identity(const struct identity *id, struct arena *a, const struct json *item)
{
    struct buf b = {.arena = a};
    if (id->keys == NULL)
        add_identity(&b, item, true);
    for (uint32_t k = 0; id->keys && k < id->keys[0]; k++) {
        add_identity(&b, key_field(id, item, k), id->keys[0] == 1);
        buf_add_char(&b, '\n');
    }
    return buf_str(&b);
}

static bool report_duplicate(struct validation *v, const struct identity *id, const struct json *list, uint32_t i,
                             const struct step *path)
{
    if (!report_wanted(v))
        return false;
    struct arena *a = v->errs->arena;
    struct json shown = list->items[i];
    if (id->keys) {
        shown = json_obj();
        for (uint32_t k = 0; k < id->keys[0]; k++) {
            const struct json *f = key_field(id, &list->items[i], k);
            if (f)
                json_set(a, &shown, text_at(id->schema, id->keys[2 + 2 * k]), *f);
        }
    }
    return report_plain(v, &(struct step){.up = path, .index = i}, FIELD_DUPLICATE, field_value(a, &shown), "%s", "");
}

/* What tells an item apart most: itself, or its first key field. */
static const struct json *foremost(const struct identity *id, const struct json *item)
{
    return id->keys ? key_field(id, item, 0) : item;
}

static bool check_pairs(struct validation *v, const struct identity *id, const struct json *list,
                        const struct step *path)
{
    const struct json *first[PAIRS_UPTO];
    bool more = id->keys && id->keys[0] > 1, ok = true;
    for (uint32_t i = 0; i < list->n && (ok || v->errs); i++) {
        uint32_t before = 0;
        budget_charge(1 + i / 4);
        first[i] = foremost(id, &list->items[i]);
        for (uint32_t k = 0; k < i; k++)
            before += more ? is_same(id, &list->items[k], &list->items[i]) : is_same_value(first[k], first[i]);
        if (before == 1)
            ok = report_duplicate(v, id, list, i, path);
    }
    return ok;
}

static bool check_hashed(struct validation *v, const struct identity *id, const struct json *list,
                         const struct step *path)
{
    static char once, twice;
    struct arena scratch ARENA_SCOPE = {0};
    struct map seen = {0};
    bool ok = true;
    for (uint32_t i = 0; i < list->n && (ok || v->errs); i++) {
        if (!budget_charge(5))
            break;
        str key = identity(id, &scratch, &list->items[i]);
        const void *before = map_get(&seen, key);
        map_set(&seen, key, before ? &twice : &once);
        if (before == &once)
            ok = report_duplicate(v, id, list, i, path);
    }
    map_done(&seen);
    return ok;
}

bool check_unique(struct validation *v, const struct node *node, const struct json *list, const struct step *path)
{
    uint32_t keys = node->flags & NODE_LIST_MAP ? schema_check_arg(v->schema, node, CHECK_LIST_KEYS) : 0;
    struct identity id = {v->schema, keys ? v->schema->words + keys : NULL};
    for (uint32_t i = 0; node->flags & NODE_LIST_MAP && i < list->n; i++) {
        const struct json *item = &list->items[i];
        if (item->type != JSON_OBJ && item->type != JSON_NULL)
            return report_wanted(v) &&
                   report_plain(v, &(struct step){.up = path, .index = i}, FIELD_INVALID,
                                field_value(v->errs->arena, item), "must be an object for an array of list-type map");
    }
    if (list->n <= 1 || (node->flags & NODE_LIST_MAP && keys == 0))
        return true;
    return list->n <= PAIRS_UPTO ? check_pairs(v, &id, list, path) : check_hashed(v, &id, list, path);
}
