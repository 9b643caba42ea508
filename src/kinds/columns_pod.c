/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1 Pod: what a pod is doing, summed up over its containers. */
#include "kinds/columns_internal.h"

#include "base/map.h"

struct summary {
    int64_t ready, total, restarts;
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
            s->ready += json_true(json_get(c, S("ready")));
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
            s->ready++;
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

static struct json ready(struct arena *a, const struct json *pod, int64_t now)
{
    (void)now;
    struct summary s = summarize(a, pod);
    return json_str(str_fmt(a, "%lld/%lld", (long long)s.ready, (long long)s.total));
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
    CELL_COLUMN("Ready", ready),
    CELL_COLUMN("Status", status),
    CELL_COLUMN("Restarts", restarts),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("IP", pod_ip),
    WIDE_FIELD_COLUMN("Node", "spec.nodeName", "<none>"),
    WIDE_FIELD_COLUMN("Nominated Node", "status.nominatedNodeName", "<none>"),
    WIDE_CELL_COLUMN("Readiness Gates", readiness_gates),
};
COLUMNS(columns_pods, pods);
