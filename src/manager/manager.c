/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   options ─► configuration ─► probes ─► campaign ──won──► act: a client and the controllers on it
 *                                            ▲                       │ lost, or told to end
 *                                            └─── everything that ◄──┘
 *                                                 acted is gone        told to end: give the lease back, end
 *
 * The campaign has a connection of its own, so that the controllers' can be cut off at once when the lease is lost.
 */
#include "manager/manager.h"

#include "cli/cli.h"
#include "client/config.h"
#include "client/https.h"
#include "control/election.h"
#include "controllers/controllers.h"
#include "controllers/fleet_crds.h"
#include "controllers/root_ca.h"
#include "controllers/sources.h"
#include "manager/options.h"
#include "manager/probes.h"
#include "manager/rbac.h"
#include "net/address.h"
#include "net/signals.h"
#include "package/crds.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CA_BYTES = 1024 * 1024, HOST_BYTES = 256 };

struct manager {
    struct arena arena;
    struct manager_options options;
    struct client_config config;
    struct log log;
    struct loop *loop;
    struct signals signals;
    struct probes *probes;
    struct random_pool random;
    struct root_ca *root_ca;
    struct client *campaigner; /* the election's */
    struct election *election;
    struct client *client; /* the controllers'; NULL while nothing acts */
    struct control *control;
    struct fetcher *fetcher;
    bool is_leader;   /* or there is no election */
    bool is_stopping; /* what acted is about to be gone */
    bool is_ending;
    int code; /* of the exit */
};

static void complain(const struct err *err)
{
    (void)fprintf(stderr, "reeve manager: %s\n", err->msg);
}

static void end(struct manager *m, int code)
{
    m->code = code;
    loop_stop(m->loop);
}

/* ---- Acting. ---- */

static int make_client(struct manager *m, struct client **ret, struct err *err)
{
    struct transport *transport;
    struct https_options options = {
        .credentials = {.clock = clock_system, .env = (const char *const *)environ},
        .random = random_of_pool(&m->random),
        .version = S(REEVE_VERSION),
    };
    int code = https_new(m->loop, &m->config, &options, &transport, err);
    if (code == 0)
        *ret = client_new(&(struct client_options){m->loop, transport, random_of_pool(&m->random)});
    return code;
}

/* Only installs need one, and a place to write to. */
static int open_fetcher(struct manager *m, struct err *err)
{
    for (size_t i = 0; i < m->options.n_rows; i++) {
        if (strcmp(m->options.rows[i]->name, "installs") == 0)
            return package_sources_open(&m->options.packages, &m->log, &m->fetcher, err);
    }
    return 0;
}

static int add_controllers(struct manager *m, struct err *err)
{
    struct controller_env env = {.control = m->control,
                                 .loop = m->loop,
                                 .clock = clock_system,
                                 .client = m->client,
                                 .reader = m->client,
                                 .root_ca = m->root_ca,
                                 .fetcher = m->fetcher,
                                 .pass_full_deployment = m->options.packages.pass_full_deployment};
    for (size_t i = 0; i < m->options.n_rows; i++) {
        int code = m->options.rows[i]->add(&env, err);
        if (code < 0)
            return err_wrap(err, "start the controller %s", m->options.rows[i]->name);
    }
    return 0;
}

static void act(struct manager *m)
{
    struct err err = {0};
    int code = make_client(m, &m->client, &err);
    if (code == 0) { /* who has a control has a client: a signal in this very turn stops both */
        m->control = control_new(&(struct control_options){m->loop, clock_system, random_of_pool(&m->random), &m->log});
        code = open_fetcher(m, &err);
    }
    if (code == 0)
        code = add_controllers(m, &err);
    if (code < 0) {
        complain(&err);
        end(m, CLI_FAILED);
        return;
    }
    log_line(&m->log, LOG_INFO, "acting");
    control_start(m->control);
}

static void on_released(void *ctx)
{
    end(ctx, CLI_OK);
}

static void let_go(struct manager *m)
{
    if (m->election)
        election_release(m->election, on_released, m);
    else
        end(m, CLI_OK);
}

static void on_stopped(void *ctx)
{
    struct manager *m = ctx;
    control_free(m->control);
    fetcher_free(m->fetcher);
    client_free(m->client);
    m->control = NULL;
    m->fetcher = NULL;
    m->client = NULL;
    m->is_stopping = false;
    if (m->is_ending)
        let_go(m);
    else if (m->is_leader)
        act(m);
}

/* From this moment on nothing of ours reaches the server. */
static void stop_acting(struct manager *m)
{
    if (!m->control || m->is_stopping)
        return;
    m->is_stopping = true;
    control_stop(m->control, on_stopped, m);
    if (m->fetcher)
        fetcher_stop(m->fetcher);
    client_stop(m->client);
}

/* ---- The campaign. ---- */

static void on_won(void *ctx)
{
    struct manager *m = ctx;
    m->is_leader = true;
    if (!m->control && !m->is_ending)
        act(m);
}

static void on_lost(void *ctx)
{
    struct manager *m = ctx;
    m->is_leader = false;
    stop_acting(m);
}

/* One of a kind, and tells people where it runs. */
static str make_identity(struct manager *m)
{
    char host[HOST_BYTES] = "";
    struct random random = random_of_pool(&m->random);
    if (gethostname(host, sizeof host - 1) < 0 || !host[0])
        memcpy(host, "reeve", sizeof "reeve");
    return str_fmt(&m->arena, "%s_%016llx", host, (unsigned long long)random_uint64(&random));
}

static int campaign(struct manager *m, struct err *err)
{
    if (m->options.no_election) {
        on_won(m);
        return 0;
    }
    int code = make_client(m, &m->campaigner, err);
    if (code < 0)
        return code;
    struct election_options options = {
        .loop = m->loop,
        .client = m->campaigner,
        .clock = clock_system,
        .random = random_of_pool(&m->random),
        .log = &m->log,
        .namespace = m->options.lease_namespace,
        .name = m->options.lease_name,
        .identity = make_identity(m),
        .lease_ns = m->options.lease_ns,
        .deadline_ns = m->options.deadline_ns,
        .retry_ns = m->options.retry_ns,
        .won = on_won,
        .lost = on_lost,
        .ctx = m,
    };
    return election_new(&options, &m->election, err);
}

/* ---- Probes. ---- */

/* One that waits for its turn is ready to take over; one that acts has to know what there is first. */
static bool is_ready(void *ctx, str *ret_why)
{
    struct manager *m = ctx;
    if (m->is_ending || m->is_stopping)
        *ret_why = S("stopping");
    else if (m->control && !control_is_synced(m->control))
        *ret_why = S("the caches are not complete yet");
    else if (!m->control && m->election && election_leader(m->election).n == 0)
        *ret_why = S("it is not known yet who leads");
    else
        return true;
    return false;
}

static void write_metrics(void *ctx, struct buf *b)
{
    struct manager *m = ctx;
    if (m->election)
        election_metrics_write(m->election, b);
    if (m->control)
        control_metrics_write(m->control, b);
}

static int open_probes(struct manager *m, struct err *err)
{
    struct probes_options options = {m->loop, m->options.host, m->options.port, is_ready, write_metrics, m};
    int code = probes_open(&options, &m->probes, err);
    if (code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT,
                       "port %u is taken: choose another with --listen HOST:PORT, port 0 is any free one",
                       m->options.port);
    if (code == 0)
        log_line(&m->log, LOG_INFO, "listening",
                 LOG_STR("address", address_format(&m->arena, m->options.host, probes_port(m->probes))));
    return code;
}

/* ---- From the beginning to the end. ---- */

static void on_signal(void *ctx, int number)
{
    struct manager *m = ctx;
    if (m->is_ending)
        _exit(128 + number);
    m->is_ending = true;
    log_line(&m->log, LOG_INFO, "ending", LOG_INT("signal", number));
    if (m->control)
        stop_acting(m);
    else
        let_go(m);
}

static int read_file(struct manager *m, const char *path, str *ret, struct err *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(err, ERR_IO, "open %s: %m", path);
    char *text = arena_alloc(&m->arena, CA_BYTES);
    size_t n = fread(text, 1, CA_BYTES, file);
    bool is_bad = ferror(file) || n == CA_BYTES;
    (void)fclose(file);
    if (is_bad)
        return err_set(err, ERR_IO, "%s cannot be read, or is larger than a megabyte", path);
    *ret = (str){text, n};
    return 0;
}

/* What kube-root-ca.crt is going to say. */
static int find_root_ca(struct manager *m, struct err *err)
{
    str pem = m->config.ca_pem;
    int code = 0;
    if (m->options.root_ca_file)
        code = read_file(m, m->options.root_ca_file, &pem, err);
    else if (m->config.ca_file.n)
        code = read_file(m, str_cstr(&m->arena, m->config.ca_file), &pem, err);
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

static int start(struct manager *m, struct err *err)
{
    m->signals = (struct signals){.fn = on_signal, .ctx = m};
    int code = configure(m, err);
    if (code == 0)
        code = loop_new(&m->loop, err);
    if (code == 0)
        code = signals_open(&m->signals, m->loop, err);
    if (code == 0)
        code = open_probes(m, err);
    if (code == 0)
        log_line(&m->log, LOG_INFO, "starting", LOG_STR("server", m->config.server));
    return code == 0 ? campaign(m, err) : code;
}

/* The reverse, from wherever it got to. */
static void stop(struct manager *m)
{
    probes_close(m->probes);
    election_free(m->election);
    if (m->campaigner)
        client_stop(m->campaigner);
    client_free(m->campaigner);
    control_free(m->control);
    if (m->fetcher)
        fetcher_stop(m->fetcher);
    fetcher_free(m->fetcher);
    if (m->client)
        client_stop(m->client);
    client_free(m->client);
    root_ca_free(m->root_ca);
    signals_close(&m->signals);
    loop_free(m->loop);
    arena_done(&m->arena);
}

static int serve(struct manager *m)
{
    struct err err = {0};
    m->log = log_to_stderr(m->options.level);
    if (start(m, &err) == 0) {
        loop_run(m->loop);
    } else {
        complain(&err);
        m->code = CLI_FAILED;
    }
    stop(m);
    return m->code;
}

static void print_rbac(const struct manager_options *o)
{
    struct buf text = {0};
    struct rbac_args args = {.rows = o->rows,
                             .n_rows = o->n_rows,
                             .namespace = o->lease_namespace.n ? o->lease_namespace : S("reeve-system"),
                             .name = S("reeve-manager"),
                             .lease = o->no_election ? (str){0} : o->lease_name};
    rbac_print(&text, &args);
    (void)fwrite(text.p, 1, text.n, stdout);
    buf_done(&text);
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
    int code = manager_options_read(argc, argv, &m.options, &err);
    if (code < 0) {
        complain(&err);
        (void)fputs("Run \"reeve manager --help\" for the flags.\n", stderr);
        return CLI_USAGE;
    }
    if (m.options.is_help)
        (void)fputs(manager_usage, stdout);
    else if (m.options.is_print_rbac)
        print_rbac(&m.options);
    else if (m.options.is_print_crds)
        print_crds();
    else
        return serve(&m);
    return CLI_OK;
}
