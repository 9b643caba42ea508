/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/api_value.h"
#include "api/discovery.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/schemas.h"
#include "api/watch.h"
#include "kinds/builtin.h"

/* ---- The world. ---- */

static void wake(void *ctx)
{
    struct world *w = ctx;
    sem_post(&w->woken);
}

static void on_event(void *ctx, const struct store_event *event)
{
    (void)ctx;
    (void)event;
}

int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct err err;
    assert_non_null(w);
    *w = (struct world){.clock = {.wall = INT64_C(1794788263) * 1000000000}};
    scratch_make(w->dir, "reeve-api");
    assert_int_equal(sem_init(&w->woken, 0, 0), 0);
    struct store_options options = {.dir = w->dir,
                                    .map_bytes = (size_t)256 << 20,
                                    .clock = clock_of_fake(&w->clock),
                                    .wake = wake,
                                    .on_event = on_event,
                                    .ctx = w};
    struct api *api = &w->api;
    api->options = (struct api_options){.clock = clock_of_fake(&w->clock), .address = S("127.0.0.1:6443")};
    assert_int_equal(store_open(&options, &api->store, &err), 0);
    api->registry = registry_new();
    api->schemas = schemas_new(api);
    api->watches = watch_hub_new(api);
    api->discovery = discovery_new(api);
    api->openapi = openapi_new(api);
    api->metrics = metrics_new();
    api->flows = flows_new(&(struct flows_options){.clock = api->options.clock});
    api->is_ready = true;
    api->tables.crds = store_table(api->store, S("apiextensions.k8s.io/customresourcedefinitions"));
    *state = w;
    return 0;
}

int world_tear_down(void **state)
{
    struct world *w = *state;
    store_close(w->api.store);
    watch_hub_free(w->api.watches);
    openapi_free(w->api.openapi);
    discovery_free(w->api.discovery);
    metrics_free(w->api.metrics);
    flows_free(w->api.flows);
    schemas_free(w->api.schemas);
    registry_free(w->api.registry);
    sem_destroy(&w->woken);
    scratch_remove(w->dir);
    free(w);
    return 0;
}

static void written(void *ctx, const struct store_result *result)
{
    struct world *w = ctx;
    assert_int_equal(result->code, 0);
    w->written++;
}

void world_put_crd(struct world *w, str text)
{
    struct arena a ARENA_SCOPE = {0};
    struct json crd;
    struct err err;
    struct store_item before = {0};
    assert_int_equal(json_decode(&a, text, NULL, NULL, &crd, &err), 0);
    str name = json_text(json_dig(&crd, "metadata.name"));
    (void)store_get(w->api.store, w->api.tables.crds, (str){0}, name, &before, NULL);
    struct value_parts parts = value_encode(
        &w->api, &a, kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition")), &crd);
    struct store_change change = {.table = w->api.tables.crds,
                                  .name = name,
                                  .expect = before.revision,
                                  .value = parts.header,
                                  .value_rest = parts.body};
    struct store_write write = {.changes = &change, .n_changes = 1, .done = written, .ctx = w};
    size_t count = w->written;
    assert_int_equal(store_submit(w->api.store, &write, &err), 0);
    while (w->written == count) {
        sem_wait(&w->woken);
        store_poll(w->api.store);
    }
    assert_int_equal(registry_put_crd(w->api.registry, &crd, &err), 0);
    openapi_forget(w->api.openapi, json_text(json_dig(&crd, "spec.group")));
}

/* ---- A request. ---- */

static void keep(struct ask *a, int status, struct http_headers headers)
{
    struct http_header *kept = ARENA_ARRAY(&a->x.arena, struct http_header, headers.n + 1);
    for (size_t i = 0; i < headers.n; i++)
        kept[i] =
            (struct http_header){str_dup(&a->x.arena, headers.p[i].name), str_dup(&a->x.arena, headers.p[i].value)};
    a->headers = (struct http_headers){kept, headers.n};
    a->status = status;
}

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    struct ask *a = (struct ask *)x;
    keep(a, status, headers);
    buf_add_str(&a->body, body);
}

static void stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    struct ask *a = (struct ask *)x;
    enum http_fill more = HTTP_MORE;
    keep(a, status, headers);
    while (more == HTTP_MORE) {
        size_t before = a->body.n;
        if (a->before_fill)
            a->before_fill(a);
        more = source.fill(source.ctx, x, &a->body, 4096);
        if (a->body.n - before > a->largest_fill)
            a->largest_fill = a->body.n - before;
    }
    a->was_aborted = more == HTTP_ABORT;
}

static const struct http_carrier carrier = {.answer = answer, .stream = stream};

static struct http_headers headers_of(struct arena *a, const char *lines)
{
    VEC(struct http_header) list = {0};
    str rest = str_of(lines), line, name, value;
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        str_cut(line, ':', &name, &value);
        *vec_push(a, &list) = (struct http_header){name, str_trim(value)};
    }
    return (struct http_headers){list.p, list.n};
}

void ask(struct ask *a, struct world *w, bool (*handle)(struct api_request *r), const char *target, const char *headers)
{
    struct err err;
    a->x.carrier = &carrier;
    a->x.method = S("GET");
    str_cut(str_of(target), '?', &a->x.path, &a->x.query);
    a->x.headers = headers_of(&a->x.arena, headers);
    a->body.arena = &a->x.arena;
    a->r = (struct api_request){
        .api = &w->api, .x = &a->x, .arena = &a->x.arena, .id = S("id"), .route = {.path = a->x.path}};
    assert_int_equal(query_parse(a->r.arena, a->x.query, &a->r.query, &err), 0);
    a->was_handled = handle(&a->r);
}

str ask_header(const struct ask *a, const char *name)
{
    for (size_t i = 0; i < a->headers.n; i++)
        if (http_name_eq(a->headers.p[i].name, str_of(name)))
            return a->headers.p[i].value;
    return (str){0};
}

void ask_done(struct ask *a)
{
    if (a->r.released)
        a->r.released(a->r.released_ctx);
    arena_done(&a->x.arena);
}
