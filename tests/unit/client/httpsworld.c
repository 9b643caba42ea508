/* SPDX-License-Identifier: Apache-2.0 */
#include "httpsworld.h"

#include <stdlib.h>

#define SECOND INT64_C(1000000000)

/* ---- Credentials. The configuration is the world's, so is what they are. ---- */

struct credentials {
    struct fake_credentials *f;
};

static struct httpsworld *world_of(const struct client_config *config)
{
    return (struct httpsworld *)((char *)config - offsetof(struct httpsworld, config));
}

struct credentials *credentials_new(struct loop *l, const struct client_config *config,
                                    const struct credentials_options *options)
{
    struct credentials *c = calloc(1, sizeof *c);
    c->f = &world_of(config)->credentials;
    return c;
}

void credentials_free(struct credentials *c)
{
    assert_null(c->f->first);
    free(c);
}

static void answer(struct fake_credentials *f, struct credentials_wait *w)
{
    struct credentials_now now = {.headers = {f->headers, f->n_headers}, .tls = f->tls, .serial = f->serial};
    struct err err;
    err_set(&err, ERR_UNAUTHORIZED, "the plugin gave nothing");
    if (f->is_broken)
        w->done(w->ctx, NULL, &err);
    else
        w->done(w->ctx, &now, NULL);
}

void credentials_get(struct credentials *c, struct credentials_wait *w)
{
    c->f->asked++;
    if (!c->f->is_slow) {
        answer(c->f, w);
        return;
    }
    w->next = c->f->first;
    c->f->first = w;
    w->is_waiting = true;
}

void credentials_cancel(struct credentials *c, struct credentials_wait *w)
{
    if (!w->is_waiting)
        return;
    struct credentials_wait **at = &c->f->first;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->is_waiting = false;
}

/* No test here renews a token: test_credentials and unit-agent/hub do. */
int credentials_set_token(struct credentials *c, str token, struct err *err)
{
    (void)c;
    (void)token;
    return err_set(err, ERR_INVALID, "these credentials are the test's");
}

bool credentials_refused(struct credentials *c, uint64_t serial)
{
    c->f->refused++;
    if (!c->f->has_more || serial != c->f->serial)
        return serial != c->f->serial;
    c->f->has_more = c->f->is_endless;
    c->f->serial++;
    c->f->headers[0] = (struct http_header){S("Authorization"), S("Bearer second")};
    return true;
}

void fake_credentials_come(struct httpsworld *w)
{
    struct fake_credentials *f = &w->credentials;
    f->is_slow = false;
    while (f->first) {
        struct credentials_wait *wait = f->first;
        f->first = wait->next;
        wait->is_waiting = false;
        answer(f, wait);
    }
}

/* ---- The world. ---- */

struct tls_context *httpsworld_tls(struct httpsworld *w, str ca, const char *name)
{
    struct tls_context *tls;
    struct err err;
    struct tls_client_options o = {.ca_pem = ca, .server_name = str_of(name)};
    assert_int_equal(tls_client_new(&o, &tls, &err), 0);
    return tls;
}

void httpsworld_rotate(struct httpsworld *w)
{
    tls_unref(w->credentials.tls);
    w->credentials.tls = httpsworld_tls(w, w->keys.certificate, "localhost");
    w->credentials.serial++;
}

static void set_up_tls(struct httpsworld *w, bool no_h2)
{
    struct err err;
    w->keys = keys_make(&w->arena, &(struct keys_options){.name = "localhost", .ends_in = 3600});
    struct tls_server_options o = {.certificate_pem = w->keys.certificate, .key_pem = w->keys.key, .no_h2 = no_h2};
    assert_int_equal(tls_server_new(&o, &w->server_tls, &err), 0);
    w->credentials.tls = httpsworld_tls(w, w->keys.certificate, "localhost");
}

struct httpsworld *httpsworld_new(unsigned flags, const struct http_limits *limits, const struct https_options *options)
{
    struct httpsworld *w = calloc(1, sizeof *w);
    struct err err;
    struct https_options o = options ? *options : (struct https_options){0};
    w->now = (struct clock_fake){.wall = INT64_C(1000000000) * SECOND, .mono = 1000 * SECOND};
    struct clock clock = clock_of_fake(&w->now);
    w->credentials.serial = 1;
    w->credentials.headers[0] = (struct http_header){S("Authorization"), S("Bearer first")};
    w->credentials.n_headers = 1;
    if (!(flags & OVER_PLAIN))
        set_up_tls(w, flags & OVER_H1);
    testserver_start_on(&w->t, &clock, limits, w->server_tls);
    w->t.ctx = w;
    w->config = (struct client_config){
        .server = str_fmt(&w->arena, "https://127.0.0.1:%u/base", w->t.port),
        .is_tls = w->server_tls != NULL,
        .host = S("127.0.0.1"),
        .port = w->t.port,
    };
    o.credentials.clock = clock;
    o.random = random_of_seed(&w->random);
    o.version = S("1.2.3");
    assert_int_equal(https_new(w->t.loop, &w->config, &o, &w->transport, &err), 0);
    return w;
}

void httpsworld_free(struct httpsworld *w)
{
    assert_int_equal(https_stats(w->transport).calls, 0);
    w->transport->ops->free(w->transport);
    testserver_settle(&w->t);
    testserver_stop(&w->t);
    tls_unref(w->server_tls);
    tls_unref(w->credentials.tls);
    arena_done(&w->arena);
    free(w);
}

void httpsworld_pass(struct httpsworld *w, int64_t seconds)
{
    clock_fake_advance(&w->now, seconds * SECOND);
    testserver_settle(&w->t);
}

/* ---- Calls. ---- */

static void on_data(void *ctx, str bytes)
{
    struct got *g = ctx;
    assert_false(g->is_over);
    buf_add_str(&g->body, bytes);
    g->pieces++;
    if (g->cancels)
        got_cancel(g);
}

static void on_end(void *ctx, const struct client_answer *a)
{
    struct got *g = ctx;
    assert_non_null(g->call);
    assert_false(g->is_over);
    g->call = NULL;
    g->is_over = true;
    g->status = a->status;
    g->can_retry = a->can_retry;
    g->retry_after_ns = a->retry_after_ns;
    g->content_type = str_dup(&g->arena, a->content_type);
    if (a->body.n)
        buf_add_str(&g->body, a->body);
    assert_int_equal(a->status == 0, a->err != NULL);
    if (a->err)
        g->err = *a->err;
}

static void begin(struct httpsworld *w, struct got *g, struct client_request r, const struct client_listener *listener)
{
    *g = (struct got){.w = w, .cancels = g->cancels};
    g->call = w->transport->ops->start(w->transport, &r, listener, g);
    assert_non_null(g->call);
    assert_false(g->is_over);
}

void got_start(struct httpsworld *w, struct got *g, struct client_request r)
{
    static const struct client_listener listener = {.end = on_end};
    begin(w, g, r, &listener);
}

void got_get(struct httpsworld *w, struct got *g, const char *target)
{
    got_start(w, g, (struct client_request){.method = S("GET"), .target = str_of(target)});
}

void got_watch(struct httpsworld *w, struct got *g, const char *target)
{
    static const struct client_listener listener = {.data = on_data, .end = on_end};
    begin(w, g, (struct client_request){.method = S("GET"), .target = str_of(target)}, &listener);
}

void got_cancel(struct got *g)
{
    struct transport_call *call = g->call;
    g->call = NULL;
    g->w->transport->ops->cancel(g->w->transport, call);
}

void got_done(struct got *g)
{
    if (g->call)
        got_cancel(g);
    buf_done(&g->body);
    arena_done(&g->arena);
}

bool got_is(const struct got *g, int status, const char *body)
{
    return g->is_over && g->status == status && str_eq(buf_str(&g->body), str_of(body));
}
