/* SPDX-License-Identifier: Apache-2.0 */
/* What: manifests for works of tests, and what conditions say of them.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "fleet.h"

#define ROLE(name, verbs)                                                                                         \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'" name "'},'rules':[{'apiGroups':['']," \
    "'resources':['pods'],'verbs':[" verbs "]}]}"
#define BINDING(name, role)                                                                              \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRoleBinding','metadata':{'name':'" name "'},'roleRef':{" \
    "'apiGroup':'" RBAC "','kind':'ClusterRole','name':'" role "'},'subjects':[{'kind':'Group','name':'g'}]}"
#define IN_NAMESPACE(ns, name)                                                                                 \
    "{'apiVersion':'" RBAC "/v1','kind':'Role','metadata':{'name':'" name "','namespace':'" ns "'},'rules':[{" \
    "'apiGroups':[''],'resources':['pods'],'verbs':['get']}]}"
#define SELECTED(name, selector)                                          \
    "{'apiVersion':'" RBAC "/v1','kind':'Role','metadata':{'name':'" name \
    "','annotations':{'" FLEET_ANNOTATION_SELECTOR "':'" selector         \
    "'}},'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['get']}]}"

/* What conditions say when all is well. */
#define COMPLETE "True AppliedManifestWorkComplete: Apply manifest work complete"
#define DONE "True AppliedManifestComplete: Apply manifest complete"

#define FAILED "False AppliedManifestWorkFailed: Failed to apply manifest work"
