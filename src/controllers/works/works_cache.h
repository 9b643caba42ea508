/* SPDX-License-Identifier: Apache-2.0 */
/* What: what is remembered of each work between visits. All of it may be lost: it says when to look, and never what is right.
 * Owns: copies of the names and texts.
 * Threads: any; between memo_take and memo_give one at a time.
 * Errors: none. */
#pragma once

#include "base/str.h"

#include <stdbool.h>

struct memo {
    bool selects;       /* namespaces: visited when those change */
    bool waits;         /* for something to come or go: visited when something does */
    bool is_left;       /* nothing of it is on the managed cluster any more */
    bool is_told_left;  /* its facts are those of a work that goes */
    uint64_t conflicts; /* with what roles it was in conflict, as a sum of hashes */
    int64_t gone_since; /* monotonic: first seen missing on the hub; 0: it is there */
    int64_t allowed_at; /* monotonic: its executor may do all that generation asks for; 0: nobody knows */
    int64_t generation;
    char *facts; /* to be reported to the hub, JSON on the heap; NULL: nothing is */
    size_t n_facts;
    char version[24]; /* what our last write made of the work on the hub */
    int64_t written;  /* monotonic: when; 0: never */
};

struct memos;
struct memos *memos_new(void);
/* Takes NULL. */
void memos_free(struct memos *m);
/* The one of this work, made when there is none; nobody else has any meanwhile. */
struct memo *memo_take(struct memos *m, str work);
void memo_give(struct memos *m);
void memo_forget(struct memos *m, str work);
/* Calls fn for each that selects or waits, as asked for; fn takes none itself. */
void memos_each(struct memos *m, bool selecting, bool waiting, void (*fn)(void *ctx, str work), void *ctx);
