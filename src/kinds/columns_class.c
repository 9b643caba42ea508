/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of PriorityClass, StorageClass, IngressClass and RuntimeClass. */
#include "kinds/columns_internal.h"
#include "object/object.h"

/* ---- Priorities. ---- */

static struct json priority(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "value"));
}

static struct json is_default(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_bool(json_true(json_get(obj, S("globalDefault"))));
}

static const struct column priority_classes[] = {
    NAME_COLUMN,
    INTEGER_COLUMN("Value", priority),
    {.name = "Global-Default", .type = "boolean", .cell = is_default},
    AGE_COLUMN,
    FIELD_COLUMN("PreemptionPolicy", "preemptionPolicy", NULL),
};
COLUMNS(columns_priority_classes, priority_classes);

/* ---- Storage. ---- */

static struct json storage_name(struct arena *a, const struct json *obj, int64_t now)
{
    static const char *const marks[] = {"storageclass.kubernetes.io/is-default-class",
                                        "storageclass.beta.kubernetes.io/is-default-class"};
    (void)now;
    for (size_t i = 0; i < COUNT(marks); i++) {
        if (str_eq(json_get_text(object_annotations(obj), str_of(marks[i])), S("true")))
            return json_str(str_fmt(a, "%.*s (default)", STR(object_name(obj))));
    }
    return json_str(object_name(obj));
}

static struct json may_grow(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_bool(json_true(json_get(obj, S("allowVolumeExpansion"))));
}

static const struct column storage_classes[] = {
    {.name = "Name", .type = "string", .format = "name", .cell = storage_name},
    FIELD_COLUMN("Provisioner", "provisioner", NULL),
    FIELD_COLUMN("ReclaimPolicy", "reclaimPolicy", "Delete"),
    FIELD_COLUMN("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    CELL_COLUMN("AllowVolumeExpansion", may_grow),
    AGE_COLUMN,
};
COLUMNS(columns_storage_classes, storage_classes);

/* ---- Ingress and runtimes. ---- */

/* "Kind.group/name" */
static struct json parameters(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *p = json_dig(obj, "spec.parameters");
    str group = json_get_text(p, S("apiGroup"));
    (void)now;
    if (!json_is_obj(p))
        return json_str(S("<none>"));
    return json_str(str_fmt(a, "%.*s%s%.*s/%.*s", STR(json_get_text(p, S("kind"))),
                            json_is_str(json_get(p, S("apiGroup"))) ? "." : "", STR(group),
                            STR(json_get_text(p, S("name")))));
}

static const struct column ingress_classes[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Controller", "spec.controller", NULL),
    CELL_COLUMN("Parameters", parameters),
    AGE_COLUMN,
};
COLUMNS(columns_ingress_classes, ingress_classes);

static const struct column runtime_classes[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Handler", "handler", NULL),
    AGE_COLUMN,
};
COLUMNS(columns_runtime_classes, runtime_classes);
