/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of loading, and files that are none; all else is in tests/cases/kubeconfig. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/config.h"
#include "client/kubeconfig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const no_env[] = {NULL};

static int load(struct arena *a, str kubeconfig, const char *const *env, struct client_config *ret, struct err *err)
{
    struct client_config_args args = {.kubeconfig = kubeconfig, .env = env};
    return client_config_load(a, &args, ret, err);
}

/* A comment of any length. */
static void check_size(size_t bytes, int want)
{
    struct arena a ARENA_SCOPE = {0};
    struct client_config config;
    struct err err;
    char path[] = "/tmp/config-test.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    struct buf text = {.arena = &a};
    while (text.n < bytes)
        buf_add_char(&text, '#');
    assert_int_equal(write(fd, text.p, text.n), text.n);
    close(fd);
    int got = load(&a, str_of(path), no_env, &config, &err);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(got, want);
    assert_true(str_find(str_of(err.msg), str_of(path)) >= 0);
}

static void test_size(void **state)
{
    check_size(KUBECONFIG_MAX_BYTES, ERR_NOT_FOUND); /* read, but it chooses no context */
    check_size(KUBECONFIG_MAX_BYTES + 1, ERR_TOO_LARGE);
}

static void check_files(size_t n, int want)
{
    struct arena a ARENA_SCOPE = {0};
    struct client_config config;
    struct err err;
    struct buf list = {.arena = &a};
    buf_add_str(&list, S("KUBECONFIG="));
    for (size_t i = 0; i < n; i++)
        buf_fmt(&list, "/nonexistent/%zu::", i);
    const char *env[] = {str_cstr(&a, buf_str(&list)), NULL};
    assert_int_equal(load(&a, (str){0}, env, &config, &err), want);
}

static void test_number_of_files(void **state)
{
    check_files(KUBECONFIG_MAX_FILES, ERR_NOT_FOUND); /* none of them is there */
    check_files(KUBECONFIG_MAX_FILES + 1, ERR_TOO_LARGE);
}

static void test_folder(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct client_config config;
    struct err err;
    assert_int_equal(load(&a, S("/tmp"), no_env, &config, &err), ERR_INVALID);
    assert_string_equal(err.msg, "/tmp is not a file");
}

/* As a shell's <(…) gives it. */
static void test_pipe(void **state)
{
    static const char text[] = "clusters: [{name: c, cluster: {server: \"https://h\"}}]\n"
                               "contexts: [{name: x, context: {cluster: c}}]\n"
                               "current-context: x\n";
    struct arena a ARENA_SCOPE = {0};
    struct client_config config;
    struct err err;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
    close(ends[1]);
    int got = load(&a, str_fmt(&a, "/dev/fd/%d", ends[0]), no_env, &config, &err);
    close(ends[0]);
    assert_int_equal(got, 0);
    assert_true(str_eq(config.host, S("h")));
}

static void test_env(void **state)
{
    const char *const env[] = {"AB=1", "A=2", "A=3", "EMPTY=", "NOTHING", NULL};
    assert_true(str_eq(client_env_get(env, S("A")), S("2")));
    assert_true(str_eq(client_env_get(env, S("AB")), S("1")));
    assert_int_equal(client_env_get(env, S("EMPTY")).n, 0);
    assert_int_equal(client_env_get(env, S("NOTHING")).n, 0);
    assert_int_equal(client_env_get(env, S("B")).n, 0);
    assert_int_equal(client_env_get(NULL, S("A")).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),   cmocka_unit_test(test_number_of_files),
        cmocka_unit_test(test_folder), cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_env),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
