/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* authentication.k8s.io/v1: reviews of identities, and tokens. */
#define SHAPE_PACKAGE "io.k8s.api.authentication.v1"

static const struct shape_field token_review_spec_fields[] = {
    STRING("token", 1),
    STRINGS("audiences", 2, ATOMIC),
};
SHAPE(token_review_spec, "TokenReviewSpec");

static const struct shape_field user_info_fields[] = {
    STRING("username", 1),
    STRING("uid", 2),
    STRINGS("groups", 3, ATOMIC),
    EXTRA_MAP("extra", 4),
};
SHAPE(user_info, "UserInfo");

static const struct shape_field token_review_status_fields[] = {
    BOOL("authenticated", 1),
    RECORD("user", 2, user_info),
    STRINGS("audiences", 4, ATOMIC),
    STRING("error", 3),
};
SHAPE(token_review_status, "TokenReviewStatus");

static const struct shape_field token_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, token_review_spec, REQUIRED),
    RECORD("status", 3, token_review_status),
};
SHAPE(token_review, "TokenReview");

static const struct shape_field bound_object_reference_fields[] = {
    STRING("kind", 1),
    STRING("apiVersion", 2),
    STRING("name", 3),
    STRING("uid", 4, NAMED("types.UID")),
};
SHAPE(bound_object_reference, "BoundObjectReference");

static const struct shape_field token_request_spec_fields[] = {
    STRINGS("audiences", 1, REQUIRED, ATOMIC),
    INT64("expirationSeconds", 4, PTR, WRITTEN),
    RECORD("boundObjectRef", 3, bound_object_reference, PTR, WRITTEN),
};
SHAPE(token_request_spec, "TokenRequestSpec");

static const struct shape_field token_request_status_fields[] = {
    STRING("token", 1, REQUIRED),
    TIME("expirationTimestamp", 2, REQUIRED),
};
SHAPE(token_request_status, "TokenRequestStatus");

static const struct shape_field token_request_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, token_request_spec, REQUIRED),
    RECORD("status", 3, token_request_status),
};
SHAPE(token_request, "TokenRequest");

static const struct shape_field self_subject_review_status_fields[] = {
    RECORD("userInfo", 1, user_info),
};
SHAPE(self_subject_review_status, "SelfSubjectReviewStatus");

static const struct shape_field self_subject_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("status", 2, self_subject_review_status),
};
SHAPE(self_subject_review, "SelfSubjectReview");

static const struct kind authentication_kinds[] = {
    {
        NAMES("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview"),
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &self_subject_review,
    },
    {
        NAMES("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "tokenreview"),
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &token_review,
    },
    {
        NAMES("authentication.k8s.io", "v1", "TokenRequest", "", "tokenrequest"),
        .namespaced = true,
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &token_request,
    },
};

const struct kind_table kinds_authentication = {authentication_kinds, ROWS(authentication_kinds)};

/* authorization.k8s.io/v1: reviews of access. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.authorization.v1"

static const struct shape_field field_selector_attributes_fields[] = {
    STRING("rawSelector", 1),
    LIST("requirements", 2, shape_field_selector_requirement, ATOMIC),
};
SHAPE(field_selector_attributes, "FieldSelectorAttributes");

static const struct shape_field label_selector_attributes_fields[] = {
    STRING("rawSelector", 1),
    LIST("requirements", 2, shape_label_selector_requirement, ATOMIC),
};
SHAPE(label_selector_attributes, "LabelSelectorAttributes");

static const struct shape_field resource_attributes_fields[] = {
    STRING("namespace", 1),
    STRING("verb", 2),
    STRING("group", 3),
    STRING("version", 4),
    STRING("resource", 5),
    STRING("subresource", 6),
    STRING("name", 7),
    RECORD("fieldSelector", 8, field_selector_attributes, PTR),
    RECORD("labelSelector", 9, label_selector_attributes, PTR),
};
SHAPE(resource_attributes, "ResourceAttributes");

static const struct shape_field non_resource_attributes_fields[] = {
    STRING("path", 1),
    STRING("verb", 2),
};
SHAPE(non_resource_attributes, "NonResourceAttributes");

static const struct shape_field subject_access_review_spec_fields[] = {
    RECORD("resourceAttributes", 1, resource_attributes, PTR),
    RECORD("nonResourceAttributes", 2, non_resource_attributes, PTR),
    STRING("user", 3),
    STRINGS("groups", 4, ATOMIC),
    EXTRA_MAP("extra", 5),
    STRING("uid", 6),
};
SHAPE(subject_access_review_spec, "SubjectAccessReviewSpec");

static const struct shape_field subject_access_review_status_fields[] = {
    BOOL("allowed", 1, REQUIRED),
    BOOL("denied", 4),
    STRING("reason", 2),
    STRING("evaluationError", 3),
};
SHAPE(subject_access_review_status, "SubjectAccessReviewStatus");

static const struct shape_field subject_access_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, subject_access_review_spec, REQUIRED),
    RECORD("status", 3, subject_access_review_status),
};
SHAPE(subject_access_review, "SubjectAccessReview");

static const struct shape_field self_subject_access_review_spec_fields[] = {
    RECORD("resourceAttributes", 1, resource_attributes, PTR),
    RECORD("nonResourceAttributes", 2, non_resource_attributes, PTR),
};
SHAPE(self_subject_access_review_spec, "SelfSubjectAccessReviewSpec");

static const struct shape_field self_subject_access_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, self_subject_access_review_spec, REQUIRED),
    RECORD("status", 3, subject_access_review_status),
};
SHAPE(self_subject_access_review, "SelfSubjectAccessReview");

static const struct shape_field local_subject_access_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, subject_access_review_spec, REQUIRED),
    RECORD("status", 3, subject_access_review_status),
};
SHAPE(local_subject_access_review, "LocalSubjectAccessReview");

static const struct shape_field self_subject_rules_review_spec_fields[] = {
    STRING("namespace", 1),
};
SHAPE(self_subject_rules_review_spec, "SelfSubjectRulesReviewSpec");

static const struct shape_field resource_rule_fields[] = {
    STRINGS("verbs", 1, REQUIRED, ATOMIC),
    STRINGS("apiGroups", 2, ATOMIC),
    STRINGS("resources", 3, ATOMIC),
    STRINGS("resourceNames", 4, ATOMIC),
};
SHAPE(resource_rule, "ResourceRule");

static const struct shape_field non_resource_rule_fields[] = {
    STRINGS("verbs", 1, REQUIRED, ATOMIC),
    STRINGS("nonResourceURLs", 2, ATOMIC),
};
SHAPE(non_resource_rule, "NonResourceRule");

static const struct shape_field subject_rules_review_status_fields[] = {
    LIST("resourceRules", 1, resource_rule, REQUIRED, ATOMIC),
    LIST("nonResourceRules", 2, non_resource_rule, REQUIRED, ATOMIC),
    BOOL("incomplete", 3, REQUIRED),
    STRING("evaluationError", 4),
};
SHAPE(subject_rules_review_status, "SubjectRulesReviewStatus");

static const struct shape_field self_subject_rules_review_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, self_subject_rules_review_spec, REQUIRED),
    RECORD("status", 3, subject_rules_review_status),
};
SHAPE(self_subject_rules_review, "SelfSubjectRulesReview");

static const struct kind authorization_kinds[] = {
    {
        NAMES("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews",
              "localsubjectaccessreview"),
        .namespaced = true,
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &local_subject_access_review,
    },
    {
        NAMES("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
              "selfsubjectaccessreview"),
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &self_subject_access_review,
    },
    {
        NAMES("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
              "selfsubjectrulesreview"),
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &self_subject_rules_review,
    },
    {
        NAMES("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview"),
        .verbs = VERB_CREATE,
        .flags = KIND_NOT_STORED,
        .shape = &subject_access_review,
    },
};

const struct kind_table kinds_authorization = {authorization_kinds, ROWS(authorization_kinds)};

/* rbac.authorization.k8s.io/v1: the four kinds of role based access control. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.rbac.v1"

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

static const struct kind rbac_kinds[] = {
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

const struct kind_table kinds_rbac = {rbac_kinds, ROWS(rbac_kinds)};

/* certificates.k8s.io/v1: CertificateSigningRequest. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.certificates.v1"

static const struct shape_field certificate_signing_request_spec_fields[] = {
    BYTES("request", 1, REQUIRED, ATOMIC),
    STRING("signerName", 7, REQUIRED),
    INT32("expirationSeconds", 8, PTR),
    STRINGS("usages", 5, ATOMIC, NAMED("v1.KeyUsage")),
    STRING("username", 2),
    STRING("uid", 3),
    STRINGS("groups", 4, ATOMIC),
    EXTRA_MAP("extra", 6),
};
SHAPE(certificate_signing_request_spec, "CertificateSigningRequestSpec");

static const struct shape_field certificate_signing_request_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.RequestConditionType")),
    STRING("status", 6, REQUIRED, NAMED("v1.ConditionStatus")),
    STRING("reason", 2),
    STRING("message", 3),
    TIME("lastUpdateTime", 4),
    TIME("lastTransitionTime", 5),
};
SHAPE(certificate_signing_request_condition, "CertificateSigningRequestCondition");

static const struct shape_field certificate_signing_request_status_fields[] = {
    LIST("conditions", 1, certificate_signing_request_condition, KEYED("type")),
    BYTES("certificate", 2, ATOMIC),
};
SHAPE(certificate_signing_request_status, "CertificateSigningRequestStatus");

static const struct shape_field certificate_signing_request_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, certificate_signing_request_spec, REQUIRED),
    RECORD("status", 3, certificate_signing_request_status),
};
SHAPE(certificate_signing_request, "CertificateSigningRequest");

static const struct kind certificates_kinds[] = {
    {
        NAMES("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests",
              "certificatesigningrequest"),
        .short_names = LIST_OF("csr"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .name_rule = NAME_PATH_SEGMENT,
        SUBRESOURCES({"approval", .verbs = VERBS_STATUS}, STATUS),
        .selectable = LIST_OF("spec.signerName"),
        .shape = &certificate_signing_request,
        .columns = &columns_certificate_signing_requests,
    },
};

const struct kind_table kinds_certificates = {certificates_kinds, ROWS(certificates_kinds)};
