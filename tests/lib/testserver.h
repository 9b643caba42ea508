/* SPDX-License-Identifier: Apache-2.0 */
/* What: a server with a handler that does what the path says, for the tests of HTTP/2 and of the client.
 * Owns: the loop and the server of a test.
 * Threads: one.
 * Errors: a test that cannot be set up, or waits for something that never happens, fails.
 *
 *   /hello          200 "hello"                       /echo        200 and the body that came
 *   /large?N        200 and N bytes in pieces         /watch       200, then what testserver_event adds
 *   /later          nothing until testserver_answer   /cut         100 bytes, then cut off
 *   /what           method, path, query, host and the number of headers, as text
 *   /none           204
 * Bodies that are too large: 413. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/http.h"

enum { TESTSERVER_MANY = 2048 };

struct testserver_watch {
    struct http_exchange *x;
    struct buf pending;
    bool is_ended;
};

struct testserver {
    struct loop *loop;
    struct http_server *server;                                  /* NULL while it is closed */
    struct http_server_options options;                          /* for when it is opened again */
    bool (*also)(struct testserver *t, struct http_exchange *x); /* set by a test; true: it has answered */
    void *ctx;                                                   /* …for it */
    uint16_t port;
    struct http_exchange *later[TESTSERVER_MANY];
    size_t n_later;
    struct testserver_watch *watches[TESTSERVER_MANY]; /* NULL: gone */
    size_t n_watches;
    size_t handled, gone, made; /* made: bytes that sources have made */
    bool is_drained;
    bool forgets; /* watches forget their request */
};

void testserver_start(struct testserver *t, const struct http_limits *limits, struct tls_context *tls);
/* On a loop whose clock is the test's. */
void testserver_start_on(struct testserver *t, const struct clock *clock, const struct http_limits *limits,
                         struct tls_context *tls);
/* The same, with a server that asks head() first; the tests' ctx is the testserver. */
void testserver_start_with_head(struct testserver *t, const struct http_limits *limits,
                                void (*head)(void *ctx, struct http_exchange *x));
/* As if killed: nothing listens any more, and connections are gone. */
void testserver_close(struct testserver *t);
/* Again, on the same port. */
void testserver_open(struct testserver *t);
/* The server says goodbye to its clients and lets calls end, while another one takes its place. The old one is the caller's. */
struct http_server *testserver_replace(struct testserver *t);
void testserver_stop(struct testserver *t);
/* Of the watch that came as number i. */
void testserver_event(struct testserver *t, size_t i, str text);
void testserver_end(struct testserver *t, size_t i);
void testserver_answer(struct testserver *t, size_t i, int status, str body);
void testserver_drain(struct testserver *t);
/* The byte at this place of /large. */
static inline char testserver_byte(size_t i)
{
    return (char)('a' + i % 23 + (i >> 12) % 3);
}

/* Turns the loop until the condition holds; a test that would wait for ever fails. */
#define UNTIL(t, condition)                                             \
    do {                                                                \
        for (int turn_ = 0; !(condition); turn_++) {                    \
            if (turn_ > 20000)                                          \
                fail_msg("never happened: %s", #condition);             \
            loop_turn((t)->loop, turn_ > 100 ? 1000000 /* 1 ms */ : 0); \
        }                                                               \
    } while (0)
/* Whatever is going on comes to its end. */
static inline void testserver_settle(struct testserver *t)
{
    for (int i = 0; i < 20; i++)
        loop_turn(t->loop, 0);
}
