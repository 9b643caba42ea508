/* SPDX-License-Identifier: Apache-2.0 */
/* Enums: whether a value is one of those listed, in a time that does not grow with the list.
 *
 *   words: where the packed list is │ n │ mask │ slots: offset of an item in the list, or 0
 *
 * An item is found by its hash from hash & mask on. Values that are equal, as Go compares them, have the same hash: numbers are
 * hashed by their value as a double, objects without regard to order. Short lists have no slots. */
#include "schema/schema_check.h"

#include "base/budget.h"
#include "base/map.h"
#include "base/rune.h"

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
