/* SPDX-License-Identifier: Apache-2.0 */
/* What: what becomes of an event about an object: a new Event, one more of an old one, or nothing. As client-go's correlator
 *       decides it, on a clock that is told. No effects.
 * Owns: what it remembers: three caches of CORRELATOR_ENTRIES at most, each of which forgets what was not asked for longest.
 * Threads: one at a time.
 * Errors: none.
 *
 *   event ─► similar ones: the same but for the message. From the tenth message within ten minutes on they are one:
 *        │                 "(combined from similar events): …"
 *        ├─► the same, or its combination, was there before: count it, PATCH
 *        └─► too many about this object: 25, and one more every five minutes. The rest is counted, and not told */
#pragma once

#include "base/arena.h"
#include "json/json.h"

enum {
    CORRELATOR_ENTRIES = 4096,
    CORRELATOR_SIMILAR = 10, /* messages */
    CORRELATOR_BURST = 25,
};

struct correlator;

struct correlator *correlator_new(void);
/* Takes NULL. */
void correlator_free(struct correlator *c);

struct correlator_event {
    str component;
    str api_version, kind, namespace, name, uid, version; /* of the object */
    str type, reason, message;                            /* type: "Normal", "Warning" */
    int64_t wall, mono;                                   /* when it happened */
};

enum correlator_action {
    CORRELATOR_SKIP,
    CORRELATOR_CREATE,
    CORRELATOR_PATCH, /* strategic merge; when there is no such Event any more, create it */
};

struct correlator_result {
    enum correlator_action action;
    str namespace, name; /* of the Event */
    struct json event;   /* to create */
    struct json patch;
};

struct correlator_result correlator_take(struct correlator *c, struct arena *a, const struct correlator_event *event);
/* Entries in all caches. */
size_t correlator_size(const struct correlator *c);
