/* SPDX-License-Identifier: Apache-2.0 */
/* What: what people call resources: pods, po, pod, deployments.apps, deploy.v1.apps, fleets.example.com/north; as kubectl takes them.
 * Owns: nothing; results live in the arena of the command.
 * Threads: the main thread.
 * Errors: ERR_NOT_FOUND with the nearest name; those of discovery. */
#pragma once

#include "cli/command.h"
#include "client/discovery.h"

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
