/* SPDX-License-Identifier: Apache-2.0 */
/* What: a program that runs, prints something and ends, watched by the loop.
 * Owns: the child and its group of processes: all of them are killed when it is freed before its end.
 * Threads: the loop thread.
 * Errors: ERR_NOT_FOUND and ERR_IO when it cannot be started; ERR_TIMEOUT, ERR_TOO_LARGE when it takes or prints too much;
 *         ERR_UNAUTHORIZED when it says with its exit code that it failed. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"

struct plugin;

struct plugin_options {
    const char *command; /* with a slash: a path; without: looked for in search */
    str search;          /* folders, as in $PATH; relative ones do not count: what is there depends on where we are */
    const char *const *argv; /* copied, like env; NULL at the end; argv[0] included */
    const char *const *env;
    size_t max_bytes;   /* of its standard output; standard input is empty, standard error ours */
    int64_t timeout_ns; /* until its end */
    /* Once, from the loop, never from within plugin_start; output lives until it returns. May free the plugin. */
    void (*done)(void *ctx, str output, const struct err *err);
    void *ctx;
};

int plugin_start(struct loop *l, const struct plugin_options *options, struct plugin **ret, struct err *err);
/* Takes NULL. */
void plugin_free(struct plugin *p);
