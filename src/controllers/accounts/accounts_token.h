/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the token of a ServiceAccount says of itself. Believed without proof: whoever it is shown to will not.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: false for what is no such token. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct token_claims {
    str subject;             /* "system:serviceaccount:ns:name" */
    str account_uid;         /* empty: not told */
    int64_t issued, expires; /* seconds since 1970; before the year 2255 */
};

bool token_read(struct arena *a, str token, struct token_claims *ret);
/* When it should be replaced: at four fifths of its life, in seconds since 1970. */
int64_t token_due(const struct token_claims *claims);
