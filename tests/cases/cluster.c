/* SPDX-License-Identifier: Apache-2.0 */
#include "cases/cluster.h"

#include "api/api.h"
#include "api/loopback.h"
#include "api/loopback_client.h"
#include "api/server.h"
#include "authn/authn_token.h"
#include "authn/pki_issue.h"
#include "cases/access.h"
#include "cases/case.h"
#include "cases/match.h"
#include "cases/objects.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "controllers/fleet_crds.h"
#include "controllers/personas/personas.h"
#include "controllers/personas/personas_roles.h"
#include "controllers/root_ca.h"
#include "lib/scratch.h"
#include "up/up_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    CLIENTS = 16,
    QUIET = 5, /* turns without anything to do */
    TURN_NS = 2000000,
    PATIENCE_S = 20, /* of real time, with what never comes */
};

struct world {
    struct case_file *c;
    struct arena *a;
    const char *controller;
    struct loop *loop;
    struct api *api;
    struct clock_fake time;
    struct clock clock;
    struct random_seeded chance;
    struct log log;
    struct token_signer *signer;
    struct root_ca *root_ca;
    struct control *control;
    struct client *clients[CLIENTS];
    size_t n_clients;
    bool is_ready, has_failed, is_stopped;
    char dir[SCRATCH_MAX];
    struct match match;
    struct objects objects;
    const struct case_section *request; /* the last one */
    bool is_done;
    int status;
    struct buf body;
    int64_t visits; /* when they were last asked for */
};

/* ---- Waiting. ---- */

static int64_t real_now(void)
{
    return clock_mono_ns(&clock_system);
}

static bool wait_for(struct world *w, const bool *flag)
{
    for (int64_t end = real_now() + PATIENCE_S * INT64_C(1000000000); !*flag && real_now() < end;)
        loop_turn(w->loop, TURN_NS);
    return *flag;
}

/* The sum of a metric over the controllers, or of those with this label; ret_n: how many lines that were, may be NULL. */
static int64_t sum_of(struct world *w, str metric, str label, int64_t *ret_n)
{
    struct buf text = {0};
    int64_t sum = 0, lines = 0, n;
    str rest, line, value;
    control_metrics_write(w->control, &text);
    for (rest = buf_str(&text); rest.n;) {
        str_cut(rest, '\n', &line, &rest);
        if (!str_has_prefix(line, metric) || (label.n && str_find(line, label) < 0) ||
            !str_cut(line, '}', &line, &value))
            continue;
        lines++;
        if (str_to_int64(str_trim(value), &n))
            sum += n;
    }
    buf_done(&text);
    if (ret_n)
        *ret_n = lines;
    return sum;
}

static bool is_synced(struct world *w)
{
    int64_t informers, synced = sum_of(w, S("reeve_informer_synced{"), (str){0}, &informers);
    return synced == informers;
}

static bool is_busy(struct world *w)
{
    return store_pending(w->api->store) || !is_synced(w) || sum_of(w, S("workqueue_depth{"), (str){0}, NULL) ||
           sum_of(w, S("controller_runtime_active_workers{"), (str){0}, NULL);
}

static void settle(struct world *w)
{
    int64_t end = real_now() + PATIENCE_S * INT64_C(1000000000);
    for (int quiet = 0; quiet < QUIET; quiet++) {
        loop_turn(w->loop, TURN_NS);
        if (is_busy(w))
            quiet = 0;
        if (real_now() > end) {
            case_fail(w->c, w->request, "the controllers never come to rest");
            return;
        }
    }
}

/* ---- The server. ---- */

static void write_log(void *ctx, str line)
{
    (void)ctx;
    if (getenv("CASES_LOG"))
        fprintf(stderr, "%.*s", STR(line));
}

static void ready(void *ctx, const struct err *err)
{
    struct world *w = ctx;
    w->is_ready = true;
    w->has_failed = err != NULL;
    if (err)
        case_fail(w->c, NULL, "cannot start: %s", err->msg);
}

static int make_signer(struct world *w, struct err *err)
{
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    int code = pki_make_key(&key, err);
    return code < 0 ? code : token_signer_new(pem_write_key(w->a, key), TOKEN_ISSUER, &w->signer, err);
}

/* Whether a Kubernetes has none of that name: then its server has Reeve's kinds and the rights of its accounts. */
static bool is_of_reeve(const char *controller)
{
    for (size_t i = 0; i < controllers_count(); i++)
        if (!controllers_row(i)->in_kubernetes && (!controller || strcmp(controller, controllers_row(i)->name) == 0))
            return true;
    return false;
}

static bool is_embedded(const struct world *w)
{
    return case_find(w->c, NULL, S("remote")) == NULL;
}

static int open_server(struct world *w, struct err *err)
{
    scratch_make(w->dir, "cluster-cases");
    w->time = (struct clock_fake){.wall = INT64_C(1767323045) * 1000000000};
    w->clock = clock_of_fake(&w->time);
    w->chance = (struct random_seeded){.state = 1};
    w->log = (struct log){.level = LOG_DEBUG, .clock = w->clock, .write = write_log};
    int code = make_signer(w, err);
    if (code == 0)
        code = loop_new_on(&w->clock, &w->loop, err);
    if (code < 0)
        return code;
    own_texts own = {0};
    if (is_of_reeve(w->controller))
        own_objects(w->a, &own);
    struct api_options options = {
        .loop = w->loop,
        .data_dir = w->dir,
        .clock = w->clock,
        .random = random_of_seed(&w->chance),
        .log = &w->log,
        .signer = w->signer,
        .address = S("127.0.0.1:6443"),
        .ca_pem = S("-----BEGIN CERTIFICATE-----\n"),
        .own = own.p,
        .n_own = own.n,
        .shared = fleet_crds,
        .n_shared = is_of_reeve(w->controller) ? fleet_crds_n : 0,
        .companions = {.manager = S(PERSONAS_FIELD_MANAGER),
                       .of_namespace = is_embedded(w) ? personas_of_namespace : NULL,
                       .rules_of = is_embedded(w) ? persona_default_rules : NULL},
    };
    code = api_open(&options, ready, w, &w->api, err);
    if (code == 0 && (!wait_for(w, &w->is_ready) || w->has_failed))
        code = err_set(err, ERR_INTERNAL, "it does not become ready");
    return code;
}

/* ---- The controllers. ---- */

static struct client *add_client(struct world *w, struct transport *transport)
{
    struct client_options options = {.loop = w->loop, .transport = transport, .random = random_of_seed(&w->chance)};
    return w->clients[w->n_clients++] = client_new(&options);
}

/* Informers read as the manager that all controllers are part of, as with Kubernetes. */
static struct client *add_reader(struct world *w)
{
    static const str groups[] = {S_INIT("system:authenticated")};
    struct loopback_client_options options = {
        .who = {.user = S("system:kube-controller-manager"), .groups = {groups, 1}}, .user_agent = S("reeve")};
    return add_client(w, loopback_client_new(w->api, &options));
}

/* s: how to start them; NULL: as always. */
static void start_controllers(struct world *w, const struct case_section *s)
{
    struct control_options options = {
        .loop = w->loop, .clock = w->clock, .random = random_of_seed(&w->chance), .log = &w->log};
    w->control = control_new(&options);
    struct controller_env env = {
        .control = w->control,
        .loop = w->loop,
        .clock = w->clock,
        .reader = add_reader(w),
        .is_embedded = is_embedded(w),
        .has_aggregation = is_embedded(w) || !w->controller,
        .root_ca = w->root_ca,
        .no_crd_view = s && case_has_arg(s, S("no-crd-view")),
    };
    for (size_t i = 0; i < controllers_count(); i++) {
        const struct controller_row *row = controllers_row(i);
        struct err err;
        if (w->controller && strcmp(row->name, w->controller) != 0)
            continue;
        env.client = add_client(w, loopback_client_new_account(w->api, S("kube-system"), str_of(row->account)));
        if (row->add(&env, &err) < 0)
            case_fail(w->c, NULL, "cannot add %s: %s", row->account, err.msg);
    }
    control_start(w->control);
    settle(w);
}

static void stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

static void stop_controllers(struct world *w)
{
    if (!w->control)
        return;
    w->is_stopped = false;
    control_stop(w->control, stopped, w);
    for (size_t i = 0; i < w->n_clients; i++)
        client_stop(w->clients[i]);
    if (!wait_for(w, &w->is_stopped)) {
        case_fail(w->c, NULL, "the controllers do not end");
        exit(1); /* their threads hold what would be freed */
    }
    control_free(w->control);
    w->control = NULL;
    while (w->n_clients)
        client_free(w->clients[--w->n_clients]);
    w->visits = 0;
}

static void close_world(struct world *w)
{
    stop_controllers(w);
    if (w->loop)
        loop_turn(w->loop, 0); /* what was hung up goes at the end of a turn */
    if (w->api)
        api_close(w->api);
    root_ca_free(w->root_ca);
    token_signer_free(w->signer);
    loop_free(w->loop);
    match_done(&w->match);
    buf_done(&w->body);
    if (w->dir[0])
        scratch_remove(w->dir);
}

/* ---- Requests and answers. ---- */

static void answered(void *ctx, int status, struct http_headers headers, str body)
{
    struct world *w = ctx;
    (void)headers;
    w->is_done = true;
    w->status = status;
    buf_add_str(&w->body, body);
}

/* "Content-Type: …" lines up to an empty one. */
static str take_type(str *text)
{
    str type = {0}, line, name, value;
    while (text->n) {
        str_cut(*text, '\n', &line, text);
        if (str_trim(line).n == 0)
            break;
        if (str_cut(line, ':', &name, &value) && str_eq(str_trim(name), S("Content-Type")))
            type = str_trim(value);
    }
    return type;
}

static void send(struct world *w, const struct objects_request *request)
{
    static const str masters[] = {S_INIT("system:masters"), S_INIT("system:authenticated")};
    struct loopback_call call = {.who = {.user = S("admin"), .groups = {masters, 2}},
                                 .method = request->method,
                                 .target = request->target,
                                 .content_type = request->content_type,
                                 .body = request->body,
                                 .done = answered,
                                 .ctx = w};
    w->is_done = false;
    w->body.n = 0;
    loopback_start(w->api, &call);
    if (!wait_for(w, &w->is_done)) {
        case_fail(w->c, w->request, "no answer");
        exit(1); /* the server still holds what would be freed */
    }
}

static void ask(struct world *w, const struct case_section *s)
{
    str text = match_fill(&w->match, s->text), first, method, target;
    str_cut(text, '\n', &first, &text);
    if (!str_cut(first, ' ', &method, &target)) {
        case_fail(w->c, s, "expected METHOD PATH");
        return;
    }
    str type = take_type(&text);
    w->request = s;
    send(w, &(struct objects_request){method, str_trim(target), type, text});
}

/* Names are only bound by an answer that is as expected. */
static bool is_expected(struct world *w, const struct case_section *s)
{
    struct match trial = {.arena = w->a};
    size_t at = 0;
    str key, code, rest;
    void *value;
    while (map_next(&w->match.bound, &at, &key, &value))
        map_set(&trial.bound, key, value);
    str_cut(s->args, ' ', &code, &rest);
    bool ok = str_eq(code, str_fmt(w->a, "%d", w->status)) &&
              match_body(&trial, s->text, buf_str(&w->body), case_has_arg(s, S("part")));
    struct match old = ok ? w->match : trial;
    if (ok)
        w->match = trial;
    match_done(&old);
    return ok;
}

static void check(struct world *w, const struct case_section *s, bool is_patient)
{
    int64_t end = real_now() + PATIENCE_S * INT64_C(1000000000);
    if (!w->request) {
        case_fail(w->c, s, "an expectation without a request");
        return;
    }
    bool ok = is_expected(w, s);
    while (!ok && is_patient && real_now() < end) {
        loop_turn(w->loop, TURN_NS);
        ask(w, w->request);
        ok = is_expected(w, s);
    }
    case_expect(w->c, s, ok ? s->text : str_fmt(w->a, "(%d)\n%.*s", w->status, STR(str_trim(buf_str(&w->body)))));
}

static void count_visits(struct world *w, const struct case_section *s)
{
    settle(w);
    str label = str_fmt(w->a, "controller=\"%.*s\"", STR(str_trim(s->args)));
    int64_t now = sum_of(w, S("controller_runtime_reconcile_total{"), label, NULL);
    case_expect(w->c, s, str_fmt(w->a, "%lld", (long long)(now - w->visits)));
    w->visits = now;
}

/* ---- What steps about objects need, see objects.h. ---- */

static int ask_for_objects(void *ctx, const struct objects_request *request, struct json *ret)
{
    struct world *w = ctx;
    send(w, request);
    if (json_decode(w->a, buf_str(&w->body), NULL, NULL, ret, NULL) < 0)
        *ret = json_null();
    return w->status;
}

static void settle_for_objects(void *ctx)
{
    settle(ctx);
}

static void pass_time(void *ctx, int64_t ns)
{
    struct world *w = ctx;
    clock_fake_advance(&w->time, ns);
}

static bool step_on_objects(struct world *w, const struct case_section *s)
{
    struct objects_door door = {.c = w->c,
                                .match = &w->match,
                                .registry = w->api->registry,
                                .ask = ask_for_objects,
                                .settle = settle_for_objects,
                                .pass_time = pass_time,
                                .ctx = w};
    return objects_step(&w->objects, &door, s) || access_step(&door, s);
}

/* ---- Cases. ---- */

static void step(struct world *w, const struct case_section *s)
{
    int64_t seconds;
    if (str_eq(s->name, S("request"))) {
        ask(w, s);
    } else if (str_eq(s->name, S("expect"))) {
        check(w, s, false);
    } else if (str_eq(s->name, S("eventually"))) {
        check(w, s, true);
    } else if (str_eq(s->name, S("settle"))) {
        settle(w);
    } else if (str_eq(s->name, S("visits"))) {
        count_visits(w, s);
    } else if (str_eq(s->name, S("clock")) && str_to_int64(str_trim(s->args), &seconds)) {
        clock_fake_advance(&w->time, seconds * 1000000000);
    } else if (str_eq(s->name, S("root-ca"))) {
        root_ca_set(w->root_ca, str_trim(s->args));
    } else if (str_eq(s->name, S("stop"))) {
        stop_controllers(w);
    } else if (str_eq(s->name, S("start"))) {
        start_controllers(w, s);
    } else if (!str_eq(s->name, S("note")) && !str_eq(s->name, S("remote")) && !step_on_objects(w, s)) {
        case_fail(w->c, s, "what is \"%.*s\"?", STR(s->name));
    }
}

static const char *chosen; /* of this program */

static void run(struct case_file *c)
{
    struct world w = {.c = c, .a = c->arena, .controller = chosen, .match = {.arena = c->arena}};
    struct err err = {0};
    if (open_server(&w, &err) < 0) {
        case_fail(c, NULL, "cannot open: %s", err.msg);
    } else {
        w.root_ca = root_ca_new(S("PEM"));
        start_controllers(&w, NULL);
        for (size_t i = 0; i < c->sections.n; i++)
            step(&w, &c->sections.p[i]);
    }
    close_world(&w);
}

int cluster_main(int argc, char **argv, const char *controller)
{
    chosen = controller;
    return case_main(argc, argv, run);
}
