/* SPDX-License-Identifier: Apache-2.0 */
/* What: which bindings a question looks at, so that of many thousands only those need be kept.
 * Owns: what it has learned of roles, until explain_keep_done.
 * Threads: one.
 * Errors: none; a malformed binding is one that nobody looks at.
 *
 * Whoever reads the objects of a server reads roles first. Then a binding is kept
 *
 *   who-can   if its role allows the request
 *   why       if it names the asker; if it could have the name that a binding which helps would get; or if it is the first to
 *             tell that a role is bound to people, or to programs
 *
 * and answers are the same as with all of them. */
#pragma once

#include "authz/explain.h"

struct explain_keep {
    const struct authz_attributes *what;
    const struct authz_identity *who; /* NULL: who can? */
    struct arena arena;
    struct map roles; /* what is known of them, by their place in memory */
    str prefix;       /* of names that a binding which helps could get */
};

void explain_keep_done(struct explain_keep *k);
/* A list of bindings begins; before the first of them, too. What earlier ones told of roles counts no longer. */
void explain_keep_begin(struct explain_keep *k);
/* ix: has the roles. */
bool explain_keeps(struct explain_keep *k, const struct authz_index *ix, const struct json *binding);
