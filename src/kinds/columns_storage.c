/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of PersistentVolume and PersistentVolumeClaim. */
#include "kinds/columns_internal.h"
#include "object/object.h"

static str access_modes(struct arena *a, const struct json *modes)
{
    static const char *const names[][2] = {
        {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    struct buf b = {.arena = a};
    for (size_t i = 0; i < COUNT(names); i++) {
        bool has = false;
        json_each_item(modes, it) has = has || str_eq(json_text(it), str_of(names[i][0]));
        if (has)
            column_join(&b, str_of(names[i][1]), ",");
    }
    return buf_str(&b);
}

static struct json phase(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(object_is_deleting(obj) ? S("Terminating") : column_text(obj, "status.phase"));
}

/* The annotation is older than the field and goes before it. */
static struct json storage_class(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *old = json_get(object_annotations(obj), S("volume.beta.kubernetes.io/storage-class"));
    (void)a;
    (void)now;
    return json_str(old ? json_text(old) : column_text(obj, "spec.storageClassName"));
}

/* ---- Volumes. ---- */

static struct json volume_capacity(struct arena *a, const struct json *obj, int64_t now)
{
    str amount = column_text(obj, "spec.capacity.storage");
    (void)a;
    (void)now;
    return json_str(amount.n ? amount : S("0"));
}

static struct json volume_modes(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(access_modes(a, json_dig(obj, "spec.accessModes")));
}

static struct json volume_claim(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *claim = json_dig(obj, "spec.claimRef");
    (void)now;
    if (!json_is_obj(claim))
        return json_str((str){0});
    return json_str(
        str_fmt(a, "%.*s/%.*s", STR(json_get_text(claim, S("namespace"))), STR(json_get_text(claim, S("name")))));
}

static const struct column persistent_volumes[] = {
    NAME_COLUMN,
    CELL_COLUMN("Capacity", volume_capacity),
    CELL_COLUMN("Access Modes", volume_modes),
    FIELD_COLUMN("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", NULL),
    CELL_COLUMN("Status", phase),
    CELL_COLUMN("Claim", volume_claim),
    CELL_COLUMN("StorageClass", storage_class),
    FIELD_COLUMN("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    FIELD_COLUMN("Reason", "status.reason", NULL),
    AGE_COLUMN,
    WIDE_FIELD_COLUMN("VolumeMode", "spec.volumeMode", "<unset>"),
};
COLUMNS(columns_persistent_volumes, persistent_volumes);

/* ---- Claims: they show what they have once they are bound. ---- */

static bool is_bound(const struct json *obj)
{
    return column_text(obj, "spec.volumeName").n > 0;
}

static struct json claim_capacity(struct arena *a, const struct json *obj, int64_t now)
{
    str amount = column_text(obj, "status.capacity.storage");
    (void)a;
    (void)now;
    return json_str(!is_bound(obj) ? (str){0} : amount.n ? amount : S("0"));
}

static struct json claim_modes(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(is_bound(obj) ? access_modes(a, json_dig(obj, "status.accessModes")) : (str){0});
}

static const struct column persistent_volume_claims[] = {
    NAME_COLUMN,
    CELL_COLUMN("Status", phase),
    FIELD_COLUMN("Volume", "spec.volumeName", NULL),
    CELL_COLUMN("Capacity", claim_capacity),
    CELL_COLUMN("Access Modes", claim_modes),
    CELL_COLUMN("StorageClass", storage_class),
    FIELD_COLUMN("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    AGE_COLUMN,
    WIDE_FIELD_COLUMN("VolumeMode", "spec.volumeMode", "<unset>"),
};
COLUMNS(columns_persistent_volume_claims, persistent_volume_claims);
