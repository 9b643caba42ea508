/* SPDX-License-Identifier: Apache-2.0 */
/* What: an API server for one command: which one, as whom, and a client of it to be used as plain sequential code.
 * Owns: the client, and a thread for its loop.
 * Threads: who opened it.
 * Errors: as client/config.h finds them, and those of client/client.h.
 *
 *   flags ─► session_open: configuration, loop in a thread of its own ─► client_get … ─► session_close */
#pragma once

#include "cli/flags.h"
#include "client/client.h"
#include "client/config.h"

#include <pthread.h>
#include <signal.h>

/* The flags that every command has which asks a server; kubectl's. */
struct session_flags {
    str kubeconfig, context; /* empty: as client/config.h finds them */
    str as;
    flag_texts groups;
};

#define SESSION_USAGE                                                                                 \
    "      --kubeconfig FILE   [$KUBECONFIG, ~/.kube/config, or the account of the pod it runs in]\n" \
    "      --context NAME      of the kubeconfig\n"                                                   \
    "      --as USER           on behalf of somebody else, as kubectl has it\n"                       \
    "      --as-group GROUP    may be repeated\n"

struct session {
    struct arena arena;
    struct client_config config;
    struct client *client;
    struct loop *loop; /* private, as all below */
    struct random_pool random;
    pthread_t thread;
    bool is_running;
};

/* Nothing is asked yet. Close it in any case. */
int session_open(struct session *s, const struct session_flags *flags, struct err *err);
void session_close(struct session *s);
/* The CA by which the server is believed, as text; empty: the system's. */
int session_ca(struct session *s, str *ret_pem, struct err *err);

/* Ctrl-C and SIGTERM, for commands that must not leave half of a thing behind: held back for a moment, or told by a descriptor.
 *
 * What arrived and was not taken has its old meaning at interrupt_close: it ends the process. */

struct interrupt {
    sigset_t before; /* private */
    int fd;          /* can be read when one has come; -1: there is none */
};

/* Signals wait. For what takes no time. */
void interrupt_hold(struct interrupt *i);
/* SIGINT and SIGTERM can be read from fd, but for what the process ignores. For what takes long. */
void interrupt_open(struct interrupt *i);
/* Takes the one that has come; its number, or 0. */
int interrupt_take(struct interrupt *i);
void interrupt_close(struct interrupt *i);
