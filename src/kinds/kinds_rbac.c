/* SPDX-License-Identifier: Apache-2.0 */
/* rbac.authorization.k8s.io/v1: the four kinds of role based access control. */
#define SHAPE_PACKAGE "io.k8s.api.rbac.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field policy_rule_fields[] = {
    STRINGS("verbs", 1, REQUIRED, ATOMIC), STRINGS("apiGroups", 2, ATOMIC),       STRINGS("resources", 3, ATOMIC),
    STRINGS("resourceNames", 4, ATOMIC),   STRINGS("nonResourceURLs", 5, ATOMIC),
};
SHAPE(policy_rule, "PolicyRule");

static const struct shape_field role_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("rules", 2, policy_rule, ATOMIC, WRITTEN),
};
SHAPE(role, "Role");

static const struct shape_field subject_fields[] = {
    STRING("kind", 1, REQUIRED),
    STRING("apiGroup", 2),
    STRING("name", 3, REQUIRED),
    STRING("namespace", 4),
};
ATOMIC_SHAPE(subject, "Subject");

static const struct shape_field role_ref_fields[] = {
    STRING("apiGroup", 1, REQUIRED),
    STRING("kind", 2, REQUIRED),
    STRING("name", 3, REQUIRED),
};
ATOMIC_SHAPE(role_ref, "RoleRef");

static const struct shape_field role_binding_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("subjects", 2, subject, ATOMIC),
    RECORD("roleRef", 3, role_ref, REQUIRED),
};
SHAPE(role_binding, "RoleBinding");

static const struct shape_field aggregation_rule_fields[] = {
    LIST("clusterRoleSelectors", 1, shape_label_selector, ATOMIC),
};
SHAPE(aggregation_rule, "AggregationRule");

static const struct shape_field cluster_role_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("rules", 2, policy_rule, ATOMIC, WRITTEN),
    RECORD("aggregationRule", 3, aggregation_rule, PTR),
};
SHAPE(cluster_role, "ClusterRole");

static const struct shape_field cluster_role_binding_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("subjects", 2, subject, ATOMIC),
    RECORD("roleRef", 3, role_ref, REQUIRED),
};
SHAPE(cluster_role_binding, "ClusterRoleBinding");

static const struct kind kinds[] = {
    {
        NAMES("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .name_rule = NAME_PATH_SEGMENT,
        .shape = &cluster_role_binding,
        .columns = &columns_role_bindings,
    },
    {
        NAMES("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "clusterrole"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .name_rule = NAME_PATH_SEGMENT,
        .shape = &cluster_role,
    },
    {
        NAMES("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "rolebinding"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .name_rule = NAME_PATH_SEGMENT,
        .shape = &role_binding,
        .columns = &columns_role_bindings,
    },
    {
        NAMES("rbac.authorization.k8s.io", "v1", "Role", "roles", "role"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .name_rule = NAME_PATH_SEGMENT,
        .shape = &role,
    },
};

const struct kind_table kinds_rbac = {kinds, ROWS(kinds)};
