/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: where a pod may run: affinity, tolerations, taints, spreading. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field node_selector_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("operator", 2, REQUIRED, NAMED("v1.NodeSelectorOperator")),
    STRINGS("values", 3, ATOMIC),
};
SHAPE(node_selector_requirement, "NodeSelectorRequirement");

static const struct shape_field node_selector_term_fields[] = {
    LIST("matchExpressions", 1, node_selector_requirement, ATOMIC),
    LIST("matchFields", 2, node_selector_requirement, ATOMIC),
};
ATOMIC_SHAPE(node_selector_term, "NodeSelectorTerm");

static const struct shape_field shape_node_selector_fields[] = {
    LIST("nodeSelectorTerms", 1, node_selector_term, REQUIRED, ATOMIC),
};
SHARED_ATOMIC_SHAPE(shape_node_selector, "NodeSelector");

static const struct shape_field preferred_scheduling_term_fields[] = {
    INT32("weight", 1, REQUIRED),
    RECORD("preference", 2, node_selector_term, REQUIRED),
};
SHAPE(preferred_scheduling_term, "PreferredSchedulingTerm");

static const struct shape_field node_affinity_fields[] = {
    RECORD("requiredDuringSchedulingIgnoredDuringExecution", 1, shape_node_selector, PTR),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, preferred_scheduling_term, ATOMIC),
};
SHAPE(node_affinity, "NodeAffinity");

static const struct shape_field pod_affinity_term_fields[] = {
    RECORD("labelSelector", 1, shape_label_selector, PTR),
    STRINGS("namespaces", 2, ATOMIC),
    STRING("topologyKey", 3, REQUIRED),
    RECORD("namespaceSelector", 4, shape_label_selector, PTR),
    STRINGS("matchLabelKeys", 5, ATOMIC),
    STRINGS("mismatchLabelKeys", 6, ATOMIC),
};
SHAPE(pod_affinity_term, "PodAffinityTerm");

static const struct shape_field weighted_pod_affinity_term_fields[] = {
    INT32("weight", 1, REQUIRED),
    RECORD("podAffinityTerm", 2, pod_affinity_term, REQUIRED),
};
SHAPE(weighted_pod_affinity_term, "WeightedPodAffinityTerm");

static const struct shape_field pod_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", 1, pod_affinity_term, ATOMIC),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, weighted_pod_affinity_term, ATOMIC),
};
SHAPE(pod_affinity, "PodAffinity");

static const struct shape_field pod_anti_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", 1, pod_affinity_term, ATOMIC),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, weighted_pod_affinity_term, ATOMIC),
};
SHAPE(pod_anti_affinity, "PodAntiAffinity");

static const struct shape_field shape_affinity_fields[] = {
    RECORD("nodeAffinity", 1, node_affinity, PTR),
    RECORD("podAffinity", 2, pod_affinity, PTR),
    RECORD("podAntiAffinity", 3, pod_anti_affinity, PTR),
};
SHARED_SHAPE(shape_affinity, "Affinity");

static const struct shape_field shape_toleration_fields[] = {
    STRING("key", 1),
    STRING("operator", 2, NAMED("v1.TolerationOperator")),
    STRING("value", 3),
    STRING("effect", 4, NAMED("v1.TaintEffect")),
    INT64("tolerationSeconds", 5, PTR),
};
SHARED_SHAPE(shape_toleration, "Toleration");

static const struct shape_field shape_topology_spread_constraint_fields[] = {
    INT32("maxSkew", 1, REQUIRED),
    STRING("topologyKey", 2, REQUIRED),
    STRING("whenUnsatisfiable", 3, REQUIRED, NAMED("v1.UnsatisfiableConstraintAction")),
    RECORD("labelSelector", 4, shape_label_selector, PTR),
    INT32("minDomains", 5, PTR),
    STRING("nodeAffinityPolicy", 6, PTR, NAMED("v1.NodeInclusionPolicy")),
    STRING("nodeTaintsPolicy", 7, PTR, NAMED("v1.NodeInclusionPolicy")),
    STRINGS("matchLabelKeys", 8, ATOMIC),
};
SHARED_SHAPE(shape_topology_spread_constraint, "TopologySpreadConstraint");

static const struct shape_field shape_taint_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("value", 2),
    STRING("effect", 3, REQUIRED, NAMED("v1.TaintEffect")),
    TIME("timeAdded", 4, PTR),
};
SHARED_SHAPE(shape_taint, "Taint");

static const struct shape_field topology_selector_label_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRINGS("values", 2, REQUIRED, ATOMIC),
};
SHAPE(topology_selector_label_requirement, "TopologySelectorLabelRequirement");

static const struct shape_field shape_topology_selector_term_fields[] = {
    LIST("matchLabelExpressions", 1, topology_selector_label_requirement, ATOMIC),
};
SHARED_ATOMIC_SHAPE(shape_topology_selector_term, "TopologySelectorTerm");
