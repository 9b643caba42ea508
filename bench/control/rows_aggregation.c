/* SPDX-License-Identifier: Apache-2.0 */
/* A leaf ClusterRole is written; how long until all aggregates that select it are stored with its rules, and how many writes did
 * that take? Aggregate number i selects by the label a<i>; leaf number i has the labels of its aggregates, the first leaf those of
 * as many aggregates as are measured. */
#include "rows.h"

#include "../server/load.h"
#include "json/json.h"

#include <stdio.h>

#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"

enum { LEAVES = 5000, AGGREGATES = 3000, ROUNDS = 21, AT_A_TIME = 16 };

struct world {
    size_t fan_out; /* aggregates that select the first leaf */
};

static void make_leaf(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    const struct world *w = ctx;
    struct buf b = {.arena = a};
    size_t n = i == 0 ? w->fan_out : 1;
    buf_fmt(&b, "{\"metadata\":{\"name\":\"leaf-%zu\",\"labels\":{", i);
    for (size_t j = 0; j < n; j++)
        buf_fmt(&b, "%s\"a%zu\":\"true\"", j ? "," : "", (i + j) % AGGREGATES);
    buf_fmt(&b,
            "}},\"rules\":[{\"apiGroups\":[\"g%zu.example.com\"],\"resources\":[\"things\",\"things/status\"],"
            "\"verbs\":[\"get\",\"list\",\"watch\"]}]}",
            i);
    *ret = (struct question){.method = S("POST"), .target = S(ROLES), .body = buf_str(&b)};
}

static void make_aggregate(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    str body = str_fmt(a,
                       "{\"metadata\":{\"name\":\"aggregate-%zu\"},\"aggregationRule\":{\"clusterRoleSelectors\":[{"
                       "\"matchLabels\":{\"a%zu\":\"true\"}}]}}",
                       i, i);
    *ret = (struct question){.method = S("POST"), .target = S(ROLES), .body = body};
}

/* The revision of the whole server: each write moves it by one. */
static double revision(struct links *l)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text = links_ask(l, &scratch, &(struct question){.target = S(ROLES "?limit=1")});
    struct json list;
    int64_t n = 0;
    bench_must(json_decode(&scratch, text, NULL, NULL, &list, NULL) == 0 &&
                   str_to_int64(json_text(json_dig(&list, "metadata.resourceVersion")), &n),
               "revision");
    return (double)n;
}

static void touch_leaf(struct links *l, size_t round)
{
    struct arena scratch ARENA_SCOPE = {0};
    str body = str_fmt(&scratch,
                       "{\"metadata\":{\"managedFields\":null},\"rules\":[{\"apiGroups\":[\"g.example.com\"],"
                       "\"resources\":[\"things%zu\"],\"verbs\":[\"get\"]}]}",
                       round);
    links_ask(l, &scratch,
              &(struct question){.method = S("PATCH"),
                                 .target = S(ROLES "/leaf-0"),
                                 .content_type = S("application/merge-patch+json"),
                                 .body = body});
}

/* A watch that has seen the leaf change once, and its aggregates after it. */
static void watch_from_here(struct links *watch, struct links *l, size_t fan_out)
{
    struct arena scratch ARENA_SCOPE = {0};
    str target = str_fmt(&scratch, ROLES "?watch=true&resourceVersion=%.0f", revision(l));
    touch_leaf(l, ROUNDS);
    links_watch(watch, target, 1);
    links_watch_more(watch, fan_out);
}

static void measure(const char *binary, size_t fan_out)
{
    struct server s;
    struct world w = {.fan_out = fan_out};
    double ms[ROUNDS], writes[ROUNDS];
    server_init(&s, binary);
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    links_load(l, &(struct load){.make = make_leaf, .ctx = &w, .n = LEAVES, .at_a_time = AT_A_TIME});
    links_load(l, &(struct load){.make = make_aggregate, .n = AGGREGATES, .at_a_time = AT_A_TIME});
    struct links *watch = links_open(&s, 1, true);
    watch_from_here(watch, l, fan_out);
    for (size_t i = 0; i < ROUNDS; i++) {
        double before = revision(l), start = bench_now();
        touch_leaf(l, i);
        links_watch_more(watch, 1 + fan_out);
        ms[i] = (bench_now() - start) * 1e3;
        writes[i] = revision(l) - before - 1;
    }
    links_close(watch);
    links_close(l);
    server_done(&s);
    char what[80];
    (void)snprintf(what, sizeof what, "leaf role written to %zu aggregates stored, of 5,000 and 3,000", fan_out);
    row_print(what, bench_median(ms, ROUNDS), "ms", "(< 10)");
    row_print("  writes", bench_median(writes, ROUNDS), "", "(as many as aggregates)");
}

void rows_aggregation(const char *binary)
{
    measure(binary, 1);
    measure(binary, 10);
    measure(binary, 100);
}
