/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a function prints to stdout, which TAP lines share.
 * Owns: between begin and end the file that replaces stdout.
 * Threads: one; no other thread may print meanwhile.
 * Errors: end the program. */
#pragma once

#include "base/str.h"

struct capture {
    int file, before;
};

void capture_begin(struct capture *c);
/* Restores stdout; the text lives in the arena. */
str capture_end(struct capture *c, struct arena *a);
