/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the reflector share. Private to reflect*.c.
 * Owns: see reflect.h.
 * Threads: the loop thread.
 * Errors: see reflect.h. */
#pragma once

#include "control/pace.h"
#include "control/reflect.h"

enum reflect_stage {
    REFLECT_IDLE,    /* stopped, or between two calls */
    REFLECT_WAITING, /* for the timer */
    REFLECT_INITIAL, /* a watch that begins with a list */
    REFLECT_PAGES,   /* a list */
    REFLECT_LIVE,    /* a watch */
};

/* How a call ended. */
enum reflect_verdict {
    REFLECT_ENDED,   /* in peace */
    REFLECT_REFUSED, /* this server has no watches that begin with a list */
    REFLECT_LOST,    /* the revision is of no use */
    REFLECT_GARBLED, /* it sent what cannot be read, or said that it failed in the middle */
    REFLECT_FAILED,
};

enum { REFLECT_LIMIT = 500 }; /* objects of a page, unless they are too large */

struct reflector {
    struct loop_work
        soon; /* first: it is what the loop hands back; the next attempt, when there is nothing to wait for */
    bool is_soon;
    struct reflect_options options;
    struct arena texts; /* of the options */
    bool is_running;
    struct client_call *call;
    bool has_heard; /* from this call */
    enum reflect_stage stage;
    uint64_t turn; /* changes whenever a call ends: who told somebody something sees whether all is still as it was */
    int64_t started;
    struct loop_timer timer; /* of the next attempt */
    struct loop_timer guard; /* a list within a watch must not stop in the middle */
    struct pace pace;
    struct buf version;                 /* the last one seen; empty: none */
    bool wants_list;                    /* next, instead of a watch from version */
    bool wants_another;                 /* after the one at work */
    bool has_no_initial, skips_initial; /* for good; for this list */
    uint32_t stuck, refused;            /* watches from the same version that were garbled, or answered with an error */
    uint32_t unserved;                  /* lists in a row that were answered: no such resource */
    struct frames frames;
    struct arena scratch; /* of one event or page */
    struct buf page, token;
    uint32_t limit; /* of a page; 0: none */
    struct reflect_stats stats;
};

/* ---- Requests (reflect_request.c). ---- */

/* Starts the call that the stage is about. */
void reflect_ask(struct reflector *r, enum reflect_stage stage, const struct client_listener *listener);
/* Makes an object what the sink is promised: apiVersion and kind of the resource; nothing but metadata, if that was asked for. */
int reflect_shape(const struct reflector *r, struct arena *a, struct json *object, struct err *err);

/* ---- Lists in pages (reflect_pages.c). ---- */

void reflect_pages_start(struct reflector *r);

/* ---- What comes next (reflect.c). ---- */

/* The call is over or will be; sets the time of the next attempt. retry_after_ns: at least. err may be NULL. */
void reflect_conclude(struct reflector *r, enum reflect_verdict verdict, int64_t retry_after_ns, const struct err *err);
/* What an answer other than 200 means. Sets err. */
enum reflect_verdict reflect_judge(struct reflector *r, const struct client_answer *answer, struct err *err);
/* The next watch begins here, unless a list comes before it. */
void reflect_set_version(struct reflector *r, str version);
/* All objects of a list have been told, its version is set. False: the sink wanted something else to happen. */
bool reflect_listed(struct reflector *r);
void reflect_watch_start(struct reflector *r);
