/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve-fetch is asked to do: one JSON object on its standard input. Both ends of the pipe use this.
 * Owns: nothing; texts are borrowed, or live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for a request that makes no sense. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "oci/digest.h"
#include "oci/oci_fetch.h"

struct json;
struct oci_reference;

enum { OCI_REQUEST_MAX = 8 * 1024 * 1024 }; /* bytes: some pull secrets, and the digests of the cache */

enum oci_op {
    OCI_PULL,    /* to standard output, line by line */
    OCI_RESOLVE, /* only say which digest it has */
    OCI_COPY,    /* from a registry into the store */
    OCI_PUSH,    /* from the store to a registry */
    OCI_BUILD,   /* from a directory into the store */
    OCI_OPEN,    /* a directory to standard output, as if it had been built and pulled */
};

struct oci_request {
    enum oci_op op;
    enum fetch_policy policy;
    str reference;
    str store;     /* a directory; empty: none */
    str directory; /* of what to build or open */
    str ca_file;   /* empty: the system's */
    VEC(str) auths;
    VEC(struct fetch_mirror) mirrors;
    VEC(str) have;       /* digests whose lines are known: these are only named */
    VEC(uint16_t) ports; /* that may be connected to besides 443 and the registry's own */
    int64_t timeout_ns;
    bool tells; /* how far it has come, meanwhile */
    bool
        is_quick; /* OCI_OPEN: who asks has no use for the digest of the image, which is most of the work. Then there is no size, and
                    * the digest is one of the files */
};

/* ---- How far it has come: {"progress":{"step":"layers","at":1,"of":3,"bytes":4096,"bytesOf":9000}}, before all other lines. ---- */

enum oci_step {
    OCI_STEP_FILES,  /* of a directory, read */
    OCI_STEP_LAYERS, /* moved, or there already */
};

struct oci_progress {
    enum oci_step step;
    uint64_t at, of;
    uint64_t bytes, bytes_of; /* of all; 0: not known */
};

void oci_progress_encode(struct buf *b, const struct oci_progress *progress);

void oci_request_encode(struct buf *b, const struct oci_request *request);
int oci_request_decode(struct arena *a, str text, struct oci_request *ret, struct err *err);

/* The registry and repository that a reference means, normalised, with the mirrors of the request applied. */
int oci_request_name(struct arena *a, const struct oci_request *request, const struct oci_reference *ref,
                     struct oci_reference *ret, bool *ret_wants_https, struct err *err);

/* Reads what reeve-fetch prints, line by line, and believes none of it: order, sizes, counts and form are checked. */

struct json;

enum lines_state { LINES_BEGIN, LINES_BODY, LINES_END, LINES_ERROR };

struct lines {
    /* Takes a whole line that belongs to the package, with its newline. */
    int (*take)(void *ctx, str line, struct err *err);
    const struct json *object; /* the same, read; while take is called */
    /* How far the child has come, before it says anything else; or NULL: it was not asked to tell. Set after lines_init. */
    void (*progress)(void *ctx, const struct oci_progress *progress);
    void *ctx;

    enum lines_state state;
    struct oci_digest digest; /* from the first line on */
    bool is_from_store;       /* the local store had it */
    uint64_t size;            /* bytes of the image, as the child says; 0: it does not */
    bool is_known;            /* it was among those we have: there is no body */
    size_t files, lines;
    uint64_t bytes;
    struct err error; /* LINES_ERROR: what went wrong, and what that means */
    struct fetch_failure failure;

    /* private */
    struct buf rest;
    struct arena scratch;
};

void lines_init(struct lines *l, int (*take)(void *ctx, str line, struct err *err), void *ctx);
void lines_done(struct lines *l);
int lines_add(struct lines *l, str piece, struct err *err);
/* There is no more: did it come to an end? */
int lines_finish(struct lines *l, struct err *err);
