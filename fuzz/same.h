/* SPDX-License-Identifier: Apache-2.0 */
/* What: equality of a value and what it prints as. A large float prints as an integer with the fewest digits that still mean
 *       that float, as in Go; read back it is that integer, which is the same only when rounded.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "json/json.h"

static inline bool same_as_printed(const struct json *v, const struct json *printed)
{
    if (json_is_num(v) && json_is_num(printed))
        return json_to_real(v) == json_to_real(printed);
    if (json_type(v) != json_type(printed) || json_len(v) != json_len(printed))
        return false;
    if (json_is_arr(v)) {
        for (size_t i = 0; i < v->n; i++) {
            if (!same_as_printed(&v->items[i], &printed->items[i]))
                return false;
        }
        return true;
    }
    if (!json_is_obj(v))
        return json_equal(v, printed);
    struct json_index ix JSON_INDEX_SCOPE;
    json_index_init(&ix, printed);
    json_each_member(v, m)
    {
        const struct json_member *other = json_index_find(&ix, json_key(m));
        if (other == NULL || !same_as_printed(&m->val, &other->val))
            return false;
    }
    return true;
}
