/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_ignore.h"

#include "json/jsonpath.h"

/* A part of what is wanted, and what stands in its place. */
struct swap {
    const struct json *part;
    const struct json *value; /* NULL: left out */
};

typedef VEC(struct swap) swap_vec;

/* Where a path leads to one field on each side they are the same field; of others nobody knows which is which. */
static int add_path(struct arena *a, swap_vec *swaps, str text, const struct json *want, const struct json *live,
                    struct err *err)
{
    const struct jsonpath *path;
    jsonpath_hits here = {0}, there = {0};
    if (swaps->n >= IGNORED_PATHS)
        return err_set(err, ERR_BAD_REQUEST, "more than %d fields are ignored", IGNORED_PATHS);
    int code = jsonpath_compile(a, text, &path, err);
    if (code < 0)
        return err_wrap(err, "ignoreFields: %.*s", STR(text));
    (void)jsonpath_find(a, path, want, &here);
    (void)jsonpath_find(a, path, live, &there);
    vec_each(&here, part)
    {
        if (swaps->n < IGNORED_PATHS)
            *vec_push(a, swaps) = (struct swap){*part, here.n == 1 && there.n == 1 ? there.p[0] : NULL};
    }
    return 0;
}

static const struct swap *find(const swap_vec *swaps, const struct json *part)
{
    for (size_t i = 0; i < swaps->n; i++)
        if (swaps->p[i].part == part)
            return &swaps->p[i];
    return NULL;
}

/* Depth is that of a decoded document, which is bounded. */
static struct json rebuild(struct arena *a, const swap_vec *swaps,
                           const struct json *doc) /* NOLINT(misc-no-recursion) */
{
    struct json copy = json_is_obj(doc) ? json_obj() : json_is_arr(doc) ? json_arr() : *doc;
    json_each_member(doc, m)
    {
        const struct swap *swap = find(swaps, &m->val);
        if (!swap)
            json_add(a, &copy, json_key(m), rebuild(a, swaps, &m->val));
        else if (swap->value)
            json_add(a, &copy, json_key(m), *swap->value);
    }
    json_each_item(doc, item)
    {
        const struct swap *swap = find(swaps, item);
        if (!swap)
            json_push(a, &copy, rebuild(a, swaps, item));
        else if (swap->value)
            json_push(a, &copy, *swap->value);
    }
    return copy;
}

int ignore_fields(struct arena *a, const struct manifest *m, const struct json *want, const struct json *live,
                  bool is_unchanged, struct json *ret, struct err *err)
{
    swap_vec swaps = {0};
    json_each_item(m->ignored, rule)
    {
        str condition = json_get_text(rule, S("condition"));
        bool is_present = str_eq(condition, S("OnSpokePresent"));
        if (!is_present && !str_eq(condition, S("OnSpokeChange")))
            return err_set(err, ERR_BAD_REQUEST, "ignoreFields: unknown condition \"%.*s\"", STR(condition));
        json_each_item(json_get(rule, S("jsonPaths")), path)
        {
            int code = 0;
            if (is_present || is_unchanged)
                code = add_path(a, &swaps, json_text(path), want, live, err);
            if (code < 0)
                return code;
        }
    }
    *ret = swaps.n ? rebuild(a, &swaps, want) : *want;
    return 0;
}
