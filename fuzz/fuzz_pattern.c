/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A regular expression in the first line, a text in the others. What the gate lets through compiles, unless it is too
 * large; what it does not, has Go's words for it. Matching ends, twice with the same result, and a group or an
 * alternative of equals around the expression changes nothing.
 */
#include "base/arena.h"
#include "schema/pattern.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum pattern_result match(str expression, str text, enum pattern_result otherwise)
{
    struct pattern *p;
    struct err err;
    if (pattern_compile(expression, &p, &err) < 0)
        return otherwise;
    struct pattern_scratch scratch = {0};
    enum pattern_result first = pattern_match(p, text, &scratch), second = pattern_match(p, text, &scratch);
    assert(first == second || first == PATTERN_TIMEOUT || second == PATTERN_TIMEOUT);
    assert(pattern_footprint(p) > 0);
    pattern_scratch_done(&scratch);
    pattern_free(p);
    return first;
}

static void add_group(struct buf *b, str expression)
{
    buf_add_str(b, S("(?:"));
    buf_add_str(b, expression);
    buf_add_char(b, ')');
}

static void check_same(struct arena *a, str expression, str text, enum pattern_result found)
{
    struct buf b = {.arena = a};
    add_group(&b, expression);
    enum pattern_result grouped = match(buf_str(&b), text, found);
    buf_add_char(&b, '|');
    add_group(&b, expression);
    enum pattern_result twice = match(buf_str(&b), text, found);
    assert(found == grouped || found == PATTERN_TIMEOUT || grouped == PATTERN_TIMEOUT);
    assert(found == twice || found == PATTERN_TIMEOUT || twice == PATTERN_TIMEOUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_SCOPE = {0};
    str expression, text;
    str_cut((str){(const char *)data, size}, '\n', &expression, &text);
    struct buf rewritten = {.arena = &arena};
    struct err err = {0};
    if (pattern_rewrite(expression, &rewritten, &err) < 0) {
        assert(str_has_prefix(str_of(err.msg), S("error parsing regexp: ")));
        return 0;
    }
    assert(str_is_utf8(buf_str(&rewritten)));
    struct pattern *p;
    if (pattern_compile(expression, &p, &err) < 0) {
        assert(str_find(str_of(err.msg), S("expression too large")) >= 0);
        return 0;
    }
    pattern_free(p);
    if (!str_is_utf8(text))
        return 0;
    enum pattern_result found = match(expression, text, PATTERN_NO);
    if (str_find(expression, S("\\Q")) < 0)
        check_same(&arena, expression, text, found);
    return 0;
}
