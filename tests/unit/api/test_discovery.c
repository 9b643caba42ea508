/* SPDX-License-Identifier: Apache-2.0 */
/* How discovery is asked for: which form by Accept, what clients may keep, and that changes are seen at once. What the documents
 * say is in tests/cases/discovery. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/discovery.h"

#define V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA1 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

static const str widgets = S_INIT(
    "{\"metadata\":{\"name\":\"widgets.example.com\",\"uid\":\"u\",\"generation\":1},\"spec\":{\"group\":\"example.com\","
    "\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true}]},\"status\":{"
    "\"acceptedNames\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\",\"listKind\":\"WidgetList\"},"
    "\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}");

static void kubectl_gets_everything_in_two_documents(void **state)
{
    for (int core = 0; core < 2; core++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, discovery_handle, core ? "/api?timeout=32s" : "/apis?timeout=32s",
            "Accept: " V2 "," V2BETA1 ",application/json");
        assert_true(a.was_handled);
        assert_int_equal(a.status, 200);
        assert_str(ask_header(&a, "Content-Type"), V2);
        assert_str(ask_header(&a, "Cache-Control"), "public");
        assert_str(ask_header(&a, "Vary"), "Accept");
        assert_int_equal(ask_header(&a, "ETag").n, 130);
        assert_int_equal(ask_header(&a, "ETag").p[0], '"');
        assert_true(str_has_suffix(buf_str(&a.body), S("}\n")));
        assert_true(str_has_prefix(
            buf_str(&a.body), S("{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",")));
    }
}

static void older_clients_get_the_version_they_know(void **state)
{
    struct ask a ASK_SCOPE = {0};
    ask(&a, *state, discovery_handle, "/apis", "Accept: " V2BETA1 ",application/json");
    assert_str(ask_header(&a, "Content-Type"), V2BETA1);
    assert_true(str_find(buf_str(&a.body), S("\"apiVersion\":\"apidiscovery.k8s.io/v2beta1\"")) > 0);
}

static void the_first_form_that_we_know_counts(void **state)
{
    static const char json_first[] = "Accept: application/json," V2;
    static const char *const old[] = {
        NULL,
        "Accept: application/json",
        "Accept: application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json",
        "Accept: application/vnd.kubernetes.protobuf,application/json",
        json_first,
    };
    for (size_t i = 0; i < COUNT(old); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, discovery_handle, "/apis", old[i]);
        assert_int_equal(a.status, 200);
        assert_str(ask_header(&a, "Content-Type"), "application/json");
        assert_str(ask_header(&a, "Cache-Control"), "no-cache, private");
        assert_true(str_has_prefix(buf_str(&a.body), S("{\"kind\":\"APIGroupList\"")));
    }
    struct ask none ASK_SCOPE = {0};
    ask(&none, *state, discovery_handle, "/apis",
        "Accept: application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList");
    assert_int_equal(none.status, 406);
    struct ask inner ASK_SCOPE = {0};
    ask(&inner, *state, discovery_handle, "/apis/apps/v1", "Accept: " V2);
    assert_int_equal(inner.status, 406);
}

static void what_is_known_is_not_sent_again(void **state)
{
    struct world *w = *state;
    struct ask first ASK_SCOPE = {0};
    ask(&first, w, discovery_handle, "/apis", "Accept: " V2);
    str etag = ask_header(&first, "ETag"),
        line = str_fmt(&first.x.arena, "Accept: " V2 "\nIf-None-Match: %.*s", STR(etag));
    const char *headers = str_cstr(&first.x.arena, line);
    struct ask again ASK_SCOPE = {0};
    ask(&again, w, discovery_handle, "/apis", headers);
    assert_int_equal(again.status, 304);
    assert_int_equal(again.body.n, 0);
    assert_true(str_eq(ask_header(&again, "ETag"), etag));
    world_put_crd(w, widgets);
    struct ask changed ASK_SCOPE = {0};
    ask(&changed, w, discovery_handle, "/apis", headers);
    assert_int_equal(changed.status, 200);
    assert_false(str_eq(ask_header(&changed, "ETag"), etag));
    assert_true(str_find(buf_str(&changed.body), S("\"resource\":\"widgets\"")) > 0);
}

static void etags_come_from_the_content(void **state)
{
    struct world *w = *state;
    struct ask before ASK_SCOPE = {0};
    ask(&before, w, discovery_handle, "/apis", "Accept: " V2);
    world_put_crd(w, widgets);
    assert_true(registry_remove_crd(w->api.registry, S("widgets.example.com")));
    struct ask after ASK_SCOPE = {0};
    ask(&after, w, discovery_handle, "/apis", "Accept: " V2);
    assert_true(str_eq(ask_header(&before, "ETag"), ask_header(&after, "ETag")));
    struct ask core ASK_SCOPE = {0};
    ask(&core, w, discovery_handle, "/api", "Accept: " V2);
    assert_false(str_eq(ask_header(&core, "ETag"), ask_header(&after, "ETag")));
}

static void people_get_it_indented_or_as_yaml(void **state)
{
    struct ask a ASK_SCOPE = {0}, b ASK_SCOPE = {0}, c ASK_SCOPE = {0};
    ask(&a, *state, discovery_handle, "/api", "User-Agent: curl/8.0");
    assert_true(str_has_prefix(buf_str(&a.body), S("{\n  \"kind\": \"APIVersions\",\n")));
    ask(&b, *state, discovery_handle, "/apis/apps", "Accept: application/yaml");
    assert_str(ask_header(&b, "Content-Type"), "application/yaml");
    assert_true(str_has_prefix(buf_str(&b.body), S("apiVersion: v1\nkind: APIGroup\nname: apps\n")));
    ask(&c, *state, discovery_handle, "/api?pretty=1", "Accept: " V2);
    assert_str(ask_header(&c, "Content-Type"), V2);
    assert_true(str_has_prefix(buf_str(&c.body), S("{\n  \"kind\": \"APIGroupDiscoveryList\",\n")));
}

static void paths(void **state)
{
    static const struct {
        const char *path;
        int status; /* 0: not ours */
        const char *start;
    } cases[] = {
        {"/api", 200, "{\"kind\":\"APIVersions\""},
        {"/api/", 200, "{\"kind\":\"APIVersions\""},
        {"/apis", 200, "{\"kind\":\"APIGroupList\""},
        {"/apis/", 200, "{\"kind\":\"APIGroupList\""},
        {"/api/v1", 200, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\""},
        {"/api/v1/", 200, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\""},
        {"/apis/apps", 200, "{\"kind\":\"APIGroup\""},
        {"/apis/apps/", 200, "{\"kind\":\"APIGroup\""},
        {"/apis/apps/v1", 200, "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"apps/v1\""},
        {"/apis/apps/v1/", 200, "{\"kind\":\"APIResourceList\""},
        {"/apis/example.com/v1", 200, "{\"kind\":\"APIResourceList\""},
        {"/apis/example.com/v2", 0, ""},
        {"/apis/example.org", 0, ""},
        {"/apis/apps/v9", 404, "{\"kind\":\"Status\""},
        {"/api/v2", 404, "{\"kind\":\"Status\""},
        {"/apis/apps/v1/deployments", 0, ""},
        {"/apiservices", 0, ""},
        {"/apis//v1", 0, ""},
        {"/", 0, ""},
    };
    world_put_crd(*state, widgets);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, discovery_handle, cases[i].path, NULL);
        if (a.status != cases[i].status || a.was_handled != (cases[i].status != 0) ||
            !str_has_prefix(buf_str(&a.body), str_of(cases[i].start)))
            fail_msg("%s: %d %.*s", cases[i].path, a.status, STR(str_upto(buf_str(&a.body), 200)));
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(kubectl_gets_everything_in_two_documents),
        TEST(older_clients_get_the_version_they_know),
        TEST(the_first_form_that_we_know_counts),
        TEST(what_is_known_is_not_sent_again),
        TEST(etags_come_from_the_content),
        TEST(people_get_it_indented_or_as_yaml),
        TEST(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
