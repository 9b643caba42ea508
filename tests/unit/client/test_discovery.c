/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: documents of both forms, and servers that cannot tell everything. */
#include "client/client_discovery.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "object/kind.h"
#include "world.h"

struct result {
    struct arena arena;
    struct client_discovery d;
    struct err err;
    int code;
};

static void result_done(struct result *r)
{
    arena_done(&r->arena);
}
#define RESULT_SCOPE __attribute__((cleanup(result_done)))

static void discover(struct world *w, void *ctx)
{
    struct result *r = ctx;
    r->code = client_discover(w->client, &r->arena, &r->d, &r->err);
}

static void answer(struct world *w, const char *path, int status, const char *body)
{
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER,
                                             .method = S("GET"),
                                             .prefix = str_of(path),
                                             .times = 1,
                                             .status = status,
                                             .body = str_of(body)});
}

/* "group/plural version Kind scope verbs +sub +sub versions singular,short" per line. */
static str shown(struct arena *a, const struct client_discovery *d)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < d->n; i++) {
        const struct client_discovered *x = &d->p[i];
        buf_fmt(&b, "%.*s/%.*s %.*s %.*s %s %u", STR(x->resource.group), STR(x->resource.plural),
                STR(x->resource.version), STR(x->resource.kind), x->resource.namespaced ? "namespaced" : "cluster",
                x->verbs);
        for (size_t k = 0; k < x->n_subresources; k++)
            buf_fmt(&b, " +%.*s", STR(x->subresources[k]));
        for (size_t k = 0; k < x->n_versions; k++)
            buf_fmt(&b, " %.*s", STR(x->versions[k]));
        if (x->singular.n)
            buf_fmt(&b, " %.*s", STR(x->singular));
        for (size_t k = 0; k < x->n_short_names; k++)
            buf_fmt(&b, ",%.*s", STR(x->short_names[k]));
        buf_add_char(&b, '\n');
    }
    return buf_str(&b);
}

static void both_ways_find_the_same(void **state)
{
    struct world *w = *state;
    struct result one RESULT_SCOPE = {0}, many RESULT_SCOPE = {0};
    world_run(w, discover, &one);
    assert_int_equal(one.code, 0);
    assert_int_equal(fake_count(w->fake, "GET", ""), 2);
    world_reset(w, &(struct fake_options){.no_aggregated_discovery = true});
    world_run(w, discover, &many);
    assert_int_equal(many.code, 0);
    assert_true(fake_count(w->fake, "GET", "") > 10);
    assert_true(one.d.n > 40);
    str text = shown(&one.arena, &one.d);
    assert_true(str_eq(text, shown(&many.arena, &many.d)));
    assert_has(text, "\n/pods v1 Pod namespaced 255 ");
    assert_has(text, "\n/namespaces v1 Namespace cluster 251 +finalize +status v1 namespace,ns\n");
    assert_has(text, "\napps/deployments v1 Deployment namespaced 255 +scale +status v1 deployment,deploy\n");
    assert_int_equal(one.d.n_failed + one.d.text.n, 0);
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    assert_text(log[0].accept, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                               "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
                               "application/json");
}

static void kinds_are_found_by_group(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    world_run(w, discover, &r);
    assert_text(client_discovery_find(&r.d, S("apps"), S("Deployment"))->resource.plural, "deployments");
    assert_text(client_discovery_find(&r.d, (str){0}, S("ConfigMap"))->resource.plural, "configmaps");
    assert_null(client_discovery_find(&r.d, S("apps"), S("ConfigMap")));
    assert_null(client_discovery_find(&r.d, S("zzz"), S("Zzz")));
    assert_null(client_discovery_find(&r.d, (str){0}, (str){0}));
    for (size_t i = 0; i < r.d.n; i++)
        assert_text(client_discovery_find(&r.d, r.d.p[i].resource.group, r.d.p[i].resource.kind)->resource.kind,
                    str_cstr(&r.arena, r.d.p[i].resource.kind));
    const struct client_discovered *scaler =
        client_discovery_find(&r.d, S("autoscaling"), S("HorizontalPodAutoscaler"));
    assert_text(scaler->resource.version, "v2");
    assert_true(client_discovered_has_version(scaler, S("v2")) && client_discovered_has_version(scaler, S("v1")));
    assert_false(client_discovered_has_version(scaler, S("v2beta2")));
    struct client_discovery none = {0};
    assert_null(client_discovery_find(&none, (str){0}, S("ConfigMap")));
}

static const char *named(struct result *r, const char *text)
{
    const struct client_discovered *found = client_discovery_named(&r->d, str_of(text));
    return found ? str_cstr(&r->arena,
                            str_fmt(&r->arena, "%.*s/%.*s", STR(found->resource.group), STR(found->resource.plural)))
                 : "none";
}

static void kinds_are_found_by_what_people_call_them(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    world_run(w, discover, &r);
    assert_string_equal(named(&r, "pods"), "/pods");
    assert_string_equal(named(&r, "po"), "/pods");
    assert_string_equal(named(&r, "Pod"), "/pods");
    assert_string_equal(named(&r, "deploy"), "apps/deployments");
    assert_string_equal(named(&r, "deployment.apps"), "apps/deployments");
    assert_string_equal(named(&r, "deploy.v1.apps"), "apps/deployments");
    assert_string_equal(named(&r, "clusterroles.rbac"), "rbac.authorization.k8s.io/clusterroles"); /* as it begins */
    assert_string_equal(named(&r, "leases.coordination.k8s.io"), "coordination.k8s.io/leases");
    assert_string_equal(named(&r, "leases.v1.coordination.k8s.io"), "coordination.k8s.io/leases");
    assert_string_equal(named(&r, "events"), "/events"); /* the core is told of first */
    assert_string_equal(named(&r, "ev"), "/events");
    assert_string_equal(named(&r, "events.events.k8s.io"), "events.k8s.io/events");
    assert_string_equal(named(&r, "deploy.v7.apps"), "none");
    assert_string_equal(named(&r, "deployments.extensions"), "none");
    assert_string_equal(named(&r, "podz"), "none");
    assert_string_equal(named(&r, ""), "none");
    assert_string_equal(named(&r, ".apps"), "none");
}

#define DOC(group, singular, shorts)                                                 \
    "{\"metadata\":{\"name\":\"" group                                               \
    "\"},\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"" singular \
    "s\",\"responseKind\":{\"kind\":\"K\"},\"singularResource\":\"" singular "\",\"shortNames\":[" shorts "]}]}]}"

/* Its own name before another's short one; else the one that the server tells of first, whatever it is called. */
static void of_several_the_first_is_meant(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    answer(w, "/apis", 200,
           "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[" DOC("z.io", "ship", "\"box\",\"s\"") "," DOC(
               "a.io", "ship", "\"s\"") "," DOC("m.io", "box", "7") "]}");
    world_run(w, discover, &r);
    assert_string_equal(named(&r, "ships"), "z.io/ships");
    assert_string_equal(named(&r, "s"), "z.io/ships");
    assert_string_equal(named(&r, "ships.a.io"), "a.io/ships");
    assert_string_equal(named(&r, "box"), "m.io/boxs");
    assert_string_equal(named(&r, "7"), "none");
}

#define KIND(kind) "\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"" kind "\"}"
#define RESOURCE(plural, kind) \
    "{\"resource\":\"" plural "\"," KIND(kind) ",\"scope\":\"Namespaced\",\"verbs\":[\"get\",\"list\",\"proxy\"]}"

static void the_first_version_that_is_not_stale_counts(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    answer(
        w, "/apis", 200,
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"example.com\"},\"versions\":["
        "{\"version\":\"v3\",\"freshness\":\"Stale\",\"resources\":[" RESOURCE(
            "things",
            "Old") "]},"
                   "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":[" RESOURCE(
                       "things",
                       "Thing") "]},"
                                "{\"version\":\"v2\",\"resources\":[" RESOURCE("things", "Other") "," RESOURCE(
                                    "gears",
                                    "Gear") ",{\"resource\":\"nokind\",\"verbs\":[]},{\"resource\":\"\"},7]}]},"
                                            "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\",\"freshness\":\"Stale\"}]}"
                                            ",null]}");
    answer(w, "/api", 404, "{}");
    world_run(w, discover, &r);
    assert_int_equal(r.code, 0);
    assert_text(shown(&r.arena, &r.d), "example.com/gears v2 Gear namespaced 24 v2\n"
                                       "example.com/things v1 Thing namespaced 24 v1 v2\n");
    assert_int_equal(r.d.n_failed, 2);
    assert_text(r.d.failed[0], "example.com/v3");
    assert_text(r.d.text, "unable to retrieve the complete list of server APIs: "
                          "example.com/v3: stale GroupVersion discovery: example.com/v3, "
                          "metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1");
}

static void versions_that_fail_are_named(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    answer(w, "/apis/a.example/v1", 503,
           "{\"kind\":\"Status\",\"message\":\"the server is currently unable to handle the request\"}");
    answer(w, "/apis/b.example/v1", 200,
           "{\"resources\":[{\"name\":\"things/status\",\"kind\":\"Thing\"},{\"name\":\"things\",\"kind\":\"Thing\","
           "\"namespaced\":true,\"verbs\":[\"watch\"]},{\"name\":\"gears\",\"kind\":\"Gear\"}]}");
    answer(w, "/apis/b.example/v2", 200,
           "{\"resources\":[{\"name\":\"things\",\"kind\":\"Preferred\",\"verbs\":[\"get\"]},{\"name\":\"\"},{}]}");
    answer(w, "/apis/c.example/v1", 200, "nonsense");
    answer(w, "/apis", 200,
           "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"b.example\",\"versions\":[{\"version\":\"v1\"},{"
           "\"version\":\"v2\"}],\"preferredVersion\":{\"version\":\"v2\"}},{\"name\":\"a.example\",\"versions\":[{"
           "\"version\":\"v1\"}]},{\"name\":\"c.example\",\"versions\":[{\"version\":\"v1\"}]},{\"name\":\"../x\","
           "\"versions\":[{\"version\":\"v1\"}]},{\"name\":\"d\"}]}");
    answer(w, "/api/v1", 404, "");
    answer(w, "/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}");
    world_run(w, discover, &r);
    assert_int_equal(r.code, 0);
    assert_text(shown(&r.arena, &r.d), "b.example/gears v1 Gear cluster 0 v1\n"
                                       "b.example/things v2 Preferred cluster 8 v1 v2\n");
    assert_has(r.d.text, "unable to retrieve the complete list of server APIs: ../x/v1: not the name of a group "
                         "version, a.example/v1: the server is currently unable to handle the request, c.example/v1: "
                         "the answer of the server is not JSON: ");
    assert_int_equal(r.d.n_failed, 3); /* a server without a core is nothing unusual */
    assert_int_equal(fake_count(w->fake, "GET", "/apis/../"), 0);
}

static void a_server_that_refuses_is_an_error(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    answer(w, "/apis", 403, "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\"}");
    world_run(w, discover, &r);
    assert_int_equal(r.code, ERR_FORBIDDEN);
    assert_string_equal(r.err.msg, "ask for /apis: no");
}

/* A proxy, a page of a portal, another server by mistake: none of them says that the server has nothing. */
static void what_is_no_discovery_is_an_error(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *path, *body;
        int status, code;
    } rows[] = {
        {"/apis", "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":404}", 404, ERR_NOT_FOUND},
        {"/apis", "{}", 200, ERR_IO},
        {"/apis", "{\"kind\":\"APIGroupDiscoveryList\",\"items\":{}}", 200, ERR_IO},
        {"/apis", "{\"kind\":\"APIGroupDiscoveryList\"}", 200, ERR_IO},
        {"/api", "{\"kind\":\"Status\",\"status\":\"Success\"}", 200, ERR_IO},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct result r RESULT_SCOPE = {0};
        answer(w, rows[i].path, rows[i].status, rows[i].body);
        world_run(w, discover, &r);
        assert_int_equal(r.code, rows[i].code);
        world_reset(w, &(struct fake_options){0});
    }
    struct result none RESULT_SCOPE = {0};
    answer(w, "/apis", 200, "{\"kind\":\"APIGroupList\",\"groups\":null}");
    answer(w, "/api", 404, "{}");
    world_run(w, discover, &none);
    assert_int_equal(none.code, ERR_UNAVAILABLE);
    assert_string_equal(none.err.msg, "the server says that it has no resources");
}

static void a_version_that_is_no_list_is_named(void **state)
{
    struct world *w = *state;
    struct result r RESULT_SCOPE = {0};
    answer(w, "/apis/a.example/v1", 200, "{\"kind\":\"APIResourceList\"}");
    answer(w, "/apis", 200,
           "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"a.example\",\"versions\":[{\"version\":\"v1\"}]}]}");
    world_run(w, discover, &r);
    assert_int_equal(r.code, 0);
    assert_int_equal(r.d.n_failed, 1);
    assert_text(r.d.failed[0], "a.example/v1");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(both_ways_find_the_same),
        TEST(kinds_are_found_by_group),
        TEST(kinds_are_found_by_what_people_call_them),
        TEST(of_several_the_first_is_meant),
        TEST(the_first_version_that_is_not_stale_counts),
        TEST(versions_that_fail_are_named),
        TEST(a_server_that_refuses_is_an_error),
        TEST(what_is_no_discovery_is_an_error),
        TEST(a_version_that_is_no_list_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
