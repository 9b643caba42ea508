/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing, in words and as rules. */
#include "authz/rule.h"

#include <stdlib.h>

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

void covers_format(struct buf *b, const struct covers_missing *missing)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct rules compact = rules_compact(&scratch, missing->atoms);
    str *lines = ARENA_ARRAY(&scratch, str, compact.n);
    const char *sep = "";
    for (size_t i = 0; i < compact.n; i++) {
        struct buf line = {.arena = &scratch};
        rule_format(&line, &compact.p[i]);
        lines[i] = buf_str(&line);
    }
    if (compact.n)
        qsort(lines, compact.n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < compact.n; i++) {
        if (i && str_eq(lines[i], lines[i - 1]))
            continue;
        buf_fmt(b, "%s%.*s", sep, STR(lines[i]));
        sep = "\n";
    }
    if (missing->cut)
        buf_fmt(b, "%s...", sep);
}

struct rules rules_added(struct arena *a, struct rules before, struct rules after, bool *ret_cut)
{
    struct covers_missing missing;
    rules_cover(a, before, after, &missing);
    if (ret_cut)
        *ret_cut = missing.cut;
    return rules_normal(a, missing.sets);
}
