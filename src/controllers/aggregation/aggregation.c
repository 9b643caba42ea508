/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/aggregation/aggregation.h"

#include "authz/aggregate.h"
#include "object/object.h"

#include <pthread.h>
#include <stdlib.h>

#define GROUP "rbac.authorization.k8s.io"
/* The name under which Kubernetes' own controller applies: who replaces it takes its fields over without a fight. */
#define FIELD_MANAGER "clusterrole-aggregation-controller"

/* One leaf may concern many aggregates: so many are on their way at once, and a server syncs them to disk together. */
enum { WORKERS = 8 };

static const struct client_resource cluster_roles = CLIENT_RESOURCE(GROUP, "v1", "clusterroles", "ClusterRole", false);

/* The index is fed on the loop thread and asked by workers. */
struct aggregation {
    struct aggregation_scope scope;
    struct informer *roles;
    struct controller *controller;
    pthread_mutex_t lock;
    struct aggregate_index *index;
    bool is_synced; /* before that, a role that was not told yet would look as if it were gone */
};

/* ---- From changes to keys. ---- */

/* A role that cannot be read counts as absent: it grants nothing through others. */
static void on_change(void *ctx, const struct informer_change *change)
{
    struct aggregation *g = ctx;
    struct err ignored;
    pthread_mutex_lock(&g->lock);
    if (change->now)
        (void)aggregate_index_put(g->index, change->tree, &ignored);
    else
        aggregate_index_delete(g->index, item_name(change->was));
    pthread_mutex_unlock(&g->lock);
}

static void on_settled(void *ctx)
{
    struct aggregation *g = ctx;
    if (!g->is_synced)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    pthread_mutex_lock(&g->lock);
    struct aggregate_changes changes = aggregate_index_settle(g->index, &scratch);
    for (size_t i = 0; i < changes.n; i++)
        control_enqueue(g->controller, (str){0}, changes.p[i].name);
    pthread_mutex_unlock(&g->lock);
}

static void on_synced(void *ctx)
{
    struct aggregation *g = ctx;
    g->is_synced = true;
    on_settled(g);
}

/* ---- One role. ---- */

/* What is applied: its name and these rules. The uid keeps an apply that comes late from making a role that was just deleted
 * anew, and with it the rights of whoever is still bound to the name. */
static struct json render(struct arena *a, const struct json *role, struct rules rules)
{
    struct json metadata = json_obj(), patch = json_obj();
    json_add(a, &metadata, S("name"), json_str(object_name(role)));
    json_add(a, &metadata, S("uid"), json_str(object_uid(role)));
    json_add(a, &patch, S("apiVersion"), json_str(S(GROUP "/v1")));
    json_add(a, &patch, S("kind"), json_str(cluster_roles.kind));
    json_add(a, &patch, S("metadata"), metadata);
    json_add(a, &patch, S("rules"), rules_to_json(a, rules));
    return patch;
}

/* The rules it should have, as a copy; false when it is gone. */
static bool wanted(struct aggregation *g, struct arena *a, str name, struct rules *ret)
{
    pthread_mutex_lock(&g->lock);
    bool is_known = aggregate_index_rules(g->index, a, name, ret);
    if (is_known)
        *ret = rules_dup(a, *ret);
    pthread_mutex_unlock(&g->lock);
    return is_known;
}

static bool has_rules(struct arena *a, const struct json *role, struct rules want)
{
    struct rules have;
    return rules_from_json(a, json_get(role, S("rules")), &have, NULL) == 0 && rules_equal(have, want);
}

struct picks {
    const struct aggregate_index *index;
    bool has_aggregate;
};

static void ignore_pick(void *ctx, str name, str selector)
{
    (void)ctx;
    (void)name;
    (void)selector;
}

static void check_pick(void *ctx, str name, str selector)
{
    struct picks *picks = ctx;
    (void)selector;
    picks->has_aggregate |= aggregate_index_picks(picks->index, name, ignore_pick, NULL);
}

static bool is_in_scope(struct aggregation *g, const struct json *role)
{
    struct picks picks = {.index = g->index};
    if (!g->scope.is_included)
        return true;
    if (!g->scope.is_included(role))
        return false;
    pthread_mutex_lock(&g->lock);
    (void)aggregate_index_picks(g->index, object_name(role), check_pick, &picks);
    pthread_mutex_unlock(&g->lock);
    return !picks.has_aggregate;
}

/* Makes one aggregated ClusterRole hold the union of the rules of the roles it selects. */
static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct aggregation *g = ctx;
    struct json role;
    struct rules want;
    if (!informer_read(g->roles, r->arena, (str){0}, r->name, &role) || !aggregate_is(&role) ||
        !wanted(g, r->arena, r->name, &want) || has_rules(r->arena, &role, want) || !is_in_scope(g, &role))
        return 0;
    struct json patch = render(r->arena, &role, want);
    struct client_ref ref = {.resource = &cluster_roles, .name = r->name};
    struct client_write_options options = {.field_manager = S(FIELD_MANAGER), .force = true};
    int code = client_apply(r->client, r->arena, &ref, &patch, &options, NULL, err);
    if (code < 0 && client_is_gone(err))
        return 0; /* the role is gone, not only the path to it: the watch will say so */
    return code < 0 ? err_wrap(err, "apply rules of ClusterRole %.*s", STR(r->name)) : 0;
}

/* ---- The controller. ---- */

static void discard(void *state)
{
    struct aggregation *g = state;
    aggregate_index_free(g->index);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

int aggregation_add_for(const struct controller_env *env, const struct aggregation_scope *scope)
{
    struct aggregation *g = xcalloc(1, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    g->index = aggregate_index_new();
    g->scope = *scope;
    control_own(env->control, g, discard);
    g->roles =
        control_informer(env->control, &(struct informer_options){.client = env->reader, .resource = cluster_roles});
    g->controller = control_add(env->control, &(struct controller_options){.name = scope->controller,
                                                                           .client = env->client,
                                                                           .workers = WORKERS,
                                                                           .reconcile = reconcile,
                                                                           .ctx = g,
                                                                           .needs = &g->roles,
                                                                           .n_needs = 1});
    informer_add_handler(g->roles, &(struct informer_handler){on_change, on_settled, on_synced, g});
    return 0;
}

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    return aggregation_add_for(env, &(struct aggregation_scope){.controller = "aggregation"});
}

/* escalate: the rules that it writes are other people's, and it cannot hold them all. It gives nobody more than what the authors of
 * the selected roles were allowed to write. */
const struct controller_row aggregation_row = {
    .name = "aggregation",
    .account = "clusterrole-aggregation-controller",
    .summary = "keeps the rules of aggregated ClusterRoles",
    .in_kubernetes = true,
    .rights = {"escalate,list,patch,watch:" GROUP ":clusterroles"},
    .add = add,
};
