/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials on a loop whose clock stands still until a test moves it; files and plugins are real ones, in a folder of each
 * test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../net/keys.h"
#include "base/arena.h"
#include "client/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define START_S INT64_C(1800000000) /* 2027-01-15T08:00:00Z */

struct world {
    struct arena arena;
    struct clock_fake fake;
    struct clock clock;
    struct loop *loop;
    char folder[64];
    struct client_config config;
    struct client_exec exec;
    const char *env[8];
    struct credentials *c;
};

/* What came to somebody who asked. */
struct asked {
    struct credentials_wait wait;
    struct arena *arena;
    int times;
    bool failed;
    struct err err;
    str headers; /* one line each */
    struct tls_context *tls;
    uint64_t serial;
};

/* ---- A world of its own for each test. ---- */

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct err err;
    w->fake = (struct clock_fake){START_S * SECOND_NS, 5 * SECOND_NS};
    w->clock = clock_of_fake(&w->fake);
    assert_int_equal(loop_new_on(&w->clock, &w->loop, &err), 0);
    (void)snprintf(w->folder, sizeof w->folder, "/tmp/credentials-test.XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    w->config = (struct client_config){.is_tls = true, .host = S("h"), .server_name = S("h"), .port = 1};
    w->config.server = S("https://h:1");
    w->config.user = S("u");
    w->config.cluster = S("c");
    w->env[0] = "PATH=/usr/bin:/bin";
    *state = w;
    return 0;
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int tear_down(void **state)
{
    struct world *w = *state;
    credentials_free(w->c);
    loop_free(w->loop);
    assert_int_equal(nftw(w->folder, forget, 8, FTW_DEPTH | FTW_PHYS), 0);
    arena_done(&w->arena);
    free(w);
    return 0;
}

static str path_of(struct world *w, const char *name)
{
    return str_fmt(&w->arena, "%s/%s", w->folder, name);
}

/* As tools replace files: another one in its place. */
static void write_file(struct world *w, const char *name, str text)
{
    char *path = str_cstr(&w->arena, path_of(w, name));
    char *fresh = str_cstr(&w->arena, str_fmt(&w->arena, "%s.new", path));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text.n ? text.p : "", text.n), text.n);
    close(fd);
    assert_int_equal(rename(fresh, path), 0);
}

static str read_file(struct world *w, const char *name)
{
    struct buf b = {.arena = &w->arena};
    int fd = open(str_cstr(&w->arena, path_of(w, name)), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (str){0};
    for (ssize_t n = 1; n > 0; b.n += (size_t)n) {
        buf_grow(&b, 4096);
        n = read(fd, b.p + b.n, b.cap - b.n);
        assert_true(n >= 0);
    }
    close(fd);
    return buf_str(&b);
}

static void remove_file(struct world *w, const char *name)
{
    assert_int_equal(unlink(str_cstr(&w->arena, path_of(w, name))), 0);
}

static void begin(struct world *w)
{
    struct credentials_options options = {.clock = w->clock, .env = w->env};
    w->c = credentials_new(w->loop, &w->config, &options);
}

/* A plugin that is a shell script. It keeps count of its runs in the file "runs". */
static void begin_plugin(struct world *w, const char *script)
{
    write_file(w, "plugin", str_fmt(&w->arena, "#!/bin/sh\ncd '%s'\necho run >> runs\n%s\n", w->folder, script));
    w->exec.command = path_of(w, "plugin");
    w->exec.api_version = S("client.authentication.k8s.io/v1");
    w->config.exec = &w->exec;
    begin(w);
}

#define SAYS(status) \
    "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":" status "}'"

static size_t runs(struct world *w)
{
    str text = read_file(w, "runs");
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static void pass(struct world *w, int64_t seconds)
{
    clock_fake_advance(&w->fake, seconds * SECOND_NS);
    loop_turn(w->loop, 0);
}

/* ---- Asking. ---- */

static void take(void *ctx, const struct credentials_now *now, const struct err *err)
{
    struct asked *a = ctx;
    a->times++;
    a->failed = err != NULL;
    assert_true((now == NULL) == (err != NULL));
    if (now == NULL) {
        if (err)
            a->err = *err;
        return;
    }
    struct buf b = {.arena = a->arena};
    for (size_t i = 0; i < now->headers.n; i++)
        buf_fmt(&b, "%.*s: %.*s\n", STR(now->headers.p[i].name), STR(now->headers.p[i].value));
    a->headers = buf_str(&b);
    a->tls = now->tls;
    a->serial = now->serial;
    assert_true(a->serial != 0);
}

static void start(struct world *w, struct asked *a)
{
    *a = (struct asked){.arena = &w->arena};
    a->wait.done = take;
    a->wait.ctx = a;
    credentials_get(w->c, &a->wait);
}

static void wait_for(struct world *w, struct asked *a)
{
    while (a->times == 0)
        loop_turn(w->loop, SECOND_NS / 10);
    assert_int_equal(a->times, 1);
}

static struct asked ask(struct world *w)
{
    struct asked a;
    start(w, &a);
    wait_for(w, &a);
    a.wait = (struct credentials_wait){0};
    return a;
}

static void check_headers(struct world *w, const char *want)
{
    struct asked a = ask(w);
    if (a.failed)
        fail_msg("%s", a.err.msg);
    assert_string_equal(str_cstr(&w->arena, a.headers), want);
}

/* The folder is called $ in what is wanted. */
static void check_error(struct world *w, enum err_code code, const char *want)
{
    struct asked a = ask(w);
    struct buf text = {.arena = &w->arena};
    str rest = str_of(a.err.msg), folder = str_of(w->folder);
    assert_true(a.failed);
    for (ptrdiff_t at; (at = str_find(rest, folder)) >= 0; rest = str_from(rest, (size_t)at + folder.n))
        buf_fmt(&text, "%.*s$", STR(str_upto(rest, (size_t)at)));
    buf_add_str(&text, rest);
    assert_string_equal(str_cstr(&w->arena, buf_str(&text)), want);
    assert_int_equal(a.err.code, code);
}

/* ---- Texts of the kubeconfig. ---- */

static void test_token(void **state)
{
    struct world *w = *state;
    w->config.token = S("abc");
    begin(w);
    struct asked a;
    start(w, &a);
    assert_int_equal(a.times, 1); /* at once */
    assert_true(str_eq(a.headers, S("Authorization: Bearer abc\n")));
    assert_non_null(a.tls);
    struct asked b = ask(w);
    assert_int_equal(a.serial, b.serial);
    assert_ptr_equal(a.tls, b.tls);
    assert_false(credentials_refused(w->c, b.serial)); /* there is nothing else to show */
    assert_int_equal(ask(w).serial, b.serial);
}

static void test_basic(void **state)
{
    struct world *w = *state;
    w->config.has_basic = true;
    w->config.username = S("Aladdin");
    w->config.password = S("open sesame");
    begin(w);
    check_headers(w, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n");
}

static void test_nobody(void **state)
{
    struct world *w = *state;
    begin(w);
    check_headers(w, "");
}

static void test_plain_text_carries_nothing(void **state)
{
    struct world *w = *state;
    w->config.is_tls = false;
    w->config.token = S("abc");
    begin(w);
    struct asked a = ask(w);
    assert_int_equal(a.headers.n, 0);
    assert_null(a.tls);
}

static void test_impersonation(void **state)
{
    struct world *w = *state;
    const str groups[] = {S("g1"), S("g2")}, values[] = {S("a"), S("b")};
    const struct client_extra extra[] = {{S("scopes"), values, 2}, {S("x.io/p%q \xc3\xa9"), values, 1}};
    w->config.token = S("abc");
    w->config.as = (struct client_impersonation){S("jane"), S("7"), groups, 2, extra, 2};
    begin(w);
    check_headers(w, "Authorization: Bearer abc\n"
                     "Impersonate-User: jane\n"
                     "Impersonate-Uid: 7\n"
                     "Impersonate-Group: g1\n"
                     "Impersonate-Group: g2\n"
                     "Impersonate-Extra-scopes: a\n"
                     "Impersonate-Extra-scopes: b\n"
                     "Impersonate-Extra-x.io%2Fp%25q%20%C3%A9: a\n");
}

/* ---- Token files. ---- */

static void test_token_file(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_file(w, "token", S(" one\n"));
    begin(w);
    check_headers(w, "Authorization: Bearer one\n");
    uint64_t serial = ask(w).serial;
    write_file(w, "token", S("two"));
    pass(w, 59);
    assert_int_equal(ask(w).serial, serial);
    pass(w, 1);
    check_headers(w, "Authorization: Bearer two\n");
    assert_int_not_equal(ask(w).serial, serial);
}

static void test_token_file_after_401(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_file(w, "token", S("one"));
    begin(w);
    uint64_t serial = ask(w).serial;
    assert_false(credentials_refused(w->c, serial));
    write_file(w, "token", S("two"));
    assert_true(credentials_refused(w->c, serial));
    check_headers(w, "Authorization: Bearer two\n");
    assert_true(credentials_refused(w->c, serial)); /* others were refused with the old one, too */
    assert_false(credentials_refused(w->c, ask(w).serial));
}

static void test_token_file_that_goes_away(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    write_file(w, "token", S("one"));
    begin(w);
    check_headers(w, "Authorization: Bearer one\n");
    remove_file(w, "token");
    pass(w, 60);
    check_headers(w, "Authorization: Bearer one\n");
    write_file(w, "token", S(""));
    pass(w, 60);
    check_headers(w, "Authorization: Bearer one\n");
    write_file(w, "token", S("two"));
    pass(w, 1); /* looked for again soon */
    check_headers(w, "Authorization: Bearer two\n");
}

static void test_token_file_beats_token(void **state)
{
    struct world *w = *state;
    w->config.token = S("text");
    w->config.token_file = path_of(w, "token");
    begin(w);
    check_headers(w, "Authorization: Bearer text\n");
    write_file(w, "token", S("file"));
    check_headers(w, "Authorization: Bearer file\n");
}

static void test_token_file_is_bad(void **state)
{
    struct world *w = *state;
    w->config.token_file = path_of(w, "token");
    begin(w);
    check_error(w, ERR_NOT_FOUND, "failed to read token file \"$/token\": open $/token: No such file or directory");
    write_file(w, "token", S(" \n"));
    check_error(w, ERR_INVALID, "read empty token from file \"$/token\"");
    write_file(w, "token", S("secret\r\nX-Evil: yes"));
    check_error(w, ERR_INVALID, "token file \"$/token\" holds a control character");
    remove_file(w, "token");
    assert_int_equal(mkfifo(str_cstr(&w->arena, path_of(w, "token")), 0600), 0);
    check_error(w, ERR_INVALID, "failed to read token file \"$/token\": $/token is not a file");
}

/* ---- Certificates and keys. ---- */

static struct keys make_keys(struct world *w, const char *name)
{
    struct keys_options options = {.name = name, .ends_in = 3600, .is_client = true};
    return keys_make(&w->arena, &options);
}

/* Whoever compares contexts holds the one it has, so that no other takes its place. */
static struct tls_context *tls_of(struct world *w)
{
    struct asked a = ask(w);
    if (a.failed)
        fail_msg("%s", a.err.msg);
    return tls_ref(a.tls);
}

static void test_certificate_files(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one"), two = make_keys(w, "two");
    w->config.certificate_file = path_of(w, "crt");
    w->config.key_file = path_of(w, "key");
    write_file(w, "crt", one.certificate);
    write_file(w, "key", one.key);
    begin(w);
    struct tls_context *first = tls_of(w), *now;
    write_file(w, "crt", two.certificate);
    write_file(w, "key", two.key);
    pass(w, 9);
    now = tls_of(w);
    assert_ptr_equal(first, now);
    tls_unref(now);
    pass(w, 1);
    now = tls_of(w);
    assert_ptr_not_equal(first, now);
    tls_unref(now);
    tls_unref(first);
}

static void test_certificate_halfway_replaced(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one"), two = make_keys(w, "two");
    w->config.certificate_file = path_of(w, "crt");
    w->config.key_file = path_of(w, "key");
    write_file(w, "crt", one.certificate);
    write_file(w, "key", one.key);
    begin(w);
    struct tls_context *first = tls_of(w), *now;
    uint64_t serial = ask(w).serial;
    write_file(w, "crt", two.certificate);
    pass(w, 10);
    now = tls_of(w);
    assert_ptr_equal(first, now);
    tls_unref(now);
    assert_false(credentials_refused(w->c, serial));
    write_file(w, "key", two.key);
    assert_true(credentials_refused(w->c, serial)); /* a 401 looks at once */
    now = tls_of(w);
    assert_ptr_not_equal(first, now);
    tls_unref(now);
    tls_unref(first);
}

static void test_certificate_text_stays(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one");
    w->config.certificate_pem = one.certificate;
    w->config.key_file = path_of(w, "key");
    write_file(w, "key", one.key);
    begin(w);
    struct tls_context *first = tls_of(w), *now;
    remove_file(w, "key");
    pass(w, 3600);
    now = tls_of(w);
    assert_ptr_equal(first, now);
    tls_unref(now);
    tls_unref(first);
}

static void test_certificate_errors(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one"), two = make_keys(w, "two");
    w->config.ca_file = path_of(w, "ca");
    w->config.certificate_file = path_of(w, "crt");
    w->config.key_file = path_of(w, "key");
    begin(w);
    check_error(w, ERR_NOT_FOUND, "unable to read certificate-authority for c: open $/ca: No such file or directory");
    write_file(w, "ca", S(""));
    check_error(w, ERR_INVALID, "certificate-authority $/ca is empty");
    write_file(w, "ca", one.certificate);
    check_error(w, ERR_NOT_FOUND, "unable to read client-cert for u: open $/crt: No such file or directory");
    write_file(w, "crt", one.certificate);
    check_error(w, ERR_NOT_FOUND, "unable to read client-key for u: open $/key: No such file or directory");
    write_file(w, "key", two.key);
    assert_true(ask(w).failed);
    write_file(w, "key", one.key);
    tls_unref(tls_of(w)); /* without waiting: nothing was at hand */
}

static void test_ca_that_is_emptied_stays(void **state)
{
    struct world *w = *state;
    struct keys one = make_keys(w, "one"), two = make_keys(w, "two");
    w->config.ca_file = path_of(w, "ca");
    write_file(w, "ca", one.certificate);
    begin(w);
    struct tls_context *first = tls_of(w), *now;
    write_file(w, "ca", S(""));
    pass(w, 10);
    now = tls_of(w);
    assert_ptr_equal(first, now); /* and not the system's */
    tls_unref(now);
    write_file(w, "ca", two.certificate);
    pass(w, 1);
    now = tls_of(w);
    assert_ptr_not_equal(first, now);
    tls_unref(now);
    tls_unref(first);
}

/* ---- Plugins. ---- */

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

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(token),
        TEST(basic),
        TEST(nobody),
        TEST(plain_text_carries_nothing),
        TEST(impersonation),
        TEST(token_file),
        TEST(token_file_after_401),
        TEST(token_file_that_goes_away),
        TEST(token_file_beats_token),
        TEST(token_file_is_bad),
        TEST(certificate_files),
        TEST(certificate_halfway_replaced),
        TEST(certificate_text_stays),
        TEST(certificate_errors),
        TEST(ca_that_is_emptied_stays),
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
