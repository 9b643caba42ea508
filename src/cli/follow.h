/* SPDX-License-Identifier: Apache-2.0 */
/* What: one object, followed by a command until something is the case: a watch tells that it changed, and Ctrl-C ends it politely.
 * Owns: the watch; SIGINT and SIGTERM of the process, from follow_catch on.
 * Threads: the main thread; the watch and the signals are the session's loop's.
 * Errors: none: a watch that cannot be had (no rights, an old proxy) is looking again every second.
 *
 *   follow_catch();               before the session is opened: its thread leaves the signals to us, too
 *   command_connect …
 *   follow_open(&f, &c->session)  from here on a signal stops the client: whoever asks gets ERR_UNAVAILABLE
 *   follow_watch(&f, &ref)
 *   while (follow_wait(&f, until) …) client_get …      the watch says that, not what: there is one truth
 *   follow_close(&f)              before the session is closed */
#pragma once

#include "cli/session.h"
#include "net/signals.h"

enum follow_news {
    FOLLOW_CHANGED,     /* perhaps: ask */
    FOLLOW_LATE,        /* the time is over */
    FOLLOW_INTERRUPTED, /* by a signal: nothing can be asked any more */
};

struct follow {
    struct session *session; /* private, as all below */
    struct signals signals;
    struct client_call *call;
    struct loop_timer again;
    struct loop_work work;
    struct arena arena;
    str target;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_open, is_done, has_news; /* behind the lock */
    int signal;                      /* which; 0: none. Behind the lock */
};

void follow_catch(void);
int follow_open(struct follow *f, struct session *session, struct err *err);
/* ref names one object. Once. */
void follow_watch(struct follow *f, const struct client_ref *ref);
/* Until something happens, or the monotonic clock says so. */
enum follow_news follow_wait(struct follow *f, int64_t until_ns);
/* The signal that came, or 0. */
int follow_signal(struct follow *f);
/* Harmless when it was not opened. */
void follow_close(struct follow *f);
