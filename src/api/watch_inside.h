/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the watches share. Private to watch*.c.
 * Owns: the hub owns groups and views, which live as long as somebody watches through them; texts are counted.
 * Threads: the loop thread.
 * Errors: see watch.h.
 *
 *   hub ─► groups   by what is watched: table, namespace or all, name or any      one event finds at most four of them
 *            └► watches ─► view     how they look at it: kind, object or metadata or table
 *                    │       └► texts of the event at hand, made when the first watch wants them
 *                    └► queue of texts, shared with other watches
 *
 *   INITIAL ── walk over what there is ──► BEHIND ── reads the log ──► LIVE ── events come from the hub
 *                                            ▲                          │
 *                                            └──── queue is full ◄──────┘ */
#pragma once

#include "api/read.h"
#include "api/view.h"
#include "api/watch.h"

enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_TYPES };

/* ---- Texts (watch_text.c). ---- */

/* One line of a stream, shared by all watches that send it. */
struct watch_text {
    size_t refs;
    struct watch_hub *hub;
    rev revision;
    size_t n;
    char bytes[];
};

/* One side of a change: the object as it is now, or as it was; read when somebody asks. */
struct watch_side {
    bool is_read, has_metadata;
    int code; /* of reading it: 0, or a negative code */
    struct store_item item;
    struct json metadata_only;    /* {"metadata":{…}} */
    const struct kind *tree_kind; /* of tree; NULL: not decoded yet */
    struct json tree;
};

/* A change on its way to those who watch. */
struct watch_change {
    struct api *api;
    const struct store_event *event;
    struct arena *arena;
    struct watch_side now, before;
};

/* How watches look at objects. */
struct watch_view {
    struct view view;
    size_t refs;
    struct watch_text *texts[WATCH_TYPES][2]; /* of the event at hand, without and with the columns of a table */
    struct watch_view *next_fresh;            /* of those that have texts */
    bool is_fresh;
};

struct watch_view *watch_view_ref(struct watch_hub *hub, const struct view *view);
void watch_view_unref(struct watch_hub *hub, struct watch_view *v);

/* What a change is to somebody with these selectors (NULL: none): 1 and the type, 0 if it does not concern him, or a negative
 * code. */
int watch_change_type(struct watch_change *c, const struct kind *kind, const struct read_options *filter,
                      enum watch_type *ret, struct err *err);
/* Lines of a stream, at the end of b: {"type":"ADDED","object":{…}} */
int watch_change_print(struct watch_change *c, const struct view *view, enum watch_type type, bool with_columns,
                       struct buf *b, struct err *err);
int watch_item_print(const struct view *view, struct arena *scratch, enum watch_type type,
                     const struct store_item *item, bool with_columns, struct buf *b, struct err *err);
void watch_error_print(struct buf *b, const struct json *status);
/* is_initial_end: says that all that was there at the beginning has been told. */
void watch_bookmark_print(const struct view *view, rev revision, bool is_initial_end, bool with_columns, struct buf *b);

struct watch_text *watch_text_new(struct watch_hub *hub, rev revision, str bytes);
void watch_text_unref(struct watch_text *t);

/* ---- Selectors (watch_filter.c). ---- */

/* A copy of the options in one block that free() releases; NULL when table, namespace and name say it all. */
struct read_options *watch_filter_new(const struct read_options *o);

/* ---- Watches (watch.c) and the hub (watch_hub.c). ---- */

enum watch_state { WATCH_INITIAL, WATCH_BEHIND, WATCH_LIVE };

struct watch_group;

struct watch {
    struct loop_work turn; /* first: it is what the loop hands back */
    struct watch *next, **back;
    struct watch_hub *hub;
    struct watch_group *group;
    struct api_request *r; /* NULL: the exchange is gone */
    struct watch_view *view;
    struct read_options *filter; /* or NULL */
    struct store_list *walk;     /* WATCH_INITIAL; NULL: it is about one object */
    struct loop_timer timer;
    int64_t deadline, bookmark_at; /* monotonic */
    rev at;                        /* nothing up to here is left to be told, but for what is queued */
    rev told;                      /* the revision that the client has heard of */
    struct watch_text **queue;     /* a ring */
    uint32_t queue_cap, queue_first, queue_n;
    size_t queue_bytes;
    enum watch_state state;
    bool wants_bookmarks, wants_initial_end, is_bookmark_due;
    bool has_looked;   /* for the one object */
    bool with_columns; /* the next event tells them */
    bool is_ending;
    bool is_starting, is_deferred;
};

enum {
    WATCH_QUEUE_MAX = 512,                /* texts waiting for one client… */
    WATCH_QUEUE_BYTES = 256 * 1024,       /* …and their bytes; one more falls back to the log */
    WATCH_TEXTS_BYTES = 32 * 1024 * 1024, /* of all texts; past it nobody queues a second one */
};

struct watch_hub {
    struct api *api;
    struct map groups; /* by their key */
    struct map views;  /* by their key */
    size_t n;          /* watches */
    size_t text_bytes;
    struct watch_view *fresh; /* views with texts of the event at hand */
    struct watch_await *awaits;
    bool is_draining;
};

/* What is watched. Texts live in the group. */
struct watch_group {
    struct watch *first;
    uint32_t table;
    bool all_namespaces;
    str namespace, name; /* name empty: any */
    str key;
    char bytes[];
};

void watch_hub_add(struct watch_hub *hub, struct watch *w, uint32_t table, const struct read_options *o);
void watch_hub_remove(struct watch *w);
static inline bool watch_group_has(const struct watch_group *g, const struct store_event *e)
{
    return e->table == g->table && (g->all_namespaces || str_eq(g->namespace, e->namespace)) &&
           (g->name.n == 0 || str_eq(g->name, e->name));
}
/* From the hub: a line for the client. The watch takes a reference. */
void watch_push(struct watch *w, struct watch_text *t);
/* Ends it when what is queued has been sent. */
void watch_end(struct watch *w);
/* When the next bookmark is due: about every minute, and once more shortly before the deadline; 0: no more of them. */
int64_t watch_bookmark_time(int64_t now, int64_t deadline);
