/* SPDX-License-Identifier: Apache-2.0 */
/* Durable creates against bare LMDB that commits the same bytes in groups of as many as there are clients. Rounds of both take
 * turns; the ratio is the median. */
#include "rows.h"

#include "bare.h"
#include "load.h"

enum { CLIENTS = 64, ROUNDS = 7, PER_ROUND = 3200 };

static void create(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){
        .method = S("POST"), .target = S("/api/v1/namespaces/default/configmaps"), .body = sample_config_map(a, i)};
}

static double commits(struct links *l)
{
    struct arena scratch ARENA_SCOPE = {0};
    str name = S("\nreeve_store_commits_total "), text, number = {0}, rest;
    text = links_ask(l, &scratch, &(struct question){.target = S("/metrics"), .accept = S("*/*")});
    ptrdiff_t at = str_find(text, name);
    uint64_t n = 0;
    bench_must(at >= 0 && str_cut(str_from(text, (size_t)at + name.n), '\n', &number, &rest) &&
                   str_to_uint64(number, &n),
               "number of commits");
    return (double)n;
}

void rows_writes(const char *binary)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct server s;
    struct bare bare;
    double ours[ROUNDS], theirs[ROUNDS], ratio[ROUNDS], cpu[ROUNDS];
    server_init(&s, binary);
    server_start(&s);
    bare_open(&bare, &s);
    struct links *l = links_open(&s, CLIENTS, true);
    struct question first;
    create(NULL, 0, &scratch, &first);
    str value = links_ask(l, &scratch, &first);
    double before = commits(l);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct load load = {.make = create, .first = 1 + i * PER_ROUND, .n = PER_ROUND, .at_a_time = 1};
        struct cost cost = links_load(l, &load);
        ours[i] = PER_ROUND / cost.seconds;
        cpu[i] = cost.cpu / PER_ROUND * 1e6;
        theirs[i] = PER_ROUND / bare_write(&bare, PER_ROUND, CLIENTS, value);
        ratio[i] = ours[i] / theirs[i];
    }
    double group = ROUNDS * PER_ROUND / (commits(l) - before);
    links_close(l);
    bare_close(&bare);
    server_done(&s);
    row_print("durable creates with 64 clients", bench_median(ours, ROUNDS), "/s", "");
    row_print("  bare LMDB, the same bytes in groups of 64", bench_median(theirs, ROUNDS), "/s", "");
    row_print("  ratio", bench_median(ratio, ROUNDS), "", "(> 0.5)");
    row_print("  creates in one commit", group, "", "");
    row_print("  server CPU of each", bench_median(cpu, ROUNDS), "us", "");
}
