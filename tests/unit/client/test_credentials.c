/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from texts and files of the kubeconfig. */
#include "credentialsworld.h"

#include <sys/stat.h>

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

/* Whoever has renewed it says so; nothing of the old one is shown after that. */
static void test_renewed_token(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    w->config.token = S("abc");
    begin(w);
    struct asked a = ask(w);
    assert_int_equal(credentials_set_token(w->c, S("def"), &err), 0);
    assert_true(credentials_refused(w->c, a.serial)); /* there is another one to show */
    struct asked b = ask(w);
    assert_true(str_eq(b.headers, S("Authorization: Bearer def\n")));
    assert_true(a.serial != b.serial);
    assert_ptr_equal(a.tls, b.tls); /* the connection stays */
    assert_int_equal(credentials_set_token(w->c, S("d\ne"), &err), ERR_INVALID);
    assert_int_equal(credentials_set_token(w->c, S(""), &err), ERR_INVALID);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(token),
        TEST(renewed_token),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
