/* SPDX-License-Identifier: Apache-2.0 */
/* What: the roles and bindings of a server, as an index that can be asked: what who-can, why, matrix, tree and plan look at.
 * Owns: the index, until rights_done.
 * Threads: the main thread.
 * Errors: those of the client; ERR_FORBIDDEN after command_needs of what was asked for.
 *
 * Read page by page: only the index is kept, so that 50,000 bindings take little room; and of them, where the question is known
 * beforehand, only those that matter to it. */
#pragma once

#include "authz/authz.h"
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

/* What everybody may ask a server about himself: who he is, whether he may do something, and all that he may do. */

/* As the server knows us; the zero value: it does not say. */
struct authz_identity self_identity(struct command *c);
/* The name alone. */
str self_name(struct command *c);
/* May we? The reason is that of the server. err may be NULL. */
int self_check(struct command *c, const struct authz_attributes *what, struct authz_decision *ret, struct err *err);
/* All rules that hold for us in a namespace: a SelfSubjectRulesReview with its status. */
int self_review(struct command *c, str namespace, struct json *ret, struct err *err);
/* The same as one role that is bound to a user of this name: what is explained of others can be
 * explained of us. NULL: the server does not say. authz_index_free it. */
struct authz_index *self_rules(struct command *c, str user, str namespace);
