/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);

/* ---- What the test sees. ---- */

static void on_changed(void *ctx, const struct informer_change *change)
{
    struct scene *w = ctx;
    const struct item *item = change->now ? change->now : change->was;
    char sign = '~';
    if (change->was == NULL)
        sign = '+';
    else if (change->now == NULL)
        sign = '-';
    /* The cache has it already. */
    const struct item *cached = informer_get(w->informer, item_namespace(item), item_name(item));
    assert_ptr_equal(cached, change->now);
    item_unref(cached);
    if (change->now) {
        assert_true(str_eq(object_name(change->tree), item_name(item)));
        assert_true(str_eq(object_rv(change->tree), item_version(item)));
        assert_true(str_eq(object_kind(change->tree), S("ConfigMap")));
        assert_true(str_eq(object_api_version(change->tree), S("v1")));
    }
    if (change->was && change->now)
        assert_true(str_eq(item_uid(change->was), item_uid(change->now)));
    str version = change->tree ? object_rv(change->tree) : S("?");
    buf_fmt(&w->told, "%c%.*s/%.*s@%.*s ", sign, STR(item_namespace(item)), STR(item_name(item)), STR(version));
}

static void on_settled(void *ctx)
{
    buf_add_str(&((struct scene *)ctx)->told, S(". "));
}

static void on_synced(void *ctx)
{
    buf_add_str(&((struct scene *)ctx)->told, S("! "));
}

/* Everything told since the last question. */
void scene_told(struct scene *w, const char *expected)
{
    str told = str_trim(buf_str(&w->told));
    if (!str_eq(told, str_of(expected)))
        fail_msg("told \"%.*s\", not \"%s\"", STR(told), expected);
    w->told.n = 0;
}

void scene_cached(struct scene *w, const char *expected)
{
    struct items all ITEMS_SCOPE = informer_list(w->informer, (str){0});
    struct buf b = {.arena = &w->arena};
    for (size_t i = 0; i < all.n; i++)
        buf_fmt(&b, "%.*s/%.*s@%.*s ", STR(item_namespace(all.p[i])), STR(item_name(all.p[i])),
                STR(item_version(all.p[i])));
    if (!str_eq(str_trim(buf_str(&b)), str_of(expected)))
        fail_msg("cached \"%.*s\", not \"%s\"", STR(str_trim(buf_str(&b))), expected);
}

/* ---- Time. ---- */

void scene_pass(struct scene *w, int64_t ns)
{
    clock_fake_advance(&w->time, ns);
    loop_turn(w->loop, 0);
}

/* Waits until the next request comes; how long that took. */
int64_t scene_await(struct scene *w, int64_t most)
{
    size_t asked = w->wire.n_asked;
    int64_t waited = 0;
    for (loop_turn(w->loop, 0); w->wire.n_asked == asked; waited += MS) {
        if (waited > most)
            fail_msg("no request within %lld ms", (long long)(most / MS));
        scene_pass(w, MS);
    }
    assert_int_equal(w->wire.n_asked, asked + 1);
    return waited;
}

/* ---- What the server is asked, and says. ---- */

/* The value of a query of the open call; NULL: there is none. */
static const char *asked(struct scene *w, const char *name)
{
    assert_int_equal(w->wire.n_calls, 1);
    str path, query, pair, key, value;
    if (!str_cut(w->wire.calls->target, '?', &path, &query))
        return NULL;
    while (query.n) {
        str_cut(query, '&', &pair, &query);
        if (str_cut(pair, '=', &key, &value) && str_eq(key, str_of(name)))
            return str_cstr(&w->arena, value);
    }
    return NULL;
}

void scene_asked(struct scene *w, const char *name, const char *value)
{
    const char *got = asked(w, name);
    if (got == NULL || value == NULL) {
        assert_ptr_equal(got, value);
        return;
    }
    assert_string_equal(got, value);
}

void scene_lists_by_watch(struct scene *w)
{
    scene_asked(w, "watch", "true");
    scene_asked(w, "sendInitialEvents", "true");
    scene_asked(w, "resourceVersionMatch", "NotOlderThan");
    scene_asked(w, "allowWatchBookmarks", "true");
    scene_asked(w, "resourceVersion", NULL);
}

void scene_lists(struct scene *w)
{
    scene_asked(w, "watch", NULL);
    scene_asked(w, "resourceVersion", NULL);
}

void scene_watches_from(struct scene *w, const char *version)
{
    scene_asked(w, "watch", "true");
    scene_asked(w, "sendInitialEvents", NULL);
    scene_asked(w, "resourceVersionMatch", NULL);
    scene_asked(w, "allowWatchBookmarks", "true");
    scene_asked(w, "resourceVersion", version);
    int64_t seconds;
    assert_true(str_to_int64(str_of(asked(w, "timeoutSeconds")), &seconds));
    assert_true(seconds >= 300 && seconds < 600);
    assert_int_equal(w->wire.calls->total_ns, (seconds + 30) * SECOND);
}

/* {"metadata":…} of "ns/name uid version". */
static str object(struct scene *w, const char *what)
{
    str ns = {0}, name = {0}, uid = {0}, version = {0}, rest;
    assert_true(str_cut(str_of(what), '/', &ns, &rest) && str_cut(rest, ' ', &name, &rest) &&
                str_cut(rest, ' ', &uid, &version));
    return str_fmt(
        &w->arena,
        "{\"metadata\":{\"name\":\"%.*s\",\"namespace\":\"%.*s\",\"uid\":\"%.*s\",\"resourceVersion\":\"%.*s\"},"
        "\"data\":{\"at\":\"%.*s\"}}",
        STR(name), STR(ns), STR(uid), STR(version), STR(version));
}

/* A line of a stream: "ADDED ns/name uid version", "BOOKMARK version", "END version" (of the initial events). */
static str line(struct scene *w, const char *what)
{
    str type, rest;
    assert_true(str_cut(str_of(what), ' ', &type, &rest));
    const char *end = str_eq(type, S("END")) ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "";
    if (*end || str_eq(type, S("BOOKMARK")))
        return str_fmt(&w->arena,
                       "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"resourceVersion\":\"%.*s\"%s}}}\n",
                       STR(rest), end);
    str body = str_from(object(w, str_cstr(&w->arena, rest)), 1);
    return str_fmt(&w->arena, "{\"type\":\"%.*s\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",%.*s}\n",
                   STR(type), STR(body));
}

/* Lines parted by ";", in one piece. */
str scene_lines(struct scene *w, const char *what)
{
    struct buf b = {.arena = &w->arena};
    str one, rest = str_of(what);
    while (rest.n) {
        str_cut(rest, ';', &one, &rest);
        buf_add_str(&b, line(w, str_cstr(&w->arena, str_trim(one))));
    }
    return buf_str(&b);
}

void scene_say(struct scene *w, const char *what)
{
    assert_int_equal(w->wire.n_calls, 1);
    wire_send(w->wire.calls, scene_lines(w, what));
}

void scene_end(struct scene *w, int status, const char *body)
{
    assert_int_equal(w->wire.n_calls, 1);
    wire_end(w->wire.calls, status, str_of(body), 0);
}

/* A page of a list: objects parted by ";". */
void scene_end_page(struct scene *w, const char *version, const char *token, const char *objects)
{
    struct buf b = {.arena = &w->arena};
    buf_fmt(&b, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%s\"", version);
    if (*token)
        buf_fmt(&b, ",\"continue\":\"%s\",\"remainingItemCount\":1", token);
    buf_add_str(&b, S("},\"items\":["));
    str one, rest = str_of(objects);
    for (bool is_first = true; rest.n; is_first = false) {
        str_cut(rest, ';', &one, &rest);
        if (!is_first)
            buf_add_char(&b, ',');
        buf_add_str(&b, object(w, str_cstr(&w->arena, str_trim(one))));
    }
    buf_add_str(&b, S("]}"));
    assert_int_equal(w->wire.n_calls, 1);
    wire_end(w->wire.calls, 200, buf_str(&b), 0);
}

/* ---- A scene. ---- */

void scene_open_with(struct scene *w, const struct informer_options *options)
{
    struct err err;
    *w = (struct scene){.seed = {42}};
    w->clock = clock_of_fake(&w->time);
    clock_fake_advance(&w->time, 1000 * SECOND);
    assert_int_equal(loop_new_on(&w->clock, &w->loop, &err), 0);
    wire_init(&w->wire);
    struct random random = random_of_seed(&w->seed);
    w->client = client_new(&(struct client_options){.loop = w->loop, .transport = &w->wire.base, .random = random});
    struct informer_options all = *options;
    all.loop = w->loop;
    all.client = w->client;
    all.resource = configmaps;
    all.random = random;
    w->informer = informer_new(&all);
    w->handler = (struct informer_handler){on_changed, on_settled, on_synced, w};
    informer_add_handler(w->informer, &w->handler);
    informer_start(w->informer);
    assert_int_equal(w->wire.n_asked, 0);
    assert_int_equal(scene_await(w, 0), 0);
}

void scene_open(struct scene *w)
{
    scene_open_with(w, &(struct informer_options){0});
}

/* Synced by watch-list with these at 10, watching. */
void scene_open_synced(struct scene *w, const char *what)
{
    scene_open(w);
    scene_say(w, what);
    scene_say(w, "END 10");
    w->told.n = 0;
    assert_true(informer_is_synced(w->informer));
}

/* Nothing is left open, and no timer fires any more. */
void scene_close(struct scene *w)
{
    informer_stop(w->informer);
    assert_int_equal(w->wire.n_calls, 0);
    size_t n = w->wire.n_asked;
    scene_pass(w, 3600 * SECOND);
    assert_int_equal(w->wire.n_asked, n);
    informer_free(w->informer);
    client_stop(w->client);
    client_free(w->client);
    wire_done(&w->wire);
    loop_free(w->loop);
    buf_done(&w->told);
    arena_done(&w->arena);
}
