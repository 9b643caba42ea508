/* SPDX-License-Identifier: Apache-2.0 */
/* What: the shapes that more than one file of this folder uses.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "json/shape.h"

/* meta.c */
extern const struct shape shape_label_selector_requirement;
extern const struct shape shape_label_selector;
extern const struct shape shape_object_meta;
extern const struct shape shape_condition;
extern const struct shape shape_field_selector_requirement;

/* core.c */
extern const struct shape shape_object_reference;
extern const struct shape shape_local_object_reference;

/* core_quota.c */
extern const struct shape shape_resource_quota;
extern const struct shape shape_limit_range;

/* core_volume.c */
extern const struct shape shape_object_field_selector;
extern const struct shape shape_resource_field_selector;
extern const struct shape shape_volume;
extern const struct shape shape_aws_elastic_block_store_volume_source;
extern const struct shape shape_azure_disk_volume_source;
extern const struct shape shape_fc_volume_source;
extern const struct shape shape_flocker_volume_source;
extern const struct shape shape_gce_persistent_disk_volume_source;
extern const struct shape shape_host_path_volume_source;
extern const struct shape shape_nfs_volume_source;
extern const struct shape shape_persistent_volume_claim_spec;
extern const struct shape shape_photon_persistent_disk_volume_source;
extern const struct shape shape_portworx_volume_source;
extern const struct shape shape_quobyte_volume_source;
extern const struct shape shape_typed_local_object_reference;
extern const struct shape shape_vsphere_virtual_disk_volume_source;

/* core_storage.c */
extern const struct shape shape_persistent_volume;
extern const struct shape shape_persistent_volume_claim;

/* core_controller.c */
extern const struct shape shape_replication_controller;

/* core_scheduling.c */
extern const struct shape shape_node_selector;
extern const struct shape shape_affinity;
extern const struct shape shape_toleration;
extern const struct shape shape_topology_spread_constraint;
extern const struct shape shape_taint;
extern const struct shape shape_topology_selector_term;

/* core_container.c */
extern const struct shape shape_resource_requirements;
extern const struct shape shape_selinux_options;
extern const struct shape shape_windows_security_context_options;
extern const struct shape shape_seccomp_profile;
extern const struct shape shape_app_armor_profile;
extern const struct shape shape_container;
extern const struct shape shape_ephemeral_container;

/* core_pod.c */
extern const struct shape shape_pod_template_spec;
extern const struct shape shape_pod;
extern const struct shape shape_pod_template;

/* core_service.c */
extern const struct shape shape_service;
extern const struct shape shape_endpoints;

/* core_event.c */
extern const struct shape shape_event_source;
extern const struct shape shape_event;

/* core_node.c */
extern const struct shape shape_node;

/* autoscaling.c; the last one is what annotations of v1 hold */
extern const struct shape shape_horizontal_pod_autoscaler_v1;
extern const struct shape shape_autoscaler_notes;

/* autoscaling_v2.c */
extern const struct shape shape_horizontal_pod_autoscaler_v2;
