/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of an archive of images, for the files that read it.
 * Owns: see oci/archive.h.
 * Threads: one thread at a time.
 * Errors: see oci/archive.h. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "oci/archive.h"

/* A file inside: where it is. */
struct archive_member {
    uint64_t at, size;
    str digest; /* of a docker archive, once it was needed */
    bool is_gzip;
};

/* An image of a manifest.json: the manifest a registry would have. */
struct archive_saved {
    struct oci_digest digest;
    str manifest;
    const str *tags;
    size_t n_tags;
};

struct archive {
    struct oci_source source; /* first */
    struct arena arena;
    int fd;
    str path;
    struct map members;   /* struct archive_member by path */
    struct map by_digest; /* struct archive_member by "sha256:…": of a docker archive */
    bool is_layout;
    struct oci_manifest index;       /* of a layout */
    VEC(struct archive_saved) saved; /* of a docker archive */
};

int archive_give(struct archive *ar, const struct archive_member *m, struct oci_sink sink, struct err *err);
/* All bytes of a document. */
int archive_bytes(struct archive *ar, struct arena *a, const struct archive_member *m, str *ret, struct err *err);
/* Reads a manifest.json, and makes up the manifests. */
int archive_read_docker(struct archive *ar, const struct archive_member *m, struct err *err);
