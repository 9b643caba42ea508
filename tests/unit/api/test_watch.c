/* SPDX-License-Identifier: Apache-2.0 */
/* Watches whose clients take as much as they like, when they like, or go away: a whole server, and exchanges whose other end is
 * this file. Lists that are looked through in turns are here too, as both walk alike. What clients see of well-behaved ones is in tests/cases/api/watch_*.test. */
#include "api/watch_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/loopback.h"
#include "api/pipeline.h"
#include "kinds/builtin.h"
#include "lib/server.h"

#include <cmocka.h>

/* ---- The server. ---- */

enum { MADE_MAX = 4096 };

struct site {
    struct server server;
    size_t n_sent, n_done;
    void (*on_written)(struct site *s); /* or NULL: when an answer has come */
    rev made
        [MADE_MAX]; /* revisions of what was written here, in their order; the server writes a little of its own too */
};

static int set_up(void **state)
{
    struct site *s = calloc(1, sizeof *s);
    assert_non_null(s);
    server_open(&s->server, 7, INT64_C(60) * 1000000000);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct site *s = *state;
    loop_turn(s->server.loop, 0);
    server_close(&s->server);
    free(s);
    return 0;
}

static void written(void *ctx, int status, struct http_headers headers, str body)
{
    struct site *s = ctx;
    struct arena a ARENA_SCOPE = {0};
    struct json object;
    if (status != 201)
        fail_msg("%d: %.*s", status, STR(body));
    assert_in_range(s->n_done, 0, MADE_MAX - 1);
    assert_int_equal(json_decode(&a, body, NULL, NULL, &object, NULL), 0);
    assert_true(str_to_uint64(json_text(json_dig(&object, "metadata.resourceVersion")), &s->made[s->n_done++]));
    if (s->on_written)
        s->on_written(s);
}

/* Sends a ConfigMap named cm-N with about so many bytes of data; settle waits for all that was sent. */
static void send_one(struct site *s, size_t number, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf fill = {.arena = &a};
    while (fill.n < size)
        buf_add_str(&fill, S("0123456789abcdef"));
    struct loopback_call call = {
        .who = server_admin,
        .method = S("POST"),
        .target = S("/api/v1/namespaces/default/configmaps"),
        .body = str_fmt(&a, "{\"metadata\":{\"name\":\"cm-%zu\"},\"data\":{\"fill\":\"%.*s\"}}", number,
                        STR(buf_str(&fill))),
        .done = written,
        .ctx = s,
    };
    s->n_sent++;
    loopback_start(s->server.api, &call);
}

static void settle(struct site *s)
{
    while (s->n_done < s->n_sent)
        loop_turn(s->server.loop, -1);
}

static void create(struct site *s, size_t first, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        send_one(s, first + i, size);
    settle(s);
}

/* ---- A client. ---- */

struct client {
    struct http_exchange x;
    struct http_source source;
    struct buf body;
    size_t n_read;
    int status;
    bool is_resumed, is_gone;
    bool shares_connection; /* with a client that is woken before it */
    enum http_fill last;
};

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    fail_msg("%d: %.*s", status, STR(body));
}

static void stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    struct client *c = (struct client *)x;
    c->source = source;
    c->status = status;
    c->is_resumed = true;
}

static bool resume(struct http_exchange *x)
{
    struct client *c = (struct client *)x;
    c->is_resumed = true;
    return !c->shares_connection;
}

static void forget(struct http_exchange *x)
{
    x->method = x->path = x->query = x->body = (str){0};
    x->headers = (struct http_headers){0};
    arena_done(&x->arena);
}

static const struct http_carrier carrier = {.answer = answer, .stream = stream, .resume = resume, .forget = forget};
static const struct tls_peer nobody = {TLS_PEER_NONE, {0}, 0};

static void start(struct site *s, struct client *c, const char *query)
{
    *c = (struct client){0};
    c->x.carrier = &carrier;
    c->x.peer = &nobody;
    c->x.method = S("GET");
    c->x.path = S("/api/v1/namespaces/default/configmaps");
    c->x.query = str_dup(&c->x.arena, str_of(query));
    pipeline_enter_as(s->server.api, &c->x, &server_admin);
    assert_int_equal(c->status, 200);
}

static void start_at(struct site *s, struct client *c, rev revision)
{
    char query[64];
    (void)snprintf(query, sizeof query, "watch=1&resourceVersion=%llu", (unsigned long long)revision);
    start(s, c, query);
}

static void hang_up(struct client *c)
{
    if (!c->is_gone)
        c->x.gone(&c->x);
    c->is_gone = true;
    arena_done(&c->x.arena);
    buf_done(&c->body);
}

/* One piece of about so many bytes, as when the peer's window opens by that. */
static enum http_fill take(struct client *c, size_t room)
{
    size_t before = c->body.n;
    c->is_resumed = false;
    c->last = c->source.fill(c->source.ctx, &c->x, &c->body, room);
    assert_true(c->last != HTTP_MORE || c->body.n > before);
    return c->last;
}

/* All there is for now. */
static void take_all(struct site *s, struct client *c, size_t room)
{
    do {
        while (take(c, room) == HTTP_MORE)
            ;
        loop_turn(s->server.loop, 0); /* it may have stepped aside to let others have their turn */
    } while (c->last == HTTP_WAIT && c->is_resumed);
}

static bool next_line(struct client *c, str *ret)
{
    str rest;
    if (!str_cut(str_from(buf_str(&c->body), c->n_read), '\n', ret, &rest))
        return false;
    c->n_read += ret->n + 1;
    return true;
}

/* The revision of the next event, 0 when there is none. */
static rev next_revision(struct client *c, const char *type)
{
    struct arena a ARENA_SCOPE = {0};
    struct json event;
    str line;
    rev revision;
    if (!next_line(c, &line))
        return 0;
    assert_int_equal(json_decode(&a, line, NULL, NULL, &event, NULL), 0);
    if (type)
        assert_true(str_eq(json_get_text(&event, S("type")), str_of(type)));
    assert_true(str_to_uint64(json_text(json_dig(&event, "object.metadata.resourceVersion")), &revision));
    return revision;
}

static struct watch *only_watch(struct site *s)
{
    size_t at = 0;
    str key;
    void *group;
    assert_int_equal(watch_count(s->server.api->watches), 1);
    assert_true(map_next(&s->server.api->watches->groups, &at, &key, &group));
    return ((struct watch_group *)group)->first;
}

/* Everything that was written after that revision, each once, and nothing behind it. */
static void assert_all_since(const struct site *s, struct client *c, rev after)
{
    for (size_t i = 0; i < s->n_done; i++)
        if (s->made[i] > after)
            assert_int_equal(next_revision(c, "ADDED"), s->made[i]);
    assert_int_equal(next_revision(c, NULL), 0);
}

/* ---- Tests. ---- */

/* The news of a client that does not take them do not grow past their bound: it is left behind, reads the log, and misses
 * nothing. Once it has caught up it is live again. */
static void test_slow_client(void **state)
{
    struct site *s = *state;
    struct client c;
    rev before = store_revision(s->server.api->store);
    start_at(s, &c, before);
    take_all(s, &c, 4096);
    const struct watch *w = only_watch(s);
    assert_int_equal(w->state, WATCH_LIVE);
    for (size_t i = 0; i < 12; i++) {
        create(s, i * 50, 50, 1000);
        assert_true(w->group->n_news <= WATCH_NEWS_MAX);
    }
    assert_true(w->news->is_cut);
    take_all(s, &c, 700);
    assert_int_equal(w->state, WATCH_LIVE);
    assert_int_equal(w->group->n_news, 0);
    assert_int_equal(s->server.api->watches->text_bytes, 0);
    create(s, 600, 3, 10);
    loop_turn(s->server.loop, 0);
    assert_true(c.is_resumed);
    assert_int_equal(w->group->n_news, 3);
    take_all(s, &c, 4096);
    assert_all_since(s, &c, before);
    hang_up(&c);
}

/* Texts are made when they are sent and kept while somebody has yet to send them, within bounds: what was given up is made
 * again. */
static void test_texts_are_bounded(void **state)
{
    enum { LARGE = 1000 * 1000, N = WATCH_TEXTS_BYTES / LARGE + 5 };
    struct site *s = *state;
    struct client fast, slow;
    rev before = store_revision(s->server.api->store);
    start_at(s, &fast, before);
    start_at(s, &slow, before);
    take_all(s, &fast, 4096);
    take_all(s, &slow, 4096);
    size_t most = 0;
    for (size_t i = 0; i < N; i++) {
        create(s, i, 1, LARGE);
        take_all(s, &fast, 4096);
        size_t bytes = s->server.api->watches->text_bytes;
        assert_true(bytes <= WATCH_TEXTS_BYTES);
        most = bytes > most ? bytes : most;
    }
    assert_true(most > WATCH_TEXTS_BYTES - 2 * LARGE);
    take_all(s, &slow, 4096);
    assert_int_equal(s->server.api->watches->text_bytes, 0);
    assert_all_since(s, &fast, before);
    assert_all_since(s, &slow, before);
    hang_up(&fast);
    hang_up(&slow);
}

/* Whatever the pace of writers and watchers, from wherever they begin: every change once, in order. */
static void test_any_pace(void **state)
{
    enum { CLIENTS = 6, STEPS = 400 };
    struct site *s = *state;
    struct random_seeded fake = {.state = 20261115};
    struct random random = random_of_seed(&fake);
    struct client clients[CLIENTS];
    rev begins[CLIENTS], first = store_revision(s->server.api->store);
    size_t n = 0, made = 0;
    for (size_t step = 0; step < STEPS; step++) {
        uint32_t dice = random_below(&random, 10);
        if (dice < 2) {
            create(s, made, 1 + random_below(&random, 3), random_below(&random, 3000));
            made = s->n_done;
        } else if (dice < 3 && made) { /* in flight while the watches are served */
            for (size_t i = 0; i < 40; i++)
                send_one(s, made + i, 9000);
            made += 40;
        } else if (dice < 4 && n < CLIENTS) {
            rev now = store_revision(s->server.api->store);
            begins[n] = first + random_below(&random, (uint32_t)(now - first + 1));
            start_at(s, &clients[n], begins[n]);
            n++;
        } else if (n) {
            struct client *c = &clients[random_below(&random, (uint32_t)n)];
            if (c->is_resumed || c->last == HTTP_MORE)
                take(c, 1 + random_below(&random, 20000));
        }
        loop_turn(s->server.loop, 0);
    }
    settle(s);
    assert_int_equal(n, CLIENTS);
    for (size_t i = 0; i < n; i++) {
        take_all(s, &clients[i], 5000);
        assert_all_since(s, &clients[i], begins[i]);
        hang_up(&clients[i]);
    }
    assert_int_equal(s->server.api->watches->text_bytes, 0);
}

/* When history is cut off in front of a client that is behind, it hears 410, and that was it. */
static void test_cut_off(void **state)
{
    struct site *s = *state;
    struct client c;
    start_at(s, &c, store_revision(s->server.api->store));
    take_all(s, &c, 4096);
    create(s, 0, 40, 10000);
    for (int i = 0; i < 3; i++) {
        clock_fake_advance(&s->server.time, INT64_C(100) * 1000000000);
        create(s, 100 + 2 * (size_t)i, 2, 0);
    }
    take_all(s, &c, 100000);
    assert_int_equal(c.last, HTTP_END);
    str line;
    assert_true(next_line(&c, &line));
    assert_true(
        str_has_prefix(line, S("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","
                               "\"metadata\":{},\"status\":\"Failure\",\"message\":\"too old resource version: ")));
    assert_true(str_has_suffix(line, S("\"reason\":\"Expired\",\"code\":410}}")));
    assert_false(next_line(&c, &line));
    hang_up(&c);
}

/* Many objects that do not fit are not looked at all in one go. */
static void test_step_aside(void **state)
{
    struct site *s = *state;
    struct client c, gone;
    create(s, 0, 2100, 0);
    start(s, &c, "watch=1&labelSelector=a%3Db");
    assert_int_equal(take(&c, 4096), HTTP_WAIT);
    assert_false(c.is_resumed);
    assert_int_equal(only_watch(s)->state, WATCH_INITIAL);
    loop_turn(s->server.loop, 0);
    assert_true(c.is_resumed);
    assert_int_equal(take(&c, 4096), HTTP_WAIT);
    assert_int_equal(only_watch(s)->state, WATCH_LIVE);
    assert_int_equal(c.body.n, 0);
    hang_up(&c);
    start(s, &gone, "watch=1&labelSelector=a%3Db");
    assert_int_equal(take(&gone, 4096), HTTP_WAIT);
    hang_up(&gone); /* before its turn comes */
    loop_turn(s->server.loop, 0);
}

static void listed(void *ctx, int status, struct http_headers headers, str body)
{
    assert_int_equal(status, 200);
    assert_true(str_has_prefix(body, S("apiVersion: v1\nitems: []\nkind: ConfigMapList\n")));
    *(bool *)ctx = true;
}

/* Nor does a list lose its way where others have their turn. */
static void test_list_of_none_among_many(void **state)
{
    struct site *s = *state;
    bool is_listed = false;
    create(s, 0, 2100, 0);
    struct loopback_call call = {
        .who = server_admin,
        .method = S("GET"),
        .target = S("/api/v1/namespaces/default/configmaps?labelSelector=a%3Db"),
        .accept = S("application/yaml"),
        .done = listed,
        .ctx = &is_listed,
    };
    loopback_start(s->server.api, &call);
    while (!is_listed)
        loop_turn(s->server.loop, -1);
}

/* Clients go away at any time; what was theirs goes with them. */
static void test_hang_up(void **state)
{
    struct site *s = *state;
    struct client c;
    create(s, 0, 20, 1000);
    rev now = store_revision(s->server.api->store);
    start(s, &c, "watch=1&allowWatchBookmarks=1"); /* before anything was taken */
    hang_up(&c);
    start(s, &c, "watch=1&labelSelector=!a"); /* amid what there is */
    assert_int_equal(take(&c, 3000), HTTP_MORE);
    hang_up(&c);
    start_at(s, &c, now - 15); /* amid the log */
    assert_int_equal(take(&c, 3000), HTTP_MORE);
    hang_up(&c);
    start_at(s, &c, now); /* amid the news */
    take_all(s, &c, 4096);
    create(s, 20, 10, 1000);
    assert_int_equal(take(&c, 3000), HTTP_MORE);
    assert_true(only_watch(s)->group->n_news > 0);
    hang_up(&c);
    assert_int_equal(watch_count(s->server.api->watches), 0);
    assert_int_equal(s->server.api->watches->text_bytes, 0);
    assert_int_equal(s->server.api->watches->groups.n, 0);
    assert_int_equal(s->server.api->watches->views.n, 0);
    create(s, 30, 1, 0); /* nobody is there to be told */
}

/* The time of one that hung up runs out for nobody. */
static void test_hang_up_in_time(void **state)
{
    struct site *s = *state;
    struct client gone, stays;
    start(s, &gone, "watch=1&timeoutSeconds=1");
    take_all(s, &gone, 4096);
    hang_up(&gone);
    start(s, &stays, "watch=1&timeoutSeconds=1");
    take_all(s, &stays, 4096);
    while (!stays.is_resumed)
        loop_turn(s->server.loop, -1);
    assert_int_equal(take(&stays, 4096), HTTP_END);
    hang_up(&stays);
}

/* A watch that waits holds nothing of its request; those that look alike share one text of an event. */
static void test_idle(void **state)
{
    enum { CLIENTS = 100 };
    struct site *s = *state;
    static struct client clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        start_at(s, &clients[i], store_revision(s->server.api->store));
        take_all(s, &clients[i], 4096);
        assert_int_equal(arena_footprint(&clients[i].x.arena), 0);
    }
    create(s, 0, 1, 1000);
    for (size_t i = 0; i < CLIENTS; i++) {
        take_all(s, &clients[i], 4096);
        size_t bytes = s->server.api->watches->text_bytes;
        assert_true(clients[i].body.n > 1000 && clients[i].body.n < 2000);
        assert_int_equal(bytes, i + 1 < CLIENTS ? clients[i].body.n : 0);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        hang_up(&clients[i]);
    assert_int_equal(s->server.api->watches->text_bytes, 0);
}

/* A server that goes away ends its watches, after what is queued. */
static void test_drain(void **state)
{
    struct site *s = *state;
    struct client c, late;
    start_at(s, &c, store_revision(s->server.api->store));
    take_all(s, &c, 4096);
    create(s, 0, 1, 0);
    api_drain(s->server.api);
    take_all(s, &c, 4096);
    assert_int_equal(c.last, HTTP_END);
    assert_true(next_revision(&c, "ADDED") > 0);
    hang_up(&c);
    start(s, &late, "watch=1");
    take_all(s, &late, 4096);
    assert_int_equal(late.last, HTTP_END);
    hang_up(&late);
}

/* ---- Many watches. ---- */

enum { CROWD = 300, SLICE_VISITS = WATCH_SLICE / (WATCH_SLICE_LOOK + WATCH_SLICE_SEND) };

static struct client crowd[CROWD];

static size_t count_resumed(void)
{
    size_t n = 0;
    for (size_t i = 0; i < CROWD; i++)
        n += crowd[i].is_resumed;
    return n;
}

static void start_crowd(struct site *s)
{
    for (size_t i = 0; i < CROWD; i++) {
        start_at(s, &crowd[i], store_revision(s->server.api->store));
        take_all(s, &crowd[i], 4096);
    }
    assert_int_equal(count_resumed(), 0);
}

static void assert_none_resumed(struct site *s)
{
    assert_int_equal(count_resumed(), 0);
}

/* A write is answered before any watch is woken for it, however many there are. */
static void test_answer_comes_first(void **state)
{
    struct site *s = *state;
    rev before = store_revision(s->server.api->store);
    start_crowd(s);
    s->on_written = assert_none_resumed;
    create(s, 0, 1, 100);
    s->on_written = NULL;
    while (count_resumed() < CROWD)
        loop_turn(s->server.loop, 0);
    for (size_t i = 0; i < CROWD; i++) {
        take_all(s, &crowd[i], 4096);
        assert_all_since(s, &crowd[i], before);
        hang_up(&crowd[i]);
    }
}

static void got(void *ctx, int status, struct http_headers headers, str body)
{
    assert_int_equal(status, 200);
    ++*(size_t *)ctx;
}

/* Delivery takes turns of the loop, a slice of the watches in each; other requests are served in between. */
static void test_delivery_in_slices(void **state)
{
    struct site *s = *state;
    size_t before, n_got = 0, slices = 0;
    start_crowd(s);
    create(s, 0, 1, 100);
    while ((before = count_resumed()) < CROWD) {
        struct loopback_call call = {
            .who = server_admin,
            .method = S("GET"),
            .target = S("/api/v1/namespaces/default/configmaps/cm-0"),
            .done = got,
            .ctx = &n_got,
        };
        loopback_start(s->server.api, &call);
        loop_turn(s->server.loop, 0);
        assert_int_equal(n_got, ++slices);
        assert_true(count_resumed() <= before + SLICE_VISITS);
    }
    assert_true(slices >= CROWD / SLICE_VISITS);
    for (size_t i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
}

/* A large object takes the time of many small ones: fewer watches are woken in one turn. */
static void test_slices_count_bytes(void **state)
{
    struct site *s = *state;
    size_t before;
    start_crowd(s);
    create(s, 0, 1, 200000);
    while ((before = count_resumed()) < CROWD) {
        loop_turn(s->server.loop, 0);
        assert_true(count_resumed() <= before + SLICE_VISITS / 8);
    }
    for (size_t i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
}

/* Watches of one connection send together: a slice wakes more of them, and so the connection sends less often. */
static void test_slices_count_sends(void **state)
{
    struct site *s = *state;
    start_crowd(s);
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].shares_connection = i % 50 != 0;
    create(s, 0, 1, 100);
    for (size_t slices = 0; count_resumed() < CROWD; slices++) {
        assert_int_equal(slices, 0);
        loop_turn(s->server.loop, 0);
    }
    for (size_t i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
}

/* Watches of a namespace do not wait until all watches of one object in it have been served. */
static void test_groups_take_turns(void **state)
{
    struct site *s = *state;
    struct client other;
    for (size_t i = 0; i < CROWD; i++) {
        start(s, &crowd[i], "watch=1&fieldSelector=metadata.name%3Dcm-0");
        take_all(s, &crowd[i], 4096);
    }
    start_at(s, &other, store_revision(s->server.api->store));
    take_all(s, &other, 4096);
    create(s, 0, 1, 100);
    while (!other.is_resumed)
        loop_turn(s->server.loop, 0);
    assert_in_range(count_resumed(), 1, 2 * SLICE_VISITS);
    hang_up(&other);
    for (size_t i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
}

/* Writes go on while earlier ones are delivered, watches with and without selectors take them at their own pace, hang up and
 * come: whoever stays gets every change once, in order. */
static void test_writes_during_delivery(void **state)
{
    enum { STEPS = 1500, WRITES = 1000 };
    static const char *const queries[] = {"", "&labelSelector=!a", "&labelSelector=a"};
    struct site *s = *state;
    struct random_seeded fake = {.state = 42};
    struct random random = random_of_seed(&fake);
    rev begins[CROWD];
    size_t sent = 0;
    for (size_t step = 0; step < STEPS; step++) {
        size_t i = step < CROWD ? step : random_below(&random, CROWD);
        struct client *c = &crowd[i];
        if (step < CROWD || random_below(&random, 20) == 0) { /* a new one, in the place of another that hangs up */
            char query[96];
            if (step >= CROWD)
                hang_up(c);
            begins[i] = store_revision(s->server.api->store);
            (void)snprintf(query, sizeof query, "watch=1&resourceVersion=%llu%s", (unsigned long long)begins[i],
                           queries[i % 3]);
            start(s, c, query);
        }
        for (size_t k = 0; k < 20; k++) {
            c = &crowd[random_below(&random, step < CROWD ? (uint32_t)step + 1 : CROWD)];
            if (c->is_resumed || c->last == HTTP_MORE)
                take(c, 1 + random_below(&random, 3000));
        }
        if (sent < WRITES && random_below(&random, 3) == 0)
            send_one(s, sent++, random_below(&random, 600));
        loop_turn(s->server.loop, 0);
    }
    settle(s);
    while (s->server.api->watches->due)
        loop_turn(s->server.loop, 0);
    for (size_t i = 0; i < CROWD; i++) {
        take_all(s, &crowd[i], 5000);
        assert_all_since(s, &crowd[i], i % 3 == 2 ? UINT64_MAX : begins[i]);
        hang_up(&crowd[i]);
    }
    assert_int_equal(s->server.api->watches->text_bytes, 0);
}

/* Whatever ends watches in the middle of a delivery, they send what was published before, and then end. */
static void end_amid_delivery(struct site *s, void (*end)(struct site *s))
{
    rev before = store_revision(s->server.api->store);
    start_crowd(s);
    create(s, 0, 1, 100);
    assert_true(count_resumed() < CROWD);
    for (size_t i = 0; i < CROWD; i += 7)
        hang_up(&crowd[i]);
    end(s);
    for (size_t i = 0; i < CROWD; i++) {
        if (i % 7 == 0)
            continue;
        assert_true(crowd[i].is_resumed);
        take_all(s, &crowd[i], 4096);
        assert_int_equal(crowd[i].last, HTTP_END);
        assert_all_since(s, &crowd[i], before);
        hang_up(&crowd[i]);
    }
    assert_null(s->server.api->watches->due);
}

static void end_by_drain(struct site *s)
{
    api_drain(s->server.api);
}

static void end_by_kind(struct site *s)
{
    watch_end_kind(s->server.api->watches, api_table(s->server.api, kind_builtin_by_body(S("v1"), S("ConfigMap"))));
    assert_true(s->server.api->watches->text_bytes > 0); /* made before the kind changes */
}

static void test_drain_amid_delivery(void **state)
{
    end_amid_delivery(*state, end_by_drain);
}

static void test_kind_ends_amid_delivery(void **state)
{
    end_amid_delivery(*state, end_by_kind);
}

static void test_bookmark_times(void **state)
{
    const int64_t second = 1000000000, hour = 3600 * second;
    assert_int_equal(watch_bookmark_time(10 * second, hour), 70 * second);
    assert_int_equal(watch_bookmark_time(hour - 63 * second, hour), hour - 3 * second);
    assert_int_equal(watch_bookmark_time(hour - 62 * second, hour), hour - 2 * second);
    assert_int_equal(watch_bookmark_time(hour - 30 * second, hour), hour - 2 * second);
    assert_int_equal(watch_bookmark_time(hour - 2 * second, hour), 0);
    assert_int_equal(watch_bookmark_time(hour - second, hour), 0);
}

#define WITH_SITE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SITE(test_slow_client),
        WITH_SITE(test_texts_are_bounded),
        WITH_SITE(test_any_pace),
        WITH_SITE(test_cut_off),
        WITH_SITE(test_step_aside),
        WITH_SITE(test_list_of_none_among_many),
        WITH_SITE(test_hang_up),
        WITH_SITE(test_hang_up_in_time),
        WITH_SITE(test_idle),
        WITH_SITE(test_drain),
        WITH_SITE(test_answer_comes_first),
        WITH_SITE(test_delivery_in_slices),
        WITH_SITE(test_slices_count_bytes),
        WITH_SITE(test_slices_count_sends),
        WITH_SITE(test_groups_take_turns),
        WITH_SITE(test_writes_during_delivery),
        WITH_SITE(test_drain_amid_delivery),
        WITH_SITE(test_kind_ends_amid_delivery),
        cmocka_unit_test(test_bookmark_times),
    };
    return cmocka_run_group_tests_name("api/watch", tests, NULL, NULL);
}
