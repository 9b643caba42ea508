/* SPDX-License-Identifier: Apache-2.0 */
/* What: one run of reeve-fetch for somebody who waits at a terminal. Nothing is cached.
 * Owns: nothing beyond the call; an entry is the caller's.
 * Threads: any; blocks.
 * Errors: as fetch_pull; and ERR_UNAUTHORIZED, a registry wants (other) credentials, ERR_FORBIDDEN, it is not to be trusted. */
#pragma once

#include "oci/digest.h"
#include "oci/fetch_protocol.h"

struct json;

struct fetch_watch {
    void (*moved)(void *ctx, const struct oci_progress *progress);
    void *ctx;
    int stop; /* a descriptor; when it can be read, the work is given up: ERR_GONE. -1: none */
};

/* Build, push, copy, resolve. program may be NULL: the one installed with this program. watch: is told how far it has come; or
 * NULL. */
int fetch_op(const char *program, const struct oci_request *request, const struct fetch_watch *watch,
             struct oci_digest *ret, struct fetch_failure *failure, struct err *err);

struct fetch_lines {
    struct oci_digest digest;
    uint64_t size;             /* bytes of config and layers; 0: not known */
    bool is_from_store;        /* else from a registry, or the directory */
    struct fetch_entry *entry; /* to be closed; kept in memory */
};

/* Somebody who reads along while the child still speaks: each line without its newline, and where it is in the entry. What comes of it
 * counts for nothing before fetch_op_lines says that the child came to its end. */
struct fetch_reader {
    int (*take)(void *ctx, uint64_t offset, str line, const struct json *object, struct err *err);
    void *ctx;
};

/* Pull, open: the lines of the package (fetch.h), as they are in the cache of a fetcher. reader may be NULL; when it fails, this does,
 * with its error. */
int fetch_op_lines(const char *program, const struct oci_request *request, const struct fetch_reader *reader,
                   struct fetch_lines *ret, struct fetch_failure *failure, struct err *err);
