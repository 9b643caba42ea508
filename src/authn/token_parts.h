/* SPDX-License-Identifier: Apache-2.0 */
/* What: the two halves of a token, for the files of this folder and their tests: the signature around any text, and the text.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: as token.h. */
#pragma once

#include "authn/token.h"

/* HEADER.base64url(payload).SIGNATURE */
int token_seal(const struct token_signer *s, struct arena *a, str payload, str *ret, struct err *err);
/* The payload of a token whose signature is ours. */
int token_unseal(const struct token_signer *s, struct arena *a, str token, str *ret, struct err *err);

/* Claims as JSON, members in the order of their names. */
str token_claims_format(struct arena *a, const struct token_claims *claims, str issuer);
/* The reverse, as strict as can be: nobody but ourselves writes these. */
int token_claims_parse(struct arena *a, str json, str issuer, struct token_claims *ret, struct err *err);
