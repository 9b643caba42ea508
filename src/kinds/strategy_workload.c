/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/selector.h"

/* What controllers keep to make pods from: PodTemplate and ControllerRevision. */

static void fill_template(struct arena *a, struct json *object)
{
    pod_fill_template(a, make_obj(a, object, S("template")));
}

static void validate_template(struct field_errors *errs, const struct json *object)
{
    pod_check_template(errs, AT(NULL, "template"), json_get(object, S("template")));
}

static void validate_revision(struct field_errors *errs, const struct json *object)
{
    check_not_negative(errs, AT(NULL, "revision"), json_get(object, S("revision")));
    if (json_is_null(json_get(object, S("data"))))
        check_required(errs, AT(NULL, "data"), "data is mandatory");
}

/* The data is shown as JSON, not as Go's bytes. */
static void validate_revision_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "data"), json_get(object, S("data")), json_get(current, S("data")));
}

static const struct strategy templates_rows[] = {
    {
        .kind = "PodTemplate",
        .fill = fill_template,
        .validate = validate_template,
    },
    {
        .group = "apps",
        .kind = "ControllerRevision",
        .validate = validate_revision,
        .validate_update = validate_revision_update,
        .changes_come_last = true,
    },
};
STRATEGIES(strategies_templates, templates_rows);

/* Deployment, ReplicaSet, DaemonSet, StatefulSet and ReplicationController: so many pods of one template. */

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

/* Selector and labels default to those of the template. */
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

/* Counts the changes of a DaemonSet's template, in an annotation that clients cannot set. */
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

/* ---- Checking. ---- */

/* The selector must be there and select something; what it selects must be the template's pods. */
static void check_pods(struct field_errors *errs, const struct place *at, const struct json *spec, const char *empty)
{
    const struct json *selector = json_get(spec, S("selector")), *labels = object_labels(json_get(spec, S("template")));
    struct arena scratch ARENA_SCOPE = {0};
    struct selector s;
    if (!json_is_obj(selector)) {
        check_required(errs, AT(at, "selector"), "");
    } else {
        check_selector(errs, AT(at, "selector"), selector);
        if (json_len(json_get(selector, S("matchLabels"))) + json_len(json_get(selector, S("matchExpressions"))) == 0)
            check_invalid_go(errs, AT(at, "selector"), go_selector(errs->arena, selector), empty);
    }
    if (selector_from_object(&scratch, selector, &s, NULL) < 0)
        check_invalid_go(errs, AT(at, "selector"), go_selector(errs->arena, selector), "invalid label selector");
    else if (!selector_is_everything(&s) && !selector_matches(&s, labels))
        check_invalid_go(errs, AT(AT(AT(at, "template"), "metadata"), "labels"), go_labels(errs->arena, labels),
                         "`selector` does not match template `labels`");
}

/* Pods of these kinds run for ever. */
static void check_restart(struct field_errors *errs, const struct place *at, const struct json *spec, const char *kind)
{
    const struct json *pod = json_get(json_get(spec, S("template")), S("spec"));
    const struct place *here = AT(AT(at, "template"), "spec");
    str policy = json_get_text(pod, S("restartPolicy"));
    if (!str_eq(policy, S("Always")))
        check_unsupported(errs, AT(here, "restartPolicy"), policy, "Always");
    if (!json_is_null(json_get(pod, S("activeDeadlineSeconds"))))
        check_forbidden(
            errs, AT(here, "activeDeadlineSeconds"),
            str_cstr(errs->arena, str_fmt(errs->arena, "activeDeadlineSeconds in %s is not Supported", kind)));
}

static void check_rolling_deployment(struct field_errors *errs, const struct place *at, const struct json *rolling)
{
    const struct json *down = json_get(rolling, S("maxUnavailable")), *up = json_get(rolling, S("maxSurge"));
    check_share(errs, AT(at, "maxUnavailable"), down);
    check_share(errs, AT(at, "maxSurge"), up);
    if (share_of(down) == 0 && share_of(up) == 0)
        check_invalid_go(errs, AT(at, "maxUnavailable"), go_int_or_string(errs->arena, down),
                         "may not be 0 when `maxSurge` is 0");
    if (is_percent(down) && share_of(down) > 100)
        check_invalid_go(errs, AT(at, "maxUnavailable"), go_int_or_string(errs->arena, down),
                         "must not be greater than 100%");
}

static void check_strategy(struct field_errors *errs, const struct place *at, const struct json *strategy)
{
    str type = json_get_text(strategy, S("type"));
    const struct json *rolling = json_get(strategy, S("rollingUpdate"));
    if (str_eq(type, S("Recreate"))) {
        if (json_is_obj(rolling))
            check_forbidden(errs, AT(at, "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'");
    } else if (str_eq(type, S("RollingUpdate"))) {
        check_rolling_deployment(errs, AT(at, "rollingUpdate"), rolling);
    } else {
        check_unsupported(errs, at, type, "Recreate RollingUpdate");
    }
}

static void check_counts(struct field_errors *errs, const struct place *at, const struct json *of,
                         const char *const *fields)
{
    for (; *fields; fields++)
        check_not_negative(errs, AT_FIELD(at, str_of(*fields)), json_get(of, str_of(*fields)));
}

static void validate_deployment(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *deadline = json_get(spec, S("progressDeadlineSeconds"));
    check_not_negative(errs, AT(at, "replicas"), json_get(spec, S("replicas")));
    check_pods(errs, at, spec, "empty selector is invalid for deployment");
    pod_check_template(errs, AT(at, "template"), json_get(spec, S("template")));
    check_restart(errs, at, spec, "ReplicaSet");
    check_strategy(errs, AT(at, "strategy"), json_get(spec, S("strategy")));
    check_counts(errs, at, spec,
                 (const char *const[]){"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", NULL});
    if (!json_is_null(deadline) && int_of(deadline) <= int_of(json_get(spec, S("minReadySeconds"))))
        check_invalid(errs, AT(at, "progressDeadlineSeconds"), deadline, "must be greater than minReadySeconds");
}

/* Once made, a workload keeps to its pods. */
static void validate_selector_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *now = json_dig(object, "spec.selector"), *before = json_dig(current, "spec.selector");
    if (!json_is_null(before) && !json_is_null(now) && !json_equal(now, before))
        check_invalid_go(errs, AT(AT(NULL, "spec"), "selector"), go_selector(errs->arena, now), "field is immutable");
}

static void validate_replica_set(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec"));
    check_counts(errs, at, spec, (const char *const[]){"replicas", "minReadySeconds", NULL});
    check_pods(errs, at, spec, "empty selector is invalid for deployment");
    pod_check_template(errs, AT(at, "template"), json_get(spec, S("template")));
    check_restart(errs, at, spec, "ReplicaSet");
}

static void check_rolling_daemons(struct field_errors *errs, const struct place *at, const struct json *rolling)
{
    const struct json *down = json_get(rolling, S("maxUnavailable")), *up = json_get(rolling, S("maxSurge"));
    check_share(errs, AT(at, "maxUnavailable"), down);
    check_share(errs, AT(at, "maxSurge"), up);
    if (is_percent(down) && share_of(down) > 100)
        check_invalid_go(errs, AT(at, "maxUnavailable"), go_int_or_string(errs->arena, down),
                         "must not be greater than 100%");
    if (is_percent(up) && share_of(up) > 100)
        check_invalid_go(errs, AT(at, "maxSurge"), go_int_or_string(errs->arena, up), "must not be greater than 100%");
    if (share_of(down) && share_of(up))
        check_invalid_go(errs, AT(at, "maxSurge"), go_int_or_string(errs->arena, up),
                         "may not be set when maxUnavailable is non-zero");
    else if (!share_of(down) && !share_of(up))
        check_required(errs, AT(at, "maxUnavailable"), "cannot be 0 when maxSurge is 0");
}

static void validate_daemon_set(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *strategy = json_get(spec, S("updateStrategy"));
    str type = json_get_text(strategy, S("type"));
    check_pods(errs, at, spec, "empty selector is invalid for daemonset");
    pod_check_template(errs, AT(at, "template"), json_get(spec, S("template")));
    check_restart(errs, at, spec, "DaemonSet");
    check_not_negative(errs, AT(at, "minReadySeconds"), json_get(spec, S("minReadySeconds")));
    if (str_eq(type, S("RollingUpdate")))
        check_rolling_daemons(errs, AT(AT(at, "updateStrategy"), "rollingUpdate"),
                              json_get(strategy, S("rollingUpdate")));
    else if (!str_eq(type, S("OnDelete")))
        check_unsupported(errs, AT(at, "updateStrategy"), type, "RollingUpdate OnDelete");
    check_not_negative(errs, AT(at, "revisionHistoryLimit"), json_get(spec, S("revisionHistoryLimit")));
}

static void validate_stateful_set(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *template = json_get(spec, S("template"));
    str policy = json_get_text(spec, S("podManagementPolicy"));
    if (!is_choice(policy, "OrderedReady Parallel"))
        check_invalid_text(errs, AT(at, "podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'");
    check_counts(errs, at, spec, (const char *const[]){"replicas", "minReadySeconds", NULL});
    check_pods(errs, at, spec, "empty selector is invalid for statefulset");
    check_labels(errs, AT(AT(at, "template"), "labels"), object_labels(template));
    check_annotations(errs, AT(AT(at, "template"), "annotations"), object_annotations(template));
    check_restart(errs, at, spec, "StatefulSet");
}

static void validate_stateful_set_update(struct field_errors *errs, const struct json *object,
                                         const struct json *current)
{
    static const char *const free_fields[] = {
        "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "persistentVolumeClaimRetentionPolicy",
    };
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *now = json_get(object, S("spec")), *before = json_get(current, S("spec"));
    struct json rest_now = json_dup_top(&scratch, now), rest_before = json_dup_top(&scratch, before);
    for (size_t i = 0; i < COUNT(free_fields); i++) {
        json_remove(&rest_now, str_of(free_fields[i]));
        json_remove(&rest_before, str_of(free_fields[i]));
    }
    if (!json_equal(&rest_now, &rest_before))
        check_forbidden(errs, AT(NULL, "spec"),
                        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                        "'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

static void validate_replication_controller(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *selector = json_get(spec, S("selector"));
    const struct json *template = json_get(spec, S("template")), *labels = object_labels(template);
    check_counts(errs, at, spec, (const char *const[]){"minReadySeconds", "replicas", NULL});
    if (json_len(selector) == 0)
        check_required(errs, AT(at, "selector"), "");
    if (!json_is_obj(template)) {
        check_required(errs, AT(at, "template"), "");
        return;
    }
    struct json_index index JSON_INDEX_SCOPE;
    bool matches = true;
    json_index_init(&index, labels);
    json_each_member(selector, m)
    {
        const struct json_member *label = json_index_find(&index, json_key(m));
        matches = matches && label && str_eq(json_text(&label->val), json_text(&m->val));
    }
    if (!matches)
        check_invalid_go(errs, AT(AT(AT(at, "template"), "metadata"), "labels"), go_labels(errs->arena, labels),
                         "`selector` does not match template `labels`");
    pod_check_template(errs, AT(at, "template"), template);
    str policy = json_text(json_dig(template, "spec.restartPolicy"));
    if (!str_eq(policy, S("Always")))
        check_unsupported(errs, AT(AT(AT(at, "template"), "spec"), "restartPolicy"), policy, "Always");
}

/* ---- Status. ---- */

static void check_replica_counts(struct field_errors *errs, const struct json *status, const char *const *parts)
{
    const struct place *at = AT(NULL, "status");
    int64_t all = int_of(json_get(status, S("replicas"))), ready = int_of(json_get(status, S("readyReplicas")));
    for (; *parts; parts++) {
        const struct json *part = json_get(status, str_of(*parts));
        if (int_of(part) > all)
            check_invalid(errs, AT_FIELD(at, str_of(*parts)), part, "cannot be greater than status.replicas");
    }
    const struct json *available = json_get(status, S("availableReplicas"));
    if (int_of(available) > ready)
        check_invalid(errs, AT(at, "availableReplicas"), available, "cannot be greater than readyReplicas");
}

static void validate_deployment_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *status = json_get(object, S("status")), *count = json_get(status, S("collisionCount"));
    const struct json *before = json_dig(current, "status.collisionCount");
    check_counts(errs, AT(NULL, "status"), status,
                 (const char *const[]){"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                                       "availableReplicas", "unavailableReplicas", "collisionCount", NULL});
    check_replica_counts(errs, status,
                         (const char *const[]){"updatedReplicas", "readyReplicas", "availableReplicas", NULL});
    if (int_of(count) < int_of(before))
        check_invalid(errs, AT(AT(NULL, "status"), "collisionCount"), count, "cannot be decremented");
}

static void validate_replica_set_status(struct field_errors *errs, const struct json *object,
                                        const struct json *current)
{
    const struct json *status = json_get(object, S("status"));
    (void)current;
    check_counts(errs, AT(NULL, "status"), status,
                 (const char *const[]){"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                                       "observedGeneration", NULL});
    check_replica_counts(errs, status,
                         (const char *const[]){"fullyLabeledReplicas", "readyReplicas", "availableReplicas", NULL});
}

static const struct strategy workload_rows[] = {
    {
        .group = "apps",
        .kind = "Deployment",
        .fill = fill_deployment,
        .prepare_status = prepare_deployment_status,
        .validate = validate_deployment,
        .validate_update = validate_selector_update,
        .changes_come_last = true,
        .validate_status = validate_deployment_status,
    },
    {
        .group = "apps",
        .kind = "ReplicaSet",
        .fill = fill_replica_set,
        .validate = validate_replica_set,
        .validate_update = validate_selector_update,
        .changes_come_last = true,
        .validate_status = validate_replica_set_status,
    },
    {
        .group = "apps",
        .kind = "DaemonSet",
        .fill = fill_daemon_set,
        .prepare_create = prepare_daemon_set,
        .prepare_update = prepare_daemon_set_update,
        .validate = validate_daemon_set,
        .validate_update = validate_selector_update,
        .changes_come_last = true,
    },
    {
        .group = "apps",
        .kind = "StatefulSet",
        .fill = fill_stateful_set,
        .validate = validate_stateful_set,
        .validate_update = validate_stateful_set_update,
        .changes_come_last = true,
    },
    {
        .kind = "ReplicationController",
        .fill = fill_replication_controller,
        .validate = validate_replication_controller,
    },
};
STRATEGIES(strategies_workload, workload_rows);

/* Job and CronJob: pods that come to an end. */

/* ---- Filling in. ---- */

static void fill_job(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec")), *template = make_obj(a, spec, S("template"));
    pod_fill_template(a, template);
    if (json_is_null(json_get(spec, S("completions"))) && json_is_null(json_get(spec, S("parallelism"))))
        json_set(a, spec, S("completions"), json_int(1));
    default_int(a, spec, S("parallelism"), 1);
    bool per_index = !json_is_null(json_get(spec, S("backoffLimitPerIndex")));
    default_int(a, spec, S("backoffLimit"), per_index ? INT32_MAX : 6);
    default_str(a, spec, S("completionMode"), S("NonIndexed"));
    default_bool(a, spec, S("suspend"), false);
    default_bool(a, spec, S("manualSelector"), false);
    struct json *policy = json_get_mut(spec, S("podFailurePolicy"));
    json_each_item_mut(json_get_mut(policy, S("rules")), rule)
    {
        json_each_item_mut(json_get_mut(rule, S("onPodConditions")), it) default_str(a, it, S("status"), S("True"));
    }
    default_str(a, spec, S("podReplacementPolicy"), json_is_obj(policy) ? S("Failed") : S("TerminatingOrFailed"));
    const struct json *labels = object_labels(json_get(spec, S("template")));
    if (json_len(labels) && is_unset(object_labels(object)))
        json_set(a, meta_of(a, object), S("labels"), json_dup(a, labels));
}

static void fill_cron_job(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    default_str(a, spec, S("concurrencyPolicy"), S("Allow"));
    default_bool(a, spec, S("suspend"), false);
    default_int(a, spec, S("successfulJobsHistoryLimit"), 3);
    default_int(a, spec, S("failedJobsHistoryLimit"), 1);
    struct json *job = make_obj(a, make_obj(a, spec, S("jobTemplate")), S("spec"));
    pod_fill_template(a, make_obj(a, job, S("template")));
}

/* ---- The selector that a Job makes for itself. ---- */

static void set_new(struct arena *a, struct json *labels, str key, str value)
{
    if (json_get(labels, key) == NULL)
        json_set(a, labels, key, json_str(value));
}

static void prepare_job(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    str name = object_name(object), uid = object_uid(object);
    if (json_true(json_get(spec, S("manualSelector"))))
        return;
    struct json *labels = make_obj(a, meta_of(a, make_obj(a, spec, S("template"))), S("labels"));
    set_new(a, labels, S("job-name"), name);
    set_new(a, labels, S("batch.kubernetes.io/job-name"), name);
    set_new(a, labels, S("controller-uid"), uid);
    set_new(a, labels, S("batch.kubernetes.io/controller-uid"), uid);
    if (is_unset(object_labels(object)))
        json_set(a, meta_of(a, object), S("labels"), json_dup(a, labels));
    struct json *selector = make_obj(a, spec, S("selector"));
    set_new(a, make_obj(a, selector, S("matchLabels")), S("batch.kubernetes.io/controller-uid"), uid);
}

/* ---- Checking. ---- */

static void check_job_spec(struct field_errors *errs, const struct place *at, const struct json *spec)
{
    static const char *const counts[] = {
        "parallelism",          "completions",     "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes"};
    const struct json *template = json_get(spec, S("template"));
    str mode = json_get_text(spec, S("completionMode"));
    str restart = json_get_text(json_get(template, S("spec")), S("restartPolicy"));
    const struct place *policy = AT(AT(AT(at, "template"), "spec"), "restartPolicy");
    for (size_t i = 0; i < COUNT(counts); i++)
        check_not_negative(errs, AT_FIELD(at, str_of(counts[i])), json_get(spec, str_of(counts[i])));
    if (mode.n && !is_choice(mode, "NonIndexed Indexed"))
        check_unsupported(errs, AT(at, "completionMode"), mode, "NonIndexed Indexed");
    if (str_eq(mode, S("Indexed")) && json_is_null(json_get(spec, S("completions"))))
        check_required(errs, AT(at, "completions"), "when completion mode is Indexed");
    pod_check_template(errs, AT(at, "template"), template);
    if (restart.n == 0 || str_eq(restart, S("Always")))
        check_required(errs, policy, "valid values: \"OnFailure\", \"Never\"");
    else if (!is_choice(restart, "OnFailure Never"))
        check_unsupported(errs, policy, restart, "OnFailure Never");
}

static void check_job_selector(struct field_errors *errs, const struct json *spec)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *selector = json_get(spec, S("selector")), *labels = object_labels(json_get(spec, S("template")));
    struct arena scratch ARENA_SCOPE = {0};
    struct selector s;
    if (!json_is_obj(selector))
        check_required(errs, AT(at, "selector"), "");
    else
        check_selector(errs, AT(at, "selector"), selector);
    if (selector_from_object(&scratch, selector, &s, NULL) == 0 && !selector_matches(&s, labels))
        check_invalid_go(errs, AT(AT(AT(at, "template"), "metadata"), "labels"), go_labels(errs->arena, labels),
                         "`selector` does not match template `labels`");
}

static void validate_job(struct field_errors *errs, const struct json *object)
{
    const struct json *spec = json_get(object, S("spec"));
    check_job_spec(errs, AT(NULL, "spec"), spec);
    check_job_selector(errs, spec);
}

/* What a Job is made of stays. The values are shown as JSON, not as Go's structs. */
static void validate_job_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const fixed[] = {
        "selector",  "template",     "completionMode", "podFailurePolicy", "backoffLimitPerIndex",
        "managedBy", "successPolicy"};
    const struct json *now = json_get(object, S("spec")), *before = json_get(current, S("spec"));
    bool is_indexed = str_eq(json_get_text(now, S("completionMode")), S("Indexed"));
    if (!is_indexed)
        check_immutable(errs, AT(AT(NULL, "spec"), "completions"), json_get(now, S("completions")),
                        json_get(before, S("completions")));
    for (size_t i = 0; i < COUNT(fixed); i++)
        check_immutable(errs, AT_FIELD(AT(NULL, "spec"), str_of(fixed[i])), json_get(now, str_of(fixed[i])),
                        json_get(before, str_of(fixed[i])));
}

static void validate_cron_job(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *job = json_dig(spec, "jobTemplate.spec");
    str schedule = json_get_text(spec, S("schedule"));
    if (schedule.n == 0)
        check_required(errs, AT(at, "schedule"), "");
    else if (str_find(schedule, S("TZ")) >= 0)
        check_invalid_text(errs, AT(at, "schedule"), schedule,
                           "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    check_not_negative(errs, AT(at, "startingDeadlineSeconds"), json_get(spec, S("startingDeadlineSeconds")));
    check_choice(errs, AT(at, "concurrencyPolicy"), json_get_text(spec, S("concurrencyPolicy")),
                 "Allow Forbid Replace");
    check_job_spec(errs, AT(AT(at, "jobTemplate"), "spec"), job);
    if (json_is_obj(json_get(job, S("selector"))))
        check_invalid_go(errs, AT(AT(AT(at, "jobTemplate"), "spec"), "selector"),
                         go_selector(errs->arena, json_get(job, S("selector"))), "`selector` will be auto-generated");
    check_not_negative(errs, AT(at, "successfulJobsHistoryLimit"), json_get(spec, S("successfulJobsHistoryLimit")));
    check_not_negative(errs, AT(at, "failedJobsHistoryLimit"), json_get(spec, S("failedJobsHistoryLimit")));
    if (object_name(object).n > 52)
        check_invalid_text(errs, AT(AT(NULL, "metadata"), "name"), object_name(object),
                           "must be no more than 52 characters");
}

static const struct strategy batch_rows[] = {
    {
        .group = "batch",
        .kind = "Job",
        .fill = fill_job,
        .prepare_create = prepare_job,
        .validate = validate_job,
        .validate_update = validate_job_update,
        .changes_come_last = true,
    },
    {
        .group = "batch",
        .kind = "CronJob",
        .fill = fill_cron_job,
        .validate = validate_cron_job,
    },
};
STRATEGIES(strategies_batch, batch_rows);
