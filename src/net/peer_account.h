/* SPDX-License-Identifier: Apache-2.0 */
/* What: what each connection of the server makes it hold, and the limits on that. Internal to this folder.
 * Owns: one account per connection, from its arrival to its end; the table of the addresses of unknown peers.
 * Threads: the loop thread.
 * Errors: none. Past a limit a charge is refused, or connections are dropped.
 *
 *                     requests (heads, bodies)             answers that are not taken        connections
 *   unknown peers     256 KiB each, 4 MiB of an address, 16 MiB in all: both together        3,072 of an address, 4,096
 *                     past the last two the oldest unknown connection is dropped             …if older than a second;
 *                                                                                            until then new ones wait
 *   known peers       256 MiB in all, then 429             4 MiB each, then requests wait;   20,000 with the others
 *                                                          256 MiB in all, then the
 *                                                          largest holder is dropped
 *
 * A peer is unknown until its certificate or a request of it was authenticated. So what unknown peers do, however many they
 * are, takes nothing from known ones, and a peer that can be authenticated needs no room but that of its first head. */
#pragma once

#include "base/map.h"
#include "net/conn.h"
#include "net/http.h"

/* The address of a peer, as far as it tells peers apart: an IPv4 address, or the first half of an IPv6 address. */
struct account_address {
    uint8_t n, bytes[8];
};

struct account_link {
    struct account *prev, *next;
};

struct account_list {
    struct account *first, *last;
    size_t n;
};

enum account_which { IN_UNKNOWN, IN_ORIGIN, IN_HOLDERS, N_ACCOUNT_LISTS };

struct account {
    struct http_server *server;
    struct conn *conn;     /* NULL: not yet */
    struct origin *origin; /* NULL: known, or dropped */
    struct account_link links[N_ACCOUNT_LISTS];
    int64_t since;            /* its arrival */
    size_t requests, answers; /* bytes */
    size_t pending;           /* of requests: a head on its way in, over HTTP/1.1 */
    bool is_known;
    bool is_dropped; /* to make place; what it still holds does not count any more */
};

/* What the server has of all accounts. */
struct accounts {
    struct account_list unknown; /* the oldest first */
    struct account_list holders; /* with answers, known or not */
    struct map origins;          /* of struct origin, by address */
    size_t unknown_bytes;        /* requests and answers of unknown peers */
    size_t known_requests, known_answers;
    size_t peak; /* of all that is held, since memory was returned to the system */
    struct loop_timer trim;
    bool is_trim_set;
};

void accounts_init(struct http_server *s);
void accounts_done(struct http_server *s);

/* Whether one more connection may come; makes place among the unknown ones. No: those are all young, and may be honest. */
bool accounts_have_place(struct http_server *s);
/* For a connection from this address; the oldest ones with the same address may have to go. */
struct account *account_open(struct http_server *s, const struct account_address *from);
void account_close(struct account *a);
/* The peer is authenticated: its account moves to those of known peers. */
void account_set_known(struct account *a);
/* Drops the oldest connection of an unknown peer; false: there is none. */
bool account_drop_unknown(struct http_server *s);

/* Heads and bodies of requests. False: there is no room; nothing was charged. */
bool account_take_request(struct account *a, size_t n);
void account_give_request(struct account *a, size_t n);
/* So much of a head is there, and it goes on; 0: it is complete. Only unknown peers are charged: what known ones hold in this
 * way is bounded by the number of connections. */
bool account_set_pending(struct account *a, size_t n);

/* Answers that the peer has not taken yet. False: this connection holds far more than it may, and the answer should be given
 * up; it is charged all the same. May drop connections, this one included. */
bool account_take_answer(struct account *a, size_t n);
void account_give_answer(struct account *a, size_t n);
/* Whether more requests of this connection may be begun: no while it does not take the answers that it has. */
bool account_may_begin(const struct account *a);
