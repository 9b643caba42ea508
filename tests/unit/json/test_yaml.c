/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_an_alias_stands_for_is_a_copy(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v;
    assert_int_equal(yaml_decode(&a, S("a: &x {l: [1], s: text}\nb: *x\nc: {<<: *x}\n"), NULL, NULL, &v, NULL), 0);
    struct json *b = json_get_mut(&v, S("b"));
    json_get_mut(b, S("l"))->items[0] = json_int(9);
    json_push(&a, json_get_mut(b, S("l")), json_int(2));
    json_set(&a, b, S("new"), json_null());
    assert_int_equal(json_len(json_dig(&v, "a.l")), 1);
    assert_int_equal(json_dig(&v, "a.l")->items[0].i, 1);
    assert_int_equal(json_dig(&v, "c.l")->items[0].i, 1);
    assert_int_equal(json_len(json_dig(&v, "b.l")), 2);
    assert_int_equal(json_len(json_dig(&v, "c.l")), 1);
    assert_int_equal(json_len(json_get(&v, S("a"))), 2);
}

static void trees_do_not_refer_to_the_text(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char text[] = "key: value\n\"q\": 'r'\n";
    struct json v;
    assert_int_equal(yaml_decode(&a, str_of(text), NULL, NULL, &v, NULL), 0);
    memset(text, 'x', sizeof text);
    assert_true(str_eq(json_get_text(&v, S("key")), S("value")));
    assert_true(str_eq(json_get_text(&v, S("q")), S("r")));
}

static void failed_decoding_returns_nothing(void **state)
{
    static const char *const texts[] = {"a: [", "a: 1\na: 2", "a: 1\n---\nb: 2", "{\"a\": 1,, }", "a: *x"};
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct json v = json_int(42);
        assert_true(yaml_decode(&a, str_of(texts[i]), NULL, NULL, &v, NULL) < 0);
        assert_int_equal(v.i, 42);
    }
    json_vec all = {0};
    assert_true(yaml_decode_all(&a, S("a: 1\n---\nb: [\n"), NULL, &all, NULL) < 0);
    assert_int_equal(all.n, 0);
}

/* Together these would have too many values. */
static void limits_are_for_each_document(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    json_vec all = {0};
    for (int i = 0; i < 2; i++) {
        buf_add_str(&text, S("--- ["));
        for (int k = 0; k < YAML_MAX_NODES / 5 * 3; k++)
            buf_add_str(&text, S("1,"));
        buf_add_str(&text, S("]\n"));
    }
    assert_int_equal(yaml_decode_all(&a, buf_str(&text), NULL, &all, NULL), 0);
    assert_int_equal(all.n, 2);
}

static void notes_stop_at_their_limit(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    struct json v;
    struct json_notes notes = {0};
    for (int i = 0; i < 2 * JSON_MAX_NOTES; i++)
        buf_add_str(&text, S("- {a: 1, a: 2}\n"));
    assert_int_equal(yaml_decode(&a, buf_str(&text), NULL, &notes, &v, NULL), 0);
    assert_int_equal(notes.duplicates.n, JSON_MAX_NOTES);
}

/* Both readers: a hundred paths with a long key in each would take a hundred times the memory of the text. */
static void notes_stop_when_their_text_is_long(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    struct json v;
    struct json_notes json = {0}, yaml = {0};
    buf_add_str(&text, S("{\""));
    for (int i = 0; i < JSON_MAX_NOTES_TEXT / 2; i++)
        buf_add_char(&text, 'k');
    buf_add_str(&text, S("\": {"));
    for (int i = 0; i < JSON_MAX_NOTES; i++)
        buf_add_str(&text, S("\"a\": 1, "));
    buf_add_str(&text, S("\"a\": 2}}"));
    assert_int_equal(json_decode(&a, buf_str(&text), NULL, &json, &v, NULL), 0);
    assert_int_equal(json.duplicates.n, 2);
    /* In YAML, a key of more than 1,024 characters needs the question mark. */
    str yaml_text = str_fmt(&a, "{? \"%.*s", STR(str_from(buf_str(&text), 2)));
    assert_int_equal(yaml_decode(&a, yaml_text, NULL, &yaml, &v, NULL), 0);
    assert_int_equal(yaml.duplicates.n, 2);
}

static void text_goes_behind_what_is_in_the_buffer(void **state)
{
    struct buf b = {0};
    struct json v = json_int(5);
    buf_add_str(&b, S("---\n"));
    yaml_encode(&b, &v);
    yaml_encode(&b, NULL);
    assert_true(str_eq(buf_str(&b), S("---\n5\nnull\n")));
    buf_done(&b);
}

/* Order must not depend on how the keys came. */
static void printed_order_is_the_same_for_any_order_of_keys(void **state)
{
    static const char *const keys[] = {"a10", "a2", "1)7", "4.8e+06", ".inf", "1e3:1e3",
                                       "0.1", "é",  "_",   "01",      "1",    "B"};
    enum { KEYS = COUNT(keys) };
    struct arena a ARENA_SCOPE = {0};
    str first = {0};
    for (size_t shift = 0; shift < KEYS; shift++) {
        struct json o = json_obj();
        struct buf b = {.arena = &a};
        for (size_t i = 0; i < KEYS; i++)
            json_add(&a, &o, str_of(keys[(i * 5 + shift) % KEYS]), json_null());
        yaml_encode(&b, &o);
        if (shift == 0)
            first = buf_str(&b);
        assert_true(str_eq(buf_str(&b), first));
    }
}

/* ---- One document at a time. ---- */

static int collect(void *ctx, size_t index, const struct json *document, struct err *err)
{
    struct buf *b = ctx;
    buf_add_uint(b, index);
    buf_add_char(b, '=');
    json_encode(b, document, 0);
    buf_add_char(b, ' ');
    return b->n > 60 ? err_set(err, ERR_CONFLICT, "enough") : 0;
}

static int each(str text, struct yaml_each_limits limits, struct buf *b, struct err *err)
{
    limits.bytes = limits.bytes ? limits.bytes : 1000;
    limits.documents = limits.documents ? limits.documents : 10;
    limits.characters = limits.characters ? limits.characters : 100;
    b->n = 0;
    return yaml_decode_each(text, &limits, collect, b, err);
}

static void documents_come_one_by_one(void **state)
{
    const struct yaml_each_limits usual = {0};
    struct buf b = {0};
    struct err err;
    assert_int_equal(each(S("a: &x 1\n---\n# nothing\n---\nb: [2]\n...\n---\n\n---\nc: 3"), usual, &b, &err), 0);
    assert_true(str_eq(buf_str(&b), S("0={\"a\":1} 1={\"b\":[2]} 2={\"c\":3} ")));
    assert_int_equal(each(S(" {\"a\": \"\\/\"}"), usual, &b, &err), 0);
    assert_true(str_eq(buf_str(&b), S("0={\"a\":\"/\"} ")));
    assert_int_equal(each(S("{a: b}\n---\n{c: d}"), usual, &b, &err), 0);
    assert_true(str_eq(buf_str(&b), S("0={\"a\":\"b\"} 1={\"c\":\"d\"} ")));
    assert_int_equal(each(S(""), usual, &b, &err), 0);
    assert_int_equal(b.n, 0);
    buf_done(&b);
}

/* An anchor is of its document: what was read before must not be reached any more. */
static void anchors_end_with_their_document(void **state)
{
    struct buf b = {0};
    struct err err;
    assert_int_equal(each(S("a: &x {k: v}\n---\nb: *x"), (struct yaml_each_limits){0}, &b, &err), ERR_BAD_REQUEST);
    assert_true(str_eq(buf_str(&b), S("0={\"a\":{\"k\":\"v\"}} ")));
    buf_done(&b);
}

static void reading_one_by_one_ends_at_limits_and_when_told(void **state)
{
    struct buf b = {0};
    struct err err;
    str three = S("a: 1\n---\na: 2\n---\na: 3\n");
    assert_int_equal(each(three, (struct yaml_each_limits){.documents = 2}, &b, &err), ERR_TOO_LARGE);
    assert_string_equal(err.msg, "yaml: more than 2 documents");
    assert_int_equal(each(three, (struct yaml_each_limits){.bytes = three.n - 1}, &b, &err), ERR_TOO_LARGE);
    assert_int_equal(each(three, (struct yaml_each_limits){.bytes = three.n}, &b, &err), 0);
    assert_int_equal(
        each(S("a: 1\n---\nb: aaaaaaaaaaaaaaaaaaaa"), (struct yaml_each_limits){.characters = 20}, &b, &err),
        ERR_TOO_LARGE);
    assert_string_equal(err.msg, "yaml: line 3: document has more than 20 characters");
    assert_int_equal(each(S("a: [[[[1]]]]"), (struct yaml_each_limits){.depth = 4}, &b, &err), ERR_TOO_LARGE);
    assert_int_equal(each(S("- 123456789012345678901234567890\n---\n- 123456789012345678901234567890\n---\nc: 1"),
                          (struct yaml_each_limits){0}, &b, &err),
                     ERR_CONFLICT);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_come_one_by_one),
        cmocka_unit_test(anchors_end_with_their_document),
        cmocka_unit_test(reading_one_by_one_ends_at_limits_and_when_told),
        cmocka_unit_test(what_an_alias_stands_for_is_a_copy),
        cmocka_unit_test(trees_do_not_refer_to_the_text),
        cmocka_unit_test(failed_decoding_returns_nothing),
        cmocka_unit_test(limits_are_for_each_document),
        cmocka_unit_test(notes_stop_at_their_limit),
        cmocka_unit_test(notes_stop_when_their_text_is_long),
        cmocka_unit_test(text_goes_behind_what_is_in_the_buffer),
        cmocka_unit_test(printed_order_is_the_same_for_any_order_of_keys),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
