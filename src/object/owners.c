/* SPDX-License-Identifier: Apache-2.0 */
/* ownerReferences: who must go before, or takes along, an object. */
#include "object/meta.h"

#include "base/budget.h"
#include "base/map.h"
#include "object/object.h"

/* A reference as Go prints the struct. Where Go shows the address of a set boolean we show its value. */
static void add_shown(struct buf *b, const struct json *ref)
{
    static const char *const texts[][2] = {
        {"APIVersion", "apiVersion"}, {"Kind", "kind"}, {"Name", "name"}, {"UID", "uid"}};
    static const char *const flags[][2] = {{"Controller", "controller"}, {"BlockOwnerDeletion", "blockOwnerDeletion"}};
    buf_add_str(b, S("v1.OwnerReference{"));
    for (size_t i = 0; i < COUNT(texts); i++) {
        buf_fmt(b, "%s:", texts[i][0]);
        buf_add_quoted(b, json_get_text(ref, str_of(texts[i][1])));
        buf_add_str(b, S(", "));
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        const struct json *v = json_get(ref, str_of(flags[i][1]));
        buf_fmt(b, "%s%s:(*bool)(%s)", i ? ", " : "", flags[i][0],
                json_is_null(v) ? "nil"
                : json_true(v)  ? "true"
                                : "false");
    }
    buf_add_char(b, '}');
}

static str shown_list(struct arena *a, const struct json *owners)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("[]v1.OwnerReference{"));
    json_each_item(owners, ref)
    {
        if (ref != owners->items)
            buf_add_str(&b, S(", "));
        add_shown(&b, ref);
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}

/* The version of "apps/v1" or "v1"; empty when there are too many slashes. */
static str version_of(str api_version)
{
    str group, version;
    return kind_split_api_version(api_version, &group, &version) ? version : (str){0};
}

static void validate_one(struct field_errors *errs, str field, const struct json *ref)
{
    budget_charge(20);
    static const struct {
        const char *name, *text;
    } wanted[] = {
        {"kind", "kind must not be empty"},
        {"name", "name must not be empty"},
        {"uid", "uid must not be empty"},
    };
    struct arena *a = errs->arena;
    str api_version = json_get_text(ref, S("apiVersion"));
    if (version_of(api_version).n == 0)
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("apiVersion")), field_quote(a, api_version),
                        "version must not be empty");
    for (size_t i = 0; i < COUNT(wanted); i++) {
        if (json_get_text(ref, str_of(wanted[i].name)).n == 0)
            field_error_add(errs, FIELD_INVALID, field_child(a, field, str_of(wanted[i].name)), S("\"\""), "%s",
                            wanted[i].text);
    }
    if (str_eq(api_version, S("v1")) && str_eq(object_kind(ref), S("Event"))) {
        struct buf shown = {.arena = a};
        add_shown(&shown, ref);
        field_error_add(errs, FIELD_INVALID, field, buf_str(&shown),
                        "/v1, Kind=Event is disallowed from being an owner");
    }
}

void meta_validate_owners(struct field_errors *errs, str field, const struct json *owners)
{
    enum { SAID_ENOUGH = 8 }; /* each text shows the whole list */
    const struct json *first = NULL;
    str shown = {0};
    int said = 0;
    json_each_item(owners, ref)
    {
        validate_one(errs, field, ref);
        if (!json_true(json_get(ref, S("controller"))) || said == SAID_ENOUGH)
            continue;
        if (first == NULL) {
            first = ref;
            continue;
        }
        if (said++ == 0)
            shown = shown_list(errs->arena, owners);
        field_error_add(errs, FIELD_INVALID, field, shown,
                        "Only one reference can have Controller set to true. Found \"true\" in references for "
                        "%.*s/%.*s and %.*s/%.*s",
                        STR(object_kind(first)), STR(json_get_text(first, S("name"))), STR(object_kind(ref)),
                        STR(json_get_text(ref, S("name"))));
    }
}

/* ---- Duplicates. ---- */

void meta_dedup_owners(struct arena *a, struct json *object, struct meta_warnings *warnings)
{
    const struct json *owners = object_owners(object);
    struct arena scratch ARENA_SCOPE = {0};
    struct map seen = {0};
    struct json kept = json_arr_sized(a, json_len(owners));
    struct buf twice = {.arena = &scratch};
    if (!json_is_arr(owners))
        return;
    json_each_item(owners, ref)
    {
        struct buf text = {.arena = &scratch};
        json_encode(&text, ref, JSON_SORTED);
        if (!map_set(&seen, buf_str(&text), (void *)ref)) {
            json_push(a, &kept, *ref);
            continue;
        }
        if (twice.n)
            buf_add_str(&twice, S(", "));
        buf_add_str(&twice, json_get_text(ref, S("uid")));
    }
    map_done(&seen);
    if (kept.n == owners->n)
        return;
    json_set(a, meta_of(a, object), S("ownerReferences"), kept);
    *vec_push(warnings->arena, &warnings->list) =
        str_fmt(warnings->arena,
                ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
                "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
                "%.*s",
                STR(buf_str(&twice)));
}

/* ---- Reading and making. ---- */

const struct json *meta_controller_of(const struct json *object)
{
    const struct json *owners = object_owners(object);
    json_each_item(owners, ref)
    {
        if (json_true(json_get(ref, S("controller"))))
            return ref;
    }
    return NULL;
}

bool meta_is_owned_by(const struct json *object, str uid)
{
    const struct json *owners = object_owners(object);
    json_each_item(owners, ref)
    {
        if (str_eq(json_get_text(ref, S("uid")), uid))
            return true;
    }
    return false;
}

struct json meta_owner_reference(struct arena *a, const struct json *owner, bool controller, bool block_deletion)
{
    return json_build(
        a, "{apiVersion: '%.*s', kind: '%.*s', name: '%.*s', uid: '%.*s', controller?: %c, blockOwnerDeletion?: %c}",
        STR(object_api_version(owner)), STR(object_kind(owner)), STR(object_name(owner)), STR(object_uid(owner)),
        controller, block_deletion);
}
