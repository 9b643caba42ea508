/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "base/rune.h"
#include "schema/schema_internal.h"

#include <stdlib.h>

/* Looking things up in a compiled schema. */

uint32_t schema_check_arg(const struct schema *s, const struct node *node, enum check op)
{
    if (node->checks == 0)
        return 0;
    for (const uint32_t *c = s->words + node->checks; *c != CHECK_END; c += 2) {
        if (*c == op)
            return c[1];
    }
    return 0;
}

struct json_member *schema_find_member(const struct schema *s, const struct json *obj, uint32_t key, uint32_t hash)
{
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i];
        if (m->hash == hash && str_eq(json_key(m), text_at(s, key)))
            return m;
    }
    return NULL;
}

const struct pattern *schema_pattern(const struct schema *s, uint32_t index)
{
    _Atomic(struct pattern *) *slot = (_Atomic(struct pattern *) *)&s->slots[index];
    struct pattern *p = atomic_load_explicit(slot, memory_order_acquire);
    if (p)
        return p;
    p = pattern_make(text_at(s, s->words[s->patterns + index]));
    struct pattern *other = NULL;
    if (atomic_compare_exchange_strong_explicit(slot, &other, p, memory_order_acq_rel, memory_order_acquire))
        return p;
    pattern_free(p);
    return other;
}

void schema_path_format(struct buf *b, const struct step *path, bool brackets)
{
    if (path == NULL)
        return;
    schema_path_format(b, path->up, brackets);
    if (path->key.p == NULL) {
        buf_fmt(b, "[%u]", path->index);
    } else if (brackets && path->extra) {
        buf_fmt(b, "[%.*s]", STR(path->key));
    } else {
        if (b->n)
            buf_add_char(b, '.');
        buf_add_str(b, path->key);
    }
}

/* ---- Public ---- */

void schema_trim(struct schema *s)
{
    for (uint32_t i = 0; i < s->n_patterns; i++)
        pattern_free(atomic_exchange(&s->slots[i], NULL));
}

void schema_free(struct schema *s)
{
    if (s == NULL)
        return;
    schema_trim(s);
    free(s);
}

size_t schema_footprint(const struct schema *s)
{
    size_t n = sizeof *s + s->n_patterns * sizeof *s->slots + s->n_words * sizeof *s->words + s->n_bytes;
    for (uint32_t i = 0; i < s->n_patterns; i++)
        n += pattern_footprint(atomic_load((_Atomic(struct pattern *) *)&s->slots[i]));
    return n;
}

bool schema_has_rules(const struct schema *s)
{
    return node_at(s, s->root)->flags & NODE_HAS_RULES;
}

schema_node schema_root(const struct schema *s)
{
    return (schema_node){s, s->root};
}

static const struct node *of(schema_node n)
{
    static const struct node none = {0};
    return n.at ? node_at(n.schema, n.at) : &none;
}

schema_node schema_member(schema_node n, const struct json_member *m, bool *ret_declared)
{
    *ret_declared = false;
    if (n.at == 0)
        return n;
    const struct node *node = of(n);
    bool extra;
    uint32_t at = schema_member_node(n.schema, node, m, &extra);
    *ret_declared = !extra;
    if (at == 0 && node->flags & (NODE_PRESERVE | NODE_EXTRA))
        at = NODE_ANY;
    return (schema_node){n.schema, at};
}

schema_node schema_property(schema_node n, str key)
{
    struct json_member m = {.key = key.n ? key.p : "", .key_n = (uint32_t)key.n, .hash = json_hash(key)};
    bool declared;
    return schema_member(n, &m, &declared);
}

schema_node schema_items(schema_node n)
{
    const struct node *node = of(n);
    return (schema_node){n.schema, node->items ? node->items : node->flags & NODE_PRESERVE ? NODE_ANY : 0};
}

enum schema_kind schema_node_kind(schema_node n)
{
    if (n.at == 0)
        return SCHEMA_NONE;
    switch (of(n)->type) {
    case TYPE_NONE:
        return SCHEMA_ANY;
    case TYPE_ARRAY:
        return SCHEMA_LIST;
    case TYPE_OBJECT:
        return SCHEMA_MAP;
    default:
        return SCHEMA_SCALAR;
    }
}

enum schema_list_type schema_node_list_type(schema_node n)
{
    unsigned flags = of(n)->flags;
    return flags & NODE_SET ? SCHEMA_LIST_SET : flags & NODE_LIST_MAP ? SCHEMA_LIST_MAP : SCHEMA_LIST_ATOMIC;
}

bool schema_node_is_atomic_map(schema_node n)
{
    return of(n)->flags & NODE_ATOMIC_MAP;
}

bool schema_node_is_int_or_string(schema_node n)
{
    return of(n)->type == TYPE_INT_OR_STRING;
}

enum schema_scalar schema_node_scalar(schema_node n)
{
    switch (of(n)->type) {
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        return SCHEMA_NUMBER;
    case TYPE_BOOLEAN:
        return SCHEMA_BOOLEAN;
    case TYPE_STRING:
        return schema_check_arg(n.schema, of(n), CHECK_FORMAT) ? SCHEMA_ANY_SCALAR : SCHEMA_STRING;
    default:
        return SCHEMA_ANY_SCALAR;
    }
}

struct schema_facts schema_node_facts(schema_node n)
{
    const struct node *node = of(n);
    return (struct schema_facts){
        .kind = schema_node_kind(n),
        .list_type = schema_node_list_type(n),
        .is_int_or_string = node->type == TYPE_INT_OR_STRING,
        .is_atomic_map = node->flags & NODE_ATOMIC_MAP,
        .is_resource = node->flags & NODE_EMBEDDED,
        .keeps_unknown = node->flags & NODE_PRESERVE,
        .has_properties = node->props || node->flags & (NODE_EXTRA | NODE_FORBID_EXTRA),
    };
}

bool schema_node_is_resource(schema_node n)
{
    return of(n)->flags & NODE_EMBEDDED;
}

bool schema_node_keeps_unknown(schema_node n)
{
    return of(n)->flags & NODE_PRESERVE;
}

bool schema_node_is_nullable(schema_node n)
{
    return of(n)->flags & NODE_NULLABLE;
}

size_t schema_node_key_count(schema_node n)
{
    uint32_t list = n.at ? schema_check_arg(n.schema, of(n), CHECK_LIST_KEYS) : 0;
    return list ? n.schema->words[list] : 0;
}

str schema_node_key(schema_node n, size_t i)
{
    uint32_t list = schema_check_arg(n.schema, of(n), CHECK_LIST_KEYS);
    return text_at(n.schema, n.schema->words[list + 2 + 2 * i]);
}

bool schema_node_default(schema_node n, struct arena *a, struct json *ret)
{
    if (!(of(n)->flags & NODE_DEFAULT))
        return false;
    const char *p = n.schema->bytes + schema_check_arg(n.schema, of(n), CHECK_DEFAULT);
    *ret = schema_unpack(a, &p);
    return true;
}

/* Enums: whether a value is one of those listed, in a time that does not grow with the list.
 *
 *   words: where the packed list is │ n │ mask │ slots: offset of an item in the list, or 0
 *
 * An item is found by its hash from hash & mask on. Values that are equal, as Go compares them, have the same hash:
 * numbers are hashed by their value as a double, objects without regard to order. Short lists have no slots. */

enum { UNINDEXED_MAX = 8 };

int64_t schema_cut(double d)
{
    return d >= 9223372036854775808.0 ? INT64_MAX : d <= -9223372036854775808.0 ? INT64_MIN : (int64_t)d;
}

/* ---- Hashes. ---- */

static uint64_t hash_real(double d)
{
    if (d == 0)
        d = 0; /* one zero */
    return hash_str((str){(const char *)&d, sizeof d});
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t both[2] = {a, b};
    return hash_str((str){(const char *)both, sizeof both});
}

static uint64_t hash_value(const struct json *v)
{
    uint64_t h = v->type;
    budget_charge_text(v->type == JSON_STR ? v->n : 0);
    switch (json_type(v)) {
    case JSON_STR:
        return hash_str(json_text(v));
    case JSON_BOOL:
        return mix(h, v->b);
    case JSON_INT:
    case JSON_UINT:
    case JSON_REAL:
        return hash_real(json_to_real(v));
    case JSON_ARR:
        json_each_item(v, it) h = mix(h, hash_value(it));
        return h;
    case JSON_OBJ:
        json_each_member(v, m) h += mix(hash_str(json_key(m)), hash_value(&m->val));
        return h;
    default:
        return h;
    }
}

/* ---- Making. ---- */

static const char *first_item(const char *packed, uint64_t *ret_n)
{
    packed++; /* the tag of a list */
    *ret_n = varint_read(&packed);
    return packed;
}

size_t schema_enum_size(const struct json *list)
{
    size_t slots = 2;
    if (list->n <= UNINDEXED_MAX)
        return 3;
    while (slots < 2 * (size_t)list->n)
        slots *= 2;
    return 3 + slots;
}

void schema_enum_fill(uint32_t *words, uint32_t at, const char *packed, const struct json *list)
{
    size_t size = schema_enum_size(list);
    uint64_t n;
    const char *p = first_item(packed, &n);
    words[0] = at;
    words[1] = list->n;
    words[2] = size > 3 ? (uint32_t)(size - 4) : 0;
    for (uint32_t i = 0; words[2] && i < list->n; i++) {
        uint32_t *slots = words + 3, k = (uint32_t)hash_value(&list->items[i]) & words[2];
        while (slots[k])
            k = (k + 1) & words[2];
        slots[k] = (uint32_t)(p - packed);
        schema_packed_skip(&p);
        if (!budget_charge(2))
            return;
    }
}

/* ---- Looking. ---- */

/* Whether the text is what Go makes of this number when it wants a string: that one character. */
static bool is_character(str text, int64_t number)
{
    bool valid = number >= 0 && number <= 0x10ffff && !(number >= 0xd800 && number <= 0xdfff);
    return text.n && rune_next(&text) == (valid ? (uint32_t)number : RUNE_BAD) && text.n == 0;
}

/* Go compares after converting the value to the type of the listed one: a number loses its fraction for an integer, and
 * an integer becomes the character of that number for a string. */
static bool is_listed(const struct json *value, const struct json *listed)
{
    if (listed->type == JSON_INT && value->type != JSON_INT && json_is_num(value))
        return schema_cut(json_to_real(value)) == listed->i;
    if (json_is_num(listed) && json_is_num(value))
        return json_to_real(value) == json_to_real(listed);
    if (listed->type == JSON_STR && value->type == JSON_INT)
        return is_character(json_text(listed), value->i);
    return listed->type != JSON_NULL && listed->type == value->type && json_equal(value, listed);
}

static bool is_packed(const char *p, const struct json *value)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text;
    if (schema_packed_text(p, &text)) /* most lists are of texts: nothing is copied */
        return is_listed(value, &(struct json){.type = JSON_STR, .n = (uint32_t)text.n, .s = text.p});
    struct json listed = schema_unpack(&scratch, &p);
    return is_listed(value, &listed);
}

static bool has_hashed(const uint32_t *words, const char *packed, const struct json *value, uint64_t hash)
{
    const uint32_t *slots = words + 3;
    for (uint32_t k = (uint32_t)hash & words[2]; slots[k]; k = (k + 1) & words[2])
        if (!budget_charge(1) || is_packed(packed + slots[k], value))
            return true;
    return false;
}

/* The character of a number as UTF-8. */
static uint64_t hash_character(int64_t number)
{
    char text[4];
    uint32_t c =
        number >= 0 && number <= 0x10ffff && !(number >= 0xd800 && number <= 0xdfff) ? (uint32_t)number : RUNE_BAD;
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        text[i] = (char)(0x80 | (c & 0x3f));
    text[0] = (char)(first[n] | c);
    return hash_str((str){text, n});
}

/* The same for a text in a short list, which is what nearly all enums are asked for. */
static bool is_packed_text(const char *packed, str text)
{
    uint64_t n;
    str listed;
    for (const char *p = first_item(packed, &n); n; n--, schema_packed_skip(&p))
        if (schema_packed_text(p, &listed) && str_eq(listed, text))
            return true;
    return false;
}

bool schema_enum_has(const struct schema *s, uint32_t at, const struct json *value)
{
    const uint32_t *words = s->words + at;
    const char *packed = s->bytes + words[0], *p;
    uint64_t n;
    if (words[2] == 0 && value->type == JSON_STR)
        return is_packed_text(packed, json_text(value));
    if (words[2] == 0) {
        for (p = first_item(packed, &n); n; n--, schema_packed_skip(&p))
            if (is_packed(p, value))
                return true;
        return false;
    }
    if (has_hashed(words, packed, value, hash_value(value)))
        return true;
    if (value->type == JSON_INT)
        return has_hashed(words, packed, value, hash_character(value->i));
    return json_is_num(value) && has_hashed(words, packed, value, hash_real((double)schema_cut(json_to_real(value))));
}
