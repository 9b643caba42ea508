/* SPDX-License-Identifier: Apache-2.0 */
/* How long a GET of one user takes while another user keeps the server busy, from a process of its own. */
#include "rows.h"

#include "load.h"
#include "net/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GETS = 400000, WARM_UP = 1, SECONDS = 6, OBJECTS = 30, CONNECTIONS = 8 };

#define MAPS "/api/v1/namespaces/default/configmaps"

static void list(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)i;
    (void)a;
    *ret = (struct question){.target = S(MAPS), .accept = *(const str *)ctx, .user = S("ann")};
}

/* Lists until it is killed. */
static pid_t start_lists(struct server *s, str accept)
{
    pid_t pid = fork();
    bench_must(pid >= 0, "fork");
    if (pid)
        return pid;
    struct err err = {0};
    bench_must(loop_new(&s->loop, &err) == 0, err.msg); /* that of the parent is not shared */
    struct links *l = links_open(s, CONNECTIONS, false);
    for (;;)
        links_load(l, &(struct load){.make = list, .ctx = &accept, .n = 1000, .at_a_time = 1});
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void measure_gets(struct server *s, const char *p50, const char *p99)
{
    static double took[GETS];
    struct links *l = links_open(s, 1, true);
    size_t n = 0;
    double begin = bench_now(), start = begin;
    while (n < GETS && start < begin + SECONDS) {
        struct arena scratch ARENA_SCOPE = {0};
        links_ask(l, &scratch, &(struct question){.target = S(MAPS "/settings-000000"), .user = S("bob")});
        double end = bench_now();
        if (start > begin + WARM_UP)
            took[n++] = (end - start) * 1e3;
        start = end;
    }
    links_close(l);
    qsort(took, n, sizeof *took, by_value);
    row_print(p50, took[n / 2], "ms", "");
    row_print(p99, took[n * 99 / 100], "ms", "(< 50)");
}

static void measure_beside(struct server *s, str accept, const char *p50, const char *p99)
{
    pid_t busy = start_lists(s, accept);
    measure_gets(s, p50, p99);
    (void)kill(busy, SIGKILL);
    (void)waitpid(busy, NULL, 0);
}

static void create(struct links *l, str target, str body)
{
    struct arena scratch ARENA_SCOPE = {0};
    links_ask(l, &scratch, &(struct question){.method = S("POST"), .target = target, .body = body});
}

static void fill(struct server *s)
{
    struct arena a ARENA_SCOPE = {0};
    struct links *l = links_open(s, 1, true);
    create(l, S(MAPS), sample_config_map(&a, 0));
    char *text = arena_alloc(&a, 1000001);
    memset(text, 'x', 1000000);
    text[1000000] = 0;
    for (size_t i = 0; i < OBJECTS; i++)
        create(l, S(MAPS), str_fmt(&a, "{\"metadata\":{\"name\":\"big-%zu\"},\"data\":{\"text\":\"%s\"}}", i, text));
    create(
        l, S("/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        S("{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"read\"},"
          "\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":[\"get\",\"list\"]}]}"));
    create(
        l, S("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
        S("{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":"
          "\"read\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"read\"},"
          "\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"ann\"},"
          "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"bob\"}]}"));
    links_close(l);
}

void rows_shares(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    fill(&s);
    measure_gets(&s, "GET of one user, no other at work, p50", "  p99");
    measure_beside(&s, S("application/json"), "GET beside 8 connections of 30 MB lists of another user, p50", "  p99");
    measure_beside(&s, S("application/yaml"), "GET beside 8 connections of 30 MB lists as YAML, p50", "  p99");
    server_done(&s);
}
