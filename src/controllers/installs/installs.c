/* SPDX-License-Identifier: Apache-2.0 */
/* From changes to keys, and the controller as a whole. */
#include "controllers/installs/installs.h"

#include "controllers/installs/installs_internal.h"
#include "object/object.h"

#include <stdlib.h>

enum { INSTALL_WORKERS = 8, SHARE_WORKERS = 4 };

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

/* ---- Installs and records. ---- */

/* Whoever has to share a place with it: it may be their turn now. */
static void enqueue_rivals(struct installs *s, const struct lane *lane, str namespace)
{
    for (size_t i = 0; i < LANES; i++) {
        struct lane *l = &s->lanes[i];
        if (l->is_cluster != lane->is_cluster)
            continue;
        struct items items ITEMS_SCOPE = informer_list(l->installs, namespace);
        for (size_t k = 0; k < items.n; k++)
            control_enqueue(l->controller, item_namespace(items.p[k]), item_name(items.p[k]));
    }
}

static void on_install(void *ctx, const struct informer_change *change)
{
    struct lane *lane = ctx;
    struct installs *s = lane->all;
    const struct item *item = change->now ? change->now : change->was;
    if (change->now && change->tree) {
        installs_lock(s);
        awaited_see(s, lane, change->tree);
        installs_unlock(s);
    }
    control_enqueue(lane->controller, item_namespace(item), item_name(item));
    if (change->now)
        return;
    pull_forget(s, item_uid(item));
    remnants_enqueue(s, item_uid(item), (str){0});
    installs_lock(s);
    awaited_drop(s, item_uid(item));
    holding_orphan(s, item_uid(item));
    installs_unlock(s);
    enqueue_rivals(s, lane, item_namespace(item));
}

/* A record has the name of its install. */
static void on_record(void *ctx, const struct informer_change *change)
{
    struct lane *lane = ctx;
    const struct item *item = change->now ? change->now : change->was;
    control_enqueue(lane->controller, item_namespace(item), item_name(item));
    if (!change->now)
        remnants_enqueue(lane->all, (str){0}, item_uid(item));
}

/* ---- What installs have alone: its owner is their record, or a label names the install. ---- */

static void on_own(void *ctx, const struct informer_change *change)
{
    struct installs *s = ctx;
    const struct json *owners = object_owners(change->tree);
    json_each_item(owners, owner)
    {
        for (size_t i = 0; i < LANES; i++) {
            struct lane *l = &s->lanes[i];
            if (!str_eq(json_get_text(owner, S("kind")), l->record.kind))
                continue;
            if (!l->is_cluster && object_namespace(change->tree).n == 0)
                remnants_see(s, change->tree); /* as the first release made it */
            else
                control_enqueue(l->controller, l->is_cluster ? (str){0} : object_namespace(change->tree),
                                json_get_text(owner, S("name")));
        }
    }
}

static void on_cluster_object(void *ctx, const struct informer_change *change)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = change->was ? item_tree(&scratch, change->was) : json_null();
    remnants_see(ctx, &was); /* the label may have been taken off */
    if (change->now)
        remnants_see(ctx, change->tree);
}

/* ---- What they share. ---- */

static void on_role(void *ctx, const struct informer_change *change)
{
    shares_enqueue(ctx, object_label(change->tree, S(LABEL_FAMILY)));
}

/* Families that depend on CRDs of this group: their rights follow. */
static void enqueue_dependents(struct installs *s, str group)
{
    size_t at = 0;
    str key;
    void *value;
    installs_lock(s);
    while (map_next(&s->holdings, &at, &key, &value)) {
        const struct holding *h = value;
        for (size_t i = 0; h->now && i < h->now->n_dependencies; i++) {
            if (!str_eq(h->now->dependencies[i].group, group))
                continue;
            shares_enqueue(s, h->label);
            control_enqueue(h->lane->controller, h->namespace, h->name);
            break;
        }
    }
    installs_unlock(s);
}

static void on_crd(void *ctx, const struct informer_change *change)
{
    struct installs *s = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct crd_row was = {0}, now = {0};
    const struct item *item = change->now ? change->now : change->was;
    bool was_there = crd_table_get(s->crds, &scratch, item_name(item), &was);
    if (change->now) {
        crd_table_put(s->crds, change->tree);
        crd_table_get(s->crds, &scratch, item_name(item), &now);
    } else {
        crd_table_del(s->crds, item_name(item));
    }
    shares_enqueue(s, was.label);
    if (!str_eq(was.label, now.label))
        shares_enqueue(s, now.label);
    if (was_there != (change->now != NULL) || was.crd.is_cluster_scoped != now.crd.is_cluster_scoped)
        enqueue_dependents(s, was_there ? was.crd.group : now.crd.group);
}

/* ---- The controller. ---- */

static void discard(void *state)
{
    struct installs *s = state;
    recorder_free(s->recorder);
    holdings_free_all(s);
    pull_free_all(s);
    packages_free_all(s);
    shares_free_memos(s);
    repairs_free_all(s);
    map_done(&s->deciding);
    crd_table_free(s->crds);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct informer *inform(const struct controller_env *env, const struct informer_options *options,
                               void (*changed)(void *, const struct informer_change *), void *ctx)
{
    struct informer_options o = *options;
    o.client = env->reader;
    struct informer *i = control_informer(env->control, &o);
    informer_add_handler(i, &(struct informer_handler){.changed = changed, .ctx = ctx});
    return i;
}

static void make_lane(struct installs *s, size_t i)
{
    struct lane *l = &s->lanes[i];
    l->all = s;
    l->dialect = i < 2 ? &dialect_packages : &dialect_stacks;
    l->is_cluster = i % 2 == 1;
    const struct dialect_kind *install = &l->dialect->install[l->is_cluster],
                              *record = &l->dialect->record[l->is_cluster];
    l->install = (struct client_resource){l->dialect->group, l->dialect->version, install->plural, install->kind,
                                          !l->is_cluster};
    l->record =
        (struct client_resource){l->dialect->group, l->dialect->version, record->plural, record->kind, !l->is_cluster};
}

static void add_informers(struct installs *s, const struct controller_env *env)
{
    static const str by_record[] = {S_INIT(LABEL_RECORD)}, by_family[] = {S_INIT(LABEL_FAMILY)},
                     by_install[] = {S_INIT(LABEL_INSTALL)};
    for (size_t i = 0; i < LANES; i++) {
        struct lane *l = &s->lanes[i];
        l->installs = inform(env, &(struct informer_options){.resource = l->install}, on_install, l);
        l->records = inform(env, &(struct informer_options){.resource = l->record}, on_record, l);
    }
    for (int k = 0; k < OWN_KINDS; k++)
        s->own[k] = inform(
            env,
            &(struct informer_options){
                .resource = own_resources[k], .label_selector = S(LABEL_RECORD), .labels = by_record, .n_labels = 1},
            on_own, s);
    s->roles = inform(env,
                      &(struct informer_options){.resource = own_resources[OWN_CLUSTER_ROLE],
                                                 .label_selector = S(LABEL_FAMILY),
                                                 .labels = by_family,
                                                 .n_labels = 1},
                      on_role, s);
    for (int k = 0; k < OWN_KINDS; k++) {
        struct informer_options o = {
            .resource = own_resources[k], .label_selector = S(LABEL_INSTALL), .labels = by_install, .n_labels = 1};
        if (!own_resources[k].namespaced)
            s->by_install[k] = inform(env, &o, on_cluster_object, s);
    }
    static const enum own_kind bindings[] = {OWN_CLUSTER_ROLE_BINDING, OWN_ROLE_BINDING};
    for (int k = 0; k < 2; k++)
        s->bindings[k] = inform(
            env,
            &(struct informer_options){.resource = own_resources[bindings[k]], .trim = foreign_trim, .by_owner = true},
            foreign_changed, s);
    if (!env->is_embedded) /* as the controller of personas has it: one informer for both */
        s->personas = inform(env, &(struct informer_options){.resource = own_resources[OWN_CLUSTER_ROLE]},
                             rights_persona_changed, s);
    s->crd_informer = inform(env, &(struct informer_options){.resource = crds, .trim = crd_table_trim}, on_crd, s);
}

/* Approvals are trusted from now on, or no longer. */
static void on_policy(void *ctx)
{
    struct installs *s = ctx;
    for (size_t i = 0; i < LANES; i++) {
        struct items items ITEMS_SCOPE = informer_list(s->lanes[i].installs, (str){0});
        for (size_t k = 0; k < items.n; k++)
            control_enqueue(s->lanes[i].controller, item_namespace(items.p[k]), item_name(items.p[k]));
    }
}

/* The keys come from informers, which tell nothing before control_start. */
static void add_controllers(struct installs *s, const struct controller_env *env)
{
    struct informer *needs[2 * LANES + 2 * OWN_KINDS + 5];
    size_t n = 0;
    for (size_t i = 0; i < LANES; i++) {
        needs[n++] = s->lanes[i].installs;
        needs[n++] = s->lanes[i].records;
    }
    for (size_t k = 0; k < OWN_KINDS; k++)
        needs[n++] = s->own[k];
    for (size_t k = 0; k < OWN_KINDS; k++) {
        if (s->by_install[k])
            needs[n++] = s->by_install[k];
    }
    needs[n++] = s->roles;
    needs[n++] = s->crd_informer;
    needs[n++] = s->bindings[0];
    needs[n++] = s->bindings[1];
    if (s->personas)
        needs[n++] = s->personas;
    for (size_t i = 0; i < LANES; i++) {
        struct lane *l = &s->lanes[i];
        l->controller = control_add(env->control, &(struct controller_options){.name = l->install.plural.p,
                                                                               .client = env->client,
                                                                               .workers = i < 1 ? INSTALL_WORKERS : 2,
                                                                               .reconcile = installs_visit,
                                                                               .ctx = l,
                                                                               .needs = needs,
                                                                               .n_needs = n});
    }
    s->shares = control_add(env->control, &(struct controller_options){.name = "package-families",
                                                                       .client = env->client,
                                                                       .workers = SHARE_WORKERS,
                                                                       .longest_wait_ns = 30 * NS_PER_S,
                                                                       .reconcile = shares_visit,
                                                                       .ctx = s,
                                                                       .needs = needs,
                                                                       .n_needs = n});
    s->remnants = control_add(env->control, &(struct controller_options){.name = "package-remnants",
                                                                         .client = env->client,
                                                                         .workers = 1,
                                                                         .reconcile = remnants_visit,
                                                                         .ctx = s,
                                                                         .needs = needs,
                                                                         .n_needs = n});
    s->pulls = control_add(env->control, &(struct controller_options){.name = "package-pulls",
                                                                      .client = env->client,
                                                                      .workers = PULL_WORKERS,
                                                                      .reconcile = pull_visit,
                                                                      .ctx = s,
                                                                      .needs = needs,
                                                                      .n_needs = n});
}

static int add(const struct controller_env *env, struct err *err)
{
    if (!env->fetcher)
        return err_set(err, ERR_INTERNAL, "there is nothing to pull packages with");
    struct installs *s = xcalloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->control = env->control;
    s->client = env->client;
    s->clock = env->clock;
    s->is_embedded = env->is_embedded;
    s->fetcher = env->fetcher;
    s->options.pass_full_deployment = env->pass_full_deployment;
    s->options.namespaced_groups = env->namespaced_groups;
    s->allows_cluster_dependencies = env->allows_cluster_dependencies;
    s->crds = crd_table_new();
    s->recorder = recorder_new(&(struct recorder_options){env->loop, env->client, env->clock, S("reeve-packages")});
    control_own(env->control, s, discard);
    for (size_t i = 0; i < LANES; i++)
        make_lane(s, i);
    add_informers(s, env);
    add_controllers(s, env);
    if (!env->is_embedded)
        s->policy = policy_watch(env, POLICY_INSTALLS, on_policy, s);
    return 0;
}

#define BOTH "packages.crossplane.io,stacks.crossplane.io"
#define WITH(plural, sub) plural "," plural "/" sub
#define INSTALLS_OF(plural) WITH(plural, "finalizers") "," plural "/status"
#define INSTALLS                          \
    INSTALLS_OF("clusterpackageinstalls") \
    "," INSTALLS_OF("clusterstackinstalls") "," INSTALLS_OF("packageinstalls") "," INSTALLS_OF("stackinstalls")
#define RECORDS                           \
    WITH("clusterpackages", "finalizers") \
    "," WITH("clusterstacks", "finalizers") "," WITH("packages", "finalizers") "," WITH("stacks", "finalizers")

/* escalate and bind: it gives packages rights that it does not have itself, and only those that package/plan.c makes. It counts
 * and, where people ask for it, deletes objects of the kinds that packages bring: nobody knows their groups beforehand. */
const struct controller_row installs_row = {
    .name = "installs",
    .account = "package-manager",
    .summary = "installs packages with the rights they need",
    .rights = {"get,list,patch,update,watch:" BOTH ":" INSTALLS,
               "create,delete,get,list,patch,update,watch:" BOTH ":" RECORDS,
               "create,delete,get,list,update,watch:apiextensions.k8s.io:customresourcedefinitions",
               "bind,create,delete,escalate,get,list,patch,watch:rbac.authorization.k8s.io:clusterroles,roles",
               "create,delete,get,list,patch,watch:rbac.authorization.k8s.io:clusterrolebindings,rolebindings",
               "create,delete,get,list,patch,watch::serviceaccounts",
               "create,delete,get,list,patch,watch:apps:deployments", "create,get::namespaces", "get::secrets",
               "create,patch::events", "create:authorization.k8s.io:subjectaccessreviews", "deletecollection,list:*:*",
               POLICY_RIGHTS(POLICY_NAME_INSTALLS)},
    .add = add,
};
