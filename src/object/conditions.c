/* SPDX-License-Identifier: Apache-2.0 */
#include "object/conditions.h"

#include "base/map.h"
#include "object/meta.h"
#include "object/name.h"

#include <assert.h>

const struct json *condition_find(const struct json *conditions, str type)
{
    json_each_item(conditions, c)
    {
        if (str_eq(json_get_text(c, S("type")), type))
            return c;
    }
    return NULL;
}

bool condition_is(const struct json *object, str type, str status)
{
    const struct json *found = condition_find(json_dig(object, "status.conditions"), type);
    return found && str_eq(json_get_text(found, S("status")), status);
}

struct json *conditions_of(struct arena *a, struct json *object)
{
    assert(json_is_obj(object));
    struct json *status = json_get_mut(object, S("status"));
    if (!json_is_obj(status))
        status = json_set(a, object, S("status"), json_obj());
    struct json *list = json_get_mut(status, S("conditions"));
    return json_is_arr(list) ? list : json_set(a, status, S("conditions"), json_arr());
}

/* ---- Setting. ---- */

static bool set_text(struct arena *a, struct json *entry, str key, str text)
{
    if (str_eq(json_get_text(entry, key), text) && json_get(entry, key))
        return false;
    json_set(a, entry, key, json_str(str_dup(a, text)));
    return true;
}

static bool set_generation(struct arena *a, struct json *entry, int64_t generation)
{
    int64_t old = 0;
    (void)json_to_int(json_get(entry, S("observedGeneration")), &old);
    if (old == generation)
        return false;
    if (generation)
        json_set(a, entry, S("observedGeneration"), json_int(generation));
    else
        json_remove(entry, S("observedGeneration"));
    return true;
}

static struct json *find_or_add(struct arena *a, struct json *conditions, str type)
{
    const struct json *found = condition_find(conditions, type);
    if (found)
        return &conditions->items[found - conditions->items];
    struct json entry = json_obj_sized(a, 6);
    json_add(a, &entry, S("type"), json_str(str_dup(a, type)));
    return json_push(a, conditions, entry);
}

bool condition_set(struct arena *a, struct json *conditions, const struct condition *c, const struct clock *clock)
{
    struct json *entry = find_or_add(a, conditions, c->type);
    bool changed = set_text(a, entry, S("status"), c->status);
    if (changed)
        json_set(a, entry, S("lastTransitionTime"), meta_now(a, clock));
    changed = set_text(a, entry, S("reason"), c->reason) || changed;
    changed = set_text(a, entry, S("message"), c->message) || changed;
    return set_generation(a, entry, c->observed_generation) || changed;
}

bool condition_remove(struct json *conditions, str type)
{
    const struct json *found = condition_find(conditions, type);
    if (found)
        json_erase(conditions, (size_t)(found - conditions->items));
    return found != NULL;
}

/* ---- Checking. ---- */

enum { REASON_MAX = 1024, MESSAGE_MAX = 32 * 1024 };

static void validate_reason(struct field_errors *errs, str field, str reason)
{
    if (reason.n == 0)
        field_error_add(errs, FIELD_REQUIRED, field, (str){0}, "must be set");
    else
        name_validate(errs, field, NAME_CONDITION_REASON, reason);
    if (reason.n > REASON_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field, (str){0}, "may not be more than %d bytes", REASON_MAX);
}

static void validate_one(struct field_errors *errs, str field, const struct json *c)
{
    struct arena *a = errs->arena;
    str status = json_get_text(c, S("status"));
    int64_t generation = 0;
    name_validate(errs, field_child(a, field, S("type")), NAME_QUALIFIED, json_get_text(c, S("type")));
    if (!str_eq(status, S("True")) && !str_eq(status, S("False")) && !str_eq(status, S("Unknown")))
        field_error_add(errs, FIELD_NOT_SUPPORTED, field_child(a, field, S("status")), field_quote(a, status),
                        "supported values: \"False\", \"True\", \"Unknown\"");
    if (json_to_int(json_get(c, S("observedGeneration")), &generation) && generation < 0)
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("observedGeneration")),
                        str_fmt(a, "%lld", (long long)generation), "must be greater than or equal to zero");
    if (json_get_text(c, S("lastTransitionTime")).n == 0)
        field_error_add(errs, FIELD_REQUIRED, field_child(a, field, S("lastTransitionTime")), (str){0}, "must be set");
    validate_reason(errs, field_child(a, field, S("reason")), json_get_text(c, S("reason")));
    if (json_get_text(c, S("message")).n > MESSAGE_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field_child(a, field, S("message")), (str){0},
                        "may not be more than %d bytes", MESSAGE_MAX);
}

void conditions_validate(struct field_errors *errs, str field, const struct json *conditions)
{
    struct map seen = {0};
    size_t i = 0;
    json_each_item(conditions, c)
    {
        str type = json_get_text(c, S("type"));
        str item = field_index(errs->arena, field, i++);
        if (map_set(&seen, type, (void *)c))
            field_error_add(errs, FIELD_DUPLICATE, field_child(errs->arena, item, S("type")),
                            field_quote(errs->arena, type), NULL);
        validate_one(errs, item, c);
    }
    map_done(&seen);
}
