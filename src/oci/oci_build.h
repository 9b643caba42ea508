/* SPDX-License-Identifier: Apache-2.0 */
/* What: makes an image of a package out of a directory, for authors.
 * Owns: nothing.
 * Threads: one thread at a time.
 * Errors: ERR_INVALID for trees that no package may have (links, devices, nothing in it), ERR_TOO_LARGE, ERR_NOT_FOUND, ERR_IO, ERR_NO_SPACE.
 *
 * The same tree makes the same image, byte for byte, wherever and whenever (with the same zlib): entries sorted, no times, no
 * owners, mode 0644, and 0755 for directories; one gzip member with neither name nor time. What is built obeys the limits under
 * which packages are read. */
#pragma once

#include "oci/image.h"
#include "oci/layout.h"

enum oci_format {
    OCI_FORMAT_REGISTRY, /* the tree below .registry/ */
    OCI_FORMAT_XPKG,     /* one stream package.yaml, in a layer annotated io.crossplane.xpkg: base */
};

struct oci_build {
    enum oci_format format;
    const struct oci_file *files; /* in any order */
    size_t n_files;
    /* Of an xpkg that was joined: the files its one stream is made of, in that order. For those who tell authors what is where. */
    const struct oci_file *parts;
    size_t n_parts;
};

/* The files of a directory, as a package of this format has them. Hidden files and directories are left out.
 *   OCI_FORMAT_REGISTRY   all files, below ".registry/"; of the directory .registry in it, if there is one, else of itself
 *   OCI_FORMAT_XPKG       its package.yaml; if there is none, all *.yaml and *.yml but those in examples/ joined to one,
 *                         crossplane.yaml first */
int oci_build_collect(struct arena *a, const char *path, enum oci_format format, struct oci_build *ret,
                      struct err *err);
/* Puts layer, config and manifest into the layout, and the name. */
int oci_build_image(struct oci_layout *l, const struct oci_build *build, const struct oci_reference *ref,
                    struct oci_digest *ret, struct err *err);
/* Which digest that would have, and how many bytes of config and layer. Nothing is written. */
int oci_build_measure(const struct oci_build *build, struct oci_digest *ret, uint64_t *ret_size, struct err *err);
