/* SPDX-License-Identifier: Apache-2.0 */
/* Events: of the core group, where they are kept, and of events.k8s.io, which has other names for the same fields. */
#include "kinds/strategy_check.h"
#include "kinds/strategy_internal.h"
#include "object/object.h"

static const struct {
    const char *core, *events;
} names[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static void rename_member(struct json_member *m, bool to_core)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        str from = str_of(to_core ? names[i].events : names[i].core);
        str to = str_of(to_core ? names[i].core : names[i].events);
        if (!str_eq(json_key(m), from))
            continue;
        m->key = to.p;
        m->key_n = (uint32_t)to.n;
        m->hash = json_hash(to);
        return;
    }
}

void event_convert(struct json *object, bool to_core)
{
    for (size_t i = 0; i < json_len(object); i++)
        rename_member(&object->members[i], to_core);
}

/* ---- Checking. Errors speak of the fields of the core group, whichever view they came through. ---- */

/* An event is about something in its own namespace; without one it is in default. */
static void check_namespace(struct field_errors *errs, const struct json *object, str about, bool is_new)
{
    str mine = object_namespace(object);
    bool fits = str_eq(about, mine);
    if (about.n == 0)
        fits = mine.n == 0 || str_eq(mine, S("default")) || (is_new && str_eq(mine, S("kube-system")));
    else if (is_new)
        fits = true;
    if (!fits)
        check_invalid_text(errs, AT(AT(NULL, "involvedObject"), "namespace"), about, "does not match event.namespace");
}

static void check_length(struct field_errors *errs, const char *field, str text, bool is_needed, size_t max)
{
    if (is_needed && text.n == 0)
        check_required(errs, AT_FIELD(NULL, str_of(field)), "");
    if (text.n > max)
        check_invalid_text(errs, AT_FIELD(NULL, str_of(field)), (str){0},
                           str_cstr(errs->arena, str_fmt(errs->arena, "can have at most %zu characters", max)));
}

static void check_event(struct field_errors *errs, const struct json *object, bool is_core)
{
    str about = json_get_text(json_get(object, is_core ? S("involvedObject") : S("regarding")), S("namespace"));
    const char *reporter = is_core ? "reportingComponent" : "reportingController";
    str who = json_get_text(object, str_of(reporter));
    bool is_new = !json_is_null(json_get(object, S("eventTime")));
    check_namespace(errs, object, about, is_new);
    if (!is_new)
        return;
    if (who.n == 0)
        check_required(errs, AT_FIELD(NULL, str_of(reporter)), "");
    check_name(errs, AT_FIELD(NULL, str_of(reporter)), NAME_QUALIFIED, who);
    check_length(errs, "reportingInstance", json_get_text(object, S("reportingInstance")), true, 128);
    check_length(errs, "action", json_get_text(object, S("action")), true, 128);
    check_length(errs, "reason", json_get_text(object, S("reason")), true, 128);
    check_length(errs, "message", json_get_text(object, is_core ? S("message") : S("note")), false, 1024);
}

static void validate_core_event(struct field_errors *errs, const struct json *object)
{
    check_event(errs, object, true);
}

static void validate_event(struct field_errors *errs, const struct json *object)
{
    static const char *const old[][2] = {{"deprecatedFirstTimestamp", "firstTimestamp"},
                                         {"deprecatedLastTimestamp", "lastTimestamp"},
                                         {"deprecatedCount", "count"}};
    str type = json_get_text(object, S("type"));
    check_event(errs, object, false);
    if (json_is_null(json_get(object, S("eventTime"))))
        check_required(errs, AT(NULL, "eventTime"), "");
    if (!is_choice(type, "Normal Warning"))
        check_invalid_text(errs, AT(NULL, "type"), (str){0},
                           str_cstr(errs->arena, str_fmt(errs->arena, "has invalid value: %.*s", STR(type))));
    for (size_t i = 0; i < COUNT(old); i++) {
        if (!json_is_null(json_get(object, str_of(old[i][0]))))
            check_invalid_text(errs, AT_FIELD(NULL, str_of(old[i][1])), (str){0}, "needs to be unset");
    }
    if (json_len(json_get(object, S("deprecatedSource"))))
        check_invalid_text(errs, AT(NULL, "source"), (str){0}, "needs to be unset");
}

static void validate_event_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const fixed[][2] = {{"reason", "reason"},
                                           {"note", "message"},
                                           {"type", "type"},
                                           {"action", "action"},
                                           {"reportingController", "reportingController"},
                                           {"reportingInstance", "reportingInstance"}};
    check_event(errs, object, false);
    for (size_t i = 0; i < COUNT(fixed); i++)
        check_immutable(errs, AT_FIELD(NULL, str_of(fixed[i][1])), json_get(object, str_of(fixed[i][0])),
                        json_get(current, str_of(fixed[i][0])));
}

static const struct strategy rows[] = {
    {
        .kind = "Event",
        .validate = validate_core_event,
    },
    {
        .group = "events.k8s.io",
        .kind = "Event",
        .validate = validate_event,
        .validate_update = validate_event_update,
        .keeps_its_old_faults = true,
    },
};
STRATEGIES(strategies_event, rows);
