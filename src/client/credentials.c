/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown to the server is made of texts, and made anew when one of them is another:
 *
 *   kubeconfig ─┐
 *   files ──────┼─► ca, certificate, key ──► TLS context ─┐
 *   plugin ─────┤                                         ├─► struct credentials_now, serial
 *               └─► token, basic ──────────► headers ─────┘
 *
 * Files are read and compared rather than their times looked at: they are small, and a time tells little about a link that was
 * turned to another file, or two writes within a tick of the clock. */
#include "client/credentials.h"

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "client/exec_credential.h"
#include "client/header.h"
#include "client/plugin.h"
#include "json/base64.h"

#include <assert.h>
#include <stdlib.h>

enum {
    TOKEN_MAX_BYTES = 256 * 1024,
    PEM_MAX_BYTES = 1024 * 1024,
    TOKEN_S = 60,  /* a token file is believed that long */
    TLS_S = 10,    /* certificates and keys */
    RETRY_S = 1,   /* after a failure; and between two runs of a plugin */
    PLUGIN_S = 60, /* that long it may take */
};

struct credentials {
    struct loop *loop;
    const struct client_config *config;
    struct credentials_options options;

    /* What is shown. */
    struct arena headers_arena, tls_arena;
    str authorization;
    struct http_headers headers;
    bool has_headers;
    struct tls_context *tls;
    str ca, certificate, key; /* what tls was made of */
    int64_t tls_at;           /* when to look at the files again */
    uint64_t serial;

    /* The token file. */
    struct arena token_arena;
    str token; /* as last read; empty: never */
    int64_t token_at;

    /* The plugin. */
    struct plugin *plugin; /* at work; the others wait */
    struct arena given_arena;
    struct exec_credential given;
    bool has_given, was_refused;
    struct err failure; /* of the last run; code 0: none */
    bool has_run;
    int64_t run_end;

    struct credentials_wait waiting; /* head of a ring */
};

/* ---- Who waits. ---- */

static void ring_init(struct credentials_wait *head)
{
    head->next = head->prev = head;
}

static void ring_add(struct credentials_wait *head, struct credentials_wait *w)
{
    w->prev = head->prev;
    w->next = head;
    head->prev->next = w;
    head->prev = w;
    w->is_waiting = true;
}

static void ring_remove(struct credentials_wait *w)
{
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->is_waiting = false;
}

/* ---- Headers and TLS. ---- */

static void set_headers(struct credentials *c, str authorization)
{
    if (c->has_headers && str_eq(c->authorization, authorization))
        return;
    arena_done(&c->headers_arena);
    c->authorization = str_dup(&c->headers_arena, authorization);
    c->headers = header_identity(&c->headers_arena, authorization, &c->config->as);
    c->has_headers = true;
    c->serial++;
}

struct tls_texts {
    str ca, certificate, key;
};

static int set_tls(struct credentials *c, const struct tls_texts *t, struct err *err)
{
    if (c->tls && str_eq(c->ca, t->ca) && str_eq(c->certificate, t->certificate) && str_eq(c->key, t->key))
        return 0;
    struct tls_client_options options = {
        .ca_pem = t->ca,
        .certificate_pem = t->certificate,
        .key_pem = t->key,
        .server_name = c->config->server_name,
        .insecure = c->config->insecure,
    };
    struct tls_context *made;
    if (tls_client_new(&options, &made, err) < 0)
        return err->code;
    tls_unref(c->tls);
    c->tls = made;
    arena_done(&c->tls_arena);
    c->ca = str_dup(&c->tls_arena, t->ca);
    c->certificate = str_dup(&c->tls_arena, t->certificate);
    c->key = str_dup(&c->tls_arena, t->key);
    c->serial++;
    return 0;
}

static int read_pem(struct arena *a, const char *what, str owner, str file, str *ret, struct err *err)
{
    if (file.n == 0)
        return 0;
    if (file_read(a, file, FILE_REGULAR, PEM_MAX_BYTES, ret, err) < 0)
        return err_wrap(err, "unable to read %s for %.*s", what, STR(owner.n ? owner : S("the pod")));
    if (ret->n == 0) /* else "whom to believe" would turn into "the system's" */
        return err_set(err, ERR_INVALID, "%s %.*s is empty", what, STR(file));
    return 0;
}

static int read_ca(struct credentials *c, struct arena *a, str *ret, struct err *err)
{
    *ret = c->config->ca_pem;
    return read_pem(a, "certificate-authority", c->config->cluster, c->config->ca_file, ret, err);
}

/* Reads what is in files. given: of a plugin, or NULL. */
static int load_tls(struct credentials *c, const struct exec_credential *given, struct err *err)
{
    const struct client_config *k = c->config;
    struct arena scratch ARENA_SCOPE = {0};
    struct tls_texts t = {.certificate = k->certificate_pem, .key = k->key_pem};
    if (!k->is_tls)
        return 0;
    if (read_ca(c, &scratch, &t.ca, err) < 0 ||
        read_pem(&scratch, "client-cert", k->user, k->certificate_file, &t.certificate, err) < 0 ||
        read_pem(&scratch, "client-key", k->user, k->key_file, &t.key, err) < 0)
        return err->code;
    if (given) {
        t.certificate = given->certificate_pem;
        t.key = given->key_pem;
    }
    return set_tls(c, &t, err);
}

static int refresh_tls(struct credentials *c, bool at_once, struct err *err)
{
    if (!c->config->is_tls || (c->tls && !at_once && loop_now(c->loop) < c->tls_at))
        return 0;
    int r = load_tls(c, c->has_given ? &c->given : NULL, err);
    c->tls_at = loop_now(c->loop) + (r < 0 ? RETRY_S : TLS_S) * NS_PER_S;
    return c->tls ? 0 : r;
}

/* ---- The token file. ---- */

static int load_token(struct credentials *c, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str path = c->config->token_file, text;
    if (file_read(&scratch, path, FILE_REGULAR, TOKEN_MAX_BYTES, &text, err) < 0)
        return err_wrap(err, "failed to read token file \"%.*s\"", STR(path));
    text = str_trim(text);
    if (text.n == 0)
        return err_set(err, ERR_INVALID, "read empty token from file \"%.*s\"", STR(path));
    if (!header_is_value(text))
        return err_set(err, ERR_INVALID, "token file \"%.*s\" holds a control character", STR(path));
    if (str_eq(text, c->token))
        return 0;
    arena_done(&c->token_arena);
    c->token = str_dup(&c->token_arena, text);
    return 0;
}

/* The last one stays where a new one cannot be had; before the first, the one in the kubeconfig. */
static int refresh_token(struct credentials *c, bool at_once, struct err *err)
{
    if (c->config->token_file.n == 0 || (c->token.n && !at_once && loop_now(c->loop) < c->token_at))
        return 0;
    int r = load_token(c, err);
    c->token_at = loop_now(c->loop) + (r < 0 ? RETRY_S : TOKEN_S) * NS_PER_S;
    return c->token.n || c->config->token.n ? 0 : r;
}

/* ---- All of it. ---- */

static bool is_expired(const struct credentials *c)
{
    return exec_credential_is_expired(&c->given, clock_wall_ns(&c->options.clock));
}

static str authorization(struct credentials *c, struct arena *a)
{
    const struct client_config *k = c->config;
    str token = c->has_given ? c->given.token : c->token.n ? c->token : k->token;
    if (!k->is_tls)
        return (str){0};
    if (token.n)
        return str_fmt(a, "Bearer %.*s", STR(token));
    if (k->has_basic)
        return str_fmt(a, "Basic %.*s",
                       STR(base64_encode(a, str_fmt(a, "%.*s:%.*s", STR(k->username), STR(k->password)))));
    return (str){0};
}

/* Brings up to date what needs no plugin. */
static int refresh(struct credentials *c, bool at_once, struct err *err)
{
    char room[4096];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    if (c->failure.code && (!c->has_given || is_expired(c))) {
        *err = c->failure;
        return err->code;
    }
    if (refresh_tls(c, at_once, err) < 0 || refresh_token(c, at_once, err) < 0)
        return err->code;
    set_headers(c, authorization(c, &scratch));
    return 0;
}

static void answer(struct credentials *c, struct credentials_wait *w)
{
    struct err err;
    if (refresh(c, false, &err) < 0) {
        w->done(w->ctx, NULL, &err);
        return;
    }
    struct credentials_now now = {.headers = c->headers, .tls = c->tls, .serial = c->serial};
    w->done(w->ctx, &now, NULL);
}

/* ---- The plugin. ---- */

static bool may_run(const struct credentials *c)
{
    return !c->has_run || loop_now(c->loop) - c->run_end >= RETRY_S * NS_PER_S;
}

static bool needs_run(const struct credentials *c)
{
    return c->config->exec && (!c->has_given || c->was_refused || is_expired(c)) && may_run(c);
}

/* Takes over what it printed, if all of it makes sense. */
static int take_output(struct credentials *c, str output, struct err *err)
{
    struct arena arena = {0};
    struct exec_credential given;
    if (exec_credential_read(&arena, output, c->config->exec->api_version, &given, err) < 0 ||
        load_tls(c, &given, err) < 0) {
        arena_done(&arena);
        return err->code;
    }
    arena_done(&c->given_arena);
    c->given_arena = arena;
    c->given = given;
    c->has_given = true;
    return 0;
}

static void run_ended(struct credentials *c, const struct err *err)
{
    c->failure = err ? *err : (struct err){0};
    if (err)
        err_wrap(&c->failure, "getting credentials");
    c->has_run = true;
    c->run_end = loop_now(c->loop);
    c->was_refused = false;
}

static void plugin_done(void *ctx, str output, const struct err *err)
{
    struct credentials *c = ctx;
    struct credentials_wait all;
    struct err mine;
    if (err == NULL && take_output(c, output, &mine) < 0)
        err = &mine;
    run_ended(c, err);
    plugin_free(c->plugin);
    c->plugin = NULL;
    /* Whoever begins to wait from now on waits for the next run. */
    ring_init(&all);
    while (c->waiting.next != &c->waiting) {
        struct credentials_wait *w = c->waiting.next;
        ring_remove(w);
        ring_add(&all, w);
    }
    while (all.next != &all) {
        struct credentials_wait *w = all.next;
        ring_remove(w);
        answer(c, w);
    }
}

/* Ours, then the plugin's own, then the question; of variables with the same name the last counts. */
static const char *const *plugin_env(struct credentials *c, struct arena *a, str question)
{
    const struct client_exec *e = c->config->exec;
    struct map at __attribute__((cleanup(map_done))) = {0}; /* name → place */
    VEC(const char *) all = {0}, kept = {0};
    for (const char *const *var = c->options.env; var && *var; var++)
        *vec_push(a, &all) = *var;
    for (size_t i = 0; i < e->n_env; i++)
        *vec_push(a, &all) = str_cstr(a, str_fmt(a, "%.*s=%.*s", STR(e->env[i].name), STR(e->env[i].value)));
    *vec_push(a, &all) = str_cstr(a, str_fmt(a, "KUBERNETES_EXEC_INFO=%.*s", STR(question)));
    vec_each(&all, var)
    {
        str name, value;
        (void)str_cut(str_of(*var), '=', &name, &value);
        map_set(&at, name, (void *)(uintptr_t)var);
    }
    vec_each(&all, var)
    {
        str name, value;
        (void)str_cut(str_of(*var), '=', &name, &value);
        if (map_get(&at, name) == var)
            *vec_push(a, &kept) = *var;
    }
    *vec_push(a, &kept) = NULL;
    return kept.p;
}

static int start_plugin(struct credentials *c, struct err *err)
{
    const struct client_exec *e = c->config->exec;
    struct arena scratch ARENA_SCOPE = {0};
    VEC(const char *) argv = {0};
    str ca = {0};
    if (e->provide_cluster_info && read_ca(c, &scratch, &ca, err) < 0)
        return err->code;
    *vec_push(&scratch, &argv) = str_cstr(&scratch, e->command);
    for (size_t i = 0; i < e->n_args; i++)
        *vec_push(&scratch, &argv) = str_cstr(&scratch, e->args[i]);
    *vec_push(&scratch, &argv) = NULL;
    struct plugin_options options = {
        .command = argv.p[0],
        .search = client_env_get(c->options.env, S("PATH")),
        .argv = argv.p,
        .env = plugin_env(c, &scratch, exec_credential_ask(&scratch, c->config, ca)),
        .max_bytes = EXEC_CREDENTIAL_MAX_BYTES,
        .timeout_ns = c->options.plugin_ns ? c->options.plugin_ns : PLUGIN_S * NS_PER_S,
        .done = plugin_done,
        .ctx = c,
    };
    if (plugin_start(c->loop, &options, &c->plugin, err) == 0)
        return 0;
    if (err->code == ERR_NOT_FOUND && e->install_hint.n) {
        struct err why = *err;
        err_set(err, why.code, "%s; %.*s", why.msg, STR(e->install_hint));
    }
    return err->code;
}

/* ---- For callers. ---- */

struct credentials *credentials_new(struct loop *l, const struct client_config *config,
                                    const struct credentials_options *options)
{
    struct credentials *c = xcalloc(1, sizeof *c);
    c->loop = l;
    c->config = config;
    c->options = *options;
    ring_init(&c->waiting);
    return c;
}

void credentials_free(struct credentials *c)
{
    if (c == NULL)
        return;
    plugin_free(c->plugin);
    while (c->waiting.next != &c->waiting)
        ring_remove(c->waiting.next);
    tls_unref(c->tls);
    arena_done(&c->headers_arena);
    arena_done(&c->tls_arena);
    arena_done(&c->token_arena);
    arena_done(&c->given_arena);
    free(c);
}

void credentials_get(struct credentials *c, struct credentials_wait *w)
{
    struct err err;
    assert(!w->is_waiting);
    if (c->plugin == NULL && needs_run(c) && start_plugin(c, &err) < 0)
        run_ended(c, &err);
    if (c->plugin)
        ring_add(&c->waiting, w);
    else
        answer(c, w);
}

void credentials_cancel(struct credentials *c, struct credentials_wait *w)
{
    (void)c;
    if (w->is_waiting)
        ring_remove(w);
}

int credentials_set_token(struct credentials *c, str token, struct err *err)
{
    assert(c->config->token_file.n == 0);
    if (token.n == 0 || !header_is_value(token))
        return err_set(err, ERR_INVALID, "the new token is empty, or holds a control character");
    struct arena arena = {0}; /* it may be ours */
    token = str_dup(&arena, token);
    arena_done(&c->token_arena);
    c->token_arena = arena;
    c->token = token;
    return 0;
}

bool credentials_refused(struct credentials *c, uint64_t serial)
{
    struct err err;
    if (serial != c->serial || c->plugin)
        return true;
    if (c->config->exec) {
        c->was_refused = may_run(c);
        return c->was_refused;
    }
    return refresh(c, true, &err) == 0 && c->serial != serial;
}
