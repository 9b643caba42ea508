/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of a large package: 2,000 CRDs of 30 KB. Nearly all of it is the work of reeve-fetch, which reads 60 MB of YAML. */
#include "rows.h"

#include "run.h"

#include "../packages/image.h"

enum { TIMES = 5, CHANGES = 1 /* the exit code */ };

static const struct image large = {.name = "large", .scope = "Cluster", .crds = 2000, .crd_bytes = 30000};

static void measure(struct server *s, const char *what, const char *const *words, bool asks)
{
    struct run_cost cost = run_command(s->binary, asks ? s : NULL, &(struct run){words, CHANGES, TIMES});
    row_print(what, cost.seconds, "s", "(< 2)");
    row_print("  processor time of both processes", cost.cpu, "s", "");
    row_print("  most memory of one", cost.peak / 1e6, "MB", "");
}

void rows_plan(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    image_build(&s, &large);
    const char *store = str_cstr(&s.arena, str_fmt(&s.arena, "%s/data/packages/store", s.dir));
    const char *folder = str_cstr(&s.arena, str_fmt(&s.arena, "%s/image-%s", s.dir, large.name));
    (void)server_start(&s);
    measure(&s, "reeve plan, 2,000 CRDs of 30 KB, from the store, median of 5",
            (const char *const[]){"plan", "bench/large:1.0", "--store", store, NULL}, true);
    measure(&s, "reeve plan, the same from a directory, with a server",
            (const char *const[]){"plan", folder, "--store", store, NULL}, true);
    measure(&s, "reeve plan, the same from a directory, offline",
            (const char *const[]){"plan", folder, "--offline", "--store", store, NULL}, false);
    server_stop(&s);
    server_done(&s);
}
