/* SPDX-License-Identifier: Apache-2.0 */
/* What: a whole API server in this process, on a temporary folder and without sockets; its clock is the test's.
 * Owns: all of it.
 * Threads: the test's is the loop's.
 * Errors: end the program. */
#pragma once

#include "api/api.h"
#include "authz/authz_request.h"
#include "lib/scratch.h"

struct client;
struct transport;

struct server {
    struct loop *loop;
    struct api *api; /* NULL: closed by the test */
    struct clock_fake time;
    struct random_seeded chance;
    struct log log;
    char dir[SCRATCH_MAX];
    bool is_ready;
};

/* A member of system:masters. */
extern const struct authz_identity server_admin;

/* Opens an empty server at 2026-01-02T03:04:05Z and waits until it is ready. keep_ns: see api_options; 0: the default. */
void server_open(struct server *s, uint64_t seed, int64_t keep_ns);
void server_close(struct server *s);
/* A client on a transport of api/loopback_client.h. */
struct client *server_client(struct server *s, struct transport *t);
