/* SPDX-License-Identifier: Apache-2.0 */
/* Who may run a child, and who has to wait for somebody to leave. */
#include "oci/fetch_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX = 4, PER_HOST = 3, PER_TENANT = 2 };

static bool enter(struct fetch_gate *g, const char *host, const char *tenant)
{
    return fetch_gate_enter(g, str_of(host), str_of(tenant));
}

static void leave(struct fetch_gate *g, const char *host, const char *tenant)
{
    fetch_gate_leave(g, str_of(host), str_of(tenant));
}

static void a_host_has_so_many_places(void **state)
{
    struct fetch_gate g;
    (void)state;
    fetch_gate_init(&g, MAX, PER_HOST, PER_TENANT);
    assert_true(enter(&g, "slow", "a") && enter(&g, "slow", "b") && enter(&g, "slow", "c"));
    assert_false(enter(&g, "slow", "d"));
    assert_true(enter(&g, "quick", "d"));
    leave(&g, "quick", "d");
    leave(&g, "slow", "b");
    assert_true(enter(&g, "slow", "d"));
    leave(&g, "slow", "a");
    leave(&g, "slow", "c");
    leave(&g, "slow", "d");
    fetch_gate_done(&g);
}

static void a_tenant_does_not_get_all_of_them(void **state)
{
    struct fetch_gate g;
    (void)state;
    fetch_gate_init(&g, MAX, PER_HOST, PER_TENANT);
    assert_true(enter(&g, "one", "a") && enter(&g, "two", "a"));
    assert_false(enter(&g, "three", "a"));
    assert_true(enter(&g, "one", "b") && enter(&g, "three", "b"));
    leave(&g, "one", "a");
    assert_true(enter(&g, "three", "a"));
    leave(&g, "three", "a");
    leave(&g, "two", "a");
    leave(&g, "one", "b");
    leave(&g, "three", "b");
    fetch_gate_done(&g);
}

static void who_is_nobody_in_particular_is_only_counted_by_host(void **state)
{
    struct fetch_gate g;
    (void)state;
    fetch_gate_init(&g, MAX, PER_HOST, PER_TENANT);
    assert_true(enter(&g, "one", "") && enter(&g, "one", "") && enter(&g, "one", "") && enter(&g, "two", ""));
    assert_false(enter(&g, "three", "")); /* there are no more in all */
    for (int i = 0; i < 3; i++)
        leave(&g, "one", "");
    leave(&g, "two", "");
    fetch_gate_done(&g);
}

/* Nothing of it can hang: neither registries nor tenants that are at their limit are in its way. */
static void the_store_has_places_of_its_own(void **state)
{
    struct fetch_gate g;
    (void)state;
    fetch_gate_init(&g, MAX, PER_HOST, PER_TENANT);
    assert_true(enter(&g, "one", "a") && enter(&g, "two", "a") && enter(&g, "one", "b") && enter(&g, "two", "b"));
    for (int i = 0; i < MAX; i++)
        assert_true(enter(&g, "", "a"));
    assert_false(enter(&g, "", "c"));
    for (int i = 0; i < MAX; i++)
        leave(&g, "", "a");
    leave(&g, "one", "a");
    leave(&g, "two", "a");
    leave(&g, "one", "b");
    leave(&g, "two", "b");
    fetch_gate_done(&g);
}

static void lists_grow(void **state)
{
    enum { MANY = 100 };
    struct fetch_gate g;
    char name[2] = {0};
    (void)state;
    fetch_gate_init(&g, MANY, 1, 1);
    for (int i = 0; i < MANY; i++) {
        name[0] = (char)(i + 1);
        assert_true(enter(&g, name, name));
        assert_false(enter(&g, name, "other"));
        assert_false(enter(&g, "other", name));
    }
    for (int i = 0; i < MANY; i++) {
        name[0] = (char)(i + 1);
        leave(&g, name, name);
    }
    fetch_gate_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_has_so_many_places),
        cmocka_unit_test(a_tenant_does_not_get_all_of_them),
        cmocka_unit_test(who_is_nobody_in_particular_is_only_counted_by_host),
        cmocka_unit_test(the_store_has_places_of_its_own),
        cmocka_unit_test(lists_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
