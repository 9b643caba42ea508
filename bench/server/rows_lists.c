/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to list 2,000 ConfigMaps: all of them, by labels, compressed, and in other forms. */
#include "rows.h"

#include "load.h"

enum { OBJECTS = 2000, ROUNDS = 7, LISTS = 100 };

#define TARGET "/api/v1/namespaces/default/configmaps"

static void create(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){.method = S("POST"), .target = S(TARGET), .body = sample_config_map(a, i)};
}

static void list(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)i;
    (void)a;
    *ret = *(const struct question *)ctx;
}

/* Milliseconds of CPU of the server for one list, one at a time. */
static double measure(struct links *l, struct question q)
{
    double cpu[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        cpu[i] = links_load(l, &(struct load){.make = list, .ctx = &q, .n = LISTS, .at_a_time = 1}).cpu / LISTS * 1e3;
    return bench_median(cpu, ROUNDS);
}

void rows_lists(const char *binary)
{
    static const char table[] = "application/json;as=Table;v=v1;g=meta.k8s.io";
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    struct links *h1 = links_open(&s, 1, false), *h2 = links_open(&s, 1, true);
    links_load(h2, &(struct load){.make = create, .n = OBJECTS, .at_a_time = 100});
    struct question all = {.target = S(TARGET)};
    struct question matching = {.target = S(TARGET "?labelSelector=app.kubernetes.io%2Fname%3Dshop")};
    struct question nothing = {.target = S(TARGET "?labelSelector=app.kubernetes.io%2Fname%3Dnone")};
    row_print("list of 2,000 ConfigMaps, HTTP/1.1, server CPU", measure(h1, all), "ms", "(< 0.6)");
    row_print("list of 2,000 ConfigMaps, HTTP/2, server CPU", measure(h2, all), "ms", "");
    row_print("  with a label selector that matches all, HTTP/1.1", measure(h1, matching), "ms", "(< 0.8)");
    row_print("  with a label selector that matches nothing, HTTP/1.1", measure(h1, nothing), "ms", "(< 0.1)");
    all.accept = str_of(table);
    row_print("  as a Table, HTTP/1.1", measure(h1, all), "ms", "");
    all.accept = S("application/yaml");
    row_print("  as YAML, HTTP/1.1", measure(h1, all), "ms", "");
    all = (struct question){.target = S(TARGET), .takes_gzip = true};
    row_print("  compressed with gzip, HTTP/1.1", measure(h1, all), "ms", "");
    links_close(h1);
    links_close(h2);
    server_done(&s);
}
