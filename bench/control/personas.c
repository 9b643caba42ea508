/* SPDX-License-Identifier: Apache-2.0 */
/* What personas cost with many namespaces: how long until all have their roles, and how often the three default roles, which have a
 * label for each, are written. Both should stay in proportion. Prints a table. */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROLES = 3 };

#define NAMESPACES "/api/v1/namespaces"
#define CLUSTER_ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"
#define DEFAULT CLUSTER_ROLES "/crossplane:package-manager:ns:default:view"

static double cpu_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static size_t occurrences(str text, str word)
{
    size_t n = 0;
    for (ptrdiff_t at; (at = str_find(text, word)) >= 0; n++)
        text = str_from(text, (size_t)at + word.n);
    return n;
}

/* The revision of the store: one more with each write. */
static int64_t revision(struct stage *s)
{
    stage_ask(s, "GET", NAMESPACES "?limit=1", NULL);
    str mark = S("\"resourceVersion\":\""), text = stage_answer(s), number, rest;
    int64_t n = 0;
    str_cut(str_from(text, (size_t)str_find(text, mark) + mark.n), '"', &number, &rest);
    (void)str_to_int64(number, &n);
    return n;
}

struct goal {
    size_t namespaces;
    int64_t revision; /* at least: asked first, because it costs nothing */
    bool has_rules;   /* aggregated ones, too */
};

static bool is_reached(struct stage *s, void *ctx)
{
    const struct goal *goal = ctx;
    if (revision(s) < goal->revision)
        return false;
    stage_ask(s, "GET", DEFAULT, NULL);
    if (occurrences(stage_answer(s), S("\"namespace.crossplane.io/")) != goal->namespaces)
        return false;
    stage_ask(s, "GET", CLUSTER_ROLES "?labelSelector=crossplane.io%2Fscope%3Dnamespace", NULL);
    str all = stage_answer(s);
    return occurrences(all, S("\"uid\":")) == goal->namespaces * ROLES &&
           (!goal->has_rules || occurrences(all, S("\"packageinstalls\"")) == goal->namespaces * ROLES);
}

static void make_namespaces(struct stage *s, size_t n)
{
    char body[160];
    for (size_t i = 0; i < n; i++) {
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"team-%zu\",\"labels\":{\"rbac.crossplane.io/managed-roles\":\"true\"}}}",
                 i);
        stage_send(s, "POST", NAMESPACES, body);
    }
}

static void measure(const char *controllers, size_t n, bool has_rules)
{
    struct stage *s = stage_open(controllers);
    struct goal none = {0};
    stage_wait(s, is_reached, &none);
    int64_t before = revision(s), own = (int64_t)n * (1 + ROLES);
    struct goal all = {n, before + own, has_rules};
    double wall = stage_now(), cpu = cpu_now();
    make_namespaces(s, n);
    stage_flush(s);
    stage_wait(s, is_reached, &all);
    wall = stage_now() - wall;
    cpu = cpu_now() - cpu;
    int64_t writes = revision(s) - before;
    if (has_rules)
        printf("%-24s %6zu %9.0f ms %9.0f ms CPU %8lld writes\n", controllers, n, wall, cpu, (long long)writes);
    else
        printf("%-24s %6zu %9.0f ms %9.0f ms CPU %8lld writes, %lld of them of the defaults\n", controllers, n, wall,
               cpu, (long long)writes, (long long)(writes - own));
    stage_close(s);
}

int main(void)
{
    static const size_t sizes[] = {100, 300, 1000, 3000};
    printf("%-24s %6s\n", "controllers", "namespaces labelled until all have their roles");
    for (size_t i = 0; i < COUNT(sizes); i++)
        measure("personas", sizes[i], false);
    for (size_t i = 0; i < COUNT(sizes); i++)
        measure("aggregation,personas", sizes[i], true);
    return 0;
}
