/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/namespaces.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "controllers/namespaces/namespaces_refusal.h"
#include "object/object.h"

#include <stdlib.h>

#define NAME S("default")

static const struct client_resource accounts = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);

struct accounts {
    struct informer *namespaces, *accounts;
    struct controller *controller;
};

/* ---- From changes to keys. ---- */

static void on_namespace(void *ctx, const struct informer_change *change)
{
    struct accounts *x = ctx;
    if (change->now && !object_is_deleting(change->tree))
        control_enqueue(x->controller, (str){0}, item_name(change->now));
}

static void on_account(void *ctx, const struct informer_change *change)
{
    struct accounts *x = ctx;
    if (!change->now)
        control_enqueue(x->controller, (str){0}, item_namespace(change->was));
}

/* ---- One namespace. ---- */

static struct json account_of(struct arena *a, str namespace)
{
    struct json metadata = json_obj(), account = json_obj();
    json_add(a, &metadata, S("name"), json_str(NAME));
    json_add(a, &metadata, S("namespace"), json_str(namespace));
    json_add(a, &account, S("apiVersion"), json_str(S("v1")));
    json_add(a, &account, S("kind"), json_str(accounts.kind));
    json_add(a, &account, S("metadata"), metadata);
    return account;
}

/* A namespace that stays has the account that its pods run as unless they name another. */
static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct accounts *x = ctx;
    struct json namespace, account;
    if (!informer_read(x->namespaces, r->arena, (str){0}, r->name, &namespace) || object_is_deleting(&namespace) ||
        informer_read(x->accounts, r->arena, r->name, NAME, &account))
        return 0;
    account = account_of(r->arena, r->name);
    struct client_ref ref = {.resource = &accounts, .namespace = r->name};
    struct client_write_options options = {.field_manager = NAMESPACES_MANAGER};
    int code = client_create(r->client, r->arena, &ref, &account, &options, NULL, err);
    if (code == 0 || refusal_is_final(code, err))
        return 0;
    return err_wrap(err, "create ServiceAccount default in %.*s", STR(r->name));
}

/* ---- The row. ---- */

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    struct accounts *x = xcalloc(1, sizeof *x);
    control_own(env->control, x, free);
    x->namespaces = namespaces_informer(env);
    x->accounts =
        control_informer(env->control, &(struct informer_options){.client = env->reader,
                                                                  .resource = accounts,
                                                                  .field_selector = S("metadata.name=default"),
                                                                  .metadata_only = true});
    x->controller = control_add(env->control,
                                &(struct controller_options){.name = "default-accounts",
                                                             .client = env->client,
                                                             .workers = NAMESPACES_WORKERS,
                                                             .reconcile = reconcile,
                                                             .ctx = x,
                                                             .needs = (struct informer *[]){x->namespaces, x->accounts},
                                                             .n_needs = 2});
    informer_add_handler(x->namespaces, &(struct informer_handler){.changed = on_namespace, .ctx = x});
    informer_add_handler(x->accounts, &(struct informer_handler){.changed = on_account, .ctx = x});
    return 0;
}

const struct controller_row namespaces_accounts_row = {
    .name = "namespaces",
    .account = "service-account-controller",
    .summary = "gives each namespace its ServiceAccount \"default\"",
    .in_kubernetes = true,
    .rights = {"list,watch::namespaces", "create,list,watch::serviceaccounts"},
    .add = add,
};
