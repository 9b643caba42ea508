/* SPDX-License-Identifier: Apache-2.0 */
/* What: single Unicode characters: taking them out of UTF-8, and telling which can be shown.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: bytes that are not UTF-8 read as RUNE_BAD, one at a time. */
#pragma once

#include "base/str.h"

enum { RUNE_BAD = 0xfffd };

/* Takes the first character off s, which must not be empty. */
uint32_t rune_next(str *s);
/* Letters, marks, numbers, punctuation, symbols and the ASCII space, as Go's unicode.IsPrint has it. */
bool rune_is_print(uint32_t r);
