/* SPDX-License-Identifier: Apache-2.0 */
/* What: files that hold secrets, and their directory: nobody else may read them. base/file.h writes them.
 * Owns: nothing.
 * Threads: no shared state.
 * Errors: ERR_NOT_FOUND, ERR_IO, ERR_INVALID for files that others could read or change, ERR_CONFLICT for a directory that
 *         another process holds. Texts name the path and what to do. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { PKI_FILE_MAX = 64 * 1024 };

/* The directory, made if absent, for this process alone while *ret_fd is open. */
int pki_dir_open(const char *path, int *ret_fd, struct err *err);
/* What was renamed in it stays so. */
int pki_dir_sync(int fd, const char *path, struct err *err);
bool pki_file_exists(const char *path);
/* Names of the files in the directory that have this prefix and one of both suffixes, sorted, each NUL-terminated. ERR_INVALID: more than max. */
int pki_dir_list(struct arena *a, const char *path, str prefix, const str suffixes[static 2], size_t max,
                 struct strs *ret, struct err *err);
int pki_file_read(struct arena *a, const char *path, str *ret, struct err *err);
