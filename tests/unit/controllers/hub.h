/* SPDX-License-Identifier: Apache-2.0 */
/* What: a fake hub with the cluster "cluster1" and the controller of ClusterPermissions, and what its tests ask of it. Objects are
 *       written with ' for ".
 * Owns: see world.h.
 * Threads: the test's.
 * Errors: fail the test. */
#pragma once

#include "world.h"

#define PERMISSIONS "/apis/rbac.open-cluster-management.io/v1alpha1"
#define WORKS "/apis/work.open-cluster-management.io/v1"
#define PERMISSION(name) PERMISSIONS "/namespaces/cluster1/clusterpermissions/" name
#define WORK(name) WORKS "/namespaces/cluster1/manifestworks/" name
#define REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

#define GENERATION(n) "'generation':" #n
#define RULES(verb) "'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['" verb "']}]"
#define ROLE(verb) "'clusterRole':{" RULES(verb) "}"
#define USER "'subjects':[{'apiGroup':'rbac.authorization.k8s.io','kind':'User','name':'jane'}]"
#define BINDING "'clusterRoleBinding':{" USER "}"
#define ACCOUNT(name)                                                                               \
    "'roleBindings':[{'namespace':'apps','roleRef':{'kind':'ClusterRole'},'subjects':[{'apiGroup':" \
    "'authentication.open-cluster-management.io','kind':'ManagedServiceAccount','name':'" name "'}]}]"
#define SELECTOR \
    "'roleBindings':[{'namespaceSelector':{'matchLabels':{'team':'a'}},'roleRef':{'kind':'ClusterRole'}," USER "}]"
#define PLAIN ROLE("get") "," BINDING
#define ROLE_OBJECT(kind, meta, verb) \
    "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'" kind "','metadata':{" meta "}," RULES(verb) "}"
#define ROLE_REFS                                                                                             \
    "'roleRefs':[{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'reader','namespace':'apps'},{" \
    "'apiGroup':'rbac.authorization.k8s.io','kind':'ClusterRole','name':'seer'}]"

/* For cmocka. */
int hub_set_up(void **state);
/* The same where permissions need approval. */
int hub_set_up_strict(void **state);

void hub_put(struct world *w, const char *text);
/* more: of its metadata, behind the name. */
void hub_put_cluster(struct world *w, const char *name, const char *more);
/* A ClusterPermission of cluster1. */
void hub_put_permission(struct world *w, const char *name, const char *meta, const char *spec);
void hub_fault(struct world *w, struct fake_fault f);

/* Starts the controller; what it asked for until then is forgotten. */
void hub_start(struct world *w);
/* Until nobody has anything to do, and nobody was asked for anything for a while. Time stands still. */
void hub_settle(struct world *w);
/* Some seconds go by, too: what failed is tried again. */
void hub_pass(struct world *w, int seconds);

bool hub_find(struct world *w, const char *path, struct json *ret);
/* How often the permission was looked at. */
size_t hub_visits(struct world *w, const char *name);
/* A field of a permission's condition. */
str hub_condition(struct world *w, const char *name, const char *type, const char *field);
/* The i-th manifest of the work at path. */
const struct json *hub_manifest(struct world *w, const char *path, size_t i);
/* The first verb of its first manifest. */
str hub_verb_of(struct world *w, const char *path);
void hub_assert_str(str got, const char *want);
