/* SPDX-License-Identifier: Apache-2.0 */
/* What: an image of a source, resolved for us; and the files of it that are wanted, as its layers on top of each other show them.
 * Owns: nothing; all results live in the arena given.
 * Threads: one thread at a time; blocks while the source does.
 * Errors: as oci_failure_of has them. Nothing is returned before all of it was verified: document, config and layers by digest and
 *         size, layers uncompressed by the config's diff_ids.
 *
 * Which layers are read: the one marked as base of an xpkg, alone; when none is marked, all. Of several with the same file
 * the upper wins; ".wh.x" hides x of the layers below, ".wh..wh..opq" all of its directory.
 *
 * What is refused, and where:
 *   anywhere          a ".." in a path, NUL bytes, archives that are broken or lie, too many entries, too many bytes
 *   what is wanted    links of both kinds, devices, pipes, absolute paths; links or files in place of a wanted directory
 *   elsewhere         nothing: base images have links and devices. They are passed over, and never followed. */
#pragma once

#include "oci/source.h"
#include "oci/tar.h"

struct oci_limits {
    uint64_t unpacked;  /* bytes of all layers read, uncompressed */
    uint64_t entries;   /* of all archives */
    uint64_t files;     /* wanted files, kept or not */
    uint64_t file_size; /* of one file that is kept */
};

#define OCI_LIMITS_DEFAULT \
    ((struct oci_limits){  \
        .unpacked = UINT64_C(200) << 20, .entries = 200000, .files = 20000, .file_size = UINT64_C(16) << 20})

struct oci_image {
    struct oci_digest digest;          /* of what the reference names: an index, or the manifest itself */
    struct oci_digest manifest_digest; /* of the manifest for us */
    struct oci_manifest manifest;
    struct oci_config config;
    ptrdiff_t base; /* the layer that is the package of an xpkg, or -1 */
};

/* Resolves ref through as many indexes as there are. */
int oci_image_open(struct arena *a, struct oci_source *s, const struct oci_reference *ref, struct oci_image *ret,
                   struct err *err);

/* What is wanted of an image: paths as in ".registry" (with all that is below) or "package.yaml". */
struct oci_wants {
    const str *paths;
    size_t n;
    /* Should this file below one of the paths be kept? NULL: all are. Files that are not kept still obey the rules. */
    bool (*keeps)(void *ctx, str path);
    void *ctx;
};

struct oci_file {
    str path; /* ".registry/app.yaml" */
    str data;
};

struct oci_files {
    const struct oci_file *p; /* sorted by path */
    size_t n;
};

int oci_image_read(struct arena *a, struct oci_source *s, const struct oci_image *image, const struct oci_wants *wants,
                   const struct oci_limits *limits, struct oci_files *ret, struct err *err);

/* The wanted files of layers on top of each other, as they would be seen in a file system.
 *
 *   layer 0   .registry/app.yaml  .registry/old/a.crd.yaml
 *   layer 1   .registry/app.yaml  .registry/.wh.old
 *   seen      .registry/app.yaml of layer 1
 *
 * Every wanted path has a node. A node knows the layer its file came from, and its floor: what lies at or below it and came from
 * a layer under the floor is hidden. A whiteout only raises a floor; who is hidden is found out once, at the end, so that no
 * number of whiteouts costs more than their number. */

struct oci_flatten;

struct oci_flatten *oci_flatten_new(struct arena *a, const struct oci_wants *wants, const struct oci_limits *limits);
/* Takes NULL. */
void oci_flatten_free(struct oci_flatten *f);
/* What comes from now on belongs to the next layer. */
void oci_flatten_next_layer(struct oci_flatten *f);
/* For a tar_reader, with the flatten as context. */
extern const struct tar_reader_ops oci_flatten_ops;
/* The files that are seen and kept, sorted by path. */
struct oci_files oci_flatten_files(struct oci_flatten *f);
