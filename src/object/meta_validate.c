/* SPDX-License-Identifier: Apache-2.0 */
/* What metadata may hold: on its own, and compared with what is stored. */
#include "object/meta.h"

#include "base/map.h"
#include "object/name.h"
#include "object/object.h"

#include <stdlib.h>

#define META S("metadata")

static str child(struct field_errors *errs, const char *name)
{
    return field_child(errs->arena, META, str_of(name));
}

static void validate_names(struct field_errors *errs, enum name_rule rule, const struct json *meta)
{
    str base = json_get_text(meta, S("generateName")), name = json_get_text(meta, S("name"));
    if (base.n)
        name_validate_prefix(errs, child(errs, "generateName"), rule, base);
    if (name.n)
        name_validate(errs, child(errs, "name"), rule, name);
    else
        field_error_add(errs, FIELD_REQUIRED, child(errs, "name"), (str){0}, "name or generateName is required");
}

static void validate_namespace(struct field_errors *errs, const struct kind *kind, const struct json *meta)
{
    str namespace = json_get_text(meta, S("namespace"));
    if (kind->namespaced && namespace.n)
        name_validate(errs, child(errs, "namespace"), NAME_DNS_LABEL, namespace);
    else if (kind->namespaced)
        field_error_add(errs, FIELD_REQUIRED, child(errs, "namespace"), (str){0}, NULL);
    else if (namespace.n)
        field_error_add(errs, FIELD_FORBIDDEN, child(errs, "namespace"), (str){0}, "not allowed on this type");
}

static void validate_generation(struct field_errors *errs, const struct json *meta)
{
    const struct json *generation = json_get(meta, S("generation"));
    int64_t n;
    if (json_to_int(generation, &n) && n < 0)
        field_error_add(errs, FIELD_INVALID, child(errs, "generation"), field_value(errs->arena, generation),
                        "must be greater than or equal to 0");
}

static void validate_finalizers(struct field_errors *errs, const struct json *object)
{
    const struct json *list = object_finalizers(object);
    str field = child(errs, "finalizers");
    VEC(str) names = {0};
    bool orphan = false, foreground = false;
    json_each_item(list, f)
    {
        str name = json_text(f);
        name_validate(errs, field, NAME_QUALIFIED, name);
        orphan = orphan || str_eq(name, S("orphan"));
        foreground = foreground || str_eq(name, S("foregroundDeletion"));
        *vec_push(errs->arena, &names) = name;
    }
    if (orphan && foreground)
        field_error_add(errs, FIELD_INVALID, field, field_strings(errs->arena, names.p, names.n),
                        "finalizer orphan and foregroundDeletion cannot be both set");
}

/* Kinds that Kubernetes checks by the rules for all objects alone. */
static bool has_common_rules(const struct kind *kind)
{
    static const char *const kinds[] = {"CustomResourceDefinition", "Event", "Lease", "RuntimeClass"};
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kind->kind, kinds[i]) == 0)
            return true;
    return kind->flags & KIND_CUSTOM;
}

/* Most built-in kinds take only finalizers with a domain, and those that Kubernetes knows. */
static void validate_standard_finalizers(struct field_errors *errs, const struct kind *kind, const struct json *object)
{
    const struct json *list = object_finalizers(object);
    size_t i = 0;
    if (has_common_rules(kind))
        return;
    json_each_item(list, f)
    {
        str field = field_index(errs->arena, child(errs, "finalizers"), i++);
        name_validate_standard_finalizer(errs, field, json_text(f));
    }
}

static void validate_managed_entry(struct field_errors *errs, str field, const struct json *entry)
{
    enum { SUBRESOURCE_MAX = 256 };
    struct arena *a = errs->arena;
    str operation = json_get_text(entry, S("operation")), type = json_get_text(entry, S("fieldsType"));
    if (!str_eq(operation, S("Apply")) && !str_eq(operation, S("Update")))
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("operation")), field_quote(a, operation),
                        "must be `Apply` or `Update`");
    if (type.n && !str_eq(type, S("FieldsV1")))
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("fieldsType")), field_quote(a, type),
                        "must be `FieldsV1`");
    name_validate_field_manager(errs, field_child(a, field, S("manager")), json_get_text(entry, S("manager")));
    if (json_get_text(entry, S("subresource")).n > SUBRESOURCE_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field_child(a, field, S("subresource")), (str){0},
                        "may not be more than %d bytes", SUBRESOURCE_MAX);
}

void meta_validate_labels_and_annotations(struct field_errors *errs, str field, const struct json *metadata)
{
    name_validate_labels(errs, field_child(errs->arena, field, S("labels")), json_get(metadata, S("labels")));
    name_validate_annotations(errs, field_child(errs->arena, field, S("annotations")),
                              json_get(metadata, S("annotations")));
}

static void validate_common(struct field_errors *errs, const struct kind *kind, enum name_rule rule,
                            const struct json *object)
{
    const struct json *meta = object_meta(object), *managed = json_get(meta, S("managedFields"));
    size_t i = 0;
    validate_names(errs, rule, meta);
    validate_namespace(errs, kind, meta);
    validate_generation(errs, meta);
    meta_validate_labels_and_annotations(errs, META, meta);
    meta_validate_owners(errs, child(errs, "ownerReferences"), object_owners(object));
    validate_finalizers(errs, object);
    json_each_item(managed, entry)
        validate_managed_entry(errs, field_index(errs->arena, child(errs, "managedFields"), i++), entry);
}

void meta_validate(struct field_errors *errs, const struct kind *kind, const struct json *object)
{
    validate_common(errs, kind, kind->name_rule, object);
    validate_standard_finalizers(errs, kind, object);
}

/* ---- Updates. ---- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

struct names {
    str *p;
    size_t n, cap;
};

/* Finalizers of object that current has not, sorted, each once. */
static struct names added_finalizers(struct arena *a, const struct json *object, const struct json *current)
{
    const struct json *list = object_finalizers(object), *old = object_finalizers(current);
    struct names added = {0};
    struct map seen = {0};
    json_each_item(old, f) map_set(&seen, json_text(f), (void *)f);
    json_each_item(list, f)
    {
        if (!map_set(&seen, json_text(f), (void *)f))
            *vec_push(a, &added) = json_text(f);
    }
    map_done(&seen);
    if (added.n > 1)
        qsort(added.p, added.n, sizeof *added.p, by_text);
    return added;
}

/* A moment as Go prints it in messages; what is no moment, as it stands. */
static str shown_time(struct arena *a, const struct json *v)
{
    int64_t seconds;
    uint32_t nanos;
    if (!time_parse(json_text(v), &seconds, &nanos))
        return field_value(a, v);
    struct buf b = {.arena = a};
    time_format(&b, seconds, nanos, 0);
    b.p[sizeof "2006-01-02" - 1] = ' ';
    b.n--; /* the Z */
    buf_add_str(&b, S(" +0000 UTC"));
    return buf_str(&b);
}

/* What an update cannot change, and how Go shows each when it is absent. */
static const struct {
    const char *name, *absent;
    bool is_time;
} fixed[] = {
    {"name", "\"\"", false},
    {"namespace", "\"\"", false},
    {"uid", "\"\"", false},
    {"creationTimestamp", "0001-01-01 00:00:00 +0000 UTC", true},
    {"deletionTimestamp", "\"null\"", true},
    {"deletionGracePeriodSeconds", "\"null\"", false},
};

static void validate_fixed(struct field_errors *errs, const struct json *object, const struct json *current)
{
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const struct json *now = json_get(object_meta(object), str_of(fixed[i].name));
        const struct json *was = json_get(object_meta(current), str_of(fixed[i].name));
        if ((json_is_null(now) && json_is_null(was)) || (now && was && json_equal(now, was)))
            continue;
        str shown = str_of(fixed[i].absent);
        if (!json_is_null(now))
            shown = fixed[i].is_time ? shown_time(errs->arena, now) : field_value(errs->arena, now);
        field_error_add(errs, FIELD_INVALID, child(errs, fixed[i].name), shown, "field is immutable");
    }
}

void meta_validate_update(struct field_errors *errs, const struct kind *kind, const struct json *object,
                          const struct json *current)
{
    /* The name cannot have changed: old objects may have names that a rule of today would refuse. */
    validate_common(errs, kind, NAME_PATH_SEGMENT, object);
    if (object_is_deleting(current)) {
        struct names added = added_finalizers(errs->arena, object, current);
        if (added.n)
            field_error_add(errs, FIELD_FORBIDDEN, child(errs, "finalizers"), (str){0},
                            "no new finalizers can be added if the object is being deleted, found new finalizers %.*s",
                            STR(field_strings(errs->arena, added.p, added.n)));
    }
    if (object_rv(object).n == 0)
        field_error_add(errs, FIELD_INVALID, child(errs, "resourceVersion"), S("\"\""),
                        "must be specified for an update");
    if (object_generation(object) < object_generation(current))
        field_error_add(errs, FIELD_INVALID, child(errs, "generation"),
                        str_fmt(errs->arena, "%lld", (long long)object_generation(object)), "must not be decremented");
    validate_fixed(errs, object, current);
    validate_standard_finalizers(errs, kind, object);
}

/* ---- Warnings. ---- */

static void warn(struct meta_warnings *warnings, str finalizer, const char *text)
{
    struct buf b = {.arena = warnings->arena};
    buf_add_str(&b, S("metadata.finalizers: "));
    buf_add_quoted(&b, finalizer);
    buf_add_str(&b, S(": "));
    buf_add_str(&b, str_of(text));
    *vec_push(warnings->arena, &warnings->list) = buf_str(&b);
}

void meta_warn_finalizers(struct meta_warnings *warnings, const struct kind *kind, const struct json *object,
                          const struct json *current)
{
    if (!(kind->flags & KIND_CUSTOM))
        return;
    struct names added = added_finalizers(warnings->arena, object, current);
    for (size_t i = 0; i < added.n; i++) {
        str f = added.p[i];
        if (str_find_char(f, '/') >= 0 || name_is_standard_finalizer(f))
            continue;
        warn(warnings, f,
             str_find_char(f, '.') >= 0
                 ? "prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
                   "other finalizer writers"
                 : "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer "
                   "writers");
    }
}
