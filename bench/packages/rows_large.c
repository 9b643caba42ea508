/* SPDX-License-Identifier: Apache-2.0 */
/* 2,000 CRDs of 30 KB of YAML in one image. */
#include "rows.h"

#include "ask.h"
#include "image.h"
#include "lookout.h"

enum { CRDS = 2000, CRD_BYTES = 30000, QUIET_SECONDS = 10 };

static const struct image large = {"large", "Cluster", CRDS, CRD_BYTES};

static void print_child(struct server *s)
{
    struct image_cost child = image_fetch(s, &large);
    row_print("2,000 CRDs of 30 KB of YAML: the child alone", child.seconds, "s", "");
    row_print("  its CPU", child.cpu, "s", "");
    row_print("  its peak of memory", child.peak / 1e6, "MB", "");
    row_print("  bytes of its lines", child.bytes / 1e6, "MB", "");
}

static void install(struct server *s, struct links *l, struct lookout *seen)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct question create = ask_create(&scratch, (str){0}, large.name);
    double start = bench_now(), cpu = server_cpu(s);
    links_ask(l, &scratch, &create);
    lookout_wait_ready(seen, 1);
    row_print("2,000 CRDs of 30 KB of YAML: create until Ready", bench_now() - start, "s", "(< 10)");
    row_print("  server CPU of it, without the child", server_cpu(s) - cpu, "s", "");
    row_print("  server's peak of memory", server_peak(s) / 1e6, "MB", "(< 150)");
    struct server_memory memory = server_memory(s);
    row_print("  of what is resident then its own, the rest is mapped files", memory.anon / 1e6, "MB", "");
    ask_until_quiet(l); /* Events are told a little later */
    cpu = server_cpu(s);
    row_print("  writes in the next 10 s", (double)ask_writes(l, QUIET_SECONDS), "", "(0)");
    row_print("  server CPU in these 10 s", server_cpu(s) - cpu, "s", "");
}

static void uninstall(struct server *s, struct links *l, struct lookout *seen)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct question delete = ask_delete(&scratch, (str){0}, large.name);
    double start = bench_now(), cpu = server_cpu(s);
    links_ask(l, &scratch, &delete);
    lookout_wait_left(seen, 0);
    row_print("  delete until gone", bench_now() - start, "s", "");
    row_print("  server CPU of it", server_cpu(s) - cpu, "s", "");
}

void rows_large(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    image_build(&s, &large);
    print_child(&s);
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    struct lookout *seen = lookout_open(&s, S(CLUSTER_INSTALLS));
    ask_until_quiet(l);
    install(&s, l, seen);
    lookout_close(seen);
    links_close(l);
    server_stop(&s);
    row_print("  warm start with them", server_start(&s) * 1e3, "ms", "");
    l = links_open(&s, 1, true);
    seen = lookout_open(&s, S(CLUSTER_INSTALLS));
    ask_until_quiet(l);
    lookout_wait_ready(seen, 1);
    uninstall(&s, l, seen);
    ask_until_quiet(l);
    row_print("  server's peak of memory after all of this", server_peak(&s) / 1e6, "MB", "");
    lookout_close(seen);
    links_close(l);
    server_done(&s);
}
