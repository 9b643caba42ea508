/* SPDX-License-Identifier: Apache-2.0 */
#include "manager/manager.h"

#include "base/file.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "control/service.h"
#include "controllers/aggregation/aggregation.h"
#include "controllers/clusters/clusters.h"
#include "controllers/clusters/clusters_role.h"
#include "controllers/controllers.h"
#include "controllers/fleet_crds.h"
#include "controllers/rbac.h"
#include "controllers/root_ca.h"
#include "controllers/sources.h"
#include "manager/manager_options.h"
#include "package/crds.h"

#include <stdio.h>
#include <unistd.h>

enum { CA_BYTES = 1024 * 1024 };

struct manager {
    struct arena arena;
    struct manager_options options;
    struct client_config config;
    struct log log;
    struct root_ca *root_ca;
    struct client *client; /* NULL while nothing acts */
    struct fetcher *fetcher;
};

/* ---- Acting. ---- */

/* Only installs need one, and a place to write to. */
static int open_fetcher(struct manager *m, struct err *err)
{
    for (size_t i = 0; i < m->options.n_rows; i++) {
        if (strcmp(m->options.rows[i]->name, "installs") == 0)
            return package_sources_open(&m->options.packages, &m->log, &m->fetcher, err);
    }
    return 0;
}

static int add_controllers(struct manager *m, struct service *s, struct err *err)
{
    struct controller_env env = {.control = service_control(s),
                                 .loop = service_loop(s),
                                 .clock = clock_system,
                                 .client = m->client,
                                 .reader = m->client,
                                 .root_ca = m->root_ca,
                                 .fetcher = m->fetcher,
                                 .pass_full_deployment = m->options.packages.pass_full_deployment,
                                 .namespaced_groups = m->options.packages.namespaced_groups,
                                 .requires_approval = m->options.requires_approval,
                                 .allows_cluster_dependencies = m->options.allows_cluster_dependencies,
                                 .no_crd_view = m->options.no_crd_view};
    for (size_t i = 0; i < m->options.n_rows; i++)
        env.has_aggregation |= m->options.rows[i] == &aggregation_row;
    for (size_t i = 0; i < m->options.n_rows; i++) {
        int code = m->options.rows[i]->add(&env, err);
        if (code < 0)
            return err_wrap(err, "start the controller %s", m->options.rows[i]->name);
    }
    return 0;
}

static int act(void *ctx, struct service *s, struct err *err)
{
    struct manager *m = ctx;
    int code = service_client(s, &m->config, &m->client, NULL, err);
    if (code == 0)
        code = open_fetcher(m, err);
    return code == 0 ? add_controllers(m, s, err) : code;
}

static void halt(void *ctx)
{
    struct manager *m = ctx;
    if (m->fetcher)
        fetcher_stop(m->fetcher);
    if (m->client)
        client_stop(m->client);
}

static void rest(void *ctx)
{
    struct manager *m = ctx;
    fetcher_free(m->fetcher);
    client_free(m->client);
    m->fetcher = NULL;
    m->client = NULL;
}

/* ---- From the beginning to the end. ---- */

/* What kube-root-ca.crt is going to say. */
static int find_root_ca(struct manager *m, struct err *err)
{
    str pem = m->config.ca_pem;
    int code = 0;
    str file = m->options.root_ca_file ? str_of(m->options.root_ca_file) : m->config.ca_file;
    if (file.n)
        code = file_read(&m->arena, file, FILE_ANY, CA_BYTES, &pem, err);
    if (code == 0 && pem.n)
        m->root_ca = root_ca_new(pem);
    return code;
}

static int configure(struct manager *m, struct err *err)
{
    struct client_config_args args = {
        .kubeconfig = m->options.kubeconfig, .context = m->options.context, .env = (const char *const *)environ};
    int code = client_config_load(&m->arena, &args, &m->config, err);
    if (code == 0)
        code = find_root_ca(m, err);
    bool is_in_pod = m->config.user.n == 0 && m->config.context.n == 0;
    if (m->options.lease_namespace.n == 0)
        m->options.lease_namespace = is_in_pod ? m->config.namespace : S("kube-system");
    return code;
}

static int run(struct manager *m, struct err *err)
{
    const struct manager_options *o = &m->options;
    int code = configure(m, err);
    struct service_options options = {
        .version = S(REEVE_VERSION),
        .log = &m->log,
        .host = o->listen.host,
        .port = o->listen.port,
        .config = &m->config,
        .no_election = o->no_election,
        .lease_namespace = o->lease_namespace,
        .lease_name = o->lease_name,
        .lease_ns = o->lease_ns,
        .deadline_ns = o->deadline_ns,
        .retry_ns = o->retry_ns,
        .act = act,
        .halt = halt,
        .rest = rest,
        .ctx = m,
    };
    return code < 0 ? code : service_run(&options, err);
}

static int serve(struct manager *m)
{
    struct err err = {0};
    m->log = log_to_stderr(m->options.level);
    int code = run(m, &err);
    if (code < 0)
        term_complain("manager", "%s", err.msg);
    root_ca_free(m->root_ca);
    return code < 0 ? CLI_FAILED : CLI_OK;
}

/* A role with these rules, and the account bound to it. */
static void print_pair(struct buf *text, str namespace, str account_namespace, const struct json *rules)
{
    struct arena scratch ARENA_SCOPE = {0};
    str name = S("reeve-manager");
    struct rbac_names names = {.name = name, .namespace = namespace, .component = S("manager")};
    struct rbac_grant grant = {
        .role = name, .is_cluster_role = namespace.n == 0, .account_namespace = account_namespace, .account = name};
    struct json role = rbac_role(&scratch, &names, *rules), binding = rbac_binding(&scratch, &names, &grant);
    rbac_print(text, &role);
    rbac_print(text, &binding);
}

static bool has_clusters(const struct manager_options *o)
{
    for (size_t i = 0; i < o->n_rows; i++)
        if (o->rows[i] == &clusters_row)
            return true;
    return false;
}

static void print_rbac(const struct manager_options *o)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.arena = &scratch};
    struct json rules = json_arr(), lease = json_arr();
    str namespace = o->lease_namespace.n ? o->lease_namespace : S("reeve-system");
    for (size_t i = 0; i < o->n_rows; i++)
        rbac_add_rights(&scratch, &rules, o->rows[i]->rights);
    print_pair(&text, (str){0}, namespace, &rules);
    if (has_clusters(o)) { /* what it binds agents to */
        struct json agents = clusters_agent_role(&scratch);
        rbac_print(&text, &agents);
    }
    if (!o->no_election) {
        rbac_add_lease(&scratch, &lease, o->lease_name);
        print_pair(&text, namespace, namespace, &lease);
    }
    (void)fwrite(text.p, 1, text.n, stdout);
}

static void print_crds(void)
{
    for (size_t i = 0; i < package_crds_n; i++)
        (void)printf("---\n%.*s", STR(package_crds[i]));
    for (size_t i = 0; i < fleet_crds_n; i++)
        (void)printf("---\n%.*s", STR(fleet_crds[i]));
}

int manager_run(int argc, char **argv)
{
    struct manager m = {0};
    struct err err = {0};
    int code = manager_options_read(&m.arena, argc, argv, &m.options, &err);
    int exit_code = code < 0 ? flags_refuse("manager", &err) : CLI_OK;
    if (code == 0 && m.options.is_print_rbac)
        print_rbac(&m.options);
    else if (code == 0 && m.options.is_print_crds)
        print_crds();
    else if (code == 0)
        exit_code = serve(&m);
    arena_done(&m.arena);
    return exit_code;
}
