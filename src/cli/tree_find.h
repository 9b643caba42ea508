/* SPDX-License-Identifier: Apache-2.0 */
/* What: what somebody means by a word: a role, a package or a namespace.
 * Owns: nothing; results live in the arena of the command.
 * Threads: the main thread.
 * Errors: ERR_NOT_FOUND with the nearest name, ERR_CONFLICT when a word means several installs; those of the client. */
#pragma once

#include "cli/command.h"
#include "cli/tree_graph.h"

enum tree_kind { TREE_ALL, TREE_ROLE, TREE_PACKAGE, TREE_NAMESPACE, TREE_KINDS };

struct tree_target {
    enum tree_kind kind;
    str name;           /* of a package: "repo:name:version", or as much of it as was said */
    struct json record; /* of an install that was named, else null: its inventory has the roles */
};

/* By exact names: first roles, then packages (repo/name, repo/name:version, or the name of an install), then namespaces. role/NAME,
 * package/NAME and namespace/NAME leave no doubt. What else a word could mean is said. */
int tree_find(struct command *c, struct tree_graph *g, str word, struct tree_target *ret, struct err *err);
