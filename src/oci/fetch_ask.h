/* SPDX-License-Identifier: Apache-2.0 */
/* What: one question to one child: runs reeve-fetch, believes nothing of what it prints, and keeps it in the cache.
 * Owns: its child, until it is reaped. An entry it returns is the caller's.
 * Threads: any; one question belongs to one thread.
 * Errors: as oci/fetch.h. */
#pragma once

#include "base/arena.h"
#include "oci/fetch_cache.h"
#include "oci/reference.h"

struct fetch_ask {
    const struct fetcher_options *options;
    struct fetch_cache *cache;
    int stop; /* a descriptor: it ends when this can be read */
    struct arena *arena;
    const struct fetch_request *request;
    struct oci_reference ref; /* normalised */
    str repository;           /* with its registry: what cache entries are kept apart by */
    bool is_in_store;         /* then no registry is asked */
};

/* What an error means that is none of the package: a child that breaks may do better another time. */
int fetch_broken(struct fetch_failure *failure, struct err *err);
/* say_what_we_have: it need not send that again. *ret_entry is NULL when it says that we have it. */
int fetch_ask(const struct fetch_ask *ask, bool say_what_we_have, struct oci_digest *ret_digest,
              struct fetch_entry **ret_entry, struct fetch_failure *failure, struct err *err);
