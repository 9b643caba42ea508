/* SPDX-License-Identifier: Apache-2.0 */
/* Who can do this? asked of 50,000 bindings: when a few of them allow it, when all do, and for a request of the cluster.
 * Each figure is the median of several rounds, in CPU time of this process. */
#include "authz/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 9, BINDINGS = 50000, ROLES = 500, NAMESPACES = 50 };

static double cpu_ms(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void put(struct authz_index *ix, struct arena *scratch, str text)
{
    struct json object;
    struct err err = {0};
    if (json_decode(scratch, text, NULL, NULL, &object, &err) < 0 || authz_index_put(ix, &object, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    arena_reset(scratch);
}

/* Role 0 allows what is asked for; half of the bindings are of the cluster, half of namespaces. */
static void fill(struct authz_index *ix, bool all_allow)
{
    struct arena scratch ARENA_SCOPE = {0};
    for (int i = 0; i < ROLES; i++)
        put(ix, &scratch,
            str_fmt(&scratch,
                    "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r%d\"},\"rules\":[{\"apiGroups\":[\"apps\"],"
                    "\"resources\":[\"deployments\"],\"verbs\":[\"get\",\"list\"]},{\"apiGroups\":[\"\"],"
                    "\"resources\":[\"%s\"],\"verbs\":[\"get\",\"delete\"]}]}",
                    i, i ? "services" : "pods"));
    for (int i = 0; i < BINDINGS; i++) {
        str place = i % 2 ? str_fmt(&scratch, ",\"namespace\":\"ns%d\"", i % NAMESPACES) : (str){0};
        put(ix, &scratch,
            str_fmt(&scratch,
                    "{\"kind\":\"%s\",\"metadata\":{\"name\":\"b%d\"%.*s},\"roleRef\":{\"kind\":\"ClusterRole\","
                    "\"name\":\"r%d\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"user%d\"}]}",
                    i % 2 ? "RoleBinding" : "ClusterRoleBinding", i, STR(place), all_allow ? 0 : i % ROLES, i));
    }
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(const struct authz_index *ix, const char *title, const struct authz_attributes *what)
{
    struct arena a ARENA_SCOPE = {0};
    double ms[ROUNDS];
    size_t n = 0;
    for (int r = 0; r < ROUNDS; r++) {
        double from = cpu_ms();
        n = explain_who_can(&a, ix, what, false).n;
        ms[r] = cpu_ms() - from;
        arena_reset(&a);
    }
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    printf("  %-46s %8.1f ms %8zu subjects   (under 100)\n", title, ms[ROUNDS / 2], n);
}

int main(void)
{
    struct authz_attributes local = {
        .is_resource = true, .verb = S("delete"), .resource = S("pods"), .namespace = S("ns1")};
    struct authz_attributes global = {.is_resource = true, .verb = S("delete"), .resource = S("pods")};
    printf("who can delete pods, %d bindings to %d roles\n", BINDINGS, ROLES);
    for (int all = 0; all < 2; all++) {
        struct authz_index *ix = authz_index_new();
        fill(ix, all);
        measure(ix, all ? "in a namespace, all bindings allow it" : "in a namespace, one role in 500 allows it",
                &local);
        measure(ix, all ? "in the cluster, all bindings allow it" : "in the cluster, one role in 500 allows it",
                &global);
        authz_index_free(ix);
    }
    return 0;
}
