/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta.h"

#include "base/map.h"
#include "object/name.h"
#include "object/object.h"
#include "object/status.h"

#include <assert.h>
#include <stdlib.h>

struct json *meta_of(struct arena *a, struct json *object)
{
    assert(json_is_obj(object));
    struct json *meta = json_get_mut(object, S("metadata"));
    return json_is_obj(meta) ? meta : json_set(a, object, S("metadata"), json_obj());
}

struct json meta_now(struct arena *a, const struct clock *clock)
{
    struct buf b = {.arena = a};
    int64_t ns = clock_wall_ns(clock);
    time_format(&b, ns / 1000000000, 0, 0);
    return json_str(buf_str(&b));
}

/* ---- Where an object belongs. ---- */

int meta_place(struct arena *a, const struct meta_place *place, struct json *object, struct err *err)
{
    const struct json *sent = json_get(object, S("metadata"));
    if (!json_is_obj(object) || (!json_is_null(sent) && !json_is_obj(sent)))
        return err_set(err, ERR_BAD_REQUEST, "metadata must be an object");
    struct json *meta = meta_of(a, object);
    str name = json_get_text(meta, S("name")), namespace = json_get_text(meta, S("namespace"));
    str expected = place->kind->namespaced ? place->namespace : (str){0};
    if (namespace.n && expected.n && !str_eq(namespace, expected))
        return err_set(err, ERR_BAD_REQUEST,
                       "the namespace of the provided object does not match the namespace sent on the request");
    if (place->name.n && name.n == 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
                       STR(place->name));
    if (place->name.n && !str_eq(name, place->name))
        return err_set(err, ERR_BAD_REQUEST, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                       STR(name), STR(place->name));
    if (expected.n == 0)
        json_remove(meta, S("namespace"));
    else
        json_set(a, meta, S("namespace"), json_str(str_dup(a, expected)));
    return 0;
}

/* ---- Creating. ---- */

str meta_generate_uid(struct arena *a, const struct random *random)
{
    uint64_t high = random_uint64(random), low = random_uint64(random);
    high = (high & ~UINT64_C(0xf000)) | 0x4000;                        /* version 4 */
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(0x8000000000000000); /* variant of RFC 4122 */
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", hex[] = "0123456789abcdef";
    char *text = arena_alloc(a, sizeof form - 1);
    int shift = 128;
    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (form[i] == 'x')
            shift -= 4;
        text[i] = form[i] == 'x' ? hex[(shift >= 64 ? high >> (shift - 64) : low >> shift) & 15] : form[i];
    }
    return (str){text, sizeof form - 1};
}

str meta_generate_name(struct arena *a, const struct random *random, str base)
{
    /* No vowels, and no digits that look like letters: nothing rude or ambiguous comes out. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    enum { NAME_MAX_GENERATED = 63, SUFFIX = 5 };
    struct buf b = {.arena = a};
    buf_add_str(&b, str_upto(base, NAME_MAX_GENERATED - SUFFIX));
    for (int i = 0; i < SUFFIX; i++)
        buf_add_char(&b, letters[random_below(random, sizeof letters - 1)]);
    return buf_str(&b);
}

int meta_prepare_create(struct arena *a, const struct meta_place *place, const struct meta_sources *sources,
                        struct json *object, struct err *err)
{
    static const char *const not_yours[] = {
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink", "uid",
    };
    uint64_t version;
    int rc = meta_place(a, place, object, err);
    if (rc < 0)
        return rc;
    struct json *meta = meta_of(a, object);
    /* Anything but a number counts as none, as in Kubernetes. */
    if (str_to_uint64(json_get_text(meta, S("resourceVersion")), &version) && version != 0)
        return err_set(err, ERR_INTERNAL, "resourceVersion should not be set on objects to be created");
    json_remove(meta, S("resourceVersion"));
    for (size_t i = 0; i < COUNT(not_yours); i++)
        json_remove(meta, str_of(not_yours[i]));
    str base = json_get_text(meta, S("generateName"));
    if (json_get_text(meta, S("name")).n == 0 && base.n)
        json_set(a, meta, S("name"), json_str(meta_generate_name(a, sources->random, base)));
    json_set(a, meta, S("uid"), json_str(meta_generate_uid(a, sources->random)));
    json_set(a, meta, S("creationTimestamp"), meta_now(a, sources->clock));
    if (place->kind->flags & KIND_GENERATION)
        json_set(a, meta, S("generation"), json_int(1));
    return 0;
}

/* ---- Updating. ---- */

static struct status_subject subject(const struct kind *kind, const struct json *object)
{
    return (struct status_subject){str_of(kind->group), str_of(kind->plural), object_name(object)};
}

static bool is_digits(str s)
{
    size_t n = 0;
    while (n < s.n && char_is_digit(s.p[n]))
        n++;
    return n == s.n;
}

int meta_check_version(struct arena *a, const struct kind *kind, const struct json *object, const struct json *current,
                       struct json *ret_status)
{
    str text = object_rv(object);
    uint64_t sent = 0, stored = 0;
    if (text.n && !str_to_uint64(text, &sent)) {
        *ret_status = status_unknown(a, str_fmt(a, "strconv.ParseUint: parsing %.*s: %s", STR(field_quote(a, text)),
                                                is_digits(text) ? "value out of range" : "invalid syntax"));
        return ERR_INTERNAL;
    }
    if (sent == 0 && (kind->flags & KIND_UNCONDITIONAL))
        return 0;
    if (sent == 0) {
        struct field_errors errs = {.arena = a};
        field_error_add(&errs, FIELD_INVALID, S("metadata.resourceVersion"), S("0x0"),
                        "must be specified for an update");
        *ret_status = status_invalid(a, subject(kind, current), &errs); /* with the plural: Kubernetes' own slip */
        return ERR_INVALID;
    }
    if (str_to_uint64(object_rv(current), &stored) && sent == stored)
        return 0;
    *ret_status = status_modified(a, subject(kind, current));
    return ERR_CONFLICT;
}

int meta_check_uid(struct arena *a, const struct kind *kind, const struct json *object, const struct json *current,
                   struct json *ret_status)
{
    str sent = object_uid(object), stored = object_uid(current);
    if (sent.n == 0 || str_eq(sent, stored))
        return 0;
    *ret_status = status_conflict(
        a, subject(kind, object),
        str_fmt(a, "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s", STR(sent), STR(stored)));
    return ERR_CONFLICT;
}

/* Makes a member of metadata what it was, absence included. */
static void restore(struct arena *a, struct json *meta, const struct json *old, str key)
{
    const struct json *was = json_get(old, key);
    if (json_is_null(was))
        json_remove(meta, key);
    else
        json_set(a, meta, key, *was);
}

/* A write of the status, which may bring annotations along, does not count. */
static bool has_new_annotations(const struct json *object, const struct json *current)
{
    const struct json *now = object_annotations(object), *before = object_annotations(current);
    return json_len(now) + json_len(before) > 0 && !json_equal(now, before) &&
           json_equal(json_get(object, S("status")), json_get(current, S("status")));
}

static bool has_new_labels(const struct json *object, const struct json *current)
{
    const struct json *now = object_labels(object), *before = object_labels(current);
    return json_len(now) + json_len(before) > 0 && !json_equal(now, before);
}

void meta_prepare_update(struct arena *a, const struct kind *kind, struct json *object, const struct json *current)
{
    struct json *meta = meta_of(a, object);
    const struct json *old = object_meta(current);
    json_remove(meta, S("selfLink"));
    restore(a, meta, old, S("resourceVersion"));
    restore(a, meta, old, S("generation"));
    if (json_get_text(meta, S("uid")).n == 0)
        restore(a, meta, old, S("uid"));
    if (!json_is_null(json_get(old, S("creationTimestamp"))))
        restore(a, meta, old, S("creationTimestamp"));
    if (object_is_deleting(current))
        restore(a, meta, old, S("deletionTimestamp"));
    if (json_is_null(json_get(meta, S("deletionGracePeriodSeconds"))))
        restore(a, meta, old, S("deletionGracePeriodSeconds"));
    bool is_noted = (kind->flags & KIND_GENERATION_NOTES) && has_new_annotations(object, current);
    bool is_labelled = (kind->flags & KIND_GENERATION_LABELS) && has_new_labels(object, current);
    if ((kind->flags & KIND_GENERATION) && (is_noted || is_labelled || !meta_is_same_content(kind, object, current)))
        json_set(a, meta, S("generation"), json_int(object_generation(current) + 1));
}

/* ---- Comparing. ---- */

/* Empty maps and lists of metadata are as good as none. */
static bool is_empty(const struct json *v)
{
    return json_is_null(v) || (v->type >= JSON_ARR && v->n == 0);
}

static bool is_skipped(const struct json_member *m, const char *const *skip)
{
    for (; *skip; skip++) {
        if (str_eq(str_of(*skip), json_key(m)))
            return true;
    }
    return false;
}

/* True when all members but those skipped are the same; with loose set, empty ones may be absent. */
static bool same_members(const struct json *x, const struct json *y, const char *const *skip, bool loose)
{
    struct json_index others JSON_INDEX_SCOPE;
    size_t x_n = 0, y_n = 0;
    json_index_init(&others, y);
    json_each_member(y, m) y_n += !is_skipped(m, skip) && !(loose && is_empty(&m->val));
    json_each_member(x, m)
    {
        if (is_skipped(m, skip) || (loose && is_empty(&m->val)))
            continue;
        const struct json_member *other = json_index_find(&others, json_key(m));
        if (other == NULL || !json_equal(&m->val, &other->val))
            return false;
        x_n++;
    }
    return x_n == y_n;
}

bool meta_is_same_content(const struct kind *kind, const struct json *object, const struct json *current)
{
    static const char *const but_meta[] = {"metadata", NULL};
    static const char *const but_status[] = {"metadata", "status", NULL};
    return same_members(object, current, kind_subresource(kind, S("status")) ? but_status : but_meta, false);
}

static bool same_managed_fields(const struct json *x, const struct json *y)
{
    static const char *const but_time[] = {"time", NULL};
    if (!json_is_arr(x) || !json_is_arr(y) || x->n != y->n)
        return json_len(x) == 0 && json_len(y) == 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (!same_members(&x->items[i], &y->items[i], but_time, false))
            return false;
    }
    return true;
}

bool meta_is_unchanged(const struct json *object, const struct json *current)
{
    static const char *const but_meta[] = {"metadata", NULL};
    static const char *const but_these[] = {"resourceVersion", "managedFields", NULL};
    const struct json *x = object_meta(object), *y = object_meta(current);
    const struct json *x_fields = json_get(x, S("managedFields")), *y_fields = json_get(y, S("managedFields"));
    return same_managed_fields(x_fields, y_fields) && same_members(x, y, but_these, true) &&
           same_members(object, current, but_meta, false);
}

/* What metadata may hold: on its own, and compared with what is stored. */

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

/* A time as Go prints it in messages; other texts unchanged. */
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
