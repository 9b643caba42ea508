/* SPDX-License-Identifier: Apache-2.0 */
/* TLS as peers see it: who is believed, what is refused, and that a bad certificate is somebody's, not nobody's. */
#include "world.h"

#include "net/http_client.h"
#include "net/tls.h"

#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"
#define DAY 86400L

struct fixture {
    struct arena arena;
    struct keys ca, other_ca, server;
    struct world *w;
};

static struct fixture *fixture_new(const struct http_limits *limits)
{
    struct arena a = {0};
    struct fixture *f = ARENA_NEW(&a, struct fixture);
    f->ca = keys_make(&a, &(struct keys_options){.name = "ca", .starts_in = -DAY, .ends_in = DAY});
    f->other_ca = keys_make(&a, &(struct keys_options){.name = "other", .starts_in = -DAY, .ends_in = DAY});
    f->server =
        keys_make(&a, &(struct keys_options){.name = "localhost", .by = &f->ca, .starts_in = -DAY, .ends_in = DAY});
    struct tls_server_options o = {
        .certificate_pem = f->server.certificate, .key_pem = f->server.key, .client_ca_pem = f->ca.certificate};
    f->w = world_new(limits, &o);
    f->arena = a;
    return f;
}

static void fixture_free(struct fixture *f)
{
    world_free(f->w);
    struct arena a = f->arena; /* which f is in */
    arena_done(&a);
}

/* Asks and gets an answer: the handshake went well. */
static void expect_served(struct peer *p)
{
    assert_false(p->is_over);
    peer_send(p, S(GET("/echo")));
    str got = peer_answer(p, 200);
    assert_true(str_eq(got, S("GET /echo? 0")));
}

static str der_of(struct arena *a, str pem)
{
    BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
    unsigned char *der = NULL;
    int n = i2d_X509(x, &der);
    assert_true(n > 0);
    str s = str_dup(a, (str){(char *)der, (size_t)n});
    OPENSSL_free(der);
    X509_free(x);
    BIO_free(b);
    return s;
}

static void serves_strangers(void **state)
{
    struct fixture *f = fixture_new(NULL);
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < 2; i++) {
        struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, versions[i]);
        expect_served(p);
        assert_int_equal(f->w->peer_state, TLS_PEER_NONE);
        assert_int_equal(f->w->peer_der.n, 0);
        assert_int_equal(SSL_version(p->ssl), versions[i]);
        const unsigned char *alpn;
        unsigned n;
        SSL_get0_alpn_selected(p->ssl, &alpn, &n);
        assert_true(str_eq((str){(const char *)alpn, n}, S("http/1.1")));
        peer_free(p);
    }
    fixture_free(f);
}

static void knows_whom_its_ca_signed(void **state)
{
    struct fixture *f = fixture_new(NULL);
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct keys jane = keys_make(
        &f->arena,
        &(struct keys_options){.name = "jane", .by = &f->ca, .starts_in = -DAY, .ends_in = DAY, .is_client = true});
    for (size_t i = 0; i < 2; i++) {
        struct peer *p = peer_new_tls(f->w, f->ca.certificate, &jane, versions[i]);
        expect_served(p);
        assert_int_equal(f->w->peer_state, TLS_PEER_GOOD);
        assert_true(str_eq(f->w->peer_der, der_of(&f->arena, jane.certificate)));
        assert_true(f->w->peer_not_after > time(NULL) + DAY - 100 && f->w->peer_not_after <= time(NULL) + DAY);
        peer_free(p);
    }
    fixture_free(f);
}

static void remembers_bad_certificates(void **state)
{
    struct fixture *f = fixture_new(NULL);
    const struct keys_options bad[] = {
        {.name = "stranger", .by = &f->other_ca, .starts_in = -DAY, .ends_in = DAY, .is_client = true},
        {.name = "late", .by = &f->ca, .starts_in = -2 * DAY, .ends_in = -DAY, .is_client = true},
        {.name = "early", .by = &f->ca, .starts_in = DAY, .ends_in = 2 * DAY, .is_client = true},
        {.name = "server", .by = &f->ca, .starts_in = -DAY, .ends_in = DAY}, /* good for servers only */
        {.name = "self", .starts_in = -DAY, .ends_in = DAY},
        {.name = "ca", .starts_in = -DAY, .ends_in = DAY}, /* the CA's name, but not its key */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct keys k = keys_make(&f->arena, &bad[i]);
        struct peer *p = peer_new_tls(f->w, f->ca.certificate, &k, 0);
        expect_served(p);
        if (f->w->peer_state != TLS_PEER_BAD)
            fail_msg("%s was taken for good", bad[i].name);
        assert_int_equal(f->w->peer_der.n, 0);
        peer_free(p);
    }
    /* What one connection showed says nothing about the next. */
    struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    expect_served(p);
    assert_int_equal(f->w->peer_state, TLS_PEER_NONE);
    peer_free(p);
    fixture_free(f);
}

static void refuses_old_versions(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, TLS1_1_VERSION);
    assert_true(p->is_over);
    peer_free(p);
    world_until_connections(f->w, 0);
    assert_int_equal(f->w->handled, 0);
    fixture_free(f);
}

static void survives_garbage(void **state)
{
    static const char *const garbage[] = {"\x16\x03\x01\xff\xff", "\x16\x03\x01\x00\x05hello", "SSH-2.0-x\r\n",
                                          "\x80\x2e\x01\x03\x01"};
    struct http_limits limits = {.handshake_ns = 50 * MS};
    struct fixture *f = fixture_new(&limits);
    for (size_t i = 0; i < COUNT(garbage); i++) {
        struct peer *p = peer_new(f->w);
        peer_send(p, str_of(garbage[i]));
        peer_until_over(p);
        peer_free(p);
    }
    struct peer *silent = peer_new(f->w);
    peer_until_over(silent); /* after handshake_ns */
    peer_free(silent);
    world_until_connections(f->w, 0);
    assert_int_equal(f->w->handled, 0);
    fixture_free(f);
}

static void tells_who_forgot_the_s(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct peer *p = peer_new(f->w);
    peer_send(p, S(GET("/echo")));
    peer_expect(p, S("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"));
    peer_until_over(p);
    assert_int_equal(f->w->handled, 0);
    peer_free(p);
    world_until_connections(f->w, 0);
    fixture_free(f);
}

/* The same as without TLS: streams, back-pressure, the end. */
static void streams(void **state)
{
    struct http_limits limits = {.stall_ns = 100 * MS};
    struct fixture *f = fixture_new(&limits);
    struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    peer_send(p, S(GET("/bytes?3000000")));
    peer_expect(p, S("\r\n0\r\n\r\n"));
    assert_int_equal(f->w->filled, 3000000);
    p->is_deaf = true;
    f->w->filled = 0;
    peer_send(p, S(GET("/bytes?52428800")));
    world_until_connections(f->w, 0);
    assert_true(f->w->filled < 16 << 20);
    world_settle(f->w);
    assert_int_equal(f->w->gone, 2);
    peer_free(p);
    fixture_free(f);
}

/* Records that the socket did not take keep their place in front of all that follows: a new key, and the next answer. */
static void keeps_the_order_of_records(void **state)
{
    enum { WHOLE = 20000000 };
    struct http_limits limits = {.stall_ns = WORLD_PATIENCE};
    struct fixture *f = fixture_new(&limits);
    struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    peer_send(p, S(GET("/bytes?20000000")));
    peer_expect(p, S("\r\n\r\n"));
    p->is_deaf = true;
    world_settle(f->w);
    assert_true(f->w->filled < WHOLE);
    assert_int_equal(SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    peer_send(p, S(GET("/echo")));
    world_settle(f->w);
    p->is_deaf = false;
    peer_expect(p, S("\r\n0\r\n\r\n"));
    assert_int_equal(f->w->filled, WHOLE);
    assert_true(str_eq(peer_answer(p, 200), S("GET /echo? 0")));
    peer_free(p);
    fixture_free(f);
}

static void says_goodbye(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct peer *p = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    peer_send(p, S("GET /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"));
    peer_answer(p, 200);
    peer_until_over(p);
    assert_false(p->is_reset); /* close_notify came */
    peer_free(p);
    fixture_free(f);
}

/* New connections get the new certificate, old ones go on. */
static void changes_certificates(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct err err;
    struct tls_context *tls;
    struct peer *old = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    struct keys k = keys_make(
        &f->arena, &(struct keys_options){.name = "localhost", .by = &f->other_ca, .starts_in = -DAY, .ends_in = DAY});
    struct tls_server_options o = {.certificate_pem = k.certificate, .key_pem = k.key};
    expect_served(old);
    assert_int_equal(tls_server_new(&o, &tls, &err), 0);
    http_server_set_tls(f->w->server, tls);
    tls_unref(tls);
    struct peer *p = peer_new_tls(f->w, f->other_ca.certificate, NULL, 0);
    expect_served(p);
    expect_served(old);
    struct peer *q = peer_new_tls(f->w, f->ca.certificate, NULL, 0);
    assert_true(q->is_over); /* it does not believe the new one */
    peer_free(old);
    peer_free(p);
    peer_free(q);
    fixture_free(f);
}

static void refuses_bad_material(void **state)
{
    struct fixture *f = fixture_new(NULL);
    struct tls_context *tls = NULL;
    struct err err;
    str broken = str_upto(f->server.certificate, f->server.certificate.n / 2);
    str cut = str_fmt(&f->arena, "%.*s%.*s", STR(f->server.certificate), STR(broken));
    str sealed = S("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
    const struct tls_server_options bad[] = {
        {.certificate_pem = f->server.certificate},
        {.key_pem = f->server.key},
        {.certificate_pem = f->server.certificate, .key_pem = f->ca.key}, /* another's key */
        {.certificate_pem = f->server.certificate, .key_pem = sealed},
        {.certificate_pem = broken, .key_pem = f->server.key},
        {.certificate_pem = cut, .key_pem = f->server.key},
        {.certificate_pem = f->server.certificate, .key_pem = f->server.key, .client_ca_pem = S("no certificate")},
        {.certificate_pem = f->server.certificate, .key_pem = f->server.key, .client_ca_pem = cut},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (tls_server_new(&bad[i], &tls, &err) != ERR_INVALID)
            fail_msg("material %zu was taken", i);
        assert_true(err.msg[0] != '\0');
    }
    struct tls_client_options nameless = {.ca_pem = f->ca.certificate};
    assert_int_equal(tls_client_new(&nameless, &tls, &err), ERR_INVALID); /* would believe any server of that CA */
    assert_null(tls);
    fixture_free(f);
}

static void nothing(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    (void)ctx, (void)call, (void)status, (void)headers;
}

static void no_data(void *ctx, struct http_call *call, str bytes)
{
    (void)ctx, (void)call, (void)bytes;
}

static void call_ended(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    (void)call, (void)can_retry;
    assert_null(err);
    *(bool *)ctx = true;
}

/* Clients take HTTP/2 when it is offered, unless they are told not to. */
static void agrees_on_a_protocol(void **state)
{
    static const struct http_listener listener = {nothing, no_data, call_ended};
    struct fixture *f = fixture_new(NULL);
    for (int no_h2 = 0; no_h2 < 2; no_h2++) {
        struct err err;
        struct tls_client_options o = {.ca_pem = f->ca.certificate, .server_name = S("localhost"), .no_h2 = no_h2 != 0};
        struct http_client_options to = {.host = S("127.0.0.1"), .port = http_server_port(f->w->server)};
        struct http_client *c = NULL;
        bool is_over = false;
        assert_int_equal(tls_client_new(&o, &to.tls, &err), 0);
        assert_int_equal(http_client_new(f->w->loop, &to, &c, &err), 0);
        http_call_new(c, &(struct http_request){.method = S("GET"), .target = S("/echo")}, &listener, &is_over);
        while (!is_over)
            loop_turn(f->w->loop, -1);
        assert_int_equal(http_client_is_h2(c), !no_h2);
        http_client_free(c);
        tls_unref(to.tls);
    }
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_strangers),
        cmocka_unit_test(knows_whom_its_ca_signed),
        cmocka_unit_test(remembers_bad_certificates),
        cmocka_unit_test(refuses_old_versions),
        cmocka_unit_test(survives_garbage),
        cmocka_unit_test(tells_who_forgot_the_s),
        cmocka_unit_test(streams),
        cmocka_unit_test(keeps_the_order_of_records),
        cmocka_unit_test(says_goodbye),
        cmocka_unit_test(changes_certificates),
        cmocka_unit_test(refuses_bad_material),
        cmocka_unit_test(agrees_on_a_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
