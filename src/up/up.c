/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   options ─► places on disk ─► keys ─► listen ─► API opens the store ─┬─► ready: kubeconfig, greeting
 *                                                                      │
 *   SIGTERM, SIGINT ─► drain ─► the last connection is gone ─► close ◄──┘       once a day: certificates
 */
#include "up/up.h"

#include "api/api.h"
#include "authn/authn_token.h"
#include "authn/pki.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "controllers/fleet_crds.h"
#include "controllers/personas/personas.h"
#include "controllers/personas/personas_roles.h"
#include "controllers/root_ca.h"
#include "net/address.h"
#include "net/http.h"
#include "net/signals.h"
#include "up/up_controllers.h"
#include "up/up_greeting.h"
#include "up/up_hosts.h"
#include "up/up_managed.h"
#include "up/up_notify.h"
#include "up/up_options.h"
#include "up/up_own.h"
#include "up/up_place.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_NS (10 * NS_PER_S)      /* for requests at work, after a signal */
#define RENEWAL_NS (86400 * NS_PER_S) /* from one look at the certificates to the next */

enum {
    CONNECTIONS = 20000, /* the default of the server */
    FILES_KEPT = 128,    /* for everything else: the store, certificates */
    LOCK_TRIES = 50,     /* to take the locks of a server that was killed, each after */
    LOCK_PAUSE_NS = 10000000,
    FEW = 1000, /* connections: fewer are worth a warning */
};

struct up {
    struct arena arena;
    struct up_options options;
    struct log log;
    int64_t started;
    struct loop *loop;
    struct pki *pki;
    struct token_signer *signer;
    struct http_server *server;
    struct api *api;
    struct up_controllers *controllers; /* NULL: they do not run (yet) */
    struct signals signals;
    struct loop_timer renewal;
    struct random_pool random;
    str address; /* "127.0.0.1:6443" */
    struct root_ca *root_ca;
    bool is_ready, is_ending;
    int code; /* of the exit */
};

/* ---- Certificates. ---- */

static int make_tls(struct up *u, struct tls_context **ret, struct err *err)
{
    struct pki_pair serving = pki_serving(u->pki);
    struct tls_server_options options = {
        .certificate_pem = serving.certificate_pem,
        .key_pem = serving.key_pem,
        .client_ca_pem = pki_ca_pem(u->pki),
    };
    return tls_server_new(&options, ret, err);
}

static int write_kubeconfig(struct up *u, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str server = str_fmt(&scratch, "https://%.*s", STR(u->address));
    return file_update(u->options.kubeconfig, pki_kubeconfig(u->pki, &scratch, server), err);
}

/* Old connections keep what they have; new ones, and whoever reads the kubeconfig again, get the new ones. */
static int take_over(struct up *u, unsigned renewed, struct err *err)
{
    int code = 0;
    if (renewed & (PKI_CA | PKI_SERVING)) {
        struct tls_context *tls;
        code = make_tls(u, &tls, err);
        if (code < 0)
            return code;
        http_server_set_tls(u->server, tls);
        tls_unref(tls);
        root_ca_set(u->root_ca, pki_ca_pem(u->pki));
    }
    if (u->is_ready && (renewed & (PKI_CA | PKI_ADMIN)))
        code = write_kubeconfig(u, err);
    return code;
}

static void on_renewal(void *ctx)
{
    struct up *u = ctx;
    struct err err = {0};
    unsigned renewed = 0;
    int code = pki_renew(u->pki, &renewed, &err);
    if (code == 0)
        code = take_over(u, renewed, &err);
    if (code < 0)
        log_line(&u->log, LOG_ERROR, "cannot renew certificates", LOG_STR("error", str_of(err.msg)));
    else if (renewed)
        log_line(&u->log, LOG_INFO, "renewed certificates", LOG_INT("ca", (renewed & PKI_CA) != 0),
                 LOG_INT("serving", (renewed & PKI_SERVING) != 0), LOG_INT("admin", (renewed & PKI_ADMIN) != 0));
    loop_timer_set(u->loop, &u->renewal, RENEWAL_NS);
}

/* ---- The end. ---- */

static void end(struct up *u, int code)
{
    u->code = code;
    loop_stop(u->loop);
}

static void on_drained(void *ctx)
{
    struct up *u = ctx;
    end(u, CLI_OK);
}

/* Nothing acts from within any more: what clients have asked for may end. */
static void drain(void *ctx)
{
    struct up *u = ctx;
    api_drain(u->api);
    http_server_drain(u->server, DRAIN_NS, on_drained, u);
}

static void on_signal(void *ctx, int number)
{
    struct up *u = ctx;
    if (u->is_ending) {
        log_line(&u->log, LOG_WARN, "ended by a second signal", LOG_INT("signal", number));
        _exit(128 + number); /* what was acknowledged is on disk */
    }
    u->is_ending = true;
    log_line(&u->log, LOG_INFO, "ending", LOG_INT("signal", number));
    loop_timer_cancel(u->loop, &u->renewal);
    if (u->controllers)
        up_controllers_stop(u->controllers, drain, u);
    else
        drain(u);
}

/* ---- The beginning. ---- */

/* One descriptor for each connection: as many as the system lets us have. */
static void raise_limits(const struct log *log)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        log_line(log, LOG_WARN, "cannot raise the number of open files", LOG_INT("errno", errno));
}

/* How many clients there may be: 0 for as many as the server has by itself, less where that is more than the system lets us
 * have. Then an idle one makes place for the next, and there are descriptors left to open the store again, to write new
 * certificates and to ask others. */
static size_t connections_max(const struct log *log)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= CONNECTIONS + FILES_KEPT)
        return 0;
    size_t all = files.rlim_cur, half = all / 2 + 1;
    size_t n = half > FILES_KEPT ? all - FILES_KEPT : half;
    log_line(log, n < FEW ? LOG_WARN : LOG_INFO, "the number of open files limits that of connections",
             LOG_INT("connections", (int64_t)n));
    return n;
}

/* A server that was killed while it started a child has left its locks to the child, for the instant until that closes them. */
static int open_pki(struct up *u, const struct pki_options *options, struct err *err)
{
    int code;
    for (int i = 0; (code = pki_open(options, &u->pki, err)) == ERR_CONFLICT && i < LOCK_TRIES; i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
    return code;
}

static int open_signer(struct up *u, struct err *err)
{
    struct strs old = pki_old_token_keys(u->pki);
    int code = token_signer_new(pki_token_key_pem(u->pki), TOKEN_ISSUER, &u->signer, err);
    for (size_t i = 0; code == 0 && i < old.n; i++)
        code = token_signer_accept(u->signer, old.p[i], err);
    if (code == 0 && old.n)
        log_line(&u->log, LOG_INFO, "tokens of old keys are accepted", LOG_INT("keys", (int64_t)old.n),
                 LOG_STR("signing", token_signer_key_id(u->signer)));
    return code;
}

static int open_keys(struct up *u, struct err *err)
{
    str dir = str_fmt(&u->arena, "%s/pki", u->options.data_dir);
    struct pki_options options = {
        .dir = str_cstr(&u->arena, dir), .clock = clock_system, .hosts = hosts_of(&u->arena, u->options.listen.host)};
    int code = open_pki(u, &options, err);
    if (code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT, "the data directory %s is in use: another reeve runs on it",
                       u->options.data_dir);
    return code < 0 ? code : open_signer(u, err);
}

static void handle_head(void *ctx, struct http_exchange *x)
{
    struct up *u = ctx;
    api_head(u->api, x);
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct up *u = ctx;
    api_handle(u->api, x);
}

static int open_server(struct up *u, struct err *err)
{
    struct http_server_options options = {.host = u->options.listen.host,
                                          .port = u->options.listen.port,
                                          .head = handle_head,
                                          .handle = handle,
                                          .ctx = u};
    options.limits.connections = connections_max(&u->log);
    int code = make_tls(u, &options.tls, err);
    if (code < 0)
        return code;
    code = http_server_new(u->loop, &options, &u->server, err);
    tls_unref(options.tls);
    if (code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT,
                       "port %u is taken: another server listens there. Choose one with --listen HOST:PORT; port 0 is "
                       "any that is free",
                       u->options.listen.port);
    if (code == 0)
        u->address = address_format(&u->arena, u->options.listen.host, http_server_port(u->server));
    return code;
}

static void greet(struct up *u)
{
    log_line(&u->log, LOG_INFO, "ready", LOG_STR("address", u->address),
             LOG_INT("ms", (clock_mono_ns(&clock_system) - u->started) / 1000000));
    if (!address_is_local(u->options.listen.host))
        log_line(&u->log, LOG_WARN, "other machines can connect", LOG_STR("host", u->options.listen.host));
    str server = str_fmt(&u->arena, "https://%.*s", STR(u->address));
    if (!u->options.is_quiet)
        greeting_show(&(struct greeting){server, u->options.kubeconfig, u->options.data_dir, false});
}

static int start_controllers(struct up *u, struct err *err)
{
    if (u->options.no_controllers)
        return 0;
    struct up_controllers_options options = {.api = u->api,
                                             .loop = u->loop,
                                             .log = &u->log,
                                             .random = random_of_pool(&u->random),
                                             .root_ca = u->root_ca,
                                             .packages = &u->options.packages,
                                             .requires_approval = u->options.requires_approval,
                                             .allows_cluster_dependencies = u->options.allows_cluster_dependencies,
                                             .no_crd_view = u->options.no_crd_view,
                                             .managed = u->options.managed,
                                             .ca_pem = str_dup(&u->arena, pki_ca_pem(u->pki))};
    return up_controllers_start(&options, &u->controllers, err);
}

static void write_metrics(void *ctx, struct buf *b)
{
    struct up *u = ctx;
    if (u->controllers)
        up_controllers_metrics(u->controllers, b);
}

static struct http_server_stats server_stats(void *ctx)
{
    struct up *u = ctx;
    return http_server_stats(u->server);
}

/* A full disk does not prevent a start: the certificates are unchanged, only the address may be another. */
static int start_kubeconfig(struct up *u, struct err *err)
{
    int code = write_kubeconfig(u, err);
    if (code != ERR_NO_SPACE)
        return code;
    log_line(&u->log, LOG_ERROR, "cannot write the kubeconfig", LOG_STR("error", str_of(err->msg)));
    return 0;
}

static void on_ready(void *ctx, const struct err *failure)
{
    struct up *u = ctx;
    struct err err = failure ? *failure : (struct err){0};
    if (u->is_ending)
        return;
    if (failure || start_kubeconfig(u, &err) < 0 || start_controllers(u, &err) < 0) {
        term_complain("up", "%s", err.msg);
        end(u, CLI_FAILED);
        return;
    }
    u->is_ready = true;
    greet(u);
    if (notify_ready(&err) < 0)
        log_line(&u->log, LOG_WARN, "the service manager was not told", LOG_STR("error", str_of(err.msg)));
}

static int open_api(struct up *u, struct err *err)
{
    own_texts own = {0};
    if (!u->options.no_controllers) /* without them it is a bare API server: nobody here would act on these kinds */
        own_objects(&u->arena, &own);
    if (u->options.managed.n)
        up_managed_objects(&u->arena, u->options.managed, &own);
    u->root_ca = root_ca_new(pki_ca_pem(u->pki));
    struct api_options options = {
        .loop = u->loop,
        .data_dir = u->options.data_dir,
        .clock = clock_system,
        .random = random_of_pool(&u->random),
        .log = &u->log,
        .signer = u->signer,
        .token_seconds = u->options.token_ns / NS_PER_S,
        .ca_pem = str_dup(&u->arena, pki_ca_pem(u->pki)), /* lives longer than a renewal */
        .address = u->address,
        .own = own.p,
        .n_own = own.n,
        .shared = fleet_crds,
        .n_shared = u->options.no_controllers ? 0 : fleet_crds_n,
        .no_aggregation = u->options.no_controllers,
        .companions = {.manager = S(PERSONAS_FIELD_MANAGER),
                       .of_namespace = u->options.no_controllers ? NULL : personas_of_namespace,
                       .rules_of = u->options.no_controllers ? NULL : persona_default_rules},
        .max_reads = u->options.max_reads,
        .max_writes = u->options.max_writes,
        .connections = server_stats,
        .connections_ctx = u,
        .metrics = write_metrics,
        .metrics_ctx = u,
    };
    return api_open(&options, on_ready, u, &u->api, err);
}

static int start(struct up *u, struct err *err)
{
    u->started = clock_mono_ns(&clock_system);
    umask(077);
    raise_limits(&u->log);
    int code = place_data_dir(u->options.data_dir, err);
    if (code == 0)
        code = place_kubeconfig(u->options.kubeconfig, err);
    if (code == 0)
        code = loop_new(&u->loop, err);
    u->signals = (struct signals){.fn = on_signal, .ctx = u};
    if (code == 0)
        code = signals_open(&u->signals, u->loop, err);
    if (code == 0)
        code = open_keys(u, err);
    if (code == 0)
        code = open_server(u, err);
    if (code == 0)
        code = open_api(u, err);
    if (code == 0) {
        u->renewal = (struct loop_timer){.fn = on_renewal, .ctx = u};
        loop_timer_set(u->loop, &u->renewal, RENEWAL_NS);
    }
    return code;
}

/* The reverse, from wherever it got to. */
static void stop(struct up *u)
{
    http_server_free(u->server);
    up_controllers_free(u->controllers);
    root_ca_free(u->root_ca);
    if (u->api)
        api_close(u->api);
    token_signer_free(u->signer);
    pki_close(u->pki);
    if (u->loop)
        loop_timer_cancel(u->loop, &u->renewal);
    signals_close(&u->signals);
    loop_free(u->loop);
    arena_done(&u->arena);
}

/* Until it is told to end. */
static int serve(struct up *u)
{
    struct err err = {0};
    u->log = log_to_stderr(u->options.level);
    if (start(u, &err) == 0) {
        loop_run(u->loop);
    } else {
        term_complain("up", "%s", err.msg);
        u->code = CLI_FAILED;
    }
    stop(u);
    return u->code;
}

int up_run(int argc, char **argv)
{
    struct up u = {0};
    struct err err = {0};
    int code = up_options_read(&u.arena, argc, argv, &u.options, &err);
    if (code == 0)
        return serve(&u);
    arena_done(&u.arena);
    return code < 0 ? flags_refuse("up", &err) : CLI_OK;
}
