/* SPDX-License-Identifier: Apache-2.0 */
#include "control/service.h"

#include "client/https.h"
#include "control/election.h"
#include "control/probes.h"
#include "net/address.h"
#include "net/signals.h"

#include <unistd.h>

enum { HOST_BYTES = 256 };

struct service {
    const struct service_options *options;
    struct arena arena;
    struct loop *loop;
    struct signals signals;
    struct probes *probes;
    struct random_pool random;
    struct client *campaigner; /* the election's */
    struct election *election;
    struct control *control; /* NULL while nothing acts */
    bool is_leader;          /* or there is no election */
    bool is_stopping;        /* what acted is about to be gone */
    bool is_ending;
    struct err failure; /* code 0: none */
};

struct loop *service_loop(struct service *s)
{
    return s->loop;
}

struct control *service_control(struct service *s)
{
    return s->control;
}

struct random service_random(struct service *s)
{
    return random_of_pool(&s->random);
}

int service_client(struct service *s, const struct client_config *config, struct client **ret,
                   struct transport **ret_transport, struct err *err)
{
    struct transport *transport;
    struct https_options options = {
        .credentials = {.clock = clock_system, .env = (const char *const *)environ},
        .random = random_of_pool(&s->random),
        .version = s->options->version,
    };
    int code = https_new(s->loop, config, &options, &transport, err);
    if (code < 0)
        return code;
    *ret = client_new(&(struct client_options){
        .loop = s->loop,
        .transport = transport,
        .random = random_of_pool(&s->random),
        .is_impatient = true, /* that nobody is there is logged at once; who asked comes back by itself */
    });
    if (ret_transport)
        *ret_transport = transport;
    return 0;
}

/* ---- Acting. ---- */

static void act(struct service *s)
{
    struct err err = {0};
    s->control =
        control_new(&(struct control_options){s->loop, clock_system, random_of_pool(&s->random), s->options->log});
    if (s->options->act(s->options->ctx, s, &err) < 0) { /* nothing has started: stop() can free it all */
        s->failure = err;
        loop_stop(s->loop);
        return;
    }
    log_line(s->options->log, LOG_INFO, "acting");
    control_start(s->control);
}

static void on_released(void *ctx)
{
    struct service *s = ctx;
    loop_stop(s->loop);
}

static void let_go(struct service *s)
{
    if (s->election)
        election_release(s->election, on_released, s);
    else
        loop_stop(s->loop);
}

static void rest(struct service *s)
{
    control_free(s->control);
    s->control = NULL;
    s->options->rest(s->options->ctx);
}

static void on_stopped(void *ctx)
{
    struct service *s = ctx;
    rest(s);
    s->is_stopping = false;
    if (s->is_ending)
        let_go(s);
    else if (s->is_leader)
        act(s);
}

/* From this moment on nothing of ours reaches a server. */
static void stop_acting(struct service *s)
{
    if (!s->control || s->is_stopping)
        return;
    s->is_stopping = true;
    control_stop(s->control, on_stopped, s);
    s->options->halt(s->options->ctx);
}

void service_renew(struct service *s)
{
    stop_acting(s);
}

static void end(struct service *s)
{
    s->is_ending = true;
    if (s->control)
        stop_acting(s);
    else
        let_go(s);
}

void service_fail(struct service *s, const struct err *err)
{
    if (s->is_ending)
        return;
    s->failure = *err;
    end(s);
}

/* ---- The campaign. ---- */

static void on_won(void *ctx)
{
    struct service *s = ctx;
    s->is_leader = true;
    if (!s->control && !s->is_ending)
        act(s);
}

static void on_lost(void *ctx)
{
    struct service *s = ctx;
    s->is_leader = false;
    stop_acting(s);
}

/* One of a kind, and tells people where it runs. */
static str make_identity(struct service *s)
{
    char host[HOST_BYTES] = "";
    struct random random = random_of_pool(&s->random);
    if (gethostname(host, sizeof host - 1) < 0 || !host[0])
        memcpy(host, "reeve", sizeof "reeve");
    return str_fmt(&s->arena, "%s_%016llx", host, (unsigned long long)random_uint64(&random));
}

static int campaign(struct service *s, struct err *err)
{
    const struct service_options *o = s->options;
    if (o->no_election) {
        on_won(s);
        return 0;
    }
    int code = service_client(s, o->config, &s->campaigner, NULL, err);
    if (code < 0)
        return code;
    struct election_options options = {
        .loop = s->loop,
        .client = s->campaigner,
        .clock = clock_system,
        .random = random_of_pool(&s->random),
        .log = o->log,
        .namespace = o->lease_namespace,
        .name = o->lease_name,
        .identity = make_identity(s),
        .lease_ns = o->lease_ns,
        .deadline_ns = o->deadline_ns,
        .retry_ns = o->retry_ns,
        .won = on_won,
        .lost = on_lost,
        .ctx = s,
    };
    return election_new(&options, &s->election, err);
}

/* ---- Probes. ---- */

/* One that waits for its turn is ready to take over; one that acts has to know what there is first. */
static bool is_ready(void *ctx, str *ret_why)
{
    struct service *s = ctx;
    if (s->is_ending || s->is_stopping)
        *ret_why = S("stopping");
    else if (!s->control && s->election && election_leader(s->election).n == 0)
        *ret_why = S("it is not known yet who leads");
    else if (s->control && s->options->is_ready && !s->options->is_ready(s->options->ctx, ret_why))
        return false;
    else if (s->control && !control_is_synced(s->control))
        *ret_why = S("the caches are not complete yet");
    else
        return true;
    return false;
}

static void write_metrics(void *ctx, struct buf *b)
{
    struct service *s = ctx;
    if (s->election)
        election_metrics_write(s->election, b);
    if (s->control)
        control_metrics_write(s->control, b);
}

static int open_probes(struct service *s, struct err *err)
{
    const struct service_options *o = s->options;
    struct probes_options options = {s->loop, o->host, o->port, is_ready, write_metrics, s};
    if (o->host.n == 0)
        return 0;
    int code = probes_open(&options, &s->probes, err);
    if (code == ERR_CONFLICT)
        return err_set(err, ERR_CONFLICT,
                       "port %u is taken: choose another with --listen HOST:PORT, port 0 is any free one", o->port);
    if (code == 0)
        log_line(o->log, LOG_INFO, "listening",
                 LOG_STR("address", address_format(&s->arena, o->host, probes_port(s->probes))));
    return code;
}

/* ---- From the beginning to the end. ---- */

static void on_signal(void *ctx, int number)
{
    struct service *s = ctx;
    if (s->is_ending)
        _exit(128 + number);
    log_line(s->options->log, LOG_INFO, "ending", LOG_INT("signal", number));
    end(s);
}

static int start(struct service *s, struct err *err)
{
    s->signals = (struct signals){.fn = on_signal, .ctx = s};
    int code = loop_new(&s->loop, err);
    if (code == 0)
        code = signals_open(&s->signals, s->loop, err);
    if (code == 0)
        code = open_probes(s, err);
    if (code == 0)
        log_line(s->options->log, LOG_INFO, "starting", LOG_STR("server", s->options->config->server));
    return code == 0 ? campaign(s, err) : code;
}

/* The reverse, from wherever it got to. */
static void stop(struct service *s)
{
    probes_close(s->probes);
    election_free(s->election);
    if (s->campaigner)
        client_stop(s->campaigner);
    client_free(s->campaigner);
    if (s->control) {
        s->options->halt(s->options->ctx);
        rest(s);
    }
    signals_close(&s->signals);
    loop_free(s->loop);
    arena_done(&s->arena);
}

int service_run(const struct service_options *options, struct err *err)
{
    struct service s = {.options = options};
    int code = start(&s, err);
    if (code == 0)
        loop_run(s.loop);
    if (code == 0 && s.failure.code) {
        *err = s.failure;
        code = err->code;
    }
    stop(&s);
    return code;
}
