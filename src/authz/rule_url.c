/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/rule_url.h"

#include <stdlib.h>

struct url_pattern url_pattern_of(str url, uint32_t rule)
{
    str stem = url;
    while (stem.n && stem.p[stem.n - 1] == '*')
        stem.n--;
    return (struct url_pattern){stem, stem.n < url.n, rule};
}

static int by_stem(const void *x, const void *y)
{
    const struct url_pattern *a = x, *b = y;
    int c = str_cmp(a->stem, b->stem);
    return c ? c : a->rule < b->rule ? -1 : a->rule > b->rule;
}

void url_patterns_sort(struct url_pattern *p, size_t n)
{
    if (n)
        qsort(p, n, sizeof *p, by_stem);
}

/* How many of the first n patterns have a stem that is not greater than s. */
static size_t count_upto(const struct url_pattern *p, size_t n, str s)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (str_cmp(p[mid].stem, s) <= 0)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

static str common_prefix(str a, str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return str_upto(a, n);
}

struct url_walk url_walk_start(const struct url_pattern *p, size_t n, str path)
{
    return (struct url_walk){p, n ? count_upto(p, n, path) : 0, path, path};
}

/* The greatest stem that is not greater than what is left either starts it, or shows how much less a fitting stem can be:
 * whatever starts both lies in order before the two, so only their common prefix is left to look for. */
const struct url_pattern *url_walk_next(struct url_walk *w)
{
    while (w->at) {
        const struct url_pattern *it = &w->p[w->at - 1];
        if (str_has_prefix(w->left, it->stem)) {
            w->at--;
            if (it->open || it->stem.n == w->path.n)
                return it;
        } else {
            w->left = common_prefix(w->left, it->stem);
            w->at = count_upto(w->p, w->at, w->left);
        }
    }
    return NULL;
}
