/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy.h"

#include "kinds/builtin.h"
#include "kinds/strategy_internal.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"
#include "schema/crd.h"

static const struct strategy_table *const tables[] = {
    &strategies_core,    &strategies_workload,  &strategies_pod,       &strategies_batch,
    &strategies_network, &strategies_resources, &strategies_event,     &strategies_scaling,
    &strategies_classes, &strategies_slices,    &strategies_templates, &strategies_certificates,
};

/* Of kinds that have nothing special. */
static const struct strategy plain;

static const struct strategy *strategy_of(const struct kind *kind)
{
    if (kind->flags & KIND_CUSTOM)
        return &plain;
    for (size_t t = 0; t < COUNT(tables); t++) {
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct strategy *s = &tables[t]->rows[i];
            if (strcmp(s->kind, kind->kind) == 0 && strcmp(s->group ? s->group : "", kind->group) == 0 &&
                (s->version == NULL || strcmp(s->version, kind->version) == 0))
                return s;
        }
    }
    return &plain;
}

static bool is_crd(const struct kind *kind)
{
    return strcmp(kind->kind, "CustomResourceDefinition") == 0 && strcmp(kind->group, "apiextensions.k8s.io") == 0;
}

/* CRDs are kept as JSON, questions not at all. */
static unsigned form_of(const struct kind *kind)
{
    return is_crd(kind) || (kind->flags & KIND_NOT_STORED) ? CANONICAL_KEEP_EMPTY : 0;
}

void strategy_default(struct arena *a, const struct kind *kind, struct json *object)
{
    const struct strategy *s = strategy_of(kind);
    if (is_crd(kind))
        crd_default(a, object);
    else if (s->fill)
        s->fill(a, object);
    if (kind->shape)
        canonical_form(a, kind->shape, object, form_of(kind));
}

void strategy_prepare_create(struct arena *a, const struct kind *kind, struct json *object)
{
    const struct strategy *s = strategy_of(kind);
    if (kind_subresource(kind, S("status")) && !s->keeps_status)
        json_remove(object, S("status"));
    if (is_crd(kind))
        crd_prepare_create(a, object);
    else if (s->prepare_create)
        s->prepare_create(a, object);
    if (kind->shape)
        canonical_form(a, kind->shape, object, form_of(kind));
}

/* ---- Updates. ---- */

static void prepare_itself(struct arena *a, const struct kind *kind, struct json *object, const struct json *current)
{
    const struct strategy *s = strategy_of(kind);
    if (is_crd(kind)) {
        crd_prepare_update(a, object, current);
        return;
    }
    if (kind_subresource(kind, S("status")))
        copy_member(a, object, current, S("status"));
    if (s->prepare_update)
        s->prepare_update(a, object, current);
}

/* Of a custom resource nothing passes but the status and who manages its fields. The resourceVersion is left as it was
 * sent, for whoever compares it. */
static void prepare_custom_status(struct arena *a, struct json *object, const struct json *current)
{
    struct json sent = *object, *meta;
    *object = json_dup(a, current);
    meta = meta_of(a, object);
    copy_member(a, meta, object_meta(&sent), S("managedFields"));
    copy_member(a, meta, object_meta(&sent), S("resourceVersion"));
    copy_member(a, object, &sent, S("status"));
}

/* Everything but metadata and status becomes what it was. Most kinds let metadata pass, as Kubernetes does. */
static void prepare_status(struct arena *a, const struct kind *kind, struct json *object, const struct json *current)
{
    const struct strategy *s = strategy_of(kind);
    struct json next = json_dup_top(a, current);
    copy_member(a, &next, object, S("metadata"));
    copy_member(a, &next, object, S("status"));
    *object = next;
    if (s->prepare_status)
        s->prepare_status(a, object, current);
}

/* The containers for debugging are all that changes. */
static void prepare_ephemeral(struct arena *a, struct json *object, const struct json *current)
{
    struct json sent = *object;
    *object = json_dup(a, current);
    copy_member(a, meta_of(a, object), object_meta(&sent), S("managedFields"));
    copy_member(a, meta_of(a, object), object_meta(&sent), S("resourceVersion"));
    copy_member(a, make_obj(a, object, S("spec")), json_get(&sent, S("spec")), S("ephemeralContainers"));
}

/* The conditions of a certificate request. */
static void prepare_approval(struct arena *a, struct json *object, const struct json *current)
{
    struct json conditions = json_null();
    const struct json *sent = json_dig(object, "status.conditions");
    if (sent)
        conditions = *sent;
    copy_member(a, object, current, S("spec"));
    copy_member(a, object, current, S("status"));
    json_set(a, make_obj(a, object, S("status")), S("conditions"), conditions);
}

void strategy_prepare_update(struct arena *a, const struct kind *kind, str subresource, struct json *object,
                             const struct json *current)
{
    if (subresource.n == 0)
        prepare_itself(a, kind, object, current);
    else if (str_eq(subresource, S("status")) && (kind->flags & KIND_CUSTOM))
        prepare_custom_status(a, object, current);
    else if (str_eq(subresource, S("status")))
        prepare_status(a, kind, object, current);
    else if (str_eq(subresource, S("finalize")))
        copy_member(a, object, current, S("status"));
    else if (str_eq(subresource, S("ephemeralcontainers")))
        prepare_ephemeral(a, object, current);
    else if (str_eq(subresource, S("approval")))
        prepare_approval(a, object, current);
}

/* ---- Checks. ---- */

void strategy_validate(struct field_errors *errs, const struct kind *kind, const struct json *object)
{
    const struct strategy *s = strategy_of(kind);
    if (is_crd(kind))
        builtin_validate_crd(errs, object);
    else if (s->validate)
        s->validate(errs, object);
}

static void validate_itself(struct field_errors *errs, const struct kind *kind, const struct json *object,
                            const struct json *current)
{
    const struct strategy *s = strategy_of(kind);
    if (is_crd(kind)) {
        crd_validate_update(errs, object, current);
        return;
    }
    if (s->validate_update && !s->changes_come_last)
        s->validate_update(errs, object, current);
    if (s->validate && !s->keeps_its_old_faults)
        s->validate(errs, object);
    if (s->validate_update && s->changes_come_last)
        s->validate_update(errs, object, current);
}

void strategy_validate_update(struct field_errors *errs, const struct kind *kind, str subresource,
                              const struct json *object, const struct json *current)
{
    const struct strategy *s = strategy_of(kind);
    if (subresource.n == 0)
        validate_itself(errs, kind, object, current);
    else if (str_eq(subresource, S("finalize")))
        strategy_check_finalize(errs, object);
    else if (str_eq(subresource, S("approval")))
        strategy_check_approval(errs, object, current);
    else if (str_eq(subresource, S("status")) && is_crd(kind))
        crd_validate_status(errs, object);
    else if (str_eq(subresource, S("status")) && s->validate_status)
        s->validate_status(errs, object, current);
}

/* ---- Two views of the same objects. ---- */

static bool is_event(const struct kind *kind)
{
    return strcmp(kind->kind, "Event") == 0 && (kind->group[0] == 0 || strcmp(kind->group, "events.k8s.io") == 0);
}

static bool is_autoscaler(const struct kind *kind)
{
    return strcmp(kind->kind, "HorizontalPodAutoscaler") == 0 && strcmp(kind->group, "autoscaling") == 0;
}

const struct kind *strategy_storage_kind(const struct kind *kind)
{
    if (kind->flags & KIND_CUSTOM)
        return kind;
    if (is_event(kind))
        return kind_builtin_by_path(S(""), S("v1"), S("events"));
    if (is_autoscaler(kind))
        return kind_builtin_by_path(S("autoscaling"), S("v2"), S("horizontalpodautoscalers"));
    return kind;
}

void strategy_convert(struct arena *a, const struct kind *from, const struct kind *to, struct json *object)
{
    if (from == to)
        return;
    if (is_event(to))
        event_convert(object, to->group[0] == 0);
    else if (is_autoscaler(to) && strcmp(to->version, "v1") == 0)
        autoscaler_to_v1(a, object);
    else if (is_autoscaler(to))
        autoscaler_to_v2(a, object);
    str version = to->group[0] ? str_fmt(a, "%s/%s", to->group, to->version) : str_of(to->version);
    json_set(a, object, S("apiVersion"), json_str(version));
    json_set(a, object, S("kind"), json_str(str_of(to->kind)));
}
