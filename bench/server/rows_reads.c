/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to be asked for one small object. */
#include "rows.h"

#include "load.h"

enum { ROUNDS = 7, GETS = 4000, AT_A_TIME = 100 };

static void get(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    (void)i;
    (void)a;
    ret->target = S("/api/v1/namespaces/default/configmaps/settings-000000");
}

/* HTTP/2 shares one connection, HTTP/1.1 has one for each request that is on its way. */
static double measure(struct server *s, bool is_h2, size_t at_a_time)
{
    double cpu[ROUNDS];
    struct links *l = links_open(s, is_h2 ? 1 : at_a_time, is_h2);
    for (size_t i = 0; i < ROUNDS; i++)
        cpu[i] =
            links_load(l, &(struct load){.make = get, .n = GETS, .at_a_time = is_h2 ? at_a_time : 1}).cpu / GETS * 1e6;
    links_close(l);
    return bench_median(cpu, ROUNDS);
}

void rows_reads(const char *binary)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    links_ask(l, &scratch,
              &(struct question){.method = S("POST"),
                                 .target = S("/api/v1/namespaces/default/configmaps"),
                                 .body = sample_config_map(&scratch, 0)});
    links_close(l);
    row_print("GET of a small object, HTTP/1.1 over TLS, 16 clients, server CPU", measure(&s, false, 16), "us",
              "(< 40)");
    row_print("GET of a small object, HTTP/1.1 over TLS, one client, server CPU", measure(&s, false, 1), "us", "");
    row_print("GET of a small object, HTTP/2, 100 at a time, server CPU", measure(&s, true, AT_A_TIME), "us", "(< 8)");
    row_print("GET of a small object, HTTP/2, one at a time, server CPU", measure(&s, true, 1), "us", "");
    server_done(&s);
}
