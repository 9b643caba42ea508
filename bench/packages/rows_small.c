/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster package of six CRDs: from its creation until a watch sees it Ready. */
#include "rows.h"

#include "ask.h"
#include "image.h"
#include "lookout.h"

enum { ROUNDS = 20, COLD_ROUNDS = 9 };

static const struct image small = {"small", "Cluster", 6, 5000};

static double install(struct links *l, struct lookout *seen)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct question create = ask_create(&scratch, (str){0}, small.name);
    double start = bench_now();
    links_ask(l, &scratch, &create);
    lookout_wait_ready(seen, 1);
    return (bench_now() - start) * 1e3;
}

static double uninstall(struct links *l, struct lookout *seen)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct question delete = ask_delete(&scratch, (str){0}, small.name);
    double start = bench_now();
    links_ask(l, &scratch, &delete);
    lookout_wait_left(seen, 0);
    return (bench_now() - start) * 1e3;
}

static void again_and_again(struct server *s)
{
    double wall[ROUNDS], cpu[ROUNDS], gone[ROUNDS];
    server_start(s);
    struct links *l = links_open(s, 1, true);
    struct lookout *seen = lookout_open(s, S(CLUSTER_INSTALLS));
    install(l, seen);
    uninstall(l, seen);
    for (size_t i = 0; i < ROUNDS; i++) {
        ask_until_quiet(l);
        double before = server_cpu(s);
        wall[i] = install(l, seen);
        cpu[i] = (server_cpu(s) - before) * 1e3;
        ask_until_quiet(l);
        gone[i] = uninstall(l, seen);
    }
    lookout_close(seen);
    links_close(l);
    server_stop(s);
    row_print("6 CRDs, known image, create until Ready, median of 20", bench_median(wall, ROUNDS), "ms", "(< 150)");
    row_print("  server CPU of it", bench_median(cpu, ROUNDS), "ms", "");
    row_print("  delete until gone", bench_median(gone, ROUNDS), "ms", "");
}

/* Nothing in the cache, nothing in memory. */
static void cold(struct server *s)
{
    double wall[COLD_ROUNDS];
    for (size_t i = 0; i < COLD_ROUNDS; i++) {
        image_remove_cache(s);
        server_start(s);
        struct links *l = links_open(s, 1, true);
        struct lookout *seen = lookout_open(s, S(CLUSTER_INSTALLS));
        ask_until_quiet(l);
        wall[i] = install(l, seen);
        uninstall(l, seen);
        lookout_close(seen);
        links_close(l);
        server_stop(s);
    }
    row_print("6 CRDs, from the local store, create until Ready, median of 9", bench_median(wall, COLD_ROUNDS), "ms",
              "(< 150)");
    struct image_cost child = image_fetch(s, &small);
    row_print("  the child alone, CPU", child.cpu * 1e3, "ms", "");
}

void rows_small(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    image_build(&s, &small);
    cold(&s);
    again_and_again(&s);
    server_done(&s);
}
