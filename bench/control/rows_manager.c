/* SPDX-License-Identifier: Apache-2.0 */
/* What reeve manager needs when there is nothing to do: all its controllers, beside a server with 10,000 objects of their kinds. */
#include "rows.h"

#include "../server/load.h"

#include <time.h>

enum { NAMESPACES = 1000, OWN_NAMESPACES = 4 /* of the server */, ROLES = 8000, AT_A_TIME = 16, IDLE_SECONDS = 20 };

static void make_namespace(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){.method = S("POST"),
                             .target = S("/api/v1/namespaces"),
                             .body = str_fmt(a, "{\"metadata\":{\"name\":\"team-%zu\"}}", i)};
}

static void make_role(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = (struct question){
        .method = S("POST"),
        .target = S("/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        .body = str_fmt(a,
                        "{\"metadata\":{\"name\":\"role-%zu\",\"labels\":{\"app\":\"bench\",\"part\":\"p%zu\"}},"
                        "\"rules\":[{\"apiGroups\":[\"g%zu.example.com\"],\"resources\":[\"things\",\"things/status\"],"
                        "\"verbs\":[\"get\",\"list\",\"watch\"]},{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],"
                        "\"verbs\":[\"get\",\"list\",\"watch\",\"create\",\"update\",\"patch\",\"delete\"]}]}",
                        i, i % 100, i)};
}

void rows_manager(const char *binary)
{
    static const char *const words[] = {"manager", "--controllers", "*", "--listen", "127.0.0.1:0", NULL};
    struct arena scratch ARENA_SCOPE = {0};
    struct server s;
    server_init(&s, binary);
    s.flag = "--no-controllers";
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    links_load(l, &(struct load){.make = make_namespace, .n = NAMESPACES, .at_a_time = AT_A_TIME});
    links_load(l, &(struct load){.make = make_role, .n = ROLES, .at_a_time = AT_A_TIME});
    struct helper manager = helper_start(&s, words);
    helper_said(&manager, &scratch, S("msg=acting"));
    /* The last namespace has all that a namespace starts with: then nothing is left to do. */
    links_watch(l, S("/api/v1/configmaps?watch=true&fieldSelector=metadata.name=kube-root-ca.crt"), 1);
    links_watch_more(l, NAMESPACES + OWN_NAMESPACES - 1);
    struct timespec settle = {.tv_sec = 3}, idle = {.tv_sec = IDLE_SECONDS};
    nanosleep(&settle, NULL);
    double cpu = helper_cpu(&manager);
    nanosleep(&idle, NULL);
    double busy = (helper_cpu(&manager) - cpu) / IDLE_SECONDS * 100;
    struct server_memory memory = helper_memory(&manager);
    helper_stop(&manager);
    links_close(l);
    server_done(&s);
    row_print("reeve manager, all controllers, idle beside 11,000 objects", (memory.anon + memory.file) / 1e6, "MB",
              "(< 60)");
    row_print("  of its own", memory.anon / 1e6, "MB", "");
    row_print("  of a core", busy, "%", "(< 1)");
}
