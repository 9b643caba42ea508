/* SPDX-License-Identifier: Apache-2.0 */
/* Job and CronJob: pods that come to an end. */
#include "object/strategies/pod.h"
#include "object/strategies/strategies.h"

#include "object/meta.h"
#include "object/object.h"

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

static const struct strategy rows[] = {
    {
        .group = "batch",
        .kind = "Job",
        .fill = fill_job,
        .prepare_create = prepare_job,
    },
    {
        .group = "batch",
        .kind = "CronJob",
        .fill = fill_cron_job,
    },
};
STRATEGIES(strategies_batch, rows);
