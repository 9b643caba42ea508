/* SPDX-License-Identifier: Apache-2.0 */
/* What: watches: who waits for which objects, and the events they get. Each event is made into text once per way of looking
 *       at it (kind version, object or metadata or table) and shared by all that look that way.
 * Owns: the watches at work and the changes not yet sent.
 * Threads: the loop thread.
 * Errors: answered, or sent as an ERROR event.
 *
 *   store_poll ─► watch_publish ─► news of the groups that the change concerns     before the answer of the write leaves
 *   later turns of the loop:       a slice of their watches is woken ─► fill, when the client takes it ─► selectors, text
 *
 * A watch that does not keep up falls back to reading the log by itself, so that nothing piles up in memory; if history is
 * cut off in front of it, it gets 410 and ends. */
#pragma once

#include "api/server.h"

struct watch_hub *watch_hub_new(struct api *api);
void watch_hub_free(struct watch_hub *hub);
/* Serves a request that has watch=true. */
void watch_start(struct api_request *r);
/* The view of the store is about to move: what was read in it is forgotten. To be called before every poll. */
void watch_view_moves(struct watch_hub *hub);
/* One change: the watches that it concerns will send it, in later turns of the loop. Its cost does not depend on their number. */
void watch_publish(struct watch_hub *hub, const struct store_event *event);
/* The kind is about to change or to be removed with its CRD: its watches end, after what they have yet to send. */
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
