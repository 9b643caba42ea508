/* SPDX-License-Identifier: Apache-2.0 */
/* What: the manual as the binary has it: made from man/ when it is built (tools/manual), and the source of every --help and of
 *       completion.
 * Owns: constants.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

struct help_flag {
    char letter;       /* 0: none */
    const char *name;  /* without dashes */
    const char *value; /* "NS", "FILE", "table|wide|json"; NULL: it takes none */
    bool is_optional;  /* its value */
    const char *about; /* in one sentence */
};

struct help_page {
    const char *command; /* "plan"; "" is reeve itself */
    const char *summary; /* "say who gains and loses what by a package" */
    const char
        *text; /* of --help: "Usage: reeve plan …" and so on, 80 columns at most; HELP_PROGRAM stands for "reeve" */
    const char *const *verbs; /* of a command that has them (package: init, lint …), NULL at the end */
    const struct help_flag *flags;
    size_t n_flags;
};

#define HELP_PROGRAM "\x01" /* in text: help_program() */

extern const struct help_page help_pages[]; /* by command */
extern const size_t help_pages_n;

/* NULL: there is none. */
const struct help_page *help_find(const char *command);
/* On standard output. As a plugin of kubectl (help_set_program) "reeve plan" is "kubectl reeve plan". */
void help_print(const struct help_page *page);

/* What this program is called: from argv[0] of main, "reeve" until then. */
void help_set_program(const char *argv0);
/* It is what kubectl asks for completion: kubectl_complete-reeve. */
bool help_is_completion(void);
/* "reeve", "kubectl reeve" */
const char *help_program(void);
