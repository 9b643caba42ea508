/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_role.h"

#include "controllers/accounts/accounts.h"
#include "controllers/rbac.h"
#include "controllers/works/works.h"
#include "object/fleet.h"

struct json clusters_agent_role(struct arena *a)
{
    struct rbac_names names = {.name = S(FLEET_AGENT_ROLE)};
    struct json rules = json_arr();
    rbac_add_rights(a, &rules, works_hub_rights);
    rbac_add_rights(a, &rules, accounts_hub_rights);
    return rbac_role(a, &names, rules);
}
