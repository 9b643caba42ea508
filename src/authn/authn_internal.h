/* SPDX-License-Identifier: Apache-2.0 */
/* What: what was found out about a credential, kept so that it need not be found out with every request.
 * Owns: its entries, each with an arena of its own; never more than CACHE_SETS * CACHE_WAYS of them.
 * Threads: one thread.
 * Errors: none; an entry may be gone at any time.
 *
 * A key belongs to one set, by its hash; in a full set the entry that was not used for longest makes room. So there is no list to
 * keep and nothing grows, and who has few credentials cannot push out more than a few of others'. */
#pragma once

#include "authn/authn_token.h"
#include "base/arena.h"
#include "base/str.h"

enum { CACHE_SETS = 2048, CACHE_WAYS = 4 }; /* a hub has thousands of agents, each with a token of its own */

struct authn_cache;

/* The two halves of a token, for the files of this folder and their tests: the signature around any text, and the text. */

/* HEADER.base64url(payload).SIGNATURE */
int token_seal(const struct token_signer *s, struct arena *a, str payload, str *ret, struct err *err);
/* The payload of a token whose signature is ours. */
int token_unseal(const struct token_signer *s, struct arena *a, str token, str *ret, struct err *err);

/* Claims as JSON, members in the order of their names. */
str token_claims_format(struct arena *a, const struct token_claims *claims, str issuer);
/* The reverse, as strict as can be: nobody but ourselves writes these. */
int token_claims_parse(struct arena *a, str json, str issuer, struct token_claims *ret, struct err *err);
