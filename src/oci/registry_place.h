/* SPDX-License-Identifier: Apache-2.0 */
/* What: where a host is: its addresses, looked up once, and how near they are to us. Decides where a registry may send us.
 * Owns: nothing; all lives in the arena given.
 * Threads: pure, but for place_resolve, which asks the system's resolver and waits.
 * Errors: ERR_FORBIDDEN for places we do not go to, ERR_UNAVAILABLE when the name cannot be resolved. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <sys/socket.h>

/* In order: who sends us on may only name a place that is not more private than its own. */
enum place_class {
    PLACE_NEVER,   /* link-local (which metadata services are), multicast, broadcast, unspecified, reserved */
    PLACE_THIS,    /* this machine */
    PLACE_PRIVATE, /* networks that are not of the world: 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, … */
    PLACE_PUBLIC,
};

enum { PLACE_ADDRESSES = 8 };

struct place {
    str host; /* without brackets */
    uint16_t port;
    enum place_class class; /* of the most private address */
    size_t n;
    struct sockaddr_storage addresses[PLACE_ADDRESSES];
};

/* Can only be this machine, whatever a resolver says: localhost, 127.x.x.x, ::1. Plain http is for these. */
bool place_is_local_name(str host);
/* Only addresses that are not more private than least are taken; a name that is local has only local ones. */
int place_resolve(struct arena *a, str host, uint16_t port, enum place_class least, struct place *ret, struct err *err);
bool place_has(const struct place *p, const struct sockaddr *address);
