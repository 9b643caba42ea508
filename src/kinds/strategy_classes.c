/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that other objects name: PriorityClass, StorageClass, IngressClass, RuntimeClass. */
#include "kinds/strategy_check.h"
#include "kinds/strategy_internal.h"

#include "object/meta.h"
#include "object/object.h"
#include "object/quantity.h"

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

static const struct strategy rows[] = {
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
STRATEGIES(strategies_classes, rows);
