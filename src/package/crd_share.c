/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_share.h"

#include "package/crd_union_parts.h"
#include "package/version.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Who counts first. ---- */

static int by_rank(const struct crd_holder *l, const struct crd_holder *r)
{
    if (l->is_cluster != r->is_cluster)
        return l->is_cluster ? -1 : 1;
    int order = str_cmp(r->approved, l->approved); /* the last first; never is before all times */
    return order ? order : str_cmp(l->since, r->since);
}

static int by_rank_of(const void *l, const void *r)
{
    return by_rank(*(const struct crd_holder *const *)l, *(const struct crd_holder *const *)r);
}

bool crd_holder_counts_first(const struct crd_holder *one, const struct crd_holder *other)
{
    return by_rank(one, other) < 0;
}

static const struct crd_holder **in_order(struct arena *a, const struct crd_holder *holders, size_t n)
{
    const struct crd_holder **sorted = ARENA_ARRAY(a, const struct crd_holder *, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &holders[i];
    qsort(sorted, n, sizeof *sorted, by_rank_of);
    return sorted;
}

/* ---- The definition that serves all. ---- */

static bool is_one(const struct json *l, const struct json *r)
{
    return l == r || json_equal(l, r);
}

/* The one definition that all have; NULL: they differ. */
static const struct json *common(const struct crd_holder *holders, size_t n)
{
    const struct json *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct json *both[] = {holders[i].now, holders[i].old};
        for (size_t k = 0; k < 2; k++) {
            if (both[k] && !first)
                first = both[k];
            if (both[k] && !is_one(first, both[k]))
                return NULL;
        }
    }
    return first;
}

/* While it changes its version, both of an install have to be served. */
static struct json body_of_one(struct arena *a, const struct crd_holder *h)
{
    struct findings ignored = {.arena = a};
    struct crd_source both[] = {{h->package, h->version, h->now}, {h->package, h->old_version, h->old}};
    struct json body;
    assert(h->now || h->old);
    if (!h->old)
        return *h->now;
    if (!h->now)
        return *h->old;
    return crd_union(a, both, 2, &body, &ignored) ? body : crd_extend(a, h->now, h->old);
}

static struct json add_holders(struct arena *a, struct json body, const struct crd_holder *const *sorted, size_t n)
{
    bool has_cluster = sorted[0]->is_cluster;
    for (size_t i = 0; i < n; i++) {
        const struct crd_holder *h = sorted[i];
        if (has_cluster && !h->is_cluster)
            break;
        if (h->now)
            body = crd_extend(a, &body, h->now);
        if (h->old)
            body = crd_extend(a, &body, h->old);
    }
    return body;
}

struct json crd_share_body(struct arena *a, const struct crd_holder *holders, size_t n, const struct json *live,
                           str approved)
{
    assert(n > 0);
    const struct json *same = common(holders, n);
    if (same)
        return *same;
    if (n == 1)
        return body_of_one(a, &holders[0]);
    const struct crd_holder **sorted = in_order(a, holders, n);
    struct json body = live ? *live : body_of_one(a, sorted[0]);
    for (size_t i = n; i-- > 0;) { /* those approved since, the last of them last */
        const struct crd_holder *h = sorted[i];
        if (live && h->now && str_cmp(h->approved, approved) > 0)
            body = crd_extend(a, h->now, &body);
    }
    return add_holders(a, body, sorted, n);
}

/* Fields and versions that are not there at all. */
static void add_absent(struct arena *a, const struct json *body, const struct crd_holder *holder,
                       struct findings *findings)
{
    struct json with = crd_extend(a, body, holder->now);
    struct findings removed = {.arena = a};
    crd_changes(a, &with, body, &removed);
    vec_each(&removed.list, f)
    {
        str text = f->message, end = S("is removed");
        if (str_has_suffix(text, end))
            text.n -= end.n;
        findings_add(findings, S("Conflict"), "%.*sis missing, and %.*s %.*s needs it", STR(text), STR(holder->package),
                     STR(holder->version));
    }
}

void crd_share_missing(struct arena *a, const struct json *body, const struct crd_holder *holder,
                       struct findings *findings)
{
    struct crd_source wide = {S("the definition"), S("in effect"), body};
    struct crd_source narrow = {holder->package, holder->version, holder->now};
    struct findings conflicts = {.arena = a};
    if (!holder->now)
        return;
    (void)crd_serves(a, &wide, &narrow, &conflicts);
    vec_each(&conflicts.list, f)
    {
        findings_add(findings, S("Conflict"), "%.*s", STR(f->message));
    }
    add_absent(a, body, holder, findings);
}

/* ---- One more. ---- */

static bool is_newest(const struct crd_share_request *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (package_version_compare(r->others[i].version, r->self->version) > 0)
            return false;
    }
    return true;
}

static bool has_changes(struct arena *a, const struct json *was, const struct json *now)
{
    struct findings changes = {.arena = a};
    crd_changes(a, was, now, &changes);
    return changes.list.n != 0;
}

/* Whether nothing of what is in effect has to change, but for what self adds. */
static bool is_served(struct arena *a, const struct crd_share_request *r)
{
    struct findings missing = {.arena = a};
    struct json with = crd_extend(a, r->in_effect, r->self->now);
    crd_share_missing(a, &with, r->self, &missing);
    return !missing.list.n && !has_changes(a, r->in_effect, &with);
}

static void check_beside_cluster(struct arena *a, const struct crd_share_request *r, struct findings *findings)
{
    struct findings missing = {.arena = a};
    struct json with = crd_extend(a, r->in_effect, r->self->now);
    crd_share_missing(a, r->in_effect, r->self, &missing);
    if (!missing.list.n && crd_is_same(r->in_effect, &with))
        return;
    findings_add(findings, S("CRDConflict"),
                 "CRD %.*s: belongs to a cluster package, and %.*s %.*s would change it: a namespaced package cannot",
                 STR(json_get_text(json_get(r->in_effect, S("metadata")), S("name"))), STR(r->self->package),
                 STR(r->self->version));
}

/* What only those added who came later: it gives way. */
static bool differs_from_later_ones(struct arena *a, const struct crd_share_request *r)
{
    const struct json **kept = ARENA_ARRAY(a, const struct json *, 2 * r->n + 1);
    const struct json **left = ARENA_ARRAY(a, const struct json *, 2 * r->n);
    struct crd_list keeping = {kept, 0}, leaving = {left, 0};
    if (!r->self->old)
        return false;
    kept[keeping.n++] = r->self->old;
    for (size_t i = 0; i < r->n; i++) {
        const struct crd_holder *h = &r->others[i];
        const struct json *both[] = {h->now, h->old};
        for (size_t k = 0; k < 2; k++) {
            if (both[k] && by_rank(h, r->self) < 0)
                kept[keeping.n++] = both[k];
            else if (both[k])
                left[leaving.n++] = both[k];
        }
    }
    struct json before = crd_without(a, r->in_effect, keeping, leaving);
    struct json after = crd_extend(a, r->self->now, &before);
    return !has_changes(a, &before, &after);
}

bool crd_share_check(struct arena *a, const struct crd_share_request *r, struct findings *findings)
{
    bool has_cluster = false;
    for (size_t i = 0; i < r->n; i++)
        has_cluster |= r->others[i].is_cluster;
    if (has_cluster && !r->self->is_cluster) {
        check_beside_cluster(a, r, findings);
        return false;
    }
    if (r->self->is_cluster && !has_cluster)
        findings_add(findings, S("ApprovalRequired"), "CRD %.*s: its scope namespace becomes environment",
                     STR(json_get_text(json_get(r->in_effect, S("metadata")), S("name"))));
    struct json with = crd_extend(a, r->self->now, r->in_effect);
    struct findings changes = {.arena = a};
    crd_changes(a, r->in_effect, &with, &changes);
    if (!changes.list.n || (!is_newest(r) && is_served(a, r)))
        return false;
    if (differs_from_later_ones(a, r))
        return true;
    vec_each(&changes.list, f)
    {
        findings_add(findings, f->reason, "%.*s", STR(f->message));
    }
    findings->more += changes.more;
    return false;
}
