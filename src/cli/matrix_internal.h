/* SPDX-License-Identifier: Apache-2.0 */
/* What: what somebody may do, as a table of resources and verbs, and as a document.
 * Owns: nothing; everything is borrowed or lives in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "authz/explain.h"
#include "cli/term.h"
#include "json/json.h"

struct matrix_row {
    struct explain_resource what;
    bool is_namespaced;
    unsigned verbs;   /* that the server has for it: VERB_GET and so on (object/kind.h) */
    bool knows_verbs; /* else they are not known: of subresources */
};

struct matrix {
    str user; /* empty: not known */
    struct strs groups;
    str namespace;     /* empty: all of them */
    struct strs verbs; /* the columns */
    const struct matrix_row *rows;
    size_t n;
    const enum explain_cell *cells; /* row by row */
    str incomplete;                 /* why there may be more than this; empty: it is all */
};

/* What a SelfSubjectRulesReview answers: rules, and why they may not be all; texts are borrowed. ERR_BAD_REQUEST: they make no sense. */
int matrix_read_review(struct arena *a, const struct json *review, struct rules *ret, str *ret_incomplete,
                       struct err *err);

/* The verbs that every table has: get list watch create update patch delete deletecollection. */
extern const struct strs matrix_verbs;

/* One column for each verb, with as much of its name as fits; of a wide table the whole words. Rows without any right only if
 * is_all. */
void matrix_draw(struct buf *b, const struct term *term, const struct matrix *m, bool is_wide, bool is_all);
/* An AccessMatrix of cli.reeve.dev/v1, as the manual describes it. */
struct json matrix_document(struct arena *a, const struct matrix *m, bool is_all);
