/* SPDX-License-Identifier: Apache-2.0 */
/* What: a peer that writes its HTTP/2 frames byte by byte, and can so do what no client library would.
 * Owns: its socket and what came from it.
 * Threads: one.
 * Errors: a test that waits for what never happens fails. */
#pragma once

#include "lib/testserver.h"

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { NO_ERROR = 0, PROTOCOL_ERROR = 1, REFUSED_STREAM = 7, CANCEL = 8, ENHANCE_YOUR_CALM = 11 };

extern const str PEER_PREFACE;

struct peer {
    struct testserver *t;
    struct buf out, in;
    size_t at; /* of in: frames before it were looked at */
    int fd;
    bool is_ended; /* the server has closed it */
    bool is_deaf;  /* reads nothing */
};

struct peer peer_connect(struct testserver *t);
/* From an address of 127.0.0.0/8, as a number. */
struct peer peer_connect_from(struct testserver *t, uint32_t address);
void peer_done(struct peer *p);
/* Writes and reads what goes without waiting, and lets the server have a turn. */
void peer_turn(struct peer *p);
/* One of many turns towards something. On a busy machine the kernel may deliver only when somebody sleeps: so the later ones wait
 * a millisecond for something to happen. False: there were enough of them. */
bool peer_turn_again(struct peer *p, int turns);

#define TURN_UNTIL(p, condition)                            \
    do {                                                    \
        for (int turns_ = 0; !(condition); turns_++)        \
            if (!peer_turn_again(p, turns_))                \
                fail_msg("never happened: %s", #condition); \
    } while (0)

/* ---- Frames. All of them are written with the next turn. ---- */

void peer_frame(struct peer *p, int type, int flags, uint32_t id, str payload);
void peer_reset(struct peer *p, uint32_t id);
void peer_window(struct peer *p, uint32_t id, uint32_t more);
/* Greets as one should; initial_window of the streams that the server sends on. */
void peer_greet(struct peer *p, uint32_t initial_window);
void peer_get(struct peer *p, uint32_t id, str path);

/* Blocks of headers, without compression. */
void peer_add_int(struct buf *b, size_t n);
void peer_field(struct buf *b, str name, str value);
void peer_pseudo(struct buf *b, str method, str path);

/* ---- What came back. ---- */

struct seen {
    int type, flags;
    uint32_t id;
    str payload;
};

/* The next frame that is there as a whole. */
bool peer_next(struct peer *p, struct seen *f);
/* The next frame of this type, for this stream; what comes before is passed over. False when the server has closed. */
bool peer_find(struct peer *p, int type, uint32_t id, struct seen *f);
/* Of RST_STREAM or GOAWAY. */
uint32_t peer_code(const struct seen *f);
/* Of the head of an answer. */
int peer_status(const struct seen *f);
uint32_t peer_number(const char *p, int bytes);

/* ---- With a server. ---- */

/* Starts both, greeted. */
struct peer peer_start(struct testserver *t, const struct http_limits *limits, uint32_t initial_window);
void peer_stop(struct peer *p);
/* The server is well, and serves others. */
void peer_assert_serves(struct testserver *t);
/* It says GOAWAY with this code, closes, and serves others. */
void peer_assert_ends(struct peer *p, uint32_t code);
