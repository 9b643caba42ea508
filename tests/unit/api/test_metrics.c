/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, under which labels, and that clients cannot make up labels of their own. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/metrics.h"
#include "kinds/builtin.h"

#define SECOND INT64_C(1000000000)

struct met {
    const char *method, *api_version, *kind, *namespace, *name, *subresource, *content_type, *path;
    int64_t took;
    unsigned verb;
    int status;
};

static void meet(struct world *w, const struct met *m)
{
    const struct http_header type = {S("content-type"), str_of(m->content_type)};
    struct http_exchange x = {.method = m->method ? str_of(m->method) : S("GET"), .headers = {&type, 1}};
    struct api_request r = {.api = &w->api,
                            .x = &x,
                            .status = m->status,
                            .route = {.is_resource = m->kind != NULL,
                                      .verb = m->verb,
                                      .namespace = str_of(m->namespace),
                                      .name = str_of(m->name),
                                      .subresource = str_of(m->subresource),
                                      .path = str_of(m->path)}};
    if (m->kind)
        r.route.kind = kind_builtin_by_body(str_of(m->api_version), str_of(m->kind));
    metrics_request(w->api.metrics, &r, m->took);
}

/* Exactly one line says this. */
static void assert_line(str text, const char *line)
{
    size_t n = 0;
    str rest = text, one;
    while (rest.n) {
        str_cut(rest, '\n', &one, &rest);
        n += str_eq(one, str_of(line));
    }
    if (n != 1)
        fail_msg("%zu times: %s\nin:\n%.*s", n, line, STR(text));
}

static str requests(struct world *w, struct arena *a)
{
    struct buf b = {.arena = a};
    metrics_format_requests(w->api.metrics, &b);
    return buf_str(&b);
}

static void labels_are_those_of_kube_apiserver(void **state)
{
    static const struct met all[] = {
        {.verb = VERB_GET, .api_version = "v1", .kind = "ConfigMap", .namespace = "n", .name = "c", .status = 200},
        {.verb = VERB_GET, .api_version = "v1", .kind = "ConfigMap", .namespace = "n", .name = "d", .status = 404},
        {.verb = VERB_GET, .api_version = "v1", .kind = "ConfigMap", .namespace = "m", .name = "e", .status = 404},
        {.verb = VERB_LIST, .api_version = "apps/v1", .kind = "Deployment", .namespace = "n", .status = 200},
        {.verb = VERB_WATCH, .api_version = "apps/v1", .kind = "Deployment", .status = 200},
        {.verb = VERB_PATCH,
         .api_version = "apps/v1",
         .kind = "Deployment",
         .namespace = "n",
         .name = "d",
         .subresource = "status",
         .content_type = "application/apply-patch+yaml",
         .status = 200},
        {.verb = VERB_PATCH,
         .api_version = "apps/v1",
         .kind = "Deployment",
         .namespace = "n",
         .name = "d",
         .content_type = "application/merge-patch+json",
         .status = 200},
        {.verb = VERB_DELETECOLLECTION, .api_version = "v1", .kind = "Secret", .namespace = "n", .status = 403},
        {.path = "/readyz/etcd", .status = 200},
        {.path = "/apis/apps", .status = 200},
    };
    static const char *const lines[] = {
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"configmaps\",scope=\"resource\","
        "subresource=\"\",verb=\"GET\",version=\"v1\"} 1",
        "{code=\"404\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"configmaps\",scope=\"resource\","
        "subresource=\"\",verb=\"GET\",version=\"v1\"} 2",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"apps\",resource=\"deployments\",scope=\"namespace\","
        "subresource=\"\",verb=\"LIST\",version=\"v1\"} 1",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"apps\",resource=\"deployments\",scope=\"cluster\","
        "subresource=\"\",verb=\"WATCH\",version=\"v1\"} 1",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"apps\",resource=\"deployments\",scope=\"resource\","
        "subresource=\"status\",verb=\"APPLY\",version=\"v1\"} 1",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"apps\",resource=\"deployments\",scope=\"resource\","
        "subresource=\"\",verb=\"PATCH\",version=\"v1\"} 1",
        "{code=\"403\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"secrets\",scope=\"namespace\","
        "subresource=\"\",verb=\"DELETECOLLECTION\",version=\"v1\"} 1",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",subresource=\"/readyz\","
        "verb=\"GET\",version=\"\"} 1",
        "{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",subresource=\"/apis\","
        "verb=\"GET\",version=\"\"} 1",
    };
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(all); i++)
        meet(*state, &all[i]);
    str text = requests(*state, &a);
    assert_line(text, "# TYPE apiserver_request_total counter");
    assert_line(text, "# TYPE apiserver_request_duration_seconds histogram");
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_line(text, str_cstr(&a, str_fmt(&a, "apiserver_request_total%s", lines[i])));
}

static void durations_add_up(void **state)
{
    static const struct {
        int64_t took;
        const char *bound; /* the smallest that holds it */
    } cases[] = {{1, "0.005"},  {5000000, "0.005"},  {5000001, "0.025"},
                 {SECOND, "1"}, {60 * SECOND, "60"}, {61 * SECOND, "+Inf"}};
    static const struct {
        const char *bound;
        int n;
    } sums[] = {{"0.005", 2}, {"0.025", 3}, {"0.8", 3}, {"1", 4}, {"45", 4}, {"60", 5}, {"+Inf", 6}};
#define LABELS \
    "component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",subresource=\"/version\",verb=\"GET\",version=\"\""
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(cases); i++)
        meet(*state, &(struct met){.path = "/version", .status = 200, .took = cases[i].took});
    str text = requests(*state, &a);
    for (size_t i = 0; i < COUNT(sums); i++)
        assert_line(text, str_cstr(&a, str_fmt(&a, "apiserver_request_duration_seconds_bucket{" LABELS ",le=\"%s\"} %d",
                                               sums[i].bound, sums[i].n)));
    assert_line(text, "apiserver_request_duration_seconds_sum{" LABELS "} 122.01");
    assert_line(text, "apiserver_request_duration_seconds_count{" LABELS "} 6");
}

static void what_clients_make_up_is_no_label(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    for (int i = 0; i < 100; i++) {
        const char *made_up = str_cstr(&a, str_fmt(&a, "made-up-%d\"} 1", i));
        meet(*state, &(struct met){.path = made_up, .method = made_up, .status = 404});
        meet(*state, &(struct met){.api_version = "v1",
                                   .kind = "ConfigMap",
                                   .verb = VERB_GET,
                                   .namespace = made_up,
                                   .name = made_up,
                                   .subresource = made_up,
                                   .status = 404});
        meet(*state, &(struct met){.api_version = "no/v1", .kind = made_up, .verb = VERB_GET, .status = 404});
    }
    str text = requests(*state, &a);
    assert_true(str_find(text, S("made-up")) < 0);
    assert_line(text,
                "apiserver_request_total{code=\"404\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\","
                "scope=\"\",subresource=\"\",verb=\"other\",version=\"\"} 100");
}

static void objects_and_the_process_are_told(void **state)
{
    struct world *w = *state;
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    world_put_crd(
        w, S("{\"metadata\":{\"name\":\"widgets.example.com\",\"uid\":\"u\"},\"spec\":{\"group\":\"example.com\","
             "\"scope\":\"Namespaced\",\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true},"
             "{\"name\":\"v2\",\"served\":true}]},\"status\":{\"acceptedNames\":{\"plural\":\"widgets\","
             "\"singular\":\"widget\",\"kind\":\"Widget\",\"listKind\":\"WidgetList\"},\"conditions\":[{"
             "\"type\":\"Established\",\"status\":\"True\"}]}}"));
    w->api.n_requests = 3;
    metrics_format(&w->api, &b);
    str text = buf_str(&b);
    assert_line(text, "apiserver_storage_objects{resource=\"customresourcedefinitions.apiextensions.k8s.io\"} 1");
    assert_line(text, "apiserver_storage_objects{resource=\"configmaps\"} 0");
    assert_line(text, "apiserver_storage_objects{resource=\"widgets.example.com\"} 0"); /* once, not for each version */
    assert_line(text, "reeve_store_objects 1");
    assert_line(text, "reeve_store_writes_total 1");
    assert_line(text, "reeve_store_failing 0");
    assert_line(text, "reeve_watches 0");
    assert_line(text, "reeve_requests 3");
    assert_line(text, "reeve_requests_waiting 0");
    assert_line(text, "apiserver_current_inflight_requests{request_kind=\"mutating\"} 0");
    assert_true(str_find(text, S("\nprocess_resident_memory_bytes 0\n")) < 0);
    assert_true(str_find(text, S("\nprocess_resident_memory_bytes ")) > 0);
    assert_true(str_find(text, S("\nprocess_open_fds ")) > 0);
    assert_true(str_find(text, S("\nreeve_connections ")) < 0); /* nobody told how to ask for it */
    assert_true(str_has_suffix(text, S("\n")));
}

static struct http_server_stats connections(void *ctx)
{
    assert_non_null(ctx);
    return (struct http_server_stats){.connections = 4, .accepted = 7, .refused = 2, .body_bytes = 11};
}

static void connections_are_told_by_those_who_know(void **state)
{
    struct world *w = *state;
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    w->api.options.connections = connections;
    w->api.options.connections_ctx = w;
    metrics_format(&w->api, &b);
    assert_line(buf_str(&b), "reeve_connections 4");
    assert_line(buf_str(&b), "reeve_connections_accepted_total 7");
    assert_line(buf_str(&b), "reeve_connections_refused_total 2");
    assert_line(buf_str(&b), "reeve_request_body_bytes 11");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(labels_are_those_of_kube_apiserver),     TEST(durations_add_up),
        TEST(what_clients_make_up_is_no_label),       TEST(objects_and_the_process_are_told),
        TEST(connections_are_told_by_those_who_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
