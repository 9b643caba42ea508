/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of a layout, for the files that read and write it.
 * Owns: see oci/layout.h.
 * Threads: see oci/layout.h.
 * Errors: see oci/layout.h. */
#pragma once

#include "oci/layout.h"

struct oci_layout {
    struct oci_source source; /* first */
    int dir;
    char *path; /* for messages */
};

void oci_close_fd(const int *fd);
#define OCI_FD_SCOPE __attribute__((cleanup(oci_close_fd)))

/* An open directory as a layout; takes the descriptor. */
struct oci_layout *oci_layout_of(int dir, const char *path);
/* A file of the top directory, whole. */
int oci_layout_read_file(struct oci_layout *l, struct arena *a, const char *name, size_t max, str *ret,
                         struct err *err);
/* The directory of the blobs of an algorithm; negative with errno. Links are not followed. */
int oci_layout_blob_dir(struct oci_layout *l, const struct oci_digest *digest);
