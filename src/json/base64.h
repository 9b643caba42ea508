/* SPDX-License-Identifier: Apache-2.0 */
/* What: base64 as Go's standard encoding has it: with padding, line breaks between characters allowed.
 * Owns: nothing; results live in the arena given.
 * Threads: pure functions.
 * Errors: the position of the first byte that does not belong. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

str base64_encode(struct arena *a, str bytes);
/* Decodes into *ret (ret may be NULL: check only). Returns 0, or -1 with *ret_at set to the position Go would name in
 * "illegal base64 data at input byte N". a may be NULL when ret is. */
int base64_decode(struct arena *a, str text, str *ret, size_t *ret_at);
