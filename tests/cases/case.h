/* SPDX-License-Identifier: Apache-2.0 */
/* What: case files: plain text that says what is given, what is done, and what must come out.
 * Owns: a case owns its text until its function returns.
 * Threads: one.
 * Errors: a failed expectation is reported with file and line; the other cases go on.
 *
 *     # What this case shows, in a sentence.
 *     --- given
 *     …text…
 *     --- when patch strict        name "when", arguments "patch strict"
 *     …text…
 *     --- expect
 *     …text…
 *
 * Lines before the first section are the description. A section's text runs to the next line that starts with "--- ".
 * A line "\--- x" stands for "--- x" inside a section. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

struct case_section {
    str name, args, text; /* text without the last newline */
    size_t line;          /* of the header */
};

struct case_file {
    const char *path;
    struct arena *arena;
    VEC(struct case_section) sections;
    int failures;
};

/* The first section with this name behind `after` (NULL: from the start), or NULL. */
const struct case_section *case_find(const struct case_file *c, const struct case_section *after, str name);
/* True when word is among the blank-separated words of the arguments. */
bool case_has_arg(const struct case_section *s, str word);
/* The value of "key=value" among the arguments, else empty. */
str case_arg(const struct case_section *s, str key);

void case_fail(struct case_file *c, const struct case_section *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails unless got equals the section's text, surrounding blanks aside. */
void case_expect(struct case_file *c, const struct case_section *want, str got);

/* Runs fn for every *.test file of the directories given, in name order, and prints TAP. A case without failures but
 * also without a single expectation counts as failed. */
int case_main(int argc, char **argv, void (*fn)(struct case_file *c));
