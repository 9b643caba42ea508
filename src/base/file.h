/* SPDX-License-Identifier: Apache-2.0 */
/* What: small files, whole: kubeconfigs, tokens, certificates, keys. Read; and written as a whole or not at all, for nobody else to
 *       read.
 * Owns: nothing; what was read lives in the arena given.
 * Threads: no shared state; blocks on the disk.
 * Errors: reading ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_INVALID for what is no file, ERR_IO; writing ERR_IO, ERR_NO_SPACE. The path is
 *         named. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct stat;

enum file_type {
    FILE_REGULAR, /* never waits for a peer, as a pipe would; links are followed */
    FILE_ANY,     /* but a folder */
};

int file_read(struct arena *a, str path, enum file_type type, size_t max, str *ret, struct err *err);

/* The path of a program in one of the folders of search, as $PATH has them; relative ones do not count. NULL: it is in none. */
const char *file_find_program(struct arena *a, str search, const char *name);

/* Whether a file or directory that holds secrets is this user's, and no other user may read or write it; else ERR_INVALID. The path
 * is for the text. */
int file_check_private(const char *path, const struct stat *st, struct err *err);

/* Mode 0600. The data is on disk and in its place afterwards; that the place itself is on disk needs a sync of the directory… */
int file_replace(const char *path, str text, struct err *err);
/* …which is here, too. */
int file_write(const char *path, str text, struct err *err);
/* Writes only what is not there yet: a file with this text and mode 0600 is left alone, which needs no space on the disk. */
int file_update(const char *path, str text, struct err *err);
