/* SPDX-License-Identifier: Apache-2.0 */
/* authorization.k8s.io/v1: questions about what somebody may do. */
#define SHAPE_PACKAGE "io.k8s.api.authorization.v1"

#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

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

static const struct kind kinds[] = {
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

const struct kind_table kinds_authorization = {kinds, ROWS(kinds)};
