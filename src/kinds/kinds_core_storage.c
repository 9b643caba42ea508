/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: PersistentVolume and PersistentVolumeClaim. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field secret_reference_fields[] = {
    STRING("name", 1),
    STRING("namespace", 2),
};
ATOMIC_SHAPE(secret_reference, "SecretReference");

static const struct shape_field glusterfs_persistent_volume_source_fields[] = {
    STRING("endpoints", 1, REQUIRED),
    STRING("path", 2, REQUIRED),
    BOOL("readOnly", 3),
    STRING("endpointsNamespace", 4, PTR),
};
SHAPE(glusterfs_persistent_volume_source, "GlusterfsPersistentVolumeSource");

static const struct shape_field rbd_persistent_volume_source_fields[] = {
    STRINGS("monitors", 1, REQUIRED, ATOMIC),
    STRING("image", 2, REQUIRED),
    STRING("fsType", 3),
    STRING("pool", 4),
    STRING("user", 5),
    STRING("keyring", 6),
    RECORD("secretRef", 7, secret_reference, PTR),
    BOOL("readOnly", 8),
};
SHAPE(rbd_persistent_volume_source, "RBDPersistentVolumeSource");

static const struct shape_field i_s_csi_persistent_volume_source_fields[] = {
    STRING("targetPortal", 1, REQUIRED),
    STRING("iqn", 2, REQUIRED),
    INT32("lun", 3, REQUIRED),
    STRING("iscsiInterface", 4),
    STRING("fsType", 5),
    BOOL("readOnly", 6),
    STRINGS("portals", 7, ATOMIC),
    BOOL("chapAuthDiscovery", 8),
    BOOL("chapAuthSession", 11),
    RECORD("secretRef", 10, secret_reference, PTR),
    STRING("initiatorName", 12, PTR),
};
SHAPE(i_s_csi_persistent_volume_source, "ISCSIPersistentVolumeSource");

static const struct shape_field cinder_persistent_volume_source_fields[] = {
    STRING("volumeID", 1, REQUIRED),
    STRING("fsType", 2),
    BOOL("readOnly", 3),
    RECORD("secretRef", 4, secret_reference, PTR),
};
SHAPE(cinder_persistent_volume_source, "CinderPersistentVolumeSource");

static const struct shape_field ceph_fs_persistent_volume_source_fields[] = {
    STRINGS("monitors", 1, REQUIRED, ATOMIC),      STRING("path", 2),   STRING("user", 3), STRING("secretFile", 4),
    RECORD("secretRef", 5, secret_reference, PTR), BOOL("readOnly", 6),
};
SHAPE(ceph_fs_persistent_volume_source, "CephFSPersistentVolumeSource");

static const struct shape_field flex_persistent_volume_source_fields[] = {
    STRING("driver", 1, REQUIRED), STRING("fsType", 2),      RECORD("secretRef", 3, secret_reference, PTR),
    BOOL("readOnly", 4),           STRING_MAP("options", 5),
};
SHAPE(flex_persistent_volume_source, "FlexPersistentVolumeSource");

static const struct shape_field azure_file_persistent_volume_source_fields[] = {
    STRING("secretName", 1, REQUIRED),
    STRING("shareName", 2, REQUIRED),
    BOOL("readOnly", 3),
    STRING("secretNamespace", 4, PTR, WRITTEN),
};
SHAPE(azure_file_persistent_volume_source, "AzureFilePersistentVolumeSource");

static const struct shape_field scale_io_persistent_volume_source_fields[] = {
    STRING("gateway", 1, REQUIRED),
    STRING("system", 2, REQUIRED),
    RECORD("secretRef", 3, secret_reference, PTR, REQUIRED),
    BOOL("sslEnabled", 4),
    STRING("protectionDomain", 5),
    STRING("storagePool", 6),
    STRING("storageMode", 7),
    STRING("volumeName", 8),
    STRING("fsType", 9),
    BOOL("readOnly", 10),
};
SHAPE(scale_io_persistent_volume_source, "ScaleIOPersistentVolumeSource");

static const struct shape_field local_volume_source_fields[] = {
    STRING("path", 1, REQUIRED),
    STRING("fsType", 2, PTR),
};
SHAPE(local_volume_source, "LocalVolumeSource");

static const struct shape_field storage_os_persistent_volume_source_fields[] = {
    STRING("volumeName", 1),
    STRING("volumeNamespace", 2),
    STRING("fsType", 3),
    BOOL("readOnly", 4),
    RECORD("secretRef", 5, shape_object_reference, PTR),
};
SHAPE(storage_os_persistent_volume_source, "StorageOSPersistentVolumeSource");

static const struct shape_field csi_persistent_volume_source_fields[] = {
    STRING("driver", 1, REQUIRED),
    STRING("volumeHandle", 2, REQUIRED),
    BOOL("readOnly", 3),
    STRING("fsType", 4),
    STRING_MAP("volumeAttributes", 5),
    RECORD("controllerPublishSecretRef", 6, secret_reference, PTR),
    RECORD("nodeStageSecretRef", 7, secret_reference, PTR),
    RECORD("nodePublishSecretRef", 8, secret_reference, PTR),
    RECORD("controllerExpandSecretRef", 9, secret_reference, PTR),
    RECORD("nodeExpandSecretRef", 10, secret_reference, PTR),
};
SHAPE(csi_persistent_volume_source, "CSIPersistentVolumeSource");

static const struct shape_field volume_node_affinity_fields[] = {
    RECORD("required", 1, shape_node_selector, PTR),
};
SHAPE(volume_node_affinity, "VolumeNodeAffinity");

static const struct shape_field persistent_volume_spec_fields[] = {
    QUANTITY_MAP("capacity", 1, NAMED("v1.ResourceList")),
    RECORD("gcePersistentDisk", 1, shape_gce_persistent_disk_volume_source, PTR, WITHIN(2)),
    RECORD("awsElasticBlockStore", 2, shape_aws_elastic_block_store_volume_source, PTR, WITHIN(2)),
    RECORD("hostPath", 3, shape_host_path_volume_source, PTR, WITHIN(2)),
    RECORD("glusterfs", 4, glusterfs_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("nfs", 5, shape_nfs_volume_source, PTR, WITHIN(2)),
    RECORD("rbd", 6, rbd_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("iscsi", 7, i_s_csi_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("cinder", 8, cinder_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("cephfs", 9, ceph_fs_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("fc", 10, shape_fc_volume_source, PTR, WITHIN(2)),
    RECORD("flocker", 11, shape_flocker_volume_source, PTR, WITHIN(2)),
    RECORD("flexVolume", 12, flex_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("azureFile", 13, azure_file_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("vsphereVolume", 14, shape_vsphere_virtual_disk_volume_source, PTR, WITHIN(2)),
    RECORD("quobyte", 15, shape_quobyte_volume_source, PTR, WITHIN(2)),
    RECORD("azureDisk", 16, shape_azure_disk_volume_source, PTR, WITHIN(2)),
    RECORD("photonPersistentDisk", 17, shape_photon_persistent_disk_volume_source, PTR, WITHIN(2)),
    RECORD("portworxVolume", 18, shape_portworx_volume_source, PTR, WITHIN(2)),
    RECORD("scaleIO", 19, scale_io_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("local", 20, local_volume_source, PTR, WITHIN(2)),
    RECORD("storageos", 21, storage_os_persistent_volume_source, PTR, WITHIN(2)),
    RECORD("csi", 22, csi_persistent_volume_source, PTR, WITHIN(2)),
    STRINGS("accessModes", 3, ATOMIC, NAMED("v1.PersistentVolumeAccessMode")),
    RECORD("claimRef", 4, shape_object_reference, PTR),
    STRING("persistentVolumeReclaimPolicy", 5, NAMED("v1.PersistentVolumeReclaimPolicy")),
    STRING("storageClassName", 6),
    STRINGS("mountOptions", 7, ATOMIC),
    STRING("volumeMode", 8, PTR, NAMED("v1.PersistentVolumeMode")),
    RECORD("nodeAffinity", 9, volume_node_affinity, PTR),
    STRING("volumeAttributesClassName", 10, PTR),
};
SHAPE(persistent_volume_spec, "PersistentVolumeSpec");

static const struct shape_field persistent_volume_status_fields[] = {
    STRING("phase", 1, NAMED("v1.PersistentVolumePhase")),
    STRING("message", 2),
    STRING("reason", 3),
    TIME("lastPhaseTransitionTime", 4, PTR),
};
SHAPE(persistent_volume_status, "PersistentVolumeStatus");

static const struct shape_field shape_persistent_volume_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, persistent_volume_spec),
    RECORD("status", 3, persistent_volume_status),
};
SHARED_SHAPE(shape_persistent_volume, "PersistentVolume");

static const struct shape_field persistent_volume_claim_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.PersistentVolumeClaimConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastProbeTime", 3),
    TIME("lastTransitionTime", 4),
    STRING("reason", 5),
    STRING("message", 6),
};
SHAPE(persistent_volume_claim_condition, "PersistentVolumeClaimCondition");

static const struct shape_field modify_volume_status_fields[] = {
    STRING("targetVolumeAttributesClassName", 1),
    STRING("status", 2, REQUIRED, NAMED("v1.PersistentVolumeClaimModifyVolumeStatus")),
};
SHAPE(modify_volume_status, "ModifyVolumeStatus");

static const struct shape_field persistent_volume_claim_status_fields[] = {
    STRING("phase", 1, NAMED("v1.PersistentVolumeClaimPhase")),
    STRINGS("accessModes", 2, ATOMIC, NAMED("v1.PersistentVolumeAccessMode")),
    QUANTITY_MAP("capacity", 3, NAMED("v1.ResourceList")),
    LIST("conditions", 4, persistent_volume_claim_condition, KEYED("type"), MERGE("type")),
    QUANTITY_MAP("allocatedResources", 5, NAMED("v1.ResourceList")),
    STRING_MAP("allocatedResourceStatuses", 7, NAMED("map[v1.ResourceName]v1.ClaimResourceStatus")),
    STRING("currentVolumeAttributesClassName", 8, PTR),
    RECORD("modifyVolumeStatus", 9, modify_volume_status, PTR),
};
SHAPE(persistent_volume_claim_status, "PersistentVolumeClaimStatus");

static const struct shape_field shape_persistent_volume_claim_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, shape_persistent_volume_claim_spec),
    RECORD("status", 3, persistent_volume_claim_status),
};
SHARED_SHAPE(shape_persistent_volume_claim, "PersistentVolumeClaim");
