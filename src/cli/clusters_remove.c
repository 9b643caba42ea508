/* SPDX-License-Identifier: Apache-2.0 */
/* reeve clusters remove: the ManagedCluster goes when its agent has taken away what it delivered.
 *
 *   delete ─► the controller clusters deletes the works ─► the agent removes, and lets each go ─► the ManagedCluster is gone
 *                                                            ▲ in time? else: what is left is told
 *                                                            └ --force: nobody waits, what is left there is told */
#include "cli/cli_clusters.h"

#include "cli/term.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#include <unistd.h>

#define MANAGER S("reeve-clusters")

enum {
    SHOWN = 20, /* objects of one work */
    TRIES = 10,
};

/* ---- What is left. ---- */

static int list_works(struct clusters_command *c, struct arena *a, struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = &cli_clusters_works, .namespace = c->name};
    int code = client_list(c->base.session.client, a, &ref, NULL, ret, NULL, err);
    if (code == ERR_NOT_FOUND) { /* nobody knows the kind: there are none */
        *ret = json_arr();
        code = 0;
    }
    return code < 0 ? err_wrap(err, "look for works of cluster %.*s", STR(c->name)) : 0;
}

static bool is_applied(const struct json *manifest)
{
    const struct json *applied = condition_find(json_get(manifest, S("conditions")), S("Applied"));
    return str_eq(json_get_text(applied, S("status")), S("True"));
}

/* As the agent told it: the words of somebody else, in one line. */
static void say_object(const struct clusters_command *c, const struct json *meta)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf line = {.arena = &scratch};
    str namespace = json_get_text(meta, S("namespace"));
    cli_add_visibly(&line, json_get_text(meta, S("kind")));
    buf_add_char(&line, ' ');
    cli_add_visibly(&line, namespace);
    buf_add_str(&line, namespace.n ? S("/") : (str){0});
    cli_add_visibly(&line, json_get_text(meta, S("name")));
    term_say(&c->base.term, "    %.*s", STR(buf_str(&line)));
}

static void say_work(const struct clusters_command *c, const struct json *work)
{
    const struct json *manifests = json_dig(work, "status.resourceStatus.manifests");
    size_t n = 0;
    json_each_item(manifests, manifest) n += is_applied(manifest);
    term_say(&c->base.term, "  ManifestWork %.*s, with %zu object%s on the managed cluster", STR(object_name(work)), n,
             n == 1 ? "" : "s");
    size_t shown = 0;
    json_each_item(manifests, manifest)
    {
        if (!is_applied(manifest))
            continue;
        if (shown++ == SHOWN) {
            term_say(&c->base.term, "    and %zu more", n - SHOWN);
            break;
        }
        say_object(c, json_get(manifest, S("resourceMeta")));
    }
}

static void say_works(const struct clusters_command *c, const struct json *works)
{
    json_each_item(works, work) say_work(c, work);
}

/* ---- Force. ---- */

/* Takes that finalizer away, and leaves those of others. */
static int let_go(struct clusters_command *c, const struct client_ref *ref, str finalizer, struct err *err)
{
    struct json object, patch = json_obj(), metadata = json_obj(), kept = json_arr();
    int code = client_get_metadata(c->base.session.client, &c->base.arena, ref, &object, err);
    if (code < 0)
        return code == ERR_NOT_FOUND && client_is_gone(err) ? 0 : code;
    json_each_item(object_finalizers(&object), one)
    {
        if (!str_eq(json_text(one), finalizer))
            json_push(&c->base.arena, &kept, *one);
    }
    json_add(&c->base.arena, &metadata, S("finalizers"), kept);
    json_add(&c->base.arena, &metadata, S("resourceVersion"), *json_dig(&object, "metadata.resourceVersion"));
    json_add(&c->base.arena, &patch, S("metadata"), metadata);
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &patch, .options = {.field_manager = MANAGER}};
    code = client_patch(c->base.session.client, &c->base.arena, ref, &args, NULL, err);
    return code == ERR_NOT_FOUND && client_is_gone(err) ? 0 : code;
}

/* Whoever else writes it at the same time is not in the way for long. */
static int insist(struct clusters_command *c, const struct client_ref *ref, str finalizer, struct err *err)
{
    int code = ERR_CONFLICT;
    for (unsigned tries = 0; code == ERR_CONFLICT && tries < TRIES; tries++)
        code = let_go(c, ref, finalizer, err);
    return code;
}

static void need_force(struct clusters_command *c)
{
    struct client_ref works = {.resource = &cli_clusters_works, .namespace = c->name};
    static const char *const verbs[] = {"list", "delete", "get", "patch"};
    for (size_t i = 0; i < COUNT(verbs); i++)
        cli_clusters_need(c, verbs[i], &works);
}

/* The works first, while the controller still takes care of the rest: its own finalizer goes by itself. */
static int force(struct clusters_command *c, struct err *err)
{
    struct json works;
    need_force(c);
    int code = list_works(c, &c->base.arena, &works, err);
    json_each_item(code == 0 ? &works : NULL, work)
    {
        struct client_ref ref = {.resource = &cli_clusters_works, .namespace = c->name, .name = object_name(work)};
        code = client_delete(c->base.session.client, &c->base.arena, &ref, NULL, NULL, err);
        if (code == 0 || (code == ERR_NOT_FOUND && client_is_gone(err)))
            code = insist(c, &ref, S(FLEET_FINALIZER_WORK), err);
        if (code < 0)
            return err_wrap(err, "let ManifestWork %.*s go", STR(ref.name));
    }
    if (code == 0 && works.n) {
        term_say(&c->base.term, "Nobody takes this away from the managed cluster any more:");
        say_works(c, &works);
    }
    return code;
}

/* ---- Waiting. ---- */

static int is_gone(struct clusters_command *c, str uid, bool *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct client_ref ref = {.resource = &cli_clusters_resource, .name = c->name};
    struct json cluster;
    int code = client_get_metadata(c->base.session.client, &scratch, &ref, &cluster, err);
    *ret = (code == ERR_NOT_FOUND && client_is_gone(err)) || (code == 0 && !str_eq(object_uid(&cluster), uid));
    return *ret || code == 0 ? 0 : err_wrap(err, "wait for ManagedCluster %.*s to go", STR(c->name));
}

/* On a terminal, whenever it changes: how many works are left. */
static void show_progress(struct clusters_command *c, size_t *last)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json works;
    struct err err;
    if (!isatty(STDERR_FILENO) || list_works(c, &scratch, &works, &err) < 0 || json_len(&works) == *last)
        return;
    *last = json_len(&works);
    term_say(&c->base.term, "waiting for the agent: %zu work%s left", *last, *last == 1 ? "" : "s");
}

static int say_late(struct clusters_command *c, struct err *err)
{
    struct client_ref ref = {.resource = &cli_clusters_resource, .name = c->name};
    struct json works, cluster = json_null();
    (void)client_get(c->base.session.client, &c->base.arena, &ref, &cluster, err);
    str why = json_get_text(condition_find(json_dig(&cluster, "status.conditions"), S("Deleting")), S("message"));
    if (list_works(c, &c->base.arena, &works, err) == 0 && works.n) {
        term_say(&c->base.term, "The agent of %.*s has not removed what these works delivered:", STR(c->name));
        say_works(c, &works);
        term_say(&c->base.term,
                 "It goes on when the agent is back. With --force the works are forgotten here, the agent loses its\n"
                 "rights on this hub, and these objects stay on the managed cluster.");
    }
    return err_set(err, ERR_TIMEOUT, "ManagedCluster %.*s is not gone yet%s%.*s", STR(c->name), why.n ? ": " : "",
                   STR(why));
}

static int wait_until_gone(struct clusters_command *c, str uid, struct err *err)
{
    int64_t deadline = cli_clusters_deadline(c);
    size_t last = SIZE_MAX;
    bool is_over = false;
    for (;;) {
        int code = is_gone(c, uid, &is_over, err);
        if (code < 0 || is_over)
            return code;
        show_progress(c, &last);
        if (!cli_clusters_wait(deadline))
            return say_late(c, err);
    }
}

/* What the controller would have done last: the agent is nobody here any more. */
static int take_rights(struct clusters_command *c, struct err *err)
{
    static const struct client_resource resources[] = {
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true),
        CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
    };
    for (size_t i = 0; i < COUNT(resources); i++) {
        struct client_ref ref = {.resource = &resources[i], .namespace = c->name, .name = S(FLEET_AGENT)};
        int code = client_delete(c->base.session.client, &c->base.arena, &ref, NULL, NULL, err);
        if (code < 0 && code != ERR_NOT_FOUND)
            return err_wrap(err, "delete %.*s %.*s/" FLEET_AGENT, STR(resources[i].kind), STR(c->name));
    }
    return 0;
}

/* Where no controller takes care of it in time, nobody else will. */
static int finish(struct clusters_command *c, str uid, struct err *err)
{
    struct client_ref ref = {.resource = &cli_clusters_resource, .name = c->name};
    int code = wait_until_gone(c, uid, err);
    if (code != ERR_TIMEOUT || !c->is_forced)
        return code;
    term_say(&c->base.term, "%s\nThe hub has not finished in time: its part is done from here.", err->msg);
    code = take_rights(c, err);
    if (code == 0 && (code = insist(c, &ref, S(FLEET_FINALIZER_CLUSTER), err)) < 0)
        err_wrap(err, "let ManagedCluster %.*s go", STR(c->name));
    return code;
}

/* Whoever is the agent of the next cluster of this name can read these Secrets. */
static void say_accounts(struct clusters_command *c)
{
    static const struct client_resource accounts = CLIENT_RESOURCE(FLEET_ACCOUNTS);
    struct client_ref ref = {.resource = &accounts, .namespace = c->name};
    struct client_list_options options = {.metadata_only = true};
    struct json items;
    struct err err;
    if (client_list(c->base.session.client, &c->base.arena, &ref, &options, &items, NULL, &err) < 0 ||
        json_len(&items) == 0)
        return;
    term_say(
        &c->base.term,
        "So do these ManagedServiceAccounts, with tokens in Secrets; their ServiceAccounts are still there, and the\n"
        "tokens are good until they expire:");
    json_each_item(&items, account) term_say(&c->base.term, "  %.*s", STR(object_name(account)));
    term_say(&c->base.term,
             "Before another cluster gets this name: kubectl delete managedserviceaccounts --all -n %.*s",
             STR(c->name));
}

int cli_clusters_remove(struct clusters_command *c, struct err *err)
{
    struct client_ref ref = {.resource = &cli_clusters_resource, .name = c->name};
    struct json cluster;
    cli_clusters_need(c, "get", &ref);
    cli_clusters_need(c, "delete", &ref);
    int code = client_get(c->base.session.client, &c->base.arena, &ref, &cluster, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return err_set(err, ERR_NOT_FOUND, "there is no ManagedCluster %.*s", STR(c->name));
    if (code < 0)
        return cli_clusters_explain(c, "find the ManagedCluster", err);
    struct client_delete_options options = {.uid = object_uid(&cluster)};
    code = client_delete(c->base.session.client, &c->base.arena, &ref, &options, NULL, err);
    if (code < 0 && !(code == ERR_NOT_FOUND && client_is_gone(err)))
        return err_wrap(err, "delete the ManagedCluster");
    if (c->is_forced && (code = force(c, err)) < 0)
        return code;
    code = finish(c, object_uid(&cluster), err);
    if (code == 0) {
        term_say(&c->base.term, "ManagedCluster %.*s is gone; its namespace and ClusterPermissions in it stay.",
                 STR(c->name));
        say_accounts(c);
    }
    return code;
}
