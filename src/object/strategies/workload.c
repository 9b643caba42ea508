/* SPDX-License-Identifier: Apache-2.0 */
/* Deployment, ReplicaSet, DaemonSet, StatefulSet and ReplicationController: so many pods of one template. */
#include "object/strategies/pod.h"
#include "object/strategies/strategies.h"

#include "object/meta.h"
#include "object/object.h"

/* The spec, made when absent, with its template filled in. */
static struct json *fill_spec(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    pod_fill_template(a, make_obj(a, spec, S("template")));
    return spec;
}

static void default_share(struct arena *a, struct json *rolling, str key, struct json value)
{
    if (json_is_null(json_get(rolling, key)))
        json_set(a, rolling, key, value);
}

static void fill_deployment(struct arena *a, struct json *object)
{
    struct json *spec = fill_spec(a, object), *strategy = make_obj(a, spec, S("strategy"));
    default_str(a, strategy, S("type"), S("RollingUpdate"));
    if (str_eq(json_get_text(strategy, S("type")), S("RollingUpdate"))) {
        struct json *rolling = make_obj(a, strategy, S("rollingUpdate"));
        default_share(a, rolling, S("maxUnavailable"), json_str(S("25%")));
        default_share(a, rolling, S("maxSurge"), json_str(S("25%")));
    }
    default_int(a, spec, S("replicas"), 1);
    default_int(a, spec, S("revisionHistoryLimit"), 10);
    default_int(a, spec, S("progressDeadlineSeconds"), 600);
}

static void fill_replica_set(struct arena *a, struct json *object)
{
    default_int(a, fill_spec(a, object), S("replicas"), 1);
}

static void fill_daemon_set(struct arena *a, struct json *object)
{
    struct json *spec = fill_spec(a, object), *strategy = make_obj(a, spec, S("updateStrategy"));
    default_str(a, strategy, S("type"), S("RollingUpdate"));
    if (str_eq(json_get_text(strategy, S("type")), S("RollingUpdate"))) {
        struct json *rolling = make_obj(a, strategy, S("rollingUpdate"));
        default_share(a, rolling, S("maxUnavailable"), json_int(1));
        default_share(a, rolling, S("maxSurge"), json_int(0));
    }
    default_int(a, spec, S("revisionHistoryLimit"), 10);
}

static void fill_stateful_set(struct arena *a, struct json *object)
{
    struct json *spec = fill_spec(a, object);
    default_str(a, spec, S("podManagementPolicy"), S("OrderedReady"));
    struct json *strategy = make_obj(a, spec, S("updateStrategy"));
    if (json_get_text(strategy, S("type")).n == 0) {
        json_set(a, strategy, S("type"), json_str(S("RollingUpdate")));
        make_obj(a, strategy, S("rollingUpdate"));
    }
    struct json *rolling = json_get_mut(strategy, S("rollingUpdate"));
    if (json_is_obj(rolling) && str_eq(json_get_text(strategy, S("type")), S("RollingUpdate")))
        default_int(a, rolling, S("partition"), 0);
    struct json *retention = make_obj(a, spec, S("persistentVolumeClaimRetentionPolicy"));
    default_str(a, retention, S("whenDeleted"), S("Retain"));
    default_str(a, retention, S("whenScaled"), S("Retain"));
    default_int(a, spec, S("replicas"), 1);
    default_int(a, spec, S("revisionHistoryLimit"), 10);
    json_each_item_mut(json_get_mut(spec, S("volumeClaimTemplates")), claim)
    {
        if (!json_is_obj(claim))
            continue;
        default_str(a, claim, S("apiVersion"), S("v1"));
        default_str(a, claim, S("kind"), S("PersistentVolumeClaim"));
        pod_fill_claim_spec(a, make_obj(a, claim, S("spec")));
        default_str(a, make_obj(a, claim, S("status")), S("phase"), S("Pending"));
    }
}

/* Selector and labels are those of the template unless said otherwise. */
static void fill_replication_controller(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec")), *template = json_get_mut(spec, S("template"));
    const struct json *labels = object_labels(template);
    if (json_is_obj(template))
        pod_fill_template(a, template);
    if (json_len(labels) && is_unset(json_get(spec, S("selector"))))
        json_set(a, spec, S("selector"), json_dup(a, labels));
    if (json_len(labels) && is_unset(object_labels(object)))
        json_set(a, meta_of(a, object), S("labels"), json_dup(a, labels));
    default_int(a, spec, S("replicas"), 1);
}

/* Counts the changes of a DaemonSet's template, in an annotation that nobody else can set. */
static void set_template_generation(struct arena *a, struct json *object, int64_t generation)
{
    json_set(a, make_obj(a, meta_of(a, object), S("annotations")), S("deprecated.daemonset.template.generation"),
             json_str(str_fmt(a, "%lld", (long long)generation)));
}

static int64_t template_generation(const struct json *object)
{
    int64_t n;
    return str_to_int64(object_annotation(object, S("deprecated.daemonset.template.generation")), &n) ? n : 0;
}

static void prepare_daemon_set(struct arena *a, struct json *object)
{
    int64_t sent = template_generation(object);
    set_template_generation(a, object, sent < 1 ? 1 : sent);
}

static void prepare_daemon_set_update(struct arena *a, struct json *object, const struct json *current)
{
    const struct json *now = json_dig(object, "spec.template"), *before = json_dig(current, "spec.template");
    bool is_same = now && before && json_equal(now, before);
    set_template_generation(a, object, template_generation(current) + !is_same);
}

static void prepare_deployment_status(struct arena *a, struct json *object, const struct json *current)
{
    copy_member(a, meta_of(a, object), object_meta(current), S("labels"));
}

static const struct strategy rows[] = {
    {
        .group = "apps",
        .kind = "Deployment",
        .fill = fill_deployment,
        .prepare_status = prepare_deployment_status,
    },
    {
        .group = "apps",
        .kind = "ReplicaSet",
        .fill = fill_replica_set,
    },
    {
        .group = "apps",
        .kind = "DaemonSet",
        .fill = fill_daemon_set,
        .prepare_create = prepare_daemon_set,
        .prepare_update = prepare_daemon_set_update,
    },
    {
        .group = "apps",
        .kind = "StatefulSet",
        .fill = fill_stateful_set,
    },
    {
        .kind = "ReplicationController",
        .fill = fill_replication_controller,
    },
};
STRATEGIES(strategies_workload, rows);
