/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from plugins, which are shell scripts here. */
#include "credentialsworld.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_plugin(void **state)
{
    struct world *w = *state;
    struct asked a, b;
    begin_plugin(w, SAYS("{\"token\":\"abc\"}"));
    start(w, &a);
    start(w, &b);
    assert_int_equal(a.times + b.times, 0);
    wait_for(w, &a);
    wait_for(w, &b);
    assert_true(str_eq(a.headers, S("Authorization: Bearer abc\n")));
    assert_true(str_eq(b.headers, a.headers));
    assert_int_equal(a.serial, b.serial);
    assert_non_null(a.tls);
    start(w, &a);
    assert_int_equal(a.times, 1); /* kept */
    pass(w, 1000000);
    start(w, &a);
    assert_int_equal(a.times, 1); /* for ever, if it does not say until when */
    assert_int_equal(runs(w), 1);
}

static void test_plugin_is_told(void **state)
{
    struct world *w = *state;
    const str args[] = {S("one"), S("two words")};
    const struct client_env_var env[] = {{S("MINE"), S("m")}, {S("OURS"), S("changed")}, {S("MINE"), S("last")}};
    w->exec.args = args;
    w->exec.n_args = 2;
    w->exec.env = env;
    w->exec.n_env = 3;
    w->exec.provide_cluster_info = true;
    w->exec.cluster_config = S("{\"audience\":1}");
    w->config.ca_pem = make_keys(w, "ca").certificate;
    w->config.given_server_name = S("name");
    w->config.disable_compression = true;
    w->env[1] = "OURS=x";
    w->env[2] = "KUBERNETES_EXEC_INFO=old";
    begin_plugin(w, "printf '%s|%s|%s|%s|%s|' \"$1\" \"$2\" \"$#\" \"$MINE\" \"$OURS\" > told\n"
                    "env | grep -c ^KUBERNETES_EXEC_INFO= >> told\n"
                    "printf '%s\\n' \"$KUBERNETES_EXEC_INFO\" | "
                    "sed 's/data\":\"[^\"]*/data\":\"CA/' >> told\n"
                    "cat >> told\n" SAYS("{\"token\":\"abc\"}"));
    check_headers(w, "Authorization: Bearer abc\n");
    assert_string_equal(str_cstr(&w->arena, str_trim(read_file(w, "told"))),
                        "one|two words|2|last|changed|1\n"
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":"
                        "{\"cluster\":{\"server\":\"https://h:1\",\"tls-server-name\":\"name\","
                        "\"certificate-authority-data\":\"CA\",\"disable-compression\":true,"
                        "\"config\":{\"audience\":1}},\"interactive\":false}}");
}

/* The first that can be run, but never one that is only found because of where we are. */
static void test_plugin_in_path(void **state)
{
    struct world *w = *state;
    begin_plugin(w, SAYS("{\"token\":\"abc\"}"));
    credentials_free(w->c);
    assert_int_equal(mkdir(str_cstr(&w->arena, path_of(w, "empty")), 0700), 0);
    assert_int_equal(mkdir(str_cstr(&w->arena, path_of(w, "empty/plugin")), 0700), 0);
    w->exec.command = S("plugin");
    w->env[0] =
        str_cstr(&w->arena, str_fmt(&w->arena, "PATH=/nothing:%s/empty:%s:/usr/bin:/bin", w->folder, w->folder));
    begin(w);
    check_headers(w, "Authorization: Bearer abc\n");
    credentials_free(w->c);
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(back >= 0);
    assert_int_equal(chdir(w->folder), 0);
    w->env[0] = "PATH=:.:/usr/bin:/bin";
    begin(w);
    check_error(w, ERR_NOT_FOUND, "getting credentials: exec: executable plugin not found");
    assert_int_equal(fchdir(back), 0);
    close(back);
}

static void test_plugin_expiry(void **state)
{
    struct world *w = *state;
    begin_plugin(
        w, "n=$(wc -l < runs)\n" SAYS("{\"token\":\"t'$n'\",\"expirationTimestamp\":\"2027-01-15T08:0'$n':00Z\"}"));
    check_headers(w, "Authorization: Bearer t1\n");
    pass(w, 60);
    check_headers(w, "Authorization: Bearer t1\n"); /* the second itself is still good */
    pass(w, 1);
    check_headers(w, "Authorization: Bearer t2\n");
    assert_int_equal(runs(w), 2);
    check_headers(w, "Authorization: Bearer t2\n");
    assert_int_equal(runs(w), 2);
}

/* One that only gives what has expired is not run for every request. */
static void test_plugin_always_expired(void **state)
{
    struct world *w = *state;
    begin_plugin(w, SAYS("{\"token\":\"old\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}"));
    check_headers(w, "Authorization: Bearer old\n");
    check_headers(w, "Authorization: Bearer old\n");
    assert_int_equal(runs(w), 1);
    pass(w, 1);
    check_headers(w, "Authorization: Bearer old\n");
    assert_int_equal(runs(w), 2);
}

static void test_plugin_after_401(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "n=$(wc -l < runs)\n" SAYS("{\"token\":\"t'$n'\"}"));
    uint64_t serial = ask(w).serial;
    assert_false(credentials_refused(w->c, serial)); /* it has only just run */
    pass(w, 1);
    assert_true(credentials_refused(w->c, serial));
    assert_true(credentials_refused(w->c, serial));
    check_headers(w, "Authorization: Bearer t2\n");
    assert_true(credentials_refused(w->c, serial)); /* a late one, for what is no longer shown */
    check_headers(w, "Authorization: Bearer t2\n");
    assert_int_equal(runs(w), 2);
}

static void test_plugin_certificate(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one"), two = make_keys(w, "two");
    write_file(w, "one.crt", one.certificate);
    write_file(w, "one.key", one.key);
    write_file(w, "two.crt", two.certificate);
    write_file(w, "two.key", two.key);
    begin_plugin(w,
                 "which=$(cat which)\n"
                 "crt=$(awk '{printf \"%s\\\\n\", $0}' $which.crt) key=$(awk '{printf \"%s\\\\n\", $0}' $which.key)\n"
                 "cat <<END\n"
                 "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
                 "\"status\":{\"clientCertificateData\":\"$crt\",\"clientKeyData\":\"$key\"}}\n"
                 "END");
    write_file(w, "which", S("one"));
    check_headers(w, "");
    struct tls_context *first = tls_of(w), *now;
    write_file(w, "which", S("two"));
    pass(w, 20);
    now = tls_of(w);
    assert_ptr_equal(first, now);
    tls_unref(now);
    assert_true(credentials_refused(w->c, ask(w).serial));
    now = tls_of(w);
    assert_ptr_not_equal(first, now);
    tls_unref(now);
    tls_unref(first);
    assert_int_equal(runs(w), 2);
}

static void test_plugin_fails(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "exit 3");
    check_error(w, ERR_UNAUTHORIZED, "getting credentials: exec: executable $/plugin failed with exit code 3");
    check_error(w, ERR_UNAUTHORIZED, "getting credentials: exec: executable $/plugin failed with exit code 3");
    assert_int_equal(runs(w), 1); /* not for everybody who asks */
    write_file(w, "plugin", S("#!/bin/sh\n" SAYS("{\"token\":\"abc\"}")));
    pass(w, 1);
    check_headers(w, "Authorization: Bearer abc\n");
}

static void test_plugin_killed(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "kill -9 $$");
    check_error(w, ERR_UNAUTHORIZED, "getting credentials: exec: executable $/plugin was ended by signal 9");
}

/* A refresh that fails leaves what is still good; what has expired is not shown any more. */
static void test_plugin_refresh_fails(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "test $(wc -l < runs) = 1 || exit 1\n" SAYS(
                        "{\"token\":\"abc\",\"expirationTimestamp\":\"2027-01-15T09:00:00Z\"}"));
    uint64_t serial = ask(w).serial;
    pass(w, 1);
    assert_true(credentials_refused(w->c, serial));
    check_headers(w, "Authorization: Bearer abc\n");
    assert_int_equal(runs(w), 2);
    pass(w, 3600);
    check_error(w, ERR_UNAUTHORIZED, "getting credentials: exec: executable $/plugin failed with exit code 1");
}

static void test_plugin_not_found(void **state)
{
    struct world *w = *state;
    w->exec = (struct client_exec){.command = S("no-such-plugin-of-reeve"), .install_hint = S("buy one")};
    w->exec.api_version = S("client.authentication.k8s.io/v1");
    w->config.exec = &w->exec;
    begin(w);
    check_error(w, ERR_NOT_FOUND, "getting credentials: exec: executable no-such-plugin-of-reeve not found; buy one");
    credentials_free(w->c);
    w->exec.command = path_of(w, "nothing");
    w->exec.install_hint = (str){0};
    begin(w);
    check_error(w, ERR_NOT_FOUND, "getting credentials: exec: fork/exec $/nothing: No such file or directory");
}

static void test_plugin_says_nonsense(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "echo 'token: *secret'");
    check_error(w, ERR_INVALID, "getting credentials: decoding stdout: it is neither JSON nor YAML");
    credentials_free(w->c);
    begin_plugin(w, SAYS("{\"clientCertificateData\":\"secret\",\"clientKeyData\":\"secret\"}"));
    struct asked a = ask(w);
    assert_true(a.failed);
    assert_true(str_find(str_of(a.err.msg), S("secret")) < 0);
}

/* All processes of a group that is no more, zombies aside. */
static bool is_running(struct world *w, const char *file)
{
    str pid = str_trim(read_file(w, file));
    str path = str_fmt(&w->arena, "/proc/%.*s/stat", STR(pid));
    int fd = open(str_cstr(&w->arena, path), O_RDONLY | O_CLOEXEC);
    char text[512];
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *state = strrchr(text, ')');
    return state && state[2] != 'Z' && state[2] != 'X';
}

static void check_gone(struct world *w, const char *file)
{
    while (is_running(w, file))
        loop_turn(w->loop, SECOND_NS / 100);
}

static void wait_for_file(struct world *w, const char *file)
{
    while (str_find_char(read_file(w, file), '\n') < 0)
        loop_turn(w->loop, SECOND_NS / 100);
}

#define SLEEPS "sleep 600 & echo $! > child\necho $$ > parent\nwait"

static void test_plugin_takes_too_long(void **state)
{
    struct world *w = *state;
    struct asked a;
    begin_plugin(w, SLEEPS);
    start(w, &a);
    wait_for_file(w, "parent");
    pass(w, 59);
    assert_int_equal(a.times, 0);
    pass(w, 1);
    assert_int_equal(a.times, 1);
    assert_int_equal(a.err.code, ERR_TIMEOUT);
    check_gone(w, "parent");
    check_gone(w, "child");
}

static void test_plugin_prints_too_much(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "echo $$ > parent\nexec cat /dev/zero");
    check_error(w, ERR_TOO_LARGE, "getting credentials: exec: executable $/plugin printed too much");
    check_gone(w, "parent");
}

static void test_plugin_leaves_a_helper(void **state)
{
    struct world *w = *state;
    begin_plugin(w, "sleep 600 & echo $! > child\n" SAYS("{\"token\":\"abc\"}"));
    check_headers(w, "Authorization: Bearer abc\n"); /* though the helper holds the pipe */
    assert_true(is_running(w, "child"));
    uint64_t pid;
    assert_true(str_to_uint64(str_trim(read_file(w, "child")), &pid));
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
}

static void test_plugin_is_ended_with_us(void **state)
{
    struct world *w = *state;
    struct asked a;
    begin_plugin(w, SLEEPS);
    start(w, &a);
    wait_for_file(w, "parent");
    credentials_free(w->c);
    w->c = NULL;
    assert_int_equal(a.times, 0);
    check_gone(w, "parent");
    check_gone(w, "child");
}

static void test_wait_taken_back(void **state)
{
    struct world *w = *state;
    struct asked a, b, c;
    begin_plugin(w, SAYS("{\"token\":\"abc\"}"));
    start(w, &a);
    start(w, &b);
    start(w, &c);
    credentials_cancel(w->c, &b.wait);
    credentials_cancel(w->c, &b.wait);
    wait_for(w, &a);
    wait_for(w, &c);
    assert_int_equal(b.times, 0);
    credentials_cancel(w->c, &a.wait);
}

/* Whoever asks again as soon as it is answered gets the next answer, not the same one for ever. */
static void ask_again(void *ctx, const struct credentials_now *now, const struct err *err)
{
    struct world *w = ctx;
    static struct asked second;
    assert_non_null(err);
    assert_null(now);
    start(w, &second);
    assert_int_equal(second.times, 1);
    assert_true(second.failed);
}

static void test_asking_from_within(void **state)
{
    struct world *w = *state;
    struct asked last;
    struct credentials_wait first = {.done = ask_again, .ctx = w};
    begin_plugin(w, "exit 1");
    credentials_get(w->c, &first);
    start(w, &last);
    wait_for(w, &last);
    assert_int_equal(runs(w), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plugin),
        TEST(plugin_is_told),
        TEST(plugin_in_path),
        TEST(plugin_expiry),
        TEST(plugin_always_expired),
        TEST(plugin_after_401),
        TEST(plugin_certificate),
        TEST(plugin_fails),
        TEST(plugin_killed),
        TEST(plugin_refresh_fails),
        TEST(plugin_not_found),
        TEST(plugin_says_nonsense),
        TEST(plugin_takes_too_long),
        TEST(plugin_prints_too_much),
        TEST(plugin_leaves_a_helper),
        TEST(plugin_is_ended_with_us),
        TEST(wait_taken_back),
        TEST(asking_from_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
