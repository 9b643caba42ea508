/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says about one's own rules, and how a matrix looks that does not fit. */
#include "cli/matrix_internal.h"

#include "object/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct json decode(struct arena *a, const char *text)
{
    struct json value;
    struct err err;
    assert_int_equal(json_decode(a, str_of(text), NULL, NULL, &value, &err), 0);
    return value;
}

static void assert_text(str got, const char *want)
{
    if (!str_eq(got, str_of(want)))
        fail_msg("want:\n%s\ngot:\n%.*s", want, STR(got));
}

/* ---- Reviews. ---- */

static void review_that_is_complete(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json review = decode(&a, "{\"status\":{\"incomplete\":false,\"resourceRules\":[{\"verbs\":[\"get\"],"
                                    "\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}],\"nonResourceRules\":[]}}");
    struct rules rules;
    str incomplete;
    assert_int_equal(matrix_read_review(&a, &review, &rules, &incomplete, NULL), 0);
    assert_int_equal(rules.n, 1);
    assert_int_equal(incomplete.n, 0);
}

static void review_that_is_not_all(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json with = decode(&a, "{\"status\":{\"incomplete\":true,\"evaluationError\":\"webhook does not tell\","
                                  "\"resourceRules\":[]}}");
    struct json without = decode(&a, "{\"status\":{\"incomplete\":true,\"resourceRules\":null}}");
    struct rules rules;
    str incomplete;
    assert_int_equal(matrix_read_review(&a, &with, &rules, &incomplete, NULL), 0);
    assert_text(incomplete, "webhook does not tell");
    assert_int_equal(matrix_read_review(&a, &without, &rules, &incomplete, NULL), 0);
    assert_text(incomplete, "the server says that there may be more");
    assert_int_equal(rules.n, 0);
}

static void review_that_makes_no_sense(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json review = decode(&a, "{\"status\":{\"resourceRules\":[{\"verbs\":\"get\"}]}}");
    struct rules rules;
    str incomplete;
    struct err err;
    assert_int_equal(matrix_read_review(&a, &review, &rules, &incomplete, &err), ERR_BAD_REQUEST);
    assert_non_null(strstr(err.msg, "read one's own rules"));
}

/* ---- Drawings. ---- */

static const struct matrix_row rows[] = {
    {{{0}, S_INIT("pods"), {0}}, true, VERBS_ALL, true},
    {{{0}, S_INIT("pods"), S_INIT("log")}, true, VERBS_ALL, false},
    {{S_INIT("reviews.example.com"), S_INIT("questions"), {0}}, false, VERB_CREATE, true},
};

/* pods: all but delete, get by name; pods/log: get; questions: everything, but there is only create. */
static struct matrix example(struct arena *a)
{
    size_t n = matrix_verbs.n;
    enum explain_cell *cells = ARENA_ARRAY(a, enum explain_cell, 3 * n);
    for (size_t i = 0; i < n; i++) {
        cells[i] = str_eq(matrix_verbs.p[i], S("delete")) ? CELL_NO : CELL_YES;
        cells[2 * n + i] = CELL_YES;
    }
    cells[0] = CELL_NAMES;
    cells[n] = CELL_YES;
    return (struct matrix){.verbs = matrix_verbs, .rows = rows, .n = 3, .cells = cells};
}

static void draws_three_letters_where_they_fit(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct matrix m = example(&a);
    struct buf b = {.arena = &a};
    matrix_draw(&b, &(struct term){.width = 80}, &m, false, false);
    assert_text(buf_str(&b), "RESOURCE                      GET LIS WAT CRE UPD PAT DEL COL\n"
                             "pods                          ~   Y   Y   Y   Y   Y   -   Y\n"
                             "pods/log                      Y   -   -   -   -   -   -   -\n"
                             "questions.reviews.example.com             Y\n");
}

static void draws_one_letter_where_they_do_not(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct matrix m = example(&a);
    struct buf b = {.arena = &a};
    matrix_draw(&b, &(struct term){.width = 60, .has_utf8 = true}, &m, false, false);
    assert_text(buf_str(&b), "RESOURCE                      G L W C U P D A\n"
                             "pods                          ~ ✔ ✔ ✔ ✔ ✔ ✖ ✔\n"
                             "pods/log                      ✔ ✖ ✖ ✖ ✖ ✖ ✖ ✖\n"
                             "questions.reviews.example.com       ✔\n");
}

static void draws_colours(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct matrix m = example(&a);
    struct buf b = {.arena = &a};
    m.n = 1;
    matrix_draw(&b, &(struct term){.width = 80, .has_color = true}, &m, false, false);
    assert_non_null(strstr(str_cstr(&a, buf_str(&b)), "\n"
                                                      "pods     \x1b[33m~\x1b[0m   \x1b[32mY\x1b[0m"));
}

static void leaves_out_what_nobody_may(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct matrix m = example(&a);
    enum explain_cell *cells = ARENA_ARRAY(&a, enum explain_cell, 3 * matrix_verbs.n);
    cells[2 * matrix_verbs.n] = CELL_YES; /* get questions, which the server does not have */
    m.cells = cells;
    struct buf b = {.arena = &a};
    matrix_draw(&b, &(struct term){.width = 80}, &m, false, false);
    assert_text(buf_str(&b), "RESOURCE GET LIS WAT CRE UPD PAT DEL COL\n");
    struct json document = matrix_document(&a, &m, false);
    assert_int_equal(json_len(json_get(&document, S("resources"))), 0);
    document = matrix_document(&a, &m, true);
    assert_int_equal(json_len(json_get(&document, S("resources"))), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(review_that_is_complete),
        cmocka_unit_test(review_that_is_not_all),
        cmocka_unit_test(review_that_makes_no_sense),
        cmocka_unit_test(draws_three_letters_where_they_fit),
        cmocka_unit_test(draws_one_letter_where_they_do_not),
        cmocka_unit_test(draws_colours),
        cmocka_unit_test(leaves_out_what_nobody_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
