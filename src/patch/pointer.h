/* SPDX-License-Identifier: Apache-2.0 */
/* What: the tokens of a JSON pointer, one by one. Private to json/; patch.h has what others need.
 * Owns: nothing; tokens are views of the pointer, or live in the arena given when they had escapes.
 * Threads: pure functions.
 * Errors: false. */
#pragma once

#include "json/json.h"

/* "" or "/…". */
bool pointer_is_valid(str pointer);
/* Takes the first token off a valid pointer, ~1 and ~0 replaced; false when the pointer is at its end. */
bool pointer_take(struct arena *a, str *pointer, str *ret_token);
/* The position a token names among n places; from the end if negative. */
bool pointer_index(str token, size_t n, size_t *ret);
