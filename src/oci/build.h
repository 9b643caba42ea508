/* SPDX-License-Identifier: Apache-2.0 */
/* What: makes an image of a package out of a directory, for authors.
 * Owns: nothing.
 * Threads: one thread at a time.
 * Errors: ERR_INVALID for trees that no package may have (links, devices, nothing in it), ERR_TOO_LARGE, ERR_NOT_FOUND, ERR_IO, ERR_NO_SPACE.
 *
 * The same tree makes the same image, byte for byte, wherever and whenever: entries sorted, no times, no owners, mode 0644 or
 * 0755 for directories, one gzip member with neither name nor time. */
#pragma once

#include "oci/layout.h"

enum oci_format {
    OCI_FORMAT_REGISTRY, /* the tree below .registry/ */
    OCI_FORMAT_XPKG,     /* one stream package.yaml, in a layer annotated io.crossplane.xpkg: base */
};

/* A file of the package to be. */
struct oci_build_file {
    str path; /* ".registry/app.yaml" */
    str data;
};

struct oci_build {
    enum oci_format format;
    const struct oci_build_file *files; /* in any order; no path twice */
    size_t n_files;
    struct oci_pairs labels; /* of the config, besides what the format needs */
};

/* The files of a directory, as a package of this format has them: for OCI_FORMAT_REGISTRY all of it, in or below ".registry"
 * whether the directory holds one or is one; for OCI_FORMAT_XPKG its *.yaml joined to one package.yaml, crossplane.yaml first,
 * unless there is a package.yaml at its root: then that. Hidden files and directories are left out. */
int oci_build_collect(struct arena *a, const char *path, enum oci_format format, struct oci_build *ret,
                      struct err *err);
/* Puts layer, config and manifest into the layout, and the name. */
int oci_build_image(struct oci_layout *l, const struct oci_build *build, const struct oci_reference *ref,
                    struct oci_digest *ret, struct err *err);
