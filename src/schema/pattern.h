/* SPDX-License-Identifier: Apache-2.0 */
/* What: the regular expressions of Kubernetes (Go's syntax), matched by PCRE2.
 * Owns: a pattern owns its compiled code (heap).
 * Threads: a pattern may be shared; a scratch belongs to one thread.
 * Errors: ERR_INVALID with the text Go's regexp.Compile has for it.
 *
 * The gate parses the expression by Go's grammar and rewrites it in the few constructs that PCRE2 and Go treat alike;
 * expressions that Go refuses never reach PCRE2. Only whether it matches is determined, so groups do not capture and
 * lazy repeats are plain ones. Matching is bounded: excessive backtracking ends with PATTERN_TIMEOUT. */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct pattern;

enum {
    PATTERN_MAX_BYTES = 64 * 1024, /* longer expressions are refused */
    PATTERN_MAX_DEPTH = 1000,      /* Go's own limit */
};

enum pattern_result {
    PATTERN_NO,
    PATTERN_YES,
    PATTERN_TIMEOUT, /* undecided within the limits */
    PATTERN_REFUSED, /* the expression did not compile */
};

/* What matching needs for its work, kept from one match to the next. Zero-initialise; pattern_scratch_done. */
struct pattern_scratch {
    void *match;       /* private */
    unsigned timeouts; /* searches so far that timed out; past a few, no long search is started */
    unsigned slow;     /* searches so far that met a limit, even if another matcher completed them */
};

void pattern_scratch_done(struct pattern_scratch *scratch);

int pattern_compile(str expression, struct pattern **ret, struct err *err);
/* The same, but an expression that does not compile is refused when matching, at no cost. */
struct pattern *pattern_make(str expression);
void pattern_free(struct pattern *p);
size_t pattern_footprint(const struct pattern *p);
/* Whether the expression is one that Go would compile; 0 or ERR_INVALID. Cheaper than compiling. */
int pattern_check(str expression, struct err *err);
/* Searches the text (valid UTF-8) for the pattern. */
enum pattern_result pattern_match(const struct pattern *p, str text, struct pattern_scratch *scratch);

/* The gate alone: the expression rewritten for PCRE2. For tests. */
int pattern_rewrite(str expression, struct buf *ret, struct err *err);
