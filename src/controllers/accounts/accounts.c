/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts.h"

#include "controllers/accounts/accounts_internal.h"
#include "object/name.h"

#include <stdlib.h>

const struct client_resource accounts_managed = CLIENT_RESOURCE(FLEET_ACCOUNTS);
const struct client_resource accounts_local = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);
const struct client_resource accounts_secrets = CLIENT_RESOURCE("", "v1", "secrets", "Secret", true);

/* ---- From changes to keys: the three are of one name. ---- */

static void on_change(void *ctx, const struct informer_change *change)
{
    struct accounts *x = ctx;
    control_enqueue(x->controller, (str){0}, item_name(change->now ? change->now : change->was));
}

/* ---- Beginning and end. ---- */

static void discard(void *state)
{
    struct accounts *x = state;
    str name;
    void *due;
    for (size_t at = 0; map_next(&x->dues, &at, &name, &due);)
        free(due);
    map_done(&x->dues);
    pthread_mutex_destroy(&x->lock);
    arena_done(&x->arena);
    free(x);
}

static struct informer *open_informer(struct accounts *x, struct client *client, struct client_resource resource,
                                      str namespace, str labels)
{
    return control_informer(x->options.control,
                            &(struct informer_options){.client = client,
                                                       .resource = resource,
                                                       .namespace = namespace,
                                                       .label_selector = labels,
                                                       .metadata_only = labels.n > 0 || client == x->options.managed});
}

static struct accounts *make(const struct accounts_options *options)
{
    struct accounts *x = xcalloc(1, sizeof *x);
    pthread_mutex_init(&x->lock, NULL);
    x->options = *options;
    x->options.cluster = str_dup(&x->arena, options->cluster);
    x->options.namespace = str_dup(&x->arena, options->namespace.n ? options->namespace : S(FLEET_ACCOUNT_NAMESPACE));
    x->options.ca_pem = str_dup(&x->arena, options->ca_pem);
    x->options.version = str_dup(&x->arena, options->version);
    x->spread = random_uint64(&options->random);
    control_own(options->control, x, discard);
    return x;
}

int accounts_add(const struct accounts_options *options, struct err *err)
{
    if (!name_is(NAME_DNS_LABEL, options->cluster))
        return err_set(err, ERR_INVALID, "\"%.*s\" cannot be the name of a managed cluster", STR(options->cluster));
    struct accounts *x = make(options);
    struct informer_handler handler = {.changed = on_change, .ctx = x};
    x->managed = open_informer(x, options->hub, accounts_managed, x->options.cluster, (str){0});
    x->secrets = open_informer(x, options->hub, accounts_secrets, x->options.cluster, S(FLEET_LABEL_ACCOUNT "=true"));
    x->local = open_informer(x, options->managed, accounts_local, x->options.namespace, (str){0});
    x->controller = control_add(
        options->control, &(struct controller_options){.name = "accounts",
                                                       .client = options->hub,
                                                       .reconcile = accounts_reconcile,
                                                       .ctx = x,
                                                       .needs = (struct informer *[]){x->managed, x->secrets, x->local},
                                                       .n_needs = 3});
    informer_add_handler(x->managed, &handler);
    informer_add_handler(x->secrets, &handler);
    informer_add_handler(x->local, &handler);
    accounts_addon_add(x);
    accounts_heartbeat_add(x);
    return 0;
}
