/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/controllers.h"

#include <assert.h>

#include "controllers/aggregation/aggregation.h"
#include "controllers/clusters/clusters.h"
#include "controllers/garbage/garbage.h"
#include "controllers/installs/installs.h"
#include "controllers/namespaces/namespaces.h"
#include "controllers/permissions/permissions.h"
#include "controllers/personas/personas.h"

static const struct controller_row *const rows[] = {
    &aggregation_row,         &clusters_row,           &garbage_row,     &installs_row, &namespaces_accounts_row,
    &namespaces_deletion_row, &namespaces_root_ca_row, &permissions_row, &personas_row,
};

size_t controllers_count(void)
{
    return COUNT(rows);
}

const struct controller_row *controllers_row(size_t i)
{
    assert(i < controllers_count());
    return rows[i];
}
