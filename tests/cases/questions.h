/* SPDX-License-Identifier: Apache-2.0 */
/* What: cases that ask about roles and bindings: "given" some, as YAML documents, and each "when" is a question whose answer is
 *       expected.
 * Owns: the index, while a case runs.
 * Threads: one.
 * Errors: told as failures of the case. */
#pragma once

#include "authz/authz.h"
#include "cases/case.h"

/* The text that the question is answered with; in the arena of the case. */
typedef str questions_answer(struct case_file *c, const struct authz_index *ix, const struct case_section *when);

void questions_run(struct case_file *c, questions_answer *answer);
