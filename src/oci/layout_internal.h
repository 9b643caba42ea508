/* SPDX-License-Identifier: Apache-2.0 */
/* What: index.json, the list of names of a layout: looked up, and changed.
 * Owns: nothing; results live in the arena given, or are parts of what was given.
 * Threads: pure functions.
 * Errors: ERR_INVALID, ERR_TOO_LARGE, ERR_UNSUPPORTED_MEDIA_TYPE as oci/oci_manifest.h. */
#pragma once

#include "oci/layout.h"

#define OCI_LAYOUT_FILE "oci-layout"
#define OCI_INDEX_FILE "index.json"

/* Is it the layout we know? text: that of the file oci-layout. */
int oci_layout_check(str text, struct err *err);
int oci_index_parse(struct arena *a, str text, struct oci_manifest *ret, struct err *err);
/* The image of this name, or NULL. Of several the last: it was written last. */
const struct oci_descriptor *oci_index_find(const struct oci_manifest *index, const struct oci_reference *ref);
/* The text of an index in which the name stands for what, and everything else is as it was, unknown members included. */
int oci_index_with(struct arena *a, str text, const struct oci_reference *ref, const struct oci_descriptor *what,
                   str *ret, struct err *err);

/* The inside of a layout, for the files that read and write it. */

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
