/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of HTTP/2 against peers that write their frames byte by byte: what no honest client would send. */
#include "testserver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { NO_ERROR = 0, PROTOCOL_ERROR = 1, REFUSED_STREAM = 7, CANCEL = 8, ENHANCE_YOUR_CALM = 11 };

static const str PREFACE = S_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/* ---- A peer. ---- */

struct peer {
    struct testserver *t;
    int fd;
    struct buf out, in;
    size_t at;     /* of in: frames before it were looked at */
    bool is_ended; /* the server has closed it */
    bool is_deaf;  /* reads nothing */
};

static struct peer connect_peer(struct testserver *t)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(t->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct peer p = {.t = t, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(p.fd >= 0);
    assert_int_equal(connect(p.fd, (struct sockaddr *)&a, sizeof a), 0);
    return p;
}

static void peer_done(struct peer *p)
{
    (void)close(p->fd);
    buf_done(&p->out);
    buf_done(&p->in);
}

/* Writes and reads what goes without waiting, and lets the server have a turn. */
static void turn(struct peer *p)
{
    static char bytes[1 << 16];
    if (p->out.n && !p->is_ended) {
        ssize_t n = send(p->fd, p->out.p, p->out.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            memmove(p->out.p, p->out.p + n, p->out.n - (size_t)n);
            p->out.n -= (size_t)n;
        } else if (errno != EAGAIN) {
            p->out.n = 0;
        }
    }
    loop_turn(p->t->loop, 0);
    while (!p->is_deaf && !p->is_ended) {
        ssize_t n = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            buf_add(&p->in, bytes, (size_t)n);
        else if (n == 0 || errno != EAGAIN)
            p->is_ended = true;
        else
            break;
    }
}

#define TURN_UNTIL(p, condition)                            \
    do {                                                    \
        for (int turns_ = 0; !(condition); turns_++) {      \
            if (turns_ > 200000)                            \
                fail_msg("never happened: %s", #condition); \
            turn(p);                                        \
        }                                                   \
    } while (0)

/* ---- Frames. ---- */

static void add_number(struct buf *b, uint32_t value, int bytes)
{
    while (bytes-- > 0)
        buf_add_char(b, (char)(value >> (8 * bytes)));
}

static void frame(struct peer *p, int type, int flags, uint32_t id, str payload)
{
    add_number(&p->out, (uint32_t)payload.n, 3);
    add_number(&p->out, (uint32_t)type, 1);
    add_number(&p->out, (uint32_t)flags, 1);
    add_number(&p->out, id, 4);
    buf_add_str(&p->out, payload);
}

static void reset(struct peer *p, uint32_t id)
{
    frame(p, RST_STREAM, 0, id, S("\0\0\0\x8"));
}

static void window(struct peer *p, uint32_t id, uint32_t more)
{
    struct buf b = {0};
    add_number(&b, more, 4);
    frame(p, WINDOW_UPDATE, 0, id, buf_str(&b));
    buf_done(&b);
}

/* Greets as one should; initial_window of the streams that the server sends on. */
static void greet(struct peer *p, uint32_t initial_window)
{
    struct buf b = {0};
    buf_add_str(&p->out, PREFACE);
    add_number(&b, 4, 2);
    add_number(&b, initial_window, 4);
    frame(p, SETTINGS, 0, 0, buf_str(&b));
    buf_done(&b);
}

struct seen {
    int type, flags;
    uint32_t id;
    str payload;
};

static uint32_t number_at(const char *p, int bytes)
{
    uint32_t n = 0;
    for (int i = 0; p && i < bytes; i++)
        n = n << 8 | (uint8_t)p[i];
    return n;
}

static bool next_frame(struct peer *p, struct seen *f)
{
    if (p->in.n - p->at < 9)
        return false;
    const char *h = p->in.p + p->at;
    size_t n = number_at(h, 3);
    if (p->in.n - p->at - 9 < n)
        return false;
    *f = (struct seen){h[3], h[4], number_at(h + 5, 4), {h + 9, n}};
    p->at += 9 + n;
    return true;
}

/* The next frame of this type, for this stream; what comes before is passed over. False when the server has closed. */
static bool find(struct peer *p, int type, uint32_t id, struct seen *f)
{
    *f = (struct seen){0};
    for (int turns = 0; turns < 100000; turns++) {
        while (next_frame(p, f))
            if (f->type == type && f->id == id)
                return true;
        if (p->is_ended)
            return false;
        turn(p);
    }
    fail_msg("no frame of type %d for stream %u", type, id);
    return false;
}

static uint32_t code_of(const struct seen *f)
{
    return number_at(f->payload.p + (f->type == GOAWAY ? 4 : 0), 4);
}

/* ---- Blocks of headers, without compression. ---- */

static void add_int(struct buf *b, size_t n)
{
    if (n < 127) {
        buf_add_char(b, (char)n);
        return;
    }
    buf_add_char(b, 127);
    for (n -= 127; n >= 128; n >>= 7)
        buf_add_char(b, (char)(0x80 | (n & 0x7f)));
    buf_add_char(b, (char)n);
}

static void field(struct buf *b, str name, str value)
{
    buf_add_char(b, 0);
    add_int(b, name.n);
    buf_add_str(b, name);
    add_int(b, value.n);
    buf_add_str(b, value);
}

static void pseudo(struct buf *b, str method, str path)
{
    field(b, S(":method"), method);
    field(b, S(":scheme"), S("http"));
    field(b, S(":path"), path);
    field(b, S(":authority"), S("test"));
}

static void get(struct peer *p, uint32_t id, str path)
{
    struct buf b = {0};
    pseudo(&b, S("GET"), path);
    frame(p, HEADERS, END_HEADERS | END_STREAM, id, buf_str(&b));
    buf_done(&b);
}

/* The status of an answer, which our server writes as an indexed field, or a literal with the indexed name. */
static int status_of(const struct seen *f)
{
    static const int statuses[] = {200, 204, 206, 304, 400, 404, 500};
    if (f->payload.p == NULL)
        return 0;
    uint8_t first = (uint8_t)f->payload.p[0];
    if (first & 0x80)
        return statuses[(first & 0x7f) - 8];
    assert_true((first & 0x3f) == 8);
    uint8_t n = (uint8_t)f->payload.p[1];
    if (n == 3)
        return (int)strtol(f->payload.p + 2, NULL, 10);
    /* Two bytes in Huffman's code, in which the digits that occur in statuses have five or six bits. */
    static const struct {
        uint32_t code;
        int bits, digit;
    } digits[] = {{0x0, 5, 0},  {0x1, 5, 1},  {0x2, 5, 2},  {0x19, 6, 3}, {0x1a, 6, 4},
                  {0x1b, 6, 5}, {0x1c, 6, 6}, {0x1d, 6, 7}, {0x1e, 6, 8}, {0x1f, 6, 9}};
    uint32_t bits = number_at(f->payload.p + 2, n & 0x7f) << (32 - 8 * (n & 0x7f));
    int status = 0;
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof digits / sizeof *digits; k++)
            if (bits >> (32 - digits[k].bits) == digits[k].code) {
                status = status * 10 + digits[k].digit;
                bits <<= digits[k].bits;
                break;
            }
    return status;
}

/* ---- Fixtures. ---- */

static struct testserver server;

static struct peer start(const struct http_limits *limits, uint32_t initial_window)
{
    testserver_start(&server, limits, NULL);
    struct peer p = connect_peer(&server);
    greet(&p, initial_window);
    return p;
}

static void stop(struct peer *p)
{
    peer_done(p);
    testserver_settle(&server);
    testserver_stop(&server);
}

/* The server is well, and serves others. */
static void assert_serves(void)
{
    struct seen f;
    struct peer other = connect_peer(&server);
    greet(&other, 65535);
    get(&other, 1, S("/hello"));
    assert_true(find(&other, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 200);
    assert_true(find(&other, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("hello")));
    peer_done(&other);
}

static void assert_ends(struct peer *p, uint32_t code)
{
    struct seen f;
    assert_true(find(p, GOAWAY, 0, &f));
    assert_int_equal(code_of(&f), code);
    TURN_UNTIL(p, p->is_ended);
    assert_serves();
}

/* ---- How it is meant to be. ---- */

static void answers(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    get(&p, 1, S("/what?a=b?c"));
    assert_true(find(&p, SETTINGS, 0, &f));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 200);
    assert_true(find(&p, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("GET /what ?a=b?c host=test n=1 x=")));
    assert_true(f.flags & END_STREAM);
    stop(&p);
}

static void trailers_are_passed_over(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    struct buf b = {0};
    pseudo(&b, S("POST"), S("/echo"));
    frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    b.n = 0;
    field(&b, S("x-checksum"), S("1234"));
    frame(&p, DATA, 0, 1, S("body"));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 200);
    assert_true(find(&p, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("body")));
    buf_done(&b);
    stop(&p);
}

static void expect_continue(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    struct buf b = {0};
    pseudo(&b, S("POST"), S("/echo"));
    field(&b, S("expect"), S("100-continue"));
    frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 100);
    frame(&p, DATA, END_STREAM, 1, S("body"));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 200);
    buf_done(&b);
    stop(&p);
}

/* Streams take turns, so a watch is heard while long answers are on their way. */
static void streams_take_turns(void **state)
{
    struct peer p = start(NULL, 1 << 30);
    struct seen f;
    window(&p, 0, 1 << 30);
    get(&p, 1, S("/watch"));
    assert_true(find(&p, HEADERS, 1, &f));
    for (uint32_t id = 3; id < 11; id += 2)
        get(&p, id, S("/large?30000000"));
    assert_true(find(&p, DATA, 9, &f));
    testserver_event(&server, 0, S("event"));
    assert_true(find(&p, DATA, 1, &f));
    assert_true(server.made < 60000000);
    size_t bytes[11] = {0};
    for (int i = 0; i < 400; i++) {
        while (!next_frame(&p, &f))
            turn(&p);
        if (f.type == DATA)
            bytes[f.id] += f.payload.n;
    }
    for (uint32_t id = 3; id < 11; id += 2)
        assert_true(bytes[id] > 1400000 && bytes[id] < 1800000);
    stop(&p);
}

/* A source is only asked for what there is room for. */
static void window_holds_sources_back(void **state)
{
    struct peer p = start(NULL, 1000);
    struct seen f;
    size_t got = 0;
    get(&p, 1, S("/large?100000"));
    for (int i = 0; i < 100; i++)
        turn(&p);
    assert_true(server.made <= 3000); /* a source may give a little more than it was asked for */
    while (got < 100000) {
        assert_true(find(&p, DATA, 1, &f));
        for (size_t i = 0; i < f.payload.n; i++)
            assert_int_equal(f.payload.p[i], testserver_byte(got + i));
        got += f.payload.n;
        if (f.payload.n) {
            window(&p, 1, (uint32_t)f.payload.n);
            window(&p, 0, (uint32_t)f.payload.n);
        }
    }
    assert_int_equal(got, 100000);
    stop(&p);
}

/* …and not at all while the peer takes nothing. */
static void deaf_peer_holds_sources_back(void **state)
{
    struct peer p = start(NULL, 0x7fffffff);
    window(&p, 0, 0x7fffffff - 65535);
    get(&p, 1, S("/large?300000000"));
    p.is_deaf = true;
    for (int i = 0; i < 3000; i++)
        turn(&p);
    size_t made = server.made;
    assert_true(made < 20000000); /* what the kernel takes, and 256 KiB */
    for (int i = 0; i < 100; i++)
        turn(&p);
    assert_int_equal(server.made, made);
    assert_serves();
    stop(&p);
}

static void drain_says_goodbye_twice(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f, ping;
    get(&p, 1, S("/later"));
    TURN_UNTIL(&p, server.n_later == 1);
    testserver_drain(&server);
    assert_true(find(&p, GOAWAY, 0, &f));
    assert_int_equal(number_at(f.payload.p, 4), 0x7fffffff);
    assert_int_equal(code_of(&f), NO_ERROR);
    assert_true(find(&p, PING, 0, &ping));
    get(&p, 3, S("/hello")); /* was on its way */
    frame(&p, PING, ACK, 0, ping.payload);
    assert_true(find(&p, GOAWAY, 0, &f));
    assert_int_equal(number_at(f.payload.p, 4), 3);
    get(&p, 5, S("/hello")); /* is too late */
    for (int i = 0; i < 20; i++)
        turn(&p);
    assert_int_equal(server.handled, 2);
    assert_false(server.is_drained || p.is_ended);
    testserver_answer(&server, 0, 200, S("late but good"));
    TURN_UNTIL(&p, p.is_ended);
    peer_done(&p);
    UNTIL(&server, server.is_drained);
    testserver_stop(&server);
}

static void idle_connections_end(void **state)
{
    struct http_limits limits = {.idle_ns = 1000000};
    struct peer p = start(&limits, 65535);
    struct seen f;
    assert_true(find(&p, GOAWAY, 0, &f));
    assert_int_equal(code_of(&f), NO_ERROR);
    assert_true(find(&p, PING, 0, &f));
    frame(&p, PING, ACK, 0, f.payload);
    TURN_UNTIL(&p, p.is_ended);
    stop(&p);
}

static void watches_are_not_idle(void **state)
{
    struct http_limits limits = {.idle_ns = 1000000, .stall_ns = 1000000};
    struct peer p = start(&limits, 65535);
    struct seen f;
    get(&p, 1, S("/watch"));
    assert_true(find(&p, HEADERS, 1, &f));
    for (int i = 0; i < 30; i++) {
        loop_turn(server.loop, 1000000);
        turn(&p);
    }
    testserver_event(&server, 0, S("event"));
    assert_true(find(&p, DATA, 1, &f));
    stop(&p);
}

/* ---- Slow peers. ---- */

static void head_that_never_ends(void **state)
{
    struct http_limits limits = {.head_ns = 1000000};
    struct peer p = start(&limits, 65535);
    struct buf b = {0};
    pseudo(&b, S("GET"), S("/hello"));
    frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    buf_done(&b);
    assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_int_equal(server.handled, 1); /* of the other peer */
    stop(&p);
}

static void body_that_never_ends(void **state)
{
    struct http_limits limits = {.body_ns = 1000000};
    struct peer p = start(&limits, 65535);
    struct seen f;
    struct buf b = {0};
    pseudo(&b, S("PUT"), S("/echo"));
    frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    frame(&p, DATA, 0, 1, S("half of it"));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 408);
    assert_true(find(&p, RST_STREAM, 1, &f));
    assert_int_equal(code_of(&f), NO_ERROR);
    UNTIL(&server, http_server_stats(server.server).body_bytes == 0);
    get(&p, 3, S("/hello"));
    assert_true(find(&p, HEADERS, 3, &f));
    assert_int_equal(status_of(&f), 200);
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    stop(&p);
}

/* A peer that gives no window is not waited for, for ever; its other streams are not touched. */
static void stream_that_is_not_read(void **state)
{
    struct http_limits limits = {.stall_ns = 1000000};
    struct peer p = start(&limits, 100);
    struct seen f;
    get(&p, 1, S("/watch"));
    get(&p, 3, S("/large?1000"));
    assert_true(find(&p, RST_STREAM, 3, &f));
    assert_int_equal(code_of(&f), CANCEL);
    UNTIL(&server, server.gone == 1);
    testserver_event(&server, 0, S("event"));
    assert_true(find(&p, DATA, 1, &f));
    stop(&p);
}

/* ---- Requests that are not to be understood. ---- */

static void bad_preface(void **state)
{
    testserver_start(&server, NULL, NULL);
    struct peer p = connect_peer(&server);
    buf_add_str(&p.out, S("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
    TURN_UNTIL(&p, p.is_ended);
    assert_serves();
    stop(&p);
}

static void no_settings_first(void **state)
{
    testserver_start(&server, NULL, NULL);
    struct peer p = connect_peer(&server);
    buf_add_str(&p.out, PREFACE);
    get(&p, 1, S("/hello"));
    assert_ends(&p, PROTOCOL_ERROR);
    stop(&p);
}

static void frame_of_nonsense(void **state)
{
    struct peer p = start(NULL, 65535);
    frame(&p, DATA, 0, 0, S("on no stream"));
    assert_ends(&p, PROTOCOL_ERROR);
    stop(&p);
}

static void malformed_requests(void **state)
{
    static const struct {
        const char *what;
        struct http_header fields[8];
        int status; /* 0: the stream is reset */
    } rows[] = {
        {"two paths",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":path"), S_INIT("/what")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"a pseudo header after others",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT("x"), S_INIT("y")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"no path",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"capital letters",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("Authorization"), S_INIT("Bearer x")}},
         0},
        {"a control character: must not be dropped, as who is impersonated may be in it",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("impersonate-user"), S_INIT("jane\x01")}},
         0},
        {"a line break",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("x"), S_INIT("a\r\nimpersonate-user: jane")}},
         0},
        {"headers of a connection",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("transfer-encoding"), S_INIT("chunked")}},
         0},
        {"two hosts",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("host"), S_INIT("other")}},
         400},
        {"a tunnel", {{S_INIT(":method"), S_INIT("CONNECT")}, {S_INIT(":authority"), S_INIT("test:443")}}, 400},
        {"a host, once more: that is all right",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("host"), S_INIT("test")}},
         200},
    };
    struct peer p = start(NULL, 65535);
    struct seen f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t id = (uint32_t)(2 * i + 1);
        struct buf b = {0};
        for (size_t k = 0; k < 8 && rows[i].fields[k].name.n; k++)
            field(&b, rows[i].fields[k].name, rows[i].fields[k].value);
        frame(&p, HEADERS, END_HEADERS | END_STREAM, id, buf_str(&b));
        buf_done(&b);
        print_message("# %s\n", rows[i].what);
        assert_true(find(&p, rows[i].status ? HEADERS : RST_STREAM, id, &f));
        assert_int_equal(rows[i].status ? status_of(&f) : (int)code_of(&f), rows[i].status ? rows[i].status : 1);
    }
    assert_int_equal(server.handled, 1);
    stop(&p);
}

static void body_of_another_length(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    struct buf b = {0};
    pseudo(&b, S("PUT"), S("/echo"));
    field(&b, S("content-length"), S("10"));
    frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    frame(&p, DATA, END_STREAM, 1, S("short"));
    assert_true(find(&p, RST_STREAM, 1, &f));
    assert_int_equal(code_of(&f), PROTOCOL_ERROR);
    assert_int_equal(server.handled, 0);
    buf_done(&b);
    stop(&p);
}

static void too_many_streams(void **state)
{
    struct http_limits limits = {.streams = 10};
    struct peer p = start(&limits, 65535);
    struct seen f;
    for (uint32_t i = 0; i < 11; i++)
        get(&p, 2 * i + 1, S("/later"));
    assert_true(find(&p, RST_STREAM, 21, &f));
    assert_int_equal(code_of(&f), REFUSED_STREAM);
    assert_int_equal(server.n_later, 10);
    stop(&p);
}

/* ---- Floods. ---- */

/* 16 KB in 100 fields of 160 bytes, into one block. */
static void too_large_a_head(void **state)
{
    struct http_limits limits = {.head_bytes = 8000};
    struct peer p = start(&limits, 65535);
    struct seen f;
    struct buf b = {0};
    char value[150];
    memset(value, 'v', sizeof value);
    pseudo(&b, S("GET"), S("/hello"));
    for (int i = 0; i < 90; i++)
        field(&b, S("x"), (str){value, sizeof value});
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 431);
    get(&p, 3, S("/hello"));
    assert_true(find(&p, HEADERS, 3, &f));
    assert_int_equal(status_of(&f), 200);
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    stop(&p);
}

/* A field of 4,000 bytes is put into the table once, and then named with one byte each time: 40 MB of head in 10 KB. */
static void bomb_of_indexed_fields(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    struct buf b = {0};
    char *value = malloc(3900);
    memset(value, 'v', 3900);
    pseudo(&b, S("GET"), S("/hello"));
    buf_add_char(&b, 0x40); /* literal, to be indexed */
    add_int(&b, 1);
    buf_add_char(&b, 'x');
    add_int(&b, 3900);
    buf_add(&b, value, 3900);
    for (int i = 0; i < 10000; i++)
        buf_add_char(&b, (char)(0x80 | 62));
    frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 431);
    assert_int_equal(server.handled, 0);
    assert_serves();
    free(value);
    buf_done(&b);
    stop(&p);
}

static void continuation_flood(void **state)
{
    struct peer p = start(NULL, 65535);
    struct buf b = {0};
    pseudo(&b, S("GET"), S("/hello"));
    frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    for (int i = 0; i < 20000; i++)
        frame(&p, CONTINUATION, 0, 1, S(""));
    TURN_UNTIL(&p, p.is_ended);
    assert_serves();
    assert_int_equal(server.handled, 1);
    UNTIL(&server, http_server_stats(server.server).exchanges == 0);
    buf_done(&b);
    stop(&p);
}

static void continuation_flood_with_fields(void **state)
{
    struct peer p = start(NULL, 65535);
    struct buf b = {0}, more = {0};
    pseudo(&b, S("GET"), S("/hello"));
    while (more.n < 16000)
        field(&more, S("x-field"), S("with a value that takes some room"));
    frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    for (int i = 0; i < 500; i++)
        frame(&p, CONTINUATION, 0, 1, buf_str(&more));
    TURN_UNTIL(&p, p.is_ended);
    assert_serves();
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    buf_done(&more);
    stop(&p);
}

static void rapid_reset(struct peer *p, str path)
{
    for (uint32_t id = 1; id < 60001 && !p->is_ended; id += 2) {
        get(p, id, path);
        reset(p, id);
        if (id % 64 == 1)
            turn(p);
    }
}

/* Open, reset, open, reset: none of it is to be answered, all of it to be worked on. */
static void rapid_reset_flood(void **state)
{
    struct peer p = start(NULL, 65535);
    rapid_reset(&p, S("/hello"));
    assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.handled < 12000);
    stop(&p);
}

/* …while the work goes on: that is noticed sooner. */
static void rapid_reset_of_work(void **state)
{
    struct peer p = start(NULL, 65535);
    for (uint32_t id = 1; id < 60001 && !p.is_ended; id += 2) {
        get(&p, id, S("/later"));
        TURN_UNTIL(&p, p.out.n == 0);
        turn(&p);
        turn(&p);
        reset(&p, id);
    }
    assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.n_later < 1500);
    stop(&p);
}

/* Not with resets of its own, but by making us reset (a window that gets too large). */
static void made_to_reset(void **state)
{
    struct peer p = start(NULL, 65535);
    for (uint32_t id = 1; id < 60001 && !p.is_ended; id += 2) {
        get(&p, id, S("/later"));
        TURN_UNTIL(&p, p.out.n == 0);
        turn(&p);
        turn(&p);
        window(&p, id, 0x7fffffff);
    }
    assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.n_later < 1500);
    stop(&p);
}

/* A client may close a thousand watches at once. */
static void a_thousand_watches_closed(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    for (int round = 0; round < 2; round++) {
        uint32_t first = (uint32_t)(round * 2000 + 1);
        for (uint32_t i = 0; i < 1000; i++)
            get(&p, first + 2 * i, S("/watch"));
        TURN_UNTIL(&p, server.n_watches == 1000 * (size_t)(round + 1));
        for (uint32_t i = 0; i < 1000; i++)
            reset(&p, first + 2 * i);
        TURN_UNTIL(&p, server.gone == 1000 * (size_t)(round + 1));
    }
    get(&p, 9001, S("/hello"));
    assert_true(find(&p, HEADERS, 9001, &f));
    assert_int_equal(status_of(&f), 200);
    stop(&p);
}

static void flood_of(int type, str payload, bool is_deaf)
{
    struct peer p = start(NULL, 65535);
    p.is_deaf = is_deaf;
    for (int i = 0; i < 200000 && !p.is_ended; i++) {
        frame(&p, type, 0, type == PRIORITY ? 1 : 0, payload);
        if (i % 1000 == 0)
            turn(&p);
    }
    assert_serves();
    p.is_deaf = false;
    p.out.n = 0;
    assert_ends(&p, ENHANCE_YOUR_CALM);
    stop(&p);
}

static void ping_flood(void **state)
{
    flood_of(PING, S("12345678"), false);
}

static void ping_flood_of_the_deaf(void **state)
{
    flood_of(PING, S("12345678"), true);
}

static void settings_flood(void **state)
{
    flood_of(SETTINGS, S(""), false);
}

static void priority_flood(void **state)
{
    flood_of(PRIORITY, S("\0\0\0\0\x10"), false);
}

/* Nobody has to answer those, so they cost no more than their bytes. */
static void unknown_frames_are_passed_over(void **state)
{
    struct peer p = start(NULL, 65535);
    struct seen f;
    for (int i = 0; i < 20000; i++)
        frame(&p, 0x77, 0, 1, S("what is this"));
    get(&p, 1, S("/hello"));
    assert_true(find(&p, HEADERS, 1, &f));
    assert_int_equal(status_of(&f), 200);
    stop(&p);
}

static void empty_data_flood(void **state)
{
    struct peer p = start(NULL, 65535);
    struct buf b = {0};
    pseudo(&b, S("PUT"), S("/echo"));
    frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    for (int i = 0; i < 50000; i++)
        frame(&p, DATA, 0, 1, S(""));
    assert_ends(&p, ENHANCE_YOUR_CALM);
    buf_done(&b);
    stop(&p);
}

/* ---- Peers that go away. ---- */

static void peer_gone(void **state)
{
    struct peer p = start(NULL, 65535);
    struct buf b = {0};
    get(&p, 1, S("/watch"));
    get(&p, 3, S("/later"));
    get(&p, 5, S("/large?10000000"));
    pseudo(&b, S("PUT"), S("/echo"));
    frame(&p, HEADERS, END_HEADERS, 7, buf_str(&b));
    frame(&p, DATA, 0, 7, S("half"));
    TURN_UNTIL(&p, server.handled == 3 && http_server_stats(server.server).exchanges == 4);
    (void)close(p.fd);
    UNTIL(&server, http_server_stats(server.server).connections == 0);
    UNTIL(&server, server.gone == 2);
    assert_int_equal(http_server_stats(server.server).exchanges, 1);
    assert_int_equal(http_server_stats(server.server).body_bytes, 0);
    testserver_answer(&server, 0, 200, S("to nobody"));
    UNTIL(&server, server.gone == 3);
    buf_done(&b);
    buf_done(&p.out);
    buf_done(&p.in);
    testserver_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(trailers_are_passed_over),
        cmocka_unit_test(expect_continue),
        cmocka_unit_test(streams_take_turns),
        cmocka_unit_test(window_holds_sources_back),
        cmocka_unit_test(deaf_peer_holds_sources_back),
        cmocka_unit_test(drain_says_goodbye_twice),
        cmocka_unit_test(idle_connections_end),
        cmocka_unit_test(watches_are_not_idle),
        cmocka_unit_test(head_that_never_ends),
        cmocka_unit_test(body_that_never_ends),
        cmocka_unit_test(stream_that_is_not_read),
        cmocka_unit_test(bad_preface),
        cmocka_unit_test(no_settings_first),
        cmocka_unit_test(frame_of_nonsense),
        cmocka_unit_test(malformed_requests),
        cmocka_unit_test(body_of_another_length),
        cmocka_unit_test(too_many_streams),
        cmocka_unit_test(too_large_a_head),
        cmocka_unit_test(bomb_of_indexed_fields),
        cmocka_unit_test(continuation_flood),
        cmocka_unit_test(continuation_flood_with_fields),
        cmocka_unit_test(rapid_reset_flood),
        cmocka_unit_test(rapid_reset_of_work),
        cmocka_unit_test(made_to_reset),
        cmocka_unit_test(a_thousand_watches_closed),
        cmocka_unit_test(ping_flood),
        cmocka_unit_test(ping_flood_of_the_deaf),
        cmocka_unit_test(settings_flood),
        cmocka_unit_test(priority_flood),
        cmocka_unit_test(unknown_frames_are_passed_over),
        cmocka_unit_test(empty_data_flood),
        cmocka_unit_test(peer_gone),
    };
    return cmocka_run_group_tests_name("h2", tests, NULL, NULL);
}
