/* SPDX-License-Identifier: Apache-2.0 */
/* Job and CronJob: pods that come to an end. */
#include "kinds/strategy_internal.h"
#include "kinds/strategy_pod.h"

#include "object/meta.h"
#include "object/object.h"
#include "object/selector.h"

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

static const struct strategy rows[] = {
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
STRATEGIES(strategies_batch, rows);
