/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the fake API server share.
 * Owns: see fake.h. All texts of objects and history live in the arena of the fake: nothing of the past is lost.
 * Threads: the loop thread.
 * Errors: none. */
#pragma once

#include "base/vec.h"
#include "kinds/registry.h"
#include "lib/fake.h"
#include "object/selector.h"

/* What is known of an object now. */
struct fake_object {
    str key;  /* group/plural, namespace and name, with \1 in between: sorts as lists do */
    str text; /* JSON */
};

struct fake_event {
    uint64_t rev;
    str key;
    str text; /* of a deletion: the last one, with the revision of the deletion */
    str was;  /* empty: it is new */
    bool is_deletion;
};

/* A list that is taken in pages. */
struct fake_snapshot {
    uint64_t rev;
    str *texts;
    size_t n;
};

struct fake_rule {
    struct fake_fault fault;
    bool is_over;
};

struct fake {
    struct fake_options options;
    struct arena arena;
    struct registry *registry;
    struct random_seeded random;
    uint64_t rev, oldest;            /* oldest: what happened until then is forgotten */
    VEC(struct fake_object) objects; /* by key */
    VEC(struct fake_event) events;
    VEC(struct fake_snapshot) snapshots;
    VEC(struct fake_rule) rules;
    VEC(struct fake_request) log;
    struct transport_call *calls, **calls_end; /* in the order of their requests */
    uint64_t n_calls;                          /* so far */
};

/* ---- Calls (fake.c). ---- */

enum fake_state { FAKE_ARRIVED, FAKE_WAITS, FAKE_WATCHES };

struct fake_watch {
    str table, namespace; /* namespace empty: all */
    struct selector labels;
    struct field_selector fields;
    str api_version, kind; /* as the request has them */
    bool metadata_only, wants_bookmarks;
    size_t at; /* the next of the events */
};

struct transport_call {
    struct fake *fake;
    struct transport_call *next, **link;
    uint64_t number; /* counted from 1 */
    struct arena arena;
    struct client_request request;
    struct client_listener listener;
    void *ctx;
    enum fake_state state;
    struct loop_work work;
    struct loop_timer timer; /* timeoutSeconds of a watch */
    bool is_working;         /* work is deferred */
    bool is_telling;         /* inside the listener */
    bool is_cancelled;       /* meanwhile */
    struct fake_watch watch;
};

/* The last word. text is the body; retry_after in seconds. */
void fake_answer(struct transport_call *call, int status, int retry_after, str text);
/* Without an answer. */
void fake_lose(struct transport_call *call, bool can_retry);
/* A part of an answer; false: the listener has had enough, the call is gone. */
bool fake_tell(struct transport_call *call, str bytes);

/* ---- Objects (fake_store.c). ---- */

str fake_table(struct arena *a, const struct kind *kind);
str fake_key(struct arena *a, str table, str namespace, str name);
/* NULL: there is none. */
const struct fake_object *fake_find(const struct fake *f, str key);
/* The first object whose key is not before this one. */
size_t fake_lower_bound(const struct fake *f, str key);
struct json fake_tree(struct arena *a, str text);
/* Gives the object the next revision and keeps it; the tree has it then. */
void fake_store(struct fake *f, struct arena *a, str key, struct json *object);
void fake_drop(struct fake *f, struct arena *a, str key);

/* ---- Serving (fake_serve.c, fake_list.c, fake_discovery.c). ---- */

/* What a path names. */
struct fake_place {
    const struct kind *kind;
    str table, namespace, name, subresource;
};

/* False: nothing that is known here. */
bool fake_route(struct fake *f, struct arena *a, str path, struct fake_place *ret);
/* The value of a parameter of the target, decoded; empty when there is none. */
str fake_param(struct arena *a, str target, str name);
void fake_refuse(struct transport_call *call, const struct json *status);
void fake_answer_tree(struct transport_call *call, int status, const struct json *tree);
/* PartialObjectMetadata where that was asked for. */
struct json fake_view(struct arena *a, const struct json *object, bool metadata_only);
bool fake_wants_metadata(const struct client_request *request);
bool fake_selects(const struct selector *labels, const struct field_selector *fields, const struct json *object);

void fake_serve(struct transport_call *call);
void fake_serve_list(struct transport_call *call, const struct fake_place *place);
/* False: the path is none of discovery's. */
bool fake_serve_discovery(struct transport_call *call, str path);

/* ---- Watches (fake_watch.c). ---- */

void fake_watch_start(struct transport_call *call, const struct fake_place *place);
/* Tells what has happened; for the work of a call. */
void fake_watch_go_on(struct transport_call *call);
/* Something has happened. */
void fake_watches_wake(struct fake *f);
