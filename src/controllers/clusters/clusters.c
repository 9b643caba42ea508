/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters.h"

#include "controllers/clusters/clusters_internal.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "object/object.h"

#include <stdlib.h>

#define RBAC "rbac.authorization.k8s.io"
#define OF_AGENT S("metadata.name=" FLEET_AGENT)

enum { WORKERS = 4 }; /* what several write at once is one commit to a server */

/* ---- From changes to keys. ---- */

static void enqueue(struct clusters *c, str cluster)
{
    const struct item *known = informer_get(c->clusters, (str){0}, cluster);
    if (known)
        control_enqueue(c->controller, (str){0}, cluster);
    item_unref(known);
}

static void on_beat(void *ctx, str cluster)
{
    enqueue(ctx, cluster);
}

/* Its Lease may have been told of before it was. */
static void on_cluster(void *ctx, const struct informer_change *change)
{
    struct clusters *c = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    str name = item_name(change->now ? change->now : change->was);
    struct json lease;
    beats_expect(c->beats, name, change->now ? cluster_lease_seconds(change->tree) : 0);
    if (!change->now)
        return;
    if (informer_read(c->leases, &scratch, name, S(FLEET_LEASE), &lease))
        beats_lease(c->beats, name, &lease);
    control_enqueue(c->controller, (str){0}, name);
}

static void on_lease(void *ctx, const struct informer_change *change)
{
    struct clusters *c = ctx;
    str cluster = item_namespace(change->now ? change->now : change->was);
    beats_lease(c->beats, cluster, change->now ? change->tree : NULL);
}

static void on_namespace(void *ctx, const struct informer_change *change)
{
    enqueue(ctx, item_name(change->now ? change->now : change->was));
}

static void on_part(void *ctx, const struct informer_change *change)
{
    enqueue(ctx, item_namespace(change->now ? change->now : change->was));
}

/* ---- The row. ---- */

static void discard(void *state)
{
    struct clusters *c = state;
    beats_free(c->beats);
    free(c);
}

static void open_informers(struct clusters *c, const struct controller_env *env)
{
    c->clusters = control_informer(
        env->control, &(struct informer_options){.client = env->reader, .resource = CLIENT_RESOURCE(FLEET_CLUSTERS)});
    c->namespaces = namespaces_informer(env);
    c->accounts = control_informer(
        env->control,
        &(struct informer_options){.client = env->reader,
                                   .resource = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
                                   .field_selector = OF_AGENT,
                                   .metadata_only = true});
    c->bindings = control_informer(
        env->control,
        &(struct informer_options){.client = env->reader,
                                   .resource = CLIENT_RESOURCE(RBAC, "v1", "rolebindings", "RoleBinding", true),
                                   .field_selector = OF_AGENT});
    c->leases = control_informer(
        env->control,
        &(struct informer_options){.client = env->reader,
                                   .resource = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true),
                                   .field_selector = S("metadata.name=" FLEET_LEASE),
                                   .trim = beats_trim});
}

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    struct clusters *c = xcalloc(1, sizeof *c);
    c->beats = beats_new(&(struct beats_options){.loop = env->loop, .changed = on_beat, .ctx = c});
    control_own(env->control, c, discard);
    open_informers(c, env);
    struct informer *needs[] = {c->clusters, c->namespaces, c->accounts, c->bindings, c->leases};
    c->controller = control_add(env->control, &(struct controller_options){.name = "clusters",
                                                                           .client = env->client,
                                                                           .workers = WORKERS,
                                                                           .reconcile = cluster_reconcile,
                                                                           .ctx = c,
                                                                           .needs = needs,
                                                                           .n_needs = COUNT(needs)});
    informer_add_handler(c->clusters, &(struct informer_handler){.changed = on_cluster, .ctx = c});
    informer_add_handler(c->leases, &(struct informer_handler){.changed = on_lease, .ctx = c});
    informer_add_handler(c->namespaces, &(struct informer_handler){.changed = on_namespace, .ctx = c});
    informer_add_handler(c->accounts, &(struct informer_handler){.changed = on_part, .ctx = c});
    informer_add_handler(c->bindings, &(struct informer_handler){.changed = on_part, .ctx = c});
    return 0;
}

/* bind: of the one role that agents have. Everything that has a name is asked for by it. */
const struct controller_row clusters_row = {
    .name = "clusters",
    .account = "clusters-controller",
    .summary = "keeps managed clusters: their agents' rights, and whether they are heard of",
    .rights = {"list,update,watch:" FLEET_CLUSTER_GROUP ":managedclusters",
               "update:" FLEET_CLUSTER_GROUP ":managedclusters/status", "create,list,watch::namespaces",
               "create::serviceaccounts", "delete,list,watch::serviceaccounts:" FLEET_AGENT,
               "create:" RBAC ":rolebindings", "delete,list,update,watch:" RBAC ":rolebindings:" FLEET_AGENT,
               "bind:" RBAC ":clusterroles:" FLEET_AGENT_ROLE, "create:coordination.k8s.io:leases",
               "delete,get,list,patch,watch:coordination.k8s.io:leases:" FLEET_LEASE,
               "delete,list:" FLEET_WORK_GROUP ":manifestworks",
               "delete,list:" FLEET_ADDON_GROUP ":managedclusteraddons",
               "get:apiextensions.k8s.io:customresourcedefinitions:manifestworks." FLEET_WORK_GROUP
               ",managedclusteraddons." FLEET_ADDON_GROUP},
    .add = add,
};
