/* SPDX-License-Identifier: Apache-2.0 */
/* What: where Reeve keeps its data when nobody says it: the same for every command.
 * Owns: nothing; the path lives in the arena given.
 * Threads: one; reads the environment.
 * Errors: ERR_INVALID when the environment does not say enough. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

/* REEVE_DATA_DIR, else $XDG_DATA_HOME/reeve, else ~/.local/share/reeve. */
int cli_data_dir(struct arena *a, const char **ret, struct err *err);
