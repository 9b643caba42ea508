/* SPDX-License-Identifier: Apache-2.0 */
/* What: the API server: every request enters by api_handle, every change by the store's feed.
 * Owns: the store, the indexes made from it (kinds, roles, aggregates), watches, and requests at work.
 * Threads: the loop thread.
 * Errors: api_open says why it cannot start; afterwards everything is answered to the client.
 *
 *   http_exchange ─► authenticate ─► parse ─► impersonate ─► authorise ─► turn ─┬─► read, watch ◄── store
 *                                                                               ├─► write ─► admission ─► store
 *                                                                               └─► discovery, reviews, health, …
 *   store event ─► kinds, roles, aggregates (api_config.c) ─► watches (watch.c);   then the answers of the writes leave */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "net/http.h"
#include "net/loop.h"
#include "json/json.h"

struct api;
struct token_signer;

/* ClusterRoles that are created in the transaction of a Namespace. */
struct api_companions {
    str manager; /* field manager that applies them */
    /* Those of a Namespace that is about to be stored, complete but for what the server fills in; was is NULL for a create. The list
     * lives in the arena; 0: none. May run again for the same write. */
    size_t (*of_namespace)(struct arena *a, const struct json *was, const struct json *now, struct json **ret);
    /* The rules that one of these roles, by its name, has as soon as aggregation has reached it: whoever binds it must hold them. null:
     * it is none of them. */
    struct json (*rules_of)(struct arena *a, str role);
};

struct api_options {
    struct loop *loop;
    const char *data_dir; /* the store is in it */
    struct clock clock;
    struct random random;
    const struct log *log;
    const struct token_signer *signer;
    int64_t token_seconds; /* the longest life of a ServiceAccount token, but for those of agents; 0: a day */
    str ca_pem;            /* of the server, for clients: kube-root-ca.crt, jwks clients */
    str address;           /* "127.0.0.1:6443": what discovery tells */
    int64_t keep_ns;       /* of history; 0: five minutes */
    struct http_server_stats (*connections)(void *ctx); /* for metrics; NULL: nothing is told of them */
    void *connections_ctx;
    void (*metrics)(void *ctx, struct buf *b); /* what else /metrics tells; NULL: nothing */
    void *metrics_ctx;
    /* Objects, each as YAML, that are in place before ready is called: made, or repaired where they say otherwise; what others
     * have added (labels, annotations) stays. Of built-in kinds. They live until then. A Namespace is
     * only made; what belongs into one that is being deleted is left to the next start. */
    const str *own;
    size_t n_own;
    /* CustomResourceDefinitions that others bring as well, in the same way: made where they are missing, and brought up to date as
     * long as nobody else has written their versions. */
    const str *shared;
    size_t n_shared;
    struct api_companions companions; /* of_namespace is NULL: none */
    uint32_t max_reads, max_writes;   /* requests at work at once, watches apart; 0: the defaults of flow.h */
    bool no_aggregation; /* the rules of aggregated roles are what somebody has stored, not what they select */
};

/* Opens the store, reads what configures the server, creates what every server starts with. ready is called
 * once: err is NULL, or says what could not be created. */
int api_open(const struct api_options *options, void (*ready)(void *ctx, const struct err *err), void *ctx,
             struct api **ret, struct err *err);
/* For the HTTP server: the head of a request, then the request as a whole. */
void api_head(void *api, struct http_exchange *x);
void api_handle(void *api, struct http_exchange *x);
/* No new long-running requests; watches end. */
void api_drain(struct api *api);
void api_close(struct api *api);
