/* SPDX-License-Identifier: Apache-2.0 */
/* What: reads what reeve-fetch prints, line by line, and believes none of it: order, sizes, counts and form are checked.
 * Owns: the piece of a line that has not ended yet, and scratch memory.
 * Threads: one thread at a time.
 * Errors: ERR_BAD_REQUEST for lines that make no sense, ERR_TOO_LARGE past a limit; what the child itself has to say against the
 *         package is no error here but an answer. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "oci/digest.h"
#include "oci/request.h"

struct json;

enum lines_state { LINES_BEGIN, LINES_BODY, LINES_END, LINES_ERROR };

struct lines {
    /* Takes a whole line that belongs to the package, with its newline. */
    int (*take)(void *ctx, str line, struct err *err);
    const struct json *object; /* the same, read; while take is called */
    /* How far the child has come, before it says anything else; or NULL: it was not asked to tell. Set after lines_init. */
    void (*progress)(void *ctx, const struct oci_progress *progress);
    void *ctx;

    enum lines_state state;
    struct oci_digest digest; /* from the first line on */
    bool is_from_store;       /* the local store had it */
    uint64_t size;            /* bytes of the image, as the child says; 0: it does not */
    bool is_known;            /* it was among those we have: there is no body */
    size_t files, lines;
    uint64_t bytes;
    struct err error; /* LINES_ERROR: what went wrong, and what that means */
    struct fetch_failure failure;

    /* private */
    struct buf rest;
    struct arena scratch;
};

void lines_init(struct lines *l, int (*take)(void *ctx, str line, struct err *err), void *ctx);
void lines_done(struct lines *l);
int lines_add(struct lines *l, str piece, struct err *err);
/* There is no more: did it come to an end? */
int lines_finish(struct lines *l, struct err *err);
