/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/shapes.h"
#include "kinds/strategy_internal.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/quantity.h"

#include <inttypes.h>

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

/* Targets have a type in v2 only. */
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

/* ---- CPU utilization, which has a field in v1. ---- */

static bool is_cpu(const struct json *metric)
{
    return str_eq(json_get_text(metric, S("type")), S("Resource")) &&
           str_eq(json_text(json_dig(metric, "resource.name")), S("cpu"));
}

/* {type: Resource, resource: {name: cpu, PART: {averageUtilization: 80}}} */
static struct json cpu_metric(struct arena *a, str part, struct json percent)
{
    return json_build(a, "{type: 'Resource', resource: {name: 'cpu', %.*s: {type?: %s, averageUtilization: %p}}}",
                      STR(part), str_eq(part, S("target")) ? "Utilization" : "", &percent);
}

/* Removes a member and returns it; null if there was none. */
static struct json take(struct json *parent, str key)
{
    const struct json *v = json_get(parent, key);
    struct json taken = v ? *v : json_null();
    json_remove(parent, key);
    return taken;
}

/* ---- Annotations. ---- */

/* Removes the four annotations, which v2 does not use. */
static void autoscaler_drop_notes(struct arena *a, struct json *object)
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

/* How many pods there may be: HorizontalPodAutoscaler and PodDisruptionBudget. */

enum {
    PERIOD = 15,
    MAX_PERIOD = 1800,
    MAX_WINDOW = 3600,
};

/* ---- Filling in autoscalers. ---- */

static struct json policy(struct arena *a, const char *type, int64_t value)
{
    return json_build(a, "{type: %s, value: %" PRId64 ", periodSeconds: %d}", type, value, PERIOD);
}

/* Up at once, by four pods or to twice as many; down without a limit. */
static void fill_rules(struct arena *a, struct json *behavior, str direction)
{
    bool is_up = str_eq(direction, S("scaleUp"));
    struct json *rules = make_obj(a, behavior, direction);
    default_str(a, rules, S("selectPolicy"), S("Max"));
    if (is_up)
        default_int(a, rules, S("stabilizationWindowSeconds"), 0);
    if (!json_is_null(json_get(rules, S("policies"))))
        return;
    struct json *policies = make_arr(a, rules, S("policies"));
    if (is_up)
        json_push(a, policies, policy(a, "Pods", 4));
    json_push(a, policies, policy(a, "Percent", 100));
}

static void fill_autoscaler(struct arena *a, struct json *object)
{
    autoscaler_drop_notes(a, object);
    struct json *spec = make_obj(a, object, S("spec"));
    default_int(a, spec, S("minReplicas"), 1);
    if (json_len(json_get(spec, S("metrics"))) == 0)
        json_push(a, json_set(a, spec, S("metrics"), json_arr()), cpu_metric(a, S("target"), json_int(DEFAULT_CPU)));
    struct json *behavior = json_get_mut(spec, S("behavior"));
    if (json_is_obj(behavior)) {
        fill_rules(a, behavior, S("scaleUp"));
        fill_rules(a, behavior, S("scaleDown"));
    }
}

/* Fields that v1 lacks are in annotations: with defaults, and in the form of a round trip through v2. */
static void fill_autoscaler_v1(struct arena *a, struct json *object)
{
    autoscaler_to_v2(a, object);
    fill_autoscaler(a, object);
    autoscaler_to_v1(a, object);
}

/* ---- Checking autoscalers. ---- */

static void check_segment(struct field_errors *errs, const struct place *at, str name, const char *missing)
{
    if (name.n == 0)
        check_required(errs, at, missing);
    else
        check_name(errs, at, NAME_PATH_SEGMENT, name);
}

static void check_reference(struct field_errors *errs, const struct place *at, const struct json *ref)
{
    check_segment(errs, AT(at, "kind"), json_get_text(ref, S("kind")), "");
    check_segment(errs, AT(at, "name"), json_get_text(ref, S("name")), "");
}

/* The amount is shown as it is written, not as Go's struct. */
static void check_target_amount(struct field_errors *errs, const struct place *at, const struct json *amount)
{
    if (json_is_str(amount) && quantity_check(json_text(amount)) == NULL && quantity_sign(json_text(amount)) <= 0)
        check_invalid(errs, at, amount, "must be positive");
}

static void check_target(struct field_errors *errs, const struct place *at, const struct json *target)
{
    const struct json *use = json_get(target, S("averageUtilization"));
    str type = json_get_text(target, S("type"));
    if (type.n == 0)
        check_required(errs, AT(at, "type"), "must specify a metric target type");
    if (!is_choice(type, "Utilization Value AverageValue"))
        check_invalid_text(errs, AT(at, "type"), type, "must be either Utilization, Value, or AverageValue");
    check_target_amount(errs, AT(at, "value"), json_get(target, S("value")));
    check_target_amount(errs, AT(at, "averageValue"), json_get(target, S("averageValue")));
    if (!json_is_null(use) && int_of(use) < 1)
        check_invalid(errs, AT(at, "averageUtilization"), use, "must be greater than 0");
}

/* What the target of each source must have, and may not have together. */
static void check_target_values(struct field_errors *errs, const struct place *at, str source,
                                const struct json *target)
{
    bool has_value = !json_is_null(json_get(target, S("value"))),
         has_average = !json_is_null(json_get(target, S("averageValue"))),
         has_use = !json_is_null(json_get(target, S("averageUtilization")));
    if (str_eq(source, S("object")) && !has_value && !has_average)
        check_required(errs, AT(at, "averageValue"), "must set either a target value or averageValue");
    if (str_eq(source, S("pods")) && !has_average)
        check_required(errs, AT(at, "averageValue"), "must specify a positive target averageValue");
    if (str_eq(source, S("external")) && !has_value && !has_average)
        check_required(errs, AT(at, "averageValue"), "must set either a target value for metric or a per-pod target");
    if (str_eq(source, S("external")) && has_value && has_average)
        check_forbidden(errs, AT(at, "value"), "may not set both a target value for metric and a per-pod target");
    if (!is_choice(source, "resource containerResource"))
        return;
    if (!has_use && !has_average)
        check_required(errs, AT(at, "averageUtilization"),
                       "must set either a target raw value or a target utilization");
    if (has_use && has_average)
        check_forbidden(errs, AT(at, "averageValue"), "may not set both a target raw value and a target utilization");
}

static void check_source(struct field_errors *errs, const struct place *at, str source, const struct json *record)
{
    const struct json *target = json_get(record, S("target"));
    if (str_eq(source, S("object")))
        check_reference(errs, AT(at, "describedObject"), json_get(record, S("describedObject")));
    if (is_choice(source, "object pods external"))
        check_segment(errs, AT(AT(at, "metric"), "name"), json_text(json_dig(record, "metric.name")),
                      "must specify a metric name");
    else if (json_get_text(record, S("name")).n == 0)
        check_required(errs, AT(at, "name"), "must specify a resource name");
    if (str_eq(source, S("containerResource"))) {
        str container = json_get_text(record, S("container"));
        if (container.n)
            check_name(errs, AT(at, "container"), NAME_DNS_LABEL, container);
        else
            check_required(errs, AT(at, "container"), "must specify a container");
    }
    check_target(errs, AT(at, "target"), target);
    check_target_values(errs, AT(at, "target"), source, target);
}

/* Only the first source is looked into; of several all but the one of the type are too many. */
static void check_metric(struct field_errors *errs, const struct place *at, const struct json *metric)
{
    static const char types[] = "ContainerResource External Object Pods Resource";
    static const char *const sources[][2] = {{"Object", "object"},
                                             {"External", "external"},
                                             {"Pods", "pods"},
                                             {"Resource", "resource"},
                                             {"ContainerResource", "containerResource"}};
    enum { N = COUNT(sources) };
    str type = json_get_text(metric, S("type")), own = {0};
    size_t n = 0;
    if (type.n == 0)
        check_required(errs, AT(at, "type"), "must specify a metric source type");
    if (!is_choice(type, types))
        check_unsupported(errs, AT(at, "type"), type, types);
    for (size_t i = 0; i < N; i++) {
        str name = str_of(sources[i][1]);
        const struct json *record = json_get(metric, name);
        if (str_eq(type, str_of(sources[i][0])))
            own = name;
        if (json_is_obj(record) && n++ == 0)
            check_source(errs, AT_FIELD(at, name), name, record);
    }
    if (own.n && !json_is_obj(json_get(metric, own)))
        check_required(errs, AT_FIELD(at, own), "must populate information for the given metric source");
    for (size_t i = 0; n > 1 && i < N; i++) {
        str name = str_of(sources[i][1]);
        if (json_is_obj(json_get(metric, name)) && !str_eq(name, own))
            check_forbidden(errs, AT_FIELD(at, name), "must populate the given metric source only");
    }
}

static void check_policy(struct field_errors *errs, const struct place *at, const struct json *p)
{
    const struct json *value = json_get(p, S("value")), *period = json_get(p, S("periodSeconds"));
    str type = json_get_text(p, S("type"));
    if (!is_choice(type, "Percent Pods"))
        check_unsupported(errs, AT(at, "type"), type, "Percent Pods");
    if (int_of(value) <= 0)
        check_invalid(errs, AT(at, "value"), value, "must be greater than zero");
    if (int_of(period) <= 0)
        check_invalid(errs, AT(at, "periodSeconds"), period, "must be greater than zero");
    if (int_of(period) > MAX_PERIOD)
        check_invalid(errs, AT(at, "periodSeconds"), period, "must be less than or equal to 1800");
}

static void check_rules(struct field_errors *errs, const struct place *at, const struct json *rules)
{
    const struct json *window = json_get(rules, S("stabilizationWindowSeconds")),
                      *policies = json_get(rules, S("policies")), *select = json_get(rules, S("selectPolicy"));
    if (!json_is_obj(rules))
        return;
    if (int_of(window) < 0)
        check_invalid(errs, AT(at, "stabilizationWindowSeconds"), window, "must be greater than or equal to zero");
    if (int_of(window) > MAX_WINDOW)
        check_invalid(errs, AT(at, "stabilizationWindowSeconds"), window, "must be less than or equal to 3600");
    if (!json_is_null(select) && !is_choice(json_text(select), "Disabled Max Min"))
        check_unsupported(errs, AT(at, "selectPolicy"), json_text(select), "Disabled Max Min");
    if (json_len(policies) == 0)
        check_required(errs, AT(at, "policies"), "must specify at least one Policy");
    json_each_item(policies, it) check_policy(errs, AT_ITEM(AT(at, "policies"), (size_t)(it - policies->items)), it);
}

static void check_metrics(struct field_errors *errs, const struct place *at, const struct json *metrics, bool to_zero)
{
    bool has_signal = false; /* that there is work though there is no pod */
    json_each_item(metrics, it)
    {
        check_metric(errs, AT_ITEM(at, (size_t)(it - metrics->items)), it);
        has_signal = has_signal || is_choice(json_get_text(it, S("type")), "Object External");
    }
    if (to_zero && !has_signal)
        check_forbidden(errs, at,
                        "must specify at least one Object or External metric to support scaling to zero replicas");
}

/* An existing autoscaler may keep minReplicas 0, but an update cannot set it. */
static void check_autoscaler(struct field_errors *errs, const struct json *object, bool may_be_zero)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *behavior = json_get(spec, S("behavior"));
    const struct json *min = json_get(spec, S("minReplicas")), *max = json_get(spec, S("maxReplicas"));
    if (!json_is_null(min) && int_of(min) < !may_be_zero)
        check_invalid(errs, AT(at, "minReplicas"), min,
                      may_be_zero ? "must be greater than or equal to 0" : "must be greater than or equal to 1");
    if (int_of(max) < 1)
        check_invalid(errs, AT(at, "maxReplicas"), max, "must be greater than 0");
    if (!json_is_null(min) && int_of(max) < int_of(min))
        check_invalid(errs, AT(at, "maxReplicas"), max, "must be greater than or equal to `minReplicas`");
    check_reference(errs, AT(at, "scaleTargetRef"), json_get(spec, S("scaleTargetRef")));
    check_metrics(errs, AT(at, "metrics"), json_get(spec, S("metrics")), !json_is_null(min) && int_of(min) == 0);
    check_rules(errs, AT(AT(at, "behavior"), "scaleUp"), json_get(behavior, S("scaleUp")));
    check_rules(errs, AT(AT(at, "behavior"), "scaleDown"), json_get(behavior, S("scaleDown")));
}

static void validate_autoscaler(struct field_errors *errs, const struct json *object)
{
    check_autoscaler(errs, object, false);
}

static bool is_at_zero(const struct json *object)
{
    const struct json *min = json_dig(object, "spec.minReplicas");
    return !json_is_null(min) && int_of(min) == 0;
}

static void validate_autoscaler_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_autoscaler(errs, object, is_at_zero(current));
}

/* Errors name the fields of v2, for both versions. */
static struct json as_v2(struct arena *a, const struct json *object)
{
    struct json copy = json_dup(a, object);
    autoscaler_to_v2(a, &copy);
    return copy;
}

static void validate_autoscaler_v1(struct field_errors *errs, const struct json *object)
{
    struct json v2 = as_v2(errs->arena, object);
    check_autoscaler(errs, &v2, false);
}

static void validate_autoscaler_v1_update(struct field_errors *errs, const struct json *object,
                                          const struct json *current)
{
    struct json v2 = as_v2(errs->arena, object);
    check_autoscaler(errs, &v2, is_at_zero(current));
}

static void validate_autoscaler_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct place *at = AT(NULL, "status");
    const struct json *status = json_get(object, S("status"));
    (void)current;
    check_not_negative(errs, AT(at, "currentReplicas"), json_get(status, S("currentReplicas")));
    check_not_negative(errs, AT(at, "desiredReplicas"), json_get(status, S("desiredReplicas")));
}

/* ---- Disruption budgets. ---- */

static void check_budget(struct field_errors *errs, const struct place *at, const struct json *share)
{
    if (json_is_null(share))
        return;
    check_share(errs, at, share);
    if (is_percent(share) && share_of(share) > 100)
        check_invalid_go(errs, at, go_int_or_string(errs->arena, share), "must not be greater than 100%");
}

static void validate_budget(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *least = json_get(spec, S("minAvailable")),
                      *most = json_get(spec, S("maxUnavailable")), *selector = json_get(spec, S("selector"));
    const struct json *evict = json_get(spec, S("unhealthyPodEvictionPolicy"));
    if (!json_is_null(least) && !json_is_null(most))
        check_invalid(errs, at, spec, "minAvailable and maxUnavailable cannot be both set");
    check_budget(errs, AT(at, "minAvailable"), least);
    check_budget(errs, AT(at, "maxUnavailable"), most);
    if (json_is_obj(selector))
        check_selector(errs, AT(at, "selector"), selector);
    if (!json_is_null(evict) && !is_choice(json_text(evict), "AlwaysAllow IfHealthyBudget"))
        check_unsupported(errs, AT(at, "unhealthyPodEvictionPolicy"), json_text(evict), "AlwaysAllow IfHealthyBudget");
}

static void check_condition(struct field_errors *errs, const struct place *at, const struct json *condition)
{
    str type = json_get_text(condition, S("type")), status = json_get_text(condition, S("status"));
    if (type.n == 0)
        check_required(errs, AT(at, "type"), "must be set");
    else
        check_name(errs, AT(at, "type"), NAME_QUALIFIED, type);
    if (!is_choice(status, "False True Unknown"))
        check_unsupported(errs, AT(at, "status"), status, "False True Unknown");
    check_not_negative(errs, AT(at, "observedGeneration"), json_get(condition, S("observedGeneration")));
    if (json_is_null(json_get(condition, S("lastTransitionTime"))))
        check_required(errs, AT(at, "lastTransitionTime"), "must be set");
    if (json_get_text(condition, S("reason")).n == 0)
        check_required(errs, AT(at, "reason"), "must be set");
    else
        check_name(errs, AT(at, "reason"), NAME_CONDITION_REASON, json_get_text(condition, S("reason")));
}

static void validate_budget_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const counts[] = {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"};
    const struct place *at = AT(NULL, "status");
    const struct json *status = json_get(object, S("status")), *conditions = json_get(status, S("conditions"));
    (void)current;
    json_each_item(conditions, it)
        check_condition(errs, AT_ITEM(AT(at, "conditions"), (size_t)(it - conditions->items)), it);
    for (size_t i = 0; i < COUNT(counts); i++)
        check_not_negative(errs, AT_FIELD(at, str_of(counts[i])), json_get(status, str_of(counts[i])));
}

static const struct strategy rows[] = {
    {
        .group = "autoscaling",
        .version = "v2",
        .kind = "HorizontalPodAutoscaler",
        .fill = fill_autoscaler,
        .validate = validate_autoscaler,
        .validate_update = validate_autoscaler_update,
        .validate_status = validate_autoscaler_status,
        .keeps_its_old_faults = true,
    },
    {
        .group = "autoscaling",
        .version = "v1",
        .kind = "HorizontalPodAutoscaler",
        .fill = fill_autoscaler_v1,
        .validate = validate_autoscaler_v1,
        .validate_update = validate_autoscaler_v1_update,
        .validate_status = validate_autoscaler_status,
        .keeps_its_old_faults = true,
    },
    {
        .group = "policy",
        .kind = "PodDisruptionBudget",
        .validate = validate_budget,
        .validate_status = validate_budget_status,
    },
};
STRATEGIES(strategies_scaling, rows);
