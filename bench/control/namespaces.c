/* SPDX-License-Identifier: Apache-2.0 */
/* How long namespaces take to go, and to get what each of them has. Prints a table. */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Wall time and CPU time of all threads: on a machine that does other things as well the second one tells more. */
struct meter {
    double wall, cpu;
};

static struct meter now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (struct meter){stage_now(), (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6};
}

static void report(const char *what, struct meter begin)
{
    struct meter end = now();
    printf("%-58s %9.1f ms %9.1f ms CPU\n", what, end.wall - begin.wall, end.cpu - begin.cpu);
}

static bool is_gone(struct stage *s, void *name)
{
    char target[128];
    snprintf(target, sizeof target, "/api/v1/namespaces/%s", (const char *)name);
    return stage_ask(s, "GET", target, NULL) == 404;
}

static void make_namespace(struct stage *s, const char *name)
{
    char body[128];
    snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", name);
    stage_send(s, "POST", "/api/v1/namespaces", body);
}

/* A namespace full of ConfigMaps with 100 bytes each. */
static void delete_full(struct stage *s, const char *label, int n)
{
    char target[128], body[256];
    snprintf(target, sizeof target, "/api/v1/namespaces/full/configmaps");
    make_namespace(s, "full");
    stage_flush(s);
    for (int i = 0; i < n; i++) {
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"c%d\"},\"data\":{\"k\":\"%0100d\"}}", i, i);
        stage_send(s, "POST", target, body);
    }
    stage_flush(s);
    struct meter begin = now();
    stage_ask(s, "DELETE", "/api/v1/namespaces/full", NULL);
    stage_wait(s, is_gone, (void *)"full");
    report(label, begin);
}

/* ---- Many namespaces. ---- */

struct count {
    const char *target;
    size_t want;
};

static bool has_count(struct stage *s, void *ctx)
{
    struct count *c = ctx;
    stage_ask(s, "GET", c->target, NULL);
    size_t n = 0;
    for (str text = stage_answer(s); text.n;) {
        ptrdiff_t at = str_find(text, S("\"uid\":"));
        if (at < 0)
            break;
        n++;
        text = str_from(text, (size_t)at + 1);
    }
    return n == c->want;
}

static void many(struct stage *s)
{
    enum { N = 500 };
    char name[64];
    struct meter begin = now();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "n%d", i);
        make_namespace(s, name);
    }
    stage_flush(s);
    report("500 namespaces created", begin);
    struct count accounts = {"/api/v1/serviceaccounts", (size_t)N + 4};
    struct count maps = {"/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt", (size_t)N + 4};
    stage_wait(s, has_count, &accounts);
    stage_wait(s, has_count, &maps);
    report("  until all have ServiceAccount and kube-root-ca.crt", begin);
    begin = now();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "/api/v1/namespaces/n%d", i);
        stage_send(s, "DELETE", name, NULL);
    }
    stage_flush(s);
    struct count left = {"/api/v1/namespaces", 4};
    stage_wait(s, has_count, &left);
    report("500 namespaces deleted until all are gone", begin);
}

/* ---- Many kinds. ---- */

static void make_crds(struct stage *s, int n)
{
    char body[1024];
    for (int i = 0; i < n; i++) {
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"k%ds.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":"
                 "\"Namespaced\",\"names\":{\"plural\":\"k%ds\",\"singular\":\"k%d\",\"kind\":\"K%d\",\"listKind\":"
                 "\"K%dList\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":"
                 "{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
                 i, i, i, i, i);
        stage_send(s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body);
    }
    stage_flush(s);
}

static bool is_served(struct stage *s, void *target)
{
    return stage_ask(s, "GET", target, NULL) == 200;
}

int main(void)
{
    struct stage *s = stage_open("namespaces");
    delete_full(s, "an empty namespace deleted", 0);
    delete_full(s, "a namespace with 500 ConfigMaps deleted", 500);
    delete_full(s, "a namespace with 1,000 ConfigMaps deleted", 1000);
    delete_full(s, "a namespace with 10,000 ConfigMaps deleted", 10000);
    many(s);
    make_crds(s, 500);
    stage_wait(s, is_served, (void *)"/apis/example.com/v1/k499s");
    delete_full(s, "with 500 CRDs: an empty namespace deleted", 0);
    delete_full(s, "with 500 CRDs: one with 1,000 ConfigMaps deleted", 1000);
    stage_close(s);
    return 0;
}
