/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning: with nothing, with much; and what it takes to do nothing. */
#include "rows.h"

#include "load.h"

#include <stdio.h>
#include <time.h>

enum { ROUNDS = 9, OBJECTS = 10000, IDLE_SECONDS = 12 };

static void create(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){
        .method = S("POST"), .target = S("/api/v1/namespaces/default/configmaps"), .body = sample_config_map(a, i)};
}

/* A role binding is the dearest thing to find at a start: it goes to the index of permissions. */
static void create_binding(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    ret->method = S("POST");
    ret->target = S("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings");
    ret->body =
        str_fmt(a,
                "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{\"name\":"
                "\"b-%zu\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
                "\"name\":\"view\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\","
                "\"name\":\"user-%zu\"}]}",
                i, i);
}

static void cold(const char *binary)
{
    double seconds[ROUNDS], cpu[ROUNDS], anon[ROUNDS], all[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        struct server s;
        server_init(&s, binary);
        seconds[i] = server_start(&s) * 1e3;
        cpu[i] = server_cpu(&s) * 1e3;
        struct server_memory m = server_memory(&s);
        anon[i] = m.anon / 1e6;
        all[i] = (m.anon + m.file) / 1e6;
        server_done(&s);
    }
    row_print("cold start of an empty directory until /readyz", bench_median(seconds, ROUNDS), "ms", "(< 100)");
    row_print("  server CPU of it, keys and first objects included", bench_median(cpu, ROUNDS), "ms", "");
    row_print("idle memory, resident", bench_median(all, ROUNDS), "MB", "(< 20)");
    row_print("  of it its own, the rest is mapped files and libraries", bench_median(anon, ROUNDS), "MB", "");
}

/* Long enough after the start for threads that are not needed to end. */
static void idle(const char *binary)
{
    const struct timespec pause = {.tv_sec = IDLE_SECONDS};
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    nanosleep(&pause, NULL);
    struct server_memory m = server_memory(&s);
    double threads = (double)server_threads(&s);
    server_done(&s);
    row_print("threads of an idle server, 12 s after its start", threads, "", "(< 16)");
    row_print("  memory then, resident", (m.anon + m.file) / 1e6, "MB", "(< 20)");
    row_print("  of it its own", m.anon / 1e6, "MB", "");
}

static void warm(const char *binary, void (*make)(void *, size_t, struct arena *, struct question *), const char *what,
                 const char *target)
{
    double seconds[ROUNDS], cpu[ROUNDS];
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    struct links *l = links_open(&s, 4, true);
    links_load(l, &(struct load){.make = make, .n = OBJECTS, .at_a_time = 64});
    links_close(l);
    for (size_t i = 0; i < ROUNDS; i++) {
        server_stop(&s);
        seconds[i] = server_start(&s) * 1e3;
        cpu[i] = server_cpu(&s) * 1e3;
    }
    server_done(&s);
    row_print(what, bench_median(seconds, ROUNDS), "ms", target);
    row_print("  server CPU of it", bench_median(cpu, ROUNDS), "ms", "");
}

void rows_start(const char *binary)
{
    cold(binary);
    idle(binary);
    warm(binary, create, "warm start with 10,000 ConfigMaps", "(< 100)");
    warm(binary, create_binding, "warm start with 10,000 RoleBindings", "(< 100)");
}
