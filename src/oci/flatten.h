/* SPDX-License-Identifier: Apache-2.0 */
/* What: the wanted files of layers on top of each other, as they would be seen in a file system.
 * Owns: its tables (heap); paths and data live in the arena given.
 * Threads: one thread at a time.
 * Errors: ERR_INVALID for what no package may have where it is wanted, ERR_TOO_LARGE past a limit; the path is named.
 *
 *   layer 0   .registry/app.yaml  .registry/old/a.crd.yaml
 *   layer 1   .registry/app.yaml  .registry/.wh.old
 *   seen      .registry/app.yaml of layer 1
 *
 * Every wanted path has a node. A node knows the layer its file came from, and its floor: what lies at or below it and came from
 * a layer under the floor is hidden. A whiteout only raises a floor; who is hidden is found out once, at the end, so that no
 * number of whiteouts costs more than their number. */
#pragma once

#include "oci/image.h"
#include "oci/tar.h"

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
