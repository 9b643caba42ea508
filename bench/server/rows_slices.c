/* SPDX-License-Identifier: Apache-2.0 */
/* How long a client waits for a small answer while the server validates an object that takes about half a second. */
#include "rows.h"

#include "load.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "net/loop.h"

enum { ALTERNATIVES = 2000, ITEMS = 2500, HEAVY = 6 };

static str make_crd(struct arena *a)
{
    struct buf b = {.arena = a};
    buf_add_str(&b,
                S("{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
                  "\"name\":\"heavies.a.io\"},\"spec\":{\"group\":\"a.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":"
                  "\"heavies\",\"singular\":\"heavy\",\"kind\":\"Heavy\",\"listKind\":\"HeavyList\"},\"versions\":[{"
                  "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                  "\"object\",\"properties\":{\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
                  "\"x-kubernetes-preserve-unknown-fields\":true,\"anyOf\":["));
    for (int i = 0; i < ALTERNATIVES; i++)
        buf_fmt(&b, "%s{\"required\":[\"x%d\"]}", i ? "," : "", i);
    buf_add_str(&b, S("]}}}}}}]}}"));
    return buf_str(&b);
}

static str make_heavy(struct arena *a)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("{\"apiVersion\":\"a.io/v1\",\"kind\":\"Heavy\",\"metadata\":{\"name\":\"h\"},\"list\":["));
    for (int i = 0; i < ITEMS; i++)
        buf_fmt(&b, "%s{\"x%d\":1}", i ? "," : "", ALTERNATIVES - 1);
    buf_add_str(&b, S("]}"));
    return buf_str(&b);
}

/* In a process of its own, so that the two clients do not wait for each other. */
static pid_t start_heavy(struct server *s)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    struct arena a = {0};
    struct err err;
    struct server own = *s; /* with a loop of its own */
    bench_must(loop_new(&own.loop, &err) == 0, err.msg);
    struct links *l = links_open(&own, 1, false);
    struct question q = {.method = S("POST"), .target = S("/apis/a.io/v1/heavies?dryRun=All"), .body = make_heavy(&a)};
    for (int i = 0; i < HEAVY; i++)
        (void)links_ask(l, &a, &q);
    _exit(0);
}

static int by_size(const void *l, const void *r)
{
    double a = *(const double *)l, b = *(const double *)r;
    return (a > b) - (a < b);
}

void rows_slices(const char *binary)
{
    struct server s;
    struct arena a ARENA_SCOPE = {0};
    VEC(double) waits = {0};
    struct question get = {.target = S("/api/v1/namespaces/default")};
    struct question define = {.method = S("POST"),
                              .target = S("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
                              .body = make_crd(&a)};
    server_init(&s, binary);
    server_start(&s);
    struct links *l = links_open(&s, 1, false);
    (void)links_ask(l, &a, &define);
    links_close(l); /* two processes cannot share a connection */
    pid_t child = start_heavy(&s);
    l = links_open(&s, 1, false);
    while (waitpid(child, NULL, WNOHANG) == 0) {
        int64_t began = clock_mono_ns(&clock_system);
        (void)links_ask(l, &a, &get);
        *vec_push(&a, &waits) = (double)(clock_mono_ns(&clock_system) - began) / 1e6;
    }
    links_close(l);
    server_done(&s);
    if (waits.n == 0)
        abort();
    qsort(waits.p, waits.n, sizeof *waits.p, by_size);
    row_print("GET beside costly writes, median", waits.p[waits.n / 2], "ms", "");
    row_print("GET beside costly writes, 99 of 100 within", waits.p[waits.n * 99 / 100], "ms", "(< 20)");
    row_print("GET beside costly writes, longest", waits.p[waits.n - 1], "ms", "");
}
