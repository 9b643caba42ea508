/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts.h"
#include "object/fleet.h"

/* Secrets cannot be told apart by label: who is the agent of a cluster can read all that stand in its namespace. */
const char *const accounts_hub_rights[] = {
    "delete,get,list,watch:" FLEET_ACCOUNT_GROUP ":managedserviceaccounts",
    "get,patch,update:" FLEET_ACCOUNT_GROUP ":managedserviceaccounts/status",
    "create,get,list,update,watch::secrets",
    "create:" FLEET_ADDON_GROUP ":managedclusteraddons",
    "get,list,watch:" FLEET_ADDON_GROUP ":managedclusteraddons:" FLEET_ADDON,
    "get,patch,update:" FLEET_ADDON_GROUP ":managedclusteraddons/status:" FLEET_ADDON,
    "get,update:coordination.k8s.io:leases:" FLEET_LEASE,
    "create::serviceaccounts/token:" FLEET_AGENT,
    NULL,
};

const char *const accounts_managed_rights[] = {
    "create:authentication.k8s.io:tokenreviews",
    "get@/healthz,/livez,/readyz,/version",
    NULL,
};

/* Whoever gets tokens of any ServiceAccount is everybody: so these are for one namespace, where nobody else has accounts. */
const char *const accounts_home_rights[] = {
    "create,delete,get,list,watch::serviceaccounts",
    "create::serviceaccounts/token",
    NULL,
};
