/* SPDX-License-Identifier: Apache-2.0 */
/* What: small files, read whole: kubeconfigs, tokens, certificates, keys.
 * Owns: nothing; the text lives in the arena given.
 * Threads: any; blocks on the disk.
 * Errors: ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_INVALID for what is no file, ERR_IO; the path is named. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum client_file_type {
    CLIENT_FILE_REGULAR, /* never waits for a peer, as a pipe would; links are followed */
    CLIENT_FILE_ANY,     /* but a folder */
};

int client_file_read(struct arena *a, str path, enum client_file_type type, size_t max, str *ret, struct err *err);
