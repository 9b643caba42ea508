/* SPDX-License-Identifier: Apache-2.0 */
#include "control/applyset.h"

#include "authz/validate.h"
#include "object/apply.h"
#include "object/kind.h"
#include "object/object.h"
#include "object/strategy.h"
#include "object/strict.h"

/* ---- Kinds that we know: what the server would do, done here. ---- */

/* A copy in the one form that servers keep, without what only they write down. What a newer server has besides is left out. */
static int to_stored_form(struct arena *a, const struct kind *kind, const struct json *object, struct json *ret)
{
    *ret = json_dup(a, object);
    json_remove(json_get_mut(ret, S("metadata")), S("managedFields"));
    if (strict_decode(a, kind->shape, ret, NULL, NULL, NULL) < 0)
        return -1;
    strategy_default(a, kind, ret);
    rbac_default(a, kind, ret);
    return 0;
}

/* 1: nothing would change, 0: something would, negative: these objects cannot be understood. */
static int compare_applied(struct arena *a, const struct kind *kind, const struct json *want, const struct json *have)
{
    struct json live, merged;
    struct apply_result result;
    if (to_stored_form(a, kind, have, &live) < 0)
        return -1;
    /* Manager and time are of no consequence: nobody's fields are known here, and all may be taken. */
    struct apply_args args = {
        .write = {.type = typed_of_shape(kind->shape),
                  .api_version = object_api_version(want),
                  .kind = object_kind(want),
                  .manager = S("applyset"),
                  .time = S("2000-01-01T00:00:00Z")},
        .live = &live,
        .config = want,
        .force = true,
    };
    if (apply_patch(a, &args, &result, NULL) < 0 || to_stored_form(a, kind, &result.object, &merged) < 0)
        return -1;
    return json_equal(&live, &merged);
}

/* ---- Kinds that we do not know. ---- */

/* All of want is in have. Servers add defaults to objects, in lists too, but no items. */
static bool is_within(const struct json *want, const struct json *have)
{
    if (json_is_obj(want) && json_is_obj(have)) {
        struct json_index members JSON_INDEX_SCOPE;
        json_index_init(&members, have);
        json_each_member(want, m)
        {
            const struct json_member *there = json_index_find(&members, json_key(m));
            if (!json_is_null(&m->val) && (!there || !is_within(&m->val, &there->val)))
                return false;
        }
        return true;
    }
    if (json_is_arr(want) && json_is_arr(have)) {
        bool is_same = want->n == have->n;
        for (uint32_t i = 0; is_same && i < want->n; i++)
            is_same = is_within(&want->items[i], &have->items[i]);
        return is_same;
    }
    return json_equal(want, have);
}

bool applyset_is_equal(struct arena *a, const struct json *want, const struct json *have)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(want), object_kind(want));
    int same = kind && kind->shape ? compare_applied(a, kind, want, have) : -1;
    return same < 0 ? is_within(want, have) : same > 0;
}
