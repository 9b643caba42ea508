/* SPDX-License-Identifier: Apache-2.0 */
/* What every embedded resource must have. */
#include "object/meta.h"
#include "object/name.h"
#include "schema/schema_check.h"

static bool fail(struct validation *v, const struct step *up, str field, const struct json *value, const char *text)
{
    if (!report_wanted(v))
        return false;
    enum field_error_type type = value ? FIELD_INVALID : FIELD_REQUIRED;
    str shown = value ? field_value(v->errs->arena, value) : (str){0};
    return report_plain(v, &(struct step){.up = up, .key = field}, type, shown, "%s", text);
}

static bool check_api_version(struct validation *v, const struct json *value, const struct step *path)
{
    if (value == NULL)
        return fail(v, path, S("apiVersion"), NULL, "must not be empty");
    if (!json_is_str(value))
        return fail(v, path, S("apiVersion"), value, "must be a string");
    str text = json_text(value), group, rest;
    if (text.n == 0)
        return fail(v, path, S("apiVersion"), value, "must not be empty");
    str_cut(text, '/', &group, &rest);
    if (str_find_char(rest, '/') < 0)
        return true;
    if (!report_wanted(v))
        return false;
    str why = str_fmt(v->errs->arena, "unexpected GroupVersion string: %.*s", STR(text));
    return fail(v, path, S("apiVersion"), value, str_cstr(v->errs->arena, why));
}

static bool check_kind(struct validation *v, const struct json *value, const struct step *path)
{
    if (value == NULL)
        return fail(v, path, S("kind"), NULL, "must not be empty");
    if (!json_is_str(value))
        return fail(v, path, S("kind"), value, "must be a string");
    if (value->n == 0)
        return fail(v, path, S("kind"), value, "must not be empty");
    struct arena scratch ARENA_SCOPE = {0};
    struct name_faults faults = name_check(NAME_DNS1035_LABEL, str_lower(&scratch, json_text(value)));
    if (faults.n == 0)
        return true;
    struct buf why = {.arena = &scratch};
    buf_add_str(&why, S("may have mixed case, but should otherwise match: "));
    name_faults_format(&why, &faults, S(","));
    return fail(v, path, S("kind"), value, str_cstr(&scratch, buf_str(&why)));
}

static void check_names(struct field_errors *errs, str field, const struct json *metadata)
{
    struct arena *a = errs->arena;
    str name = json_get_text(metadata, S("name")), prefix = json_get_text(metadata, S("generateName"));
    str namespace = json_get_text(metadata, S("namespace"));
    if (prefix.n)
        name_validate_prefix(errs, field_child(a, field, S("generateName")), NAME_PATH_SEGMENT, prefix);
    if (name.n)
        name_validate(errs, field_child(a, field, S("name")), NAME_PATH_SEGMENT, name);
    if (namespace.n)
        name_validate(errs, field_child(a, field, S("namespace")), NAME_DNS_LABEL, namespace);
    meta_validate_labels_and_annotations(errs, field, metadata);
    meta_validate_owners(errs, field_child(a, field, S("ownerReferences")), json_get(metadata, S("ownerReferences")));
    const struct json *finalizers = json_get(metadata, S("finalizers"));
    json_each_item(finalizers, it)
        name_validate(errs, field_child(a, field, S("finalizers")), NAME_QUALIFIED, json_text(it));
}

static bool check_metadata(struct validation *v, const struct json *value, const struct step *path)
{
    if (json_is_null(value))
        return true;
    if (!json_is_obj(value))
        return fail(v, path, S("metadata"), value, "must be an object");
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors found = {.arena = &scratch};
    struct buf field = {.arena = found.arena};
    schema_path_format(&field, &(struct step){.up = path, .key = S("metadata")}, true);
    check_names(&found, field_child(found.arena, v->base, buf_str(&field)), value);
    if (v->errs)
        report_merge(v, &found);
    return found.list.n == 0;
}

bool check_embedded(struct validation *v, const struct json *object, const struct step *path)
{
    bool ok = check_api_version(v, json_get(object, S("apiVersion")), path);
    ok = check_kind(v, json_get(object, S("kind")), path) && ok;
    return check_metadata(v, json_get(object, S("metadata")), path) && ok;
}
