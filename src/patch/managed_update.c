/* SPDX-License-Identifier: Apache-2.0 */
/* Tracking of all writes that are not an apply: who changed a field owns it. */
#include "patch/apply_parts.h"

/* Empty, or a single empty entry: the client wants the record gone. An empty list says so only for built-in kinds; for
 * custom resources it cannot be told from no list at all. */
static bool is_reset(const struct managed_write *w, const struct json *entries)
{
    if (!json_is_arr(entries))
        return false;
    if (entries->n == 0)
        return w->type.source == TYPED_SHAPE;
    return entries->n == 1 && json_is_obj(&entries->items[0]) && entries->items[0].n == 0;
}

/* What the client sent, unless that is nothing or nonsense; clients that do not know managedFields must not lose them. */
static struct managed starting_point(struct arena *a, const struct managed_args *args)
{
    struct managed m = {.arena = a};
    const struct json *sent = managed_of(args->next), *stored = managed_of(args->old);
    if (args->write.subresource.n == 0) {
        if (is_reset(&args->write, sent))
            return m;
        if (managed_decode(a, sent, &m, NULL) == 0 && m.list.n)
            return m;
    }
    if (managed_decode(a, stored, &m, NULL) < 0)
        m = (struct managed){.arena = a};
    return m;
}

/* Takes the changed fields away from everybody, and the removed ones too. */
static void take_from_all(struct managed *m, struct fieldset change)
{
    vec_each(&m->list, e) managed_set(e, fieldset_minus(m->arena, e->set, change, FIELDSET_IN | FIELDSET_REMOVED));
}

static void give(struct managed *m, const struct managed_write *w, struct fieldset set)
{
    str id = managed_id(m->arena, w, false);
    struct managed_entry *mine = managed_find(m, id);
    if (!mine) {
        mine = vec_push(m->arena, &m->list);
        *mine = (struct managed_entry){
            .manager = w->manager.n ? w->manager : S("unknown"),
            .subresource = w->subresource,
            .id = id,
        };
    }
    mine->api_version = w->api_version;
    mine->time = w->time;
    managed_set(mine, fieldset_union(m->arena, set, mine->set));
}

/* Drops the removed marks: what stays is an ordinary set. */
static struct fieldset only_changed(struct arena *a, struct fieldset change)
{
    return fieldset_common(a, change, change, FIELDSET_IN);
}

int managed_track(struct managed *m, const struct managed_write *w, const struct json *old, const struct json *next,
                  struct err *err)
{
    struct arena *a = m->arena;
    struct fieldset change;
    managed_reconcile(m, w);
    int rc = value_diff(a, &w->type, old, next, &change, err);
    if (rc < 0)
        return rc;
    change = fieldset_without(a, change, fieldset_of_names(a, w->reset, w->n_reset));
    take_from_all(m, change);
    struct fieldset mine = fieldset_minus(a, only_changed(a, change), managed_never(a), FIELDSET_IN);
    if (mine.n)
        give(m, w, mine);
    managed_sweep(m);
    managed_cap(m);
    return 0;
}

static struct json without_record(struct arena *a, const struct json *object)
{
    return object ? managed_attach(a, object, &(struct managed){.arena = a}) : json_obj();
}

struct json managed_update(struct arena *a, const struct managed_args *args)
{
    struct managed m = starting_point(a, args);
    struct json old = without_record(a, args->old), next = without_record(a, args->next);
    bool exists = json_get_text(json_get(args->old, S("metadata")), S("uid")).n > 0;
    if (m.list.n == 0 && exists)
        return next;
    if (managed_track(&m, &args->write, &old, &next, NULL) < 0)
        return next;
    return managed_attach(a, &next, &m);
}

/* ---- Same but for the time. ---- */

static bool same_entry(const struct json *x, const struct json *y)
{
    size_t nx = json_len(x), ny = json_len(y);
    if (!json_is_obj(x) || !json_is_obj(y))
        return json_equal(x, y);
    json_each_member(x, m)
    {
        if (!str_eq(json_key(m), S("time")) && !json_equal(&m->val, json_get(y, json_key(m))))
            return false;
    }
    return nx - (json_get(x, S("time")) != NULL) == ny - (json_get(y, S("time")) != NULL);
}

static bool same_entries(const struct json *x, const struct json *y)
{
    if (json_len(x) != json_len(y))
        return false;
    for (size_t i = 0; i < json_len(x); i++) {
        if (!same_entry(&x->items[i], &y->items[i]))
            return false;
    }
    return true;
}

bool managed_is_same(const struct json *x, const struct json *y)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *mx = managed_of(x), *my = managed_of(y);
    if ((mx && !json_is_arr(mx)) || (my && !json_is_arr(my)))
        return json_equal(x, y);
    if (!same_entries(mx, my))
        return false;
    struct json rest_x = without_record(&scratch, x), rest_y = without_record(&scratch, y);
    return json_equal(&rest_x, &rest_y);
}
