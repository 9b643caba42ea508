/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds about amounts and places of things: LimitRange, PersistentVolume, PersistentVolumeClaim, Node, PriorityClass,
 * HorizontalPodAutoscaler. */
#include "object/strategies/pod.h"
#include "object/strategies/strategies.h"

#include "object/object.h"

/* ---- Limit ranges. ---- */

static void fill_limit_range(struct arena *a, struct json *object)
{
    json_each_item_mut(json_get_mut(json_get_mut(object, S("spec")), S("limits")), it)
    {
        if (!str_eq(json_get_text(it, S("type")), S("Container")))
            continue;
        make_obj(a, it, S("default"));
        make_obj(a, it, S("defaultRequest")); /* both are there now: no more moves */
        struct json *limits = json_get_mut(it, S("default")), *requests = json_get_mut(it, S("defaultRequest"));
        complete_map(a, limits, json_get(it, S("max")));
        complete_map(a, requests, limits);
        complete_map(a, requests, json_get(it, S("min")));
    }
}

/* ---- Volumes. ---- */

static void fill_persistent_volume(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    default_str(a, spec, S("persistentVolumeReclaimPolicy"), S("Retain"));
    default_str(a, spec, S("volumeMode"), S("Filesystem"));
    struct json *path = json_get_mut(spec, S("hostPath"));
    if (json_is_obj(path) && json_is_null(json_get(path, S("type"))))
        json_set(a, path, S("type"), json_str((str){0}));
    default_str(a, make_obj(a, object, S("status")), S("phase"), S("Pending"));
}

static void prepare_persistent_volume(struct arena *a, struct json *object)
{
    struct json *status = json_set(a, object, S("status"), json_obj());
    json_set(a, status, S("phase"), json_str(S("Pending")));
    copy_member(a, status, object_meta(object), S("creationTimestamp"));
    if (status->n == 2) /* the phase is as old as the object */
        json_set(a, status, S("lastPhaseTransitionTime"), *json_get(status, S("creationTimestamp")));
    json_remove(status, S("creationTimestamp"));
}

static void fill_claim(struct arena *a, struct json *object)
{
    pod_fill_claim_spec(a, make_obj(a, object, S("spec")));
    default_str(a, make_obj(a, object, S("status")), S("phase"), S("Pending"));
}

static void prepare_claim(struct arena *a, struct json *object)
{
    default_str(a, make_obj(a, object, S("status")), S("phase"), S("Pending"));
}

/* ---- Nodes. ---- */

static void fill_node(struct arena *a, struct json *object)
{
    struct json *status = json_get_mut(object, S("status"));
    const struct json *capacity = json_get(status, S("capacity"));
    if (json_len(capacity) && json_is_null(json_get(status, S("allocatable"))))
        json_set(a, status, S("allocatable"), json_dup(a, capacity));
}

/* ---- Priorities and autoscaling. ---- */

static void fill_priority_class(struct arena *a, struct json *object)
{
    default_str(a, object, S("preemptionPolicy"), S("PreemptLowerPriority"));
}

static void fill_autoscaler(struct arena *a, struct json *object)
{
    default_int(a, make_obj(a, object, S("spec")), S("minReplicas"), 1);
}

static const struct strategy rows[] = {
    {
        .kind = "LimitRange",
        .fill = fill_limit_range,
    },
    {
        .kind = "PersistentVolume",
        .fill = fill_persistent_volume,
        .prepare_create = prepare_persistent_volume,
    },
    {
        .kind = "PersistentVolumeClaim",
        .fill = fill_claim,
        .prepare_create = prepare_claim,
    },
    {
        .kind = "Node",
        .fill = fill_node,
        .keeps_status = true,
    },
    {
        .group = "scheduling.k8s.io",
        .kind = "PriorityClass",
        .fill = fill_priority_class,
    },
    {
        .group = "autoscaling",
        .kind = "HorizontalPodAutoscaler",
        .fill = fill_autoscaler,
    },
};
STRATEGIES(strategies_resources, rows);
