/* SPDX-License-Identifier: Apache-2.0 */
/* What: the life of a program whose controllers act on the API servers of others: signals, probes, leader election.
 * Owns: the loop, the probes, the campaign, and the control of those who act.
 * Threads: who calls service_run becomes the loop thread; everything is called back from there.
 * Errors: service_run says why it could not start, or go on.
 *
 *   probes ─► campaign ──won──► act: controllers are added to the control, which starts
 *                ▲                       │ lost, or told to end: halt
 *                └─── everything that ◄──┘
 *                     acted is gone: rest         told to end: the lease is given back, service_run returns
 *
 * The campaign has a connection of its own, so that the controllers' can be cut off at once when the lease is lost. */
#pragma once

#include "client/config.h"
#include "control/control.h"

struct service;
struct transport;

struct service_options {
    str version; /* of the program */
    const struct log *log;
    str host; /* of the probes; empty: none */
    uint16_t port;
    const struct client_config *config; /* of the server where the Lease is; lives as long */
    bool no_election;                   /* acts at once: there is no other */
    str lease_namespace, lease_name;
    int64_t lease_ns, deadline_ns, retry_ns; /* see control/election.h */

    /* Makes clients and adds controllers to service_control. An error ends the program. */
    int (*act)(void *ctx, struct service *s, struct err *err);
    /* From this moment on nothing of ours may reach a server: stops the clients. After an act that failed, too. */
    void (*halt)(void *ctx);
    /* Frees what act made; the control is gone. After every act, however far that came. */
    void (*rest)(void *ctx);
    /* More reasons not to be ready, while it acts; NULL: none. */
    bool (*is_ready)(void *ctx, str *ret_why);
    void *ctx;
};

/* Until SIGTERM or SIGINT; a second one ends the process at once. */
int service_run(const struct service_options *options, struct err *err);

/* ---- For who acts. ---- */

struct loop *service_loop(struct service *s);
struct control *service_control(struct service *s);
struct random service_random(struct service *s);
/* A client of a real server. ret_transport may be NULL. config lives as long. */
int service_client(struct service *s, const struct client_config *config, struct client **ret,
                   struct transport **ret_transport, struct err *err);
/* It cannot go on: ends, with this error. */
void service_fail(struct service *s, const struct err *err);
/* Halt, rest, and act again. */
void service_renew(struct service *s);
