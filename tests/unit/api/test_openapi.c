/* SPDX-License-Identifier: Apache-2.0 */
/* How OpenAPI documents are found, kept and sent. What they say is in tests/cases/openapi. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/openapi.h"
#include "api/openapi_text.h"

/* ---- Texts. ---- */

static bool has_field(const struct shape *s, str record, str field, size_t depth)
{
    if (str_eq(record, str_of(s->name)))
        return field.n == 0 || shape_find(s, field);
    for (size_t i = 0; depth && i < s->n; i++)
        if (s->fields[i].record && has_field(s->fields[i].record, record, field, depth - 1))
            return true;
    return false;
}

static bool is_built_in(str record, str field)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++)
        if (k->shape && has_field(k->shape, record, field, 6))
            return true;
    return false;
}

static void texts_are_sorted_and_speak_of_what_there_is(void **state)
{
    for (size_t i = 0; i < openapi_texts_n; i++) {
        str record, field;
        str_cut(str_of(openapi_texts[i].of), '.', &record, &field);
        if (i && strcmp(openapi_texts[i - 1].of, openapi_texts[i].of) >= 0)
            fail_msg("%s is out of order", openapi_texts[i].of);
        if (!str_eq(record, S("*")) && !is_built_in(record, field))
            fail_msg("there is no %s", openapi_texts[i].of);
        struct arena a ARENA_SCOPE = {0};
        assert_ptr_equal(openapi_text_find(str_cstr(&a, record), field.n ? str_cstr(&a, field) : NULL),
                         &openapi_texts[i]);
    }
    assert_null(openapi_text_find("Po", NULL));
    assert_null(openapi_text_find("PodS", "restartPolicy"));
    assert_null(openapi_text_find("PodSpec", "restart"));
    assert_null(openapi_text_find("PodSpec", ""));
}

static void every_kind_has_a_text(void **state)
{
    const struct kind *k;
    for (size_t i = 0; (k = kind_builtin(i)); i++) {
        const struct openapi_text *t = openapi_text_find(k->kind, NULL);
        if (!(k->flags & KIND_NO_PATH) && (!t || !t->text))
            fail_msg("nothing is said of %s", k->kind);
    }
}

/* ---- Documents. ---- */

static str crd_text(struct arena *a, int i, const char *uid, int generation, const char *description)
{
    return str_fmt(
        a,
        "{\"metadata\":{\"name\":\"things%d.example.com\",\"uid\":\"%s\",\"generation\":%d},\"spec\":{"
        "\"group\":\"example.com\",\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"description\":\"%s\"}}}]},"
        "\"status\":{\"acceptedNames\":{\"plural\":\"things%d\",\"singular\":\"thing%d\",\"kind\":\"Thing%d\","
        "\"listKind\":\"Thing%dList\"},\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}",
        i, uid, generation, description, i, i, i, i);
}

static void put_crd(struct world *w, int i, const char *uid, int generation, const char *description)
{
    struct arena a ARENA_SCOPE = {0};
    world_put_crd(w, crd_text(&a, i, uid, generation, description));
}

/* Where the index sends those who want a document; empty when it does not know it. */
static str address_of(struct arena *a, struct world *w, const char *path)
{
    struct ask index ASK_SCOPE = {0};
    struct json tree;
    struct err err;
    ask(&index, w, openapi_handle, "/openapi/v3?timeout=32s", "Accept: application/json, */*");
    assert_int_equal(index.status, 200);
    assert_int_equal(json_decode(index.r.arena, buf_str(&index.body), NULL, NULL, &tree, &err), 0);
    const struct json *entry = json_get(json_get(&tree, S("paths")), str_of(path));
    return str_dup(a, json_get_text(entry, S("serverRelativeURL")));
}

static void the_index_leads_to_documents_that_may_be_kept(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    static const char *const paths[] = {"api/v1", "apis/apps/v1", "apis/rbac.authorization.k8s.io/v1",
                                        "apis/example.com/v1"};
    put_crd(*state, 1, "u1", 1, "one");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        str address = address_of(&a, *state, paths[i]);
        assert_true(str_has_prefix(address, str_fmt(&a, "/openapi/v3/%s?hash=", paths[i])));
        struct ask doc ASK_SCOPE = {0};
        struct json tree;
        struct err err;
        struct json_notes notes = {0};
        ask(&doc, *state, openapi_handle, str_cstr(&a, str_fmt(&a, "%.*s&timeout=32s", STR(address))), NULL);
        assert_int_equal(doc.status, 200);
        assert_str(ask_header(&doc, "Content-Type"), "application/json");
        assert_str(ask_header(&doc, "Cache-Control"), "public, immutable");
        assert_str(ask_header(&doc, "Expires"), "Tue, 16 Nov 2027 00:17:43 GMT");
        assert_str(ask_header(&doc, "Vary"), "Accept");
        assert_true(str_find(address, str_upto(str_from(ask_header(&doc, "ETag"), 1), 64)) > 0);
        assert_true(doc.largest_fill <= 4096);
        assert_int_equal(json_decode(&a, buf_str(&doc.body), NULL, &notes, &tree, &err), 0);
        assert_int_equal(notes.duplicates.n, 0);
    }
}

static void without_a_hash_it_may_not_be_kept(void **state)
{
    struct ask doc ASK_SCOPE = {0};
    ask(&doc, *state, openapi_handle, "/openapi/v3/apis/apps/v1", NULL);
    assert_int_equal(doc.status, 200);
    assert_str(ask_header(&doc, "Cache-Control"), "no-cache, private");
    struct ask again ASK_SCOPE = {0};
    str line = str_fmt(&doc.x.arena, "If-None-Match: %.*s", STR(ask_header(&doc, "ETag")));
    ask(&again, *state, openapi_handle, "/openapi/v3/apis/apps/v1", str_cstr(&doc.x.arena, line));
    assert_int_equal(again.status, 304);
    assert_int_equal(again.body.n, 0);
}

static void another_hash_leads_to_the_right_one(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct ask doc ASK_SCOPE = {0};
    ask(&doc, *state, openapi_handle, "/openapi/v3/apis/apps/v1?hash=12", NULL);
    assert_int_equal(doc.status, 301);
    assert_true(str_eq(ask_header(&doc, "Location"), address_of(&a, *state, "apis/apps/v1")));
    assert_int_equal(doc.body.n, 0);
}

static void unknown_documents_are_empty_404s(void **state)
{
    static const char *const paths[] = {"/openapi/v3/", "/openapi/v3/apis", "/openapi/v3/apis/example.com/v1",
                                        "/openapi/v3/apis/apps/v1/"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct ask doc ASK_SCOPE = {0};
        ask(&doc, *state, openapi_handle, paths[i], NULL);
        assert_int_equal(doc.status, 404);
        assert_int_equal(doc.body.n, 0);
        assert_int_equal(ask_header(&doc, "Content-Type").n, 0);
    }
    struct ask v2 ASK_SCOPE = {0};
    ask(&v2, *state, openapi_handle, "/openapi/v2", NULL);
    assert_false(v2.was_handled);
    assert_int_equal(v2.status, 0);
}

static void hashes_change_with_what_crds_say(void **state)
{
    struct world *w = *state;
    struct arena a ARENA_SCOPE = {0};
    put_crd(w, 1, "u1", 1, "one");
    str first = address_of(&a, w, "apis/example.com/v1"), apps = address_of(&a, w, "apis/apps/v1");
    put_crd(w, 1, "u1", 1, "one"); /* its status, perhaps */
    assert_true(str_eq(first, address_of(&a, w, "apis/example.com/v1")));
    put_crd(w, 1, "u1", 2, "two");
    str second = address_of(&a, w, "apis/example.com/v1");
    assert_false(str_eq(first, second));
    put_crd(w, 1, "u2", 2, "three"); /* deleted, and another one made under its name */
    str third = address_of(&a, w, "apis/example.com/v1");
    assert_false(str_eq(second, third));
    put_crd(w, 2, "u3", 1, "four");
    assert_false(str_eq(third, address_of(&a, w, "apis/example.com/v1")));
    assert_true(str_eq(apps, address_of(&a, w, "apis/apps/v1")));
}

/* ---- Changes while a document is on its way. ---- */

static void change_the_last(struct ask *a)
{
    struct world *w = a->ctx;
    if (a->body.n == 0)
        put_crd(w, 9, "u9", 2, "changed");
}

static void touch_the_last(struct ask *a)
{
    struct world *w = a->ctx;
    if (a->body.n == 0)
        put_crd(w, 9, "u9", 1, "ten");
}

static void add_one(struct ask *a)
{
    struct world *w = a->ctx;
    if (a->body.n == 0)
        put_crd(w, 10, "u10", 1, "new");
}

static void a_mixture_of_two_states_is_never_sent_whole(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 10; i++)
        put_crd(w, i, i == 9 ? "u9" : "u", 1, "ten");
    struct ask doc ASK_SCOPE = {.before_fill = change_the_last, .ctx = w};
    ask(&doc, w, openapi_handle, "/openapi/v3/apis/example.com/v1", NULL);
    assert_true(doc.was_aborted);
    struct ask after ASK_SCOPE = {.before_fill = add_one, .ctx = w};
    ask(&after, w, openapi_handle, "/openapi/v3/apis/example.com/v1", NULL);
    assert_false(after.was_aborted); /* what was asked for is still as it was */
    assert_true(str_find(buf_str(&after.body), S("com.example.v1.Thing9\"")) > 0);
    assert_true(str_find(buf_str(&after.body), S("com.example.v1.Thing10\"")) < 0);
    assert_true(str_has_suffix(buf_str(&after.body), S("}}}\n")));
}

static void a_new_status_does_not_stop_a_document(void **state)
{
    struct world *w = *state;
    put_crd(w, 9, "u9", 1, "ten");
    struct ask doc ASK_SCOPE = {.before_fill = touch_the_last, .ctx = w};
    ask(&doc, w, openapi_handle, "/openapi/v3/apis/example.com/v1", NULL);
    assert_false(doc.was_aborted);
    assert_true(str_has_suffix(buf_str(&doc.body), S("}}}\n")));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_sorted_and_speak_of_what_there_is),
        cmocka_unit_test(every_kind_has_a_text),
        TEST(the_index_leads_to_documents_that_may_be_kept),
        TEST(without_a_hash_it_may_not_be_kept),
        TEST(another_hash_leads_to_the_right_one),
        TEST(unknown_documents_are_empty_404s),
        TEST(hashes_change_with_what_crds_say),
        TEST(a_mixture_of_two_states_is_never_sent_whole),
        TEST(a_new_status_does_not_stop_a_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
