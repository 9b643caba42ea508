/* SPDX-License-Identifier: Apache-2.0 */
/* What: what strategic.c (maps) and strategic_list.c (lists) share.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: see strategic.h. */
#pragma once

#include "patch/strategic.h"

/* What stands at a place: a value of a type, or a list or map of them. */
struct smp_type {
    uint8_t type, card; /* enum shape_type, enum shape_card */
    const struct shape *record;
};

enum {
    SMP_MAX_MEMBERS = 1 << 20
}; /* of maps merged into; more only where a patch names the same items again and again */

struct smp {
    struct arena *arena;
    struct err *err;
    size_t members; /* of maps merged into so far */
};

/* How a list is merged. */
struct smp_list {
    struct smp_type item;
    bool merge;       /* else the patch replaces it */
    bool is_deletion; /* the patch lists scalars to remove */
    str key;          /* of items that are maps; empty: none */
};

/* strategic.c */
struct json smp_merge_map(struct smp *s, struct smp_type t, const struct json *doc, const struct json *patch, int *rc);
/* v as it may be stored: without directives and nulls in maps. With drop_marked, maps that say $patch vanish, too: false
 * when v itself is one. */
bool smp_clean(struct smp *s, const struct json *v, bool drop_marked, struct json *ret);
/* "expected a X, but received a Y" */
int smp_type_error(struct smp *s, const char *expected, const struct json *v);

/* strategic_list.c */
struct json smp_merge_list(struct smp *s, const struct smp_list *list, const struct json *doc, const struct json *patch,
                           int *rc);
/* Merges and then puts in the order that the patch asks for. doc and patch may be NULL, but not both. */
struct json smp_order_list(struct smp *s, const struct smp_list *list, const struct json *doc, const struct json *patch,
                           const struct json *order, int *rc);
