/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/map.h"
#include "kinds/columns_internal.h"
#include "kinds/strategy_internal.h"
#include "object/kind.h"

/* core/v1 Pod: what a pod is doing, summed up over its containers. */

struct summary {
    int64_t n_ready, total, restarts;
    str last_restart; /* RFC 3339 in UTC, so that texts compare as times do */
    str reason;
};

static void note_restarts(const struct json *status, int64_t *restarts, str *last)
{
    str finished = column_text(status, "lastState.terminated.finishedAt");
    *restarts += column_int(status, "restartCount");
    if (str_cmp(finished, *last) > 0)
        *last = finished;
}

/* "Error", or "Signal:9", or "ExitCode:1". */
static str termination(struct arena *a, const struct json *terminated)
{
    str reason = json_get_text(terminated, S("reason"));
    long long number = column_int(terminated, "signal");
    if (reason.n)
        return reason;
    return number ? str_fmt(a, "Signal:%lld", number)
                  : str_fmt(a, "ExitCode:%lld", (long long)column_int(terminated, "exitCode"));
}

static bool is_sidecar(const struct json *container)
{
    return str_eq(json_get_text(container, S("restartPolicy")), S("Always"));
}

/* Init containers by name; of those with the same name the last one counts. */
static void index_init_containers(struct map *by_name, const struct json *pod)
{
    json_each_item(json_dig(pod, "spec.initContainers"), c)
    {
        map_set(by_name, json_get_text(c, S("name")), (void *)c);
    }
}

/* Walks the init containers up to the first that is not done; true when there is one. Those that are restarted always
 * run beside the others: their restarts also go to *side. */
static bool init_walk(struct arena *a, const struct json *pod, const struct map *by_name, struct summary *s,
                      struct summary *side)
{
    const struct json *list = json_dig(pod, "status.initContainerStatuses");
    json_each_item(list, c)
    {
        bool sidecar = is_sidecar(map_get(by_name, json_get_text(c, S("name"))));
        const struct json *terminated = json_dig(c, "state.terminated");
        str waiting = column_text(c, "state.waiting.reason");
        note_restarts(c, &s->restarts, &s->last_restart);
        if (sidecar)
            note_restarts(c, &side->restarts, &side->last_restart);
        if (json_is_obj(terminated) && column_int(terminated, "exitCode") == 0)
            continue;
        if (sidecar && json_true(json_get(c, S("started")))) {
            s->n_ready += json_true(json_get(c, S("ready")));
            continue;
        }
        if (json_is_obj(terminated))
            s->reason = str_fmt(a, "Init:%.*s", STR(termination(a, terminated)));
        else if (waiting.n && !str_eq(waiting, S("PodInitializing")))
            s->reason = str_fmt(a, "Init:%.*s", STR(waiting));
        else
            s->reason =
                str_fmt(a, "Init:%zu/%zu", (size_t)(c - list->items), json_len(json_dig(pod, "spec.initContainers")));
        return true;
    }
    return false;
}

static bool initializing(struct arena *a, const struct json *pod, struct summary *s, struct summary *side)
{
    struct map by_name = {0};
    index_init_containers(&by_name, pod);
    bool yes = init_walk(a, pod, &by_name, s, side);
    map_done(&by_name);
    return yes;
}

/* The containers proper, the last one first, so that the first has the last word. */
static void running(struct arena *a, const struct json *pod, struct summary *s)
{
    const struct json *list = json_dig(pod, "status.containerStatuses");
    bool any_running = false;
    for (size_t i = json_is_arr(list) ? list->n : 0; i-- > 0;) {
        const struct json *c = &list->items[i], *terminated = json_dig(c, "state.terminated");
        str waiting = column_text(c, "state.waiting.reason");
        note_restarts(c, &s->restarts, &s->last_restart);
        if (waiting.n) {
            s->reason = waiting;
        } else if (json_is_obj(terminated)) {
            s->reason = termination(a, terminated);
        } else if (json_true(json_get(c, S("ready"))) && json_is_obj(json_dig(c, "state.running"))) {
            any_running = true;
            s->n_ready++;
        }
    }
    if (str_eq(s->reason, S("Completed")) && any_running)
        s->reason =
            column_condition_is_true(json_dig(pod, "status.conditions"), S("Ready")) ? S("Running") : S("NotReady");
}

static struct summary summarize(struct arena *a, const struct json *pod)
{
    const struct json *conditions = json_dig(pod, "status.conditions");
    str phase = column_text(pod, "status.phase"), why = column_text(pod, "status.reason");
    struct summary s = {.reason = why.n ? why : phase}, side = {0};
    s.total = (int64_t)json_len(json_dig(pod, "spec.containers"));
    json_each_item(json_dig(pod, "spec.initContainers"), c)
    {
        s.total += is_sidecar(c);
    }
    json_each_item(conditions, c)
    {
        if (str_eq(json_get_text(c, S("type")), S("PodScheduled")) &&
            str_eq(json_get_text(c, S("reason")), S("SchedulingGated")))
            s.reason = S("SchedulingGated");
    }
    if (!initializing(a, pod, &s, &side) || column_condition_is_true(conditions, S("Initialized"))) {
        s.restarts = side.restarts;
        s.last_restart = side.last_restart;
        running(a, pod, &s);
    }
    if (column_text(pod, "metadata.deletionTimestamp").n) {
        if (str_eq(why, S("NodeLost")))
            s.reason = S("Unknown");
        else if (!str_eq(phase, S("Succeeded")) && !str_eq(phase, S("Failed")))
            s.reason = S("Terminating");
    }
    return s;
}

static struct json pod_ready(struct arena *a, const struct json *pod, int64_t now)
{
    (void)now;
    struct summary s = summarize(a, pod);
    return json_str(str_fmt(a, "%lld/%lld", (long long)s.n_ready, (long long)s.total));
}

static struct json status(struct arena *a, const struct json *pod, int64_t now)
{
    (void)now;
    return json_str(summarize(a, pod).reason);
}

static struct json restarts(struct arena *a, const struct json *pod, int64_t now)
{
    struct summary s = summarize(a, pod);
    if (s.restarts == 0 || s.last_restart.n == 0)
        return json_str(str_fmt(a, "%lld", (long long)s.restarts));
    return json_str(str_fmt(a, "%lld (%.*s ago)", (long long)s.restarts, STR(column_age(a, s.last_restart, now))));
}

static struct json pod_ip(struct arena *a, const struct json *pod, int64_t now)
{
    (void)a;
    (void)now;
    const struct json *ips = json_dig(pod, "status.podIPs");
    str ip = json_is_arr(ips) && ips->n ? json_get_text(&ips->items[0], S("ip")) : (str){0};
    return json_str(ip.n ? ip : S("<none>"));
}

static struct json readiness_gates(struct arena *a, const struct json *pod, int64_t now)
{
    (void)now;
    const struct json *gates = json_dig(pod, "spec.readinessGates");
    struct map status_of = {0};
    size_t open = 0;
    if (json_len(gates) == 0)
        return json_str(S("<none>"));
    json_each_item(json_dig(pod, "status.conditions"), c)
    {
        if (!map_get(&status_of, json_get_text(c, S("type")))) /* the first one counts */
            map_set(&status_of, json_get_text(c, S("type")), (void *)c);
    }
    json_each_item(gates, g)
    {
        const struct json *c = map_get(&status_of, json_get_text(g, S("conditionType")));
        open += str_eq(json_get_text(c, S("status")), S("True"));
    }
    map_done(&status_of);
    return json_str(str_fmt(a, "%zu/%zu", open, json_len(gates)));
}

static const struct column pods[] = {
    NAME_COLUMN,
    CELL_COLUMN("Ready", pod_ready),
    CELL_COLUMN("Status", status),
    CELL_COLUMN("Restarts", restarts),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("IP", pod_ip),
    WIDE_FIELD_COLUMN("Node", "spec.nodeName", "<none>"),
    WIDE_FIELD_COLUMN("Nominated Node", "status.nominatedNodeName", "<none>"),
    WIDE_CELL_COLUMN("Readiness Gates", readiness_gates),
};
COLUMNS(columns_pods, pods);

/* Columns of kinds that make pods. */

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

/* How many pods there may be: columns of HorizontalPodAutoscaler and PodDisruptionBudget. */

enum { SHOWN = 2 }; /* of the targets; then "+ 4 more..." */

/* ---- Autoscalers. ---- */

static struct json reference(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(str_fmt(a, "%.*s/%.*s", STR(column_text(obj, "spec.scaleTargetRef.kind")),
                            STR(column_text(obj, "spec.scaleTargetRef.name"))));
}

/* An amount or a percentage, or the placeholder. */
static str amount(struct arena *a, const struct json *values, const char *member, const char *none)
{
    int64_t percent;
    const struct json *v = json_get(values, str_of(member));
    if (json_to_int(v, &percent))
        return str_fmt(a, "%lld%%", (long long)percent);
    return json_is_str(v) ? json_text(v) : str_of(none);
}

/* One metric. A value that is missing where others are shown is <nil>: "<unknown>/500m (avg)", "cpu: 60%/80%". */
static str target(struct arena *a, const struct json *metric, const struct json *current)
{
    static const char *const sources[][2] = {{"External", "external"},
                                             {"Pods", "pods"},
                                             {"Object", "object"},
                                             {"Resource", "resource"},
                                             {"ContainerResource", "containerResource"}};
    str type = json_get_text(metric, S("type"));
    for (size_t i = 0; i < COUNT(sources); i++) {
        if (!str_eq(type, str_of(sources[i][0])))
            continue;
        str source = str_of(sources[i][1]), name = json_text(json_get(json_get(metric, source), S("name")));
        const struct json *want = json_get(json_get(metric, source), S("target"));
        const struct json *is = json_get(json_get(current, source), S("current"));
        bool is_named = i >= 3, is_average = json_is_str(json_get(want, S("averageValue")));
        const char *member = is_average || i == 1 ? "averageValue" : is_named ? "averageUtilization" : "value";
        bool is_unknown = !json_is_obj(is) || (is_average ? !is_named && i != 1 : is_named);
        str l = amount(a, is, member, is_unknown ? "<unknown>" : "<nil>"),
            r = amount(a, want, member, is_named ? "<auto>" : "<nil>");
        if (is_named)
            return str_fmt(a, "%.*s: %.*s/%.*s", STR(name), STR(l), STR(r));
        return str_fmt(a, "%.*s/%.*s%s", STR(l), STR(r), is_average && i != 1 ? " (avg)" : "");
    }
    return S("<unknown type>");
}

static struct json targets(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *metrics = json_dig(obj, "spec.metrics"), *current = json_dig(obj, "status.currentMetrics");
    struct buf b = {.arena = a};
    (void)now;
    if (json_len(metrics) == 0)
        return json_str(S("<none>"));
    for (size_t i = 0; i < json_len(metrics) && i < SHOWN; i++)
        column_join(&b, target(a, &metrics->items[i], i < json_len(current) ? &current->items[i] : NULL), ", ");
    if (json_len(metrics) > SHOWN)
        buf_fmt(&b, " + %zu more...", json_len(metrics) - SHOWN);
    return json_str(buf_str(&b));
}

/* v1 has most of them in annotations. */
static struct json targets_v1(struct arena *a, const struct json *obj, int64_t now)
{
    struct json v2 = json_dup(a, obj);
    autoscaler_to_v2(a, &v2);
    return targets(a, &v2, now);
}

static struct json min_pods(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    if (!json_is_num(json_dig(obj, "spec.minReplicas")))
        return json_str(S("<unset>"));
    return json_str(str_fmt(a, "%lld", (long long)column_int(obj, "spec.minReplicas")));
}

static struct json max_pods(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "spec.maxReplicas"));
}

static struct json current_replicas(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.currentReplicas"));
}

static const struct column horizontal_pod_autoscalers[] = {
    NAME_COLUMN,
    CELL_COLUMN("Reference", reference),
    CELL_COLUMN("Targets", targets),
    CELL_COLUMN("MinPods", min_pods),
    CELL_COLUMN("MaxPods", max_pods),
    CELL_COLUMN("Replicas", current_replicas),
    AGE_COLUMN,
};
COLUMNS(columns_horizontal_pod_autoscalers, horizontal_pod_autoscalers);

static const struct column horizontal_pod_autoscalers_v1[] = {
    NAME_COLUMN,
    CELL_COLUMN("Reference", reference),
    CELL_COLUMN("Targets", targets_v1),
    CELL_COLUMN("MinPods", min_pods),
    CELL_COLUMN("MaxPods", max_pods),
    CELL_COLUMN("Replicas", current_replicas),
    AGE_COLUMN,
};
COLUMNS(columns_horizontal_pod_autoscalers_v1, horizontal_pod_autoscalers_v1);

/* ---- Disruption budgets. ---- */

static struct json share(struct arena *a, const struct json *v)
{
    int64_t n;
    if (json_to_int(v, &n))
        return json_str(str_fmt(a, "%lld", (long long)n));
    return json_str(json_is_str(v) ? json_text(v) : S("N/A"));
}

static struct json min_available(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return share(a, json_dig(obj, "spec.minAvailable"));
}

static struct json max_unavailable(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return share(a, json_dig(obj, "spec.maxUnavailable"));
}

static struct json allowed(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "status.disruptionsAllowed"));
}

static const struct column pod_disruption_budgets[] = {
    NAME_COLUMN,
    CELL_COLUMN("Min Available", min_available),
    CELL_COLUMN("Max Unavailable", max_unavailable),
    INTEGER_COLUMN("Allowed Disruptions", allowed),
    AGE_COLUMN,
};
COLUMNS(columns_pod_disruption_budgets, pod_disruption_budgets);
