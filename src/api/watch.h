/* SPDX-License-Identifier: Apache-2.0 */
/* What: watches: who waits for which objects, and the events they get. Each event is made into text once per way of looking
 *       at it (kind version, object or metadata or table) and shared by all that look that way.
 * Owns: the watches at work and the texts not yet taken.
 * Threads: the loop thread.
 * Errors: answered, or sent as an ERROR event.
 *
 *   store event ─► table ─► watches of all namespaces
 *                       └─► watches of this namespace ─► selectors ─► queue of the watch ─► fill, when the client takes it
 *
 * A watch that does not keep up falls back to reading the log by itself, so that nothing piles up in memory; if history is
 * cut off in front of it, it gets 410 and ends. */
#pragma once

#include "api/server.h"

struct watch_hub *watch_hub_new(struct api *api);
void watch_hub_free(struct watch_hub *hub);
/* Serves a request that has watch=true. */
void watch_start(struct api_request *r);
/* One change, to everybody whom it concerns. */
void watch_publish(struct watch_hub *hub, const struct store_event *event);
/* The kind is no longer what it was (its CRD changed or went): its watches end. */
void watch_end_kind(struct watch_hub *hub, uint32_t table);
/* Ends all watches, and all waiting for revisions: the server goes away. */
void watch_drain(struct watch_hub *hub);
size_t watch_count(const struct watch_hub *hub);

/* Somebody who waits for the store to come to a revision. Embedded in what waits. */
struct watch_await {
    rev wanted;
    void (*then)(void *ctx, bool is_there);
    void *ctx;
    struct loop_timer timer; /* private, as what follows */
    struct watch_hub *hub;
    struct watch_await *next, **back;
};

enum { WATCH_AWAIT_SECONDS = 3 };
/* Calls then, once: with true when the revision is there, with false when it took too long. Not before this returns. */
void watch_await(struct watch_hub *hub, struct watch_await *w, rev wanted, void (*then)(void *ctx, bool is_there),
                 void *ctx);
