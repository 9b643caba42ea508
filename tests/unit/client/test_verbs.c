/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs: what they ask for to the letter, and what they make of answers. */
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "client/client_internal.h"
#include "object/object.h"
#include "world.h"

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
static const struct client_resource deployments = CLIENT_RESOURCE("apps", "v1", "deployments", "Deployment", true);
static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);

#define MAPS "/api/v1/namespaces/x/configmaps"
#define MAP(name, more) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"" more "}}"

/* One verb in a thread, and what came of it. */
struct errand {
    void (*fn)(struct world *w, struct errand *e);
    struct client_ref ref;
    struct json object;
    struct client_list_options list;
    struct client_write_options write;
    struct client_delete_options delete;
    enum client_patch patch;
    struct arena arena;
    struct json ret;
    str version;
    struct err err;
    int code;
};

static void go(struct world *w, void *ctx)
{
    struct errand *e = ctx;
    e->fn(w, e);
}

static void do_get(struct world *w, struct errand *e)
{
    e->code = client_get(w->client, &e->arena, &e->ref, &e->ret, &e->err);
}
static void do_get_metadata(struct world *w, struct errand *e)
{
    e->code = client_get_metadata(w->client, &e->arena, &e->ref, &e->ret, &e->err);
}
static void do_list(struct world *w, struct errand *e)
{
    e->code = client_list(w->client, &e->arena, &e->ref, &e->list, &e->ret, &e->version, &e->err);
}

static void note_begin(void *ctx)
{
    struct errand *e = ctx;
    json_push(&e->arena, &e->ret, json_null());
}
static int note_item(void *ctx, const struct json *item, struct err *err)
{
    struct errand *e = ctx;
    if (str_eq(object_name(item), e->version))
        return err_set(err, ERR_CONFLICT, "enough");
    json_push(&e->arena, &e->ret, json_dup(&e->arena, item));
    return 0;
}
/* Notes a null for each beginning; does not want to hear of an item named like version. */
static void do_list_each(struct world *w, struct errand *e)
{
    static const struct client_taker taker = {note_begin, note_item};
    e->ret = json_arr();
    e->code = client_list_each(w->client, &e->ref, &e->list, &taker, e, &e->err);
}

static void do_create(struct world *w, struct errand *e)
{
    e->code = client_create(w->client, &e->arena, &e->ref, &e->object, &e->write, &e->ret, &e->err);
}
static void do_update(struct world *w, struct errand *e)
{
    e->code = client_update(w->client, &e->arena, &e->ref, &e->object, &e->write, &e->ret, &e->err);
}
static void do_patch(struct world *w, struct errand *e)
{
    struct client_patch_args args = {e->patch, &e->object, e->write};
    e->code = client_patch(w->client, &e->arena, &e->ref, &args, &e->ret, &e->err);
}
static void do_apply(struct world *w, struct errand *e)
{
    e->code = client_apply(w->client, &e->arena, &e->ref, &e->object, &e->write, &e->ret, &e->err);
}
static void do_delete(struct world *w, struct errand *e)
{
    e->code = client_delete(w->client, &e->arena, &e->ref, &e->delete, &e->ret, &e->err);
}

/* Clears the log, runs the verb and returns its code. */
static int run(struct world *w, struct errand *e, void (*fn)(struct world *w, struct errand *e))
{
    fake_log_clear(w->fake);
    arena_done(&e->arena);
    e->fn = fn;
    e->err = (struct err){0};
    e->ret = json_null();
    world_run(w, go, e);
    assert_int_equal(e->code, e->err.code);
    return e->code;
}

/* "METHOD target" of the only request. */
static void assert_asked(struct world *w, const char *text)
{
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    assert_int_equal(n, 1);
    assert_text(str_fmt(&w->arena, "%.*s %.*s", STR(log[0].method), STR(log[0].target)), text);
}

static const struct fake_request *asked(struct world *w)
{
    size_t n;
    return fake_log(w->fake, &n);
}

/* ---- Places. ---- */

static str path_of(struct arena *a, struct client_ref ref)
{
    struct buf b = {.arena = a};
    client_path(&b, &ref);
    return buf_str(&b);
}

static void paths_name_places(void **state)
{
    struct world *w = *state;
    struct arena *a = &w->arena;
    assert_text(path_of(a, (struct client_ref){&configmaps, S("x"), S("y"), {0}}), MAPS "/y");
    assert_text(path_of(a, (struct client_ref){&configmaps, {0}, {0}, {0}}), "/api/v1/configmaps");
    assert_text(path_of(a, (struct client_ref){&deployments, S("x"), S("y"), S("status")}),
                "/apis/apps/v1/namespaces/x/deployments/y/status");
    assert_text(path_of(a, (struct client_ref){&namespaces, S("ignored"), S("y"), S("finalize")}),
                "/api/v1/namespaces/y/finalize");
    assert_text(path_of(a, (struct client_ref){&configmaps, S("x"), {0}, S("status")}), MAPS);
    assert_text(path_of(a, (struct client_ref){&namespaces, {0}, S("system:a b?#\xc3\xa4"), {0}}),
                "/api/v1/namespaces/system:a%20b%3F%23%C3%A4");
    assert_text(client_api_version(a, &deployments), "apps/v1");
    assert_text(client_api_version(a, &namespaces), "v1");
    struct buf b = {.arena = a};
    buf_add_str(&b, S("/x"));
    client_query(&b, S("none"), (str){0});
    client_query(&b, S("a"), S("b=c,d in (e)"));
    client_query(&b, S("f"), S("1&2+3"));
    assert_text(buf_str(&b), "/x?a=b%3Dc%2Cd%20in%20%28e%29&f=1%262%2B3");
}

static void places_that_lead_elsewhere_are_refused(void **state)
{
    struct world *w = *state;
    static const struct {
        struct client_ref ref;
        const char *text;
    } cases[] = {
        {{&configmaps, S_INIT("x"), {0}, {0}}, "resource name may not be empty"},
        {{&configmaps, S_INIT("x"), S_INIT("a/b"), {0}}, "invalid resource name \"a/b\""},
        {{&configmaps, S_INIT("x"), S_INIT(".."), {0}}, "invalid resource name \"..\""},
        {{&configmaps, S_INIT("x"), S_INIT("."), {0}}, "invalid resource name \".\""},
        {{&configmaps, S_INIT("x"), S_INIT("%2e"), {0}}, "invalid resource name \"%2e\""},
        {{&configmaps, S_INIT(".."), S_INIT("a"), {0}}, "invalid namespace \"..\""},
        {{&configmaps, S_INIT("x"), S_INIT("a"), S_INIT("a/b")}, "invalid subresource \"a/b\""},
        {{&configmaps, {0}, S_INIT("a"), {0}}, "an empty namespace may not be set when a resource name is provided"},
    };
    void (*const verbs[])(struct world *, struct errand *) = {do_get,   do_get_metadata, do_update,
                                                              do_patch, do_apply,        do_delete};
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t v = 0; v < COUNT(verbs); v++) {
            struct errand e = {.ref = cases[i].ref, .object = json_obj()};
            assert_int_equal(run(w, &e, verbs[v]), ERR_BAD_REQUEST);
            assert_string_equal(e.err.msg, cases[i].text);
            assert_int_equal(fake_count(w->fake, "", ""), 0);
        }
    }
    struct errand e = {.ref = {.resource = &configmaps}, .object = json_obj()};
    assert_int_equal(run(w, &e, do_create), ERR_BAD_REQUEST);
    assert_string_equal(e.err.msg, "an empty namespace may not be set during creation");
    e.ref = (struct client_ref){&configmaps, S(".."), {0}, {0}};
    assert_int_equal(run(w, &e, do_list), ERR_BAD_REQUEST);
    e.ref = (struct client_ref){&configmaps, S("x"), S("a"), {0}};
    assert_int_equal(run(w, &e, do_list), ERR_BAD_REQUEST);
    e.delete.is_collection = true; /* a name and all of them cannot both be meant */
    assert_int_equal(run(w, &e, do_delete), ERR_BAD_REQUEST);
    assert_int_equal(fake_count(w->fake, "", ""), 0);
}

/* ---- Requests. ---- */

static void reads_ask_for_what_they_want(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}}};
    fake_put(w->fake, MAP("a", ""));
    assert_int_equal(run(w, &e, do_get), 0);
    assert_asked(w, "GET " MAPS "/a");
    assert_text(asked(w)->accept, "");
    assert_text(object_kind(&e.ret), "ConfigMap");
    assert_int_equal(run(w, &e, do_get_metadata), 0);
    assert_asked(w, "GET " MAPS "/a");
    assert_text(asked(w)->accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    assert_text(object_kind(&e.ret), "PartialObjectMetadata");
    e.ref.name = S("none");
    assert_int_equal(run(w, &e, do_get), ERR_NOT_FOUND);
    assert_string_equal(e.err.msg, "configmaps \"none\" not found");
    arena_done(&e.arena);
}

static void writes_send_objects(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}},
                       .object = world_json(w, "{\"metadata\":{\"name\":\"a\"}}"),
                       .write = {.field_manager = S("the manager")}};
    assert_int_equal(run(w, &e, do_create), 0);
    assert_asked(w, "POST " MAPS "?fieldManager=the%20manager");
    assert_text(asked(w)->body, "{\"metadata\":{\"name\":\"a\"}}");
    assert_int_equal(object_uid(&e.ret).n, 36);
    assert_int_equal(run(w, &e, do_create), ERR_ALREADY_EXISTS);
    e.write.dry_run = true;
    assert_int_equal(run(w, &e, do_update), 0);
    assert_asked(w, "PUT " MAPS "/a?fieldManager=the%20manager&dryRun=All");
    assert_int_equal(run(w, &e, do_apply), 0);
    assert_asked(w, "PATCH " MAPS "/a?fieldManager=the%20manager&dryRun=All");
    assert_text(asked(w)->content_type, "application/apply-patch+yaml");
    e.write = (struct client_write_options){.field_manager = S("m"), .force = true};
    assert_int_equal(run(w, &e, do_apply), 0);
    assert_asked(w, "PATCH " MAPS "/a?fieldManager=m&force=true");
    e.write = (struct client_write_options){0};
    assert_int_equal(run(w, &e, do_patch), 0);
    assert_asked(w, "PATCH " MAPS "/a");
    assert_text(asked(w)->content_type, "application/merge-patch+json");
    e.patch = CLIENT_PATCH_STRATEGIC;
    assert_int_equal(run(w, &e, do_patch), 0);
    assert_text(asked(w)->content_type, "application/strategic-merge-patch+json");
    e.patch = CLIENT_PATCH_JSON;
    e.object = world_json(w, "[{\"op\":\"add\",\"path\":\"/data\",\"value\":{\"k\":\"v\"}}]");
    assert_int_equal(run(w, &e, do_patch), 0);
    assert_text(asked(w)->content_type, "application/json-patch+json");
    assert_text(json_text(json_dig(&e.ret, "data.k")), "v");
    static const struct client_resource accounts = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);
    e.ref = (struct client_ref){&accounts, S("x"), S("a"), S("token")};
    assert_int_equal(run(w, &e, do_create), ERR_METHOD_NOT_ALLOWED); /* the fake gives no tokens */
    assert_asked(w, "POST /api/v1/namespaces/x/serviceaccounts/a/token");
    arena_done(&e.arena);
}

static void writes_say_for_whom(void **state)
{
    static void (*const verbs[])(struct world * w, struct errand * e) = {do_create, do_update, do_patch, do_apply};
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}},
                       .object = world_json(w, "{\"metadata\":{\"name\":\"a\"}}"),
                       .write = {.field_manager = S("m"), .as = S("jane")}};
    for (size_t i = 0; i < COUNT(verbs); i++) {
        assert_int_equal(run(w, &e, verbs[i]), 0);
        assert_text(asked(w)->as, "jane");
    }
    e.write.as = (str){0};
    assert_int_equal(run(w, &e, do_update), 0);
    assert_int_equal(asked(w)->as.n, 0);
    arena_done(&e.arena);
}

static void deletions_say_how(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}}};
    fake_put(w->fake, MAP("a", ""));
    fake_put(w->fake, MAP("b", ",\"labels\":{\"l\":\"1\"}"));
    fake_put(w->fake, MAP("c", ""));
    e.delete = (struct client_delete_options){.uid = S("other"), .version = S("7"), .propagation = S("Background")};
    assert_int_equal(run(w, &e, do_delete), ERR_CONFLICT);
    assert_asked(w, "DELETE " MAPS "/a");
    assert_text(asked(w)->body,
                "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\","
                "\"preconditions\":{\"uid\":\"other\",\"resourceVersion\":\"7\"}}");
    e.delete = (struct client_delete_options){0};
    assert_int_equal(run(w, &e, do_delete), 0);
    assert_text(asked(w)->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}");
    assert_text(json_get_text(&e.ret, S("status")), "Success");
    e.ref.name = (str){0};
    e.delete = (struct client_delete_options){.is_collection = true, .label_selector = S("l=1")};
    assert_int_equal(run(w, &e, do_delete), 0);
    assert_asked(w, "DELETE " MAPS "?labelSelector=l%3D1");
    e.ref.name = S("c");
    assert_int_equal(run(w, &e, do_get), 0);
    e.ref.name = S("b");
    assert_int_equal(run(w, &e, do_get), ERR_NOT_FOUND);
    arena_done(&e.arena);
}

/* ---- Answers. ---- */

static int answered(struct world *w, struct errand *e, int status, const char *body)
{
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .times = 1, .status = status, .body = str_of(body)});
    return run(w, e, do_get);
}

static void answers_become_errors(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}}};
    /* The reason says it, the HTTP code is for those without; both as client-go reads them. */
    assert_int_equal(answered(w, &e, 409, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"it is\"}"),
                     ERR_ALREADY_EXISTS);
    assert_string_equal(e.err.msg, "it is");
    assert_int_equal(answered(w, &e, 409, "{\"kind\":\"Status\",\"message\":\"m\"}"), ERR_CONFLICT);
    assert_int_equal(answered(w, &e, 403, "{\"kind\":\"Status\",\"reason\":\"Odd\"}"), ERR_FORBIDDEN);
    assert_string_equal(e.err.msg, "the server answered 403");
    assert_int_equal(answered(w, &e, 418, "{\"kind\":\"Status\"}"), ERR_BAD_REQUEST);
    assert_int_equal(answered(w, &e, 302, "moved"), ERR_INTERNAL);
    assert_string_equal(e.err.msg, "the server answered 302: moved");
    assert_int_equal(answered(w, &e, 502, "<html>\n\t<b>Bad \x1b[31mGateway</b>\r\n\xc3\xa4</html>\n"), ERR_INTERNAL);
    assert_string_equal(e.err.msg, "the server answered 502: <html> <b>Bad [31mGateway</b> \?\?</html>");
    assert_int_equal(answered(w, &e, 404, "{\"kind\":\"Pod\"}"), ERR_NOT_FOUND);
    assert_string_equal(e.err.msg, "the server answered 404: {\"kind\":\"Pod\"}");
    assert_int_equal(answered(w, &e, 200, "{\"kind\":"), ERR_IO);
    assert_true(str_has_prefix(str_of(e.err.msg), S("the answer of the server is not JSON: ")));
    assert_int_equal(answered(w, &e, 200, "[]"), ERR_IO);
    assert_string_equal(e.err.msg, "the answer of the server is not an object");
    assert_int_equal(answered(w, &e, 200,
                              "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410,"
                              "\"message\":\"old\"}"),
                     ERR_EXPIRED);
    assert_int_equal(answered(w, &e, 200, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":200}"), ERR_INTERNAL);
    assert_string_equal(e.err.msg, "the server answered 200");
    char large[1000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    assert_int_equal(answered(w, &e, 500, large), ERR_INTERNAL);
    assert_int_equal(strlen(e.err.msg), strlen("the server answered 500: ") + 200);
    arena_done(&e.arena);
}

static void only_an_object_is_gone(void **state)
{
#define FAILURE(reason, message) \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
    static const struct { /* NOLINT(clang-analyzer-optin.performance.Padding): in the order of reading */
        int status;
        const char *body;
        bool is_gone;
    } cases[] = {
        {404, FAILURE("NotFound", "configmaps \\\"a\\\" not found"), true},
        {404, FAILURE("NotFound", "deployments.apps \\\"a\\\" not found"), true},
        {404, FAILURE("NotFound", "namespaces \\\"x\\\" not found"), true},
        {404, FAILURE("", "configmaps \\\"a\\\" not found"), true},
        /* A kind or a version that is not served; a Status without a word. */
        {404, FAILURE("NotFound", "the server could not find the requested resource"), false},
        {404, FAILURE("NotFound", ""), false},
        {404, "404 page not found\n", false},
        /* What is no API server says anything. */
        {404, "default backend: service \"a\" not found", false},
        {404, "{\"message\":\"configmaps \\\"a\\\" not found\"}", false},
        {404, "", false},
        /* Another error that says so, as an admission webhook may. */
        {403, FAILURE("Forbidden", "configmaps \\\"a\\\" is forbidden: quota \\\"a\\\" not found"), false},
        {500, FAILURE("InternalError", "serviceaccounts \\\"a\\\" not found"), false},
    };
#undef FAILURE
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), S("a"), {0}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_not_equal(answered(w, &e, cases[i].status, cases[i].body), 0);
        if (client_is_gone(&e.err) != cases[i].is_gone)
            fail_msg("%s", e.err.msg);
    }
    assert_int_equal(run(w, &e, do_get), ERR_NOT_FOUND);
    assert_true(client_is_gone(&e.err)); /* the test server's own words */
    assert_false(client_is_gone(&(struct err){0}));
    arena_done(&e.arena);
}

/* ---- Lists. ---- */

static void fill(struct world *w)
{
    fake_put(w->fake, MAP("a", ""));
    fake_put(w->fake, MAP("b", ""));
    fake_put(w->fake, MAP("c", ""));
    fake_put(w->fake, MAP("d", ""));
    fake_put(w->fake, MAP("e", ""));
}

static str names_of(struct arena *a, const struct json *items)
{
    struct buf b = {.arena = a};
    json_each_item(items, it)
    {
        buf_fmt(&b, "%.*s:%.*s:%.*s ", STR(object_api_version(it)), STR(object_kind(it)), STR(object_name(it)));
    }
    return buf_str(&b);
}

#define ALL "v1:ConfigMap:a v1:ConfigMap:b v1:ConfigMap:c v1:ConfigMap:d v1:ConfigMap:e "

static void lists_are_fetched_page_by_page(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}};
    fill(w);
    assert_int_equal(run(w, &e, do_list), 0);
    assert_asked(w, "GET " MAPS "?limit=500");
    assert_text(names_of(&e.arena, &e.ret), ALL);
    assert_text(e.version, "6");
    e.list = (struct client_list_options){.limit = 2, .field_selector = S("metadata.name!=c")};
    assert_int_equal(run(w, &e, do_list), 0);
    assert_int_equal(fake_count(w->fake, "GET", MAPS "?fieldSelector=metadata.name%21%3Dc&limit=2"), 2);
    assert_int_equal(fake_count(w->fake, "GET", MAPS "?fieldSelector=metadata.name%21%3Dc&limit=2&continue=6.1.2"), 1);
    assert_text(names_of(&e.arena, &e.ret), "v1:ConfigMap:a v1:ConfigMap:b v1:ConfigMap:d v1:ConfigMap:e ");
    e.list = (struct client_list_options){.metadata_only = true, .label_selector = S("none")};
    assert_int_equal(run(w, &e, do_list), 0);
    assert_asked(w, "GET " MAPS "?labelSelector=none&limit=500");
    assert_text(asked(w)->accept, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    assert_int_equal(json_len(&e.ret), 0);
    assert_true(json_is_arr(&e.ret));
    e.list.label_selector = (str){0};
    assert_int_equal(run(w, &e, do_list), 0);
    assert_true(str_has_prefix(names_of(&e.arena, &e.ret), S("meta.k8s.io/v1:PartialObjectMetadata:a ")));
    arena_done(&e.arena);
}

static void expire_pages(struct world *w, unsigned times)
{
    fake_fault(w->fake,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .prefix = S(MAPS "?limit=2&continue="), .times = times, .status = 410});
}

static void lists_begin_anew_when_they_expire(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}, .list = {.limit = 2}};
    fill(w);
    expire_pages(w, 1);
    assert_int_equal(run(w, &e, do_list), 0);
    assert_text(names_of(&e.arena, &e.ret), ALL);
    assert_int_equal(fake_count(w->fake, "GET", ""), 2 + 3);
    expire_pages(w, 0); /* always: in the end as one page */
    assert_int_equal(run(w, &e, do_list), 0);
    assert_text(names_of(&e.arena, &e.ret), ALL);
    assert_int_equal(fake_count(w->fake, "GET", ""), 2 + 2 + 1);
    size_t n;
    assert_text(fake_log(w->fake, &n)[4].target, MAPS);
    fake_heal(w->fake);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .status = 410});
    assert_int_equal(run(w, &e, do_list), ERR_EXPIRED);
    assert_int_equal(fake_count(w->fake, "GET", ""), 3); /* bounded */
    arena_done(&e.arena);
}

static void lists_are_taken_item_by_item(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}, .list = {.limit = 2}};
    fill(w);
    assert_int_equal(run(w, &e, do_list_each), 0);
    assert_text(names_of(&e.arena, &e.ret), ":: " ALL);
    assert_int_equal(fake_count(w->fake, "GET", ""), 3);
    expire_pages(w, 1); /* whoever takes the items is told that they begin anew */
    assert_int_equal(run(w, &e, do_list_each), 0);
    assert_text(names_of(&e.arena, &e.ret), ":: v1:ConfigMap:a v1:ConfigMap:b :: " ALL);
    e.version = S("c"); /* and may have enough of them */
    assert_int_equal(run(w, &e, do_list_each), ERR_CONFLICT);
    assert_text(names_of(&e.arena, &e.ret), ":: v1:ConfigMap:a v1:ConfigMap:b ");
    assert_int_equal(fake_count(w->fake, "GET", ""), 3); /* the last page was on its way */
    arena_done(&e.arena);
}

static void the_next_page_is_known_from_the_head(void **state)
{
    struct world *w = *state;
    struct arena *a = &w->arena;
    assert_text(client_listing_peek(a, S("{\"metadata\":{\"continue\":\"t\"},\"items\":[{\"a\":1}]}")), "t");
    assert_text(client_listing_peek(a, S("{\"metadata\":{\"continue\":\"\\\"items\\\":\"},\"items\":[")), "\"items\":");
    assert_text(client_listing_peek(a, S("{\"metadata\":{},\"items\":[{\"metadata\":{\"continue\":\"t\"}}]}")), "");
    assert_text(client_listing_peek(a, S("{\"items\":[],\"metadata\":{\"continue\":\"t\"}}")), "");
    assert_text(client_listing_peek(a, S("{\"metadata\":{\"continue\":\"t\"")), "");
    assert_text(client_listing_peek(a, S("nonsense \"items\":")), "");
    assert_text(client_listing_peek(a, (str){0}), "");
}

/* A server that tells of the next page behind the items, or tells of another one there. */
static void a_page_that_was_not_the_next_is_left_alone(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}, .list = {.limit = 2}};
    static const char *const firsts[] = {
        "{\"items\":[{\"metadata\":{\"name\":\"p\"}}],\"metadata\":{\"resourceVersion\":\"6\",\"continue\":\"6.0.2\"}}",
        "{\"metadata\":{\"resourceVersion\":\"6\",\"continue\":\"wrong\"},\"items\":[{\"metadata\":{\"name\":\"p\"}}],"
        "\"metadata\":{\"resourceVersion\":\"6\",\"continue\":\"6.0.2\"}}",
    };
    fill(w);
    assert_int_equal(run(w, &e, do_list_each), 0); /* the tokens of its pages are 6.0.2 and 6.0.4 */
    for (size_t i = 0; i < 2; i++) {
        fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER,
                                                 .prefix = S(MAPS "?limit=2"),
                                                 .times = 1,
                                                 .status = 200,
                                                 .body = str_of(firsts[i])});
        assert_int_equal(run(w, &e, do_list_each), 0);
        assert_text(names_of(&e.arena, &e.ret), ":: v1:ConfigMap:p v1:ConfigMap:c v1:ConfigMap:d v1:ConfigMap:e ");
    }
    arena_done(&e.arena);
}

static int listed(struct world *w, struct errand *e, const char *first, const char *second)
{
    const char *pages[] = {first, second};
    fake_heal(w->fake);
    for (int i = 0; i < 2; i++)
        fake_fault(w->fake,
                   &(struct fake_fault){.type = FAKE_ANSWER, .times = 1, .status = 200, .body = str_of(pages[i])});
    return run(w, e, do_list);
}

static void lists_that_make_no_sense_are_refused(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}};
    assert_int_equal(listed(w, &e, "{\"items\":{}}", ""), ERR_IO);
    assert_int_equal(listed(w, &e, "{\"metadata\":{\"resourceVersion\":\"7\"}}", ""), ERR_IO);
    assert_string_equal(e.err.msg, "the answer of the server is not a list");
    assert_int_equal(listed(w, &e, "{\"items\":[7]}", ""), ERR_IO);
    assert_int_equal(listed(w, &e, "{\"metadata\":{\"continue\":\"t\"},\"items\":[]}",
                            "{\"metadata\":{\"continue\":\"t\"},\"items\":[]}"),
                     ERR_IO);
    assert_string_equal(e.err.msg, "the server gives the same page of the list again");
    assert_int_equal(listed(w, &e, "{\"items\":null}", ""), 0); /* Go's empty list */
    assert_int_equal(json_len(&e.ret), 0);
    /* Pages of two revisions are no list: it begins anew, and this time the server is right. */
    fill(w);
    assert_int_equal(listed(w, &e, "{\"metadata\":{\"resourceVersion\":\"1\",\"continue\":\"t\"},\"items\":[]}",
                            "{\"metadata\":{\"resourceVersion\":\"2\"},\"items\":[]}"),
                     0);
    assert_text(names_of(&e.arena, &e.ret), ALL);
    arena_done(&e.arena);
}

static void custom_objects_keep_what_they_say(void **state)
{
    struct world *w = *state;
    struct errand e = {.ref = {&configmaps, S("x"), {0}, {0}}};
    assert_int_equal(
        listed(w, &e, "{\"items\":[{\"apiVersion\":\"e/v2\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\"}}]}", ""), 0);
    assert_text(names_of(&e.arena, &e.ret), "e/v2:K:n ");
    arena_done(&e.arena);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(paths_name_places),
        TEST(places_that_lead_elsewhere_are_refused),
        TEST(reads_ask_for_what_they_want),
        TEST(writes_send_objects),
        TEST(writes_say_for_whom),
        TEST(deletions_say_how),
        TEST(answers_become_errors),
        TEST(only_an_object_is_gone),
        TEST(lists_are_fetched_page_by_page),
        TEST(lists_are_taken_item_by_item),
        TEST(lists_begin_anew_when_they_expire),
        TEST(the_next_page_is_known_from_the_head),
        TEST(a_page_that_was_not_the_next_is_left_alone),
        TEST(lists_that_make_no_sense_are_refused),
        TEST(custom_objects_keep_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
