/* SPDX-License-Identifier: Apache-2.0 */
/* What: making terms of a label selector, shared by its two sources, text and LabelSelector objects.
 * Owns: nothing.
 * Threads: one selector under construction, one thread.
 * Errors: ERR_BAD_REQUEST with Kubernetes' text. */
#pragma once

#include "base/vec.h"
#include "object/selector.h"

struct selector_values {
    str *p;
    size_t n, cap;
};

struct selector_terms {
    struct selector_term *p;
    size_t n, cap;
};

void selector_values_sort(struct selector_values *v);
/* Sorted, and each value once. */
void selector_values_unique(struct selector_values *v);
/* Checks key and values; keeps what it is given, sorted in place. Operators with one value must come with one. */
int selector_term_make(struct selector_term *ret, str key, enum selector_op op, struct selector_values values,
                       struct err *err);
struct selector selector_finish(struct selector_terms *terms);
/* Adds the faults of a label key as one error. */
void selector_key_check(struct field_errors *errs, str field, str key);
/* Turns field errors into one err. */
int selector_refuse(const struct field_errors *errs, struct err *err);
