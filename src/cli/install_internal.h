/* SPDX-License-Identifier: Apache-2.0 */
/* What: the parts of reeve install: the request and its object (install.c), waiting and events (install_wait.c).
 * Owns: nothing; everything lives as long as the command.
 * Threads: the main thread.
 * Errors: as command.h. */
#pragma once

#include "cli/cli_installs.h"

enum install_done { INSTALL_CREATED, INSTALL_CHANGED, INSTALL_UNCHANGED };

struct install {
    struct command c;
    struct installs_target target;
    str package, source, policy; /* empty: not said */
    flag_texts secrets;
    bool is_named; /* --name is another name than the package's */
    int dry_run, output;
    bool is_waiting;
    struct follow follow; /* when it waits */
    struct json object;   /* as the server has it, or would */
    enum install_done done;
    str change; /* "Upgrade from 1.0 to 1.1"; empty: it is none */
};

struct install_events {
    VEC(str) seen;
    bool is_over;
};

/* Until it is ready, is refused, takes too long, or a signal comes: told; returns the exit code. */
int cli_install_wait(struct install *i);
/* "reeve install acme/wordpress:1.1 -n app-team-1": the command that does this, of that package, in that place. */
str cli_install_command(struct install *i, str package, const struct installs_target *target);
