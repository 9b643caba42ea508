/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include <stdlib.h>

#include "api/api_config.h"
#include "api/api_crds.h"
#include "api/api_value.h"
#include "api/discovery.h"
#include "api/label_index.h"
#include "api/loopback.h"
#include "api/loopback_client.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/pipeline.h"
#include "api/schemas.h"
#include "api/seed.h"
#include "api/server.h"
#include "api/task.h"
#include "api/watch.h"
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "object/object.h"

/* The server and what only this file needs of it. */
struct server {
    struct api api;
    struct loop_work wake;
    bool is_woken; /* atomic: the wake is posted and not yet served */
    bool is_full;  /* the store, as it was last logged */
    void (*ready)(void *ctx, const struct err *err);
    void *ready_ctx;
};

static struct server *of_api(struct api *api)
{
    return (struct server *)((char *)api - offsetof(struct server, api));
}

/* ---- Tables. ---- */

uint32_t api_table(struct api *api, const struct kind *kind)
{
    const struct kind *storage = strategy_storage_kind(kind);
    char name[512];
    size_t group = strlen(storage->group), plural = strlen(storage->plural);
    if (group + plural + 1 > sizeof name)
        abort(); /* names of groups and resources are checked to be shorter by far */
    memcpy(name, storage->group, group);
    name[group] = '/';
    memcpy(name + group + 1, storage->plural, plural);
    return store_table(api->store, (str){name, group + 1 + plural});
}

/* ---- The store calls. ---- */

static void log_space(struct server *s)
{
    bool is_full = store_is_full(s->api.store);
    if (is_full == s->is_full)
        return;
    s->is_full = is_full;
    if (is_full)
        log_line(s->api.options.log, LOG_ERROR, "no space left for the store: only deletions are accepted");
    else
        log_line(s->api.options.log, LOG_INFO, "the store has space again");
}

static void serve_wake(struct loop_work *w)
{
    struct server *s = (struct server *)((char *)w - offsetof(struct server, wake));
    __atomic_store_n(&s->is_woken, false, __ATOMIC_SEQ_CST);
    watch_view_moves(s->api.watches);
    store_poll(s->api.store);
    log_space(s);
}

/* From the writer thread. */
static void on_wake(void *ctx)
{
    struct server *s = ctx;
    if (!__atomic_exchange_n(&s->is_woken, true, __ATOMIC_SEQ_CST))
        loop_post(s->api.options.loop, &s->wake);
}

static void on_event(void *ctx, const struct store_event *event)
{
    struct server *s = ctx;
    label_index_event(s->api.labels, event);
    config_event(&s->api, event);
    watch_publish(s->api.watches, event);
}

static void on_settled(void *ctx)
{
    config_settle(&((struct server *)ctx)->api);
}

/* ---- What other folders ask. ---- */

static const struct json *fact_get(void *ctx, struct arena *a, str group, str resource, str namespace, str name,
                                   uint64_t *ret_revision)
{
    struct api *api = ctx;
    str word = group.n ? str_fmt(a, "%.*s.%.*s", STR(resource), STR(group)) : resource;
    const struct kind *kind = registry_by_word(api->registry, word);
    struct json *object = ARENA_NEW(a, struct json);
    struct store_item item;
    if (!kind)
        return NULL;
    registry_hold(kind); /* decoding may be suspended */
    int code = value_get(api, a, kind, namespace, name, object, &item, NULL);
    registry_release(kind);
    if (code < 0)
        return NULL;
    *ret_revision = item.revision;
    return object;
}

static void fact_each(void *ctx, str group, str resource, bool (*visit)(void *to, const struct json *object), void *to)
{
    struct api *api = ctx;
    const struct kind *kind = kind_builtin_by_path(group, S("v1"), resource);
    struct store_range range = {.table = kind ? api_table(api, kind) : 0};
    struct store_list *list = kind ? store_list_open(api->store, &range) : NULL;
    struct store_item item;
    bool goes_on = list;
    while (goes_on && store_list_next(list, &item, NULL) == 1) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json object;
        if (value_decode(api, &scratch, kind, &item, &object, NULL) == 0)
            goes_on = visit(to, &object);
    }
    store_list_close(list);
}

static const struct kind *fact_kind_of(void *ctx, str api_version, str kind)
{
    return registry_by_body(((struct api *)ctx)->registry, api_version, kind);
}

static bool find_object(void *ctx, struct arena *a, str kind, str namespace, str name, struct authn_object *ret)
{
    struct api *api = ctx;
    const struct kind *k = kind_builtin_by_body(S("v1"), kind);
    struct store_item item;
    struct json metadata;
    if (!k || store_get(api->store, api_table(api, k), namespace, name, &item, NULL) < 0 ||
        value_metadata(a, &item, &metadata, NULL) < 0)
        return false;
    str deleted = json_get_text(&metadata, S("deletionTimestamp"));
    uint32_t nanos;
    *ret = (struct authn_object){.uid = json_get_text(&metadata, S("uid")), .is_deleting = deleted.n > 0};
    if (deleted.n && !time_parse(deleted, &ret->deleted, &nanos))
        ret->deleted = 0; /* cannot be read: gone long ago */
    return true;
}

static bool can_request_token(void *ctx, const struct authz_identity *who, str namespace, str name)
{
    const struct api *api = ctx;
    struct authz_attributes what = {.is_resource = true,
                                    .verb = S("create"),
                                    .version = S("v1"),
                                    .resource = S("serviceaccounts"),
                                    .subresource = S("token"),
                                    .name = name,
                                    .namespace = namespace};
    return authz_check(api->authz, who, &what, NULL).allowed;
}

/* ---- Start and end. ---- */

static void make_parts(struct api *api)
{
    api->tasks = tasks_new();
    api->registry = registry_new();
    api->authz = authz_index_new();
    api->aggregates = aggregate_index_new();
    struct authn_options authn = {.clock = api->options.clock,
                                  .signer = api->options.signer,
                                  .find = find_object,
                                  .can_request = can_request_token,
                                  .ctx = api};
    api->authn = authn_new(&authn);
    api->facts = (struct admission_facts){.authz = api->authz,
                                          .aggregates = api->options.no_aggregation ? NULL : api->aggregates,
                                          .get = fact_get,
                                          .each = fact_each,
                                          .kind_of = fact_kind_of,
                                          .ctx = api};
    api->schemas = schemas_new(api);
    api->labels = label_index_new(api);
    api->watches = watch_hub_new(api);
    api->discovery = discovery_new(api);
    api->openapi = openapi_new(api);
    api->metrics = metrics_new();
    api->flows = flows_new(&(struct flows_options){.loop = api->options.loop,
                                                   .clock = api->options.clock,
                                                   .seats = {api->options.max_reads, api->options.max_writes}});
    api->crds = crds_new(api);
}

static int open_store(struct server *s, struct err *err)
{
    struct store_options options = {
        .dir = s->api.options.data_dir,
        .keep_ns = s->api.options.keep_ns,
        .clock = s->api.options.clock,
        .wake = on_wake,
        .on_event = on_event,
        .on_settled = on_settled,
        .ctx = s,
    };
    return store_open(&options, &s->api.store, err);
}

static void seeded(struct api *api, const struct err *err)
{
    struct server *s = of_api(api);
    api->seed = NULL;
    api->is_ready = err == NULL;
    s->ready(s->ready_ctx, err);
}

int api_open(const struct api_options *options, void (*ready)(void *ctx, const struct err *err), void *ctx,
             struct api **ret, struct err *err)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->api.options = *options;
    s->wake.fn = serve_wake;
    s->ready = ready;
    s->ready_ctx = ctx;
    if (open_store(s, err) < 0) {
        free(s);
        return err_wrap(err, "open the store in %s", options->data_dir);
    }
    log_space(s);
    make_parts(&s->api);
    *ret = &s->api;
    int code = config_load(&s->api, err);
    if (code < 0) {
        api_close(&s->api);
        *ret = NULL;
        return code;
    }
    s->api.seed = seed_start(&s->api, seeded);
    return 0;
}

void api_head(void *api, struct http_exchange *x)
{
    pipeline_head(api, x);
}

void api_handle(void *api, struct http_exchange *x)
{
    pipeline_enter(api, x);
}

void api_drain(struct api *api)
{
    api->is_draining = true;
    watch_drain(api->watches);
}

void api_close(struct api *api)
{
    struct server *s = of_api(api);
    seed_free(api->seed);
    api->seed = NULL;
    api_drain(api);
    api->is_closing = true;
    loopback_client_detach(api);
    loopback_close(api);
    tasks_close(api->tasks);
    flows_flush(api->flows);
    watch_view_moves(api->watches);
    store_close(api->store);
    loop_post_cancel(api->options.loop, &s->wake); /* the store's writer has ended, but may have rung before */
    crds_free(api->crds);
    watch_hub_free(api->watches);
    label_index_free(api->labels);
    discovery_free(api->discovery);
    openapi_free(api->openapi);
    metrics_free(api->metrics);
    flows_free(api->flows);
    schemas_free(api->schemas);
    authn_free(api->authn);
    aggregate_index_free(api->aggregates);
    authz_index_free(api->authz);
    registry_free(api->registry);
    tasks_free(api->tasks);
    free(s);
}
