/* SPDX-License-Identifier: Apache-2.0 */
/* The number of replicas of an object, seen and changed as a Scale:
 *
 *   object ── at the paths of its kind ──► Scale ── body or patch ──► Scale ── the number ──► object ── write as ever */
#include "api/scale.h"

#include "api/api_patch.h"
#include "api/api_value.h"
#include "kinds/builtin.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/selector.h"
#include "object/status.h"

static const struct kind_scale builtin = {".spec.replicas", ".status.replicas", NULL};

static const struct kind_scale *paths_of(const struct kind *kind)
{
    return kind->scale ? kind->scale : &builtin;
}

static const struct kind *scale_kind(void)
{
    return kind_builtin_by_body(S("autoscaling/v1"), S("Scale"));
}

/* ---- Paths: member names behind dots. ---- */

static bool take_name(str *path, str *ret)
{
    str rest;
    if (path->n && path->p[0] == '.')
        *path = str_from(*path, 1);
    if (path->n == 0)
        return false;
    str_cut(*path, '.', ret, &rest);
    *path = rest;
    return true;
}

static const struct json *at_path(const struct json *object, const char *path)
{
    str rest = str_of(path), name;
    while (take_name(&rest, &name))
        object = json_get(object, name);
    return object;
}

static void set_at_path(struct arena *a, struct json *object, const char *path, struct json value)
{
    str rest = str_of(path), name;
    while (take_name(&rest, &name)) {
        struct json *child = json_get_mut(object, name);
        if (rest.n == 0)
            json_set(a, object, name, value);
        else
            object = json_is_obj(child) ? child : json_set(a, object, name, json_obj());
    }
}

/* ---- Validation of custom resources. ---- */

static void validate_number(struct field_errors *errs, const struct json *object, const char *path)
{
    const struct json *value = at_path(object, path);
    int64_t n;
    if (json_is_null(value) || !json_to_int(value, &n))
        return;
    str shown = field_value(errs->arena, value);
    if (n < 0)
        field_error_add(errs, FIELD_INVALID, str_of(path), shown, "should be a non-negative integer");
    else if (n > INT32_MAX)
        field_error_add(errs, FIELD_INVALID, str_of(path), shown, "should be less than or equal to %d", INT32_MAX);
}

void scale_validate(struct field_errors *errs, const struct kind *kind, str subresource, const struct json *object)
{
    if (!kind->scale)
        return;
    if (!str_eq(subresource, S("status")))
        validate_number(errs, object, kind->scale->spec_replicas);
    validate_number(errs, object, kind->scale->status_replicas);
}

/* ---- An object as a Scale. ---- */

static str selector_of(struct arena *a, const struct kind *kind, const struct json *object)
{
    if (kind->flags & KIND_CUSTOM)
        return kind->scale->selector ? json_text(at_path(object, kind->scale->selector)) : (str){0};
    struct selector selector;
    struct buf text = {.arena = a};
    const struct json *spec = json_dig(object, "spec.selector");
    /* ReplicationControllers have a plain map there. */
    bool is_map = strcmp(kind->plural, "replicationcontrollers") == 0;
    struct json wrapped = json_obj();
    if (is_map && spec) {
        json_add(a, &wrapped, S("matchLabels"), *spec);
        spec = &wrapped;
    }
    if (json_is_null(spec) || selector_from_object(a, spec, &selector, NULL) < 0)
        return (str){0};
    selector_format(&text, &selector);
    return buf_str(&text);
}

static struct json number_at(const struct json *object, const char *path)
{
    int64_t n;
    return json_int(json_to_int(at_path(object, path), &n) ? n : 0);
}

static struct json scale_of(struct arena *a, const struct kind *kind, const struct json *object)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"};
    const struct kind_scale *paths = paths_of(kind);
    struct json meta = json_obj(), spec = json_obj(), status = json_obj(), scale = json_obj();
    for (size_t i = 0; i < COUNT(kept); i++) {
        const struct json *v = json_get(object_meta(object), str_of(kept[i]));
        if (!json_is_null(v))
            json_add(a, &meta, str_of(kept[i]), *v);
    }
    struct json wanted = number_at(object, paths->spec_replicas);
    if (wanted.i) /* the API leaves out a zero here, and only here */
        json_add(a, &spec, S("replicas"), wanted);
    json_add(a, &status, S("replicas"), number_at(object, paths->status_replicas));
    str selector = selector_of(a, kind, object);
    if (selector.n)
        json_add(a, &status, S("selector"), json_str(selector));
    json_add(a, &scale, S("kind"), json_str(S("Scale")));
    json_add(a, &scale, S("apiVersion"), json_str(S("autoscaling/v1")));
    json_add(a, &scale, S("metadata"), meta);
    json_add(a, &scale, S("spec"), spec);
    json_add(a, &scale, S("status"), status);
    return scale;
}

/* ---- GET. ---- */

void scale_get(struct api_request *r)
{
    const struct kind *kind = r->route.kind;
    const struct kind_scale *paths = paths_of(kind);
    struct accept accept;
    struct json object, status;
    struct err err = {0};
    if (!negotiate(r, ACCEPT_YAML, &accept))
        return;
    int rc = value_get(r->api, r->arena, kind, r->route.namespace, r->route.name, &object, NULL, &err);
    if (rc == ERR_NOT_FOUND) {
        bool is_deployment = strcmp(kind->kind, "Deployment") == 0 && !(kind->flags & KIND_CUSTOM);
        str resource = is_deployment ? S("deployments/scale") : str_of(kind->plural); /* so the real server says */
        status = status_not_found(r->arena, (struct status_subject){str_of(kind->group), resource, r->route.name});
        api_refuse(r, &status);
    } else if (rc < 0) {
        api_refuse_err(r, &err);
    } else if (kind->scale && json_is_null(at_path(&object, paths->spec_replicas))) {
        status = status_internal(
            r->arena, str_fmt(r->arena, "the spec replicas field \"%s\" does not exist", paths->spec_replicas));
        api_refuse(r, &status);
    } else {
        struct json scale = scale_of(r->arena, kind, &object);
        api_answer(r, 200, &scale);
    }
}

/* ---- PUT and PATCH. ---- */

/* What a client may ask for; 0, or the refusal. */
static int check_scale(struct write *w, const struct json *scale)
{
    struct field_errors errs = {.arena = &w->work};
    const struct json *replicas = json_dig(scale, "spec.replicas");
    int64_t n = 0;
    json_to_int(replicas, &n);
    if (n < 0)
        field_error_add(&errs, FIELD_INVALID, S("spec.replicas"), field_value(&w->work, replicas),
                        "must be greater than or equal to 0");
    if (errs.list.n == 0)
        return 0;
    w->status = status_invalid(&w->work, (struct status_subject){S("autoscaling"), S("Scale"), w->name}, &errs);
    return ERR_INVALID;
}

/* From the Scale that a client wants to the object that has it so. */
static enum write_step next_scaled(struct write *w, const struct json *scale)
{
    struct arena *a = &w->work;
    int64_t n = 0;
    str version = object_rv(scale);
    bool is_custom = w->kind->flags & KIND_CUSTOM;
    if (!is_custom && check_scale(w, scale) < 0)
        return WRITE_REFUSED;
    json_to_int(json_dig(scale, "spec.replicas"), &n);
    w->next = json_dup(a, &w->current);
    set_at_path(a, &w->next, paths_of(w->kind)->spec_replicas, json_int(n));
    if (version.n)
        json_set(a, meta_of(a, &w->next), S("resourceVersion"), json_str(version));
    write_track(w);
    return write_next_update(w);
}

/* The object behind the path; false when the attempt is over. */
static bool load(struct write *w)
{
    struct err err = {0};
    int rc = write_load(w, w->name, &err);
    if (rc == ERR_NOT_FOUND)
        w->status = status_not_found(&w->work, write_subject(w, w->name));
    else if (rc < 0)
        write_failed(w, &err);
    return rc == 0;
}

static enum write_step build_update(struct write *w)
{
    struct decoded body;
    struct err err = {0};
    struct meta_place place = {.kind = w->kind, .namespace = w->namespace, .name = w->name};
    if (decode_body(w->r, &w->work, scale_kind(), &body, &w->status) < 0)
        return WRITE_REFUSED;
    write_warn_all(w, &body.notes);
    if (meta_place(&w->work, &place, &body.object, &err) < 0)
        return write_failed(w, &err);
    if (!load(w) || meta_check_uid(&w->work, w->kind, &body.object, &w->current, &w->status) < 0)
        return WRITE_REFUSED;
    return next_scaled(w, &body.object);
}

static enum write_step build_patch(struct write *w)
{
    struct json patched;
    if (!load(w))
        return WRITE_REFUSED;
    struct json scale = scale_of(&w->work, w->kind, &w->current);
    if (patch_apply(w, scale_kind(), &scale, &patched) < 0)
        return WRITE_REFUSED;
    return next_scaled(w, &patched);
}

static void shape_answer(struct write *w, struct json *object)
{
    *object = scale_of(&w->work, w->kind, object);
}

static void run(struct api_request *r, write_build *build, enum write_verb verb)
{
    struct write *w;
    if (!write_begin(r, build, &w))
        return;
    w->reshape = shape_answer;
    if (str_eq(decode_media_type(r), PATCH_APPLY))
        write_refuse(w, status_unsupported_patch(&w->work)); /* would need a record of managers of its own */
    else if ((verb == WRITE_PATCH && !patch_type_parse(w, scale_kind())) || write_options_parse(w, verb) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

void scale_update(struct api_request *r)
{
    run(r, build_update, WRITE_UPDATE);
}

void scale_patch(struct api_request *r)
{
    run(r, build_patch, WRITE_PATCH);
}
