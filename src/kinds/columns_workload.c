/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of kinds that make pods. */
#include "base/clock.h"
#include "kinds/columns_internal.h"
#include "object/kind.h"

static struct json deployment_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return column_selector(a, json_dig(obj, "spec.selector"), "<invalid>", "");
}

static struct json set_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return column_selector(a, json_dig(obj, "spec.selector"), "<error>", "<none>");
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

/* ---- ReplicationControllers: as ReplicaSets, but their selector is a plain map. ---- */

static struct json plain_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(column_labels(a, json_dig(obj, "spec.selector")));
}

static const struct column replication_controllers[] = {
    NAME_COLUMN,
    INTEGER_COLUMN("Desired", desired),
    INTEGER_COLUMN("Current", current),
    INTEGER_COLUMN("Ready", ready),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
    WIDE_CELL_COLUMN("Selector", plain_selector),
};
COLUMNS(columns_replication_controllers, replication_controllers);

/* ---- StatefulSets. ---- */

static const struct column stateful_sets[] = {
    NAME_COLUMN,
    CELL_COLUMN("Ready", deployment_ready),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
};
COLUMNS(columns_stateful_sets, stateful_sets);

/* ---- DaemonSets. ---- */

#define COUNT_CELL(fn, path)                                                    \
    static struct json fn(struct arena *a, const struct json *obj, int64_t now) \
    {                                                                           \
        (void)a;                                                                \
        (void)now;                                                              \
        return json_int(column_int(obj, path));                                 \
    }

COUNT_CELL(daemons_desired, "status.desiredNumberScheduled")
COUNT_CELL(daemons_current, "status.currentNumberScheduled")
COUNT_CELL(daemons_ready, "status.numberReady")
COUNT_CELL(daemons_updated, "status.updatedNumberScheduled")
COUNT_CELL(daemons_available, "status.numberAvailable")

static struct json node_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(column_labels(a, json_dig(obj, "spec.template.spec.nodeSelector")));
}

static const struct column daemon_sets[] = {
    NAME_COLUMN,
    INTEGER_COLUMN("Desired", daemons_desired),
    INTEGER_COLUMN("Current", daemons_current),
    INTEGER_COLUMN("Ready", daemons_ready),
    INTEGER_COLUMN("Up-to-date", daemons_updated),
    INTEGER_COLUMN("Available", daemons_available),
    CELL_COLUMN("Node Selector", node_selector),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", column_template_names),
    WIDE_CELL_COLUMN("Images", column_template_images),
    WIDE_CELL_COLUMN("Selector", set_selector),
};
COLUMNS(columns_daemon_sets, daemon_sets);

/* ---- Revisions and templates, which controllers keep. ---- */

/* "statefulset.apps/web", or <none>. */
static struct json controller(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    json_each_item(json_dig(obj, "metadata.ownerReferences"), owner)
    {
        str group = {0}, version, kind = str_dup(a, json_get_text(owner, S("kind")));
        if (!json_true(json_get(owner, S("controller"))))
            continue;
        kind_split_api_version(json_get_text(owner, S("apiVersion")), &group, &version);
        for (size_t i = 0; i < kind.n; i++) {
            if (char_is_upper(kind.p[i]))
                ((char *)kind.p)[i] |= 0x20;
        }
        return json_str(str_fmt(a, "%.*s%s%.*s/%.*s", STR(kind), group.n ? "." : "", STR(group),
                                STR(json_get_text(owner, S("name")))));
    }
    return json_str(S("<none>"));
}

COUNT_CELL(revision, "revision")

static const struct column controller_revisions[] = {
    NAME_COLUMN,
    CELL_COLUMN("Controller", controller),
    CELL_COLUMN("Revision", revision),
    AGE_COLUMN,
};
COLUMNS(columns_controller_revisions, controller_revisions);

static struct json pod_labels(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(column_labels(a, json_dig(obj, "template.metadata.labels")));
}

static const struct column pod_templates[] = {
    NAME_COLUMN,
    CELL_COLUMN("Containers", column_template_names),
    CELL_COLUMN("Images", column_template_images),
    CELL_COLUMN("Pod Labels", pod_labels),
};
COLUMNS(columns_pod_templates, pod_templates);

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

/* ---- CronJobs. ---- */

static const struct json *job_template(const struct json *obj)
{
    return json_dig(obj, "spec.jobTemplate");
}

static struct json cron_suspend(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *suspend = json_dig(obj, "spec.suspend");
    (void)a;
    (void)now;
    return json_str(json_is_null(suspend) ? S("<unset>") : json_true(suspend) ? S("True") : S("False"));
}

static struct json cron_active(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int((int64_t)json_len(json_dig(obj, "status.active")));
}

static struct json cron_last(struct arena *a, const struct json *obj, int64_t now)
{
    str last = column_text(obj, "status.lastScheduleTime");
    return json_str(last.n ? column_age(a, last, now) : S("<none>"));
}

static struct json cron_names(struct arena *a, const struct json *obj, int64_t now)
{
    return column_template_names(a, job_template(obj), now);
}

static struct json cron_images(struct arena *a, const struct json *obj, int64_t now)
{
    return column_template_images(a, job_template(obj), now);
}

static struct json cron_selector(struct arena *a, const struct json *obj, int64_t now)
{
    return set_selector(a, job_template(obj), now);
}

static const struct column cron_jobs[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Schedule", "spec.schedule", NULL),
    FIELD_COLUMN("Timezone", "spec.timeZone", "<none>"),
    {.name = "Suspend", .type = "boolean", .cell = cron_suspend},
    INTEGER_COLUMN("Active", cron_active),
    CELL_COLUMN("Last Schedule", cron_last),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Containers", cron_names),
    WIDE_CELL_COLUMN("Images", cron_images),
    WIDE_CELL_COLUMN("Selector", cron_selector),
};
COLUMNS(columns_cron_jobs, cron_jobs);
