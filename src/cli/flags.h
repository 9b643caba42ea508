/* SPDX-License-Identifier: Apache-2.0 */
/* What: the flags of a command as a table, read in one way for all commands; what they mean stands in the manual (help.h).
 * Owns: nothing; values are views of argv, of the environment, or live in the arena given.
 * Threads: one; reads the environment.
 * Errors: ERR_BAD_REQUEST for a command line that makes no sense, with the nearest flag for a mistyped one.
 *
 *   --name VALUE  --name=VALUE  -nVALUE  -n VALUE  -qv  anywhere among the words; behind -- everything is a word.
 *
 * A flag that is not given takes its value from the environment, if it has a variable there; else `into` stays as it is. The table
 * and the page of the manual must name the same flags: flags_read asserts it. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

typedef VEC(str) flag_texts;

enum flag_kind {
    FLAG_YES,     /* bool: --force, --force=false */
    FLAG_TEXT,    /* str; never empty */
    FLAG_TEXTS,   /* flag_texts; may be repeated */
    FLAG_PATH,    /* const char *; never empty */
    FLAG_NAME,    /* str: what a namespace or a cluster may be called */
    FLAG_TIME,    /* int64_t, nanoseconds: 30s; more than none */
    FLAG_COUNT,   /* uint32_t: 1 to 1000000 */
    FLAG_ADDRESS, /* struct flag_address: HOST:PORT to listen at */
    FLAG_WORD,    /* int: which of words */
    FLAG_CALL,    /* take(), with what may be empty; may be repeated */
};

struct flag_address {
    str host; /* an address, without brackets */
    uint16_t port;
};

struct flag {
    char letter; /* 0: none */
    enum flag_kind kind;
    const char *name; /* without dashes */
    void *into;
    const char *const *words; /* of FLAG_WORD, NULL at the end */
    const char
        *bare; /* what it means without a value, which then needs a "=" (--dry-run, --wait=1m); NULL: it has one */
    const char *env; /* "REEVE_LISTEN"; NULL: none */
    int (*take)(void *into, const char *value, struct err *err);
    bool *is_given; /* set when it is on the command line; or NULL */
};

struct flags_args {
    struct arena *arena;
    const char *page;       /* of the manual: "plan" */
    const struct flag *own; /* of this command */
    size_t n_own;
    const struct flag *shared; /* that it has in common with others */
    size_t n_shared;
    int argc;
    char **argv; /* argv[0] is the command's own name */
};

struct flag_words {
    char **p;
    size_t n;
};

/* 0; or 1: help was asked for and shown, there is nothing else to do. -h and --help are always understood. */
int flags_read(const struct flags_args *args, struct flag_words *ret, struct err *err);

/* The same for a command that takes flags alone. */
int flags_only(const struct flags_args *args, struct err *err);
/* Tells what is wrong with a command line ("reeve up: …"), and where help is; returns the exit code. */
int flags_refuse(const char *page, const struct err *err);

/* Of a list of words, NULL at the end, the one a mistyped word most likely meant; or NULL. */
const char *flags_nearest(const char *word, const char *const *list);

/* Where Reeve keeps its data when nobody says it: the same for every command. */

/* REEVE_DATA_DIR, else $XDG_DATA_HOME/reeve, else ~/.local/share/reeve. */
int cli_data_dir(struct arena *a, const char **ret, struct err *err);
