/* SPDX-License-Identifier: Apache-2.0 */
/* coordination.k8s.io/v1: Lease. */
#define SHAPE_PACKAGE "io.k8s.api.coordination.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field lease_spec_fields[] = {
    STRING("holderIdentity", 1, PTR),  INT32("leaseDurationSeconds", 2, PTR),
    MICRO_TIME("acquireTime", 3, PTR), MICRO_TIME("renewTime", 4, PTR),
    INT32("leaseTransitions", 5, PTR), STRING("strategy", 6, PTR, NAMED("v1.CoordinatedLeaseStrategy")),
    STRING("preferredHolder", 7, PTR),
};
SHAPE(lease_spec, "LeaseSpec");

static const struct shape_field lease_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, lease_spec),
};
SHAPE(lease, "Lease");

static const struct kind kinds[] = {
    {
        NAMES("coordination.k8s.io", "v1", "Lease", "leases", "lease"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_CREATE_ON_PUT,
        .shape = &lease,
        .columns = &columns_leases,
    },
};

const struct kind_table kinds_coordination = {kinds, ROWS(kinds)};
