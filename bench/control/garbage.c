/* SPDX-License-Identifier: Apache-2.0 */
/* What the graph of owners takes in memory and time, and how fast what an owner owns follows it. Prints a table. */
#include "stage.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controllers/garbage/garbage_graph.h"

/* ---- The graph alone. ---- */

enum { NODES = 100000, PARTS = 10 }; /* every tenth object owns the nine that follow */

static void on_uid(void *ctx, str uid)
{
    (void)uid;
    ++*(size_t *)ctx;
}

static void on_absent(void *ctx, const struct graph_id *id)
{
    (void)ctx;
    (void)id;
}

static void on_misplaced(void *ctx, const struct graph_id *dependent, const struct graph_reference *owner)
{
    (void)ctx;
    (void)dependent;
    (void)owner;
}

/* As long as those of the pods of a deployment: 36 and 30 letters. */
struct texts {
    char uid[40], name[40];
};

static void fill(struct texts *t, size_t i)
{
    (void)snprintf(t->uid, sizeof t->uid, "%08zx-1111-4222-8333-444444444444", i * 2654435761U % 4294967296U);
    (void)snprintf(t->name, sizeof t->name, "frontend-7c9d8b6f54-%010zu", i);
}

static void put(struct graph *g, size_t i)
{
    struct texts own, owners;
    fill(&own, i);
    fill(&owners, i - i % PARTS);
    struct graph_reference owner = {S("apps/v1"), S("ReplicaSet"), str_of(owners.name), str_of(owners.uid), true};
    bool is_owner = i % PARTS == 0;
    graph_put(g, &(struct graph_object){.id = {is_owner ? S("apps/v1") : S("v1"), is_owner ? S("ReplicaSet") : S("Pod"),
                                               S("production"), str_of(own.name), str_of(own.uid)},
                                        .owners = &owner,
                                        .n_owners = !is_owner});
}

static size_t heap_used(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void measure_graph(void)
{
    size_t visits = 0, before = heap_used();
    struct graph *g = graph_new(&(struct graph_sink){on_uid, on_uid, on_absent, on_misplaced, &visits});
    double begin = stage_now();
    for (size_t i = 0; i < NODES; i++)
        put(g, i);
    double filled = stage_now();
    printf("%-58s %9.0f bytes\n", "graph: memory of an object with one owner", (double)(heap_used() - before) / NODES);
    for (size_t i = 0; i < NODES; i++)
        put(g, i);
    double same = stage_now();
    for (size_t i = 0; i < NODES; i++) {
        struct texts t;
        fill(&t, i);
        graph_remove(g, str_of(t.uid));
    }
    double emptied = stage_now();
    printf("%-58s %9.2f us\n", "graph: an object comes", (filled - begin) * 1e3 / NODES);
    printf("%-58s %9.2f us\n", "graph: an object changes, its owners do not", (same - filled) * 1e3 / NODES);
    printf("%-58s %9.2f us\n", "graph: an object goes", (emptied - same) * 1e3 / NODES);
    graph_free(g);
}

/* ---- The collector. ---- */

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* "uid":"…" of the last answer. */
static str uid_of_answer(struct stage *s)
{
    str text = stage_answer(s);
    ptrdiff_t at = str_find(text, S("\"uid\":\""));
    must(at >= 0, "reading a uid");
    return str_upto(str_from(text, (size_t)at + 7), 36);
}

static bool is_part_gone(struct stage *s, void *ctx)
{
    return stage_ask(s, "GET", ctx, NULL) == 404;
}

/* To be asked when most have gone: a list counts what is left. */
static bool is_empty(struct stage *s, void *ctx)
{
    (void)ctx;
    stage_ask(s, "GET", "/api/v1/namespaces/default/secrets?limit=1", NULL);
    return str_find(stage_answer(s), S("\"creationTimestamp\":")) < 0;
}

static bool is_owner_gone(struct stage *s, void *ctx)
{
    (void)ctx;
    return stage_ask(s, "GET", "/api/v1/namespaces/default/configmaps/owner", NULL) == 404;
}

static double cpu_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void cascade(struct stage *s, const char *policy, size_t n)
{
    char body[512], uid[40], label[64];
    bool orphans = strcmp(policy, "Orphan") == 0;
    must(stage_ask(s, "POST", "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"owner\"}}") == 201,
         "POST");
    (void)snprintf(uid, sizeof uid, "%.*s", STR(uid_of_answer(s)));
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(body, sizeof body,
                       "{\"metadata\":{\"name\":\"part-%zu\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
                       "\"ConfigMap\",\"name\":\"owner\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
                       i, uid);
        stage_send(s, "POST", "/api/v1/namespaces/default/secrets", body);
    }
    stage_flush(s);
    (void)snprintf(body, sizeof body, "{\"propagationPolicy\":\"%s\"}", policy);
    double begin = stage_now(), cpu = cpu_now();
    int status = stage_ask(s, "DELETE", "/api/v1/namespaces/default/configmaps/owner", body);
    must(status == 200 || status == 202, "DELETE");
    stage_wait(s, is_owner_gone, NULL);
    if (!orphans) { /* who orphans goes when all are free */
        (void)snprintf(body, sizeof body, "/api/v1/namespaces/default/secrets/part-%zu", n - 1);
        stage_wait(s, is_part_gone, body);
        stage_wait(s, is_empty, NULL);
    }
    double took = stage_now() - begin;
    (void)snprintf(label, sizeof label, "%s: an owner of %zu", policy, n);
    printf("%-58s %9.1f ms %9.1f ms CPU %9.0f /s\n", label, took, cpu_now() - cpu, (double)n / took * 1e3);
    if (orphans) {
        must(stage_ask(s, "DELETE", "/api/v1/namespaces/default/secrets", NULL) == 200, "DELETE");
        stage_wait(s, is_empty, NULL);
    }
}

int main(void)
{
    measure_graph();
    struct stage *s = stage_open("garbage");
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    for (size_t i = 0; i < COUNT(policies); i++) {
        cascade(s, policies[i], 1000);
        cascade(s, policies[i], 10000);
    }
    stage_close(s);
    return 0;
}
