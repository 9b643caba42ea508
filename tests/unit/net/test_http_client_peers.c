/* SPDX-License-Identifier: Apache-2.0 */
/* The client against servers that do what ours never would; what they say is written byte by byte. */
#include "testclient.h"

#include "net/http_client_internal.h"
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server of one connection, in place of ours. */
struct script {
    struct testclient *f;
    int listener, fd;
    struct buf in; /* all that came */
};

/* The client has connected and sent what it wants to send. */
static struct script script_start(bool is_h2, struct http_client_options options)
{
    struct script s = {.f = testclient_start(is_h2, NULL), .fd = -1};
    s.listener = testclient_listen_instead(s.f);
    testclient_connect(s.f, options);
    return s;
}

static void script_accept(struct script *s)
{
    testserver_settle(&s->f->t);
    s->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(s->fd >= 0);
}

static void script_say(struct script *s, str bytes)
{
    assert_int_equal(send(s->fd, bytes.p, bytes.n, MSG_NOSIGNAL), bytes.n);
}

static void script_hear(struct script *s)
{
    testserver_settle(&s->f->t);
    char room[65536];
    for (ssize_t n; (n = recv(s->fd, room, sizeof room, MSG_DONTWAIT)) > 0;)
        buf_add(&s->in, room, (size_t)n);
}

#define SCRIPT_UNTIL(s, condition)                                   \
    do {                                                             \
        for (int turn_ = 0; script_hear(s), !(condition); turn_++) { \
            if (turn_ > 5000)                                        \
                fail_msg("never happened: %s", #condition);          \
            loop_turn((s)->f->t.loop, turn_ > 100 ? 1000000 : 0);    \
        }                                                            \
    } while (0)

static size_t script_count(const struct script *s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s->in.n; i++)
        n += s->in.p[i] == c;
    return n;
}

static void script_done(struct script *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    (void)close(s->listener);
    buf_done(&s->in);
    testclient_stop(s->f);
}

/* One frame of HTTP/2. */
static void script_frame(struct script *s, int type, int flags, uint32_t id, str payload)
{
    struct buf b = {0};
    char head[9] = {(char)(payload.n >> 16), (char)(payload.n >> 8), (char)payload.n, (char)type, (char)flags,
                    (char)(id >> 24),        (char)(id >> 16),       (char)(id >> 8), (char)id};
    buf_add(&b, head, sizeof head);
    buf_add_str(&b, payload);
    script_say(s, buf_str(&b));
    buf_done(&b);
}

/* Whether the client has sent a frame of this type for this stream; the last such payload is shown. */
static bool script_heard(struct script *s, int type, uint32_t id, str *ret)
{
    bool is_found = false;
    str rest = str_from(buf_str(&s->in), PEER_PREFACE.n);
    while (rest.n >= 9) {
        size_t n = peer_number(rest.p, 3);
        if (rest.n < 9 + n)
            break;
        if (rest.p[3] == type && peer_number(rest.p + 5, 4) == id) {
            *ret = str_upto(str_from(rest, 9), n);
            is_found = true;
        }
        rest = str_from(rest, 9 + n);
    }
    return is_found;
}

static const str STATUS_200 = S_INIT("\x88"), STATUS_100 = S_INIT("\x08\x03"
                                                                  "100");

/* ---- HTTP/2. ---- */

/* The head of the answer comes while the body of the request is still on its way; then room for the rest of it is made. */
static void answer_begins_before_the_request_ends(void **state)
{
    struct script s = script_start(true, (struct http_client_options){0});
    struct heard a = {0};
    enum { N = 100000 };
    char *body = malloc(N);
    memset(body, 'b', N);
    testclient_ask(s.f, &a, "POST", "/", (str){body, N});
    free(body);
    script_accept(&s);
    script_frame(&s, SETTINGS, 0, 0, (str){0});
    script_hear(&s);
    script_frame(&s, HEADERS, END_HEADERS, 1, STATUS_200);
    UNTIL(&s.f->t, a.status == 200);
    script_frame(&s, WINDOW_UPDATE, 0, 0, (str){"\0\1\0\0", 4});
    script_frame(&s, WINDOW_UPDATE, 0, 1, (str){"\0\1\0\0", 4});
    SCRIPT_UNTIL(&s, script_count(&s, 'b') >= N);
    script_frame(&s, DATA, END_STREAM, 1, S("done"));
    UNTIL(&s.f->t, a.is_over);
    assert_true(a.is_complete && heard_is(&a, "done"));
    heard_done(&a);
    script_done(&s);
}

/* A server that has answered need not read the rest of the request, and need not say so either. */
static void answer_ends_before_the_request(void **state)
{
    struct script s = script_start(true, (struct http_client_options){0});
    struct heard a = {0};
    char *body = calloc(1, 100000);
    testclient_ask(s.f, &a, "POST", "/", (str){body, 100000});
    free(body);
    script_accept(&s);
    script_frame(&s, SETTINGS, 0, 0, (str){0});
    script_hear(&s);
    script_frame(&s, HEADERS, END_HEADERS, 1,
                 S("\x48\x03"
                   "413")); /* :status, by its index */
    script_frame(&s, DATA, END_STREAM, 1, S("too large"));
    UNTIL(&s.f->t, a.is_over);
    assert_int_equal(a.status, 413);
    assert_true(a.is_complete && heard_is(&a, "too large"));
    str payload;
    SCRIPT_UNTIL(&s, script_heard(&s, RST_STREAM, 1, &payload));
    heard_done(&a);
    script_done(&s);
}

/* Refused: the server has not looked at it. Reset for any other reason: it may have. */
static void resets(void **state)
{
    static const struct {
        str code;
        enum err_code err;
        bool can_retry, has_head;
    } rows[] = {
        {S_INIT("\0\0\0\7"), ERR_UNAVAILABLE, true, false}, /* REFUSED_STREAM */
        {S_INIT("\0\0\0\7"), ERR_IO, false, true},          /* …though it has begun to answer */
        {S_INIT("\0\0\0\2"), ERR_IO, false, false},         /* INTERNAL_ERROR */
        {S_INIT("\0\0\0\0"), ERR_IO, false, false},         /* NO_ERROR, but no answer either */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct script s = script_start(true, (struct http_client_options){0});
        struct heard a = {0};
        testclient_ask(s.f, &a, "POST", "/", S("body"));
        script_accept(&s);
        script_frame(&s, SETTINGS, 0, 0, (str){0});
        script_hear(&s);
        if (rows[i].has_head)
            script_frame(&s, HEADERS, END_HEADERS, 1, STATUS_200);
        script_frame(&s, RST_STREAM, 0, 1, rows[i].code);
        UNTIL(&s.f->t, a.is_over);
        assert_false(a.is_complete);
        assert_int_equal(a.can_retry, rows[i].can_retry);
        assert_int_equal(a.err.code, rows[i].err);
        assert_true(http_client_can_call(s.f->client));
        heard_done(&a);
        script_done(&s);
    }
}

/* Interim answers are passed over; trailers too. */
static void interim_answers_and_trailers_h2(void **state)
{
    struct script s = script_start(true, (struct http_client_options){0});
    struct heard a = {0};
    testclient_ask(s.f, &a, "GET", "/", (str){0});
    script_accept(&s);
    script_frame(&s, SETTINGS, 0, 0, (str){0});
    script_hear(&s);
    script_frame(&s, HEADERS, END_HEADERS, 1, STATUS_100);
    testserver_settle(&s.f->t);
    assert_int_equal(a.status, 0);
    script_frame(&s, HEADERS, END_HEADERS, 1, STATUS_200);
    script_frame(&s, DATA, 0, 1, S("body"));
    script_frame(&s, HEADERS, END_HEADERS | END_STREAM, 1, (str){"\0\1t\1v", 5});
    UNTIL(&s.f->t, a.is_over);
    assert_int_equal(a.status, 200);
    assert_true(a.is_complete && heard_is(&a, "body"));
    heard_done(&a);
    script_done(&s);
}

/* The limit of the first SETTINGS holds, and a later one too. */
static void limits_of_settings(void **state)
{
    struct script s = script_start(true, (struct http_client_options){0});
    struct heard a = {0}, b = {0}, c = {0};
    script_accept(&s);
    script_frame(&s, SETTINGS, 0, 0, (str){"\0\3\0\0\0\1", 6});
    UNTIL(&s.f->t, s.f->n_ready == 1);
    testclient_ask(s.f, &a, "GET", "/", (str){0});
    testclient_ask(s.f, &b, "GET", "/", (str){0});
    testclient_ask(s.f, &c, "GET", "/", (str){0});
    str payload;
    SCRIPT_UNTIL(&s, script_heard(&s, HEADERS, 1, &payload));
    assert_false(script_heard(&s, HEADERS, 3, &payload));
    script_frame(&s, SETTINGS, 0, 0, (str){"\0\3\0\0\0\2", 6});
    UNTIL(&s.f->t, s.f->n_ready == 2);
    SCRIPT_UNTIL(&s, script_heard(&s, HEADERS, 3, &payload));
    assert_false(script_heard(&s, HEADERS, 5, &payload));
    http_call_cancel(a.call);
    SCRIPT_UNTIL(&s, script_heard(&s, HEADERS, 5, &payload));
    heard_done(&a), heard_done(&b), heard_done(&c);
    script_done(&s);
}

/* ---- HTTP/1.1. ---- */

static void interim_answers_and_trailers_h1(void **state)
{
    struct script s = script_start(false, (struct http_client_options){0});
    struct heard a = {0}, b = {0};
    testclient_ask(s.f, &a, "GET", "/", (str){0});
    script_accept(&s);
    script_say(&s, S("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"));
    testserver_settle(&s.f->t);
    assert_int_equal(a.status, 0);
    script_say(&s, S("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: a/b\r\n\r\n"
                     "4;x=y\r\nbody\r\n0\r\nTrailer: yes\r\nAnother: one\r\n\r\n"));
    UNTIL(&s.f->t, a.is_over);
    assert_int_equal(a.status, 200);
    assert_true(a.is_complete && heard_is(&a, "body") && str_eq(a.content_type, S("a/b")));
    testclient_ask(s.f, &b, "GET", "/", (str){0});
    testserver_settle(&s.f->t);
    script_say(&s, S("HTTP/1.1 204 No Content\r\n\r\n"));
    UNTIL(&s.f->t, b.is_over);
    assert_int_equal(b.status, 204);
    heard_done(&a), heard_done(&b);
    script_done(&s);
}

/* They may not go on for ever: each costs memory. */
static void endless_interim_answers(void **state)
{
    struct script s = script_start(false, (struct http_client_options){.head_bytes = 1000});
    struct heard a = {0};
    testclient_ask(s.f, &a, "GET", "/", (str){0});
    script_accept(&s);
    for (int i = 0; i < 45 && !a.is_over; i++) {
        script_say(&s, S("HTTP/1.1 100 Continue\r\n\r\n"));
        testserver_settle(&s.f->t);
        assert_int_equal(a.is_over, i >= 40);
    }
    UNTIL(&s.f->t, a.is_over);
    assert_false(a.is_complete || a.can_retry);
    assert_non_null(strstr(a.err.msg, "too many interim answers"));
    heard_done(&a);
    script_done(&s);
}

/* The end of the connection is the end of the answer where nothing else says how long that is. */
static void answer_until_the_end(void **state)
{
    for (int frees = 0; frees < 2; frees++) {
        struct script s = script_start(false, (struct http_client_options){0});
        struct heard a = {.frees = frees ? s.f->client : NULL};
        testclient_ask(s.f, &a, "GET", "/", (str){0});
        script_accept(&s);
        script_hear(&s); /* or the end would be a reset */
        script_say(&s, S("HTTP/1.0 200 OK\r\n\r\nall of it"));
        (void)close(s.fd); /* both come at once */
        s.fd = -1;
        UNTIL(&s.f->t, frees ? a.body.n > 0 : a.is_over);
        testserver_settle(&s.f->t);
        assert_int_equal(a.is_over, !frees); /* who frees the client hears no more */
        assert_int_equal(a.is_complete, !frees);
        assert_true(heard_is(&a, "all of it"));
        if (frees)
            s.f->client = NULL;
        heard_done(&a);
        script_done(&s);
    }
}

/* The body is shorter than it was said to be, or the last chunk is missing. */
static void cut_answers_h1(void **state)
{
    static const str answers[] = {
        S_INIT("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
        S_INIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
        S_INIT("HTTP/1.1 200 OK\r\nContent-Le"),
    };
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct script s = script_start(false, (struct http_client_options){0});
        struct heard a = {0};
        testclient_ask(s.f, &a, "GET", "/", (str){0});
        script_accept(&s);
        script_say(&s, answers[i]);
        testserver_settle(&s.f->t);
        (void)shutdown(s.fd, SHUT_WR);
        UNTIL(&s.f->t, a.is_over && s.f->is_gone);
        assert_false(a.is_complete || a.can_retry);
        heard_done(&a);
        script_done(&s);
    }
}

/* ---- Who frees a client hears no more of it, not even that time is over in the same turn. ---- */

struct late {
    struct http_client *client;
    int ends;
};

static void free_at_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    struct late *l = ctx;
    l->ends++;
    http_client_free(l->client);
}

static void no_word_after_free(void **state)
{
    static const struct http_listener listener = {.end = free_at_end};
    struct testclient *f = testclient_start(true, NULL);
    struct late late = {f->client, 0};
    struct http_request r = {.method = S("GET"), .target = S("/later"), .total_ns = 1};
    for (int i = 0; i < 3; i++)
        (void)http_call_new(f->client, &r, &listener, &late);
    UNTIL(&f->t, late.ends > 0);
    testserver_settle(&f->t);
    assert_int_equal(late.ends, 1);
    f->client = NULL;
    testclient_stop(f);
}

/* ---- A server of two addresses, the first of which swallows everything. ---- */

/* Listens where nobody accepts, with as many connections as the kernel keeps for that; the rest gets no answer. */
static struct sockaddr_in swallow(int fds[4])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fds[0], (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fds[0], 0), 0);
    assert_int_equal(getsockname(fds[0], (struct sockaddr *)&a, &n), 0);
    for (int i = 1; i < 4; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&a, n);
    }
    return a;
}

static void time_for_the_second_address(void **state)
{
    struct clock_fake now = {.mono = 1000 * INT64_C(1000000000)};
    struct clock clock = clock_of_fake(&now);
    struct testclient *f = calloc(1, sizeof *f);
    struct heard a = {0};
    int fds[4];
    testserver_start_on(&f->t, &clock, NULL, NULL);
    testclient_connect(f, (struct http_client_options){0});
    struct sockaddr_storage good = f->client->addresses.p[0]; /* it begins in its own time, at the end of the turn */
    *(struct sockaddr_in *)&f->client->addresses.p[0] = swallow(fds);
    *vec_push(&f->client->arena, &f->client->addresses) = good;
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    testserver_settle(&f->t);
    clock_fake_advance(&now, 4 * INT64_C(1000000000));
    testserver_settle(&f->t);
    assert_int_equal(f->client->next_address, 1);
    clock_fake_advance(&now, 2 * INT64_C(1000000000));
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete && heard_is(&a, "hello"));
    for (int i = 0; i < 4; i++)
        (void)close(fds[i]);
    heard_done(&a);
    testclient_stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_begins_before_the_request_ends),
        cmocka_unit_test(answer_ends_before_the_request),
        cmocka_unit_test(resets),
        cmocka_unit_test(interim_answers_and_trailers_h2),
        cmocka_unit_test(limits_of_settings),
        cmocka_unit_test(interim_answers_and_trailers_h1),
        cmocka_unit_test(endless_interim_answers),
        cmocka_unit_test(answer_until_the_end),
        cmocka_unit_test(cut_answers_h1),
        cmocka_unit_test(no_word_after_free),
        cmocka_unit_test(time_for_the_second_address),
    };
    return cmocka_run_group_tests_name("http_client_peers", tests, NULL, NULL);
}
