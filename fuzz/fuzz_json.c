/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text. What decodes must print and read back as the same value; from then on text and value stay as they are. Copies
 * must be equal; json_compare must agree with json_equal and be the same both ways round.
 */
#include "same.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json read_back(struct arena *a, const struct buf *text)
{
    struct json v;
    struct err err;
    struct json_limits limits = {.bytes = text->n + 1};
    int r = json_decode(a, buf_str(text), &limits, NULL, &v, &err);
    assert(r == 0);
    return v;
}

static struct buf print(struct arena *a, const struct json *v, unsigned flags)
{
    struct buf b = {.arena = a};
    json_encode(&b, v, flags);
    return b;
}

/* Once printed and read, a value stays as it is. */
static void check_round_trip(struct arena *a, const struct json *v, unsigned flags)
{
    struct buf text = print(a, v, flags);
    struct json once = read_back(a, &text);
    assert(same_as_printed(v, &once));
    text = print(a, &once, flags);
    struct json twice = read_back(a, &text);
    assert(json_equal(&once, &twice) && json_equal(&twice, &once));
    struct buf again = print(a, &twice, flags);
    assert(str_eq(buf_str(&text), buf_str(&again)));
}

static void check_order(const struct json *a, const struct json *b)
{
    int order = json_compare(a, b);
    assert((order < 0) == (json_compare(b, a) > 0));
    assert((order == 0) == json_equal(a, b));
}

static void check_children(const struct json *v)
{
    const struct json *before = v;
    json_each_item(v, item)
    {
        check_order(before, item);
        before = item;
    }
    json_each_member(v, m)
    {
        assert(json_get(v, json_key(m)) == &m->val);
        check_order(before, &m->val);
        before = &m->val;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v;
    struct err err;
    struct json_notes notes = {0};
    str text = {(const char *)data, size};
    if (json_decode(&a, text, NULL, &notes, &v, &err) < 0) {
        assert(err.code == ERR_BAD_REQUEST || err.code == ERR_TOO_LARGE);
        assert(err.msg[0] && str_is_utf8(str_of(err.msg)));
        return 0;
    }
    assert(notes.duplicates.n <= JSON_MAX_NOTES);
    check_round_trip(&a, &v, 0);
    check_round_trip(&a, &v, JSON_SORTED);
    check_round_trip(&a, &v, JSON_SORTED | JSON_PRETTY);
    struct json copy = json_dup(&a, &v), top = json_dup_top(&a, &v);
    assert(json_equal(&v, &copy) && json_equal(&v, &top) && json_compare(&v, &copy) == 0);
    check_children(&v);
    return 0;
}
