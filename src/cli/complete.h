/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a command line that is not finished may go on with.
 * Owns: nothing; candidates live in the arena of the command.
 * Threads: the main thread.
 * Errors: none: what cannot be found out is left out.
 *
 *   words ─► complete_read (pure): which flag or word is at hand ─► complete_words (the manual), complete_names (the server) */
#pragma once

#include "cli/command.h"
#include "cli/help.h"

/* What may stand in a place of the command line. */
enum complete_what {
    COMPLETE_NOTHING, /* that we know of */
    COMPLETE_FILES,
    COMPLETE_FOLDERS,
    COMPLETE_COMMANDS,
    COMPLETE_SHELLS,
    COMPLETE_VERBS, /* of the API */
    COMPLETE_TYPES, /* of objects; behind a slash their names */
    COMPLETE_NAMESPACES,
    COMPLETE_CONTEXTS,
    COMPLETE_USERS, /* that bindings name */
    COMPLETE_ROLES,
    COMPLETE_INSTALLS,
    COMPLETE_CLUSTERS,
    COMPLETE_BRANCHES, /* roles, namespaces and installs: what tree draws */
};

/* How a shell is to go on: numbers of cobra, which kubectl expects of its plugins. */
enum complete_directive {
    DIRECTIVE_FILES = 0,
    DIRECTIVE_NO_SPACE = 2,
    DIRECTIVE_NO_FILES = 4,
    DIRECTIVE_FOLDERS = 16,
};

struct complete {
    struct command base; /* its common flags are those that were typed */
    const struct help_page *page;
    const char *verb;             /* of the command; NULL: it has none, or none yet */
    flag_texts words;             /* behind it */
    const struct help_flag *flag; /* whose value is at hand; NULL: it is a word, or a flag */
    str typed;                    /* what is there of it */
    bool is_cluster;              /* --cluster was given */
    bool is_words;                /* behind -- */
    VEC(struct complete_candidate {
        str text;
        const char *about; /* or NULL */
    })
    found;
    unsigned directive;
};

/* The last of the words is the one to go on with; it may be empty. */
void complete_read(struct complete *c, int n, char **words);
/* Adds a candidate that begins with what was typed. One that a shell could take for more than a word is left out. */
void complete_add(struct complete *c, str text, const char *about);
/* Asks the kubeconfig for its contexts, and the server for the rest: types, names of objects. */
void complete_names(struct complete *c, enum complete_what what);
