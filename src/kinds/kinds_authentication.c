/* SPDX-License-Identifier: Apache-2.0 */
/* authentication.k8s.io/v1: questions about who somebody is, and tokens. */
#define SHAPE_PACKAGE "io.k8s.api.authentication.v1"

#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

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

static const struct kind kinds[] = {
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

const struct kind_table kinds_authentication = {kinds, ROWS(kinds)};
