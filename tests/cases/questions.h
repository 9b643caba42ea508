/* SPDX-License-Identifier: Apache-2.0 */
/* What: cases that ask about roles and bindings: "given" some, as YAML documents, and each "when" is a question whose answer is
 *       expected.
 * Owns: the index, while a case runs.
 * Threads: one.
 * Errors: told as failures of the case. */
#pragma once

#include "authz/authz.h"
#include "cases/case.h"
#include "json/yaml.h"

/* The text that the question is answered with; in the arena of the case. */
typedef str questions_answer(struct case_file *c, const struct authz_index *ix, const struct case_section *when);

/* An index of what matters to a question alone, which must be answered the same with it. NULL: there is nothing like that for it. */
typedef struct authz_index *questions_part(struct case_file *c, const json_vec *objects,
                                           const struct case_section *when);

/* part may be NULL. */
void questions_run(struct case_file *c, questions_answer *answer, questions_part *part);
