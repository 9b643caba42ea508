/* SPDX-License-Identifier: Apache-2.0 */
/* What: reads tar archives (ustar, pax, GNU long names and large numbers) that arrive in pieces.
 * Owns: its own small buffers; data is handed on as it comes.
 * Threads: one thread at a time.
 * Errors: ERR_INVALID for archives that are broken or lie, ERR_TOO_LARGE past a limit; the path is named. After an error
 *         nothing more is accepted.
 *
 *   tar_feed(pieces) ─► [header 512][data, padded to 512]… [zeros 512][zeros 512] zeros…
 *                          │            └─► on_data, zero or more times
 *                          └─► on_entry, its path cleaned
 *
 * Nothing is written or followed here: links and devices are just entries, and whoever wants them may refuse them.
 * Paths are cleaned: "./a//b/" is "a/b", "/a" is "a" (relative to the root of the image, as every tool reads it). A ".."
 * component is refused wherever it is, also in what nobody wants: no honest image has one. The targets of links are not
 * looked at. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "oci/source.h"

enum {
    TAR_PATH_MAX = 4096,
    TAR_PAX_MAX = 1024 * 1024, /* bytes of the extended header of one entry */
};

enum tar_type {
    TAR_FILE,
    TAR_DIRECTORY,
    TAR_SYMLINK,
    TAR_HARD_LINK,
    TAR_SPECIAL, /* devices and pipes */
};

/* Valid during the call. */
struct tar_entry {
    str path;         /* cleaned; empty: the root itself */
    str raw_path;     /* as it is in the archive */
    bool is_absolute; /* raw_path began with a slash */
    enum tar_type type;
    uint32_t mode;   /* permissions */
    uint64_t size;   /* of the data that follows; 0 but for files */
    uint64_t offset; /* of the data in the archive */
    str link;        /* where a link leads, as written */
};

struct tar_reader_ops {
    int (*on_entry)(void *ctx, const struct tar_entry *entry, struct err *err);
    /* A piece of the data of the last entry; may be NULL. */
    int (*on_data)(void *ctx, str piece, struct err *err);
};

struct tar_reader;

/* Allows at most max_entries entries. */
struct tar_reader *tar_reader_new(const struct tar_reader_ops *ops, void *ctx, uint64_t max_entries);
void tar_reader_free(struct tar_reader *r);
int tar_feed(struct tar_reader *r, str piece, struct err *err);
/* The end: fails when something is missing. */
int tar_finish(struct tar_reader *r, struct err *err);

/* Writes tar archives that say nothing but paths and contents: no times, no owners. */

/* A file, or a directory when data is NULL. Paths too long for a header get a pax header in front. */
int tar_write_entry(struct oci_sink sink, str path, const str *data, struct err *err);
int tar_write_end(struct oci_sink sink, struct err *err);
