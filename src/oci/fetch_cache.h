/* SPDX-License-Identifier: Apache-2.0 */
/* What: the lines of packages on disk, a file for each repository and digest. Part of the fetcher.
 * Owns: all files of its directory. An entry that is open stays readable after its file was removed.
 * Threads: any at once.
 * Errors: ERR_NOT_FOUND for what is not there or is damaged (then it is removed), ERR_IO, ERR_NO_SPACE, ERR_INVALID for a directory
 *         that is somebody else's.
 *
 *   <16 hex digits of the repository>-sha256-<hex>.jsonl      mode 0600; its time says when it was used last
 *   <…>.tmp                                                   being written; removed at the next start
 *
 * The last line of a file tells the number and the sha256 of the bytes before it: a file that was cut or changed is noticed. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "oci/digest.h"
#include "oci/fetch.h"

struct fetch_cache;
struct fetch_writer;

typedef VEC(str) fetch_digests;

/* Makes the directory, and those above it, when there is none. */
int fetch_cache_open(const char *path, uint64_t max_bytes, struct fetch_cache **ret, struct err *err);
/* Takes NULL. */
void fetch_cache_close(struct fetch_cache *c);
int fetch_cache_get(struct fetch_cache *c, str repository, const struct oci_digest *digest, struct fetch_entry **ret,
                    struct err *err);
/* Adds the digests there are of a repository, as text; at most max. */
void fetch_cache_list(struct fetch_cache *c, struct arena *a, str repository, size_t max, fetch_digests *list);

/* An entry to be: nobody sees it before it is whole and on disk. */
int fetch_writer_open(struct fetch_cache *c, struct fetch_writer **ret, struct err *err);
/* A line with its newline. */
int fetch_writer_add(struct fetch_writer *w, str line, struct err *err);
int fetch_writer_commit(struct fetch_writer *w, str repository, const struct oci_digest *digest,
                        struct fetch_entry **ret, struct err *err);
/* Takes NULL; removes what was not committed. */
void fetch_writer_free(struct fetch_writer *w);

/* ---- For the files of this folder. ---- */

/* The descriptor becomes the entry's; size counts the bytes before the last line. */
struct fetch_entry *fetch_entry_new(int fd, uint64_t size);
/* Reads all of a file and compares it with its last line. */
int fetch_entry_verify(int fd, uint64_t *ret_size, struct err *err);
/* The last line of an entry. */
str fetch_entry_end(struct arena *a, size_t lines, uint64_t bytes, const struct oci_digest *sha256);
