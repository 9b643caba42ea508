/* SPDX-License-Identifier: Apache-2.0 */
/* What: requests from within the process: the same pipeline from authorisation on, without sockets.
 * Owns: the call until done was called.
 * Threads: the loop thread.
 * Errors: as HTTP codes with a Status. */
#pragma once

#include "api/server.h"

struct loopback_call {
    struct authz_identity who; /* copied */
    str method;
    str target;       /* "/api/v1/namespaces?fieldManager=reeve" */
    str content_type; /* empty: application/json */
    str accept;       /* empty: application/json */
    str body;
    void (*done)(void *ctx, int status, str body); /* body is borrowed during the call */
    void *ctx;
};

/* Everything is copied. done may be called before this returns. */
void loopback_call(struct api *api, const struct loopback_call *call);
/* The identity of the server's own housekeeping: system:apiserver in system:masters. */
struct authz_identity loopback_self(void);
