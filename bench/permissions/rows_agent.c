/* SPDX-License-Identifier: Apache-2.0 */
/* A hub, a managed cluster and the agent between them: what the agent needs, and how soon roles follow a namespace. */
#include "rows.h"

#include "fleet.h"
#include "tally.h"

#include "client/config.h"
#include "net/loop.h"
#include "object/fleet.h"
#include "json/base64.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORKS = 20, SELECTORS = 100, NAMESPACES = 7, IDLE_SECONDS = 10 };

static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);
static const struct client_resource permissions = CLIENT_RESOURCE(FLEET_PERMISSIONS);
/* The last that is made for a cluster. */
static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);
static const struct client_resource roles = CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "roles", "Role", true);
static const struct client_resource bindings =
    CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true);

struct edge {
    struct server hub, managed;
    struct links *to_hub, *to_managed;
    struct tally *delivered; /* permissions, on the hub */
    struct helper agent;
};

/* ---- Setting it up. ---- */

static void make_cluster(struct edge *e)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct question q = fleet_make_cluster(&scratch, 0);
    struct tally *made = tally_open(&e->hub, &leases, S("metadata.name=" FLEET_LEASE), NULL);
    links_ask(e->to_hub, &scratch, &q);
    tally_wait(made, 1);
    tally_close(made);
}

/* A kubeconfig with the token of the agent's ServiceAccount. */
static char *write_join(struct edge *e)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct client_config hub;
    struct client_config_args args = {.kubeconfig = str_fmt(&scratch, "%s/kubeconfig", e->hub.dir),
                                      .env = (const char *const *)environ};
    bench_must(client_config_load(&scratch, &args, &hub, &err) == 0, err.msg);
    char *path = str_cstr(&e->hub.arena, str_fmt(&scratch, "%s/join", e->hub.dir));
    FILE *file = fopen(path, "we");
    bench_must(file != NULL, path);
    (void)fprintf(file,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"hub\",\"clusters\":[{\"name\":"
                  "\"hub\",\"cluster\":{\"server\":\"%.*s\",\"certificate-authority-data\":\"%.*s\"}}],\"users\":[{"
                  "\"name\":\"agent\",\"user\":{\"token\":\"%.*s\"}}],\"contexts\":[{\"name\":\"hub\",\"context\":{"
                  "\"cluster\":\"hub\",\"user\":\"agent\",\"namespace\":\"%.*s\"}}]}\n",
                  STR(hub.server), STR(base64_encode(&scratch, hub.ca_pem)), STR(fleet_token(e->to_hub, &scratch, 0)),
                  STR(fleet_cluster(&scratch, 0)));
    bench_must(fclose(file) == 0, path);
    return path;
}

static void make_namespace(struct edge *e, str name, str label)
{
    struct arena scratch ARENA_SCOPE = {0};
    links_ask(e->to_managed, &scratch,
              &(struct question){.method = S("POST"),
                                 .target = S("/api/v1/namespaces"),
                                 .body = str_fmt(&scratch,
                                                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                                                 "\"%.*s\",\"labels\":{\"%.*s\":\"true\"}}}",
                                                 STR(name), STR(label))});
}

static void set_up(struct edge *e, const char *binary)
{
    struct arena scratch ARENA_SCOPE = {0};
    server_init(&e->hub, binary);
    server_init(&e->managed, binary);
    server_start(&e->hub);
    server_start(&e->managed);
    e->to_hub = links_open(&e->hub, 1, true);
    e->to_managed = links_open(&e->managed, 1, true);
    make_cluster(e);
    const char *words[] = {"agent",
                           "--cluster",
                           str_cstr(&scratch, fleet_cluster(&scratch, 0)),
                           "--hub-kubeconfig",
                           write_join(e),
                           "--listen",
                           "127.0.0.1:0",
                           NULL};
    struct tally *available = tally_open(&e->hub, &clusters, (str){0}, fleet_is_available);
    e->agent = helper_start(&e->managed, words);
    tally_wait(available, 1); /* from then on it selects namespaces itself */
    tally_close(available);
    e->delivered = tally_open(&e->hub, &permissions, (str){0}, fleet_is_delivered);
}

static void tear_down(struct edge *e)
{
    tally_close(e->delivered);
    helper_stop(&e->agent);
    links_close(e->to_hub);
    links_close(e->to_managed);
    server_done(&e->managed);
    server_done(&e->hub);
}

/* ---- What is measured. ---- */

static void print_memory(const struct edge *e, const char *what, const char *target)
{
    struct server_memory memory = helper_memory(&e->agent);
    row_print(what, (memory.anon + memory.file) / 1e6, "MB", target);
    row_print("  of its own", memory.anon / 1e6, "MB", "");
}

static void rest(time_t seconds)
{
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
}

static void deliver(struct edge *e)
{
    struct arena scratch ARENA_SCOPE = {0};
    for (size_t i = 0; i < WORKS; i++)
        make_namespace(e, fleet_team(&scratch, i), fleet_team(&scratch, i));
    for (size_t i = 0; i < WORKS; i++) {
        struct question q = fleet_make_permission(&scratch, 0, i);
        links_ask(e->to_hub, &scratch, &q);
    }
    tally_wait(e->delivered, WORKS);
    rest(1);
    print_memory(e, "reeve agent with 20 works, resident", "(< 12)");
    double cpu = helper_cpu(&e->agent);
    rest(IDLE_SECONDS);
    row_print("  of a core, when there is nothing to do", (helper_cpu(&e->agent) - cpu) / IDLE_SECONDS * 100, "%", "");
}

static void change(struct edge *e)
{
    double took[NAMESPACES];
    for (size_t i = 0; i < NAMESPACES; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct question q = fleet_change_permission(&scratch, 0, i, i);
        double start = bench_now();
        links_ask(e->to_hub, &scratch, &q);
        tally_wait_for(e->delivered, fleet_cluster(&scratch, 0), fleet_team(&scratch, i), 2);
        took[i] = (bench_now() - start) * 1e3;
    }
    row_print("one permission changed, until it says that it is delivered", bench_median(took, NAMESPACES), "ms",
              "(< 100)");
}

static void select_namespaces(struct edge *e)
{
    double all_roles[NAMESPACES], all_bindings[NAMESPACES];
    struct arena scratch ARENA_SCOPE = {0};
    for (size_t i = 0; i < SELECTORS; i++) {
        struct question q = fleet_make_selector(&scratch, 0, WORKS + i, S("selected"));
        links_ask(e->to_hub, &scratch, &q);
    }
    tally_wait(e->delivered, WORKS + SELECTORS);
    for (size_t i = 0; i < NAMESPACES; i++) {
        str name = str_fmt(&scratch, "selected-%zu", i),
            field = str_fmt(&scratch, "metadata.namespace=%.*s", STR(name));
        struct tally *made = tally_open(&e->managed, &roles, field, NULL),
                     *bound = tally_open(&e->managed, &bindings, field, NULL);
        double start = bench_now();
        make_namespace(e, name, S("selected"));
        tally_wait(made, SELECTORS);
        all_roles[i] = (bench_now() - start) * 1e3;
        tally_wait(bound, SELECTORS);
        all_bindings[i] = (bench_now() - start) * 1e3;
        tally_close(made);
        tally_close(bound);
    }
    row_print("a namespace that 100 permissions select, until their roles are", bench_median(all_roles, NAMESPACES),
              "ms", "(< 500)");
    row_print("  and the bindings to them", bench_median(all_bindings, NAMESPACES), "ms", "(< 500)");
    print_memory(e, "reeve agent with 120 works and 1,480 objects, resident", "");
}

void rows_agent(const char *binary)
{
    struct edge e;
    set_up(&e, binary);
    deliver(&e);
    change(&e);
    select_namespaces(&e);
    tear_down(&e);
}
