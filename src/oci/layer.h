/* SPDX-License-Identifier: Apache-2.0 */
/* What: undoes the compression of a layer that arrives in pieces: gzip (of any number of members), zstd (of any number of
 *       frames), or none.
 * Owns: the state of the decompressor; at most 128 MiB (the window of zstd), 100 KiB for gzip.
 * Threads: one thread at a time.
 * Errors: ERR_INVALID for data that is broken, cut or followed by something else, ERR_TOO_LARGE past a limit,
 *         ERR_UNSUPPORTED_MEDIA_TYPE for types that are no layers. After an error nothing more is accepted.
 *
 * The type decides between gzip and zstd. Plain tar and types that do not say are looked at: many tools keep compressed
 * layers under the plain type. What comes out is bounded by bytes: ratios say nothing, since honest YAML compresses well. */
#pragma once

#include "oci/source.h"

struct oci_layer;

/* Pieces that come out go to sink. *budget counts down with each byte out, and is shared by the layers of an image:
 * ERR_TOO_LARGE when it is used up. */
int oci_layer_new(str media_type, struct oci_sink sink, uint64_t *budget, struct oci_layer **ret, struct err *err);
/* Takes NULL. */
void oci_layer_free(struct oci_layer *l);
int oci_layer_feed(struct oci_layer *l, str piece, struct err *err);
/* The end: fails when something is missing. */
int oci_layer_finish(struct oci_layer *l, struct err *err);
