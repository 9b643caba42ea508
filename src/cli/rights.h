/* SPDX-License-Identifier: Apache-2.0 */
/* What: the roles and bindings of a server, as an index that can be asked: what who-can, why, matrix, tree and plan look at.
 * Owns: the index, until rights_done.
 * Threads: the main thread.
 * Errors: those of the client; ERR_FORBIDDEN after command_needs of what was asked for.
 *
 * Read page by page: only the index is kept, so that 50,000 bindings take little room; and of them, where the question is known
 * beforehand, only those that matter to it. */
#pragma once

#include "authz/explain.h"
#include "cli/command.h"

struct rights {
    struct authz_index *index;
    struct explain_keep *keep; /* which bindings are kept, borrowed; NULL: all of them */
};

/* All ClusterRoles and ClusterRoleBindings; Roles and RoleBindings of a namespace, or of all (empty). */
int rights_load(struct command *c, str namespace, struct rights *ret, struct err *err);
/* Only some of them (which: 1 << AUTHZ_CLUSTER_ROLE and so on), into what there is already; without an index that is nothing yet. rights_done
 * even when it fails. */
int rights_load_kinds(struct command *c, unsigned which, str namespace, struct rights *r, struct err *err);
void rights_done(struct rights *r);

/* A user with the groups that the server would add to those given. */
struct authz_identity rights_identity(struct arena *a, str user, struct strs groups);
