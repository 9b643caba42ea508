/* SPDX-License-Identifier: Apache-2.0 */
/* What: the strategies of the files of this folder: one row per kind that has something special.
 * Owns: nothing.
 * Threads: constants.
 * Errors: see strategy.h. */
#pragma once

#include "object/field_error.h"
#include "json/json.h"

/* Each may be NULL. What all kinds with a status have in common (it stays as it is unless written through its subresource)
 * is done before these are called. */
struct strategy {
    const char *group, *kind;
    const char *version;                                          /* NULL: all that are served */
    void (*fill)(struct arena *a, struct json *object);           /* defaults */
    void (*prepare_create)(struct arena *a, struct json *object); /* without a status, its metadata filled in */
    void (*prepare_update)(struct arena *a, struct json *object, const struct json *current);
    void (*prepare_status)(struct arena *a, struct json *object, const struct json *current);
    void (*validate)(struct field_errors *errs, const struct json *object);
    /* Besides validate, which runs behind it or, with changes_come_last, before it, or not if keeps_its_old_faults. */
    void (*validate_update)(struct field_errors *errs, const struct json *object, const struct json *current);
    void (*validate_status)(struct field_errors *errs, const struct json *object, const struct json *current);
    bool keeps_its_old_faults; /* an update is not held against the rules of a new object */
    bool changes_come_last;
    bool keeps_status; /* a new object may bring its status along (Node) */
};

struct strategy_table {
    const struct strategy *rows;
    size_t n;
};

extern const struct strategy_table strategies_batch;
extern const struct strategy_table strategies_certificates;
extern const struct strategy_table strategies_classes;
extern const struct strategy_table strategies_core;
extern const struct strategy_table strategies_event;
extern const struct strategy_table strategies_network;
extern const struct strategy_table strategies_pod;
extern const struct strategy_table strategies_resources;
extern const struct strategy_table strategies_scaling;
extern const struct strategy_table strategies_slices;
extern const struct strategy_table strategies_templates;
extern const struct strategy_table strategies_workload;

/* The members of an Event get the names they have in the core group, or in events.k8s.io. */
void event_convert(struct json *object, bool to_core);
/* Of an update through the finalize subresource of a Namespace. */
void strategy_check_finalize(struct field_errors *errs, const struct json *object);

/* Of one through the approval subresource of a CertificateSigningRequest. */
void strategy_check_approval(struct field_errors *errs, const struct json *object, const struct json *current);

#define STRATEGIES(name, rows) const struct strategy_table name = {rows, COUNT(rows)}
