/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

const str PEER_PREFACE = S_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/* ---- A peer. ---- */

struct peer peer_connect_from(struct testserver *t, uint32_t address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(t->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(address)}};
    struct peer p = {.t = t, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_true(p.fd >= 0);
    assert_int_equal(bind(p.fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(p.fd, (struct sockaddr *)&to, sizeof to), 0);
    return p;
}

struct peer peer_connect(struct testserver *t)
{
    return peer_connect_from(t, INADDR_LOOPBACK);
}

void peer_done(struct peer *p)
{
    (void)close(p->fd);
    buf_done(&p->out);
    buf_done(&p->in);
}

static void turn(struct peer *p, int64_t wait_ns)
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
    loop_turn(p->t->loop, wait_ns);
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

void peer_turn(struct peer *p)
{
    turn(p, 0);
}

bool peer_turn_again(struct peer *p, int turns)
{
    turn(p, turns > 1000 ? 1000000 /* 1 ms */ : 0);
    return turns < 21000;
}

/* ---- Frames. ---- */

static void add_number(struct buf *b, uint32_t value, int bytes)
{
    while (bytes-- > 0)
        buf_add_char(b, (char)(value >> (8 * bytes)));
}

void peer_frame(struct peer *p, int type, int flags, uint32_t id, str payload)
{
    add_number(&p->out, (uint32_t)payload.n, 3);
    add_number(&p->out, (uint32_t)type, 1);
    add_number(&p->out, (uint32_t)flags, 1);
    add_number(&p->out, id, 4);
    buf_add_str(&p->out, payload);
}

void peer_reset(struct peer *p, uint32_t id)
{
    peer_frame(p, RST_STREAM, 0, id, S("\0\0\0\x8"));
}

void peer_window(struct peer *p, uint32_t id, uint32_t more)
{
    struct buf b = {0};
    add_number(&b, more, 4);
    peer_frame(p, WINDOW_UPDATE, 0, id, buf_str(&b));
    buf_done(&b);
}

void peer_greet(struct peer *p, uint32_t initial_window)
{
    struct buf b = {0};
    buf_add_str(&p->out, PEER_PREFACE);
    add_number(&b, 4, 2);
    add_number(&b, initial_window, 4);
    peer_frame(p, SETTINGS, 0, 0, buf_str(&b));
    buf_done(&b);
}

uint32_t peer_number(const char *p, int bytes)
{
    uint32_t n = 0;
    for (int i = 0; p && i < bytes; i++)
        n = n << 8 | (uint8_t)p[i];
    return n;
}

bool peer_next(struct peer *p, struct seen *f)
{
    if (p->in.n - p->at < 9)
        return false;
    const char *h = p->in.p + p->at;
    size_t n = peer_number(h, 3);
    if (p->in.n - p->at - 9 < n)
        return false;
    *f = (struct seen){h[3], h[4], peer_number(h + 5, 4), {h + 9, n}};
    p->at += 9 + n;
    return true;
}

bool peer_find(struct peer *p, int type, uint32_t id, struct seen *f)
{
    *f = (struct seen){0};
    for (int turns = 0;; turns++) {
        while (peer_next(p, f))
            if (f->type == type && f->id == id)
                return true;
        if (p->is_ended)
            return false;
        if (!peer_turn_again(p, turns))
            fail_msg("no frame of type %d for stream %u", type, id);
    }
}

uint32_t peer_code(const struct seen *f)
{
    return peer_number(f->payload.p + (f->type == GOAWAY ? 4 : 0), 4);
}

/* ---- Blocks of headers, without compression. ---- */

void peer_add_int(struct buf *b, size_t n)
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

void peer_field(struct buf *b, str name, str value)
{
    buf_add_char(b, 0);
    peer_add_int(b, name.n);
    buf_add_str(b, name);
    peer_add_int(b, value.n);
    buf_add_str(b, value);
}

void peer_pseudo(struct buf *b, str method, str path)
{
    peer_field(b, S(":method"), method);
    peer_field(b, S(":scheme"), S("http"));
    peer_field(b, S(":path"), path);
    peer_field(b, S(":authority"), S("test"));
}

void peer_get(struct peer *p, uint32_t id, str path)
{
    struct buf b = {0};
    peer_pseudo(&b, S("GET"), path);
    peer_frame(p, HEADERS, END_HEADERS | END_STREAM, id, buf_str(&b));
    buf_done(&b);
}

/* The status of an answer, which our server writes as an indexed field, or a literal with the indexed name. */
int peer_status(const struct seen *f)
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
    uint32_t bits = peer_number(f->payload.p + 2, n & 0x7f) << (32 - 8 * (n & 0x7f));
    int status = 0;
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < COUNT(digits); k++)
            if (bits >> (32 - digits[k].bits) == digits[k].code) {
                status = status * 10 + digits[k].digit;
                bits <<= digits[k].bits;
                break;
            }
    return status;
}

/* ---- With a server. ---- */

struct peer peer_start(struct testserver *t, const struct http_limits *limits, uint32_t initial_window)
{
    testserver_start(t, limits, NULL);
    struct peer p = peer_connect(t);
    peer_greet(&p, initial_window);
    return p;
}

void peer_stop(struct peer *p)
{
    struct testserver *t = p->t;
    peer_done(p);
    testserver_settle(t);
    testserver_stop(t);
}

void peer_assert_serves(struct testserver *t)
{
    struct seen f;
    struct peer other = peer_connect(t);
    peer_greet(&other, 65535);
    peer_get(&other, 1, S("/hello"));
    assert_true(peer_find(&other, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 200);
    assert_true(peer_find(&other, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("hello")));
    peer_done(&other);
}

void peer_assert_ends(struct peer *p, uint32_t code)
{
    struct seen f;
    assert_true(peer_find(p, GOAWAY, 0, &f));
    assert_int_equal(peer_code(&f), code);
    TURN_UNTIL(p, p->is_ended);
    peer_assert_serves(p->t);
}
