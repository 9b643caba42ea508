/* SPDX-License-Identifier: Apache-2.0 */
/* What: temporary folders of tests, below $TMPDIR or /tmp.
 * Owns: nothing; the caller removes what it made.
 * Threads: any.
 * Errors: end the program. */
#pragma once

enum { SCRATCH_MAX = 256 };

/* Makes a new folder whose name begins with `name`, and writes its path. */
void scratch_make(char path[static SCRATCH_MAX], const char *name);
/* Removes a folder and everything in it. */
void scratch_remove(const char *path);
