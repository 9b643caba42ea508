/* SPDX-License-Identifier: Apache-2.0 */
/* What: what everybody may ask a server about himself: who he is, whether he may do something, and all that he may do.
 * Owns: nothing but the index of self_rules; texts live in the arena of the command.
 * Threads: the main thread.
 * Errors: those of the client. */
#pragma once

#include "authz/authz.h"
#include "cli/command.h"

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
