/* SPDX-License-Identifier: Apache-2.0 */
/* What: writes tar archives that say nothing but paths and contents: no times, no owners.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: those of the sink. */
#pragma once

#include "oci/source.h"

/* A file, or a directory when data is NULL. Paths too long for a header get a pax header in front. */
int tar_write_entry(struct oci_sink sink, str path, const str *data, struct err *err);
int tar_write_end(struct oci_sink sink, struct err *err);
