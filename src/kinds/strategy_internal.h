/* SPDX-License-Identifier: Apache-2.0 */
/* What: the tables of strategies, one row per kind with rules of its own, and the functions with which the strategy_*.c
 *       files default and validate.
 * Owns: nothing; new values live in the arena given, texts in the arena of the errors.
 * Threads: constants and pure functions.
 * Errors: added to the list, at a path of linked steps that is formatted only if the error is kept. */
#pragma once

#include "object/field_error.h"
#include "object/name.h"
#include "json/json.h"

/* Each may be NULL. The rule for status of all kinds (it changes only through its subresource) is applied before these
 * are called. */
struct strategy {
    const char *group, *kind;
    const char *version;                                          /* NULL: all that are served */
    void (*fill)(struct arena *a, struct json *object);           /* defaults */
    void (*prepare_create)(struct arena *a, struct json *object); /* without a status, its metadata filled in */
    void (*prepare_update)(struct arena *a, struct json *object, const struct json *current);
    void (*prepare_status)(struct arena *a, struct json *object, const struct json *current);
    void (*validate)(struct field_errors *errs, const struct json *object);
    /* Besides validate, which runs after it, before it with changes_come_last, and not at all with
     * keeps_its_old_faults. */
    void (*validate_update)(struct field_errors *errs, const struct json *object, const struct json *current);
    void (*validate_status)(struct field_errors *errs, const struct json *object, const struct json *current);
    bool keeps_its_old_faults; /* an update is not validated as a new object */
    bool changes_come_last;
    bool keeps_status; /* a new object may have a status (Node) */
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

/* ---- Places. ---- */

/* One step; steps are linked from the inside out on the stack of a check. NULL is the object itself. */
struct place {
    const struct place *up;
    str name;     /* a field, or a key when is_key… */
    size_t index; /* …or, if name.p is NULL, an item */
    bool is_key;
};

#define AT(parent, field) (&(struct place){.up = (parent), .name = S(field)})
#define AT_FIELD(parent, field) (&(struct place){.up = (parent), .name = (field)})
#define AT_KEY(parent, key) (&(struct place){.up = (parent), .name = (key), .is_key = true})
#define AT_ITEM(parent, i) (&(struct place){.up = (parent), .index = (i)})

str place_format(struct arena *a, const struct place *at);

/* ---- Refusals. ---- */

void check_required(struct field_errors *errs, const struct place *at, const char *text);
void check_forbidden(struct field_errors *errs, const struct place *at, const char *text);
/* The value as field_value shows it. */
void check_invalid(struct field_errors *errs, const struct place *at, const struct json *value, const char *text);
void check_invalid_text(struct field_errors *errs, const struct place *at, str value, const char *text);
void check_duplicate(struct field_errors *errs, const struct place *at, str value);
void check_unsupported(struct field_errors *errs, const struct place *at, str value, const char *names);
/* The value as Go prints it, made by the caller. */
void check_invalid_go(struct field_errors *errs, const struct place *at, str value, const char *text);
void check_not_found(struct field_errors *errs, const struct place *at, str value);
void check_too_long(struct field_errors *errs, const struct place *at, size_t max);
/* "Too many: 9: must have at most 8 items" */
void check_too_many(struct field_errors *errs, const struct place *at, size_t n, size_t max);

/* ---- Rules that many kinds have. ---- */

/* The text must be set and be one of the names, which are separated by blanks. */
void check_choice(struct field_errors *errs, const struct place *at, str value, const char *names);
bool is_choice(str value, const char *names);
void check_name(struct field_errors *errs, const struct place *at, enum name_rule rule, str name);
/* Absent is fine, and so is 0 and more. */
void check_not_negative(struct field_errors *errs, const struct place *at, const struct json *v);
/* The number must be from low to high: "must be between 1 and 65535, inclusive". */
void check_range(struct field_errors *errs, const struct place *at, int64_t v, int64_t low, int64_t high);
/* A port by number or by name. */
void check_port(struct field_errors *errs, const struct place *at, const struct json *port);
/* A port number: "must be between 1 and 65535, inclusive". */
void check_port_number(struct field_errors *errs, const struct place *at, int64_t port);
/* A number that is not negative, or a percentage. */
void check_share(struct field_errors *errs, const struct place *at, const struct json *share);
/* Its value: the number, or the percentage without its sign. */
int64_t share_of(const struct json *share);
bool is_percent(const struct json *share);
void check_labels(struct field_errors *errs, const struct place *at, const struct json *labels);
void check_annotations(struct field_errors *errs, const struct place *at, const struct json *annotations);
/* A LabelSelector with valid labels in it. */
void check_selector(struct field_errors *errs, const struct place *at, const struct json *selector);
/* Must be what it was. */
void check_immutable(struct field_errors *errs, const struct place *at, const struct json *now,
                     const struct json *before);

/* As Go's %#v prints them: v1.LabelSelector{…}, map[string]string{…}, intstr.IntOrString{…}. */
str go_selector(struct arena *a, const struct json *selector);
str go_labels(struct arena *a, const struct json *labels);
str go_int_or_string(struct arena *a, const struct json *v);

/* ---- Reading and filling in. ---- */

/* 0 when absent. */
int64_t int_of(const struct json *v);
/* As Go sees an optional field: absent, null and empty texts, lists and maps. */
bool is_unset(const struct json *v);
/* The member as an object or list, made when absent. */
struct json *make_obj(struct arena *a, struct json *parent, str key);
struct json *make_arr(struct arena *a, struct json *parent, str key);
/* Sets the member if it is absent. */
void default_str(struct arena *a, struct json *parent, str key, str value);
void default_int(struct arena *a, struct json *parent, str key, int64_t value);
void default_bool(struct arena *a, struct json *parent, str key, bool value);
/* The member becomes what it is in `from`, absence included. */
void copy_member(struct arena *a, struct json *to, const struct json *from, str key);

/* Adds the members of `from` that `to` has not; both may be wide. */
void complete_map(struct arena *a, struct json *to, const struct json *from);

/* list is evaluated once. */
#define json_each_item_mut(list, it)                                                              \
    for (struct json *it##_list = (list), *it = json_is_arr(it##_list) ? it##_list->items : NULL, \
                     *it##_end = it ? it + it##_list->n : NULL;                                   \
         it != it##_end; it++)

/* ---- Pods, and the pod templates of workloads (strategy_pod.c, strategy_container.c). ---- */

void pod_fill_template(struct arena *a, struct json *template);
/* A volume, and the claim that an ephemeral volume makes. */
void pod_fill_volume(struct arena *a, struct json *volume);
void pod_fill_claim_spec(struct arena *a, struct json *spec);
void pod_fill_field_ref(struct arena *a, struct json *parent);

void pod_check_template(struct field_errors *errs, const struct place *at, const struct json *template);
/* A container, whichever list it is in. */
void pod_check_container(struct field_errors *errs, const struct place *at, const struct json *container,
                         const struct map *volumes);
/* Its hooks and probes. */
void pod_check_probes(struct field_errors *errs, const struct place *at, const struct json *container);
/* Volumes by name: those without a fault become the set that mounts may name. */
void pod_check_volumes(struct field_errors *errs, const struct place *at, const struct json *volumes,
                       struct map *ret_names);

/* ---- HorizontalPodAutoscalers (strategy_scaling.c). ----
 *
 * The objects of autoscaling/v1 and v2 are the same and stored as v2. v1 has one target, CPU utilization; everything
 * else of v2 is kept in annotations, as JSON:
 *
 *     autoscaling.alpha.kubernetes.io/metrics          spec.metrics without CPU utilization
 *     autoscaling.alpha.kubernetes.io/behavior         spec.behavior
 *     autoscaling.alpha.kubernetes.io/current-metrics  status.currentMetrics
 *     autoscaling.alpha.kubernetes.io/conditions       status.conditions
 *
 * As in Kubernetes, an annotation that cannot be parsed counts as absent. */

/* In place; apiVersion and kind are not changed. The object must have passed strict_decode. */
void autoscaler_to_v2(struct arena *a, struct json *object);
void autoscaler_to_v1(struct arena *a, struct json *object);
