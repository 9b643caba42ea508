/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_feedback.h"

#include "object/name.h"
#include "object/object.h"
#include "json/jsonpath.h"

/* ---- What went wrong, in the way Go prints a list of errors: one as it is, several in brackets, none of them twice. ---- */

struct reading {
    struct arena *arena;
    const struct json *object;
    str version; /* of the object: "v1" */
    struct json values;
    size_t n_paths, n_bytes;
    VEC(str) problems;
    size_t problem_bytes;
};

static void __attribute__((format(printf, 2, 3))) complain(struct reading *r, const char *fmt, ...)
{
    struct buf b = {.arena = r->arena};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    vec_each(&r->problems, known) if (str_eq(*known, buf_str(&b))) return;
    if (r->problem_bytes + b.n > FEEDBACK_PROBLEM_BYTES)
        return; /* there are more than enough */
    r->problem_bytes += b.n;
    *vec_push(r->arena, &r->problems) = buf_str(&b);
}

/* What a message names: a long text has no place in it. */
static str shown(struct arena *a, str text)
{
    return text.n <= 256 ? text : str_fmt(a, "(a text of %zu bytes)", text.n);
}

static str problem_of(struct reading *r)
{
    struct buf b = {.arena = r->arena};
    if (r->problems.n == 0)
        return (str){0};
    buf_add_str(&b, S("Sync status feedback failed with error "));
    if (r->problems.n == 1) {
        buf_add_str(&b, r->problems.p[0]);
        return buf_str(&b);
    }
    for (size_t i = 0; i < r->problems.n; i++)
        buf_fmt(&b, "%s%.*s", i ? ", " : "[", STR(r->problems.p[i]));
    buf_add_char(&b, ']');
    return buf_str(&b);
}

/* ---- One value. ---- */

/* As Go calls it. */
static const char *type_of(const struct json *v)
{
    return json_is_arr(v) ? "[]interface {}" : json_is_obj(v) ? "map[string]interface {}" : "float64";
}

static bool has_value(const struct reading *r, str name)
{
    json_each_item(&r->values, v)
    {
        if (str_eq(json_get_text(v, S("name")), name))
            return true;
    }
    return false;
}

static void add_value(struct reading *r, str name, const struct json *hit)
{
    static const struct {
        enum json_type of;
        const char *type, *member;
    } scalars[] = {{JSON_INT, "Integer", "integer"}, {JSON_STR, "String", "string"}, {JSON_BOOL, "Boolean", "boolean"}};
    size_t bytes = name.n + json_text(hit).n;
    str called = shown(r->arena, name);
    for (size_t i = 0; i < COUNT(scalars); i++) {
        if (scalars[i].of != json_type(hit))
            continue;
        if (bytes > FEEDBACK_BYTES - r->n_bytes) {
            complain(r, "the value for %.*s is too long: feedback is limited to %d bytes", STR(called), FEEDBACK_BYTES);
            return;
        }
        struct json value = json_obj(), field = json_obj();
        json_add(r->arena, &field, S("type"), json_str(str_of(scalars[i].type)));
        json_add(r->arena, &field, str_of(scalars[i].member), *hit);
        json_add(r->arena, &value, S("name"), json_str(name));
        json_add(r->arena, &value, S("fieldValue"), field);
        json_push(r->arena, &r->values, value);
        r->n_bytes += bytes;
        return;
    }
    complain(r, "the type %s of the value for %.*s is not found", type_of(hit), STR(called));
}

/* The first hit counts; none, or null, is no value and no problem. */
static void read_path(struct reading *r, str name, str text)
{
    const struct jsonpath *path;
    jsonpath_hits hits = {0};
    struct err err;
    if (r->n_paths++ >= FEEDBACK_PATHS) {
        complain(r, "there are more than %d paths", FEEDBACK_PATHS);
        return;
    }
    str called = shown(r->arena, name), given = shown(r->arena, text);
    if (jsonpath_compile(r->arena, text, &path, &err) < 0)
        complain(r, "failed to parse json path %.*s of %.*s with error: %s", STR(given), STR(called), err.msg);
    else if (!jsonpath_find(r->arena, path, r->object, &hits))
        complain(r, "failed to find value for %.*s with error: the path does not fit the object", STR(called));
    else if (hits.n && !json_is_null(hits.p[0]) && has_value(r, name))
        complain(r, "there is more than one value for %.*s", STR(called)); /* a server would refuse the whole status */
    else if (hits.n && !json_is_null(hits.p[0]))
        add_value(r, name, hits.p[0]);
}

/* ---- Rules. ---- */

struct well_known_path {
    const char *name, *path;
};

static const struct well_known {
    const char *api_version, *kind;
    struct well_known_path paths[4]; /* NULL at the end */
} well_known[] = {
    {"apps/v1",
     "Deployment",
     {{"ReadyReplicas", ".status.readyReplicas"},
      {"Replicas", ".status.replicas"},
      {"AvailableReplicas", ".status.availableReplicas"}}},
    {"apps/v1",
     "DaemonSet",
     {{"NumberReady", ".status.numberReady"},
      {"DesiredNumberScheduled", ".status.desiredNumberScheduled"},
      {"NumberAvailable", ".status.numberAvailable"}}},
    {"batch/v1",
     "Job",
     {{"JobComplete", ".status.conditions[?(@.type==\"Complete\")].status"}, {"JobSucceeded", ".status.succeeded"}}},
    {"v1", "Pod", {{"PodReady", ".status.conditions[?(@.type==\"Ready\")].status"}, {"PodPhase", ".status.phase"}}},
};

static bool is_kind(const struct json *object, const char *api_version, const char *kind)
{
    return str_eq(object_api_version(object), str_of(api_version)) && str_eq(object_kind(object), str_of(kind));
}

static void read_well_known(struct reading *r)
{
    for (size_t i = 0; i < COUNT(well_known); i++) {
        if (!is_kind(r->object, well_known[i].api_version, well_known[i].kind))
            continue;
        for (const struct well_known_path *p = well_known[i].paths; p->name; p++)
            read_path(r, str_of(p->name), str_of(p->path));
        return;
    }
    str group = object_group(r->object);
    complain(r, "cannot find the wellknown statuses for resource with gvk %.*s/%.*s, Kind=%.*s", STR(group),
             STR(r->version), STR(object_kind(r->object)));
}

static void read_paths(struct reading *r, const struct json *paths)
{
    json_each_item(paths, path)
    {
        str name = json_get_text(path, S("name")), version = json_get_text(path, S("version"));
        if (r->n_paths > FEEDBACK_PATHS)
            return; /* that was said */
        if (version.n && !str_eq(version, r->version)) {
            str called = shown(r->arena, name);
            r->n_paths++;
            complain(r, "version set in the path %.*s is not matched for the related resource", STR(called));
            continue;
        }
        read_path(r, name, json_get_text(path, S("path")));
    }
}

struct feedback feedback_read(struct arena *a, const struct json *rules, const struct json *object)
{
    struct reading r = {.arena = a, .object = object, .values = json_arr()};
    str group, api_version = object_api_version(object);
    if (!str_cut(api_version, '/', &group, &r.version))
        r.version = api_version;
    json_each_item(rules, rule)
    {
        str type = shown(a, json_get_text(rule, S("type")));
        if (r.n_paths > FEEDBACK_PATHS)
            break;
        if (str_eq(type, S("WellKnownStatus")))
            read_well_known(&r);
        else if (str_eq(type, S("JSONPaths")))
            read_paths(&r, json_get(rule, S("jsonPaths")));
        else
            complain(&r, "there is no feedback rule of type %.*s", STR(type));
    }
    return (struct feedback){r.values, problem_of(&r)};
}

/* ---- Conditions. ---- */

struct verdict {
    const char *status, *reason;
    str message;
};

/* Types of conditions that no rule has, where rules have no condition of their own. */
#define RULES_INVALID "ConditionRulesInvalid"
#define RULES_TOO_MANY "ConditionRulesTooMany"

static const char evaluated[] = FEEDBACK_RULE_REASON "Evaluated";
static const char invalid[] = FEEDBACK_RULE_REASON "Invalid";
static const char failed[] = FEEDBACK_RULE_REASON "ExpressionError";

static struct verdict job_is_complete(struct arena *a, const struct json *job)
{
    (void)a;
    const struct json *conditions = json_dig(job, "status.conditions");
    json_each_item(conditions, c)
    {
        str type = json_get_text(c, S("type"));
        bool ends = str_eq(type, S("Complete")) || str_eq(type, S("Failed"));
        if (ends && str_eq(json_get_text(c, S("status")), S("True")))
            return (struct verdict){"True", evaluated, S("Job is finished")};
    }
    return (struct verdict){"False", evaluated, S("Job is not finished")};
}

static struct verdict pod_is_complete(struct arena *a, const struct json *pod)
{
    const struct json *status = json_get(pod, S("status"));
    str phase = json_get_text(status, S("phase"));
    if (phase.n == 0)
        return (struct verdict){"False", failed, status ? S("no such key: phase") : S("no such key: status")};
    bool is_over = str_eq(phase, S("Succeeded")) || str_eq(phase, S("Failed"));
    phase = shown(a, phase);
    return (struct verdict){is_over ? "True" : "False", evaluated, str_fmt(a, "Pod is in phase %.*s", STR(phase))};
}

static const struct {
    const char *api_version, *kind, *condition;
    struct verdict (*judge)(struct arena *a, const struct json *object);
} judges[] = {{"batch/v1", "Job", "Complete", job_is_complete}, {"v1", "Pod", "Complete", pod_is_complete}};

/* False: nothing is known of this condition of this kind, which is no problem, and no condition. */
static bool judge(struct arena *a, const struct json *rule, const struct json *object, struct verdict *ret)
{
    str condition = json_get_text(rule, S("condition")), type = shown(a, json_get_text(rule, S("type")));
    if (str_eq(type, S("CEL"))) {
        *ret = (struct verdict){"Unknown", invalid, S("condition rules in CEL are not supported by this agent")};
        return true;
    }
    if (!str_eq(type, S("WellKnownConditions"))) {
        *ret = (struct verdict){"Unknown", invalid, str_fmt(a, "unrecognized condition rule type %.*s", STR(type))};
        return true;
    }
    for (size_t i = 0; i < COUNT(judges); i++) {
        if (!is_kind(object, judges[i].api_version, judges[i].kind) || !str_eq(condition, str_of(judges[i].condition)))
            continue;
        *ret = judges[i].judge(a, object);
        if (json_get_text(rule, S("messageExpression")).n)
            ret->message = S("message expressions in CEL are not supported by this agent");
        return true;
    }
    return false;
}

/* A rule may not speak in place of the agent, nor give a type for which a server would refuse the whole status. */
static const char *wrong_type(str type)
{
    static const char *const own[] = {"Applied", "Available", "StatusFeedbackSynced", RULES_INVALID, RULES_TOO_MANY};
    for (size_t i = 0; i < COUNT(own); i++)
        if (str_eq(type, str_of(own[i])))
            return "is the agent's own condition";
    return name_is(NAME_QUALIFIED, type) ? NULL : "is no type of a condition";
}

typedef VEC(struct condition) condition_vec;

/* Of two with one type the first counts. */
static void tell(struct arena *a, condition_vec *list, str type, const struct verdict *v)
{
    vec_each(list, known) if (str_eq(known->type, type)) return;
    *vec_push(a, list) = (struct condition){
        .type = type, .status = str_of(v->status), .reason = str_of(v->reason), .message = v->message};
}

size_t feedback_conditions(struct arena *a, const struct json *rules, const struct json *object,
                           const struct condition **ret)
{
    condition_vec list = {0};
    json_each_item(rules, rule)
    {
        str type = json_get_text(rule, S("condition")), called = shown(a, type);
        const char *wrong = wrong_type(type);
        struct verdict v = {"Unknown", invalid, S("there are too many condition rules")};
        if (list.n == FEEDBACK_PATHS - 1) {
            tell(a, &list, S(RULES_TOO_MANY), &v);
            break;
        }
        if (wrong) {
            v.message = str_fmt(a, "\"%.*s\" %s", STR(called), wrong);
            tell(a, &list, S(RULES_INVALID), &v);
        } else if (judge(a, rule, object, &v)) {
            tell(a, &list, type, &v);
        }
    }
    *ret = list.p;
    return list.n;
}
