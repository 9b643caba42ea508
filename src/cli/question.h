/* SPDX-License-Identifier: Apache-2.0 */
/* What: what people call resources: pods, po, pod, deployments.apps, deploy.v1.apps, fleets.example.com/north; as kubectl takes them.
 * Owns: nothing; results live in the arena of the command.
 * Threads: the main thread.
 * Errors: ERR_NOT_FOUND with the nearest name; those of discovery. */
#pragma once

#include "authz/explain.h"
#include "cli/cli_output.h"
#include "cli/command.h"
#include "client/client_discovery.h"

struct resource_named {
    str group, resource; /* "apps", "deployments" */
    str name;            /* of one object; empty: all */
    bool is_namespaced;
    str path;                             /* of a URL that is no resource: "/healthz"; then all others are empty */
    const struct client_discovered *what; /* NULL: a path, "*", or not known */
};

/* text: TYPE, TYPE/NAME, /path, or "*", which is all resources of all groups. Discovery is asked for once per run. Of what is not
 * found ret has what the words say, for who asks about rights that are given ahead of what they are for. */
int resource_find(struct command *c, str text, struct resource_named *ret, struct err *err);
/* All that discovery knows; asked for once per run. */
int resource_all(struct command *c, const struct client_discovery **ret, struct err *err);

/* A question about rights as a command line puts it: USER VERB TYPE[/NAME], and its answers as documents.
 *
 * A USER is a name as the server knows it, or says what it is: user/jane, group/devs, serviceaccount/NS/NAME (sa/NS/NAME). */

struct question {
    struct authz_identity who; /* of question_who */
    struct authz_attributes what;
    bool is_known;   /* the server has the resource; of a path, always */
    bool everywhere; /* -A: about all namespaces, or some of them */
};

/* -n counts for what is in namespaces only; with -A the question is about all of them. */
int question_what(struct command *c, const char *verb, const char *type, str subresource, struct question *ret,
                  struct err *err);
/* A namespace that is not there is warned about: rights hold in it all the same, but it may be mistyped. */
void question_warn_place(struct command *c, str namespace);
/* A table does not say what it is about: who named no namespace is told which it is, and how to ask about others. */
void question_note_place(struct command *c, str namespace, const char *others);
/* With the groups that the server would add. */
int question_who(struct command *c, const char *user, const flag_texts *groups, struct question *ret, struct err *err);

/* Tells what either of them found wrong; returns the exit code. */
int question_fail(struct command *c, const struct err *err);

/* ---- Documents. ---- */

/* apiVersion, kind, and the request */
struct json question_document(struct arena *a, const char *kind, const struct question *q);
/* binding, role and sources */
struct json question_path(struct arena *a, const struct explain_path *path);
