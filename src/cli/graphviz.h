/* SPDX-License-Identifier: Apache-2.0 */
/* What: pictures by Graphviz, if it is installed: the program "dot", run as a child.
 * Owns: the child, until the call returns.
 * Threads: any; blocks.
 * Errors: ERR_NOT_FOUND when there is no such program on $PATH; ERR_IO when it fails, ERR_TOO_LARGE when it draws without end,
 *         ERR_TIMEOUT when it takes too long: then it is ended. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { GRAPHVIZ_MAX_BYTES = 64 * 1024 * 1024 }; /* of a picture */

/* dot: a text in its language; ret: SVG, in the arena. limit_ns: for the program. What that has to say goes to standard error. */
int graphviz_draw(struct arena *a, str dot, int64_t limit_ns, str *ret, struct err *err);
