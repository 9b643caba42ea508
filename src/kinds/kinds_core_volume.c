/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* core/v1: the volumes of a pod, one record per source. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

static const struct shape_field shape_host_path_volume_source_fields[] = {
    STRING("path", 1, REQUIRED),
    STRING("type", 2, PTR, NAMED("v1.HostPathType")),
};
SHARED_SHAPE(shape_host_path_volume_source, "HostPathVolumeSource");

static const struct shape_field empty_dir_volume_source_fields[] = {
    STRING("medium", 1, NAMED("v1.StorageMedium")),
    QUANTITY("sizeLimit", 2, PTR),
};
SHAPE(empty_dir_volume_source, "EmptyDirVolumeSource");

static const struct shape_field shape_gce_persistent_disk_volume_source_fields[] = {
    STRING("pdName", 1, REQUIRED),
    STRING("fsType", 2),
    INT32("partition", 3),
    BOOL("readOnly", 4),
};
SHARED_SHAPE(shape_gce_persistent_disk_volume_source, "GCEPersistentDiskVolumeSource");

static const struct shape_field shape_aws_elastic_block_store_volume_source_fields[] = {
    STRING("volumeID", 1, REQUIRED),
    STRING("fsType", 2),
    INT32("partition", 3),
    BOOL("readOnly", 4),
};
SHARED_SHAPE(shape_aws_elastic_block_store_volume_source, "AWSElasticBlockStoreVolumeSource");

static const struct shape_field git_repo_volume_source_fields[] = {
    STRING("repository", 1, REQUIRED),
    STRING("revision", 2),
    STRING("directory", 3),
};
SHAPE(git_repo_volume_source, "GitRepoVolumeSource");

static const struct shape_field key_to_path_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("path", 2, REQUIRED),
    INT32("mode", 3, PTR),
};
SHAPE(key_to_path, "KeyToPath");

static const struct shape_field secret_volume_source_fields[] = {
    STRING("secretName", 1),
    LIST("items", 2, key_to_path, ATOMIC),
    INT32("defaultMode", 3, PTR),
    BOOL("optional", 4, PTR),
};
SHAPE(secret_volume_source, "SecretVolumeSource");

static const struct shape_field shape_nfs_volume_source_fields[] = {
    STRING("server", 1, REQUIRED),
    STRING("path", 2, REQUIRED),
    BOOL("readOnly", 3),
};
SHARED_SHAPE(shape_nfs_volume_source, "NFSVolumeSource");

static const struct shape_field i_s_csi_volume_source_fields[] = {
    STRING("targetPortal", 1, REQUIRED),
    STRING("iqn", 2, REQUIRED),
    INT32("lun", 3, REQUIRED),
    STRING("iscsiInterface", 4),
    STRING("fsType", 5),
    BOOL("readOnly", 6),
    STRINGS("portals", 7, ATOMIC),
    BOOL("chapAuthDiscovery", 8),
    BOOL("chapAuthSession", 11),
    RECORD("secretRef", 10, shape_local_object_reference, PTR),
    STRING("initiatorName", 12, PTR),
};
SHAPE(i_s_csi_volume_source, "ISCSIVolumeSource");

static const struct shape_field glusterfs_volume_source_fields[] = {
    STRING("endpoints", 1, REQUIRED),
    STRING("path", 2, REQUIRED),
    BOOL("readOnly", 3),
};
SHAPE(glusterfs_volume_source, "GlusterfsVolumeSource");

static const struct shape_field persistent_volume_claim_volume_source_fields[] = {
    STRING("claimName", 1, REQUIRED),
    BOOL("readOnly", 2),
};
SHAPE(persistent_volume_claim_volume_source, "PersistentVolumeClaimVolumeSource");

static const struct shape_field rbd_volume_source_fields[] = {
    STRINGS("monitors", 1, REQUIRED, ATOMIC),
    STRING("image", 2, REQUIRED),
    STRING("fsType", 3),
    STRING("pool", 4),
    STRING("user", 5),
    STRING("keyring", 6),
    RECORD("secretRef", 7, shape_local_object_reference, PTR),
    BOOL("readOnly", 8),
};
SHAPE(rbd_volume_source, "RBDVolumeSource");

static const struct shape_field flex_volume_source_fields[] = {
    STRING("driver", 1, REQUIRED), STRING("fsType", 2),      RECORD("secretRef", 3, shape_local_object_reference, PTR),
    BOOL("readOnly", 4),           STRING_MAP("options", 5),
};
SHAPE(flex_volume_source, "FlexVolumeSource");

static const struct shape_field cinder_volume_source_fields[] = {
    STRING("volumeID", 1, REQUIRED),
    STRING("fsType", 2),
    BOOL("readOnly", 3),
    RECORD("secretRef", 4, shape_local_object_reference, PTR),
};
SHAPE(cinder_volume_source, "CinderVolumeSource");

static const struct shape_field cephfs_volume_source_fields[] = {
    STRINGS("monitors", 1, REQUIRED, ATOMIC),
    STRING("path", 2),
    STRING("user", 3),
    STRING("secretFile", 4),
    RECORD("secretRef", 5, shape_local_object_reference, PTR),
    BOOL("readOnly", 6),
};
SHAPE(cephfs_volume_source, "CephFSVolumeSource");

static const struct shape_field shape_flocker_volume_source_fields[] = {
    STRING("datasetName", 1),
    STRING("datasetUUID", 2),
};
SHARED_SHAPE(shape_flocker_volume_source, "FlockerVolumeSource");

static const struct shape_field shape_object_field_selector_fields[] = {
    STRING("apiVersion", 1),
    STRING("fieldPath", 2, REQUIRED),
};
SHARED_ATOMIC_SHAPE(shape_object_field_selector, "ObjectFieldSelector");

static const struct shape_field shape_resource_field_selector_fields[] = {
    STRING("containerName", 1),
    STRING("resource", 2, REQUIRED),
    QUANTITY("divisor", 3),
};
SHARED_ATOMIC_SHAPE(shape_resource_field_selector, "ResourceFieldSelector");

static const struct shape_field downward_api_volume_file_fields[] = {
    STRING("path", 1, REQUIRED),
    RECORD("fieldRef", 2, shape_object_field_selector, PTR),
    RECORD("resourceFieldRef", 3, shape_resource_field_selector, PTR),
    INT32("mode", 4, PTR),
};
SHAPE(downward_api_volume_file, "DownwardAPIVolumeFile");

static const struct shape_field downward_api_volume_source_fields[] = {
    LIST("items", 1, downward_api_volume_file, ATOMIC),
    INT32("defaultMode", 2, PTR),
};
SHAPE(downward_api_volume_source, "DownwardAPIVolumeSource");

static const struct shape_field shape_fc_volume_source_fields[] = {
    STRINGS("targetWWNs", 1, ATOMIC), INT32("lun", 2, PTR), STRING("fsType", 3), BOOL("readOnly", 4),
    STRINGS("wwids", 5, ATOMIC),
};
SHARED_SHAPE(shape_fc_volume_source, "FCVolumeSource");

static const struct shape_field azure_file_volume_source_fields[] = {
    STRING("secretName", 1, REQUIRED),
    STRING("shareName", 2, REQUIRED),
    BOOL("readOnly", 3),
};
SHAPE(azure_file_volume_source, "AzureFileVolumeSource");

static const struct shape_field config_map_volume_source_fields[] = {
    STRING("name", 1, WITHIN(1)),
    LIST("items", 2, key_to_path, ATOMIC),
    INT32("defaultMode", 3, PTR),
    BOOL("optional", 4, PTR),
};
SHAPE(config_map_volume_source, "ConfigMapVolumeSource");

static const struct shape_field shape_vsphere_virtual_disk_volume_source_fields[] = {
    STRING("volumePath", 1, REQUIRED),
    STRING("fsType", 2),
    STRING("storagePolicyName", 3),
    STRING("storagePolicyID", 4),
};
SHARED_SHAPE(shape_vsphere_virtual_disk_volume_source, "VsphereVirtualDiskVolumeSource");

static const struct shape_field shape_quobyte_volume_source_fields[] = {
    STRING("registry", 1, REQUIRED),
    STRING("volume", 2, REQUIRED),
    BOOL("readOnly", 3),
    STRING("user", 4),
    STRING("group", 5),
    STRING("tenant", 6),
};
SHARED_SHAPE(shape_quobyte_volume_source, "QuobyteVolumeSource");

static const struct shape_field shape_azure_disk_volume_source_fields[] = {
    STRING("diskName", 1, REQUIRED),
    STRING("diskURI", 2, REQUIRED),
    STRING("cachingMode", 3, PTR, NAMED("v1.AzureDataDiskCachingMode")),
    STRING("fsType", 4, PTR),
    BOOL("readOnly", 5, PTR),
    STRING("kind", 6, PTR, NAMED("v1.AzureDataDiskKind")),
};
SHARED_SHAPE(shape_azure_disk_volume_source, "AzureDiskVolumeSource");

static const struct shape_field shape_photon_persistent_disk_volume_source_fields[] = {
    STRING("pdID", 1, REQUIRED),
    STRING("fsType", 2),
};
SHARED_SHAPE(shape_photon_persistent_disk_volume_source, "PhotonPersistentDiskVolumeSource");

static const struct shape_field secret_projection_fields[] = {
    STRING("name", 1, WITHIN(1)),
    LIST("items", 2, key_to_path, ATOMIC),
    BOOL("optional", 4, PTR),
};
SHAPE(secret_projection, "SecretProjection");

static const struct shape_field downward_api_projection_fields[] = {
    LIST("items", 1, downward_api_volume_file, ATOMIC),
};
SHAPE(downward_api_projection, "DownwardAPIProjection");

static const struct shape_field config_map_projection_fields[] = {
    STRING("name", 1, WITHIN(1)),
    LIST("items", 2, key_to_path, ATOMIC),
    BOOL("optional", 4, PTR),
};
SHAPE(config_map_projection, "ConfigMapProjection");

static const struct shape_field service_account_token_projection_fields[] = {
    STRING("audience", 1),
    INT64("expirationSeconds", 2, PTR),
    STRING("path", 3, REQUIRED),
};
SHAPE(service_account_token_projection, "ServiceAccountTokenProjection");

static const struct shape_field cluster_trust_bundle_projection_fields[] = {
    STRING("name", 1, PTR),   STRING("signerName", 2, PTR), RECORD("labelSelector", 3, shape_label_selector, PTR),
    BOOL("optional", 5, PTR), STRING("path", 4, REQUIRED),
};
SHAPE(cluster_trust_bundle_projection, "ClusterTrustBundleProjection");

static const struct shape_field volume_projection_fields[] = {
    RECORD("secret", 1, secret_projection, PTR),
    RECORD("downwardAPI", 2, downward_api_projection, PTR),
    RECORD("configMap", 3, config_map_projection, PTR),
    RECORD("serviceAccountToken", 4, service_account_token_projection, PTR),
    RECORD("clusterTrustBundle", 5, cluster_trust_bundle_projection, PTR),
};
SHAPE(volume_projection, "VolumeProjection");

static const struct shape_field projected_volume_source_fields[] = {
    LIST("sources", 1, volume_projection, ATOMIC, WRITTEN),
    INT32("defaultMode", 2, PTR),
};
SHAPE(projected_volume_source, "ProjectedVolumeSource");

static const struct shape_field shape_portworx_volume_source_fields[] = {
    STRING("volumeID", 1, REQUIRED),
    STRING("fsType", 2),
    BOOL("readOnly", 3),
};
SHARED_SHAPE(shape_portworx_volume_source, "PortworxVolumeSource");

static const struct shape_field scale_io_volume_source_fields[] = {
    STRING("gateway", 1, REQUIRED),
    STRING("system", 2, REQUIRED),
    RECORD("secretRef", 3, shape_local_object_reference, PTR, REQUIRED),
    BOOL("sslEnabled", 4),
    STRING("protectionDomain", 5),
    STRING("storagePool", 6),
    STRING("storageMode", 7),
    STRING("volumeName", 8),
    STRING("fsType", 9),
    BOOL("readOnly", 10),
};
SHAPE(scale_io_volume_source, "ScaleIOVolumeSource");

static const struct shape_field storage_os_volume_source_fields[] = {
    STRING("volumeName", 1),
    STRING("volumeNamespace", 2),
    STRING("fsType", 3),
    BOOL("readOnly", 4),
    RECORD("secretRef", 5, shape_local_object_reference, PTR),
};
SHAPE(storage_os_volume_source, "StorageOSVolumeSource");

static const struct shape_field csi_volume_source_fields[] = {
    STRING("driver", 1, REQUIRED),
    BOOL("readOnly", 2, PTR),
    STRING("fsType", 3, PTR),
    STRING_MAP("volumeAttributes", 4),
    RECORD("nodePublishSecretRef", 5, shape_local_object_reference, PTR),
};
SHAPE(csi_volume_source, "CSIVolumeSource");

static const struct shape_field volume_resource_requirements_fields[] = {
    QUANTITY_MAP("limits", 1, NAMED("v1.ResourceList")),
    QUANTITY_MAP("requests", 2, NAMED("v1.ResourceList")),
};
SHAPE(volume_resource_requirements, "VolumeResourceRequirements");

static const struct shape_field shape_typed_local_object_reference_fields[] = {
    STRING("apiGroup", 1, PTR, WRITTEN),
    STRING("kind", 2, REQUIRED),
    STRING("name", 3, REQUIRED),
};
SHARED_ATOMIC_SHAPE(shape_typed_local_object_reference, "TypedLocalObjectReference");

static const struct shape_field typed_object_reference_fields[] = {
    STRING("apiGroup", 1, PTR, WRITTEN),
    STRING("kind", 2, REQUIRED),
    STRING("name", 3, REQUIRED),
    STRING("namespace", 4, PTR),
};
SHAPE(typed_object_reference, "TypedObjectReference");

static const struct shape_field shape_persistent_volume_claim_spec_fields[] = {
    STRINGS("accessModes", 1, ATOMIC, NAMED("v1.PersistentVolumeAccessMode")),
    RECORD("selector", 4, shape_label_selector, PTR),
    RECORD("resources", 2, volume_resource_requirements),
    STRING("volumeName", 3),
    STRING("storageClassName", 5, PTR),
    STRING("volumeMode", 6, PTR, NAMED("v1.PersistentVolumeMode")),
    RECORD("dataSource", 7, shape_typed_local_object_reference, PTR),
    RECORD("dataSourceRef", 8, typed_object_reference, PTR),
    STRING("volumeAttributesClassName", 9, PTR),
};
SHARED_SHAPE(shape_persistent_volume_claim_spec, "PersistentVolumeClaimSpec");

static const struct shape_field persistent_volume_claim_template_fields[] = {
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, shape_persistent_volume_claim_spec, REQUIRED),
};
SHAPE(persistent_volume_claim_template, "PersistentVolumeClaimTemplate");

static const struct shape_field ephemeral_volume_source_fields[] = {
    RECORD("volumeClaimTemplate", 1, persistent_volume_claim_template, PTR),
};
SHAPE(ephemeral_volume_source, "EphemeralVolumeSource");

static const struct shape_field image_volume_source_fields[] = {
    STRING("reference", 1),
    STRING("pullPolicy", 2, NAMED("v1.PullPolicy")),
};
SHAPE(image_volume_source, "ImageVolumeSource");

static const struct shape_field shape_volume_fields[] = {
    STRING("name", 1, REQUIRED),
    RECORD("hostPath", 1, shape_host_path_volume_source, PTR, WITHIN(2)),
    RECORD("emptyDir", 2, empty_dir_volume_source, PTR, WITHIN(2)),
    RECORD("gcePersistentDisk", 3, shape_gce_persistent_disk_volume_source, PTR, WITHIN(2)),
    RECORD("awsElasticBlockStore", 4, shape_aws_elastic_block_store_volume_source, PTR, WITHIN(2)),
    RECORD("gitRepo", 5, git_repo_volume_source, PTR, WITHIN(2)),
    RECORD("secret", 6, secret_volume_source, PTR, WITHIN(2)),
    RECORD("nfs", 7, shape_nfs_volume_source, PTR, WITHIN(2)),
    RECORD("iscsi", 8, i_s_csi_volume_source, PTR, WITHIN(2)),
    RECORD("glusterfs", 9, glusterfs_volume_source, PTR, WITHIN(2)),
    RECORD("persistentVolumeClaim", 10, persistent_volume_claim_volume_source, PTR, WITHIN(2)),
    RECORD("rbd", 11, rbd_volume_source, PTR, WITHIN(2)),
    RECORD("flexVolume", 12, flex_volume_source, PTR, WITHIN(2)),
    RECORD("cinder", 13, cinder_volume_source, PTR, WITHIN(2)),
    RECORD("cephfs", 14, cephfs_volume_source, PTR, WITHIN(2)),
    RECORD("flocker", 15, shape_flocker_volume_source, PTR, WITHIN(2)),
    RECORD("downwardAPI", 16, downward_api_volume_source, PTR, WITHIN(2)),
    RECORD("fc", 17, shape_fc_volume_source, PTR, WITHIN(2)),
    RECORD("azureFile", 18, azure_file_volume_source, PTR, WITHIN(2)),
    RECORD("configMap", 19, config_map_volume_source, PTR, WITHIN(2)),
    RECORD("vsphereVolume", 20, shape_vsphere_virtual_disk_volume_source, PTR, WITHIN(2)),
    RECORD("quobyte", 21, shape_quobyte_volume_source, PTR, WITHIN(2)),
    RECORD("azureDisk", 22, shape_azure_disk_volume_source, PTR, WITHIN(2)),
    RECORD("photonPersistentDisk", 23, shape_photon_persistent_disk_volume_source, PTR, WITHIN(2)),
    RECORD("projected", 26, projected_volume_source, PTR, WITHIN(2)),
    RECORD("portworxVolume", 24, shape_portworx_volume_source, PTR, WITHIN(2)),
    RECORD("scaleIO", 25, scale_io_volume_source, PTR, WITHIN(2)),
    RECORD("storageos", 27, storage_os_volume_source, PTR, WITHIN(2)),
    RECORD("csi", 28, csi_volume_source, PTR, WITHIN(2)),
    RECORD("ephemeral", 29, ephemeral_volume_source, PTR, WITHIN(2)),
    RECORD("image", 30, image_volume_source, PTR, WITHIN(2)),
};
SHARED_SHAPE(shape_volume, "Volume");

/* core/v1: PersistentVolume and PersistentVolumeClaim. */

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
