/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/quantity.h"

/* What the server fills into pods and into the templates of pods. */

/* ---- Images. ---- */

/* Whether an image without a pull policy is one that may change under its name: no tag and no digest, or the tag
 * latest. What is no image reference has no tag. */
static bool is_latest(str image)
{
    str name = image, rest, tag = {0};
    bool has_digest = str_cut(image, '@', &name, &rest);
    size_t start = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '/')
            start = i + 1;
    }
    str last = str_from(name, start), repository;
    bool has_tag = str_cut(last, ':', &repository, &tag);
    if (repository.n == 0)
        return false;
    for (size_t i = 0; i < repository.n; i++) {
        char c = repository.p[i];
        if (!(char_is_lower(c) || char_is_digit(c) || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return has_tag ? str_eq(tag, S("latest")) : !has_digest;
}

/* ---- Probes and handlers. ---- */

static void fill_handler(struct arena *a, struct json *handler)
{
    struct json *http = json_get_mut(handler, S("httpGet")), *grpc = json_get_mut(handler, S("grpc"));
    if (json_is_obj(http)) {
        default_str(a, http, S("path"), S("/"));
        default_str(a, http, S("scheme"), S("HTTP"));
    }
    if (json_is_obj(grpc) && json_is_null(json_get(grpc, S("service"))))
        json_set(a, grpc, S("service"), json_str((str){0}));
}

static void default_count(struct arena *a, struct json *parent, str key, int64_t value)
{
    if (int_of(json_get(parent, key)) == 0)
        json_set(a, parent, key, json_int(value));
}

static void fill_probe(struct arena *a, struct json *probe)
{
    if (!json_is_obj(probe))
        return;
    fill_handler(a, probe);
    default_count(a, probe, S("timeoutSeconds"), 1);
    default_count(a, probe, S("periodSeconds"), 10);
    default_count(a, probe, S("successThreshold"), 1);
    default_count(a, probe, S("failureThreshold"), 3);
}

/* ---- Containers. ---- */

void pod_fill_field_ref(struct arena *a, struct json *parent)
{
    struct json *ref = json_get_mut(parent, S("fieldRef"));
    if (json_is_obj(ref))
        default_str(a, ref, S("apiVersion"), S("v1"));
}

static void fill_container(struct arena *a, struct json *c)
{
    if (!json_is_obj(c))
        return;
    default_str(a, c, S("imagePullPolicy"), is_latest(json_get_text(c, S("image"))) ? S("Always") : S("IfNotPresent"));
    default_str(a, c, S("terminationMessagePath"), S("/dev/termination-log"));
    default_str(a, c, S("terminationMessagePolicy"), S("File"));
    json_each_item_mut(json_get_mut(c, S("ports")), port) default_str(a, port, S("protocol"), S("TCP"));
    json_each_item_mut(json_get_mut(c, S("env")), env) pod_fill_field_ref(a, json_get_mut(env, S("valueFrom")));
    fill_probe(a, json_get_mut(c, S("livenessProbe")));
    fill_probe(a, json_get_mut(c, S("readinessProbe")));
    fill_probe(a, json_get_mut(c, S("startupProbe")));
    struct json *lifecycle = json_get_mut(c, S("lifecycle"));
    fill_handler(a, json_get_mut(lifecycle, S("postStart")));
    fill_handler(a, json_get_mut(lifecycle, S("preStop")));
}

static void fill_containers(struct arena *a, struct json *spec, str key)
{
    json_each_item_mut(json_get_mut(spec, key), c) fill_container(a, c);
}

/* ---- Pods. ---- */

/* Two names of one field; the newer one counts. */
static void fill_account(struct arena *a, struct json *spec)
{
    str name = json_get_text(spec, S("serviceAccountName"));
    if (name.n == 0)
        name = json_get_text(spec, S("serviceAccount"));
    if (name.n == 0)
        return;
    json_set(a, spec, S("serviceAccountName"), json_str(name));
    json_set(a, spec, S("serviceAccount"), json_str(name));
}

/* In place; NULL and values that are not objects are left unchanged. */
static void pod_fill_spec(struct arena *a, struct json *spec)
{
    if (!json_is_obj(spec))
        return;
    default_str(a, spec, S("dnsPolicy"), S("ClusterFirst"));
    default_str(a, spec, S("restartPolicy"), S("Always"));
    default_str(a, spec, S("schedulerName"), S("default-scheduler"));
    default_int(a, spec, S("terminationGracePeriodSeconds"), 30);
    make_obj(a, spec, S("securityContext"));
    fill_account(a, spec);
    json_each_item_mut(json_get_mut(spec, S("volumes")), v) pod_fill_volume(a, v);
    fill_containers(a, spec, S("containers"));
    fill_containers(a, spec, S("initContainers"));
    fill_containers(a, spec, S("ephemeralContainers"));
}

/* A template without a spec gets one, as every struct is there in Go. */
void pod_fill_template(struct arena *a, struct json *template)
{
    if (json_is_obj(template))
        pod_fill_spec(a, make_obj(a, template, S("spec")));
}

/* What is refused in the spec of a pod, its containers aside. */

/* ---- Lists of containers. ---- */

/* Remembers a name; false when it was there before. */
static bool take_name(struct map *names, str name)
{
    static char taken;
    return map_set(names, name, &taken) == NULL;
}

static void check_host_ports(struct field_errors *errs, const struct place *at, const struct json *container,
                             struct map *taken)
{
    const struct json *ports = json_get(container, S("ports"));
    json_each_item(ports, it)
    {
        int64_t port = int_of(json_get(it, S("hostPort")));
        str key = str_fmt(errs->arena, "%.*s/%.*s/%lld", STR(json_get_text(it, S("protocol"))),
                          STR(json_get_text(it, S("hostIP"))), (long long)port);
        if (port && !take_name(taken, key))
            check_duplicate(errs, AT(AT_ITEM(AT(at, "ports"), (size_t)(it - ports->items)), "hostPort"), key);
    }
}

static void check_containers(struct field_errors *errs, const struct place *at, const struct json *list,
                             const struct map *volumes, struct map *names)
{
    struct map ports = {0};
    if (json_len(list) == 0)
        check_required(errs, at, "");
    json_each_item(list, c)
    {
        const struct place *here = AT_ITEM(at, (size_t)(c - list->items));
        pod_check_container(errs, here, c, volumes);
        if (!take_name(names, json_get_text(c, S("name"))))
            check_duplicate(errs, AT(here, "name"), json_get_text(c, S("name")));
        pod_check_probes(errs, here, c);
        if (!json_is_null(json_get(c, S("restartPolicy"))))
            check_forbidden(errs, AT(here, "restartPolicy"), "may not be set for non-init containers");
    }
    json_each_item(list, c) check_host_ports(errs, AT_ITEM(at, (size_t)(c - list->items)), c, &ports);
    map_done(&ports);
}

/* Containers that come to an end before the others start have nothing to probe; sidecars stay. */
static void check_init_hooks(struct field_errors *errs, const struct place *at, const struct json *c)
{
    static const char *const hooks[] = {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"};
    if (str_eq(json_get_text(c, S("restartPolicy")), S("Always"))) {
        pod_check_probes(errs, at, c);
        return;
    }
    for (size_t i = 0; i < COUNT(hooks); i++) {
        if (!json_is_null(json_get(c, str_of(hooks[i]))))
            check_forbidden(errs, AT_FIELD(at, str_of(hooks[i])),
                            "may not be set for init containers without restartPolicy=Always");
    }
}

static void check_init_containers(struct field_errors *errs, const struct place *at, const struct json *list,
                                  const struct map *volumes, struct map *names)
{
    json_each_item(list, c)
    {
        const struct place *here = AT_ITEM(at, (size_t)(c - list->items));
        str policy = json_get_text(c, S("restartPolicy")), name = json_get_text(c, S("name"));
        pod_check_container(errs, here, c, volumes);
        if (policy.n && !str_eq(policy, S("Always")))
            check_unsupported(errs, AT(here, "restartPolicy"), policy, "Always");
        if (name.n && !take_name(names, name))
            check_duplicate(errs, AT(here, "name"), name);
        check_init_hooks(errs, here, c);
    }
}

/* ---- Tolerations. ---- */

static void check_toleration(struct field_errors *errs, const struct place *at, const struct json *t)
{
    str key = json_get_text(t, S("key")), operator= json_get_text(t, S("operator"));
    str value = json_get_text(t, S("value")), effect = json_get_text(t, S("effect"));
    if (key.n)
        check_name(errs, AT(at, "key"), NAME_QUALIFIED, key);
    if (key.n == 0 && !str_eq(operator, S("Exists")))
        check_invalid_text(
            errs, AT(at, "operator"), operator,
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (!json_is_null(json_get(t, S("tolerationSeconds"))) && !str_eq(effect, S("NoExecute")))
        check_invalid_text(errs, AT(at, "effect"), effect,
                           "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (operator.n == 0 || str_eq(operator, S("Equal")))
        check_name(errs, AT(at, "operator"), NAME_LABEL_VALUE, value);
    else if (!str_eq(operator, S("Exists")))
        check_unsupported(errs, AT(at, "operator"), operator, "Equal Exists");
    else if (value.n)
        check_invalid_text(errs, AT(at, "operator"), value, "value must be empty when `operator` is 'Exists'");
    if (effect.n && !is_choice(effect, "NoSchedule PreferNoSchedule NoExecute"))
        check_unsupported(errs, AT(at, "effect"), effect, "NoSchedule PreferNoSchedule NoExecute");
}

/* ---- The spec. ---- */

struct named_field {
    const char *field;
    enum name_rule rule;
};

static void check_texts(struct field_errors *errs, const struct place *at, const struct json *spec,
                        const struct named_field *fields)
{
    for (; fields->field; fields++) {
        str text = json_get_text(spec, str_of(fields->field));
        if (text.n)
            check_name(errs, AT_FIELD(at, str_of(fields->field)), fields->rule, text);
    }
}

static void check_deadline(struct field_errors *errs, const struct place *at, const struct json *deadline)
{
    if (!json_is_null(deadline))
        check_range(errs, at, int_of(deadline), 1, INT32_MAX);
}

static void pod_check_spec(struct field_errors *errs, const struct place *at, const struct json *spec)
{
    static const struct named_field before_deadline[] = {
        {"serviceAccountName", NAME_DNS_SUBDOMAIN}, {"nodeName", NAME_DNS_SUBDOMAIN}, {0}};
    static const struct named_field behind_deadline[] = {
        {"hostname", NAME_DNS_LABEL}, {"subdomain", NAME_DNS_LABEL}, {0}};
    static const struct named_field classes[] = {
        {"priorityClassName", NAME_DNS_SUBDOMAIN}, {"runtimeClassName", NAME_DNS_SUBDOMAIN}, {0}};
    struct map volumes = {0}, names = {0};
    const struct json *tolerations = json_get(spec, S("tolerations"));
    pod_check_volumes(errs, AT(at, "volumes"), json_get(spec, S("volumes")), &volumes);
    check_containers(errs, AT(at, "containers"), json_get(spec, S("containers")), &volumes, &names);
    check_init_containers(errs, AT(at, "initContainers"), json_get(spec, S("initContainers")), &volumes, &names);
    map_done(&volumes);
    map_done(&names);
    check_choice(errs, AT(at, "restartPolicy"), json_get_text(spec, S("restartPolicy")), "Always OnFailure Never");
    check_choice(errs, AT(at, "dnsPolicy"), json_get_text(spec, S("dnsPolicy")),
                 "ClusterFirstWithHostNet ClusterFirst Default None");
    check_labels(errs, AT(at, "nodeSelector"), json_get(spec, S("nodeSelector")));
    check_texts(errs, at, spec, before_deadline);
    check_deadline(errs, AT(at, "activeDeadlineSeconds"), json_get(spec, S("activeDeadlineSeconds")));
    check_texts(errs, at, spec, behind_deadline);
    json_each_item(tolerations, it)
        check_toleration(errs, AT_ITEM(AT(at, "tolerations"), (size_t)(it - tolerations->items)), it);
    check_texts(errs, at, spec, classes);
}

void pod_check_template(struct field_errors *errs, const struct place *at, const struct json *template)
{
    const struct json *spec = json_get(template, S("spec"));
    check_labels(errs, AT(at, "labels"), object_labels(template));
    check_annotations(errs, AT(at, "annotations"), object_annotations(template));
    pod_check_spec(errs, AT(at, "spec"), spec);
    if (json_len(json_get(spec, S("ephemeralContainers"))))
        check_forbidden(errs, AT(AT(at, "spec"), "ephemeralContainers"),
                        "ephemeral containers not allowed in pod template");
}

/* Pods themselves. */

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

/* Pods are evicted from a node that is not ready or unreachable for five minutes. */
static void tolerate(struct arena *a, struct json *spec, str key)
{
    struct json *list = make_arr(a, spec, S("tolerations"));
    json_each_item(list, it)
    {
        str k = json_get_text(it, S("key")), effect = json_get_text(it, S("effect"));
        if ((k.n == 0 || str_eq(k, key)) && (effect.n == 0 || str_eq(effect, S("NoExecute"))))
            return;
    }
    json_push(a, list,
              json_build(a, "{key: %.*s, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300}", STR(key)));
}

/* Without a class, which would have to be looked up, the priority is the default. */
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
    str qos = quality(json_get(object, S("spec")));
    json_set(a, object, S("status"), json_build(a, "{phase: 'Pending', qosClass: %.*s}", STR(qos)));
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

/* In place: removes the fields that an update of a pod may change. */
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
