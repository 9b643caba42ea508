/* SPDX-License-Identifier: Apache-2.0 */
/* What: counters and durations of requests, for /metrics in Prometheus' text form. Names are those of kube-apiserver where they
 *       mean the same.
 * Owns: the counters, one set for each verb, resource and code seen (a bounded number).
 * Threads: the loop thread.
 * Errors: none. */
#pragma once

#include "api/server.h"

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* A request was answered (for watches: has ended). */
void metrics_request(struct metrics *m, const struct api_request *r, int64_t took_ns);
void metrics_format(struct api *api, struct buf *b);
/* The requests alone. */
void metrics_format_requests(const struct metrics *m, struct buf *b);
