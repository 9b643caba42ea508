/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works.h"

#include "controllers/works/works_internal.h"
#include "controllers/works/works_roles.h"
#include "object/fleet.h"
#include "object/object.h"

#include <openssl/evp.h>
#include <stdlib.h>

#define EVICTION_NS (3600 * NS_PER_S)
#define RESYNC_NS (300 * NS_PER_S)
#define LONGEST_WAIT_NS (60 * NS_PER_S)

enum { VISITORS = 4, REPORTERS = 4 };

static const struct client_resource works_kind = CLIENT_RESOURCE(FLEET_WORKS);
static const struct client_resource applied_kind = CLIENT_RESOURCE(FLEET_APPLIED);

/* ---- From changes to keys. ---- */

static void wake(void *ctx, str work)
{
    struct works *w = ctx;
    control_enqueue(w->visits, (str){0}, work);
}

static void on_work(void *ctx, const struct informer_change *change)
{
    struct works *w = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    const struct item *item = change->now ? change->now : change->was;
    if (!str_eq(item_namespace(item), w->options.cluster))
        return;
    struct json was = change->was ? item_tree(&scratch, change->was) : json_null();
    struct json now = change->now ? *change->tree : json_null();
    roles_note(w->roles, &was, &now, wake, w);
    wake(w, item_name(item));
}

/* Another agent's are no concern of ours. */
static void on_applied(void *ctx, const struct informer_change *change)
{
    struct works *w = ctx;
    const struct item *item = change->now ? change->now : change->was;
    str work;
    if (applied_work_of(w, item_name(item), &work))
        control_enqueue(w->visits, (str){0}, work);
    else if (change->tree && applied_is_left(w, change->tree))
        control_enqueue(w->visits, WORKS_LEFT, item_name(item));
}

/* ---- Made and freed. ---- */

static str hash_of(struct arena *a, str text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct buf hex = {.arena = a};
    if (EVP_Digest(text.p, text.n, digest, &n, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory */
    for (unsigned i = 0; i < n; i++)
        buf_fmt(&hex, "%02x", digest[i]);
    return buf_str(&hex);
}

static void discard(void *state)
{
    struct works *w = state;
    targets_free(w->targets);
    roles_free(w->roles);
    memos_free(w->memos);
    arena_done(&w->arena);
    free(w);
}

static struct works *works_new(const struct works_options *options)
{
    struct works *w = xcalloc(1, sizeof *w);
    arena_begin(&w->arena, 512);
    w->options = *options;
    w->options.cluster = str_dup(&w->arena, options->cluster);
    w->options.hub_url = str_dup(&w->arena, options->hub_url);
    w->hub_hash = hash_of(&w->arena, options->hub_url);
    w->options.agent_id = options->agent_id.n ? str_dup(&w->arena, options->agent_id) : w->hub_hash;
    w->options.eviction_ns = options->eviction_ns ? options->eviction_ns : EVICTION_NS;
    w->options.resync_ns = options->resync_ns ? options->resync_ns : RESYNC_NS;
    w->memos = memos_new();
    w->roles = roles_new();
    return w;
}

/* Visits begin when all that they look at is known: on a hub that cannot be reached nothing is missing. */
static void add_controllers(struct works *w)
{
    struct informer *needs[2 + TARGETS_ALWAYS] = {w->works, w->applied};
    targets_always(w->targets, needs + 2);
    w->visits = control_add(w->options.control, &(struct controller_options){.name = "works",
                                                                             .client = w->options.managed,
                                                                             .workers = VISITORS,
                                                                             .longest_wait_ns = LONGEST_WAIT_NS,
                                                                             .reconcile = works_visit,
                                                                             .ctx = w,
                                                                             .needs = needs,
                                                                             .n_needs = 2 + TARGETS_ALWAYS});
    w->reports = control_add(w->options.control, &(struct controller_options){.name = "work-reports",
                                                                              .client = w->options.hub,
                                                                              .workers = REPORTERS,
                                                                              .longest_wait_ns = LONGEST_WAIT_NS,
                                                                              .reconcile = works_report,
                                                                              .ctx = w,
                                                                              .needs = (struct informer *[]){w->works},
                                                                              .n_needs = 1});
}

int works_add(const struct works_options *options, struct works **ret, struct err *err)
{
    if (!options->cluster.n || !options->hub_url.n)
        return err_set(err, ERR_BAD_REQUEST, "the name of the cluster and the address of the hub are needed");
    struct works *w = works_new(options);
    control_own(options->control, w, discard);
    w->works = control_informer(options->control, &(struct informer_options){.client = options->hub,
                                                                             .resource = works_kind,
                                                                             .namespace = w->options.cluster,
                                                                             .lists_anew = true});
    w->applied = control_informer(
        options->control,
        &(struct informer_options){.client = options->managed, .resource = applied_kind, .lists_anew = true});
    w->targets = targets_new(w);
    add_controllers(w);
    informer_add_handler(w->works, &(struct informer_handler){.changed = on_work, .ctx = w});
    informer_add_handler(w->applied, &(struct informer_handler){.changed = on_applied, .ctx = w});
    if (ret)
        *ret = w;
    return 0;
}

const char *const works_hub_rights[] = {
    "get,list,patch,watch:" FLEET_WORK_GROUP ":manifestworks",
    "patch:" FLEET_WORK_GROUP ":manifestworks/status",
    NULL,
};

/* escalate and bind: works grant what the agent does not hold itself. impersonate: the question whether an executor would escalate. */
const char *const works_managed_rights[] = {
    "create,delete,get,list,patch,watch:" FLEET_WORK_GROUP ":appliedmanifestworks",
    "patch:" FLEET_WORK_GROUP ":appliedmanifestworks/status",
    "bind,create,delete,escalate,get,list,patch,watch:" WORKS_RBAC ":clusterroles,roles",
    "create,delete,get,list,patch,watch:" WORKS_RBAC ":clusterrolebindings,rolebindings",
    "get,list,watch::namespaces",
    "create:authorization.k8s.io:subjectaccessreviews",
    "impersonate::serviceaccounts",
    NULL,
};
