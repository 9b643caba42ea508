/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/json_patch.h"

/* A value without null members, at any depth. Nulls that are items stay. */
static struct json without_nulls(struct arena *a, const struct json *v)
{
    if (json_is_arr(v)) {
        struct json arr = json_arr_sized(a, v->n);
        json_each_item(v, item) json_push(a, &arr, without_nulls(a, item));
        return arr;
    }
    if (json_is_obj(v)) {
        struct json obj = json_obj_sized(a, v->n);
        json_each_member(v, m)
        {
            if (!json_is_null(&m->val))
                json_add(a, &obj, json_key(m), without_nulls(a, &m->val));
        }
        return obj;
    }
    return v ? *v : json_null();
}

/* Members of doc keep their order; new ones follow in the order of the patch. */
static struct json merge(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json_index in_doc JSON_INDEX_SCOPE, in_patch JSON_INDEX_SCOPE;
    json_index_init(&in_doc, doc);
    json_index_init(&in_patch, patch);
    struct json obj = json_obj_sized(a, (size_t)doc->n + patch->n);
    json_each_member(doc, m)
    {
        const struct json_member *change = json_index_find(&in_patch, json_key(m));
        if (change == NULL)
            json_add(a, &obj, json_key(m), m->val);
        else if (!json_is_null(&change->val))
            json_add(a, &obj, json_key(m), json_merge_patch(a, &m->val, &change->val));
    }
    json_each_member(patch, m)
    {
        if (!json_is_null(&m->val) && json_index_find(&in_doc, json_key(m)) == NULL)
            json_add(a, &obj, json_key(m), without_nulls(a, &m->val));
    }
    return obj;
}

struct json json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch)
{
    return json_is_obj(doc) && json_is_obj(patch) ? merge(a, doc, patch) : without_nulls(a, patch);
}
