/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   options ─► configuration ─► service ─► act: a client of this cluster, and the way to the hub (agent_hub.h)
 *                                            │ found
 *                                            └─► a client of the hub, and the duties on both (agent_duties.h)
 */
#include "agent/agent.h"

#include "agent/agent_duties.h"
#include "agent/agent_hub.h"
#include "agent/agent_options.h"
#include "agent/agent_rights.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "client/https.h"
#include "control/service.h"
#include "object/fleet.h"

#include <stdio.h>
#include <unistd.h>

enum { CA_BYTES = 1024 * 1024 };

struct agent {
    struct arena arena;
    struct agent_options options;
    struct client_config config; /* of the managed cluster */
    str ca_pem;
    struct log log;
    /* While it acts. */
    struct service *service;
    struct client *managed;
    struct client *hub; /* NULL: not found yet */
    struct transport *hub_transport;
    struct hub *way;
    bool is_halted;
};

/* ---- Acting. ---- */

static int begin_duties(struct agent *g, const struct client_config *hub, struct err *err)
{
    int code = service_client(g->service, hub, &g->hub, &g->hub_transport, err);
    if (code < 0)
        return err_wrap(err, "use the join kubeconfig");
    hub_use(g->way, g->hub);
    struct duties_options options = {
        .control = service_control(g->service),
        .loop = service_loop(g->service),
        .random = service_random(g->service),
        .log = &g->log,
        .hub = g->hub,
        .managed = g->managed,
        .cluster = g->options.cluster,
        .hub_url = hub->server,
        .ca_pem = g->ca_pem,
        .account_namespace = g->options.account_namespace,
        .version = S(REEVE_VERSION),
        .eviction_ns = g->options.eviction_ns,
        .has_works = g->options.has_works,
        .has_accounts = g->options.has_accounts,
    };
    return duties_add(&options, err);
}

static void on_found(void *ctx, const struct client_config *hub)
{
    struct agent *g = ctx;
    struct err err = {0};
    if (g->is_halted)
        return;
    log_line(&g->log, LOG_INFO, "found the hub", LOG_STR("server", hub->server),
             LOG_STR("cluster", g->options.cluster));
    if (begin_duties(g, hub, &err) < 0)
        service_fail(g->service, &err);
}

static void on_changed(void *ctx)
{
    struct agent *g = ctx;
    if (g->is_halted)
        return;
    log_line(&g->log, LOG_INFO, "the join kubeconfig has changed: beginning again");
    service_renew(g->service);
}

static void on_renewed(void *ctx, str token)
{
    struct agent *g = ctx;
    struct err err = {0};
    if (!g->is_halted && https_set_token(g->hub_transport, token, &err) < 0)
        log_line(&g->log, LOG_ERROR, "cannot use the new token for the hub", LOG_STR("error", str_of(err.msg)));
}

static int act(void *ctx, struct service *s, struct err *err)
{
    struct agent *g = ctx;
    g->is_halted = false;
    g->service = s;
    int code = service_client(s, &g->config, &g->managed, NULL, err);
    if (code < 0)
        return code;
    struct hub_options options = {
        .control = service_control(s),
        .loop = service_loop(s),
        .clock = clock_system,
        .log = &g->log,
        .managed = g->managed,
        .source = {.file = g->options.hub_kubeconfig,
                   .namespace = g->options.secret_namespace,
                   .name = g->options.secret_name,
                   .managed = g->managed},
        .cluster = g->options.cluster,
        .has_works = g->options.has_works,
        .found = on_found,
        .changed = on_changed,
        .renewed = on_renewed,
        .ctx = g,
    };
    g->way = hub_add(&options);
    return 0;
}

static void halt(void *ctx)
{
    struct agent *g = ctx;
    g->is_halted = true;
    if (g->way)
        hub_end(g->way);
    if (g->managed)
        client_stop(g->managed);
    if (g->hub)
        client_stop(g->hub);
}

static void rest(void *ctx)
{
    struct agent *g = ctx;
    client_free(g->hub);
    client_free(g->managed);
    g->hub = g->managed = NULL;
    g->way = NULL;
}

static bool is_ready(void *ctx, str *ret_why)
{
    struct agent *g = ctx;
    return hub_is_well(g->way, ret_why);
}

/* ---- From the beginning to the end. ---- */

static int configure(struct agent *g, struct err *err)
{
    struct client_config_args args = {
        .kubeconfig = g->options.kubeconfig, .context = g->options.context, .env = (const char *const *)environ};
    int code = client_config_load(&g->arena, &args, &g->config, err);
    g->ca_pem = g->config.ca_pem;
    if (code == 0 && g->config.ca_file.n)
        code = file_read(&g->arena, g->config.ca_file, FILE_ANY, CA_BYTES, &g->ca_pem, err);
    bool is_in_pod = g->config.user.n == 0 && g->config.context.n == 0;
    if (g->options.lease_namespace.n == 0)
        g->options.lease_namespace = is_in_pod ? g->config.namespace : S("kube-system");
    if (code < 0)
        return err_wrap(err, "find this cluster");
    /* A Secret may come later; a file that is not there, or makes no sense, will not get better. */
    struct hub_credential credential;
    struct hub_source source = {.file = g->options.hub_kubeconfig};
    if (source.file.n == 0)
        return 0;
    code = hub_credential_read(&g->arena, &source, &credential, err);
    return code == 0 ? hub_credential_check(&credential, g->options.cluster, err) : code;
}

static int run(struct agent *g, struct err *err)
{
    int code = configure(g, err);
    struct service_options options = {
        .version = S(REEVE_VERSION),
        .log = &g->log,
        .host = g->options.listen.host,
        .port = g->options.listen.port,
        .config = &g->config,
        .no_election = !g->options.has_election,
        .lease_namespace = g->options.lease_namespace,
        .lease_name = S(FLEET_AGENT),
        .act = act,
        .halt = halt,
        .rest = rest,
        .is_ready = is_ready,
        .ctx = g,
    };
    return code < 0 ? code : service_run(&options, err);
}

static int serve(struct agent *g)
{
    struct err err = {0};
    g->log = log_to_stderr(g->options.level);
    int code = run(g, &err);
    if (code < 0)
        term_complain("agent", "%s", err.msg);
    return code < 0 ? CLI_FAILED : CLI_OK;
}

static int print_rbac(const struct agent_options *o)
{
    struct buf text = {0};
    agent_rights_print(&text, o);
    (void)fwrite(text.p, 1, text.n, stdout);
    buf_done(&text);
    return CLI_OK;
}

int agent_run(int argc, char **argv)
{
    struct agent g = {0};
    struct err err = {0};
    int code = agent_options_read(&g.arena, argc, argv, &g.options, &err);
    int exit_code = CLI_OK;
    if (code < 0)
        exit_code = flags_refuse("agent", &err);
    else if (code == 0)
        exit_code = g.options.is_print_rbac ? print_rbac(&g.options) : serve(&g);
    arena_done(&g.arena);
    return exit_code;
}
