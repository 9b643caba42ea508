/* SPDX-License-Identifier: Apache-2.0 */
/* What: image archives as a source: .xpkg files, "docker save", and layouts in a tar file.
 * Owns: the open file, and an index of what is where in it; nothing is unpacked.
 * Threads: one thread at a time.
 * Errors: ERR_NOT_FOUND, ERR_INVALID for what is no such archive, ERR_TOO_LARGE, ERR_IO.
 *
 * With an index.json and oci-layout it is a layout, else a manifest.json says what there is: then the manifest that a
 * registry would have is made up from it (docker's type), its digests computed from the files. A reference chooses by name;
 * an archive with one image needs none (oci_archive_only). */
#pragma once

#include "oci/source.h"

/* Reads through the file once. */
int oci_archive_open(const char *path, struct oci_source **ret, struct err *err);
/* A reference that names the only image of the archive; ERR_INVALID when there are several or none. */
int oci_archive_only(struct oci_source *archive, struct arena *a, struct oci_reference *ret, struct err *err);
