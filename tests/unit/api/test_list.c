/* SPDX-License-Identifier: Apache-2.0 */
/* Lists by labels against a model that filters by itself, while objects change and pages of old revisions are read; and lists
 * that take several turns: a whole server, asked from within the process. */
#include "api/label_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/loopback.h"
#include "base/clock.h"
#include "lib/server.h"

#include <cmocka.h>

enum { OBJECTS = 400, APPS = 5, NAMESPACES = 2 };

/* app: 0: no labels; APPS: the object does not exist. */
struct model {
    uint8_t app[OBJECTS];
};

struct site {
    struct server server;
    size_t n_open;
    struct model model;
};

static int set_up(void **state)
{
    struct site *s = calloc(1, sizeof *s);
    assert_non_null(s);
    server_open(&s->server, 11, INT64_C(60) * 1000000000);
    memset(s->model.app, APPS, sizeof s->model.app);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct site *s = *state;
    loop_turn(s->server.loop, 0);
    server_close(&s->server);
    free(s);
    return 0;
}

/* ---- Requests. ---- */

struct asked {
    struct site *site;
    struct arena *arena;
    bool is_done;
    str body;
};

static void on_done(void *ctx, int status, struct http_headers headers, str body)
{
    struct asked *a = ctx;
    (void)headers;
    if (status < 200 || status > 299)
        fail_msg("%d: %.*s", status, STR(body));
    if (a->arena)
        a->body = str_dup(a->arena, body);
    a->is_done = true;
}

static void begin(struct asked *a, str method, str target, str body, str accept)
{
    struct loopback_call call = {.who = server_admin,
                                 .method = method,
                                 .target = target,
                                 .body = body,
                                 .accept = accept,
                                 .done = on_done,
                                 .ctx = a};
    if (str_eq(method, S("PATCH")))
        call.content_type = S("application/merge-patch+json");
    loopback_start(a->site->server.api, &call);
}

/* How many turns it took: 0 when it was answered at once. */
static size_t finish(struct asked *a)
{
    size_t turns = 0;
    for (; !a->is_done; turns++)
        loop_turn(a->site->server.loop, -1);
    return turns;
}

static str ask(struct site *s, struct arena *a, str method, str target, str body)
{
    struct asked asked = {.site = s, .arena = a};
    begin(&asked, method, target, body, (str){0});
    finish(&asked);
    return asked.body;
}

static str namespace_of(size_t i)
{
    return i % NAMESPACES ? S("kube-public") : S("default");
}

/* Makes the i-th object what the model is to say: created, relabelled or deleted. */
static void set_object(struct site *s, size_t i, uint8_t app)
{
    struct arena a ARENA_SCOPE = {0};
    str at = str_fmt(&a, "/api/v1/namespaces/%.*s/configmaps", STR(namespace_of(i)));
    str one = str_fmt(&a, "%.*s/cm-%zu", STR(at), i);
    uint8_t before = s->model.app[i];
    str label = app ? str_fmt(&a, "\"app-%d\"", app) : S("null");
    s->model.app[i] = app;
    if (app == APPS && before != APPS)
        ask(s, &a, S("DELETE"), one, (str){0});
    else if (app != APPS && before == APPS)
        ask(s, &a, S("POST"), at,
            app ? str_fmt(&a, "{\"metadata\":{\"name\":\"cm-%zu\",\"labels\":{\"app\":%.*s,\"odd\":\"%zu\"}}}", i,
                          STR(label), i % 2)
                : str_fmt(&a, "{\"metadata\":{\"name\":\"cm-%zu\"}}", i));
    else if (app != APPS)
        ask(s, &a, S("PATCH"), one, str_fmt(&a, "{\"metadata\":{\"labels\":{\"app\":%.*s}}}", STR(label)));
}

/* ---- Against the model. ---- */

static const struct {
    const char *text; /* in a query */
    unsigned apps;    /* a bit for each that it selects */
} selectors[] = {
    {"app%3Dapp-1", 1u << 1},
    {"app%3Dnone", 0},
    {"app%20in%20(app-2,app-3)", 1u << 2 | 1u << 3},
    {"!app", 1u << 0},
    {"app", 0x1e},
    {"app!%3Dapp-4", 0x0f},
    {"app%3Dapp-1,app%3Dapp-2", 0},
    {"", 0x1f},
    {"app,app", 0x1e},
};
enum { SELECTORS = COUNT(selectors) };

/* Notes the items of a page, which must be of the model, and answers the token of the next. */
static str note_page(struct arena *a, str body, const struct model *m, unsigned apps, bool *seen, str *last)
{
    struct json list;
    assert_int_equal(json_decode(a, body, NULL, NULL, &list, NULL), 0);
    json_each_item(json_get(&list, S("items")), item)
    {
        str name = json_text(json_dig(item, "metadata.name"));
        str key = str_fmt(a, "%.*s/%.*s", STR(json_text(json_dig(item, "metadata.namespace"))), STR(name));
        int64_t i;
        if (!str_has_prefix(name, S("cm-")))
            continue; /* the server's own */
        assert_true(str_to_int64(str_from(name, 3), &i) && i >= 0 && i < OBJECTS);
        if (seen[i] || m->app[i] == APPS || !(apps >> m->app[i] & 1))
            fail_msg("object %d should not be listed: %d", (int)i, m->app[i]);
        str app = json_text(json_dig(item, "metadata.labels.app"));
        if (!str_eq(app, m->app[i] ? str_fmt(a, "app-%d", m->app[i]) : (str){0}))
            fail_msg("object %d is listed with label \"%.*s\", not %d", (int)i, STR(app), m->app[i]);
        if (str_cmp(*last, key) >= 0)
            fail_msg("%.*s comes after %.*s", STR(key), STR(*last));
        *last = key;
        seen[i] = true;
    }
    return json_text(json_dig(&list, "metadata.continue"));
}

/* One list, perhaps in pages between which objects change. */
static void check_list(struct site *s, const struct random *random)
{
    struct arena a ARENA_SCOPE = {0};
    struct model model = s->model;
    bool seen[OBJECTS] = {0}, is_all = random_below(random, 2), is_paged = random_below(random, 2);
    size_t which = random_below(random, SELECTORS);
    str last = {0}, token = {0};
    do {
        str target = str_fmt(&a, "/api/v1/%sconfigmaps?labelSelector=%s&limit=%u&continue=%.*s",
                             is_all ? "" : "namespaces/default/", selectors[which].text,
                             is_paged ? 1 + random_below(random, 30) : 0, STR(token));
        token = note_page(&a, ask(s, &a, S("GET"), target, (str){0}), &model, selectors[which].apps, seen, &last);
        for (size_t n = random_below(random, 4); token.n && n > 0; n--)
            set_object(s, random_below(random, OBJECTS), (uint8_t)random_below(random, APPS + 1));
    } while (token.n);
    for (size_t i = 0; i < OBJECTS; i++) {
        bool is_wanted = model.app[i] != APPS && (selectors[which].apps >> model.app[i] & 1) &&
                         (is_all || str_eq(namespace_of(i), S("default")));
        if (seen[i] != is_wanted)
            fail_msg("object %d (%d) with %s: listed %d", (int)i, model.app[i], selectors[which].text, seen[i]);
    }
}

static void test_by_labels(void **state)
{
    struct site *s = *state;
    struct random_seeded chance = {.state = 5};
    struct random random = random_of_seed(&chance);
    for (size_t i = 0; i < OBJECTS; i++)
        set_object(s, i, (uint8_t)random_below(&random, APPS));
    for (size_t round = 0; round < 150; round++) {
        check_list(s, &random);
        for (size_t n = random_below(&random, 4); n > 0; n--)
            set_object(s, random_below(&random, OBJECTS), (uint8_t)random_below(&random, APPS + 1));
        if (round == 100) { /* it is dropped, and made again */
            clock_fake_advance(&s->server.time, INT64_C(3600) * 1000000000);
            set_object(s, 0, 1);
        }
    }
}

/* ---- The index itself. ---- */

static struct label_walk *walk_of(struct site *s, struct arena *a, const char *text, rev at)
{
    struct selector *selector = ARENA_NEW(a, struct selector);
    struct err err;
    assert_int_equal(selector_parse(a, str_of(text), selector, &err), 0);
    struct label_walk_args args = {.table = store_table(s->server.api->store, S("/configmaps")),
                                   .all_namespaces = true,
                                   .at = at ? at : store_revision(s->server.api->store),
                                   .selector = selector};
    return label_walk_new(s->server.api->labels, &args);
}

static enum label_found first_of(struct site *s, const char *text, rev at, size_t *looks)
{
    struct arena a ARENA_SCOPE = {0};
    struct label_walk *w = walk_of(s, &a, text, at);
    str namespace, name;
    enum label_found found = label_walk_next(w, &namespace, &name, looks);
    label_walk_free(w);
    return found;
}

/* Once it is made, a selector that matches nothing is answered without reading an object. */
static void test_index(void **state)
{
    struct site *s = *state;
    size_t looks = 100000;
    assert_int_equal(first_of(s, "app=app-1", 0, &looks), LABEL_UNKNOWN); /* too few objects */
    for (size_t i = 0; i < LABEL_INDEX_LEAST + 10; i++)
        set_object(s, i, i == 30 ? 2 : 1);
    rev before = store_revision(s->server.api->store);
    assert_int_equal(first_of(s, "app=app-1", 0, &looks), LABEL_UNKNOWN);
    loop_turn(s->server.loop, 0);
    loop_turn(s->server.loop, 0);
    assert_int_equal(first_of(s, "app=none", 0, &looks), LABEL_END);
    assert_int_equal(first_of(s, "app=app-2", 0, &looks), LABEL_MATCH);
    looks = 10;
    assert_int_equal(first_of(s, "app=none", 0, &looks), LABEL_CANDIDATE); /* a pause */
    assert_int_equal(looks, 0);
    looks = 100000;
    set_object(s, 30, 3); /* as of before it has other labels */
    assert_int_equal(first_of(s, "app=app-2", 0, &looks), LABEL_END);
    assert_int_equal(first_of(s, "app=app-2", before, &looks), LABEL_CANDIDATE);
    set_object(s, 30, APPS); /* as of before it exists */
    assert_int_equal(first_of(s, "app=app-2", before, &looks), LABEL_UNKNOWN);
    assert_int_equal(first_of(s, "app=app-2", 0, &looks), LABEL_END);
}

/* ---- Texts of blocks. ---- */

struct printed {
    size_t n;
    bool is_kept;
};

static bool print_name(void *ctx, const struct store_item *item, struct buf *b)
{
    struct printed *p = ctx;
    p->n++;
    buf_add_str(b, item->name);
    return p->is_kept;
}

/* The text of all blocks of the walk, with " | " behind each; ends where there is no block that can be taken. */
static str blocks_of(struct site *s, struct arena *a, const char *selector, rev at, struct label_print *print)
{
    struct label_walk *w = walk_of(s, a, selector, at);
    struct label_block block;
    struct buf b = {.arena = a};
    while (label_walk_block(w, print, &block)) {
        assert_true(str_has_suffix(block.text, block.last_name));
        buf_add_str(&b, block.text);
        buf_add_str(&b, S(" | "));
    }
    label_walk_free(w);
    return buf_str(&b);
}

static void test_blocks(void **state)
{
    enum { N = 150, KEPT = 128 }; /* the last block has objects of the server, too, which do not match */
    struct site *s = *state;
    struct arena a ARENA_SCOPE = {0};
    struct printed printed = {.is_kept = true};
    struct label_print print = {.print = print_name, .ctx = &printed};
    for (size_t i = 0; i < N; i++)
        set_object(s, i * NAMESPACES, 1); /* all in the same namespace */
    size_t looks = 1;
    first_of(s, "app=app-1", 0, &looks); /* makes the index */
    loop_turn(s->server.loop, 0);
    loop_turn(s->server.loop, 0);
    assert_int_equal(label_index_text_bytes(s->server.api->labels), 0);
    str all = blocks_of(s, &a, "app=app-1", 0, &print);
    assert_int_equal(printed.n, KEPT);
    assert_true(label_index_text_bytes(s->server.api->labels) > 0);
    assert_true(str_eq(blocks_of(s, &a, "odd", 0, &print), all)); /* kept, for whichever selector */
    assert_int_equal(printed.n, KEPT);
    assert_int_equal(blocks_of(s, &a, "app=app-2", 0, &print).n, 0);
    print.generation = 2; /* another schema: printed again */
    assert_true(str_eq(blocks_of(s, &a, "app=app-1", 0, &print), all));
    assert_int_equal(printed.n, 2 * KEPT);

    rev before = store_revision(s->server.api->store);
    set_object(s, 0, 2); /* cm-0 is the first key: its block does not match, and as of before it is not known to */
    assert_int_equal(blocks_of(s, &a, "app=app-1", 0, &print).n, 0);
    assert_int_equal(blocks_of(s, &a, "odd", before, &print).n, 0);
    size_t so_far = printed.n;
    assert_true(str_eq(blocks_of(s, &a, "odd", 0, &print), all));
    assert_in_range(printed.n, so_far + 1, so_far + KEPT - 1); /* only the block that changed */
    set_object(s, 0, APPS);
    assert_true(str_has_prefix(blocks_of(s, &a, "app=app-1", 0, &print), S("cm-10,")));

    set_object(s, 0, 1);
    printed = (struct printed){.is_kept = false}; /* what cannot be kept is tried once, until it changes */
    print.generation = 3;
    assert_int_equal(blocks_of(s, &a, "app", 0, &print).n, 0);
    assert_int_equal(blocks_of(s, &a, "app", 0, &print).n, 0);
    assert_int_equal(printed.n, 1);
}

/* ---- Turns. ---- */

static size_t list_turns(struct site *s, struct arena *a, const char *query, const char *accept, str *ret)
{
    struct asked asked = {.site = s, .arena = a};
    begin(&asked, S("GET"), str_fmt(a, "/api/v1/namespaces/default/configmaps%s", query), (str){0}, str_of(accept));
    size_t turns = finish(&asked);
    *ret = asked.body;
    return turns;
}

/* What costs much is done in many turns of the loop, so that other requests are served in between, and is whole then. */
static void test_slices(void **state)
{
    enum { N = 60, BYTES = 40000 };
    struct site *s = *state;
    struct arena a ARENA_SCOPE = {0};
    struct buf fill = {.arena = &a};
    while (fill.n < BYTES)
        buf_add_str(&fill, S("0123456789abcdef\\n"));
    for (size_t i = 0; i < N; i++)
        ask(s, &a, S("POST"), S("/api/v1/namespaces/default/configmaps"),
            str_fmt(&a, "{\"metadata\":{\"name\":\"big-%zu\"},\"data\":{\"fill\":\"%.*s\"}}", i, STR(buf_str(&fill))));
    static const struct {
        const char *query, *accept;
        size_t least; /* turns */
    } lists[] = {
        {"", "application/json", N * BYTES / (2048 * 1024)},
        {"?pretty=1", "application/json", N * BYTES / (32 * 1024)},
        {"", "application/yaml", N * BYTES / (64 * 1024)},
        {"?fieldSelector=metadata.name!%3Dx", "application/yaml", N * BYTES / (64 * 1024)},
    };
    for (size_t i = 0; i < COUNT(lists); i++) {
        str body;
        size_t turns = list_turns(s, &a, lists[i].query, lists[i].accept, &body);
        if (turns < lists[i].least)
            fail_msg("list %zu took %zu turns, not %zu", i, turns, lists[i].least);
        assert_true(body.n > (size_t)N * BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_labels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slices, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("api/list", tests, NULL, NULL);
}
