/* SPDX-License-Identifier: Apache-2.0 */
/* What: an API server in memory, for tests: objects with revisions, lists in pages, watches, and faults on demand.
 * Owns: its objects, its history, and copies of the requests it was sent.
 * Threads: the loop thread; clients of it may be used as any.
 * Errors: answers as a real server gives them, and those a test asks for.
 *
 *   fake_put, fake_remove ──► objects, history ◄── requests of clients (fake_transport)
 *                                  │                   │ a fault that matches comes first
 *                                  └──► watches        └──► fake_log, fake_count
 *
 * It knows the built-in kinds, and those of CRDs that are established. Metadata, deletion, finalizers and subresources follow the
 * rules of the real one (object/meta.h, kinds/strategy.h). It has neither defaults, validation nor admission; whoever asks may
 * do everything; an apply is a merge and tracks no managers. What takes time is done in later turns of the loop, in the order of
 * the requests: with the same requests everything happens in the same order. */
#pragma once

#include "client/client.h"

struct fake;

struct fake_options {
    struct loop *loop;
    struct clock clock;
    bool no_watch_list; /* sendInitialEvents is refused, as by servers that do not have it */
    bool no_aggregated_discovery;
    size_t piece; /* answers in pieces are cut into pieces of so many bytes; 0: they are not */
};

struct fake *fake_new(const struct fake_options *options);
/* After its clients. Takes NULL. */
void fake_free(struct fake *f);
/* A way to it; any number of clients may have one each. */
struct transport *fake_transport(struct fake *f);

/* ---- The objects, as if others changed them. path: "/api/v1/namespaces/x/configmaps/y". ---- */

/* Creates or replaces. What it lacks of metadata (uid, creationTimestamp) is made up; nothing else is touched. Returns the
 * revision. */
uint64_t fake_put(struct fake *f, const char *text);
/* At once, whatever finalizers say; false when there is none. */
bool fake_remove(struct fake *f, const char *path);
bool fake_get(struct fake *f, struct arena *a, const char *path, struct json *ret);
uint64_t fake_revision(const struct fake *f);

/* ---- Faults. ---- */

enum fake_fault_type {
    FAKE_ANSWER, /* with status, body and Retry-After as given; nothing is done */
    FAKE_LOST,   /* no answer; can_retry as given */
    FAKE_CUT,    /* half an answer; the request is carried out */
    FAKE_HELD,   /* it waits for fake_release, and is then served */
};

/* Texts are copied. */
struct fake_fault {
    enum fake_fault_type type;
    str method;     /* empty: any */
    str prefix;     /* of the target, query included; empty: any */
    unsigned times; /* 0: until fake_heal */
    int status;
    str body;        /* empty: a Status with the usual reason */
    int retry_after; /* seconds; 0: no header */
    bool can_retry;  /* FAKE_LOST */
    bool is_done;    /* FAKE_LOST: the request was carried out before */
};

/* Of several that match the first counts. */
void fake_fault(struct fake *f, const struct fake_fault *fault);
/* No faults from now on. What is held stays so. */
void fake_heal(struct fake *f);
/* Serves what is held; returns how many that were. */
size_t fake_release(struct fake *f);

enum fake_cut {
    FAKE_CUT_CLEAN, /* the end of the answer, as after a while */
    FAKE_CUT_EVENT, /* half an event, then the connection is lost */
    FAKE_CUT_GONE,  /* an ERROR event with 410 Expired, then the end */
};

/* Ends all watches; returns how many there were. */
size_t fake_cut_watches(struct fake *f, enum fake_cut how);
/* Forgets the past: to watch from an earlier revision, or to go on with a list begun before, is 410 Expired. */
void fake_expire(struct fake *f);
/* A BOOKMARK with the present revision to all watches that take them. */
void fake_bookmark(struct fake *f);
/* Raw bytes to all watches, as if they were events. */
void fake_babble(struct fake *f, str bytes);

/* ---- What was asked. ---- */

struct fake_request {
    str method, target, accept, content_type, body, as;
    int64_t at; /* on the clock of the loop */
};

/* All since the beginning or the last fake_log_clear. */
const struct fake_request *fake_log(const struct fake *f, size_t *ret_n);
void fake_log_clear(struct fake *f);
/* Of those how many have this method (empty: any) and a target with this prefix. */
size_t fake_count(const struct fake *f, const char *method, const char *prefix);
/* POST, PUT, PATCH and DELETE: after convergence there are none. */
size_t fake_writes(const struct fake *f);
/* Open now. */
size_t fake_watches(const struct fake *f);
size_t fake_held(const struct fake *f);
