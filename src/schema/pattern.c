/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling and matching with PCRE2, within limits.
 *
 * The compiled machine code runs first. When it only ran out of stack (long texts, harmless expressions), the interpreter
 * goes on with memory from the heap. When the limit was met, the expression backtracks too much for this text: then
 * PCRE2's other matcher gets a try, which follows all ways at once. It begins anew at every character, so it is asked
 * only about short texts and about expressions that are anchored at the start. Else nobody knows. */
#include "schema/pattern.h"

#include "base/arena.h"
#include "base/budget.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

enum {
    MATCH_LIMIT = 1000000,    /* steps; 2 to 4 ms */
    MATCH_LIMIT_FIRST = 2000, /* of the first try; nearly all matches need less */
    LIMIT_FACTOR = 8,         /* from one try to the next, and from steps here to those of a budget */
    MATCH_LIMIT_MIN = 1000,   /* for the longest texts */
    MATCH_WORK = 1000000000,  /* steps × bytes: a step may look at the whole text */
    HEAP_LIMIT = 64 * 1024,   /* KiB for the interpreter */
    SHORT_TEXT = 512,         /* bytes */
    WORKSPACE = 2000,         /* ints for the matcher that does not backtrack */
    PATIENCE = 4,             /* timeouts, then limits get small */
    STAMINA = 100,            /* searches that met a limit, then nothing else is tried */
    CODE_LIMIT = 1024 * 1024, /* bytes of an expression in PCRE2's form */
};

struct pattern {
    pcre2_code *code; /* NULL: did not compile */
    bool is_jit;
};

struct matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static int refuse(struct err *err, const char *what, str expression)
{
    return err_set(err, ERR_INVALID, "error parsing regexp: %s: `%.*s`", what, STR(expression));
}

int pattern_check(str expression, struct err *err)
{
    struct buf text = {0};
    int rc = pattern_rewrite(expression, &text, err);
    buf_done(&text);
    return rc;
}

static pcre2_code *compile(str text)
{
    int error;
    PCRE2_SIZE offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context == NULL)
        abort();
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, PATTERN_MAX_DEPTH + 2);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(text.n ? text.p : ""), text.n,
                                     PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX |
                                         PCRE2_NO_AUTO_CAPTURE,
                                     &error, &offset, context);
    pcre2_compile_context_free(context);
    return code;
}

int pattern_compile(str expression, struct pattern **ret, struct err *err)
{
    struct buf text = {0};
    int rc = pattern_rewrite(expression, &text, err);
    if (rc == 0) {
        pcre2_code *code = text.n <= CODE_LIMIT ? compile(buf_str(&text)) : NULL;
        struct pattern *p = code ? malloc(sizeof *p) : NULL;
        if (code && p == NULL)
            abort();
        if (p) {
            /* Where machine code cannot be made the interpreter does all the work. */
            *p = (struct pattern){code, pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0};
            *ret = p;
        } else {
            rc = refuse(err, "expression too large", expression);
        }
    }
    buf_done(&text);
    return rc;
}

struct pattern *pattern_make(str expression)
{
    struct pattern *p = NULL;
    if (pattern_compile(expression, &p, NULL) == 0)
        return p;
    p = xcalloc(1, sizeof *p);
    return p;
}

void pattern_free(struct pattern *p)
{
    if (p == NULL)
        return;
    pcre2_code_free(p->code);
    free(p);
}

size_t pattern_footprint(const struct pattern *p)
{
    size_t code = 0, jit = 0;
    if (p == NULL)
        return 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &code);
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_JITSIZE, &jit);
    return sizeof *p + code + jit;
}

static struct matcher *matcher(struct pattern_scratch *scratch)
{
    if (scratch->match)
        return scratch->match;
    struct matcher *m = xmalloc(sizeof *m);
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    if (m->data == NULL || m->context == NULL)
        abort();
    pcre2_set_heap_limit(m->context, HEAP_LIMIT);
    return scratch->match = m;
}

void pattern_scratch_done(struct pattern_scratch *scratch)
{
    struct matcher *m = scratch->match;
    if (m == NULL)
        return;
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    free(m);
    scratch->match = NULL;
}

static uint32_t limit_for(size_t bytes, const struct pattern_scratch *scratch)
{
    if (scratch->timeouts >= PATIENCE || scratch->slow > STAMINA)
        return MATCH_LIMIT_MIN;
    size_t limit = MATCH_WORK / (bytes + 1);
    return limit > MATCH_LIMIT ? MATCH_LIMIT : limit < MATCH_LIMIT_MIN ? MATCH_LIMIT_MIN : (uint32_t)limit;
}

/* Whether the matcher that does not backtrack comes to an end soon. */
static bool is_worth_a_try(const struct pattern *p, str text, const struct pattern_scratch *scratch)
{
    uint32_t options = 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_ALLOPTIONS, &options);
    return scratch->slow <= STAMINA &&
           (text.n <= SHORT_TEXT || (options & PCRE2_ANCHORED && scratch->timeouts < PATIENCE));
}

static int match_within(const struct pattern *p, str text, struct matcher *m, size_t limit)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n ? text.p : "");
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    pcre2_set_match_limit(m->context, (uint32_t)limit);
    if (p->is_jit)
        rc = pcre2_jit_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK, m->data, m->context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m->data, m->context);
    return rc;
}

/* The matcher does not say how many steps it took, and cannot be interrupted. So the limit rises from try to try, and what a
 * try may take is charged before it begins. */
static int match_charged(const struct pattern *p, str text, struct matcher *m, size_t limit)
{
    size_t now = limit < MATCH_LIMIT_FIRST ? limit : MATCH_LIMIT_FIRST;
    int rc = match_within(p, text, m, now);
    while (rc == PCRE2_ERROR_MATCHLIMIT && now < limit) {
        now = now * LIMIT_FACTOR < limit ? now * LIMIT_FACTOR : limit;
        if (!budget_charge(now / LIMIT_FACTOR))
            break;
        rc = match_within(p, text, m, now);
    }
    return rc;
}

enum pattern_result pattern_match(const struct pattern *p, str text, struct pattern_scratch *scratch)
{
    if (p->code == NULL) {
        scratch->timeouts++;
        return PATTERN_REFUSED;
    }
    struct matcher *m = matcher(scratch);
    PCRE2_SPTR subject = (PCRE2_SPTR)(text.n ? text.p : "");
    int rc = match_charged(p, text, m, limit_for(text.n, scratch));
    scratch->slow += rc < PCRE2_ERROR_NOMATCH;
    if (rc < PCRE2_ERROR_NOMATCH && is_worth_a_try(p, text, scratch)) {
        int workspace[WORKSPACE];
        budget_charge(MATCH_LIMIT_FIRST + text.n);
        rc = pcre2_dfa_match(p->code, subject, text.n, 0, PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST, m->data, m->context,
                             workspace, WORKSPACE);
    }
    if (rc >= 0)
        return PATTERN_YES;
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NO;
    scratch->timeouts++;
    return PATTERN_TIMEOUT;
}
