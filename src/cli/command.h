/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a command that asks a server is made of: its common flags, the terminal, a session, and the telling of errors.
 * Owns: the arena and the session, until command_end.
 * Threads: the main thread.
 * Errors: command_fail tells them, so that a person can act, and returns the exit code.
 *
 *   struct command c = {.name = "why"};
 *   … flags table …
 *   int code = command_start(&c, &args, &words);    flags read, terminal known; help shown: c.is_over
 *   command_connect(&c, &err)                       a client of the server that the flags name
 *   return command_end(&c, code);
 */
#pragma once

#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/session.h"
#include "cli/term.h"
#include "json/json.h"

/* Which of the common flags a command has. -v, -q, --color and -h are everybody's. */
enum command_takes {
    TAKES_SERVER = 1 << 0,    /* --kubeconfig --context --as --as-group */
    TAKES_NAMESPACE = 1 << 1, /* -n */
    TAKES_ALL = 1 << 2,       /* -A */
    TAKES_SELECTOR = 1 << 3,  /* -l */
    TAKES_TIMEOUT = 1 << 4,   /* --timeout */
};

/* A right that the command needs: of a refusal all that are missing are told at once. */
struct command_need {
    const char *verb;
    str group, resource, subresource, namespace, name;
};

struct command {
    const char *name;   /* "why"; "package lint" */
    unsigned takes;     /* enum command_takes */
    int failed;         /* exit code of errors; 0: CLI_FAILED */
    struct arena arena; /* of the run */
    struct term term;
    struct session session;
    bool is_over; /* command_start: help was shown, or the command line makes no sense */

    /* The common flags. */
    struct session_flags server;
    str namespace;      /* of -n; empty: not said. See command_namespace */
    bool has_namespace; /* -n is on the command line; else the environment may have said it */
    bool all_namespaces;
    str selector;
    int64_t timeout_ns; /* what it was set to before command_start, unless said */

    VEC(struct command_need) needs;
    const struct client_discovery *discovery; /* question.h; NULL: not read yet */
};

/* Reads the flags. CLI_OK; with is_over there is nothing else to do but command_end, whatever it returned. */
int command_start(struct command *c, const struct flag *own, size_t n_own, int argc, char **argv,
                  struct flag_words *ret);
int command_connect(struct command *c, struct err *err);
/* The first word, which must be one of these: its place among them, and it becomes part of the name of the command. -1: it is none,
 * and that was told, with the nearest one. */
int command_verb(struct command *c, const struct flag_words *words, const char *const *verbs);
/* -n, else that of the kubeconfig's context. Only when connected. */
str command_namespace(const struct command *c);
/* There is no such namespace, as far as the asker may know. */
bool command_lacks_namespace(struct command *c, str namespace);
/* Drops everything; returns code. */
int command_end(struct command *c, int code);

/* Remembers a right that is about to be used. Texts are borrowed. */
void command_needs(struct command *c, struct command_need need);
/* Tells the error and what to do about it: no server, a wrong kubeconfig, credentials that are not accepted or ran out, rights that
 * are missing (all of them, with the nearest grant and the command that would help). Returns c->failed. */
int command_fail(struct command *c, const struct err *err);
/* "reeve why: …" and where help is; returns CLI_USAGE. */
int command_misused(struct command *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- Output. ---- */

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME };
extern const char *const output_words[]; /* of -o: table wide json yaml name; a command may have its own list instead */

/* One document, as JSON or YAML, on standard output. */
void output_tree(const struct json *tree, bool as_yaml);
void output_text(str text);
