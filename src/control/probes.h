/* SPDX-License-Identifier: Apache-2.0 */
/* What: how a program without an API of its own fares, for kubelets and Prometheus: /healthz, /livez, /readyz and /metrics in plain HTTP.
 * Owns: a listening socket and its connections.
 * Threads: the loop thread.
 * Errors: ERR_CONFLICT when the port is taken, ERR_IO.
 *
 * Nothing secret is told, and nothing can be asked for that costs much: a few small pages, a few connections. */
#pragma once

#include "net/http.h"

struct probes;

struct probes_options {
    struct loop *loop;
    str host;
    uint16_t port;
    /* Ready, or why not. */
    bool (*is_ready)(void *ctx, str *ret_why);
    void (*metrics)(void *ctx, struct buf *b);
    void *ctx;
};

int probes_open(const struct probes_options *options, struct probes **ret, struct err *err);
uint16_t probes_port(const struct probes *p);
/* Takes NULL. */
void probes_close(struct probes *p);
