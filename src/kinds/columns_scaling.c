/* SPDX-License-Identifier: Apache-2.0 */
/* How many pods there may be: columns of HorizontalPodAutoscaler and PodDisruptionBudget. */
#include "kinds/autoscaler.h"
#include "kinds/columns_internal.h"

enum { SHOWN = 2 }; /* of the targets; then "+ 4 more..." */

/* ---- Autoscalers. ---- */

static struct json reference(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(str_fmt(a, "%.*s/%.*s", STR(column_text(obj, "spec.scaleTargetRef.kind")),
                            STR(column_text(obj, "spec.scaleTargetRef.name"))));
}

/* An amount or a percentage; what stands for none. */
static str amount(struct arena *a, const struct json *values, const char *member, const char *none)
{
    int64_t percent;
    const struct json *v = json_get(values, str_of(member));
    if (json_to_int(v, &percent))
        return str_fmt(a, "%lld%%", (long long)percent);
    return json_is_str(v) ? json_text(v) : str_of(none);
}

/* One metric. A value that is missing where others are told is <nil>: "<unknown>/500m (avg)", "cpu: 60%/80%". */
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
