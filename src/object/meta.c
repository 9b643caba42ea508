/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta.h"

#include "object/object.h"
#include "object/status.h"

#include <assert.h>

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
    /* What is no number counts as none, as in Kubernetes. */
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
