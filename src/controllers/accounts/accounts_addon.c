/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts_internal.h"
#include "object/object.h"

/* Who deletes it may be about to delete the cluster: it comes back when that has had its time. */
enum { COMEBACK_S = 60 };

static const struct client_resource addons = CLIENT_RESOURCE(FLEET_ADDONS);

static void on_change(void *ctx, const struct informer_change *change)
{
    struct accounts *x = ctx;
    control_enqueue_after(x->addon, (str){0}, S(FLEET_ADDON), change->now ? 0 : COMEBACK_S * NS_PER_S);
}

static void on_synced(void *ctx)
{
    struct accounts *x = ctx;
    control_enqueue(x->addon, (str){0}, S(FLEET_ADDON));
}

static struct json addon_of(struct arena *a, const struct accounts *x)
{
    struct json addon = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(S(FLEET_ADDON)));
    json_add(a, &metadata, S("namespace"), json_str(x->options.cluster));
    json_add(a, &addon, S("apiVersion"), json_str(client_api_version(a, &addons)));
    json_add(a, &addon, S("kind"), json_str(addons.kind));
    json_add(a, &addon, S("metadata"), metadata);
    json_add(a, &addon, S("spec"), json_obj());
    return addon;
}

/* It says where the ServiceAccounts are: who grants something to a ManagedServiceAccount has to know. */
static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct accounts *x = ctx;
    struct client_ref ref = {.resource = &addons, .namespace = x->options.cluster, .name = S(FLEET_ADDON)};
    struct client_write_options options = {.field_manager = ACCOUNTS_MANAGER};
    struct json addon, patch = json_obj(), status = json_obj();
    int code = 0;
    if (!informer_read(x->addons, r->arena, x->options.cluster, S(FLEET_ADDON), &addon)) {
        addon = addon_of(r->arena, x);
        code = client_create(r->client, r->arena, &ref, &addon, &options, NULL, err);
        if (code == 0)
            return 0; /* its status follows when the copy has it */
        return code == ERR_ALREADY_EXISTS ? err_set(err, ERR_CONFLICT, "the add-on was just made")
                                          : err_wrap(err, "create ManagedClusterAddOn " FLEET_ADDON);
    }
    if (object_is_deleting(&addon) || str_eq(json_text(json_dig(&addon, "status.namespace")), x->options.namespace))
        return 0;
    json_add(r->arena, &status, S("namespace"), json_str(x->options.namespace));
    json_add(r->arena, &patch, S("status"), status);
    ref.subresource = S("status");
    struct client_patch_args args = {.type = CLIENT_PATCH_MERGE, .patch = &patch, .options = options};
    code = client_patch(r->client, r->arena, &ref, &args, NULL, err);
    return code < 0 ? err_wrap(err, "report the namespace of ServiceAccounts") : 0;
}

void accounts_addon_add(struct accounts *x)
{
    const struct accounts_options *o = &x->options;
    x->addons =
        control_informer(o->control, &(struct informer_options){.client = o->hub,
                                                                .resource = addons,
                                                                .namespace = o->cluster,
                                                                .field_selector = S("metadata.name=" FLEET_ADDON)});
    x->addon = control_add(o->control, &(struct controller_options){.name = "account-addon",
                                                                    .client = o->hub,
                                                                    .workers = 1,
                                                                    .reconcile = reconcile,
                                                                    .ctx = x,
                                                                    .needs = &x->addons,
                                                                    .n_needs = 1});
    informer_add_handler(x->addons, &(struct informer_handler){.changed = on_change, .synced = on_synced, .ctx = x});
}
