/* SPDX-License-Identifier: Apache-2.0 */
/* What: the bytes a section of a case file stands for, when they cannot or should not be written down plainly.
 * Owns: nothing; bytes live in the arena of the case.
 * Threads: one.
 * Errors: a malformed section fails the case.
 *
 *     --- given                 the text as it is
 *     --- given escaped         \xff \n \r \t \\ are replaced
 *     --- given repeat=1000     every second line is repeated; no line breaks between them (but escapes, if asked for) */
#pragma once

#include "cases/case.h"

str case_bytes(struct case_file *c, const struct case_section *s);
/* "BadRequest: text", as "expect error" has it. */
struct err;
str case_error(struct case_file *c, const struct err *err);
