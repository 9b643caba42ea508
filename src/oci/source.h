/* SPDX-License-Identifier: Apache-2.0 */
/* What: where images come from: a registry, a layout directory, an archive file; all the same to those who read images.
 * Owns: whoever opened a source frees it.
 * Threads: one thread at a time.
 * Errors: the code says whose fault it is and whether to try again (oci_failure_of).
 *
 *                  ┌ registry (oci/registry.h)
 *   oci_source_* ──┼ layout   (oci/layout.h)       functions of a table: they only fetch bytes
 *      │           └ archive  (oci/archive.h)
 *      └ verifies all of it by digest and size, whatever the table's functions said
 *
 * Blobs are pushed in pieces into a sink, so that nothing is ever held whole that need not be. What a sink has been given is
 * believed only after the function has returned 0: the digest is known at the end. */
#pragma once

#include "oci/oci_manifest.h"
#include "oci/reference.h"

/* Takes the pieces of a blob. A negative code ends the transfer, which then fails with it. */
struct oci_sink {
    int (*take)(void *ctx, str piece, struct err *err);
    void *ctx;
};

/* How far a transfer of images has come. What the other side had before counts as a layer, not as bytes. */
struct oci_moved {
    size_t layers, of; /* transferred, and all that are known so far */
    uint64_t bytes, bytes_of;
};

struct oci_watch {
    void (*moved)(void *ctx, const struct oci_moved *now);
    void *ctx;
};

/* A manifest or index as it was found. */
struct oci_document {
    str media_type;           /* as announced; empty: not said */
    struct oci_digest digest; /* of bytes */
    str bytes;                /* at most OCI_DOCUMENT_MAX */
};

struct oci_source;

struct oci_source_ops {
    /* The document a reference (as parsed, not normalised) names now, by its digest if it has one. ERR_NOT_FOUND when there is
     * none. Need not verify anything; the digest is set if it is known what it should be, else left zero. Must not read more
     * than OCI_DOCUMENT_MAX bytes: ERR_TOO_LARGE. */
    int (*resolve)(struct oci_source *s, struct arena *a, const struct oci_reference *ref, struct oci_document *ret,
                   struct err *err);
    /* The document with this digest, of the same repository as the last one resolved. */
    int (*document)(struct oci_source *s, struct arena *a, const struct oci_descriptor *want, struct oci_document *ret,
                    struct err *err);
    /* All bytes of the blob with this digest, likewise. Need not verify. */
    int (*blob)(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err);
    void (*free)(struct oci_source *s);
};

/* First member of every source. */
struct oci_source {
    const struct oci_source_ops *ops;
};

/* All three verify: the reference's own digest, the one the source has for it, the descriptor's, the size. */
int oci_source_resolve(struct oci_source *s, struct arena *a, const struct oci_reference *ref, struct oci_document *ret,
                       struct err *err);
int oci_source_document(struct oci_source *s, struct arena *a, const struct oci_descriptor *want,
                        struct oci_document *ret, struct err *err);
int oci_source_blob(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err);
/* A small blob whole: configs. ERR_TOO_LARGE past max, before anything is read. */
int oci_source_blob_bytes(struct oci_source *s, struct arena *a, const struct oci_descriptor *want, size_t max,
                          str *ret, struct err *err);
/* Takes NULL. */
void oci_source_free(struct oci_source *s);

/* What an error of a pull means. */
struct oci_failure {
    str reason;     /* "PullFailed": it could not be had; "InvalidPackage": it was had, and is no good */
    bool can_retry; /* the same might work in a while: network, overload, a full disk */
};

/*   IO TIMEOUT SERVER_TIMEOUT UNAVAILABLE TOO_MANY_REQUESTS NO_SPACE INTERNAL     PullFailed, try again
 *   INVALID TOO_LARGE UNSUPPORTED_MEDIA_TYPE      InvalidPackage, never again: same bytes, same answer
 *   NOT_FOUND UNAUTHORIZED FORBIDDEN and others   PullFailed, not at once */
struct oci_failure oci_failure_of(enum err_code code);
