/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of reeve agent, and the environment behind it. */
#include "agent/agent_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/capture.h"

#define SECOND INT64_C(1000000000)

enum { WORDS = 16 };

static int read_line(const char *const *words, struct agent_options *o, struct err *err)
{
    char *argv[WORDS + 1] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    struct arena arena ARENA_SCOPE = {0};
    *o = (struct agent_options){0};
    return agent_options_read(&arena, argc, argv, o, err); /* texts are those of words, and live on */
}

#define READ(...) read_line((const char *const[]){"agent", __VA_ARGS__, NULL}, &o, &err)
#define NEEDED "--cluster=c1", "--hub-kubeconfig=hub"

static void defaults_are_filled_in(void **state)
{
    struct agent_options o;
    struct err err = {0};
    assert_int_equal(READ(NEEDED), 0);
    assert_true(str_eq(o.cluster, S("c1")) && str_eq(o.hub_kubeconfig, S("hub")));
    assert_true(o.has_works && o.has_accounts && !o.has_election);
    assert_true(str_eq(o.account_namespace, S("open-cluster-management-agent-addon")));
    assert_true(o.eviction_ns == 3600 * SECOND);
    assert_int_equal(o.listen.host.n, 0); /* nobody asks */
    assert_int_equal(o.level, LOG_INFO);
}

static void flags_are_read(void **state)
{
    struct agent_options o;
    struct err err = {0};
    assert_int_equal(READ("--cluster", "c1", "--hub-kubeconfig-secret", "reeve-system/hub", "--kubeconfig=k",
                          "--context=x", "--controllers=works", "--account-namespace=a", "--eviction-grace-period=90s",
                          "--listen=[::1]:0", "--leader-election", "--lease-namespace=l", "-v"),
                     0);
    assert_true(str_eq(o.secret_namespace, S("reeve-system")) && str_eq(o.secret_name, S("hub")));
    assert_int_equal(o.hub_kubeconfig.n, 0);
    assert_true(str_eq(o.kubeconfig, S("k")) && str_eq(o.context, S("x")));
    assert_true(o.has_works && !o.has_accounts && o.has_election);
    assert_true(str_eq(o.account_namespace, S("a")) && str_eq(o.lease_namespace, S("l")));
    assert_true(o.eviction_ns == 90 * SECOND && str_eq(o.listen.host, S("::1")) && o.level == LOG_DEBUG);
    assert_int_equal(READ(NEEDED, "--controllers", "accounts, works"), 0);
    assert_true(o.has_works && o.has_accounts);
}

static void help_is_printed(void **state)
{
    struct agent_options o;
    struct err err = {0};
    struct arena a ARENA_SCOPE = {0};
    struct capture capture;
    capture_begin(&capture);
    int code = READ("--help");
    str text = capture_end(&capture, &a);
    assert_int_equal(code, 1);
    assert_true(str_has_prefix(text, S("Usage: reeve agent ")));
}

static void nonsense_is_refused(void **state)
{
    struct agent_options o;
    struct err err = {0};
#define REFUSED(text, ...)                                    \
    do {                                                      \
        assert_int_equal(READ(__VA_ARGS__), ERR_BAD_REQUEST); \
        if (!strstr(err.msg, text))                           \
            fail_msg("\"%s\" lacks \"%s\"", err.msg, text);   \
    } while (0)
    REFUSED("say --cluster NAME", "--hub-kubeconfig=hub");
    REFUSED("which \"reeve clusters add c1\" on the hub writes", "--cluster=c1");
    REFUSED("the join kubeconfig is in one", NEEDED, "--hub-kubeconfig-secret=a/b");
    REFUSED("--cluster \"../c1\" is no name", "--cluster=../c1", "--hub-kubeconfig=hub");
    REFUSED("--cluster \"C1\" is no name", "--cluster=C1", "--hub-kubeconfig=hub");
    REFUSED("say NAMESPACE/NAME", "--cluster=c1", "--hub-kubeconfig-secret=a");
    REFUSED("say NAMESPACE/NAME", "--cluster=c1", "--hub-kubeconfig-secret=a/b/c");
    REFUSED("there is no controller \"heart\": there are works, accounts", NEEDED, "--controllers=works,heart");
    REFUSED("there is no controller \"\"", NEEDED, "--controllers=works,");
    REFUSED("is no duration", NEEDED, "--eviction-grace-period=soon");
    REFUSED("is no duration", NEEDED, "--eviction-grace-period=0s");
    REFUSED("cannot listen at", NEEDED, "--listen=somewhere");
    REFUSED("--account-namespace \"a/b\" is no name", NEEDED, "--account-namespace=a/b");
    REFUSED("--hub belongs to --print-rbac", NEEDED, "--hub");
    REFUSED("--managed belongs to --print-rbac", NEEDED, "--managed");
    REFUSED("unknown flag --what", NEEDED, "--what");
    REFUSED("unknown argument \"more\"", NEEDED, "more");
    REFUSED("--cluster needs a value", "--cluster");
#undef REFUSED
}

static void rbac_needs_no_hub(void **state)
{
    struct agent_options o;
    struct err err = {0};
    assert_int_equal(READ("--print-rbac"), 0);
    assert_true(o.is_print_rbac && !o.is_hub && !o.is_managed);
    assert_int_equal(READ("--print-rbac", "--hub", "--cluster=c1"), 0);
    assert_true(o.is_hub && !o.is_managed);
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0); /* NOLINT(concurrency-mt-unsafe) */
}

static void flags_beat_the_environment(void **state)
{
    struct agent_options o;
    struct err err = {0};
    set("REEVE_CLUSTER", "c9");
    set("REEVE_HUB_KUBECONFIG", "h9");
    set("REEVE_KUBECONFIG", "k9");
    set("REEVE_CONTROLLERS", "accounts");
    set("REEVE_LISTEN", "127.0.0.1:9");
    assert_int_equal(READ("-q"), 0);
    assert_true(str_eq(o.cluster, S("c9")) && str_eq(o.hub_kubeconfig, S("h9")) && str_eq(o.kubeconfig, S("k9")));
    assert_true(!o.has_works && o.has_accounts && o.listen.port == 9 && o.level == LOG_WARN);
    assert_int_equal(READ(NEEDED, "--kubeconfig=k", "--controllers=works", "--listen=localhost:7"), 0);
    assert_true(str_eq(o.cluster, S("c1")) && str_eq(o.hub_kubeconfig, S("hub")) && str_eq(o.kubeconfig, S("k")));
    assert_true(o.has_works && !o.has_accounts && o.listen.port == 7);
    assert_int_equal(READ("--hub-kubeconfig-secret=a/b"), 0); /* and not the file of the environment */
    assert_int_equal(o.hub_kubeconfig.n, 0);
}

int main(void)
{
    static const char *const names[] = {"REEVE_CLUSTER", "REEVE_HUB_KUBECONFIG", "REEVE_KUBECONFIG",
                                        "REEVE_CONTROLLERS", "REEVE_LISTEN"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),     cmocka_unit_test(flags_are_read),
        cmocka_unit_test(nonsense_is_refused),        cmocka_unit_test(rbac_needs_no_hub),
        cmocka_unit_test(flags_beat_the_environment), cmocka_unit_test(help_is_printed),
    };
    for (size_t i = 0; i < COUNT(names); i++)
        unsetenv(names[i]); /* NOLINT(concurrency-mt-unsafe) */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
