/* SPDX-License-Identifier: Apache-2.0 */
/* Health checks, /version, the list of paths. Words and headers are those of kube-apiserver. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "api/health.h"

#define assert_body(a, text)                                          \
    do {                                                              \
        if (!str_eq(buf_str(&(a).body), S(text)))                     \
            fail_msg("%d %.*s", (a).status, STR(buf_str(&(a).body))); \
    } while (0)

static void all_is_well_in_two_letters(void **state)
{
    static const char *const paths[] = {"/healthz",
                                        "/livez",
                                        "/readyz",
                                        "/readyz?exclude=etcd",
                                        "/livez/ping",
                                        "/healthz/etcd",
                                        "/readyz/ping",
                                        "/readyz/informer-sync",
                                        "/readyz/etcd",
                                        "/readyz/shutdown",
                                        "/readyz/poststarthook/rbac/bootstrap-roles",
                                        "/readyz?verbos"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, health_handle, paths[i], NULL);
        if (a.status != 200 || !str_eq(buf_str(&a.body), S("ok")))
            fail_msg("%s: %d %.*s", paths[i], a.status, STR(buf_str(&a.body)));
        assert_str(ask_header(&a, "Content-Type"), "text/plain; charset=utf-8");
        assert_str(ask_header(&a, "X-Content-Type-Options"), "nosniff");
        assert_str(ask_header(&a, "Cache-Control"), "no-cache, private");
    }
}

static void what_is_not_a_check_is_not_ours(void **state)
{
    /* livez does not look at the store: a full disk is no reason to be restarted. */
    static const char *const paths[] = {"/livez/etcd", "/livez/shutdown", "/readyz/",    "/readyz/nonsense",
                                        "/readyzz",    "/healthz/pin",    "/livez/ping/"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, *state, health_handle, paths[i], NULL);
        if (a.was_handled || a.status)
            fail_msg("%s: %d", paths[i], a.status);
    }
}

static void verbose_tells_every_check(void **state)
{
    struct ask ready ASK_SCOPE = {0}, live ASK_SCOPE = {0};
    ask(&ready, *state, health_handle, "/readyz?verbose", NULL);
    assert_body(ready, "[+]ping ok\n"
                       "[+]etcd ok\n"
                       "[+]informer-sync ok\n"
                       "[+]poststarthook/start-system-namespaces-controller ok\n"
                       "[+]poststarthook/rbac/bootstrap-roles ok\n"
                       "[+]shutdown ok\n"
                       "readyz check passed\n");
    ask(&live, *state, health_handle, "/livez?verbose=true", NULL);
    assert_body(live, "[+]ping ok\n"
                      "[+]poststarthook/start-system-namespaces-controller ok\n"
                      "[+]poststarthook/rbac/bootstrap-roles ok\n"
                      "livez check passed\n");
}

static void not_ready_before_the_start_is_done(void **state)
{
    struct world *w = *state;
    struct ask all ASK_SCOPE = {0}, one ASK_SCOPE = {0}, rest ASK_SCOPE = {0};
    w->api.is_ready = false;
    ask(&all, w, health_handle, "/readyz", NULL);
    assert_int_equal(all.status, 500);
    assert_str(ask_header(&all, "Content-Type"), "text/plain; charset=utf-8");
    assert_body(all, "[+]ping ok\n"
                     "[+]etcd ok\n"
                     "[-]informer-sync failed: reason withheld\n"
                     "[-]poststarthook/start-system-namespaces-controller failed: reason withheld\n"
                     "[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n"
                     "[+]shutdown ok\n"
                     "readyz check failed\n");
    ask(&one, w, health_handle, "/readyz/poststarthook/rbac/bootstrap-roles", NULL);
    assert_int_equal(one.status, 500);
    assert_body(one, "internal server error: not finished\n");
    ask(&rest, w, health_handle,
        "/readyz?exclude=informer-sync&exclude=poststarthook/rbac/bootstrap-roles"
        "&exclude=poststarthook%2Fstart-system-namespaces-controller",
        NULL);
    assert_int_equal(rest.status, 200);
    assert_body(rest, "ok");
}

static void draining_is_alive_but_not_ready(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *path;
        int status;
    } cases[] = {{"/readyz", 500},
                 {"/readyz/shutdown", 500},
                 {"/readyz?exclude=shutdown", 200},
                 {"/livez", 200},
                 {"/healthz", 200}};
    w->api.is_draining = true;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ask a ASK_SCOPE = {0};
        ask(&a, w, health_handle, cases[i].path, NULL);
        if (a.status != cases[i].status)
            fail_msg("%s: %d", cases[i].path, a.status);
    }
}

static void excluding_what_there_is_not_is_told(void **state)
{
    struct ask known ASK_SCOPE = {0}, unknown ASK_SCOPE = {0};
    ask(&known, *state, health_handle, "/livez?verbose&exclude=ping", NULL);
    assert_body(known, "[+]ping excluded: ok\n"
                       "[+]poststarthook/start-system-namespaces-controller ok\n"
                       "[+]poststarthook/rbac/bootstrap-roles ok\n"
                       "livez check passed\n");
    ask(&unknown, *state, health_handle, "/livez?exclude=zeta&verbose&exclude=alpha&exclude=zeta", NULL);
    assert_body(unknown, "[+]ping ok\n"
                         "[+]poststarthook/start-system-namespaces-controller ok\n"
                         "[+]poststarthook/rbac/bootstrap-roles ok\n"
                         "warn: some health checks cannot be excluded: no matches for \"alpha\",\"zeta\"\n"
                         "livez check passed\n");
}

static void version_is_read_by_clients(void **state)
{
    struct ask a ASK_SCOPE = {0};
    struct json version;
    struct err err;
    ask(&a, *state, health_handle, "/version?timeout=32s", NULL);
    assert_int_equal(a.status, 200);
    assert_str(ask_header(&a, "Content-Type"), "application/json");
    assert_int_equal(json_decode(a.r.arena, buf_str(&a.body), NULL, NULL, &version, &err), 0);
    assert_str(json_get_text(&version, S("major")), "1");
    assert_str(json_get_text(&version, S("minor")), "32");
    assert_true(str_has_prefix(json_get_text(&version, S("gitVersion")), S("v1.32.4+")));
    assert_true(str_has_prefix(json_get_text(&version, S("platform")), S("linux/")));
}

static bool has_path(const struct json *paths, const char *path)
{
    json_each_item(paths, p)
    {
        if (str_eq(json_text(p), str_of(path)))
            return true;
    }
    return false;
}

static void the_root_lists_sorted_paths(void **state)
{
    static const char *const there[] = {"/.well-known/openid-configuration",
                                        "/api",
                                        "/api/v1",
                                        "/apis",
                                        "/apis/",
                                        "/apis/apps",
                                        "/apis/apps/v1",
                                        "/healthz",
                                        "/healthz/etcd",
                                        "/livez",
                                        "/livez/ping",
                                        "/metrics",
                                        "/openapi/v2",
                                        "/openapi/v3",
                                        "/openid/v1/jwks",
                                        "/readyz/shutdown",
                                        "/version"};
    struct ask a ASK_SCOPE = {0};
    struct json tree;
    struct err err;
    str before = {0};
    ask(&a, *state, health_handle, "/", NULL);
    assert_int_equal(a.status, 200);
    assert_true(str_has_prefix(buf_str(&a.body), S("{\n  \"paths\": [\n    \"/.well-known/openid-configuration\",\n")));
    assert_int_equal(json_decode(a.r.arena, buf_str(&a.body), NULL, NULL, &tree, &err), 0);
    const struct json *paths = json_get(&tree, S("paths"));
    json_each_item(paths, p)
    {
        assert_true(str_cmp(before, json_text(p)) < 0);
        before = json_text(p);
    }
    for (size_t i = 0; i < COUNT(there); i++)
        if (!has_path(paths, there[i]))
            fail_msg("no %s", there[i]);
    assert_false(has_path(paths, "/livez/etcd"));
}

static void without_a_signer_there_are_no_keys(void **state)
{
    struct ask keys ASK_SCOPE = {0}, configuration ASK_SCOPE = {0};
    ask(&keys, *state, health_handle, "/openid/v1/jwks", NULL);
    assert_false(keys.was_handled);
    ask(&configuration, *state, health_handle, "/.well-known/openid-configuration", NULL);
    assert_false(configuration.was_handled);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_is_well_in_two_letters),         TEST(what_is_not_a_check_is_not_ours),
        TEST(verbose_tells_every_check),          TEST(not_ready_before_the_start_is_done),
        TEST(draining_is_alive_but_not_ready),    TEST(excluding_what_there_is_not_is_told),
        TEST(version_is_read_by_clients),         TEST(the_root_lists_sorted_paths),
        TEST(without_a_signer_there_are_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
