/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/namespaces.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "controllers/namespaces/namespaces_publication.h"
#include "controllers/namespaces/namespaces_refusal.h"
#include "controllers/root_ca.h"
#include "object/object.h"

#include <stdlib.h>

static const struct client_resource maps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);

struct publisher {
    struct root_ca *root_ca;
    struct informer *namespaces, *maps;
    struct controller *controller;
};

/* ---- From changes to keys. ---- */

static void on_namespace(void *ctx, const struct informer_change *change)
{
    struct publisher *p = ctx;
    if (change->now && !object_is_deleting(change->tree))
        control_enqueue(p->controller, (str){0}, item_name(change->now));
}

static void on_map(void *ctx, const struct informer_change *change)
{
    struct publisher *p = ctx;
    control_enqueue(p->controller, (str){0}, item_namespace(change->now ? change->now : change->was));
}

static void on_renewal(void *ctx)
{
    struct publisher *p = ctx;
    struct items all ITEMS_SCOPE = informer_list(p->namespaces, (str){0});
    for (size_t i = 0; i < all.n; i++)
        control_enqueue(p->controller, (str){0}, item_name(all.p[i]));
}

/* ---- One namespace. ---- */

/* A namespace that stays has the certificates by which its pods know the server. */
static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct publisher *p = ctx;
    struct json namespace, map, want;
    if (!informer_read(p->namespaces, r->arena, (str){0}, r->name, &namespace) || object_is_deleting(&namespace))
        return 0;
    bool is_there = informer_read(p->maps, r->arena, r->name, PUBLICATION_NAME, &map);
    if (!publication_render(r->arena, is_there ? &map : NULL, root_ca_dup(p->root_ca, r->arena), &want))
        return 0;
    struct client_ref ref = {.resource = &maps, .namespace = r->name, .name = is_there ? PUBLICATION_NAME : (str){0}};
    struct client_write_options options = {.field_manager = NAMESPACES_MANAGER};
    int code = is_there ? client_update(r->client, r->arena, &ref, &want, &options, NULL, err)
                        : client_create(r->client, r->arena, &ref, &want, &options, NULL, err);
    if (code == 0 || refusal_is_final(code, err))
        return 0;
    return err_wrap(err, "publish kube-root-ca.crt in %.*s", STR(r->name));
}

/* ---- The row. ---- */

static void discard(void *state)
{
    struct publisher *p = state;
    root_ca_listen(p->root_ca, NULL, NULL);
    free(p);
}

static int add(const struct controller_env *env, struct err *err)
{
    if (!env->root_ca)
        return err_set(err, ERR_INVALID, "nobody knows what kube-root-ca.crt should say");
    struct publisher *p = xcalloc(1, sizeof *p);
    control_own(env->control, p, discard);
    p->root_ca = env->root_ca;
    p->namespaces = namespaces_informer(env);
    p->maps = control_informer(env->control,
                               &(struct informer_options){.client = env->reader,
                                                          .resource = maps,
                                                          .field_selector = S("metadata.name=kube-root-ca.crt")});
    p->controller =
        control_add(env->control, &(struct controller_options){.name = "root-ca",
                                                               .client = env->client,
                                                               .workers = NAMESPACES_WORKERS,
                                                               .reconcile = reconcile,
                                                               .ctx = p,
                                                               .needs = (struct informer *[]){p->namespaces, p->maps},
                                                               .n_needs = 2});
    informer_add_handler(p->namespaces, &(struct informer_handler){.changed = on_namespace, .ctx = p});
    informer_add_handler(p->maps, &(struct informer_handler){.changed = on_map, .ctx = p});
    root_ca_listen(p->root_ca, on_renewal, p);
    return 0;
}

const struct controller_row namespaces_root_ca_row = {
    .name = "namespaces",
    .account = "root-ca-cert-publisher",
    .summary = "gives each namespace its ConfigMap \"kube-root-ca.crt\"",
    .in_kubernetes = true,
    .rights = {"list,watch::namespaces", "create,list,update,watch::configmaps"},
    .add = add,
};
