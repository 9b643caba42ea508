/* SPDX-License-Identifier: Apache-2.0 */
/* What: image layout directories, read and written: what "reeve package build" and "skopeo copy … oci:" make.
 * Owns: the descriptor of its directory.
 * Threads: one thread at a time; several processes may write the same layout.
 * Errors: ERR_NOT_FOUND, ERR_INVALID for what is no layout, ERR_TOO_LARGE, ERR_IO, ERR_NO_SPACE.
 *
 *   oci-layout                  {"imageLayoutVersion": "1.0.0"}
 *   index.json                  an index: which names there are
 *   blobs/sha256/<hex>          everything, by digest
 *   .new-<random>               ours: a file being written; those of writers that died are swept away by the next
 *
 * No path leaves the directory: every component is opened beneath it, and links are not followed. Files appear whole or not at
 * all: written beside, synced, renamed. Blobs come before the name that needs them, so that a crash leaves garbage at worst.
 * Writers take turns at index.json by a lock on the directory, so that none loses what another has said.
 *
 * Names: the annotation io.containerd.image.name, else org.opencontainers.image.ref.name, read as a reference; a name and a
 * reference match when both normalised are the same. A reference with a digest is looked up by it alone. */
#pragma once

#include "oci/source.h"

struct oci_layout;

/* Reads oci-layout. path may be a link itself. */
int oci_layout_open(const char *path, struct oci_layout **ret, struct err *err);
/* Makes what is missing, the directory itself included (its parents not). */
int oci_layout_create(const char *path, struct oci_layout **ret, struct err *err);
/* Takes away what writers have left that died in the middle. */
void oci_layout_sweep(const char *path);
/* Takes NULL. */
void oci_layout_free(struct oci_layout *l);
/* The same layout as a source; freed with it, not by itself. */
struct oci_source *oci_layout_source(struct oci_layout *l);

/* The same of the layout at a path; no when there is none. */
int oci_layout_at_has(const char *path, const struct oci_reference *ref, bool *ret, struct err *err);
/* A file of that name and size. */
bool oci_layout_has_blob(struct oci_layout *l, const struct oci_digest *digest, uint64_t size);
/* Nothing is done when it is there. */
int oci_layout_put_bytes(struct oci_layout *l, enum oci_algorithm algorithm, str bytes, struct oci_digest *ret,
                         struct err *err);

/* A blob that comes in pieces: it is there after finish, and only then. */
struct oci_blob_writer;
int oci_blob_writer_open(struct oci_layout *l, enum oci_algorithm algorithm, struct oci_blob_writer **ret,
                         struct err *err);
int oci_blob_writer_add(struct oci_blob_writer *w, str piece, struct err *err);
int oci_blob_writer_finish(struct oci_blob_writer *w, struct oci_digest *ret_digest, uint64_t *ret_size,
                           struct err *err);
/* Takes NULL; removes what was not finished. */
void oci_blob_writer_free(struct oci_blob_writer *w);

/* Lets a name stand for what (in place of what it stood for), and syncs. Other names stay. */
int oci_layout_set(struct oci_layout *l, const struct oci_reference *ref, const struct oci_descriptor *what,
                   struct err *err);

/* All there is, as index.json has it; oci_layout_name_of has the names. */
int oci_layout_list(struct oci_layout *l, struct arena *a, struct oci_manifest *ret, struct err *err);

enum { OCI_PULL_MAX = 512 * 1024 * 1024 }; /* bytes of the blobs of an image that is copied */

/* Copies what ref names from a source: the document, the image for us when it is an index, its config and layers; and sets
 * the normalised name. Blobs that are there already are not fetched. watch may be NULL. */
int oci_layout_pull(struct oci_layout *l, struct oci_source *from, const struct oci_reference *ref,
                    const struct oci_watch *watch, struct oci_digest *ret, struct err *err);
