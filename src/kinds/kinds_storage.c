/* SPDX-License-Identifier: Apache-2.0 */
/* storage.k8s.io/v1: StorageClass. */
#define SHAPE_PACKAGE "io.k8s.api.storage.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field storage_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("provisioner", 2, REQUIRED),
    STRING_MAP("parameters", 3),
    STRING("reclaimPolicy", 4, PTR, NAMED("v1.PersistentVolumeReclaimPolicy")),
    STRINGS("mountOptions", 5, ATOMIC),
    BOOL("allowVolumeExpansion", 6, PTR),
    STRING("volumeBindingMode", 7, PTR, NAMED("v1.VolumeBindingMode")),
    LIST("allowedTopologies", 8, shape_topology_selector_term, ATOMIC),
};
SHAPE(storage_class, "StorageClass");

static const struct kind kinds[] = {
    {
        NAMES("storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass"),
        .short_names = LIST_OF("sc"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        .shape = &storage_class,
        .columns = &columns_storage_classes,
    },
};

const struct kind_table kinds_storage = {kinds, ROWS(kinds)};
