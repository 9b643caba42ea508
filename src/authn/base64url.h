/* SPDX-License-Identifier: Apache-2.0 */
/* What: base64 as JSON web tokens have it: URL alphabet, no padding, one way only to write anything.
 * Owns: nothing; results live in the arena given.
 * Threads: pure functions.
 * Errors: false for text that base64url_encode would not have written. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

str base64url_encode(struct arena *a, str bytes);
bool base64url_decode(struct arena *a, str text, str *ret);
