/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the watches share. Private to watch*.c.
 * Owns: the hub owns groups and views, which live as long as watches use them; a group owns its news.
 * Threads: the loop thread.
 * Errors: see watch.h.
 *
 *   hub ─► groups   by what is watched: table, namespace or all, name or any       one change concerns at most four of them
 *            ├► watches ─► view     how they look at it: kind, object or metadata or table
 *            └► news    oldest ─► … ─► tail     changes that some live watch has not sent yet, in the order of revisions
 *                        └► texts of the change, one per view and type, made when the first watch sends it
 *
 *   INITIAL ── walks over the objects ──► BEHIND ── reads the log ──► LIVE ── reads the news of its group
 *                                           ▲                          │
 *                                           └─── its news were cut ◄───┘
 *
 * Publishing a change appends it to the news of its groups, and no more: that cost does not depend on the number of watches.
 * Delivery wakes the watches of these groups, a slice in each turn of the loop. A watch is a cursor into the news; the last
 * one to pass a change frees it. Texts are a cache: they are bounded, and made again from the log when one is missing. */
#pragma once

#include "api/api_view.h"
#include "api/read.h"
#include "api/watch.h"

enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_TYPES };

/* ---- Changes (watch_change.c). ---- */

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
    uint64_t number; /* never used again */
};

struct watch_view *watch_view_ref(struct watch_hub *hub, const struct view *view);
void watch_view_unref(struct watch_hub *hub, struct watch_view *v);

/* Without selectors. */
enum watch_type watch_op_type(enum store_op op);
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

/* ---- News (watch_news.c). ---- */

/* One line of a stream, as all watches with this view send it. */
struct watch_text {
    struct watch_news *news;
    struct watch_text *next;          /* of the same change */
    struct watch_text *older, *newer; /* of all of the hub */
    uint64_t view;                    /* its number */
    enum watch_type type;
    bool with_columns;
    size_t n;
    char bytes[];
};

/* A change that watches of a group have to send; the tail is the one to come. */
struct watch_news {
    struct watch_news *next; /* NULL: the tail */
    size_t cursors;          /* watches that stand here: this is what they send next */
    rev revision;
    enum store_op op;
    bool is_cut; /* not of the group any more: a watch that stands here reads the log */
    struct watch_text *texts;
    struct watch_memo *memo; /* or NULL */
};

/* A change as it was read from the view of the store at hand; forgotten when the view moves. */
struct watch_memo {
    struct watch_news *news; /* NULL: not in use */
    struct store_event event;
    struct watch_change change;
    struct arena arena;
};

enum {
    WATCH_NEWS_MAX = 512,                 /* of one group; watches further behind read the log */
    WATCH_TEXTS_BYTES = 32 * 1024 * 1024, /* of all texts; past it the oldest go */
    WATCH_MEMOS = 64,
    WATCH_MEMO_BYTES = 256 * 1024, /* what reading one change leaves in memory; larger ones are read again */
};

struct watch;
struct watch_group;

void watch_news_init(struct watch_group *g);
void watch_news_done(struct watch_hub *hub, struct watch_group *g);
/* True when some watch has it to send. */
bool watch_news_add(struct watch_hub *hub, struct watch_group *g, const struct store_event *event);
/* A watch that has sent everything up to the view at hand follows from there. */
void watch_news_enter(struct watch *w);
void watch_news_pass(struct watch *w);
void watch_news_leave(struct watch *w);
/* The line for the change that the watch stands on, at the end of out, unless its selectors exclude it. A negative code when the
 * change cannot be read or printed. */
int watch_news_print(struct watch *w, struct buf *out, struct err *err);
/* Makes the texts of all that the watch has yet to send: its kind is about to change. */
void watch_news_prepare(struct watch *w);

/* ---- Selectors (watch_filter.c). ---- */

/* A copy of the options in one block that free() releases; NULL when table, namespace and name say it all. */
struct read_options *watch_filter_new(const struct read_options *o);

/* ---- Watches (watch.c) and the hub (watch_hub.c). ---- */

enum watch_state { WATCH_INITIAL, WATCH_BEHIND, WATCH_LIVE };

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
    rev at;                        /* nothing up to here is left to be sent */
    rev told;                      /* the revision that the client has heard of */
    struct watch_news *news;       /* WATCH_LIVE: what it sends next */
    enum watch_state state;
    bool wants_bookmarks, wants_initial_end, is_bookmark_due;
    bool has_looked;   /* for the one object */
    bool with_columns; /* the next event tells them */
    bool is_ending;
    bool is_starting, is_deferred;
};

/* One slice of delivery, in units of about a microsecond. Between two slices the loop serves everything else. */
enum {
    WATCH_SLICE = 512,
    WATCH_SLICE_LOOK = 1,     /* each watch; those of a connection send together… */
    WATCH_SLICE_SEND = 7,     /* …and the first of them pays for a TLS record and a system call… */
    WATCH_SLICE_BYTES = 2048, /* …and each one unit for so many bytes */
};

struct watch_hub {
    struct api *api;
    struct map groups; /* by their key */
    struct map views;  /* by their key */
    size_t n;          /* watches */
    uint64_t views_made;
    size_t text_bytes;
    struct watch_text *oldest, *newest;
    struct watch_memo memos[WATCH_MEMOS];
    size_t n_memos; /* used since the view moved */
    struct loop_work delivery;
    struct watch_group *due, **due_end; /* with watches to be woken, in turn */
    bool is_delivery_queued;
    struct watch_await *awaits;
    bool is_draining;
};

/* What is watched. Strings live in the group. */
struct watch_group {
    struct watch *first;
    struct watch_news *oldest, *tail;
    size_t n_news;
    struct watch_group *next_due, **back_due; /* back_due NULL: not due */
    struct watch *visit;                      /* due: the next to be woken */
    size_t bytes, bytes_again;                /* of the changes of this round, and of those since it began */
    uint32_t table;
    bool all_namespaces;
    str namespace, name; /* name empty: any */
    str key;
    char bytes_of_key[];
};

void watch_hub_add(struct watch_hub *hub, struct watch *w, uint32_t table, const struct read_options *o);
void watch_hub_remove(struct watch *w);
static inline bool watch_group_has(const struct watch_group *g, const struct store_event *e)
{
    return e->table == g->table && (g->all_namespaces || str_eq(g->namespace, e->namespace)) &&
           (g->name.n == 0 || str_eq(g->name, e->name));
}
static inline bool watch_has_news(const struct watch *w)
{
    return w->state == WATCH_LIVE && (w->news->next || w->news->is_cut);
}
/* Ends it when its news have been sent. */
void watch_end(struct watch *w);
/* When the next bookmark is due: about every minute, and once more shortly before the deadline; 0: no more of them. */
int64_t watch_bookmark_time(int64_t now, int64_t deadline);
