/* SPDX-License-Identifier: Apache-2.0 */
/* What: words of commands that people are told to type.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

struct arena;

/* Appends text as a shell reads it back as one word: in quotes if it has to be. */
void shell_add_word(struct buf *b, str text);
/* The same as a text. */
str shell_word(struct arena *a, str text);
