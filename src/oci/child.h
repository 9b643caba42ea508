/* SPDX-License-Identifier: Apache-2.0 */
/* What: one run of a program: text in, text out, its end awaited.
 * Owns: the process; it has ended and was reaped when child_run returns, whatever happened.
 * Threads: any number of runs at once, each in its own thread, which waits. No signal handler is needed, and none disturbs.
 * Errors: ERR_GONE told to stop, ERR_TIMEOUT, ERR_IO it could not be started, ERR_UNAVAILABLE it was killed or failed; what take
 *         said otherwise. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct child {
    const char *program;  /* an absolute path */
    const char *name;     /* for messages; NULL: reeve-fetch */
    const char *argument; /* the one it gets; NULL: none */
    char *const *env;     /* NULL: empty */
    str input;            /* all of its standard input */
    int64_t timeout_ns;
    int stop; /* a descriptor; the run ends when it can be read */
    /* Takes its standard output. */
    int (*take)(void *ctx, str piece, struct err *err);
    void *ctx;
};

int child_run(const struct child *c, struct err *err);
/* The path of a program that was installed with this one, in a: beside it, or in libexec. NULL: it is nowhere. */
struct arena;
const char *child_find(struct arena *a, const char *name);

/* Whether the kernel has landlock, the wall between reeve-fetch and the files and ports that are not its business. */

/* The first versions of its interface that know… */
enum {
    LANDLOCK_REFER = 2,
    LANDLOCK_TRUNCATE = 3,
    LANDLOCK_PORTS = 4, /* Linux 6.7 */
    LANDLOCK_IOCTL = 5,
    LANDLOCK_SCOPES = 6 /* Linux 6.12 */
};

/* 0: there is none, or it is switched off; negative: an error. */
int landlock_version(void);
