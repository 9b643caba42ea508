/* SPDX-License-Identifier: Apache-2.0 */
/* What: small files, written as a whole or not at all, for nobody else to read: keys, tokens, kubeconfigs.
 * Owns: nothing.
 * Threads: no shared state; blocks on the disk.
 * Errors: ERR_IO, ERR_NO_SPACE; the path is named. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Mode 0600. The data is on disk and in its place afterwards; that the place itself is on disk needs a sync of the directory… */
int file_replace(const char *path, str text, struct err *err);
/* …which is here, too. */
int file_write(const char *path, str text, struct err *err);
