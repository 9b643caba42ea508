/* SPDX-License-Identifier: Apache-2.0 */
/* What: the CRDs of the cluster as installs need them: names, scope, whose they are, how far they are.
 * Owns: its rows; fed by an informer that keeps little of each CRD.
 * Threads: fed on the loop thread, asked by any.
 * Errors: none. */
#pragma once

#include "control/informer.h"
#include "package/plan.h"

struct crd_table;

struct crd_row {
    struct plan_crd crd;
    str uid, label; /* of the family; empty: not ours */
    str version;    /* one that is served, for paths */
    str applied;    /* ANNOTATION_APPLIED */
    int64_t generation;
    uint64_t marks; /* hash of its labels and of our annotations */
    bool is_established;
};

struct crd_table *crd_table_new(void);
/* Takes NULL. */
void crd_table_free(struct crd_table *t);
/* What an informer should keep of a CRD. */
struct json crd_table_trim(struct arena *a, const struct json *crd);
void crd_table_put(struct crd_table *t, const struct json *crd);
void crd_table_del(struct crd_table *t, str name);

/* Copies, in the arena. */
bool crd_table_get(struct crd_table *t, struct arena *a, str name, struct crd_row *ret);
/* The row that a CRD would have, for who has just read or written one. */
struct crd_row crd_row_of(struct arena *a, const struct json *crd);
/* Of a group, by name. */
size_t crd_table_of_group(struct crd_table *t, struct arena *a, str group, const struct crd_row **ret);
/* Of a family, by name. */
size_t crd_table_of_family(struct crd_table *t, struct arena *a, str label, const struct crd_row **ret);
/* crd and crds_of_group of these; has_package is the caller's. */
struct plan_facts crd_table_facts(struct crd_table *t);
