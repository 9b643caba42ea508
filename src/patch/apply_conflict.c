/* SPDX-License-Identifier: Apache-2.0 */
/* Conflicts in words. */
#include <stdlib.h>

#include "patch/apply_parts.h"

static str name_manager(struct arena *a, const struct managed_entry *e)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, e->manager);
    if (e->subresource.n) {
        buf_add_str(&b, S(" with subresource "));
        buf_add_quoted(&b, e->subresource);
    }
    if (!e->applied)
        buf_fmt(&b, " using %.*s", STR(e->api_version));
    return buf_str(&b);
}

static int by_id(const void *x, const void *y)
{
    const struct conflict_set *a = x, *b = y;
    return str_cmp(a->entry->id, b->entry->id);
}

struct listing {
    struct arena *arena;
    struct apply_result *ret;
    str message;
};

static void add_conflict(void *ctx, const struct fieldset_path *path)
{
    struct listing *l = ctx;
    struct buf b = {.arena = l->arena};
    fieldset_path_format(&b, path);
    *vec_push(l->arena, &l->ret->conflicts) = (struct apply_conflict){l->message, buf_str(&b)};
}

int conflict_report(struct arena *a, const conflict_sets *sets, struct apply_result *ret, struct err *err)
{
    struct buf all = {.arena = a};
    qsort(sets->p, sets->n, sizeof *sets->p, by_id);
    vec_each(sets, s)
    {
        str name = name_manager(a, s->entry);
        size_t first = ret->conflicts.n;
        fieldset_each(s->set, add_conflict, &(struct listing){a, ret, str_fmt(a, "conflict with %.*s", STR(name))});
        buf_fmt(&all, "%sconflicts with %.*s:", all.n ? "\n" : "", STR(name));
        for (size_t i = first; i < ret->conflicts.n; i++)
            buf_fmt(&all, "\n- %.*s", STR(ret->conflicts.p[i].field));
    }
    if (ret->conflicts.n == 1)
        ret->message = str_fmt(a, "Apply failed with 1 conflict: %.*s: %.*s", STR(ret->conflicts.p[0].message),
                               STR(ret->conflicts.p[0].field));
    else
        ret->message = str_fmt(a, "Apply failed with %zu conflicts: %.*s", ret->conflicts.n, STR(buf_str(&all)));
    return err_set(err, ERR_CONFLICT, "%.*s", STR(ret->message));
}
