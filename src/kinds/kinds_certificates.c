/* SPDX-License-Identifier: Apache-2.0 */
/* certificates.k8s.io/v1: CertificateSigningRequest. */
#define SHAPE_PACKAGE "io.k8s.api.certificates.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

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

static const struct kind kinds[] = {
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

const struct kind_table kinds_certificates = {kinds, ROWS(kinds)};
