/* SPDX-License-Identifier: Apache-2.0 */
/* What: the lines of packages on disk, a file for each repository and digest. Part of the fetcher.
 * Owns: all files of its directory. An entry that is open stays readable after its file was removed.
 * Threads: any at once.
 * Errors: ERR_NOT_FOUND for what is not there or is damaged (then it is removed), ERR_IO, ERR_NO_SPACE, ERR_INVALID for a directory
 *         that is somebody else's.
 *
 *   <16 hex digits of the repository>-sha256-<hex>.jsonl      mode 0600; its time says when it was used last
 *   <…>.tmp                                                   being written; removed at the next start
 *
 * The last line of a file tells the number and the sha256 of the bytes before it: a file that was cut or changed is noticed. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "oci/digest.h"
#include "oci/oci_fetch.h"
#include "oci/reference.h"

struct fetch_cache;
struct fetch_writer;

typedef VEC(str) fetch_digests;

/* Makes the directory, and those above it, when there is none. */
int fetch_cache_open(const char *path, uint64_t max_bytes, struct fetch_cache **ret, struct err *err);
/* Takes NULL. */
void fetch_cache_close(struct fetch_cache *c);
int fetch_cache_get(struct fetch_cache *c, str repository, const struct oci_digest *digest, struct fetch_entry **ret,
                    struct err *err);
/* Adds the digests there are of a repository, as text; at most max. */
void fetch_cache_list(struct fetch_cache *c, struct arena *a, str repository, size_t max, fetch_digests *list);

/* An entry to be: nobody sees it before it is whole and on disk. */
int fetch_writer_open(struct fetch_cache *c, struct fetch_writer **ret, struct err *err);
/* A line with its newline. */
int fetch_writer_add(struct fetch_writer *w, str line, struct err *err);
int fetch_writer_commit(struct fetch_writer *w, str repository, const struct oci_digest *digest,
                        struct fetch_entry **ret, struct err *err);
/* Takes NULL; removes what was not committed. */
void fetch_writer_free(struct fetch_writer *w);

/* ---- For the files of this folder. ---- */

/* The descriptor becomes the entry's; size counts the bytes before the last line. */
struct fetch_entry *fetch_entry_new(int fd, uint64_t size);

/* One question to one child: runs reeve-fetch, believes nothing of what it prints, and keeps it in the cache. */

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

/* How many children may run at once: in all, for one registry and for one tenant, so that neither a registry that hangs nor
 * somebody who asks for much holds up the others. Part of the fetcher. */

/* How many run by each name; names that nothing runs by are not there. */
struct fetch_counts {
    struct fetch_count {
        str name; /* heap */
        unsigned running;
    } * p;
    size_t n, cap;
};

/* Pulls from the local store are counted apart (as the host ""): nothing of them can hang. */
struct fetch_gate {
    unsigned max, max_per_host, max_per_tenant;
    unsigned running; /* of registries */
    struct fetch_counts hosts, tenants;
};

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host, unsigned max_per_tenant);
void fetch_gate_done(struct fetch_gate *g);
/* False: not now. No tenant: only the registry counts. */
bool fetch_gate_enter(struct fetch_gate *g, str host, str tenant);
void fetch_gate_leave(struct fetch_gate *g, str host, str tenant);
