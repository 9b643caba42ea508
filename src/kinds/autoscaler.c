/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/autoscaler.h"

#include "kinds/canonical.h"
#include "kinds/shapes.h"
#include "kinds/strategy_check.h"
#include "kinds/strict.h"
#include "object/meta.h"

enum { DEFAULT_CPU = 80 }; /* percent, where nothing else is asked for */

static const struct {
    const char *annotation, *member; /* of shape_autoscaler_notes */
} notes[] = {
    {"autoscaling.alpha.kubernetes.io/metrics", "metrics"},
    {"autoscaling.alpha.kubernetes.io/behavior", "behavior"},
    {"autoscaling.alpha.kubernetes.io/current-metrics", "currentMetrics"},
    {"autoscaling.alpha.kubernetes.io/conditions", "conditions"},
};

enum { N_NOTES = COUNT(notes) };

/* ---- Metrics: v1 has in one record what v2 parts into metric, target and current. ---- */

struct metric_field {
    const char *source, *v1, *part, *v2; /* part NULL: not inside another record */
};

static const struct metric_field wanted[] = {
    {"object", "target", NULL, "describedObject"},
    {"object", "metricName", "metric", "name"},
    {"object", "selector", "metric", "selector"},
    {"object", "targetValue", "target", "value"},
    {"object", "averageValue", "target", "averageValue"},
    {"pods", "metricName", "metric", "name"},
    {"pods", "selector", "metric", "selector"},
    {"pods", "targetAverageValue", "target", "averageValue"},
    {"resource", "name", NULL, "name"},
    {"resource", "targetAverageUtilization", "target", "averageUtilization"},
    {"resource", "targetAverageValue", "target", "averageValue"},
    {"containerResource", "name", NULL, "name"},
    {"containerResource", "container", NULL, "container"},
    {"containerResource", "targetAverageUtilization", "target", "averageUtilization"},
    {"containerResource", "targetAverageValue", "target", "averageValue"},
    {"external", "metricName", "metric", "name"},
    {"external", "metricSelector", "metric", "selector"},
    {"external", "targetValue", "target", "value"},
    {"external", "targetAverageValue", "target", "averageValue"},
};

static const struct metric_field measured[] = {
    {"object", "target", NULL, "describedObject"},
    {"object", "metricName", "metric", "name"},
    {"object", "selector", "metric", "selector"},
    {"object", "currentValue", "current", "value"},
    {"object", "averageValue", "current", "averageValue"},
    {"pods", "metricName", "metric", "name"},
    {"pods", "selector", "metric", "selector"},
    {"pods", "currentAverageValue", "current", "averageValue"},
    {"resource", "name", NULL, "name"},
    {"resource", "currentAverageUtilization", "current", "averageUtilization"},
    {"resource", "currentAverageValue", "current", "averageValue"},
    {"containerResource", "name", NULL, "name"},
    {"containerResource", "container", NULL, "container"},
    {"containerResource", "currentAverageUtilization", "current", "averageUtilization"},
    {"containerResource", "currentAverageValue", "current", "averageValue"},
    {"external", "metricName", "metric", "name"},
    {"external", "metricSelector", "metric", "selector"},
    {"external", "currentValue", "current", "value"},
    {"external", "currentAverageValue", "current", "averageValue"},
};

struct metric_table {
    const struct metric_field *rows;
    size_t n;
};

static const struct metric_table specs = {wanted, COUNT(wanted)};
static const struct metric_table statuses = {measured, COUNT(measured)};

static void copy_to_v1(struct arena *a, const struct metric_field *f, const struct json *from, struct json *to)
{
    const struct json *v = json_get(f->part ? json_get(from, str_of(f->part)) : from, str_of(f->v2));
    if (!json_is_null(v))
        json_set(a, to, str_of(f->v1), *v);
}

static void copy_to_v2(struct arena *a, const struct metric_field *f, const struct json *from, struct json *to)
{
    const struct json *v = json_get(from, str_of(f->v1));
    if (!json_is_null(v))
        json_set(a, f->part ? make_obj(a, to, str_of(f->part)) : to, str_of(f->v2), *v);
}

static struct json convert_metric(struct arena *a, const struct metric_table *table, const struct json *metric,
                                  void (*copy)(struct arena *a, const struct metric_field *f, const struct json *from,
                                               struct json *to))
{
    struct json out = json_obj();
    copy_member(a, &out, metric, S("type"));
    for (size_t i = 0; i < table->n; i++) {
        const struct json *from = json_get(metric, str_of(table->rows[i].source));
        if (json_is_obj(from))
            copy(a, &table->rows[i], from, make_obj(a, &out, str_of(table->rows[i].source)));
    }
    return out;
}

/* v1 does not say of what type a target is; v2 does. */
static void set_target_type(struct arena *a, str source, struct json *record)
{
    struct json *target = make_obj(a, record, S("target"));
    bool has_value = !json_is_null(json_get(target, S("value"))),
         has_average = !json_is_null(json_get(target, S("averageValue"))),
         has_use = !json_is_null(json_get(target, S("averageUtilization")));
    bool is_value = str_eq(source, S("object")) ? !has_average : str_eq(source, S("external")) && has_value;
    json_set(a, target, S("type"), json_str(is_value ? S("Value") : has_use ? S("Utilization") : S("AverageValue")));
}

static struct json spec_to_v2(struct arena *a, const struct json *metric)
{
    struct json out = convert_metric(a, &specs, metric, copy_to_v2);
    for (size_t i = 0; i < out.n; i++) {
        if (json_is_obj(&out.members[i].val))
            set_target_type(a, json_key(&out.members[i]), &out.members[i].val);
    }
    return out;
}

/* ---- The use of the CPU, which v1 has a field for. ---- */

static bool is_cpu(const struct json *metric)
{
    return str_eq(json_get_text(metric, S("type")), S("Resource")) &&
           str_eq(json_text(json_dig(metric, "resource.name")), S("cpu"));
}

/* {type: Resource, resource: {name: cpu, PART: {averageUtilization: 80}}} */
static struct json cpu_metric(struct arena *a, str part, struct json percent)
{
    struct json metric = json_obj(), record = json_obj(), value = json_obj();
    if (str_eq(part, S("target")))
        json_set(a, &value, S("type"), json_str(S("Utilization")));
    json_set(a, &value, S("averageUtilization"), percent);
    json_set(a, &record, S("name"), json_str(S("cpu")));
    json_set(a, &record, part, value);
    json_set(a, &metric, S("type"), json_str(S("Resource")));
    json_set(a, &metric, S("resource"), record);
    return metric;
}

/* Takes a member away and returns it; null when there was none. */
static struct json take(struct json *parent, str key)
{
    const struct json *v = json_get(parent, key);
    struct json taken = v ? *v : json_null();
    json_remove(parent, key);
    return taken;
}

/* ---- Annotations. ---- */

void autoscaler_drop_notes(struct arena *a, struct json *object)
{
    struct json *annotations = json_get_mut(meta_of(a, object), S("annotations"));
    for (size_t i = 0; annotations && i < N_NOTES; i++)
        json_remove(annotations, str_of(notes[i].annotation));
    if (annotations && json_len(annotations) == 0)
        json_remove(meta_of(a, object), S("annotations"));
}

/* The names of the behavior begin with a capital in the annotation, but are read either way. */
static void set_capitals(struct arena *a, struct json *v, bool is_upper)
{
    for (size_t i = 0; json_is_arr(v) && i < v->n; i++)
        set_capitals(a, &v->items[i], is_upper);
    for (size_t i = 0; json_is_obj(v) && i < v->n; i++) {
        struct json_member *m = &v->members[i];
        str key = str_dup(a, json_key(m));
        char first = key.n ? key.p[0] : 0;
        bool changes = is_upper ? first >= 'a' && first <= 'z' : char_is_upper(first);
        if (changes)
            ((char *)key.p)[0] = (char)(first ^ 0x20);
        m->key = key.p;
        m->hash = json_hash(key);
        set_capitals(a, &m->val, is_upper);
    }
}

/* What an annotation holds, in full; null when it is absent or wrong. */
static struct json read_note(struct arena *a, struct json *object, const char *member)
{
    const struct json *annotations = json_get(meta_of(a, object), S("annotations"));
    for (size_t i = 0; i < N_NOTES; i++) {
        struct json held = json_obj(), v;
        struct err ignored;
        if (strcmp(notes[i].member, member) != 0 || json_get(annotations, str_of(notes[i].annotation)) == NULL)
            continue;
        str text = json_get_text(annotations, str_of(notes[i].annotation));
        if (json_decode(a, text, NULL, NULL, &v, &ignored) < 0)
            break;
        if (strcmp(member, "behavior") == 0)
            set_capitals(a, &v, true);
        json_set(a, &held, str_of(member), v);
        if (strict_decode(a, &shape_autoscaler_notes, &held, NULL, NULL, &ignored) < 0)
            break;
        canonical_form(a, &shape_autoscaler_notes, &held, 0);
        return take(&held, str_of(member));
    }
    return json_null();
}

static void write_note(struct arena *a, struct json *object, const char *member, struct json v)
{
    if (json_len(&v) == 0)
        return;
    struct json held = json_obj();
    struct buf text = {.arena = a};
    json_set(a, &held, str_of(member), v);
    canonical_form(a, &shape_autoscaler_notes, &held, 0);
    json_encode(&text, json_get(&held, str_of(member)), 0);
    for (size_t i = 0; i < N_NOTES; i++) {
        if (strcmp(notes[i].member, member) == 0)
            json_set(a, make_obj(a, meta_of(a, object), S("annotations")), str_of(notes[i].annotation),
                     json_str(buf_str(&text)));
    }
}

/* ---- v1 to v2. ---- */

static void spec_to_v2_form(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    struct json cpu = take(spec, S("targetCPUUtilizationPercentage")), metrics = json_arr();
    struct json others = read_note(a, object, "metrics"), behavior = read_note(a, object, "behavior");
    json_each_item(&others, it) json_push(a, &metrics, spec_to_v2(a, it));
    if (!json_is_null(&cpu))
        json_push(a, &metrics, cpu_metric(a, S("target"), cpu));
    if (metrics.n == 0)
        json_push(a, &metrics, cpu_metric(a, S("target"), json_int(DEFAULT_CPU)));
    spec = make_obj(a, object, S("spec"));
    json_set(a, spec, S("metrics"), metrics);
    set_capitals(a, &behavior, false);
    if (json_is_obj(json_get(&behavior, S("scaleUp"))) || json_is_obj(json_get(&behavior, S("scaleDown"))))
        json_set(a, spec, S("behavior"), behavior);
}

static void status_to_v2_form(struct arena *a, struct json *object)
{
    struct json *status = make_obj(a, object, S("status"));
    struct json cpu = take(status, S("currentCPUUtilizationPercentage")), metrics = json_arr();
    struct json all = read_note(a, object, "currentMetrics"), conditions = read_note(a, object, "conditions");
    json_each_item(&all, it) json_push(a, &metrics, convert_metric(a, &statuses, it, copy_to_v2));
    if (metrics.n == 0 && !json_is_null(&cpu))
        json_push(a, &metrics, cpu_metric(a, S("current"), cpu));
    status = make_obj(a, object, S("status"));
    json_set(a, status, S("currentMetrics"), metrics);
    if (json_len(&conditions))
        json_set(a, status, S("conditions"), conditions);
}

void autoscaler_to_v2(struct arena *a, struct json *object)
{
    spec_to_v2_form(a, object);
    status_to_v2_form(a, object);
    autoscaler_drop_notes(a, object);
    canonical_form(a, &shape_horizontal_pod_autoscaler_v2, object, 0);
}

/* ---- v2 to v1. ---- */

static void spec_to_v1_form(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    struct json metrics = take(spec, S("metrics")), behavior = take(spec, S("behavior"));
    struct json others = json_arr(), cpu = json_null();
    json_each_item(&metrics, it)
    {
        const struct json *percent = is_cpu(it) ? json_dig(it, "resource.target.averageUtilization") : NULL;
        if (json_is_null(percent))
            json_push(a, &others, convert_metric(a, &specs, it, copy_to_v1));
        else if (json_is_null(&cpu))
            cpu = *percent;
    }
    if (!json_is_null(&cpu))
        json_set(a, spec, S("targetCPUUtilizationPercentage"), cpu);
    set_capitals(a, &behavior, true);
    write_note(a, object, "metrics", others);
    write_note(a, object, "behavior", behavior);
}

static void status_to_v1_form(struct arena *a, struct json *object)
{
    struct json *status = make_obj(a, object, S("status"));
    struct json metrics = take(status, S("currentMetrics")), conditions = take(status, S("conditions"));
    struct json all = json_arr();
    json_each_item(&metrics, it)
    {
        const struct json *percent = is_cpu(it) ? json_dig(it, "resource.current.averageUtilization") : NULL;
        if (!json_is_null(percent))
            json_set(a, status, S("currentCPUUtilizationPercentage"), *percent);
        json_push(a, &all, convert_metric(a, &statuses, it, copy_to_v1));
    }
    write_note(a, object, "currentMetrics", all);
    write_note(a, object, "conditions", conditions);
}

void autoscaler_to_v1(struct arena *a, struct json *object)
{
    autoscaler_drop_notes(a, object);
    spec_to_v1_form(a, object);
    status_to_v1_form(a, object);
    canonical_form(a, &shape_horizontal_pod_autoscaler_v1, object, 0);
}
