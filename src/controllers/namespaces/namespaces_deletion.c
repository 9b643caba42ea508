/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace that is deleted. Passes over its content follow each other until one finds nothing; then the namespace may go.
 *
 * When the first pass begins. A server of this process refuses to create anything in a namespace from the very write that marks it:
 * what a pass has seen empty stays empty, and it may begin at once. A server of several processes learns of the mark a little later
 * in each of them, so there the first pass waits for as long as Kubernetes' own does. Either way nothing is finalized before a
 * whole pass found nothing at all. */
#include "controllers/namespaces/namespaces.h"
#include "controllers/namespaces/namespaces_content.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "object/object.h"

#include <stdlib.h>

#define GRACE_NS (5000 * NS_PER_MS)  /* of Kubernetes: namespaceDeletionGracePeriod */
#define RETRY_NS (60000 * NS_PER_MS) /* of what fails, at the latest: as Kubernetes */

enum {
    PASSES = 3, /* in one visit, as long as each finds something and leaves nothing */
    TRIES = 5,  /* of a write that meets a newer version */
};

static const struct client_resource namespaces = NAMESPACES_RESOURCE;

struct deletion {
    struct informer *informer;
    struct controller *controller;
    bool is_embedded;
};

/* ---- From changes to keys. ---- */

static bool was_deleting(const struct item *was)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json tree = was ? item_tree(&scratch, was) : json_null();
    return object_is_deleting(&tree);
}

/* A change of one that goes already (of what holds it, or of the conditions: our own writes) need not be looked at at once. */
static void on_change(void *ctx, const struct informer_change *change)
{
    struct deletion *d = ctx;
    if (!change->now || !object_is_deleting(change->tree))
        return;
    int64_t delay = !d->is_embedded ? GRACE_NS : was_deleting(change->was) ? PASS_SOON_MS * NS_PER_MS : 0;
    control_enqueue_after(d->controller, (str){0}, item_name(change->now), delay);
}

/* ---- Writes. Each is tried on newer versions, as long as it is the same namespace. ---- */

/* A change of the namespace, in place; false: there is nothing to write. */
struct edit {
    str subresource;
    bool (*fn)(struct arena *a, const struct edit *e, struct json *namespace);
    const struct pass *pass;
    const struct clock *clock;
};

static int reread(struct reconcile *r, struct json *namespace, struct err *err)
{
    struct client_ref ref = {.resource = &namespaces, .name = r->name};
    str uid = object_uid(namespace);
    int code = client_get(r->client, r->arena, &ref, namespace, err);
    if (code == 0 && !str_eq(object_uid(namespace), uid))
        return err_set(err, ERR_NOT_FOUND, "another one has its name now");
    return code;
}

/* *namespace becomes what the server has then. */
static int write(struct reconcile *r, const struct edit *e, struct json *namespace, struct err *err)
{
    struct client_ref ref = {.resource = &namespaces, .name = r->name, .subresource = e->subresource};
    struct client_write_options options = {.field_manager = NAMESPACES_MANAGER};
    int code = 0;
    for (int i = 0; i < TRIES; i++) {
        struct json changed = json_dup(r->arena, namespace);
        if (!e->fn(r->arena, e, &changed))
            return 0;
        code = client_update(r->client, r->arena, &ref, &changed, &options, namespace, err);
        if (code != ERR_CONFLICT)
            break;
        int again = reread(r, namespace, err);
        if (again < 0)
            return again;
    }
    return code;
}

static bool mark(struct arena *a, const struct edit *e, struct json *namespace)
{
    (void)e;
    struct json *status = json_get_mut(namespace, S("status"));
    if (!object_is_deleting(namespace) || str_eq(json_get_text(status, S("phase")), S("Terminating")))
        return false;
    if (!json_is_obj(status))
        status = json_set(a, namespace, S("status"), json_obj());
    json_set(a, status, S("phase"), json_str(S("Terminating")));
    return true;
}

static bool tell(struct arena *a, const struct edit *e, struct json *namespace)
{
    return pass_tell(a, e->pass, namespace, e->clock);
}

static bool release(struct arena *a, const struct edit *e, struct json *namespace)
{
    (void)e;
    return pass_finalize(a, namespace, namespace);
}

/* ---- One visit. ---- */

static int64_t deleted_at(const struct json *namespace)
{
    int64_t seconds = 0;
    uint32_t nanos;
    (void)time_parse(json_get_text(object_meta(namespace), S("deletionTimestamp")), &seconds, &nanos);
    return seconds;
}

/* Passes until one finds nothing, or leaves something. A pass may take its time, and others can let the namespace go meanwhile:
 * no pass begins before it was seen that this is still the namespace that goes, and not a new one of its name. */
static int go_over(struct reconcile *r, struct json *namespace, struct pass *pass, struct err *err)
{
    struct client_discovery discovery = {0};
    struct err failure = {0};
    int code = 0;
    bool is_known = client_discover(r->client, r->arena, &discovery, &failure) == 0;
    struct pass_targets targets = pass_targets(r->arena, &discovery);
    struct content content = {.client = r->client,
                              .clock = r->clock,
                              .namespace = r->name,
                              .deleted_at = deleted_at(namespace),
                              .pass = pass};
    for (int i = 0; i < PASSES; i++) {
        pass_done(pass);
        *pass = (struct pass){.arena = r->arena};
        pass_add_discovery(pass, &discovery, is_known ? NULL : &failure);
        content_delete(&content, targets);
        if (!pass->has_found || !pass_is_over(pass))
            break;
        code = reread(r, namespace, err);
        if (code < 0)
            break;
    }
    return code;
}

/* What is left is waited for; what failed is retried as failures are. */
static int come_again(struct reconcile *r, const struct pass *pass, const struct json *namespace, struct err *err)
{
    if (pass->discovery_failure.n)
        return err_set(err, ERR_UNAVAILABLE, "%.*s", STR(pass->discovery_failure));
    if (pass->failures.n)
        return err_set(err, ERR_UNAVAILABLE, "%zu resources could not be deleted: %.*s", pass->failures.n,
                       STR(pass->failures.p[0]));
    r->again_ns = pass_wait_ns(namespace, &r->clock);
    return 0;
}

static int delete_content(struct reconcile *r, struct json *namespace, struct err *err)
{
    struct edit marking = {.subresource = S("status"), .fn = mark};
    struct pass pass PASS_SCOPE = {.arena = r->arena};
    int code = write(r, &marking, namespace, err);
    if (code < 0 || !object_is_deleting(namespace) || json_len(json_dig(namespace, "spec.finalizers")) == 0)
        return code;
    code = go_over(r, namespace, &pass, err);
    if (code < 0)
        return code;
    int waits = come_again(r, &pass, namespace, err);
    bool is_over = pass_is_over(&pass) && !pass.has_found;
    pass_check_rests(&pass, r->name);
    struct edit telling = {.subresource = S("status"), .fn = tell, .pass = &pass, .clock = &r->clock};
    struct err untold = {0};
    code = write(r, &telling, namespace, &untold);
    if (is_over) { /* though nobody may have been told */
        struct edit releasing = {.subresource = S("finalize"), .fn = release};
        r->again_ns = 0;
        return write(r, &releasing, namespace, err);
    }
    if (waits < 0 || code == 0)
        return waits;
    *err = untold;
    return code;
}

/* A 404 may be one of the path, which a proxy cannot find for a moment: as long as the copy is there, it is looked at again. */
static bool seems_to_go(struct deletion *d, struct reconcile *r)
{
    struct json copy;
    return informer_read(d->informer, r->arena, (str){0}, r->name, &copy) && object_is_deleting(&copy);
}

static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct client_ref ref = {.resource = &namespaces, .name = r->name};
    struct json namespace;
    int code = client_get(r->client, r->arena, &ref, &namespace, err);
    if (code == 0)
        code = delete_content(r, &namespace, err);
    if (code == ERR_NOT_FOUND) { /* gone, which is what was wanted */
        r->again_ns = seems_to_go(ctx, r) ? PASS_LATE_MS * NS_PER_MS : 0;
        return 0;
    }
    return code < 0 ? err_wrap(err, "delete Namespace %.*s", STR(r->name)) : 0;
}

/* ---- The row. ---- */

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    struct deletion *d = xcalloc(1, sizeof *d);
    control_own(env->control, d, free);
    d->is_embedded = env->is_embedded;
    d->informer = namespaces_informer(env);
    d->controller = control_add(env->control, &(struct controller_options){.name = "namespaces",
                                                                           .client = env->client,
                                                                           .workers = NAMESPACES_WORKERS,
                                                                           .longest_wait_ns = RETRY_NS,
                                                                           .reconcile = reconcile,
                                                                           .ctx = d,
                                                                           .needs = &d->informer,
                                                                           .n_needs = 1});
    informer_add_handler(d->informer, &(struct informer_handler){.changed = on_change, .ctx = d});
    return 0;
}

/* It may delete everything that has a namespace: that is its task. */
const struct controller_row namespaces_deletion_row = {
    .name = "namespaces",
    .account = "namespace-controller",
    .summary = "deletes the content of namespaces that are deleted",
    .in_kubernetes = true,
    .rights = {"get,list,watch::namespaces", "update::namespaces/finalize,namespaces/status",
               "delete,deletecollection,list:*:*"},
    .add = add,
};
