/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS transport with real credentials, in files that change under it. */
#include "lib/testserver.h"

#include "client/https.h"
#include "lib/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

struct world {
    struct testserver t;
    struct clock_fake now;
    struct random_seeded random;
    struct arena arena;
    struct keys ca, server;
    struct tls_context *tls;
    char folder[32];
    struct client_config config;
    struct transport *transport;
    /* What the server has seen. */
    struct buf seen; /* a token or the certificate of every request, with a blank behind it */
    str wants;       /* this token; empty: any */
};

static str path(struct world *w, const char *name)
{
    return str_fmt(&w->arena, "%s/%s", w->folder, name);
}

static void write_file(struct world *w, const char *name, str text)
{
    FILE *f = fopen(str_cstr(&w->arena, path(w, name)), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

/* Remembers who asks: by the name in the certificate, or else the token. */
static bool look(struct testserver *t, struct http_exchange *x)
{
    struct world *w = t->ctx;
    str token = http_header(x, S("Authorization"));
    if (x->peer->state == TLS_PEER_GOOD)
        buf_add_str(&w->seen, str_find(x->peer->der, S("second")) >= 0 ? S("second ") : S("first "));
    else
        buf_fmt(&w->seen, "%.*s ", STR(str_from(token, strlen("Bearer "))));
    if (w->wants.n == 0 || str_eq(str_from(token, strlen("Bearer ")), w->wants))
        return false;
    http_answer(x, 401, (struct http_headers){0}, S("no"));
    return true;
}

static void set_up(struct world *w)
{
    struct err err;
    *w =
        (struct world){.now = {.wall = 1800000000 * SECOND, .mono = 1000 * SECOND}, .folder = "/tmp/https-test.XXXXXX"};
    struct clock clock = clock_of_fake(&w->now);
    assert_non_null(mkdtemp(w->folder));
    w->ca = keys_make(&w->arena, &(struct keys_options){.name = "authority", .ends_in = 3600});
    w->server = keys_make(&w->arena, &(struct keys_options){.name = "localhost", .by = &w->ca, .ends_in = 3600});
    struct tls_server_options o = {
        .certificate_pem = w->server.certificate, .key_pem = w->server.key, .client_ca_pem = w->ca.certificate};
    assert_int_equal(tls_server_new(&o, &w->tls, &err), 0);
    testserver_start_on(&w->t, &clock, NULL, w->tls);
    w->t.ctx = w;
    w->t.also = look;
    write_file(w, "ca", w->ca.certificate);
    w->config.ca_file = path(w, "ca");
    assert_int_equal(
        client_config_set_server(&w->arena, str_fmt(&w->arena, "https://127.0.0.1:%u", w->t.port), &w->config, &err),
        0);
    w->config.server_name = S("127.0.0.1");
}

static void begin(struct world *w)
{
    static const char *const env[] = {NULL};
    struct err err;
    struct https_options options = {
        .credentials = {.clock = clock_of_fake(&w->now), .env = env},
        .random = random_of_seed(&w->random),
        .version = S("test"),
    };
    assert_int_equal(https_new(w->t.loop, &w->config, &options, &w->transport, &err), 0);
}

static void tear_down(struct world *w)
{
    w->transport->ops->free(w->transport);
    testserver_settle(&w->t);
    testserver_stop(&w->t);
    static const char *const names[] = {"ca", "token", "certificate", "key"};
    for (size_t i = 0; i < 4; i++)
        (void)unlink(str_cstr(&w->arena, path(w, names[i])));
    assert_int_equal(rmdir(w->folder), 0);
    tls_unref(w->tls);
    buf_done(&w->seen);
    arena_done(&w->arena);
}

static void pass(struct world *w, int64_t seconds)
{
    clock_fake_advance(&w->now, seconds * SECOND);
    testserver_settle(&w->t);
}

struct result {
    int status;
    bool is_over;
    struct err err;
};

static void on_end(void *ctx, const struct client_answer *a)
{
    struct result *r = ctx;
    r->is_over = true;
    r->status = a->status;
    if (a->err)
        r->err = *a->err;
}

static int get(struct world *w, struct err *err)
{
    static const struct client_listener listener = {.end = on_end};
    struct client_request request = {.method = S("GET"), .target = S("/hello")};
    struct result r = {0};
    (void)w->transport->ops->start(w->transport, &request, &listener, &r);
    UNTIL(&w->t, r.is_over);
    if (err)
        *err = r.err;
    return r.status;
}

static bool has_seen(const struct world *w, const char *text)
{
    return str_eq(buf_str(&w->seen), str_of(text));
}

/* The server refuses the token; by then another one is in the file. */
static void token_files(void **state)
{
    struct world w;
    set_up(&w);
    write_file(&w, "token", S("one\n"));
    w.config.token_file = path(&w, "token");
    begin(&w);
    w.wants = S("one");
    assert_int_equal(get(&w, NULL), 200);
    write_file(&w, "token", S("two\n"));
    w.wants = S("two");
    assert_int_equal(get(&w, NULL), 200);
    assert_true(has_seen(&w, "one one two "));
    w.wants = S("three");
    assert_int_equal(get(&w, NULL), 401);
    assert_int_equal(http_server_stats(w.t.server).accepted, 1); /* none of this needs another connection */
    tear_down(&w);
}

/* Certificate and key change: who asks after that does so as the new one, on a new connection. */
static void certificate_files(void **state)
{
    struct world w;
    set_up(&w);
    struct keys_options o = {.name = "first", .by = &w.ca, .ends_in = 3600, .is_client = true};
    struct keys first = keys_make(&w.arena, &o);
    o.name = "second";
    struct keys second = keys_make(&w.arena, &o);
    write_file(&w, "certificate", first.certificate);
    write_file(&w, "key", first.key);
    w.config.certificate_file = path(&w, "certificate");
    w.config.key_file = path(&w, "key");
    begin(&w);
    assert_int_equal(get(&w, NULL), 200);
    write_file(&w, "certificate", second.certificate);
    pass(&w, 11);
    assert_int_equal(get(&w, NULL), 200); /* halfway replaced: as before */
    assert_int_equal(http_server_stats(w.t.server).accepted, 1);
    write_file(&w, "key", second.key);
    pass(&w, 11);
    assert_int_equal(get(&w, NULL), 200);
    assert_true(has_seen(&w, "first first second "));
    assert_int_equal(http_server_stats(w.t.server).accepted, 2);
    UNTIL(&w.t, http_server_stats(w.t.server).connections == 1);
    tear_down(&w);
}

/* A new authority for the server is believed as soon as it is in the file. */
static void authority_files(void **state)
{
    struct world w;
    struct err err;
    set_up(&w);
    struct keys other = keys_make(&w.arena, &(struct keys_options){.name = "other", .ends_in = 3600});
    write_file(&w, "ca", other.certificate);
    begin(&w);
    assert_int_equal(get(&w, &err), 0);
    assert_int_equal(err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "certificate signed by unknown authority"));
    write_file(&w, "ca", w.ca.certificate);
    pass(&w, 11);
    assert_int_equal(get(&w, NULL), 200);
    tear_down(&w);
}

/* A file that is missing is told by its name, and nothing is connected. */
static void missing_files(void **state)
{
    struct world w;
    struct err err;
    set_up(&w);
    w.config.token_file = path(&w, "token");
    begin(&w);
    assert_int_equal(get(&w, &err), 0);
    assert_non_null(strstr(err.msg, "/token"));
    assert_int_equal(https_stats(w.transport).opened, 0);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_files),
        cmocka_unit_test(certificate_files),
        cmocka_unit_test(authority_files),
        cmocka_unit_test(missing_files),
    };
    return cmocka_run_group_tests_name("https_files", tests, NULL, NULL);
}
