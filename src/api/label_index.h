/* SPDX-License-Identifier: Apache-2.0 */
/* What: the labels of the objects of a table in memory, in the order of their keys: which of them a selector may match is
 *       known without reading the objects. Made the first time a table is listed with a label selector, or the second time
 *       without one; kept up to date by the events of the store; dropped when it was not used for a while. Lists that copy
 *       objects as they are stored also keep the text of whole blocks of objects here.
 * Owns: copies of keys and of label texts; equal label texts are kept once. At most LABEL_INDEX_MAX bytes for all tables.
 *       Texts of blocks: at most LABEL_TEXTS_MAX bytes, freed LABEL_TEXTS_NS after the last list that used one.
 * Threads: the loop thread.
 * Errors: none; where the index cannot answer, the caller reads the objects.
 *
 * The index shows the newest revision. A walk as of an older one is still exact: objects that changed since are candidates
 * that the caller compares with the stored object of that revision, and after a deletion the index does not answer. */
#pragma once

#include "api/server.h"

enum {
    LABEL_INDEX_MAX = 64 << 20, /* bytes */
    LABEL_INDEX_LEAST = 64,     /* tables with fewer objects are not worth one */
    LABEL_TEXTS_MAX = 8 << 20,  /* bytes */
    LABEL_TEXT_MAX = 64 << 10,  /* bytes of one block */
};
#define LABEL_TEXTS_NS (10 * NS_PER_S)

struct label_index *label_index_new(struct api *api);
void label_index_free(struct label_index *ix);
/* For every change, before anything else reads the new view. */
void label_index_event(struct label_index *ix, const struct store_event *event);

struct label_walk_args {
    uint32_t table;
    bool all_namespaces;
    str namespace;                   /* unless all of them; empty for cluster-scoped objects */
    str after_namespace, after_name; /* start behind this key; both empty: at the beginning */
    rev at;
    const struct selector *selector; /* lives as long as the walk; NULL: every object matches */
};

struct label_walk;

/* Never NULL. Begins to make the index if there is none. */
struct label_walk *label_walk_new(struct label_index *ix, const struct label_walk_args *args);
void label_walk_free(struct label_walk *w);

enum label_found {
    LABEL_END,       /* no further object can match */
    LABEL_MATCH,     /* the object of this key matches as of the revision of the walk */
    LABEL_CANDIDATE, /* it may match, or not exist */
    LABEL_UNKNOWN,   /* the index cannot answer, now and for the rest of the walk */
};

/* The next object that may match. The key is valid until the next event. looks: reduced by the number of entries compared; at
 * zero the answer is LABEL_CANDIDATE. */
enum label_found label_walk_next(struct label_walk *w, str *ret_namespace, str *ret_name, size_t *looks);

/* How a list prints an object. Objects that are printed with equal generation and version have the same text. */
struct label_print {
    uint32_t generation, version_hash; /* of custom resources; 0: built-in */
    /* Appends the object to b; false: its text must not be kept. */
    bool (*print)(void *ctx, const struct store_item *item, struct buf *b);
    void *ctx;
};

struct label_block {
    str text; /* objects, separated by commas; valid until the next event or the next call */
    size_t n; /* objects */
    str last_namespace, last_name;
};

/* If the next objects of the walk are a whole block, all of them match, and their text is kept or can be: true, and the walk
 * moves behind them. */
bool label_walk_block(struct label_walk *w, const struct label_print *print, struct label_block *ret);
/* Of all blocks whose text is kept. */
size_t label_index_text_bytes(const struct label_index *ix);
