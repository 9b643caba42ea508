/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

void *vec_grow(struct arena *a, void *p, size_t *cap, size_t size)
{
    size_t old = *cap;
    *cap = old ? old * 2 : 8;
    return arena_realloc(a, p, arena_array_size(old, size), arena_array_size(*cap, size));
}
