/* SPDX-License-Identifier: Apache-2.0 */
/* What: an answer of reeve why, and how it is drawn.
 * Owns: nothing; it borrows from the index that was asked.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "cli/question.h"

struct why {
    struct explanation e;
    str command;     /* that would make it a yes; empty: there is none */
    bool is_own;     /* of the asker's own rules alone: which bindings and roles they come from is not known */
    bool is_partial; /* what is bound in other namespaces is not known */
};

/* A yes: the way from each binding to the package, as a tree. A no: near misses, as trees, and the command. */
void why_draw(struct buf *b, const struct term *term, const struct why *w);
