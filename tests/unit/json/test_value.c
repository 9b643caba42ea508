/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct json parse(struct arena *a, const char *text)
{
    struct json v = {0};
    struct err err;
    if (json_decode(a, str_of(text), NULL, NULL, &v, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return v;
}

static void assert_json(const struct json *v, const char *want)
{
    struct buf b = {0};
    json_encode(&b, v, 0);
    if (!str_eq(buf_str(&b), str_of(want)))
        fail_msg("got %.*s, want %s", STR(buf_str(&b)), want);
    buf_done(&b);
}

static void null_pointers_read_as_null(void **state)
{
    int64_t i;
    assert_int_equal(json_type(NULL), JSON_NULL);
    assert_true(json_is_null(NULL));
    assert_false(json_is_obj(NULL) || json_is_arr(NULL) || json_is_str(NULL) || json_is_num(NULL) || json_true(NULL));
    assert_int_equal(json_len(NULL), 0);
    assert_null(json_get(NULL, S("a")));
    assert_int_equal(json_get_text(NULL, S("a")).n, 0);
    assert_null(json_dig(NULL, "a.b"));
    assert_false(json_to_int(NULL, &i));
    assert_true(json_to_real(NULL) == 0);
    assert_string_equal(json_type_name(NULL), "null");
    assert_true(json_equal(NULL, &(struct json){0}));
    assert_int_equal(json_compare(NULL, NULL), 0);
    assert_json(NULL, "null");
    json_each_item((const struct json *)NULL, it) fail_msg("no items, but %d", it->type);
}

static void members_are_found(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v = parse(&a, "{\"spec\":{\"names\":{\"kind\":\"Pod\"},\"n\":5},\"\":1}");
    assert_true(str_eq(json_text(json_dig(&v, "spec.names.kind")), S("Pod")));
    assert_null(json_dig(&v, "spec.names.plural"));
    assert_null(json_dig(&v, "spec.n.x"));
    assert_int_equal(json_get(&v, S(""))->i, 1);
    assert_int_equal(json_get_text(json_get(&v, S("spec")), S("n")).n, 0);
    assert_null(json_get(json_dig(&v, "spec.n"), S("x")));
}

static void objects_are_built_and_changed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json o = json_obj();
    json_set(&a, &o, S("a"), json_int(1));
    json_set(&a, &o, S("b"), json_bool(true));
    json_set(&a, &o, S("c"), json_null());
    json_set(&a, &o, S("b"), json_str(S("x")));
    assert_json(&o, "{\"a\":1,\"b\":\"x\",\"c\":null}");
    assert_true(json_remove(&o, S("a")));
    assert_false(json_remove(&o, S("a")));
    json_add(&a, &o, S("a"), json_real(1.5));
    assert_json(&o, "{\"b\":\"x\",\"c\":null,\"a\":1.5}");
    json_remove_at(&o, 1);
    assert_json(&o, "{\"b\":\"x\",\"a\":1.5}");
    json_get_mut(&o, S("a"))->d = 2.5;
    assert_json(&o, "{\"b\":\"x\",\"a\":2.5}");
}

static void lists_are_built_and_changed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json l = json_arr();
    for (int i = 0; i < 3; i++)
        json_push(&a, &l, json_int(i));
    json_insert(&a, &l, 0, json_int(-1));
    json_insert(&a, &l, 4, json_int(9));
    json_insert(&a, &l, 2, json_int(5));
    assert_json(&l, "[-1,0,5,1,2,9]");
    json_erase(&l, 5);
    json_erase(&l, 0);
    json_erase(&l, 1);
    assert_json(&l, "[0,1,2]");
}

static void decoded_trees_can_grow(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v = parse(&a, "{\"l\":[1],\"o\":{\"x\":1},\"e\":{},\"f\":[]}");
    json_push(&a, json_get_mut(&v, S("l")), json_int(2));
    json_set(&a, json_get_mut(&v, S("o")), S("y"), json_int(2));
    json_set(&a, json_get_mut(&v, S("e")), S("z"), json_int(3));
    json_insert(&a, json_get_mut(&v, S("f")), 0, json_int(4));
    json_set(&a, &v, S("new"), json_arr());
    assert_json(&v, "{\"l\":[1,2],\"o\":{\"x\":1,\"y\":2},\"e\":{\"z\":3},\"f\":[4],\"new\":[]}");
}

static void wide_containers_grow_and_shrink(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json o = json_obj_sized(&a, 10), l = json_arr_sized(&a, 3);
    for (int i = 0; i < 2000; i++) {
        json_add(&a, &o, str_fmt(&a, "k%d", i), json_int(i));
        json_push(&a, &l, json_int(i));
    }
    for (int i = 0; i < 2000; i += 2)
        assert_true(json_remove(&o, str_fmt(&a, "k%d", i)));
    assert_int_equal(o.n, 1000);
    struct json_index ix JSON_INDEX_SCOPE;
    json_index_init(&ix, &o);
    for (int i = 0; i < 2000; i++) {
        str key = str_fmt(&a, "k%d", i);
        const struct json_member *m = json_index_find(&ix, key);
        assert_ptr_equal(m, json_find(&o, key));
        assert_true(i % 2 ? m && m->val.i == i : m == NULL);
        assert_int_equal(l.items[i].i, i);
    }
}

static void copies_share_nothing(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json copy;
    {
        struct arena b ARENA_SCOPE = {0};
        struct json v = parse(&b, "{\"a\":[1,{\"b\":\"text\"}],\"c\":\"\"}");
        copy = json_dup(&a, &v);
    }
    assert_json(&copy, "{\"a\":[1,{\"b\":\"text\"}],\"c\":\"\"}");
}

static void copy_of_the_top_leaves_the_original_alone(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json o = json_obj();
    json_set(&a, &o, S("a"), json_int(1));
    struct json top = json_dup_top(&a, &o);
    json_set(&a, &top, S("b"), json_int(2));
    json_set(&a, &o, S("c"), json_int(3));
    json_set(&a, &top, S("a"), json_int(9));
    assert_json(&o, "{\"a\":1,\"c\":3}");
    assert_json(&top, "{\"a\":9,\"b\":2}");
}

static void paths_read_like_kubernetes(void **state)
{
    struct json_path spec = {.key = S("spec")}, list = {&spec, S("list"), 0}, item = {&list, {0}, 3},
                     leaf = {&item, S("q"), 0};
    struct buf b = {0};
    json_path_format(&b, &leaf);
    assert_true(str_eq(buf_str(&b), S("spec.list[3].q")));
    b.n = 0;
    json_path_format(&b, &(struct json_path){.index = 2});
    assert_true(str_eq(buf_str(&b), S("[2]")));
    buf_done(&b);
}

static void failed_decoding_returns_nothing(void **state)
{
    static const char *const texts[] = {"", "[1,", "{\"a\":1}}", "[[[[1]]]]", "\"\xff\""};
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct json v = json_int(42);
        struct json_notes notes = {0};
        struct json_limits limits = {.depth = 3};
        assert_true(json_decode(&a, str_of(texts[i]), &limits, &notes, &v, NULL) < 0);
        assert_int_equal(v.i, 42);
        assert_int_equal(notes.duplicates.n, 0);
    }
}

static void hash_is_of_the_bytes(void **state)
{
    char text[64];
    memset(text, 'x', sizeof text);
    for (size_t n = 1; n < sizeof text; n++) {
        uint32_t h = json_hash((str){text, n});
        text[n - 1] = 'y';
        assert_true(json_hash((str){text, n}) != h);
        text[n - 1] = 'x';
        text[0] = 'z';
        assert_true(json_hash((str){text, n}) != h);
        text[0] = 'x';
        assert_true(json_hash((str){text, n}) == h);
    }
    (void)json_hash((str){0});
}

static void duplicates_are_noted_up_to_a_limit(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    struct json v;
    struct json_notes notes = {0};
    buf_add_str(&text, S("[0"));
    for (int i = 0; i < 2 * JSON_MAX_NOTES; i++)
        buf_add_str(&text, S(",{\"a\":1,\"a\":2}"));
    buf_add_char(&text, ']');
    assert_int_equal(json_decode(&a, buf_str(&text), NULL, &notes, &v, NULL), 0);
    assert_int_equal(notes.duplicates.n, JSON_MAX_NOTES);
    assert_true(str_eq(notes.duplicates.p[1], S("[2].a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers_read_as_null),    cmocka_unit_test(members_are_found),
        cmocka_unit_test(objects_are_built_and_changed), cmocka_unit_test(lists_are_built_and_changed),
        cmocka_unit_test(decoded_trees_can_grow),        cmocka_unit_test(wide_containers_grow_and_shrink),
        cmocka_unit_test(copies_share_nothing),          cmocka_unit_test(copy_of_the_top_leaves_the_original_alone),
        cmocka_unit_test(paths_read_like_kubernetes),    cmocka_unit_test(failed_decoding_returns_nothing),
        cmocka_unit_test(hash_is_of_the_bytes),          cmocka_unit_test(duplicates_are_noted_up_to_a_limit),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
