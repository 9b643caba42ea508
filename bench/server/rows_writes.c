/* SPDX-License-Identifier: Apache-2.0 */
/* Durable creates against bare LMDB that commits the same bytes in groups of as many as there are clients. Rounds of both take
 * turns; the ratio is the median.
 *
 * With one client, what bare LMDB needs for the same commit is the disk: the rest is the request itself and waking the threads it
 * passes through. */
#include "rows.h"

#include "bare.h"
#include "load.h"

#include <sys/resource.h>
#include <time.h>

enum { CLIENTS = 64, ROUNDS = 7, PER_ROUND = 3200, ALONE = 1500 };

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

/* One create, or commit, after the other. */
struct alone {
    double seconds[ALONE];
    double cpu, switches; /* of each */
};

static void create_alone(struct server *s, struct links *l, size_t first, struct alone *ret)
{
    double cpu = server_cpu(s), switches = server_switches(s);
    for (size_t i = 0; i < ALONE; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct question q;
        create(NULL, first + i, &scratch, &q);
        double start = bench_now();
        (void)links_ask(l, &scratch, &q);
        ret->seconds[i] = bench_now() - start;
    }
    ret->cpu = (server_cpu(s) - cpu) / ALONE;
    ret->switches = (server_switches(s) - switches) / ALONE;
}

static double own_switches(void)
{
    struct rusage u;
    bench_must(getrusage(RUSAGE_THREAD, &u) == 0, "resources");
    return (double)(u.ru_nvcsw + u.ru_nivcsw);
}

static double own_cpu(void)
{
    struct timespec t;
    bench_must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0, "CPU time");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void commit_alone(struct bare *bare, str value, struct alone *ret)
{
    double cpu = own_cpu(), switches = own_switches();
    for (size_t i = 0; i < ALONE; i++)
        ret->seconds[i] = bare_write(bare, 1, 1, value);
    ret->cpu = (own_cpu() - cpu) / ALONE;
    ret->switches = (own_switches() - switches) / ALONE;
}

static void rows_alone(const char *binary)
{
    static struct alone ours, bare_alone;
    struct arena scratch ARENA_SCOPE = {0};
    struct server s;
    struct bare bare;
    struct question first;
    server_init(&s, binary);
    server_start(&s);
    bare_open(&bare, &s);
    struct links *l = links_open(&s, 1, true);
    create(NULL, 0, &scratch, &first);
    str value = links_ask(l, &scratch, &first);
    create_alone(&s, l, 1, &ours);
    commit_alone(&bare, value, &bare_alone);
    links_close(l);
    bare_close(&bare);
    server_done(&s);
    row_print("durable creates with one client, median", bench_median(ours.seconds, ALONE) * 1e6, "us", "");
    row_print("  bare LMDB, one commit of the same bytes", bench_median(bare_alone.seconds, ALONE) * 1e6, "us", "");
    row_print("  server CPU of each", ours.cpu * 1e6, "us", "");
    row_print("  CPU of a bare commit", bare_alone.cpu * 1e6, "us", "");
    row_print("  context switches of each", ours.switches, "", "");
    row_print("  context switches of a bare commit, which waits for the disk", bare_alone.switches, "", "");
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
    rows_alone(binary);
}
