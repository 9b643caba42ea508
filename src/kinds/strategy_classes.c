/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/quantity.h"

/* Classes that other objects name: PriorityClass, StorageClass, IngressClass, RuntimeClass. */

enum {
    HIGHEST_PRIORITY = 1000000000, /* of those that users may define */
    MAX_CONTROLLER = 250,
    MAX_PARAMETERS = 512,
    MAX_PARAMETERS_SIZE = 256 * 1024,
};

/* ---- Priorities. ---- */

static void fill_priority(struct arena *a, struct json *object)
{
    default_str(a, object, S("preemptionPolicy"), S("PreemptLowerPriority"));
}

/* It has a generation, but one that does not count. */
static void prepare_priority(struct arena *a, struct json *object)
{
    json_set(a, meta_of(a, object), S("generation"), json_int(1));
}

static const struct {
    const char *name;
    int64_t value;
} system_priorities[] = {
    {"system-node-critical", 2000001000},
    {"system-cluster-critical", 2000000000},
};

/* What is wrong with a class whose name begins with "system-"; empty when nothing is. */
static str system_fault(struct arena *a, const struct json *object)
{
    str name = object_name(object);
    for (size_t i = 0; i < COUNT(system_priorities); i++) {
        if (!str_eq(name, str_of(system_priorities[i].name)))
            continue;
        if (int_of(json_get(object, S("value"))) != system_priorities[i].value)
            return str_fmt(a, "value of %.*s PriorityClass must be %lld", STR(name),
                           (long long)system_priorities[i].value);
        if (json_true(json_get(object, S("globalDefault"))))
            return str_fmt(a, "globalDefault of %.*s PriorityClass must be false", STR(name));
        return (str){0};
    }
    return str_fmt(a, "%.*s is not a known system priority class", STR(name));
}

static void validate_priority(struct field_errors *errs, const struct json *object)
{
    struct arena *a = errs->arena;
    const struct json *policy = json_get(object, S("preemptionPolicy"));
    if (str_has_prefix(object_name(object), S("system-"))) {
        str fault = system_fault(a, object);
        str text = str_fmt(
            a, "priority class names with 'system-' prefix are reserved for system use only. error: %.*s", STR(fault));
        if (fault.n)
            check_forbidden(errs, AT(AT(NULL, "metadata"), "name"), str_cstr(a, text));
    } else if (int_of(json_get(object, S("value"))) > HIGHEST_PRIORITY) {
        check_forbidden(errs, AT(NULL, "value"), "maximum allowed value of a user defined priority is 1000000000");
    }
    if (!json_is_null(policy))
        check_choice(errs, AT(NULL, "preemptionPolicy"), json_text(policy), "PreemptLowerPriority Never");
}

static void validate_priority_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    if (int_of(json_get(object, S("value"))) != int_of(json_get(current, S("value"))))
        check_forbidden(errs, AT(NULL, "value"), "may not be changed in an update.");
    check_immutable(errs, AT(NULL, "preemptionPolicy"), json_get(object, S("preemptionPolicy")),
                    json_get(current, S("preemptionPolicy")));
}

/* ---- Storage. ---- */

static void fill_storage(struct arena *a, struct json *object)
{
    default_str(a, object, S("reclaimPolicy"), S("Delete"));
    default_str(a, object, S("volumeBindingMode"), S("Immediate"));
}

static void check_parameters(struct field_errors *errs, const struct place *at, const struct json *parameters)
{
    size_t size = 0;
    if (json_len(parameters) > MAX_PARAMETERS) {
        check_too_long(errs, at, MAX_PARAMETERS);
        return;
    }
    json_each_member(parameters, m)
    {
        if (m->key_n == 0)
            check_invalid_text(errs, at, (str){0}, "field can not be empty.");
        size += m->key_n + json_text(&m->val).n;
    }
    if (size > MAX_PARAMETERS_SIZE)
        check_too_long(errs, at, MAX_PARAMETERS_SIZE);
}

static void validate_storage(struct field_errors *errs, const struct json *object)
{
    str provisioner = str_dup(errs->arena, json_get_text(object, S("provisioner")));
    str reclaim = json_get_text(object, S("reclaimPolicy"));
    for (size_t i = 0; i < provisioner.n; i++) { /* capitals are let through */
        if (char_is_upper(provisioner.p[i]))
            ((char *)provisioner.p)[i] |= 0x20;
    }
    if (provisioner.n)
        check_name(errs, AT(NULL, "provisioner"), NAME_QUALIFIED, provisioner);
    else
        check_required(errs, AT(NULL, "provisioner"), "");
    check_parameters(errs, AT(NULL, "parameters"), json_get(object, S("parameters")));
    if (reclaim.n && !is_choice(reclaim, "Delete Retain"))
        check_unsupported(errs, AT(NULL, "reclaimPolicy"), reclaim, "Delete Retain");
    check_choice(errs, AT(NULL, "volumeBindingMode"), json_get_text(object, S("volumeBindingMode")),
                 "Immediate WaitForFirstConsumer");
}

static void validate_storage_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const fixed[][2] = {{"parameters", "updates to parameters are forbidden."},
                                           {"provisioner", "updates to provisioner are forbidden."},
                                           {"reclaimPolicy", "updates to reclaimPolicy are forbidden."}};
    struct json none = json_null();
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const struct json *now = json_get(object, str_of(fixed[i][0])), *old = json_get(current, str_of(fixed[i][0]));
        if (!json_equal(now ? now : &none, old ? old : &none))
            check_forbidden(errs, AT_FIELD(NULL, str_of(fixed[i][0])), fixed[i][1]);
    }
    check_immutable(errs, AT(NULL, "volumeBindingMode"), json_get(object, S("volumeBindingMode")),
                    json_get(current, S("volumeBindingMode")));
}

/* ---- Ingress. ---- */

static void fill_ingress_class(struct arena *a, struct json *object)
{
    struct json *parameters = json_get_mut(json_get_mut(object, S("spec")), S("parameters"));
    if (json_is_obj(parameters))
        default_str(a, parameters, S("scope"), S("Cluster"));
}

/* "example.com/controller" */
static void check_controller(struct field_errors *errs, const struct place *at, str controller)
{
    str host, path;
    if (controller.n > MAX_CONTROLLER)
        check_too_long(errs, at, MAX_CONTROLLER);
    if (controller.n == 0)
        check_required(errs, at, "");
    else if (!str_cut(controller, '/', &host, &path) || host.n == 0 || path.n == 0)
        check_invalid_text(errs, at, controller, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    else
        check_name(errs, at, NAME_DNS_SUBDOMAIN, host);
}

static void check_part(struct field_errors *errs, const struct place *at, str name, const char *missing)
{
    if (name.n == 0)
        check_required(errs, at, missing);
    else
        check_name(errs, at, NAME_PATH_SEGMENT, name);
}

static void check_class_parameters(struct field_errors *errs, const struct place *at, const struct json *p)
{
    const struct json *group = json_get(p, S("apiGroup")), *namespace = json_get(p, S("namespace"));
    str scope = json_get_text(p, S("scope"));
    if (!json_is_null(group))
        check_name(errs, AT(at, "apiGroup"), NAME_DNS_SUBDOMAIN, json_text(group));
    check_part(errs, AT(at, "kind"), json_get_text(p, S("kind")), "kind is required");
    check_part(errs, AT(at, "name"), json_get_text(p, S("name")), "name is required");
    if (!is_choice(scope, "Cluster Namespace"))
        check_unsupported(errs, AT(at, "scope"), scope, "Cluster Namespace");
    else if (str_eq(scope, S("Namespace")) && json_is_null(namespace))
        check_required(errs, AT(at, "namespace"), "`parameters.scope` is set to 'Namespace'");
    else if (str_eq(scope, S("Namespace")))
        check_name(errs, AT(at, "namespace"), NAME_DNS_LABEL, json_text(namespace));
    else if (!json_is_null(namespace))
        check_forbidden(errs, AT(at, "namespace"), "`parameters.scope` is set to 'Cluster'");
}

static void validate_ingress_class(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *parameters = json_get(spec, S("parameters"));
    check_controller(errs, AT(at, "controller"), json_get_text(spec, S("controller")));
    if (json_is_obj(parameters))
        check_class_parameters(errs, AT(at, "parameters"), parameters);
}

static void validate_ingress_class_update(struct field_errors *errs, const struct json *object,
                                          const struct json *current)
{
    check_immutable(errs, AT(AT(NULL, "spec"), "controller"), json_dig(object, "spec.controller"),
                    json_dig(current, "spec.controller"));
}

/* ---- Runtimes. ---- */

static void validate_runtime(struct field_errors *errs, const struct json *object)
{
    const struct place *limits = AT(AT(NULL, "overhead"), "limits"); /* so Kubernetes says, not podFixed */
    const struct json *fixed = json_dig(object, "overhead.podFixed");
    check_name(errs, AT(NULL, "handler"), NAME_DNS_LABEL, json_get_text(object, S("handler")));
    json_each_member(fixed, m)
    {
        str amount = json_text(&m->val);
        if (quantity_check(amount) == NULL && quantity_sign(amount) < 0)
            check_invalid_text(errs, AT_KEY(limits, json_key(m)), amount, "must be greater than or equal to 0");
    }
    check_labels(errs, AT(AT(NULL, "scheduling"), "nodeSelector"), json_dig(object, "scheduling.nodeSelector"));
}

static void validate_runtime_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "handler"), json_get(object, S("handler")), json_get(current, S("handler")));
}

static const struct strategy classes_rows[] = {
    {
        .group = "scheduling.k8s.io",
        .kind = "PriorityClass",
        .fill = fill_priority,
        .prepare_create = prepare_priority,
        .validate = validate_priority,
        .validate_update = validate_priority_update,
        .keeps_its_old_faults = true,
    },
    {
        .group = "storage.k8s.io",
        .kind = "StorageClass",
        .fill = fill_storage,
        .validate = validate_storage,
        .validate_update = validate_storage_update,
        .changes_come_last = true,
    },
    {
        .group = "networking.k8s.io",
        .kind = "IngressClass",
        .fill = fill_ingress_class,
        .validate = validate_ingress_class,
        .validate_update = validate_ingress_class_update,
    },
    {
        .group = "node.k8s.io",
        .kind = "RuntimeClass",
        .validate = validate_runtime,
        .validate_update = validate_runtime_update,
        .keeps_its_old_faults = true,
    },
};
STRATEGIES(strategies_classes, classes_rows);

/* Kinds about amounts and places of things: LimitRange, PersistentVolume, PersistentVolumeClaim, Node. */

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
    struct json created = json_dup(a, json_get(object_meta(object), S("creationTimestamp")));
    json_set(a, object, S("status"), json_build(a, "{phase: 'Pending', lastPhaseTransitionTime?: %p}", &created));
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

static const struct strategy resources_rows[] = {
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
STRATEGIES(strategies_resources, resources_rows);

/* CertificateSigningRequest: who approves does not sign, who signs does not approve, and neither takes anything
 * back. */

static const str at = S_INIT("status.conditions");

/* Those of one type, in their order. */
static struct json conditions(struct arena *a, const struct json *object, const char *type)
{
    struct json found = json_arr();
    const struct json *list = json_dig(object, "status.conditions");
    json_each_item(list, it)
    {
        if (str_eq(json_get_text(it, S("type")), str_of(type)))
            json_push(a, &found, *it);
    }
    return found;
}

static void check_kept(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const types[] = {"Approved", "Denied", "Failed"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct json now = conditions(errs->arena, object, types[i]), was = conditions(errs->arena, current, types[i]);
        if (now.n < was.n)
            field_error_add(errs, FIELD_FORBIDDEN, at, (str){0}, "updates may not remove a condition of type \"%s\"",
                            types[i]);
    }
}

static void check_not_decided(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const types[] = {"Approved", "Denied"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct json now = conditions(errs->arena, object, types[i]), was = conditions(errs->arena, current, types[i]);
        if (now.n > was.n || (now.n == was.n && !json_equal(&now, &was)))
            field_error_add(errs, FIELD_FORBIDDEN, at, (str){0}, "updates may not %s a condition of type \"%s\"",
                            now.n > was.n ? "add" : "modify", types[i]);
    }
}

static void validate_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *now = json_dig(object, "status.certificate"), *was = json_dig(current, "status.certificate");
    check_kept(errs, object, current);
    check_not_decided(errs, object, current);
    if (json_text(was).n && !str_eq(json_text(now), json_text(was)))
        field_error_add(errs, FIELD_FORBIDDEN, S("status.certificate"), (str){0},
                        "updates may not modify existing certificate content");
}

void strategy_check_approval(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *list = json_dig(object, "status.conditions");
    bool is_approved = false, is_denied = false;
    json_each_item(list, it)
    {
        str type = json_get_text(it, S("type"));
        bool says_yes = str_eq(type, S("Approved")), says_no = str_eq(type, S("Denied"));
        if ((says_yes && is_denied) || (says_no && is_approved)) {
            str item = field_index(errs->arena, at, (size_t)(it - list->items));
            field_error_add(errs, FIELD_INVALID, field_child(errs->arena, item, S("type")),
                            field_quote(errs->arena, type), "Approved and Denied conditions are mutually exclusive");
        }
        is_approved |= says_yes;
        is_denied |= says_no;
    }
    check_kept(errs, object, current);
}

static const struct strategy certificates_rows[] = {
    {
        .group = "certificates.k8s.io",
        .kind = "CertificateSigningRequest",
        .validate_status = validate_status,
    },
};
STRATEGIES(strategies_certificates, certificates_rows);
