/* SPDX-License-Identifier: Apache-2.0 */
/* Many clusters, some permissions on each: until all are delivered and reported; then one of them changes, and the others should not
 * notice. */
#include "rows.h"

#include "agents.h"
#include "fleet.h"
#include "tally.h"

#include "net/loop.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PERMISSIONS = 20 /* of each cluster */, CHANGES = 21, AT_A_TIME = 64 };

static const struct client_resource permissions = CLIENT_RESOURCE(FLEET_PERMISSIONS);
static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);
/* The last that is made for a cluster. */
static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

/* A hub at work. */
struct stage {
    struct server server;
    size_t n; /* clusters */
    struct links *links;
    struct agents *agents;
    struct tally *tally; /* of permissions */
};

/* What one permission costs, for comparison between sizes. */
struct unit {
    double cpu, change, resident;
};

static void print(const struct stage *s, const char *what, double figure, const char *unit, const char *target)
{
    char text[128];
    snprintf(text, sizeof text, "%5zu clusters: %s", s->n, what);
    row_print(text, figure, unit, s->n == 3000 ? target : "");
}

/* ---- Setting it up. ---- */

static void make_cluster(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = fleet_make_cluster(a, i);
}

/* One cluster after the other has its next. */
static void make_permission(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    const struct stage *s = ctx;
    *ret = fleet_make_permission(a, i % s->n, i / s->n);
}

static double resident(const struct server *s)
{
    struct server_memory memory = server_memory(s);
    return memory.anon + memory.file;
}

static void set_up(struct stage *s, const char *binary)
{
    server_init(&s->server, binary);
    server_start(&s->server);
    s->links = links_open(&s->server, 1, true);
    double start = bench_now(), cpu = server_cpu(&s->server), before = resident(&s->server);
    struct tally *made = tally_open(&s->server, &leases, S("metadata.name=" FLEET_LEASE), NULL);
    links_load(s->links, &(struct load){.make = make_cluster, .n = s->n, .at_a_time = AT_A_TIME});
    tally_wait(made, s->n);
    tally_close(made);
    struct tally *available = tally_open(&s->server, &clusters, (str){0}, fleet_is_available);
    s->agents = agents_start(&s->server, s->links, s->n);
    tally_wait(available, s->n);
    tally_close(available);
    print(s, "accepted, joined and available", bench_now() - start, "s", "");
    print(s, "  CPU of each", (server_cpu(&s->server) - cpu) / (double)s->n * 1e3, "ms", "");
    print(s, "  resident, of each", (resident(&s->server) - before) / (double)s->n / 1e3, "KB", "");
    s->tally = tally_open(&s->server, &permissions, (str){0}, fleet_is_delivered);
}

static void tear_down(struct stage *s)
{
    tally_close(s->tally);
    agents_stop(s->agents);
    links_close(s->links);
    server_done(&s->server);
}

/* ---- Looking. ---- */

/* What every change of a permission or work leads to: events, and those of works once more at their agents. */
static uint64_t seen(const struct stage *s)
{
    return tally_events(s->tally) + agents_stats(s->agents).events;
}

static void turn_for(struct stage *s, double seconds)
{
    double end = bench_now() + seconds, left = seconds;
    while (left > 0) {
        loop_turn(s->server.loop, (int64_t)(left * 1e9));
        left = end - bench_now();
    }
}

static void until_quiet(struct stage *s)
{
    uint64_t before;
    do {
        before = seen(s);
        turn_for(s, 1);
    } while (seen(s) != before);
}

/* Visits of this controller, however they ended. */
static double visits(struct stage *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text = links_ask(s->links, &scratch, &(struct question){.target = S("/metrics")}), line,
        name = S("controller_runtime_reconcile_total{controller=\"permissions\"");
    double sum = 0;
    while (str_cut(text, '\n', &line, &text)) {
        str before, number;
        if (str_has_prefix(line, name) && str_cut(line, ' ', &before, &number))
            sum += strtod(str_cstr(&scratch, number), NULL);
    }
    bench_must(sum > 0, "visits");
    return sum;
}

static double own_cpu(void)
{
    struct timespec t;
    bench_must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0, "CPU time");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- All of them. ---- */

static void deliver(struct stage *s, struct unit *ret)
{
    size_t n = s->n * PERMISSIONS;
    double start = bench_now(), cpu = server_cpu(&s->server), own = own_cpu(), before = resident(&s->server);
    links_load(s->links, &(struct load){.make = make_permission, .ctx = s, .n = n, .at_a_time = AT_A_TIME});
    print(s, "20 permissions on each, created", bench_now() - start, "s", "");
    links_close(s->links); /* the server closes what is idle for long */
    tally_wait(s->tally, n);
    s->links = links_open(&s->server, 1, true);
    print(s, "  all delivered and reported", bench_now() - start, "s", "(< 120)");
    until_quiet(s);
    struct agents_stats stats = agents_stats(s->agents);
    double agents = own_cpu() - own;
    struct server_memory memory = server_memory(&s->server);
    ret->cpu = (server_cpu(&s->server) - cpu) / (double)n * 1e6;
    ret->resident = (resident(&s->server) - before) / (double)n / 1e3;
    print(s, "  CPU of each permission", ret->cpu, "us", "");
    print(s, "  CPU of the simulated agents for it", agents / (double)n * 1e6, "us", "");
    print(s, "  visits of each permission", visits(s) / (double)n, "", "(2)");
    print(s, "  events of each permission, works included", (double)seen(s) / (double)n, "", "");
    print(s, "  agents' requests that were put off", (double)stats.retries, "", "(0)");
    print(s, "  resident, of each permission", ret->resident, "KB", "");
    print(s, "  resident afterwards", (memory.anon + memory.file) / 1e6, "MB", "(< 400)");
    print(s, "    of its own", memory.anon / 1e6, "MB", "");
    print(s, "  peak of memory", server_peak(&s->server) / 1e6, "MB", "(< 400)");
}

/* ---- One of them. ---- */

struct change {
    double noticed, reported,
        told; /* seconds since it was sent: by the agent, by the agent to the hub, by the permission */
    uint64_t events;
};

static struct change change_one(struct stage *s, size_t turn)
{
    struct arena scratch ARENA_SCOPE = {0};
    size_t cluster = turn * 37 % s->n, team = turn % PERMISSIONS;
    struct question q = fleet_change_permission(&scratch, cluster, team, turn);
    uint64_t before = seen(s);
    double start = bench_now();
    links_ask(s->links, &scratch, &q);
    tally_wait_for(s->tally, fleet_cluster(&scratch, cluster), fleet_team(&scratch, team), 2);
    struct change c = {agents_noticed(s->agents, cluster) - start, agents_reported(s->agents, cluster) - start,
                       bench_now() - start, 0};
    until_quiet(s);
    c.events = seen(s) - before;
    return c;
}

static void change_some(struct stage *s, struct unit *ret)
{
    double noticed[CHANGES], reported[CHANGES], told[CHANGES], before = visits(s);
    uint64_t events = 0;
    for (size_t i = 0; i < CHANGES; i++) {
        struct change c = change_one(s, i);
        noticed[i] = c.noticed * 1e3;
        reported[i] = c.reported * 1e3;
        told[i] = c.told * 1e3;
        events += c.events;
    }
    print(s, "one permission changed, until its agent knows", bench_median(noticed, CHANGES), "ms", "");
    print(s, "  until it has reported", bench_median(reported, CHANGES), "ms", "");
    print(s, "  until the permission says so", ret->change = bench_median(told, CHANGES), "ms", "(< 100)");
    print(s, "  the longest of 21", told[CHANGES - 1], "ms", "");
    print(s, "  permissions visited, times", (visits(s) - before) / CHANGES, "", "(2)");
    /* The permission: its spec, that it is not delivered yet, that it is. The work: its spec, its status. */
    print(s, "  events of permissions and works", (double)events / CHANGES, "", "(5)");
}

static void measure(const char *binary, size_t n, struct unit *ret)
{
    struct stage s = {.n = n};
    set_up(&s, binary);
    deliver(&s, ret);
    change_some(&s, ret);
    tear_down(&s);
}

/* Those of $BENCH_CLUSTERS ("100,300"), in its order. */
static size_t sizes(size_t *ret, size_t most)
{
    const char *given = getenv("BENCH_CLUSTERS");
    str text = str_of(given ? given : "100,300,1000,3000"), word, rest;
    size_t n = 0;
    for (uint64_t number; text.n && n < most; n++) {
        if (!str_cut(text, ',', &word, &rest))
            word = text;
        text = rest;
        bench_must(str_to_uint64(word, &number) && number > 0, "BENCH_CLUSTERS");
        ret[n] = (size_t)number;
    }
    return n;
}

void rows_hub(const char *binary)
{
    enum { SIZES = 8 };
    size_t all[SIZES], n = sizes(all, SIZES);
    struct unit units[SIZES];
    char text[128];
    for (size_t i = 0; i < n; i++)
        measure(binary, all[i], &units[i]);
    if (n < 2)
        return;
    snprintf(text, sizeof text, "with %zu clusters to %zu: CPU of each permission", all[n - 1], all[0]);
    row_print(text, units[n - 1].cpu / units[0].cpu, "", "(< 1.5)");
    snprintf(text, sizeof text, "with %zu clusters to %zu: time of one change", all[n - 1], all[0]);
    row_print(text, units[n - 1].change / units[0].change, "", "(< 1.5)");
}
