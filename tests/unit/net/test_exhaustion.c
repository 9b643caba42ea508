/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer can make the server hold, before and after it is known who it is. */
#include "lib/keys.h"
#include "peer.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct testserver server;
static size_t heads;

/* /refused is answered by its head. "known" in X-Test is a credential. */
static void judge_head(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    heads++;
    x->is_known = str_eq(http_header(x, S("x-test")), S("known"));
    if (str_eq(x->path, S("/refused")))
        http_answer(x, 403, (struct http_headers){0}, S("refused"));
}

static void start(const struct http_limits *limits)
{
    heads = 0;
    testserver_start_with_head(&server, limits, judge_head);
}

static void stop(struct peer *p)
{
    peer_done(p);
    testserver_settle(&server);
    testserver_stop(&server);
}

/* Waits until the text has come, and takes everything up to its end. */
static bool has_come(struct peer *p, const char *text)
{
    if (p->in.n == 0)
        return false;
    ptrdiff_t at = str_find((str){p->in.p + p->at, p->in.n - p->at}, str_of(text));
    if (at >= 0)
        p->at += (size_t)at + strlen(text);
    return at >= 0;
}

static void expect(struct peer *p, const char *text)
{
    TURN_UNTIL(p, has_come(p, text));
}

static void put(struct peer *p, const char *text)
{
    buf_add_str(&p->out, str_of(text));
}

static void send_head(struct peer *p, uint32_t id, int flags, const char *method, const char *path)
{
    struct buf b = {0};
    peer_pseudo(&b, str_of(method), str_of(path));
    peer_field(&b, S("x-test"), S("known"));
    peer_frame(p, HEADERS, END_HEADERS | flags, id, buf_str(&b));
    buf_done(&b);
}

/* ---- Heads are judged before bodies are read. ---- */

static void h1_skips_bodies_of_refused_heads(void **state)
{
    start(NULL);
    struct peer p = peer_connect(&server);
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    expect(&p, "HTTP/1.1 403 ");
    put(&p, "56789GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "hello");
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n");
    expect(&p, "refused");
    put(&p, "2\r\nef\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "hello");
    assert_int_equal(heads, 4);
    assert_int_equal(server.handled, 2);
    stop(&p);
}

static void h1_reads_no_long_bodies_of_refused_heads(void **state)
{
    static const char *const starts[] = {
        "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc",
        "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    };
    start(NULL);
    for (size_t i = 0; i < 2; i++) {
        struct peer p = peer_connect(&server);
        put(&p, starts[i]);
        expect(&p, "HTTP/1.1 403 ");
        assert_int_equal(p.at, strlen("HTTP/1.1 403 ")); /* no 100 before it */
        expect(&p, "Connection: close\r\n");
        TURN_UNTIL(&p, p.is_ended);
        peer_done(&p);
    }
    struct peer p = peer_connect(&server);
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect(&p, "refused");
    for (int i = 0; i < 400; i++) {
        put(&p, "400\r\n");
        for (int k = 0; k < 64; k++)
            put(&p, "0123456789abcdef");
        put(&p, "\r\n");
    }
    TURN_UNTIL(&p, p.is_ended);
    assert_int_equal(server.handled, 0);
    stop(&p);
}

static void h1_asks_the_head_before_the_body(void **state)
{
    start(NULL);
    struct peer p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect(&p, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(heads, 1);
    assert_int_equal(server.handled, 0);
    put(&p, "12345");
    expect(&p, "12345");
    assert_int_equal(heads, 1);
    stop(&p);
}

static void h2_keeps_nothing_of_refused_bodies(void **state)
{
    static char body[4000];
    struct seen f;
    start(NULL);
    struct peer p = peer_connect(&server);
    peer_greet(&p, 65535);
    send_head(&p, 1, 0, "POST", "/refused");
    peer_frame(&p, DATA, 0, 1, (str){body, sizeof body});
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 403);
    assert_true(peer_find(&p, RST_STREAM, 1, &f));
    assert_int_equal(peer_code(&f), NO_ERROR);
    assert_int_equal(http_server_stats(server.server).body_bytes, 0);
    send_head(&p, 3, 0, "POST", "/echo");
    peer_frame(&p, DATA, END_STREAM, 3, S("abc"));
    assert_true(peer_find(&p, DATA, 3, &f));
    assert_int_equal(f.payload.n, 3);
    send_head(&p, 5, END_STREAM, "GET", "/refused");
    assert_true(peer_find(&p, DATA, 5, &f));
    assert_true(str_eq(f.payload, S("refused")));
    assert_int_equal(heads, 3);
    assert_int_equal(server.handled, 1);
    stop(&p);
}

/* ---- Answers that are not taken. ---- */

enum { LARGE = 100000 };

/* /big: an answer of LARGE bytes. */
static bool answer_big(struct testserver *t, struct http_exchange *x)
{
    (void)t;
    if (!str_eq(x->path, S("/big")))
        return false;
    char *p = arena_zalloc(&x->arena, LARGE);
    http_answer(x, 200, (struct http_headers){0}, (str){p, LARGE});
    return true;
}

static struct http_server_stats stats(void)
{
    return http_server_stats(server.server);
}

/* Without a window there is one answer at a time, and nothing is left of its request. */
static void begins_no_work_that_cannot_be_answered(void **state)
{
    enum { STREAMS = 50 };
    struct seen f;
    start(NULL);
    server.also = answer_big;
    struct peer p = peer_connect(&server);
    peer_greet(&p, 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        send_head(&p, 2 * i + 1, END_STREAM, "GET", "/big");
    TURN_UNTIL(&p, p.out.n == 0 && stats().answer_bytes > 0);
    for (int i = 0; i < 20; i++)
        peer_turn(&p);
    assert_int_equal(server.handled, 1);
    assert_int_equal(server.gone, 1);
    assert_int_equal(stats().answer_bytes, LARGE);
    peer_assert_serves(&server);
    /* Once the peer takes its answers, it gets them all. */
    peer_frame(&p, SETTINGS, 0, 0, S("\0\x4\x7f\xff\xff\xff"));
    peer_window(&p, 0, 0x7fff0000);
    for (uint32_t ended = 0; ended < STREAMS;) {
        TURN_UNTIL(&p, peer_next(&p, &f));
        assert_int_not_equal(f.type, RST_STREAM);
        ended += f.type == DATA && (f.flags & END_STREAM);
    }
    assert_int_equal(stats().answer_bytes, 0);
    stop(&p);
}

/* With a window that is used up by the first of them. */
static void holds_few_answers_of_one_connection(void **state)
{
    struct http_limits limits = {.answers_bytes = (size_t)3 * LARGE};
    start(&limits);
    server.also = answer_big;
    struct peer p = peer_connect(&server);
    peer_greet(&p, 65535);
    for (uint32_t i = 0; i < 50; i++)
        send_head(&p, 2 * i + 1, END_STREAM, "GET", "/big");
    TURN_UNTIL(&p, p.out.n == 0 && stats().answer_bytes > 0);
    for (int i = 0; i < 20; i++)
        peer_turn(&p);
    assert_in_range(stats().answer_bytes, 1, 3 * LARGE + LARGE);
    assert_in_range(server.handled, 1, 4);
    peer_assert_serves(&server);
    stop(&p);
    assert_int_equal(server.handled, server.gone);
}

/* Those that were at work before the window closed: past eight times the limit they are given up. */
static void gives_up_answers_nobody_takes(void **state)
{
    enum { STREAMS = 20 };
    static char body[LARGE];
    struct http_limits limits = {.answers_bytes = LARGE};
    struct seen f;
    start(&limits);
    struct peer p = peer_connect(&server);
    peer_greet(&p, 1000);
    for (uint32_t i = 0; i < STREAMS; i++)
        send_head(&p, 2 * i + 1, END_STREAM, "GET", "/later");
    TURN_UNTIL(&p, server.n_later == STREAMS);
    for (size_t i = 0; i < STREAMS; i++)
        testserver_answer(&server, i, 200, (str){body, LARGE});
    assert_in_range(stats().answer_bytes, LARGE, 8 * LARGE);
    assert_true(peer_find(&p, RST_STREAM, 2 * STREAMS - 1, &f));
    assert_int_equal(peer_code(&f), ENHANCE_YOUR_CALM);
    stop(&p);
}

/* The connection that holds most makes place for the others. */
static void bounds_all_answers_together(void **state)
{
    static char body[LARGE];
    struct http_limits limits = {.answers_all_bytes = (size_t)5 * LARGE};
    start(&limits);
    struct peer few = peer_connect(&server), many = peer_connect(&server);
    peer_greet(&few, 1);
    peer_greet(&many, 1);
    send_head(&few, 1, END_STREAM, "GET", "/later");
    TURN_UNTIL(&few, server.n_later == 1);
    testserver_answer(&server, 0, 200, (str){body, LARGE});
    for (uint32_t i = 0; i < 5; i++)
        send_head(&many, 2 * i + 1, END_STREAM, "GET", "/later");
    TURN_UNTIL(&many, server.n_later == 6);
    for (size_t i = 1; i < 6; i++)
        testserver_answer(&server, i, 200, (str){body, LARGE});
    TURN_UNTIL(&many, many.is_ended);
    peer_turn(&few);
    assert_false(few.is_ended);
    assert_int_equal(stats().answer_bytes, LARGE);
    assert_int_equal(stats().evicted, 1);
    peer_done(&many);
    stop(&few);
}

/* However many requests they answer, equal bodies are in memory once. */
static void holds_equal_answers_once(void **state)
{
    enum { STREAMS = 6 };
    static char body[LARGE];
    struct peer p, quiet, other;
    struct seen f;
    start(NULL);
    server.also = answer_big;
    p = peer_connect(&server);
    peer_greet(&p, 1);
    for (uint32_t i = 0; i < STREAMS; i++)
        send_head(&p, 2 * i + 1, END_STREAM, "GET", "/later");
    TURN_UNTIL(&p, server.n_later == STREAMS);
    for (size_t i = 0; i < STREAMS; i++)
        testserver_answer(&server, i, 200, (str){body, LARGE});
    assert_int_equal(stats().answer_bytes, STREAMS * LARGE);
    assert_int_equal(stats().shared_bytes, LARGE);
    /* Over HTTP/1.1, too, where a peer that sends no more still gets its answer. */
    quiet = peer_connect(&server);
    put(&quiet, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    TURN_UNTIL(&quiet, quiet.out.n == 0);
    assert_int_equal(shutdown(quiet.fd, SHUT_WR), 0);
    TURN_UNTIL(&quiet, quiet.in.n > LARGE);
    TURN_UNTIL(&quiet, quiet.is_ended);
    peer_done(&quiet);
    assert_int_equal(stats().shared_bytes, LARGE);
    body[LARGE - 1] = 'x'; /* another text */
    other = peer_connect(&server);
    peer_greet(&other, 1);
    send_head(&other, 1, END_STREAM, "GET", "/later");
    TURN_UNTIL(&other, server.n_later == STREAMS + 1);
    testserver_answer(&server, STREAMS, 200, (str){body, LARGE});
    assert_int_equal(stats().shared_bytes, 2 * LARGE);
    peer_done(&other);
    TURN_UNTIL(&p, stats().shared_bytes == LARGE);
    /* All of it arrives. */
    peer_frame(&p, SETTINGS, 0, 0, S("\0\x4\x7f\xff\xff\xff"));
    peer_window(&p, 0, 0x7fff0000);
    size_t bytes = 0;
    for (uint32_t ended = 0; ended < STREAMS;) {
        TURN_UNTIL(&p, peer_next(&p, &f));
        bytes += f.type == DATA ? f.payload.n : 0;
        ended += f.type == DATA && (f.flags & END_STREAM);
    }
    assert_int_equal(bytes, STREAMS * LARGE);
    assert_int_equal(stats().shared_bytes, 0);
    stop(&p);
}

/* Peers of HTTP/1.1 that do not read hold what the kernel does not, and the text once. */
static void holds_equal_answers_once_for_h1(void **state)
{
    enum { PEERS = 8, LONG = 12 << 20 }; /* more than the kernel takes */
    static char body[LONG];
    struct peer p[PEERS];
    start(NULL);
    for (size_t i = 0; i < PEERS; i++) {
        p[i] = peer_connect(&server);
        put(&p[i], "GET /later HTTP/1.1\r\nHost: x\r\nX-Test: known\r\n\r\n");
        TURN_UNTIL(&p[i], server.n_later == i + 1);
        testserver_answer(&server, i, 200, (str){body, LONG});
        for (int turn = 0; turn < 5; turn++)
            loop_turn(server.loop, 0);
    }
    assert_int_equal(stats().shared_bytes, LONG);
    assert_in_range(stats().answer_bytes, LONG, PEERS * (LONG + 1000));
    for (size_t i = 0; i < PEERS; i++) {
        if (i % 2) /* others just go away */
            TURN_UNTIL(&p[i], p[i].in.n > LONG);
        peer_done(&p[i]);
    }
    testserver_settle(&server);
    assert_int_equal(stats().shared_bytes, 0);
    testserver_stop(&server);
}

/* ---- Peers that nobody knows. ---- */

static void known_peer(struct peer *p)
{
    *p = peer_connect(&server);
    put(p, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Test: known\r\n\r\n");
    expect(p, "hello");
}

static void fill_head(struct peer *p, size_t n)
{
    put(p, "GET /hello HTTP/1.1\r\nHost: x\r\nX: ");
    for (size_t i = 0; i < n / 16; i++)
        put(p, "0123456789abcdef");
}

/* Heads that never end: the oldest go, known peers do not, and whoever can be known is served. */
static void unknown_heads_make_place_for_others(void **state)
{
    enum { PEERS = 10, HEAD = 48000 };
    struct http_limits limits = {.unknown_all_bytes = (size_t)5 * HEAD};
    struct peer known, p[PEERS];
    size_t ended = 0;
    start(&limits);
    known_peer(&known);
    for (size_t i = 0; i < PEERS; i++) {
        p[i] = peer_connect(&server);
        fill_head(&p[i], HEAD);
        TURN_UNTIL(&p[i], p[i].out.n == 0);
        TURN_UNTIL(&p[i], stats().unknown_bytes > (i < 4 ? i : 3) * HEAD);
        assert_in_range(stats().unknown_bytes, 0, 5 * HEAD);
    }
    for (size_t i = 0; i < PEERS; i++) {
        peer_turn(&p[i]);
        ended += p[i].is_ended;
        assert_true(p[i].is_ended || i >= 4);
    }
    assert_in_range(ended, 5, PEERS - 1);
    put(&known, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&known, "hello");
    peer_done(&known);
    known_peer(&known);
    for (size_t i = 0; i < PEERS; i++)
        peer_done(&p[i]);
    stop(&known);
    assert_int_equal(server.handled, 3);
}

/* The connections of one address make place for each other, those of another address do not. */
static void unknown_peers_share_by_address(void **state)
{
    enum { PEERS = 6, HEAD = 8000, OTHER = 0x7f000002 };
    struct http_limits limits = {.unknown_address_bytes = (size_t)3 * HEAD};
    struct peer other, p[PEERS];
    start(&limits);
    other = peer_connect_from(&server, OTHER);
    fill_head(&other, HEAD);
    TURN_UNTIL(&other, stats().unknown_bytes >= HEAD);
    for (size_t i = 0; i < PEERS; i++) {
        p[i] = peer_connect(&server);
        fill_head(&p[i], HEAD);
        TURN_UNTIL(&p[i], p[i].out.n == 0);
        TURN_UNTIL(&p[i], stats().unknown_bytes > HEAD + (i < 2 ? i : 1) * HEAD);
        assert_in_range(stats().unknown_bytes, 0, 4 * HEAD);
    }
    assert_in_range(stats().evicted, PEERS - 3, PEERS - 2);
    peer_turn(&p[0]);
    assert_true(p[0].is_ended); /* the oldest of its address, though not of all */
    put(&other, "\r\n\r\n");
    expect(&other, "hello");
    for (size_t i = 0; i < PEERS; i++)
        peer_done(&p[i]);
    stop(&other);
}

/* The same for the number of connections, once they are a second old. */
static void unknown_connections_are_limited_by_address(void **state)
{
    enum { PEERS = 4, OTHER = 0x7f000002 };
    struct http_limits limits = {.unknown_of_address = PEERS};
    struct peer other, p[PEERS + 1];
    start(&limits);
    other = peer_connect_from(&server, OTHER);
    TURN_UNTIL(&other, stats().accepted == 1);
    for (size_t i = 0; i < PEERS; i++) {
        p[i] = peer_connect(&server);
        TURN_UNTIL(&p[i], stats().accepted == i + 2);
    }
    int64_t old = loop_now(server.loop) + INT64_C(1000000000);
    while (loop_now(server.loop) < old)
        loop_turn(server.loop, old - loop_now(server.loop));
    p[PEERS] = peer_connect(&server);
    TURN_UNTIL(&p[PEERS], stats().evicted == 1);
    TURN_UNTIL(&p[0], p[0].is_ended);
    put(&other, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&other, "hello");
    for (size_t i = 0; i < PEERS + 1; i++)
        peer_done(&p[i]);
    stop(&other);
}

/* One connection of an unknown peer is refused more; a known one beside it has all it needs. */
static void unknown_bodies_have_a_share_of_their_own(void **state)
{
    struct http_limits limits = {.unknown_bytes = 2000, .bodies_bytes = 5000};
    struct peer known;
    start(&limits);
    struct peer p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    expect(&p, "HTTP/1.1 413 ");
    peer_done(&p);
    p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    TURN_UNTIL(&p, stats().body_bytes == 5);
    assert_in_range(stats().unknown_bytes, 5, 2000);
    known_peer(&known);
    put(&known, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4096\r\n\r\n");
    for (int i = 0; i < 256; i++)
        put(&known, "0123456789abcdef");
    expect(&known, "Content-Length: 4096");
    put(&p, "67890");
    expect(&p, "1234567890");
    peer_done(&known);
    stop(&p);
}

/* ---- Time and length. ---- */

static void cuts_off_trickling_bodies(void **state)
{
    struct http_limits limits = {.body_grace_ns = 20000000, .body_rate = 1 << 20};
    struct seen f;
    start(&limits);
    struct peer p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nX-Test: known\r\nContent-Length: 1000000\r\n\r\n");
    for (int i = 0; !p.is_ended && i < 100000; i++) {
        put(&p, "x");
        peer_turn_again(&p, i + 1000);
    }
    assert_true(p.is_ended);
    peer_done(&p);
    p = peer_connect(&server);
    peer_greet(&p, 65535);
    send_head(&p, 1, 0, "POST", "/echo");
    bool is_refused = false;
    for (int i = 0; !is_refused && i < 100000; i++) {
        peer_frame(&p, DATA, 0, 1, S("x"));
        peer_turn_again(&p, i + 1000);
        while (!is_refused && peer_next(&p, &f))
            is_refused = f.type == HEADERS && f.id == 1 && peer_status(&f) == 408;
    }
    assert_true(is_refused);
    assert_int_equal(server.handled, 0);
    stop(&p);
}

/* From the head to the end of the body, however steadily it comes. */
static void cuts_off_endless_bodies(void **state)
{
    struct http_limits limits = {.body_all_ns = 20000000, .body_rate = 1};
    start(&limits);
    struct peer p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nX-Test: known\r\nContent-Length: 1000000\r\n\r\n");
    for (int i = 0; !p.is_ended && i < 100000; i++) {
        put(&p, "x");
        peer_turn_again(&p, i + 1000);
    }
    assert_true(p.is_ended);
    assert_int_equal(server.handled, 0);
    stop(&p);
}

static void refuses_long_paths(void **state)
{
    struct http_limits limits = {.path_bytes = 16};
    struct seen f;
    start(&limits);
    struct peer p = peer_connect(&server);
    put(&p, "GET /what?01234567890123456789 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "GET /what ");
    put(&p, "GET /0123456789abcdef HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "HTTP/1.1 414 ");
    TURN_UNTIL(&p, p.is_ended);
    peer_done(&p);
    p = peer_connect(&server);
    peer_greet(&p, 65535);
    send_head(&p, 1, END_STREAM, "GET", "/0123456789abcdef");
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 414);
    assert_int_equal(server.handled, 1);
    stop(&p);
}

/* ---- Handshakes. ---- */

/* The first bytes of a TLS client. */
static str client_hello(struct arena *a)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl);
    char *p;
    long n = BIO_get_mem_data(out, &p);
    assert_true(n > 0);
    str hello = str_dup(a, (str){p, (size_t)n});
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return hello;
}

/* A crowd that shakes hands does not keep the others waiting: a few of them have their turn, then it is the others'. */
static void shakes_few_hands_in_one_turn(void **state)
{
    enum { PEERS = 60, TURN_MAX = 8 };
    struct arena a ARENA_SCOPE = {0};
    struct err err = {0};
    struct keys own = keys_make(&a, &(struct keys_options){.name = "localhost", .ends_in = 3600});
    struct tls_server_options options = {.certificate_pem = own.certificate, .key_pem = own.key};
    struct tls_context *tls;
    assert_int_equal(tls_server_new(&options, &tls, &err), 0);
    testserver_start(&server, NULL, tls);
    str hello = client_hello(&a);
    struct peer p[PEERS];
    for (size_t i = 0; i < PEERS; i++) {
        p[i] = peer_connect(&server);
        assert_int_equal(send(p[i].fd, hello.p, hello.n, 0), (ssize_t)hello.n);
    }
    size_t answered = 0;
    for (int turns = 0; answered < PEERS; turns++) {
        assert_true(turns < 20000);
        loop_turn(server.loop, turns > 1000 ? 1000000 : 0);
        size_t before = answered;
        char c;
        answered = 0;
        for (size_t i = 0; i < PEERS; i++)
            answered += recv(p[i].fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
        assert_in_range(answered - before, 0, TURN_MAX);
    }
    for (size_t i = 0; i < PEERS; i++)
        peer_done(&p[i]);
    testserver_settle(&server);
    testserver_stop(&server);
    tls_unref(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h1_skips_bodies_of_refused_heads),
        cmocka_unit_test(h1_reads_no_long_bodies_of_refused_heads),
        cmocka_unit_test(h1_asks_the_head_before_the_body),
        cmocka_unit_test(h2_keeps_nothing_of_refused_bodies),
        cmocka_unit_test(begins_no_work_that_cannot_be_answered),
        cmocka_unit_test(holds_few_answers_of_one_connection),
        cmocka_unit_test(gives_up_answers_nobody_takes),
        cmocka_unit_test(bounds_all_answers_together),
        cmocka_unit_test(holds_equal_answers_once),
        cmocka_unit_test(holds_equal_answers_once_for_h1),
        cmocka_unit_test(unknown_heads_make_place_for_others),
        cmocka_unit_test(unknown_peers_share_by_address),
        cmocka_unit_test(unknown_connections_are_limited_by_address),
        cmocka_unit_test(unknown_bodies_have_a_share_of_their_own),
        cmocka_unit_test(cuts_off_trickling_bodies),
        cmocka_unit_test(cuts_off_endless_bodies),
        cmocka_unit_test(refuses_long_paths),
        cmocka_unit_test(shakes_few_hands_in_one_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
