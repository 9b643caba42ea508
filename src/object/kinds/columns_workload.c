/* SPDX-License-Identifier: Apache-2.0 */
/* apps/v1 and batch/v1: columns of kinds that make pods. */
#include "base/clock.h"
#include "object/kinds/columns.h"
#include "object/selector.h"

static struct json selector_text(struct arena *a, const struct json *obj, const char *invalid, const char *empty)
{
    struct selector s;
    struct err ignored;
    struct buf b = {.arena = a};
    if (selector_from_object(a, json_dig(obj, "spec.selector"), &s, &ignored) < 0)
        return json_str(str_of(invalid));
    selector_format(&b, &s);
    return json_str(b.n ? buf_str(&b) : str_of(empty));
}

static struct json deployment_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return selector_text(a, obj, "<invalid>", "");
}

static struct json set_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return selector_text(a, obj, "<error>", "<none>");
}

/* ---- Deployments. ---- */

static struct json deployment_ready(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(str_fmt(a, "%lld/%lld", (long long)column_int(obj, "status.readyReplicas"),
                            (long long)column_int(obj, "spec.replicas")));
}

static struct json updated(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.updatedReplicas"));
}

static struct json available(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.availableReplicas"));
}

static const struct column deployments[] = {
    NAME_COLUMN,
    CELL_COLUMN("Ready", deployment_ready),
    CELL_COLUMN("Up-to-date", updated),
    CELL_COLUMN("Available", available),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
    WIDE_CELL_COLUMN("Selector", deployment_selector),
};
COLUMNS(columns_deployments, deployments);

/* ---- ReplicaSets. ---- */

static struct json desired(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "spec.replicas"));
}

static struct json current(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.replicas"));
}

static struct json ready(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.readyReplicas"));
}

static const struct column replica_sets[] = {
    NAME_COLUMN,
    INTEGER_COLUMN("Desired", desired),
    INTEGER_COLUMN("Current", current),
    INTEGER_COLUMN("Ready", ready),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
    WIDE_CELL_COLUMN("Selector", set_selector),
};
COLUMNS(columns_replica_sets, replica_sets);

/* ---- Jobs. ---- */

static struct json job_status(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    const struct json *conditions = json_dig(obj, "status.conditions");
    const char *text = column_condition_is_true(conditions, S("Complete"))        ? "Complete"
                       : column_condition_is_true(conditions, S("Failed"))        ? "Failed"
                       : column_text(obj, "metadata.deletionTimestamp").n         ? "Terminating"
                       : column_condition_is_true(conditions, S("Suspended"))     ? "Suspended"
                       : column_condition_is_true(conditions, S("FailureTarget")) ? "FailureTarget"
                                                                                  : "Running";
    return json_str(str_of(text));
}

static struct json completions(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    long long done = column_int(obj, "status.succeeded"), parallel = column_int(obj, "spec.parallelism");
    if (json_is_num(json_dig(obj, "spec.completions")))
        return json_str(str_fmt(a, "%lld/%lld", done, (long long)column_int(obj, "spec.completions")));
    return json_str(parallel > 1 ? str_fmt(a, "%lld/1 of %lld", done, parallel) : str_fmt(a, "%lld/1", done));
}

static struct json job_duration(struct arena *a, const struct json *obj, int64_t now)
{
    int64_t start, end = now;
    uint32_t nanos;
    if (!time_parse(column_text(obj, "status.startTime"), &start, &nanos))
        return json_str((str){0});
    if (!time_parse(column_text(obj, "status.completionTime"), &end, &nanos))
        end = now;
    return json_str(column_duration(a, end - start));
}

static const struct column jobs[] = {
    NAME_COLUMN,
    CELL_COLUMN("Status", job_status),
    CELL_COLUMN("Completions", completions),
    CELL_COLUMN("Duration", job_duration),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
    WIDE_CELL_COLUMN("Selector", set_selector),
};
COLUMNS(columns_jobs, jobs);
