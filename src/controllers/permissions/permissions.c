/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions.h"

#include "controllers/namespaces/namespaces_kinds.h"
#include "controllers/permissions/permissions_internal.h"
#include "object/fleet.h"

#include <stdlib.h>

#define RBAC "rbac.authorization.k8s.io"

enum { WORKERS = 16 }; /* they wait for the server nearly always, and what several write at once is one commit to it */

const struct client_resource permissions_resource = CLIENT_RESOURCE(FLEET_PERMISSIONS),
                             permissions_works = CLIENT_RESOURCE(FLEET_WORKS),
                             permissions_roles = CLIENT_RESOURCE(RBAC, "v1", "roles", "Role", true);
static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS),
                                    accounts = CLIENT_RESOURCE(FLEET_ACCOUNTS), addons = CLIENT_RESOURCE(FLEET_ADDONS),
                                    cluster_roles = CLIENT_RESOURCE(RBAC, "v1", "clusterroles", "ClusterRole", false);

static void discard(void *state)
{
    struct permissions *p = state;
    recorder_free(p->recorder);
    echoes_free(p->echoes);
    free(p);
}

static struct informer *inform(const struct controller_env *env, const struct informer_options *options)
{
    struct informer_options o = *options;
    o.client = env->reader;
    return control_informer(env->control, &o);
}

static void open_informers(struct permissions *p, const struct controller_env *env)
{
    p->permissions = inform(
        env,
        &(struct informer_options){.resource = permissions_resource, .trim = watch_trim_permission, .by_owner = true});
    p->works = inform(
        env, &(struct informer_options){.resource = permissions_works, .trim = watch_trim_work, .by_owner = true});
    p->clusters = inform(env, &(struct informer_options){.resource = clusters,
                                                         .trim = watch_trim_cluster,
                                                         .labels = (const str[]){S(FLEET_LABEL_AGENT)},
                                                         .n_labels = 1});
    p->accounts = inform(env, &(struct informer_options){.resource = accounts, .keys_only = true});
    p->addons = inform(env, &(struct informer_options){.resource = addons,
                                                       .field_selector = S("metadata.name=" FLEET_ADDON),
                                                       .trim = watch_trim_addon});
    p->roles = inform(env, &(struct informer_options){.resource = permissions_roles, .keys_only = true});
    p->cluster_roles = inform(env, &(struct informer_options){.resource = cluster_roles});
    p->namespaces = namespaces_informer(env);
}

static void listen(struct permissions *p, struct informer *informer,
                   void (*changed)(void *ctx, const struct informer_change *change))
{
    informer_add_handler(informer, &(struct informer_handler){.changed = changed, .ctx = p});
}

/* Approvals are trusted from now on, or no longer. */
static void on_policy(void *ctx)
{
    struct permissions *p = ctx;
    struct items items ITEMS_SCOPE = informer_list(p->permissions, (str){0});
    for (size_t i = 0; i < items.n; i++)
        control_enqueue(p->controller, item_namespace(items.p[i]), item_name(items.p[i]));
}

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    struct permissions *p = xcalloc(1, sizeof *p);
    *p = (struct permissions){.clock = env->clock,
                              .requires_approval = env->requires_approval,
                              .trusts_stamp = env->is_embedded,
                              .echoes = echoes_new()};
    p->recorder = recorder_new(&(struct recorder_options){
        .loop = env->loop, .client = env->client, .clock = env->clock, .component = S("reeve-permissions")});
    control_own(env->control, p, discard);
    open_informers(p, env);
    struct informer *const needs[] = {p->permissions, p->works, p->clusters,      p->accounts,
                                      p->addons,      p->roles, p->cluster_roles, p->namespaces};
    p->controller = control_add(env->control, &(struct controller_options){.name = "permissions",
                                                                           .client = env->client,
                                                                           .workers = WORKERS,
                                                                           .reconcile = permissions_visit,
                                                                           .ctx = p,
                                                                           .needs = needs,
                                                                           .n_needs = COUNT(needs)});
    if (p->requires_approval && !env->is_embedded)
        p->policy = policy_watch(env, POLICY_PERMISSIONS, on_policy, p);
    listen(p, p->permissions, watch_permission);
    listen(p, p->works, watch_work);
    listen(p, p->clusters, watch_cluster);
    listen(p, p->accounts, watch_account);
    listen(p, p->addons, watch_addon);
    listen(p, p->roles, watch_role);
    listen(p, p->cluster_roles, watch_role);
    listen(p, p->namespaces, watch_namespace);
    return 0;
}

/* finalizers: its works hold up the deletion of their owner. execute-as: where the hub asks who lets an agent act with its own
 * rights. approve: it tells in the status that a permission needs no approval, or has it. */
const struct controller_row permissions_row = {
    .name = "permissions",
    .account = "permissions-controller",
    .summary = "delivers ClusterPermissions to managed clusters",
    .rights = {"approve,get,list,watch:" FLEET_PERMISSION_GROUP ":clusterpermissions",
               "update:" FLEET_PERMISSION_GROUP ":clusterpermissions/finalizers,clusterpermissions/status",
               "create,delete,get,list,update,watch:" FLEET_WORK_GROUP ":manifestworks",
               "execute-as:" FLEET_WORK_GROUP ":manifestworks:" FLEET_EXECUTOR,
               "list,watch:" FLEET_CLUSTER_GROUP ":managedclusters",
               "list,watch:" FLEET_ACCOUNT_GROUP ":managedserviceaccounts",
               "list,watch:" FLEET_ADDON_GROUP ":managedclusteraddons", "list,watch::namespaces",
               "list,watch:" RBAC ":clusterroles", "get,list,watch:" RBAC ":roles",
               "create:authorization.k8s.io:subjectaccessreviews", "create,patch::events",
               POLICY_RIGHTS(POLICY_NAME_PERMISSIONS)},
    .add = add,
};
