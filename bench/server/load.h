/* SPDX-License-Identifier: Apache-2.0 */
/* What: requests to the server: one, many at a time, or watches that stay.
 * Owns: connections, and the calls on them.
 * Threads: one; the loop turns only within these functions.
 * Errors: an answer that was not expected ends the benchmark and is shown. */
#pragma once

#include "server.h"

struct links; /* connections to one server */

/* Returns when all of them have had an answer. */
struct links *links_open(struct server *s, size_t n, bool is_h2);
void links_close(struct links *l);

struct question {
    str method; /* empty: GET */
    str target;
    str accept;       /* empty: JSON */
    str body;         /* JSON */
    str content_type; /* of the body; empty: application/json */
    str user;         /* acts for this one; empty: the administrator */
    bool takes_gzip;  /* accepts a compressed answer */
};

/* On the first connection; the body of the answer, whose status must be 2xx. */
str links_ask(struct links *l, struct arena *a, const struct question *q);

/* The i-th of many; what it needs lives in the arena. */
struct load {
    void (*make)(void *ctx, size_t i, struct arena *a, struct question *ret);
    void *ctx;
    size_t first, n;  /* the numbers first … first + n - 1 */
    size_t at_a_time; /* on each connection */
};

struct cost {
    double seconds, cpu; /* cpu: of the server */
    size_t bytes;        /* of all bodies */
};

struct cost links_load(struct links *l, const struct load *load);

/* Opens n watches, spread over all connections, and returns when each has shown its first event. */
void links_watch(struct links *l, str target, size_t n);
/* Until each of the watches has seen that many more events. */
void links_watch_more(struct links *l, size_t events);
