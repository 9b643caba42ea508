/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused in the spec of a pod, its containers aside. */
#include "kinds/strategy_pod.h"

#include "object/object.h"

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

void pod_check_spec(struct field_errors *errs, const struct place *at, const struct json *spec)
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
