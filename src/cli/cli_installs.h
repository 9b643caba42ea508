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

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "net/signals.h"
#include "package/dialect.h"

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
/* The signal that came, or 0. */
int follow_signal(struct follow *f);
/* Harmless when it was not opened. */
void follow_close(struct follow *f);

/* What reeve install and reeve uninstall share: which object an install is, how people call it, and how it fares. */

#define INSTALLS_MANAGER S("reeve-install") /* field manager */

/* Which install: of the cluster or of a namespace, of a package or of a stack. */
struct installs_target {
    const struct dialect *dialect;
    bool is_cluster;
    str namespace; /* empty for the cluster */
    str name;
    struct client_resource resource; /* filled by cli_installs_resource */
};

struct client_resource cli_installs_resource(const struct dialect *dialect, bool is_cluster);
/* Borrows the target. */
struct client_ref cli_installs_ref(const struct installs_target *t);
/* "PackageInstall app-team-1/wordpress" */
str cli_installs_title(struct arena *a, const struct installs_target *t);
/* "packageinstall.packages.crossplane.io/wordpress", as kubectl says */
str cli_installs_path(struct arena *a, const struct installs_target *t);
/* " -n app-team-1", " --cluster --stack --as jane": what names it, and the server, on our command line. */
str cli_installs_flags(struct command *c, const struct installs_target *t);
/* What every request of these commands may need: told together when one is missing. */
void cli_installs_need(struct command *c, const struct installs_target *t, const char *verb);
/* Says why the server does not know the kind, when that is what the error is about; else leaves the error as it is. */
int cli_installs_explain(struct arena *a, const struct installs_target *t, struct err *err);

enum dry_run { DRY_RUN_NONE, DRY_RUN_CLIENT, DRY_RUN_SERVER };
extern const char *const cli_installs_dry_runs[];  /* words of --dry-run */
extern const char *const cli_installs_dry_words[]; /* "", " (dry run)", " (server dry run)" */

/* The objects that would keep it from being uninstalled, as far as the user may list them: "2 networks (1 in one, 1 in two)"; empty:
 * none. */
int cli_installs_count(struct command *c, const struct installs_target *t, const struct json *install, str *ret_text,
                       struct err *err);

/* ---- Waiting for one. ---- */

enum installs_news {
    INSTALLS_LOOKED,      /* object is what the server has now */
    INSTALLS_NOTHING,     /* happened for a moment: time to draw */
    INSTALLS_LATE,        /* the time is over; object is what the server has now */
    INSTALLS_GONE,        /* there is none any more */
    INSTALLS_INTERRUPTED, /* by a signal */
    INSTALLS_FAILED,      /* err says why */
};

struct installs_wait {
    struct command *c;
    const struct installs_target *target;
    struct follow *follow;
    struct json object; /* until the next news */
    int64_t began;      /* monotonic */
    struct arena arena; /* private, as all below */
    int64_t asked, deadline;
};

int64_t cli_installs_now(void); /* monotonic */
/* The object as it was read last; the time of the command begins. */
void cli_installs_wait_begin(struct installs_wait *w, const struct json *object);
enum installs_news cli_installs_wait_next(struct installs_wait *w, struct err *err);
void cli_installs_wait_end(struct installs_wait *w);

/* ---- How an install fares. ---- */

enum installs_stand {
    INSTALLS_UNSEEN,    /* no controller has said a word of what is asked for now */
    INSTALLS_UNDER_WAY, /* reason and message may say where it is held up, for now */
    INSTALLS_TROUBLED,  /* it did not work; it is tried again */
    INSTALLS_REFUSED,   /* nothing will change by itself */
    INSTALLS_READY,
    INSTALLS_LEAVING, /* it is being uninstalled */
    INSTALLS_IN_USE,  /* it is, and people's objects hold it back */
};

enum { INSTALLS_PACKAGE, INSTALLS_CRDS, INSTALLS_RIGHTS, INSTALLS_DEPLOYMENT, INSTALLS_STEPS };

struct installs_state {
    enum installs_stand stand;
    str reason, message;
    struct progress_step steps[INSTALLS_STEPS];
};

/* From the object, of which texts are borrowed. */
void cli_installs_read(const struct json *install, struct installs_state *ret);
