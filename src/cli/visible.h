/* SPDX-License-Identifier: Apache-2.0 */
/* What: text of others on a terminal: what a terminal would obey is shown instead.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

/* Control characters as \x1b; a line stays one line. */
void cli_add_visibly(struct buf *b, str text);
/* Surely nothing of it is shown otherwise. */
bool cli_is_visible(str text);
