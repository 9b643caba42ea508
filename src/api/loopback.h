/* SPDX-License-Identifier: Apache-2.0 */
/* What: requests from within the process: the same pipeline from authorisation on, without sockets.
 * Owns: the call until done was called.
 * Threads: the loop thread.
 * Errors: as HTTP codes with a Status. */
#pragma once

#include "api/server.h"

struct loopback;

struct loopback_call {
    struct authz_identity who; /* copied */
    str method;
    str target; /* "/api/v1/namespaces?fieldManager=reeve" */
    struct http_headers headers;
    str content_type; /* empty: application/json */
    str accept;       /* empty: application/json */
    str user_agent;   /* manages the fields it sets; empty: kube-apiserver */
    str body;
    /* Pieces of an answer that streams, as they come; NULL: they are collected for done. */
    void (*piece)(void *ctx, str bytes);
    /* The whole answer; status 0 when a stream was cut off, be it because the server closes. Borrowed during the call. */
    void (*done)(void *ctx, int status, struct http_headers headers, str body);
    void *ctx;
};

/* Everything is copied. done may be called before this returns; then the answer is NULL. */
struct loopback *loopback_start(struct api *api, const struct loopback_call *call);
/* Hangs up, as a client that goes away: done is not called. */
void loopback_cancel(struct loopback *l);
/* Cuts all streams off; for api_close. Not from within a call back of one. */
void loopback_close(struct api *api);
/* The identity of the server's own housekeeping: system:apiserver in system:masters. */
struct authz_identity loopback_self(void);
struct authz_identity loopback_dup_identity(struct arena *a, const struct authz_identity *who);
