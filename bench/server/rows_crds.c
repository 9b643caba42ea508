/* SPDX-License-Identifier: Apache-2.0 */
/* 2,000 CustomResourceDefinitions of 30 KB: made, kept, listed, discovered. */
#include "rows.h"

#include "bare.h"
#include "load.h"

enum { CRDS = 2000, CRD_BYTES = 30000, LISTS = 5 };

static const char path[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
static const char table[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
static const char discovery[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

static void create(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){.method = S("POST"), .target = str_of(path), .body = sample_crd(a, i, CRD_BYTES)};
}

static struct cost create_all(struct server *s, size_t at_a_time)
{
    struct links *l = links_open(s, 1, true);
    struct cost cost = links_load(l, &(struct load){.make = create, .n = CRDS, .at_a_time = at_a_time});
    links_close(l);
    return cost;
}

/* What "kubectl get crds" asks for, page by page; the server's CPU seconds. */
static double list_all(struct server *s, struct links *l)
{
    struct arena scratch ARENA_SCOPE = {0};
    str token = {0}, more = S("\"continue\":\"");
    double cpu = server_cpu(s);
    do {
        struct question q = {.target =
                                 str_fmt(&scratch, "%s?limit=500%s%.*s", path, token.n ? "&continue=" : "", STR(token)),
                             .accept = str_of(table)};
        str page = links_ask(l, &scratch, &q), rest;
        ptrdiff_t at = str_find(page, more);
        token = (str){0};
        if (at >= 0)
            str_cut(str_from(page, (size_t)at + more.n), '"', &token, &rest);
    } while (token.n);
    return server_cpu(s) - cpu;
}

static double discover(struct server *s, struct links *l, size_t *ret_bytes)
{
    struct arena scratch ARENA_SCOPE = {0};
    double cpu = server_cpu(s);
    *ret_bytes = links_ask(l, &scratch, &(struct question){.target = S("/apis"), .accept = str_of(discovery)}).n;
    return server_cpu(s) - cpu;
}

static void look(struct server *s)
{
    double lists[LISTS], cold[LISTS], again[LISTS];
    size_t bytes;
    struct links *l = links_open(s, 1, true);
    for (size_t i = 0; i < LISTS; i++) {
        lists[i] = list_all(s, l) * 1e3;
        /* One more makes what was known of all of them old. */
        links_load(l, &(struct load){.make = create, .first = CRDS + i, .n = 1, .at_a_time = 1});
        cold[i] = discover(s, l, &bytes) * 1e3;
        again[i] = discover(s, l, &bytes) * 1e3;
    }
    links_close(l);
    double list = bench_median(lists, LISTS), first = bench_median(cold, LISTS);
    row_print("  Table list of them all in pages of 500, server CPU", list, "ms", "");
    row_print("  aggregated discovery of them all, cold, server CPU", first, "ms", "");
    row_print("  both", list + first, "ms", "(< 300)");
    row_print("  aggregated discovery again, server CPU", bench_median(again, LISTS), "ms", "");
    row_print("  bytes of it", (double)bytes / 1e6, "MB", "");
}

/* Each has to be on the disk before the next is asked for. */
static double bare_seconds(struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct bare bare;
    bare_open(&bare, s);
    double seconds = bare_write(&bare, CRDS, 1, sample_crd(&scratch, 0, CRD_BYTES));
    bare_close(&bare);
    return seconds;
}

void rows_crds(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    struct cost cost = create_all(&s, 1);
    row_print("2,000 CRDs of 30 KB, one connection, one after the other", cost.seconds, "s", "(< 5)");
    row_print("  server CPU of each", cost.cpu / CRDS * 1e6, "us", "");
    row_print("  bare LMDB, one commit for each: its share of that time", bare_seconds(&s) / cost.seconds, "", "");
    server_done(&s);

    server_init(&s, binary);
    server_start(&s);
    struct server_memory idle = server_memory(&s);
    cost = create_all(&s, 16);
    struct server_memory full = server_memory(&s);
    row_print("2,000 CRDs of 30 KB, one connection, 16 at a time", cost.seconds, "s", "(< 5)");
    row_print("  server CPU of each", cost.cpu / CRDS * 1e6, "us", "");
    row_print("  growth of memory", (full.anon + full.file - idle.anon - idle.file) / 1e6, "MB", "(< 60)");
    row_print("  of it its own", (full.anon - idle.anon) / 1e6, "MB", "");
    look(&s);
    full = server_memory(&s);
    row_print("  growth of memory after all of this", (full.anon + full.file - idle.anon - idle.file) / 1e6, "MB",
              "(< 60)");
    row_print("  of it its own", (full.anon - idle.anon) / 1e6, "MB", "");
    server_stop(&s);
    row_print("  warm start with them", server_start(&s) * 1e3, "ms", "");
    full = server_memory(&s);
    row_print("  memory then, resident", (full.anon + full.file) / 1e6, "MB", "");
    server_done(&s);
}
