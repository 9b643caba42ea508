/* SPDX-License-Identifier: Apache-2.0 */
/* What: the JSON documents of images: manifests, indexes, configs; of OCI, and of docker (version 2, schema 2).
 * Owns: nothing; all parts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_INVALID for documents that make no sense, ERR_TOO_LARGE past a limit, ERR_UNSUPPORTED_MEDIA_TYPE for what is no
 *         image. Texts are for the author of a package.
 *
 * The documents are a stranger's: every count, length and size is checked before it is used. A document that could be read
 * both as manifest and as index is refused, and so is one that says another type than the one it was announced as. */
#pragma once

#include "oci/digest.h"

enum {
    OCI_DOCUMENT_MAX = 4 * 1024 * 1024, /* bytes of a manifest, index or config */
    OCI_LAYERS_MAX = 256,
    OCI_INDEX_MAX = 10000,      /* images of an index */
    OCI_ANNOTATIONS_MAX = 1024, /* of one thing; of these each at most 64 KiB */
    OCI_ANNOTATION_BYTES = 64 * 1024,
    OCI_INDEX_DEPTH = 4, /* an index in an index in… */
};
#define OCI_SIZE_MAX \
    (UINT64_C(1) << 40) /* of a blob that a descriptor speaks of; what is really read is bounded further */

#define OCI_TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define OCI_TYPE_INDEX "application/vnd.oci.image.index.v1+json"
#define OCI_TYPE_CONFIG "application/vnd.oci.image.config.v1+json"
#define OCI_TYPE_LAYER "application/vnd.oci.image.layer.v1.tar"
#define OCI_TYPE_LAYER_GZIP "application/vnd.oci.image.layer.v1.tar+gzip"
#define OCI_TYPE_LAYER_ZSTD "application/vnd.oci.image.layer.v1.tar+zstd"
#define DOCKER_TYPE_MANIFEST "application/vnd.docker.distribution.manifest.v2+json"
#define DOCKER_TYPE_LIST "application/vnd.docker.distribution.manifest.list.v2+json"
#define DOCKER_TYPE_CONFIG "application/vnd.docker.container.image.v1+json"
#define DOCKER_TYPE_LAYER "application/vnd.docker.image.rootfs.diff.tar"
#define DOCKER_TYPE_LAYER_GZIP "application/vnd.docker.image.rootfs.diff.tar.gzip"

#define OCI_XPKG_ANNOTATION \
    "io.crossplane.xpkg" /* of a layer: "base"; as a label of a config: followed by ":{digest}" */

struct oci_pair {
    str key, value;
};

/* Annotations, or labels. */
struct oci_pairs {
    const struct oci_pair *p;
    size_t n;
};

/* The value, or empty. */
str oci_pairs_get(const struct oci_pairs *pairs, str key);

struct oci_descriptor {
    str media_type;
    struct oci_digest digest;      /* always set */
    uint64_t size;                 /* at most OCI_SIZE_MAX */
    str os, architecture, variant; /* of an index; empty: it does not say */
    struct oci_pairs annotations;
};

enum oci_manifest_type { OCI_MANIFEST, OCI_INDEX };

struct oci_manifest {
    enum oci_manifest_type type;
    str media_type;
    struct oci_descriptor config;        /* of a manifest */
    const struct oci_descriptor *layers; /* of a manifest: bottom first; of an index: the images */
    size_t n_layers;
    struct oci_pairs annotations;
};

/* media_type: as what it was announced (Content-Type, or its descriptor); empty: nobody said. */
int oci_manifest_parse(struct arena *a, str bytes, str media_type, struct oci_manifest *ret, struct err *err);
/* Is it one of the four types of manifests and indexes we read? For registries: these are what to accept. */
bool oci_manifest_is_known_type(str media_type);

/* The image of an index for us: linux/amd64; or the only one there is. Signatures and attestations (platform unknown/unknown)
 * are none. */
int oci_index_choose(const struct oci_manifest *index, const struct oci_descriptor **ret, struct err *err);

struct oci_config {
    struct oci_pairs labels;
    const struct oci_digest *diff_ids; /* of the layers uncompressed; n_diff_ids 0: it has none */
    size_t n_diff_ids;
};

int oci_config_parse(struct arena *a, str bytes, struct oci_config *ret, struct err *err);
/* A config of an image, by its type? Artifacts have others, of which nothing is known. */
bool oci_config_is_known_type(str media_type);

/* The layer that is the package of today's format (xpkg): annotated "io.crossplane.xpkg: base", or labelled so in the config.
 * *ret_layer is -1 when no layer is. ERR_INVALID when several are. */
int oci_manifest_find_base(struct arena *a, const struct oci_manifest *m, const struct oci_config *config,
                           ptrdiff_t *ret_layer, struct err *err);
