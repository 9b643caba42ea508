/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include "api/api.h"
#include "api/loopback.h"
#include "api/loopback_client.h"
#include "api/server.h"
#include "authn/authn_token.h"
#include "authn/pki_issue.h"
#include "control/control.h"
#include "controllers/controllers.h"
#include "controllers/root_ca.h"
#include "up/up_own.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLIENTS = 16, AT_ONCE = 64 };

struct stage {
    struct arena arena;
    struct loop *loop;
    struct api *api;
    struct log log;
    struct token_signer *signer;
    struct root_ca *root_ca;
    struct control *control;
    struct client *clients[CLIENTS];
    size_t n_clients;
    bool is_ready, is_stopped, is_done;
    int status;
    struct buf body;
    size_t under_way; /* requests that nobody waits for */
    char dir[64];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

double stage_now(void)
{
    return (double)clock_mono_ns(&clock_system) / 1e6;
}

/* ---- The server. ---- */

static void ready(void *ctx, const struct err *err)
{
    struct stage *s = ctx;
    if (err)
        die("cannot start", err->msg);
    s->is_ready = true;
}

static void open_server(struct stage *s, bool has_own)
{
    struct err err = {0};
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    snprintf(s->dir, sizeof s->dir, "/tmp/bench-control-XXXXXX");
    if (!mkdtemp(s->dir) || loop_new(&s->loop, &err) < 0 || pki_make_key(&key, &err) < 0 ||
        token_signer_new(pem_write_key(&s->arena, key), TOKEN_ISSUER, &s->signer, &err) < 0)
        die("cannot open", err.msg);
    s->log = log_to_stderr(LOG_WARN);
    own_texts own = {0};
    if (has_own)
        own_objects(&s->arena, &own);
    struct api_options options = {
        .loop = s->loop,
        .data_dir = s->dir,
        .clock = clock_system,
        .random = random_system,
        .log = &s->log,
        .signer = s->signer,
        .address = S("127.0.0.1:6443"),
        .ca_pem = S("-----BEGIN CERTIFICATE-----\n"),
        .own = own.p,
        .n_own = own.n,
    };
    if (api_open(&options, ready, s, &s->api, &err) < 0)
        die("cannot open", err.msg);
    while (!s->is_ready)
        loop_turn(s->loop, -1);
}

/* ---- The controllers. ---- */

static struct client *add_client(struct stage *s, struct transport *transport)
{
    struct client_options options = {.loop = s->loop, .transport = transport, .random = random_system};
    return s->clients[s->n_clients++] = client_new(&options);
}

static bool is_named(const char *names, const char *name)
{
    str rest = str_of(names), one;
    for (bool more = true; more;) {
        more = str_cut(rest, ',', &one, &rest);
        if (str_eq(one, str_of(name)))
            return true;
    }
    return false;
}

static bool has_own(const char *names)
{
    for (size_t i = 0; i < controllers_count(); i++)
        if (!controllers_row(i)->in_kubernetes && is_named(names, controllers_row(i)->name))
            return true;
    return false;
}

static void start_controllers(struct stage *s, const char *names)
{
    static const str groups[] = {S_INIT("system:authenticated")};
    struct loopback_client_options reader = {
        .who = {.user = S("system:kube-controller-manager"), .groups = {groups, 1}}, .user_agent = S("reeve")};
    s->control = control_new(
        &(struct control_options){.loop = s->loop, .clock = clock_system, .random = random_system, .log = &s->log});
    struct controller_env env = {.control = s->control,
                                 .loop = s->loop,
                                 .clock = clock_system,
                                 .reader = add_client(s, loopback_client_new(s->api, &reader)),
                                 .is_embedded = true,
                                 .root_ca = s->root_ca};
    for (size_t i = 0; i < controllers_count(); i++) {
        const struct controller_row *row = controllers_row(i);
        struct err err;
        if (!is_named(names, row->name))
            continue;
        env.client = add_client(s, loopback_client_new_account(s->api, S("kube-system"), str_of(row->account)));
        if (row->add(&env, &err) < 0)
            die(row->account, err.msg);
    }
    control_start(s->control);
    while (!control_is_synced(s->control))
        loop_turn(s->loop, -1);
}

struct stage *stage_open(const char *controllers)
{
    struct stage *s = xcalloc(1, sizeof *s);
    open_server(s, has_own(controllers));
    s->root_ca = root_ca_new(S("-----BEGIN CERTIFICATE-----\n"));
    start_controllers(s, controllers);
    return s;
}

static void stopped(void *ctx)
{
    struct stage *s = ctx;
    s->is_stopped = true;
}

static void remove_files(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        char file[512];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

void stage_close(struct stage *s)
{
    control_stop(s->control, stopped, s);
    for (size_t i = 0; i < s->n_clients; i++)
        client_stop(s->clients[i]);
    while (!s->is_stopped)
        loop_turn(s->loop, -1);
    control_free(s->control);
    while (s->n_clients)
        client_free(s->clients[--s->n_clients]);
    loop_turn(s->loop, 0);
    api_close(s->api);
    root_ca_free(s->root_ca);
    token_signer_free(s->signer);
    loop_free(s->loop);
    remove_files(s->dir);
    buf_done(&s->body);
    arena_done(&s->arena);
    free(s);
}

/* ---- Requests. ---- */

static void start(struct stage *s, const char *method, const char *target, const char *body,
                  void (*done)(void *ctx, int status, struct http_headers headers, str body))
{
    struct loopback_call call = {.who = loopback_self(),
                                 .method = str_of(method),
                                 .target = str_of(target),
                                 .body = str_of(body),
                                 .done = done,
                                 .ctx = s};
    loopback_start(s->api, &call);
}

static void answered(void *ctx, int status, struct http_headers headers, str body)
{
    struct stage *s = ctx;
    (void)headers;
    s->is_done = true;
    s->status = status;
    s->body.n = 0;
    buf_add_str(&s->body, body);
}

int stage_ask(struct stage *s, const char *method, const char *target, const char *body)
{
    s->is_done = false;
    start(s, method, target, body, answered);
    while (!s->is_done)
        loop_turn(s->loop, -1);
    return s->status;
}

str stage_answer(const struct stage *s)
{
    return buf_str(&s->body);
}

static void sent(void *ctx, int status, struct http_headers headers, str body)
{
    struct stage *s = ctx;
    (void)headers;
    if (status / 100 != 2) {
        fprintf(stderr, "%.*s\n", STR(body));
        exit(1);
    }
    s->under_way--;
}

void stage_send(struct stage *s, const char *method, const char *target, const char *body)
{
    while (s->under_way >= AT_ONCE)
        loop_turn(s->loop, -1);
    s->under_way++;
    start(s, method, target, body, sent);
}

void stage_flush(struct stage *s)
{
    while (s->under_way)
        loop_turn(s->loop, -1);
}

void stage_wait(struct stage *s, bool (*is_so)(struct stage *s, void *ctx), void *ctx)
{
    while (!is_so(s, ctx))
        loop_turn(s->loop, 1000000);
}
