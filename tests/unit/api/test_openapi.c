/* SPDX-License-Identifier: Apache-2.0 */
/* How OpenAPI documents are found, kept and sent. What they say is in tests/cases/openapi. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/openapi.h"
#include "kinds/builtin.h"
#include "openapi/openapi_render.h"
#include "json/proto.h"
#include "json/yaml.h"

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
    for (size_t i = 0; i < COUNT(paths); i++) {
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
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct ask doc ASK_SCOPE = {0};
        ask(&doc, *state, openapi_handle, paths[i], NULL);
        assert_int_equal(doc.status, 404);
        assert_int_equal(doc.body.n, 0);
        assert_int_equal(ask_header(&doc, "Content-Type").n, 0);
    }
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

/* ---- The older form: one document, as JSON and as protobuf. ---- */

#define PROTOBUF "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define PROTOBUF_SENT "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

static void v2_is_json_or_protobuf(void **state)
{
    static const struct {
        const char *accept, *type; /* NULL: refused */
    } cases[] = {
        {NULL, "application/json"},
        {"Accept: application/json", "application/json"},
        {"Accept: */*", "application/json"},
        {"Accept: application/*", "application/json"},
        {"Accept: " PROTOBUF, PROTOBUF_SENT},
        {"Accept: " PROTOBUF_SENT, PROTOBUF_SENT},
        {"Accept: application/json;q=0.5," PROTOBUF, PROTOBUF_SENT},
        {"Accept: text/html,application/json", "application/json"},
        {"Accept: application/yaml", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, openapi_handle, "/openapi/v2?timeout=32s", cases[i].accept);
        if (a.status != (cases[i].type ? 200 : 406) || !str_eq(ask_header(&a, "Content-Type"), str_of(cases[i].type)))
            fail_msg("%s: %d %.*s", cases[i].accept, a.status, STR(ask_header(&a, "Content-Type")));
        assert_str(ask_header(&a, "Vary"), "Accept");
        assert_str(ask_header(&a, "Cache-Control"), "no-cache, private");
        assert_true(cases[i].type || a.body.n == 0);
        assert_true(a.largest_fill <= 4096);
    }
}

static void v2_changes_with_crds_only(void **state)
{
    struct world *w = *state;
    struct ask first ASK_SCOPE = {0}, same ASK_SCOPE = {0}, changed ASK_SCOPE = {0};
    ask(&first, w, openapi_handle, "/openapi/v2", NULL);
    str line = str_fmt(&first.x.arena, "If-None-Match: %.*s", STR(ask_header(&first, "ETag")));
    const char *headers = str_cstr(&first.x.arena, line);
    ask(&same, w, openapi_handle, "/openapi/v2", headers);
    assert_int_equal(same.status, 304);
    assert_int_equal(same.body.n, 0);
    put_crd(w, 1, "u1", 1, "one");
    ask(&changed, w, openapi_handle, "/openapi/v2", headers);
    assert_int_equal(changed.status, 200);
    assert_true(str_find(buf_str(&changed.body), S("\"com.example.v1.Thing1\"")) > 0);
}

/* A message, field by field; the test fails when it is broken. */
static bool next(struct wire *w, struct wire_field *f)
{
    enum wire_step step = wire_next(w, f);
    if (step == WIRE_BROKEN)
        fail_msg("%s", w->error);
    return step == WIRE_FIELD;
}

static str bytes_of(str message, uint32_t number)
{
    struct wire w = {.rest = message};
    struct wire_field f;
    str found = {0};
    while (next(&w, &f))
        if (f.number == number)
            found = f.bytes;
    return found;
}

static struct json any_of(struct arena *a, str message)
{
    struct json v;
    struct err err;
    assert_int_equal(yaml_decode(a, bytes_of(message, 2), NULL, NULL, &v, &err), 0);
    return v;
}

static double real_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static struct json schema_of(struct arena *a, str message);

static void add_to_list(struct arena *a, struct json *schema, const char *name, struct json v)
{
    struct json *list = json_get_mut(schema, str_of(name));
    if (!list)
        list = json_add(a, schema, str_of(name), json_arr());
    json_push(a, list, v);
}

static struct json properties_of(struct arena *a, str message)
{
    struct wire w = {.rest = message};
    struct wire_field f;
    struct json made = json_obj();
    while (next(&w, &f))
        json_add(a, &made, bytes_of(f.bytes, 1), schema_of(a, bytes_of(f.bytes, 2)));
    return made;
}

/* gnostic's message Schema, as the definition of protobuf has it. */
static struct json schema_of(struct arena *a, str message)
{
    static const char *const names[32] = {
        [1] = "$ref",       [2] = "format",           [3] = "title",    [4] = "description",
        [7] = "maximum",    [8] = "exclusiveMaximum", [9] = "minimum",  [10] = "exclusiveMinimum",
        [11] = "maxLength", [12] = "minLength",       [13] = "pattern", [14] = "maxItems",
        [15] = "minItems",  [16] = "uniqueItems"};
    struct wire w = {.rest = message};
    struct wire_field f;
    struct json s = json_obj();
    while (next(&w, &f)) {
        if (f.number == 19)
            add_to_list(a, &s, "required", json_str(f.bytes));
        else if (f.number == 20)
            add_to_list(a, &s, "enum", any_of(a, f.bytes));
        else if (f.number == 21)
            json_add(a, &s, S("additionalProperties"), schema_of(a, bytes_of(f.bytes, 1)));
        else if (f.number == 22)
            json_add(a, &s, S("type"), json_str(bytes_of(f.bytes, 1)));
        else if (f.number == 23)
            json_add(a, &s, S("items"), schema_of(a, bytes_of(f.bytes, 1)));
        else if (f.number == 25)
            json_add(a, &s, S("properties"), properties_of(a, f.bytes));
        else if (f.number == 31)
            json_add(a, &s, bytes_of(f.bytes, 1), any_of(a, bytes_of(f.bytes, 2)));
        else if (f.number >= 32 || !names[f.number])
            fail_msg("field %u", f.number);
        else if (f.type == WIRE_BYTES)
            json_add(a, &s, str_of(names[f.number]), json_str(f.bytes));
        else if (f.type == WIRE_FIXED64)
            json_add(a, &s, str_of(names[f.number]), json_real(real_of(f.value)));
        else
            json_add(a, &s, str_of(names[f.number]),
                     str_has_prefix(str_of(names[f.number]), S("m")) ? json_int((int64_t)f.value) : json_bool(f.value));
    }
    return s;
}

static void protobuf_says_what_json_says(void **state)
{
    struct world *w = *state;
    struct ask json ASK_SCOPE = {0}, proto ASK_SCOPE = {0};
    struct arena a ARENA_SCOPE = {0};
    struct json tree;
    struct err err;
    world_put_crd(
        w, S("{\"metadata\":{\"name\":\"gauges.example.com\",\"uid\":\"u\",\"generation\":1},\"spec\":{"
             "\"group\":\"example.com\",\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,"
             "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
             "\"type\":\"object\",\"required\":[\"size\"],\"properties\":{\"size\":{\"type\":\"integer\","
             "\"minimum\":1.5,\"exclusiveMinimum\":true,\"maximum\":90},\"name\":{\"type\":\"string\",\"maxLength\":"
             "300,\"pattern\":\"^a\",\"enum\":[\"a\\u007f\",\"true\"]},\"all\":{\"type\":\"array\","
             "\"minItems\":2,\"x-kubernetes-list-type\":\"atomic\",\"items\":{\"type\":\"object\","
             "\"additionalProperties\":{\"type\":\"boolean\"}}}}}}}}}]},\"status\":{\"acceptedNames\":{\"plural\":"
             "\"gauges\",\"singular\":\"gauge\",\"kind\":\"Gauge\",\"listKind\":\"GaugeList\"},\"conditions\":[{"
             "\"type\":\"Established\",\"status\":\"True\"}]}}"));
    ask(&json, w, openapi_handle, "/openapi/v2", NULL);
    ask(&proto, w, openapi_handle, "/openapi/v2", "Accept: " PROTOBUF);
    assert_int_equal(json_decode(&a, buf_str(&json.body), NULL, NULL, &tree, &err), 0);
    const struct json *definitions = json_get(&tree, S("definitions"));
    struct wire wire = {.rest = buf_str(&proto.body)};
    struct wire_field f;
    size_t n = 0;
    while (next(&wire, &f)) {
        if (f.number != 9)
            continue;
        str named = bytes_of(f.bytes, 1);
        struct json got = schema_of(&a, bytes_of(named, 2));
        const struct json *want = json_get(definitions, bytes_of(named, 1));
        if (!want || !json_equal(&got, want)) {
            struct buf b = {.arena = &a};
            json_encode(&b, &got, 0);
            fail_msg("%.*s: %.*s", STR(bytes_of(named, 1)), STR(buf_str(&b)));
        }
        n++;
    }
    assert_int_equal(n, json_len(definitions));
    assert_non_null(json_get(definitions, S("com.example.v1.Gauge")));
    assert_str(bytes_of(buf_str(&proto.body), 1), "2.0");
    assert_str(bytes_of(bytes_of(buf_str(&proto.body), 2), 1), "Kubernetes");
}

/* kubectl gives up on the whole document when one reference leads nowhere. */
static void references_lead_somewhere(const struct json *definitions, const struct json *v)
{
    str ref = json_get_text(v, S("$ref"));
    if (ref.n && !json_get(definitions, str_from(ref, S("#/definitions/").n)))
        fail_msg("%.*s", STR(ref));
    json_each_member(v, m)
    {
        references_lead_somewhere(definitions, &m->val);
    }
    json_each_item(v, item)
    {
        references_lead_somewhere(definitions, item);
    }
}

static void v2_is_closed(void **state)
{
    struct ask a ASK_SCOPE = {0};
    struct json tree;
    struct err err;
    struct json_notes notes = {0};
    put_crd(*state, 1, "u1", 1, "one");
    ask(&a, *state, openapi_handle, "/openapi/v2", NULL);
    assert_int_equal(json_decode(a.r.arena, buf_str(&a.body), NULL, &notes, &tree, &err), 0);
    assert_int_equal(notes.duplicates.n, 0);
    assert_true(json_len(json_get(&tree, S("definitions"))) > 200);
    references_lead_somewhere(json_get(&tree, S("definitions")), &tree);
}

/* A CRD may have a group whose definitions are called as those of the server itself. */
static void what_is_built_in_keeps_its_name(void **state)
{
    struct ask a ASK_SCOPE = {0};
    struct json tree;
    struct err err;
    struct json_notes notes = {0};
    world_put_crd(*state,
                  S("{\"metadata\":{\"name\":\"pods.core.api.k8s.io\",\"uid\":\"u\",\"generation\":1},\"spec\":{"
                    "\"group\":\"core.api.k8s.io\",\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\","
                    "\"served\":true,\"storage\":true}]},\"status\":{\"acceptedNames\":{\"plural\":\"pods\","
                    "\"singular\":\"pod\",\"kind\":\"Pod\",\"listKind\":\"PodList\"},\"conditions\":[{\"type\":"
                    "\"Established\",\"status\":\"True\"}]}}"));
    ask(&a, *state, openapi_handle, "/openapi/v2", NULL);
    assert_int_equal(json_decode(a.r.arena, buf_str(&a.body), NULL, &notes, &tree, &err), 0);
    assert_int_equal(notes.duplicates.n, 0);
    assert_non_null(
        json_dig(json_get(json_get(&tree, S("definitions")), S("io.k8s.api.core.v1.Pod")), "properties.spec"));
}

static void a_mixture_is_not_sent_as_v2_either(void **state)
{
    struct world *w = *state;
    put_crd(w, 9, "u9", 1, "ten");
    struct ask doc ASK_SCOPE = {.before_fill = change_the_last, .ctx = w};
    ask(&doc, w, openapi_handle, "/openapi/v2", NULL);
    assert_true(doc.was_aborted);
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
        TEST(v2_is_json_or_protobuf),
        TEST(v2_changes_with_crds_only),
        TEST(protobuf_says_what_json_says),
        TEST(v2_is_closed),
        TEST(what_is_built_in_keeps_its_name),
        TEST(a_mixture_is_not_sent_as_v2_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
