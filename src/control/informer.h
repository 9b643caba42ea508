/* SPDX-License-Identifier: Apache-2.0 */
/* What: a copy of all objects of one resource, kept up to date by a list and a watch; and the news of each change.
 * Owns: the copies, as counted items; its indexes.
 * Threads: everything belongs to the loop thread, but for the questions: those may be asked by any thread.
 * Errors: never given up. What goes wrong is tried again after a while that grows, up to half a minute, and counted.
 *
 *   start ─► list (watch-list where the server has it, else pages at a revision) ─► synced ─► watch from there
 *              ▲                                                                              │ cut off: watch again from
 *              │ 410 Gone, 400: the revision is of no use                                     │ the last revision seen
 *              └──────────────────────────────────────────────────────────────────────────────┘ (bookmarks move it on)
 *
 * Never a gap: an object that vanished while nobody watched is told as deleted after the next list. An event that cannot be read
 * is as good as a cut. */
#pragma once

#include "client/client.h"
#include "control/item.h"

struct informer;
struct log;

struct informer_options {
    struct loop *loop;
    struct client *client;
    struct client_resource resource; /* copied, as all texts are */
    str namespace;                   /* empty: all */
    str label_selector, field_selector;
    /* PartialObjectMetadata: spec and status are neither sent nor kept. apiVersion and kind stay the object's own. */
    bool metadata_only;
    /* After a connection that was lost it lists, instead of watching from the last revision: the server may have been restored from
     * an older copy meanwhile, and have come as far again. For who may not miss that, and has few objects. */
    bool lists_anew;
    bool keys_only;    /* keeps namespace, name, uid and version, not the text; who needs more keeps it */
    bool by_owner;     /* informer_by_owner works */
    item_trim *trim;   /* keeps less of each object; handlers may be told of either. NULL: all */
    const str *labels; /* informer_by_label works for these */
    size_t n_labels;
    const struct log *log; /* or NULL */
    struct random random;
};

/* A change. Trees and items are borrowed while it is told; with keys_only, neither was nor now has a text. An object that was
 * made anew under its old name is told as two changes: gone, then new. */
struct informer_change {
    const struct item *was; /* NULL: new */
    const struct item *now; /* NULL: gone */
    /* Of now, with apiVersion and kind; of a deletion: the last that is known of it (metadata at least), NULL if nothing is.
     * NULL too for a handler that comes late to an informer that keeps only keys. */
    const struct json *tree;
};

/* The cache holds the change when it is told. Handlers may ask, stop, relist and add handlers, not free. */
struct informer_handler {
    void (*changed)(void *ctx, const struct informer_change *change);
    /* After a row of changes that came together; may be NULL. */
    void (*settled)(void *ctx);
    /* Once: the first list is complete, its objects have been told. May be NULL. */
    void (*synced)(void *ctx);
    void *ctx;
};

struct informer *informer_new(const struct informer_options *options);
/* Takes NULL. */
void informer_free(struct informer *i);
/* Before informer_start, or later: then it is told of everything there is at once. */
void informer_add_handler(struct informer *i, const struct informer_handler *handler);
void informer_start(struct informer *i);
/* Ends the watch; the copies stay. informer_start goes on where it ended. */
void informer_stop(struct informer *i);
bool informer_is_synced(const struct informer *i); /* any thread */
/* The server has no such kind, or had none the last time: it is looked for again and again, half a minute apart at most. */
bool informer_is_unserved(const struct informer *i);
/* Lists again now, whatever the watch says: for who found the copy wrong. Watches go on from the new list. */
void informer_relist(struct informer *i);

struct informer_stats {
    size_t n;     /* objects */
    size_t bytes; /* that they take, indexes included */
    size_t text;  /* of their JSON */
    uint64_t lists, watches, failures, events;
};

struct informer_stats informer_stats(const struct informer *i);

/* ---- Questions, from any thread. ---- */

/* A reference, to be given back with item_unref; NULL: there is none. */
const struct item *informer_get(struct informer *i, str namespace, str name);
/* Its tree, in the arena; false: there is none, or no text of it is kept. */
bool informer_read(struct informer *i, struct arena *a, str namespace, str name, struct json *ret);
/* Of one namespace or, when that is empty, all; sorted by namespace and name. */
struct items informer_list(struct informer *i, str namespace);
struct items informer_by_label(struct informer *i, str key, str value);
struct items informer_by_owner(struct informer *i, str uid);
