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
    struct random random;
    str component; /* "reeve-namespaces" */
};

struct recorder *recorder_new(const struct recorder_options *options);
/* Takes NULL. */
void recorder_free(struct recorder *r);

enum recorder_type { RECORDER_NORMAL, RECORDER_WARNING };

/* object: the one spoken of, with apiVersion, kind and metadata. Copied. Never waits. */
void recorder_event(struct recorder *r, const struct json *object, enum recorder_type type, str reason, str message);
