/* SPDX-License-Identifier: Apache-2.0 */
/* What: the places on disk that reeve up was told to use: made when absent, refused when they are somebody else's.
 * Owns: nothing.
 * Threads: one.
 * Errors: ERR_IO, ERR_INVALID; texts name the path and what to do. */
#pragma once

#include "base/err.h"

/* Makes the directory and those above it, closed to others. One that exists must be empty or a data directory already. */
int place_data_dir(const char *path, struct err *err);
/* A file that is not there, empty, or that reeve up wrote; so that nobody loses their ~/.kube/config. */
int place_kubeconfig(const char *path, struct err *err);
