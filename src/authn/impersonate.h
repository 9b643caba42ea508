/* SPDX-License-Identifier: Apache-2.0 */
/* What: acting as somebody else: what the Impersonate-… headers of a request ask for.
 * Owns: nothing; results live in the arena given and borrow from the headers.
 * Threads: pure functions.
 * Errors: ERR_INTERNAL, as Kubernetes answers it, for headers that name groups, a uid or extras but no user; ERR_BAD_REQUEST
 *         for values that are not UTF-8.
 *
 *   Impersonate-User    ─► impersonate users NAME, or serviceaccounts NAME in NAMESPACE
 *   Impersonate-Group   ─► impersonate groups NAME                                            each of them
 *   Impersonate-Extra-K ─► impersonate userextras/K VALUE   in authentication.k8s.io          each value
 *   Impersonate-Uid     ─► impersonate uids UID             in authentication.k8s.io
 *
 * The requester must be allowed all of it before the new identity counts. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"

struct impersonate_header {
    str name, value;
};

struct impersonation {
    const struct authz_attributes *questions; /* each is to be allowed, asked in this order */
    size_t n;                                 /* 0: nothing was asked for; who is nobody then */
    struct authz_identity who;
};

/* Whether a header is one that impersonate_read looks at. */
bool impersonate_is_header(str name);
/* Other headers are passed over; values of a name count in the order they came. */
int impersonate_read(struct arena *a, const struct impersonate_header *headers, size_t n, struct impersonation *ret,
                     struct err *err);
