/* SPDX-License-Identifier: Apache-2.0 */
/* What: text of others on a terminal: what a terminal would obey is shown instead.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

struct arena;

/* Control characters and bytes that are not UTF-8 as \x1b, what has no form of its own as \u202e; a line stays one line. */
void cli_add_visibly(struct buf *b, str text);
/* The same as a text: for what stands in the middle of a message of several lines, where a foreign line could pass for ours. */
str cli_visible(struct arena *a, str text);
/* Surely nothing of it is shown otherwise. */
bool cli_is_visible(str text);
