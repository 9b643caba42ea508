/* SPDX-License-Identifier: Apache-2.0 */
/* Pods themselves. */
#include "kinds/strategy_pod.h"
#include "kinds/strategy_internal.h"

#include "object/meta.h"
#include "object/object.h"
#include "object/quantity.h"

/* ---- Filling in. ---- */

/* What is limited is requested, unless less is. */
static void request_limits(struct arena *a, struct json *containers)
{
    json_each_item_mut(containers, c)
    {
        struct json *resources = json_get_mut(c, S("resources"));
        const struct json *limits = json_get(resources, S("limits"));
        if (json_len(limits) == 0)
            continue;
        struct json given = *limits; /* making the requests may move the limits */
        complete_map(a, make_obj(a, resources, S("requests")), &given);
    }
}

static void open_host_ports(struct arena *a, struct json *containers)
{
    json_each_item_mut(containers, c)
    {
        json_each_item_mut(json_get_mut(c, S("ports")), port)
        {
            if (int_of(json_get(port, S("hostPort"))) == 0)
                json_set(a, port, S("hostPort"), json_int(int_of(json_get(port, S("containerPort")))));
        }
    }
}

static void fill_pod(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    struct json *containers = json_get_mut(spec, S("containers")), *init = json_get_mut(spec, S("initContainers"));
    request_limits(a, containers);
    request_limits(a, init);
    if (json_true(json_get(spec, S("hostNetwork")))) {
        open_host_ports(a, containers);
        open_host_ports(a, init);
    }
    default_bool(a, spec, S("enableServiceLinks"), true);
    pod_fill_spec(a, spec);
}

/* ---- Quality of service. ---- */

struct totals {
    bool has_any;     /* some request or limit of cpu or memory */
    bool is_complete; /* every container limits both, and requests as much */
};

static bool is_positive(const struct json *list, str name)
{
    str amount = json_get_text(list, name);
    return amount.n && quantity_check(amount) == NULL && quantity_sign(amount) > 0;
}

static void add_container(struct totals *t, const struct json *resources)
{
    static const char *const names[] = {"cpu", "memory"};
    const struct json *limits = json_get(resources, S("limits")), *requests = json_get(resources, S("requests"));
    for (size_t i = 0; i < COUNT(names); i++) {
        str name = str_of(names[i]);
        bool limited = is_positive(limits, name), requested = is_positive(requests, name);
        t->has_any = t->has_any || limited || requested;
        if (!limited || (requested && quantity_cmp(json_get_text(limits, name), json_get_text(requests, name)) != 0))
            t->is_complete = false;
    }
}

static str quality(const struct json *spec)
{
    struct totals t = {.is_complete = true};
    const struct json *containers = json_get(spec, S("containers")), *init = json_get(spec, S("initContainers"));
    json_each_item(containers, c) add_container(&t, json_get(c, S("resources")));
    json_each_item(init, c) add_container(&t, json_get(c, S("resources")));
    return !t.has_any ? S("BestEffort") : t.is_complete ? S("Guaranteed") : S("Burstable");
}

/* ---- What admission adds to every new pod of Kubernetes. ---- */

/* A node that is gone for five minutes loses its pods. */
static void tolerate(struct arena *a, struct json *spec, str key)
{
    struct json *list = make_arr(a, spec, S("tolerations"));
    json_each_item(list, it)
    {
        str k = json_get_text(it, S("key")), effect = json_get_text(it, S("effect"));
        if ((k.n == 0 || str_eq(k, key)) && (effect.n == 0 || str_eq(effect, S("NoExecute"))))
            return;
    }
    struct json *added = json_push(a, list, json_obj_sized(a, 4));
    json_add(a, added, S("key"), json_str(key));
    json_add(a, added, S("operator"), json_str(S("Exists")));
    json_add(a, added, S("effect"), json_str(S("NoExecute")));
    json_add(a, added, S("tolerationSeconds"), json_int(300));
}

/* Without a class, which somebody would have to look up, the priority is that of all. */
static void set_priority(struct arena *a, struct json *spec)
{
    if (json_get_text(spec, S("priorityClassName")).n)
        return;
    default_int(a, spec, S("priority"), 0);
    default_str(a, spec, S("preemptionPolicy"), S("PreemptLowerPriority"));
}

static void prepare_pod(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    tolerate(a, spec, S("node.kubernetes.io/not-ready"));
    tolerate(a, spec, S("node.kubernetes.io/unreachable"));
    set_priority(a, spec);
    struct json *status = json_set(a, object, S("status"), json_obj());
    json_set(a, status, S("phase"), json_str(S("Pending")));
    json_set(a, status, S("qosClass"), json_str(quality(json_get(object, S("spec")))));
}

static void prepare_pod_status(struct arena *a, struct json *object, const struct json *current)
{
    struct json *meta = meta_of(a, object);
    json_remove(meta, S("deletionTimestamp"));
    copy_member(a, meta, object_meta(current), S("ownerReferences"));
    if (json_text(json_dig(object, "status.qosClass")).n == 0)
        copy_member(a, make_obj(a, object, S("status")), json_get(current, S("status")), S("qosClass"));
}

/* ---- Checking. ---- */

static void validate_pod(struct field_errors *errs, const struct json *object)
{
    pod_check_spec(errs, AT(NULL, "spec"), json_get(object, S("spec")));
}

/* In place: takes away what an update of a pod may change. */
static void forget_changeable(struct json *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < COUNT(lists); i++) {
        json_each_item_mut(json_get_mut(spec, str_of(lists[i])), c)
        {
            json_remove(c, S("image"));
        }
    }
    json_remove(spec, S("activeDeadlineSeconds"));
    json_remove(spec, S("terminationGracePeriodSeconds"));
    json_remove(spec, S("tolerations"));
    json_remove(spec, S("schedulingGates"));
}

static void validate_pod_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json now = json_dup(&scratch, json_get(object, S("spec")));
    struct json before = json_dup(&scratch, json_get(current, S("spec")));
    forget_changeable(&now);
    forget_changeable(&before);
    if (!json_equal(&now, &before))
        check_forbidden(
            errs, AT(NULL, "spec"),
            "pod updates may not change fields other than `spec.containers[*].image`,"
            "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
            "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
            "was previously negative)");
}

static const struct strategy rows[] = {
    {
        .kind = "Pod",
        .fill = fill_pod,
        .prepare_create = prepare_pod,
        .prepare_status = prepare_pod_status,
        .validate = validate_pod,
        .validate_update = validate_pod_update,
    },
};
STRATEGIES(strategies_pod, rows);
