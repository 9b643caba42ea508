/* SPDX-License-Identifier: Apache-2.0 */
/*
 * who-can and why read all roles and bindings that may matter. Two servers with 50,000 bindings to 200 roles, each binding with a
 * user of its own and one of 2,000 groups:
 *
 *   mixed   a tenth of them ClusterRoleBindings, the others RoleBindings in 1,000 namespaces
 *   wide    all of them ClusterRoleBindings: every question is about all of them
 */
#include "rows.h"

#include "run.h"

#include "../server/load.h"

#include <stdio.h>

enum { BINDINGS = 50000, NAMESPACES = 1000, ROLES = 200, GROUPS = 2000, LINKS = 8, TIMES = 9 };

#define RBAC "/apis/rbac.authorization.k8s.io/v1"
#define RBAC_VERSION "\"apiVersion\":\"rbac.authorization.k8s.io/v1\""

/* ---- What is on the servers. ---- */

static void make_namespace(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    ret->method = S("POST");
    ret->target = S("/api/v1/namespaces");
    ret->body = str_fmt(a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team-%04zu\"}}", i);
}

/* Every role lets people read configmaps, every tenth of them pods. */
static void make_role(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    ret->method = S("POST");
    ret->target = S(RBAC "/clusterroles");
    ret->body =
        str_fmt(a,
                "{" RBAC_VERSION ",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"role-%03zu\"},\"rules\":["
                "{\"apiGroups\":[\"g%zu.example.com\"],\"resources\":[\"things\"],\"verbs\":[\"get\",\"list\"]},"
                "{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"%s],\"verbs\":[\"get\"]}]}",
                i, i, i % 10 == 1 ? ",\"pods\"" : "");
}

static void make_binding(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    bool is_wide = *(const bool *)ctx || i % 10 == 0;
    str namespace = is_wide ? (str){0} : str_fmt(a, "team-%04zu", i % NAMESPACES);
    ret->method = S("POST");
    ret->target =
        is_wide ? S(RBAC "/clusterrolebindings") : str_fmt(a, RBAC "/namespaces/%.*s/rolebindings", STR(namespace));
    ret->body =
        str_fmt(a,
                "{" RBAC_VERSION ",\"kind\":\"%s\",\"metadata\":{\"name\":\"binding-%05zu\"},\"roleRef\":{\"apiGroup\":"
                "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"role-%03zu\"},\"subjects\":["
                "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"user-%05zu\"},"
                "{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\",\"name\":\"group-%04zu\"}]}",
                is_wide ? "ClusterRoleBinding" : "RoleBinding", i, i % ROLES, i, i % GROUPS);
}

static void fill(struct server *s, bool is_wide)
{
    struct links *l = links_open(s, LINKS, true);
    links_load(l, &(struct load){make_namespace, NULL, 0, NAMESPACES, 8});
    links_load(l, &(struct load){make_role, NULL, 0, ROLES, 8});
    links_load(l, &(struct load){make_binding, &is_wide, 0, BINDINGS, 8});
    links_close(l);
}

/* ---- Questions. ---- */

struct row {
    const char *what;
    const char *words[10];
    int code;
};

/* user-00001 is bound to role-001, in team-0001 on the mixed server. */
static const struct row mixed[] = {
    {"mixed: who-can get pods -n team-0001", {"who-can", "get", "pods", "-n", "team-0001"}, 0},
    {"mixed: who-can get pods -A", {"who-can", "get", "pods", "-A"}, 0},
    {"mixed: why, yes", {"why", "user-00001", "get", "configmaps", "-n", "team-0001"}, 0},
    {"mixed: why, no: near misses in all namespaces", {"why", "user-00001", "get", "configmaps", "-n", "team-0002"}, 1},
};
static const struct row wide[] = {
    {"wide: who-can get pods", {"who-can", "get", "pods", "-q"}, 0},
    {"wide: who-can get configmaps: all 50,000 bindings are listed", {"who-can", "get", "configmaps", "-q"}, 0},
    {"wide: why, yes", {"why", "user-00001", "get", "configmaps"}, 0},
    {"wide: why, no", {"why", "user-00001", "delete", "configmaps"}, 1},
};

static void ask(const struct server *s, const struct row *row)
{
    struct run_cost cost = run_command(s->binary, s, &(struct run){row->words, row->code, TIMES});
    row_print(row->what, cost.seconds * 1e3, "ms", "(< 300)");
    row_print("  most memory", cost.peak / 1e6, "MB", "(< 100)");
    row_print("  CPU of the client", cost.cpu * 1e3, "ms", "");
    row_print("  output", (double)cost.bytes / 1e3, "kB", "");
}

static void measure(const char *binary, bool is_wide, const struct row *rows, size_t n)
{
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    fill(&s, is_wide);
    for (size_t i = 0; i < n; i++)
        ask(&s, &rows[i]);
    server_done(&s);
}

void rows_rights(const char *binary)
{
    printf("50,000 bindings, median of %d\n", TIMES);
    measure(binary, false, mixed, COUNT(mixed));
    measure(binary, true, wide, COUNT(wide));
}
