/* SPDX-License-Identifier: Apache-2.0 */
/* What: objects with revisions, kept on disk: one counter for all of them, a log of every change, views of the past.
 * Owns: the files of its directory (LMDB inside), the writer thread, copies of everything submitted.
 * Threads: all functions belong to one thread, the loop; only the options' wake is called from the writer thread.
 * Errors: ERR_NOT_FOUND, ERR_EXPIRED (older than what is kept), ERR_NO_SPACE, ERR_IO (the disk, or a record whose
 *         checksum is wrong). What was reported as done is on disk.
 *
 *        loop thread                                       writer thread
 *   store_submit ─────────── queue ──────────►  drain ► check expectations ► put ► one commit, one sync for all
 *                                                                                       │
 *   store_poll  ◄──── wake ◄──── finished ◄─────────────────────────────────────────────┘
 *     1 the view moves to the newest commit
 *     2 on_event for every change, in the order of revisions
 *     3 on_settled, once, if there were events
 *     4 done for every write, good or bad
 *
 * Reading always happens in the view, which moves in store_poll and nowhere else: between two polls the world stands still,
 * and it never shows a change whose event was not handed out. Bytes of the view are borrowed until the next poll.
 *
 *   log   revision                    → table, key, flags, created, previous revision, value, checksum
 *   idx   table | namespace | / | name → revision, created, gone?
 *   meta  format, revision, compacted revision, names of tables */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

typedef uint64_t rev;

struct store;

enum store_op { STORE_CREATED, STORE_UPDATED, STORE_DELETED };

/* One change that is on disk now. Valid during on_event, or until the next poll. */
struct store_event {
    rev revision;
    enum store_op op;
    uint32_t table;
    str namespace, name;
    rev created;  /* the revision that created the object */
    rev previous; /* the revision before this one; 0: none (created) */
    str value;    /* STORE_DELETED: the last state, or the value given with the deletion */
};

struct store_options {
    const char *dir;     /* made with mode 0700 if absent */
    size_t map_bytes;    /* most the file may grow to; 0: 64 GiB */
    size_t batch_max;    /* writes in one commit; 0: 256 */
    size_t batch_bytes;  /* …and bytes; 0: 4 MiB */
    size_t queue_bytes;  /* more than this waiting: store_submit answers ERR_TOO_MANY_REQUESTS; 0: 64 MiB */
    int64_t keep_ns;     /* history is kept at least this long unless there is too much of it; 0: five minutes */
    uint64_t keep_bytes; /* history beyond this many bytes goes, however young; 0: 256 MiB */
    struct clock clock;
    void (*wake)(void *ctx); /* from the writer thread: call store_poll soon; may be NULL, as the next two */
    void (*on_event)(void *ctx, const struct store_event *event);
    void (*on_settled)(void *ctx); /* after the events of one poll, if there were any, before the done functions */
    void *ctx;
};

/* Takes the directory for this process alone: ERR_CONFLICT when another one has it, ERR_INVALID when it was written by a
 * newer version of the format. */
int store_open(const struct store_options *options, struct store **ret, struct err *err);
/* Commits what is queued, then closes. The done functions of what was queued are called (store_poll is part of it). */
void store_close(struct store *s);

/* The number of a table, made when there is none yet: "apps/deployments". Never 0, and never changes once something was
 * written to the table. */
uint32_t store_table(struct store *s, str name);
str store_table_name(const struct store *s, uint32_t table);

/* ---- Read. ---- */

/* Of the view: the newest revision, and the oldest one whose state can still be asked for. An empty store is at revision 1:
 * no list ever says "0", which means something else to clients. */
rev store_revision(const struct store *s);
rev store_oldest(const struct store *s);

struct store_item {
    str namespace, name; /* namespace is empty for objects of the cluster */
    rev revision, created;
    str value;
};

/* The present state. ERR_NOT_FOUND leaves err alone: it is an answer, not trouble. */
int store_get(struct store *s, uint32_t table, str namespace, str name, struct store_item *ret, struct err *err);
/* The state after revision `at`; ERR_EXPIRED when that is too long ago, ERR_INVALID when it is still to come. */
int store_get_at(struct store *s, uint32_t table, str namespace, str name, rev at, struct store_item *ret,
                 struct err *err);
/* What an event replaced: the object at its previous revision. ERR_NOT_FOUND when it created one; ERR_EXPIRED when the log
 * was cut behind it. */
int store_previous(struct store *s, const struct store_event *event, struct store_item *ret, struct err *err);

/* A walk over one table, as of one revision, in the order etcd has: by "namespace/name", so that namespace a-b comes before
 * a, as '-' comes before '/'. It remembers where it is by key, so it may go on after any number of polls, as long as its
 * revision is kept. */
struct store_list;

struct store_range {
    uint32_t table;
    bool all_namespaces;
    str namespace;                   /* unless all of them; empty for objects of the cluster */
    str after_namespace, after_name; /* start behind this key; both empty: at the beginning */
    rev at;                          /* 0: as of now */
    bool keys_only;                  /* items have no value, and the pages values are on are not touched */
};

struct store_list *store_list_open(struct store *s, const struct store_range *range);
void store_list_close(struct store_list *l);
rev store_list_revision(const struct store_list *l);
/* 1 and an item, borrowed until the next poll; 0 at the end; or a negative code: ERR_EXPIRED, ERR_INVALID for a revision or
 * key that cannot be; ERR_IO for a damaged object, which is then passed: ret has its name, and the walk may go on. */
int store_list_next(struct store_list *l, struct store_item *ret, struct err *err);
/* The next item is this one or, if there is none of this key, the first one behind it. Keys that the walk has passed already
 * change nothing. */
void store_list_skip(struct store_list *l, str namespace, str name);
/* The next item is the first one behind this key. Keys that the walk has passed already change nothing. */
void store_list_pass(struct store_list *l, str namespace, str name);
/* How many there are from here to the end; does not move the walk. Costs nothing when the walk began at the beginning of all
 * namespaces (ask so for objects of the cluster too) and at the present; else it goes over the keys. */
int64_t store_list_rest(struct store_list *l, struct err *err);
/* Whether that costs nothing. */
bool store_list_knows_rest(const struct store_list *l);
/* Objects in a table right now (all namespaces), without walking it. */
uint64_t store_count(const struct store *s, uint32_t table);

/* A walk over the log of all tables, from the revision after `after` on. Follows new revisions as the view moves. */
struct store_log;

/* ERR_EXPIRED when revisions after `after` are gone already. */
int store_log_open(struct store *s, rev after, struct store_log **ret, struct err *err);
void store_log_close(struct store_log *l);
/* From now on only events of this table are given (0: of all again). Values of others are not touched. */
void store_log_only(struct store_log *l, uint32_t table);
/* 1 and an event; 0 when there is none in the view; ERR_EXPIRED when the log was cut in front of the walk; ERR_IO for a
 * damaged record, which is then passed. */
int store_log_next(struct store_log *l, struct store_event *ret, struct err *err);

/* ---- Write. ---- */

enum {
    STORE_KEY_MAX = 400,        /* bytes of namespace and name together; a namespace has no slash */
    STORE_VALUE_MAX = 64 << 20, /* bytes of one value */
};

/* One object to change. expect is the revision it must be at; 0: it must not exist. */
struct store_change {
    uint32_t table;
    str namespace, name;
    rev expect;
    bool is_delete;
    /* In two parts, so that a header need not be copied in front of a body. Of a deletion: what its event shows; empty: the
     * last state of the object, which then is not stored again. */
    str value;
    str value_rest;
};

/* Something that must still be so, though it is not changed. */
struct store_guard {
    uint32_t table;
    str namespace, name;
    rev expect; /* 0: must not exist */
};

/* What became of a write. */
struct store_result {
    int code;            /* 0; ERR_CONFLICT: an expectation did not hold; ERR_NO_SPACE; ERR_IO */
    rev revision;        /* of the first change; the others follow one by one */
    bool by_guard;       /* ERR_CONFLICT: it was a guard… */
    size_t which;        /* …or change, this one */
    const char *message; /* of ERR_NO_SPACE and ERR_IO; valid during the call */
};

/* All or nothing: changes are made if all expectations hold. */
struct store_write {
    const struct store_change *changes;
    size_t n_changes;
    const struct store_guard *guards;
    size_t n_guards;
    bool
        is_cleanup; /* part of a deletion, such as removing a finalizer: may use the first half of the reserve (store_room.c) */
    void (*done)(void *ctx, const struct store_result *result); /* called once, by store_poll */
    void *ctx;
};

/* Queues a write; everything is copied. Else done is not called: ERR_TOO_MANY_REQUESTS; ERR_UNAVAILABLE while closing;
 * ERR_INVALID for what cannot be written (a key that is too long, one object twice, no change at all); ERR_TOO_LARGE. */
int store_submit(struct store *s, const struct store_write *w, struct err *err);
/* Hands out what the writer has finished. Called after wake; calling it at other times does no harm. Not from on_event
 * or done. */
void store_poll(struct store *s);
/* Writes queued and not yet handed out. */
size_t store_pending(const struct store *s);

/* ---- For metrics and health. ---- */

struct store_stats {
    uint64_t file_bytes, used_bytes; /* of the file, and of the pages in use */
    uint64_t log_bytes;              /* of history that could be given up */
    uint64_t commits, writes;
    uint64_t objects;
    bool is_failing; /* the last commit failed; not: there was no space to try it */
    bool is_full;    /* no space but the reserve: writes other than deletions are refused */
};

struct store_stats store_stats(const struct store *s);
/* stats.is_full alone, which costs nothing. */
bool store_is_full(const struct store *s);
