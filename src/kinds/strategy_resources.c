/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds about amounts and places of things: LimitRange, PersistentVolume, PersistentVolumeClaim, Node. */
#include "kinds/strategy_internal.h"
#include "kinds/strategy_pod.h"

#include "object/object.h"
#include "object/quantity.h"

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

/* ---- Checking. ---- */

static void check_positive(struct field_errors *errs, const struct place *at, str amount)
{
    if (amount.n == 0)
        check_required(errs, at, "");
    else if (quantity_check(amount) == NULL && quantity_sign(amount) <= 0)
        check_invalid_text(errs, at, amount, "must be greater than zero");
}

static void check_access_modes(struct field_errors *errs, const struct place *at, const struct json *modes)
{
    if (json_len(modes) == 0)
        check_required(errs, at, "at least 1 access mode is required");
    json_each_item(modes, it)
    {
        if (!is_choice(json_text(it), "ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod"))
            check_unsupported(errs, at, json_text(it), "ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod");
    }
}

static void validate_claim(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec"));
    str class = json_get_text(spec, S("storageClassName")), mode = json_get_text(spec, S("volumeMode"));
    check_access_modes(errs, AT(at, "accessModes"), json_get(spec, S("accessModes")));
    if (json_is_obj(json_get(spec, S("selector"))))
        check_selector(errs, AT(at, "selector"), json_get(spec, S("selector")));
    check_positive(errs, AT_KEY(AT(at, "resources"), S("storage")),
                   json_text(json_dig(spec, "resources.requests.storage")));
    if (class.n)
        check_name(errs, AT(at, "storageClassName"), NAME_DNS_SUBDOMAIN, class);
    if (mode.n && !is_choice(mode, "Block Filesystem"))
        check_unsupported(errs, AT(at, "volumeMode"), mode, "Block Filesystem");
}

/* A claim stays what it is, but a bound one may grow. */
static void validate_claim_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json now = json_dup(&scratch, json_get(object, S("spec")));
    const struct json *before = json_get(current, S("spec"));
    bool is_bound = str_eq(json_text(json_dig(object, "status.phase")), S("Bound"));
    struct json *requests = json_get_mut(json_get_mut(&now, S("resources")), S("requests"));
    if (json_get_text(before, S("volumeName")).n == 0)
        json_remove(&now, S("volumeName"));
    if (is_bound && json_is_obj(requests))
        copy_member(&scratch, requests, json_dig(before, "resources.requests"), S("storage"));
    if (!json_equal(&now, before))
        check_forbidden(errs, AT(NULL, "spec"),
                        "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                        "bound claims");
}

static void validate_persistent_volume(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec"));
    const struct json *capacity = json_get(spec, S("capacity"));
    str policy = json_get_text(spec, S("persistentVolumeReclaimPolicy"));
    check_access_modes(errs, AT(at, "accessModes"), json_get(spec, S("accessModes")));
    if (json_len(capacity) == 0)
        check_required(errs, AT(at, "capacity"), "");
    else
        check_positive(errs, AT_KEY(AT(at, "capacity"), S("storage")), json_get_text(capacity, S("storage")));
    if (policy.n && !is_choice(policy, "Delete Recycle Retain"))
        check_unsupported(errs, AT(at, "persistentVolumeReclaimPolicy"), policy, "Delete Recycle Retain");
}

static void validate_lease(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *seconds = json_get(spec, S("leaseDurationSeconds"));
    if (!json_is_null(seconds) && int_of(seconds) <= 0)
        check_invalid(errs, AT(at, "leaseDurationSeconds"), seconds, "must be greater than 0");
    check_not_negative(errs, AT(at, "leaseTransitions"), json_get(spec, S("leaseTransitions")));
}

static void validate_quota(struct field_errors *errs, const struct json *object)
{
    const struct json *hard = json_dig(object, "spec.hard");
    json_each_member(hard, m)
    {
        const struct place *at = AT_KEY(AT(AT(NULL, "spec"), "hard"), json_key(m));
        str amount = json_text(&m->val);
        check_name(errs, at, NAME_QUALIFIED, json_key(m));
        if (quantity_check(amount) == NULL && quantity_sign(amount) < 0)
            check_invalid_text(errs, at, amount, "must be greater than or equal to 0");
    }
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
        .validate = validate_persistent_volume,
    },
    {
        .kind = "PersistentVolumeClaim",
        .fill = fill_claim,
        .prepare_create = prepare_claim,
        .validate = validate_claim,
        .validate_update = validate_claim_update,
        .changes_come_last = true,
    },
    {
        .kind = "ResourceQuota",
        .validate = validate_quota,
    },
    {
        .group = "coordination.k8s.io",
        .kind = "Lease",
        .validate = validate_lease,
    },
    {
        .kind = "Node",
        .fill = fill_node,
        .keeps_status = true,
    },
};
STRATEGIES(strategies_resources, rows);
