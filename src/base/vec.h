/* SPDX-License-Identifier: Apache-2.0 */
/* What: typed growing arrays in an arena: VEC(struct thing) things = {0}; *vec_push(arena, &things) = (struct thing){…};
 * Owns: nothing; the arena owns the elements.
 * Threads: plain values.
 * Errors: none; running out of memory aborts. */
#pragma once

#include "base/arena.h"

#define VEC(T)         \
    struct {           \
        T *p;          \
        size_t n, cap; \
    }

/* A pointer to a new last element, contents undefined. */
#define vec_push(a, v)                                                                                 \
    ((v)->n == (v)->cap ? (void)((v)->p = vec_grow((a), (v)->p, &(v)->cap, sizeof *(v)->p)) : (void)0, \
     &(v)->p[(v)->n++])

#define vec_each(v, it) \
    for (__typeof__(*(v)->p) *it = (v)->p, *it##_end = (v)->n ? it + (v)->n : it; it != it##_end; it++)

void *vec_grow(struct arena *a, void *p, size_t *cap, size_t size);
