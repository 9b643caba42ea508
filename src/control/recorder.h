/* SPDX-License-Identifier: Apache-2.0 */
/* What: Events about objects, for people: what happened, once, with a count when it happens again.
 * Owns: what is known of the events of the last minutes; bounded.
 * Threads: recorder_event may be called by any; the rest belongs to the loop thread.
 * Errors: an Event that cannot be written is dropped and counted: nothing depends on one. */
#pragma once

#include "base/log.h"
#include "client/client.h"

struct recorder;

struct recorder_options {
    struct loop *loop;
    struct client *client;
    struct clock clock;
    str component; /* "reeve-namespaces" */
};

struct recorder *recorder_new(const struct recorder_options *options);
/* No thread is inside any more; what has not been written yet never is. Takes NULL. */
void recorder_free(struct recorder *r);

enum recorder_type { RECORDER_NORMAL, RECORDER_WARNING };

/* object: the one spoken of, with apiVersion, kind and metadata. Copied. Never waits. */
void recorder_event(struct recorder *r, const struct json *object, enum recorder_type type, str reason, str message);

struct recorder_stats {
    uint64_t written; /* Events made or counted up */
    uint64_t dropped; /* the server was away, refused, or too much happened at once */
    uint64_t spared;  /* too many about one object: Kubernetes' spam filter */
};

struct recorder_stats recorder_stats(struct recorder *r);
