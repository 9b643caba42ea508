/* SPDX-License-Identifier: Apache-2.0 */
/* What: index.json, the list of names of a layout: looked up, and changed.
 * Owns: nothing; results live in the arena given, or are parts of what was given.
 * Threads: pure functions.
 * Errors: ERR_INVALID, ERR_TOO_LARGE, ERR_UNSUPPORTED_MEDIA_TYPE as oci/manifest.h has them. */
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
