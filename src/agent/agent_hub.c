/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_hub.h"

#include "controllers/fleet_crds.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "json/yaml.h"

#include <pthread.h>
#include <stdlib.h>

#define SECOND (1000 * NS_PER_MS)
#define LOOK_NS (60 * SECOND)     /* from one look to the next… */
#define WAIT_NS (30 * SECOND)     /* …and after failures in a row, at most: */
#define WAIT_DOUBLINGS 6          /* a second after the first, then twice as long each time */
#define SOON_NS (200 * NS_PER_MS) /* for a kind to be served */
#define KEY S("hub")

enum {
    LEEWAY = 300,   /* seconds that clocks may differ */
    SHORTEST = 600, /* of a token's life, as Kubernetes has it */
};

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);
static const struct client_resource accounts = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);
static const struct client_resource works = CLIENT_RESOURCE(FLEET_WORKS);

enum news { NEWS_NONE, NEWS_FOUND, NEWS_CHANGED, NEWS_TOKEN };

struct hub {
    struct hub_options options;
    struct controller *controller;
    struct arena arena; /* of config */

    /* The visit's own. */
    struct client_config config; /* of the client that is used; set before found is told, and never after */
    bool is_found, has_kind, has_answered;
    unsigned failures; /* in a row */
    struct arena token_arena;
    str token;      /* that is used */
    str read_token; /* that was in the kubeconfig the last time */
    int64_t due;    /* by the monotonic clock, when the token is to be renewed; 0: by its own words; INT64_MAX: never */

    /* From a visit to the loop: one piece of news at a time. */
    struct loop_work work;
    pthread_mutex_t lock; /* of what is below */
    enum news news;
    struct buf new_token;
    struct client *client;
    struct err trouble; /* code 0: none */
    bool is_looked_at, is_over;
    struct err shown; /* the loop's copy */
};

/* ---- From the visit to the loop, and back. ---- */

static void use_token(struct hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    struct buf token = h->new_token;
    h->new_token = (struct buf){0};
    (void)pthread_mutex_unlock(&h->lock);
    h->options.renewed(h->options.ctx, buf_str(&token));
    buf_done(&token);
}

static void on_news(struct loop_work *w)
{
    struct hub *h = (struct hub *)((char *)w - offsetof(struct hub, work));
    (void)pthread_mutex_lock(&h->lock);
    enum news news = h->news;
    h->news = NEWS_NONE;
    (void)pthread_mutex_unlock(&h->lock);
    if (news == NEWS_FOUND)
        h->options.found(h->options.ctx, &h->config);
    else if (news == NEWS_CHANGED)
        h->options.changed(h->options.ctx);
    else if (news == NEWS_TOKEN)
        use_token(h);
    control_enqueue(h->controller, (str){0}, KEY);
}

/* The visit ends after this; the loop calls for the next one when it has acted. */
static int tell(struct hub *h, enum news news)
{
    (void)pthread_mutex_lock(&h->lock);
    h->news = news;
    (void)pthread_mutex_unlock(&h->lock);
    loop_post(h->options.loop, &h->work);
    return 0;
}

static int tell_token(struct hub *h, str token)
{
    (void)pthread_mutex_lock(&h->lock);
    h->new_token.n = 0;
    buf_add_str(&h->new_token, token);
    (void)pthread_mutex_unlock(&h->lock);
    return tell(h, NEWS_TOKEN);
}

void hub_use(struct hub *h, struct client *client)
{
    (void)pthread_mutex_lock(&h->lock);
    h->client = client;
    (void)pthread_mutex_unlock(&h->lock);
}

void hub_end(struct hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    h->is_over = true;
    (void)pthread_mutex_unlock(&h->lock);
}

static struct client *client_of(struct hub *h)
{
    (void)pthread_mutex_lock(&h->lock);
    struct client *client = h->client;
    (void)pthread_mutex_unlock(&h->lock);
    return client;
}

bool hub_is_well(struct hub *h, str *ret_why)
{
    (void)pthread_mutex_lock(&h->lock);
    bool is_looked_at = h->is_looked_at;
    h->shown = h->trouble;
    (void)pthread_mutex_unlock(&h->lock);
    if (h->shown.code)
        *ret_why = str_of(h->shown.msg);
    else if (!is_looked_at)
        *ret_why = S("the hub has not answered yet");
    return is_looked_at && !h->shown.code;
}

/* ---- The kind. ---- */

static int find_text(struct arena *a, str name, struct json *ret)
{
    for (size_t i = 0; i < fleet_crds_n; i++) {
        struct json crd;
        if (yaml_decode(a, fleet_crds[i], NULL, NULL, &crd, NULL) == 0 &&
            str_eq(json_text(json_dig(&crd, "metadata.name")), name)) {
            *ret = crd;
            return 0;
        }
    }
    abort(); /* it is of this program */
}

/* Makes it where it is missing; one that is there already is used as it is. */
static int make_kind(struct hub *h, struct reconcile *r, struct err *err)
{
    struct json crd;
    const str name = S("appliedmanifestworks." FLEET_WORK_GROUP);
    struct client_ref ref = {.resource = &crds, .name = name};
    struct client_write_options options = {.field_manager = S(FLEET_AGENT)};
    int code = client_get(h->options.managed, r->arena, &ref, &crd, err);
    if (code == ERR_NOT_FOUND && find_text(r->arena, name, &crd) == 0) {
        code = client_create(h->options.managed, r->arena, &ref, &crd, &options, &crd, err);
        code = code == ERR_ALREADY_EXISTS ? 0 : code;
    }
    if (code < 0)
        return err_wrap(err, "make the kind AppliedManifestWork on this cluster");
    h->has_kind = condition_is(&crd, S("Established"), S("True"));
    return 0;
}

/* ---- The credential. ---- */

static bool is_same_server(const struct client_config *a, const struct client_config *b)
{
    return str_eq(a->server, b->server) && str_eq(a->ca_pem, b->ca_pem) && str_eq(a->ca_file, b->ca_file) &&
           str_eq(a->server_name, b->server_name) && a->insecure == b->insecure &&
           str_eq(a->certificate_pem, b->certificate_pem) && str_eq(a->key_pem, b->key_pem) &&
           str_eq(a->token_file, b->token_file) && (a->token.n == 0) == (b->token.n == 0);
}

static void keep_token(struct hub *h, str token, str read)
{
    struct arena arena = {0};
    token = str_dup(&arena, token);
    read = str_dup(&arena, read);
    arena_done(&h->token_arena);
    h->token_arena = arena;
    h->token = token;
    h->read_token = read;
}

/* The first time: everything is read again into memory that stays. */
static int take(struct hub *h, struct err *err)
{
    struct hub_credential c = {0};
    int code = hub_credential_read(&h->arena, &h->options.source, &c, err);
    if (code < 0)
        return code;
    h->config = c.config;
    h->is_found = true;
    keep_token(h, c.config.token, c.config.token);
    return tell(h, NEWS_FOUND);
}

/* ---- The hub. ---- */

/* Asks for what the agent is there for. */
static int look(struct hub *h, struct client *client, struct reconcile *r, const struct hub_credential *c,
                struct err *err)
{
    struct buf target = {.arena = r->arena};
    client_path(&target, &(struct client_ref){.resource = &works, .namespace = h->options.cluster});
    client_query(&target, S("limit"), S("1"));
    struct client_request request = {.method = S("GET"), .target = buf_str(&target), .total_ns = 30 * SECOND};
    int code = client_raw(client, r->arena, &request, NULL, err);
    struct buf when = {.arena = r->arena};
    switch (code) {
    case 0:
        return 0;
    case ERR_UNAUTHORIZED:
        if (c->expires && clock_seconds(&h->options.clock) >= c->expires)
            time_format(&when, c->expires, 0, 0);
        return err_set(err, code,
                       "the hub %.*s does not accept the token of %.*s%s%.*s: get another join kubeconfig with "
                       "\"reeve clusters add %.*s\" on the hub",
                       STR(h->config.server), STR(hub_source_name(r->arena, &h->options.source)),
                       when.n ? ", which expired at " : "", STR(buf_str(&when)), STR(h->options.cluster));
    case ERR_FORBIDDEN:
        return err_wrap(err, "the hub %.*s does not let the agent of cluster \"%.*s\" in: has it accepted the cluster?",
                        STR(h->config.server), STR(h->options.cluster));
    case ERR_NOT_FOUND:
        return err_wrap(err, "the hub %.*s has no ManifestWorks", STR(h->config.server));
    default:
        return err_wrap(err, "the hub %.*s does not answer, what is here stays", STR(h->config.server));
    }
}

/* ---- Renewal. ---- */

/* Tokens say when they were issued by the hub's clock; when that and ours disagree, their age is anybody's guess. */
static int64_t due_in(const struct hub *h, const struct hub_credential *c)
{
    const struct clock *clock = &h->options.clock;
    int64_t now = clock_seconds(clock);
    if (h->due)
        return h->due == INT64_MAX ? INT64_MAX : h->due - clock_mono_ns(clock);
    if (c->config.token.n == 0 || c->config.token_file.n || !c->expires || !c->issued)
        return INT64_MAX; /* somebody else's to renew */
    if (now < c->issued - LEEWAY)
        return 0;
    int64_t left = c->issued + (c->expires - c->issued) / 5 * 4 - now;
    return left <= 0 ? 0 : left > INT64_MAX / SECOND ? INT64_MAX : left * SECOND;
}

static int request_token(struct hub *h, struct client *client, struct reconcile *r, int64_t seconds, str *ret,
                         struct err *err)
{
    struct json request = json_obj(), spec = json_obj(), answer;
    struct client_ref ref = {
        .resource = &accounts, .namespace = h->options.cluster, .name = S(FLEET_AGENT), .subresource = S("token")};
    const struct clock *clock = &h->options.clock;
    int64_t began = clock_mono_ns(clock);
    json_add(r->arena, &spec, S("expirationSeconds"), json_int(seconds > SHORTEST ? seconds : SHORTEST));
    json_add(r->arena, &request, S("apiVersion"), json_str(S("authentication.k8s.io/v1")));
    json_add(r->arena, &request, S("kind"), json_str(S("TokenRequest")));
    json_add(r->arena, &request, S("spec"), spec);
    int code = client_create(client, r->arena, &ref, &request, NULL, &answer, err);
    str token = json_text(json_dig(&answer, "status.token"));
    if (code == 0 && token.n == 0)
        code = err_set(err, ERR_IO, "the answer has no token");
    if (code < 0)
        return err_wrap(err, "renew the agent's token on the hub");
    (void)json_to_int(json_dig(&answer, "spec.expirationSeconds"), &seconds); /* as granted */
    seconds = seconds < SHORTEST / 10 ? SHORTEST / 10 : seconds > INT32_MAX ? INT32_MAX : seconds;
    h->due = began + seconds * SECOND / 5 * 4;
    *ret = token;
    return 0;
}

/* A token that cannot be written back is used all the same: the old one is about to end. */
static int renew(struct hub *h, struct client *client, struct reconcile *r, const struct hub_credential *c,
                 struct err *err)
{
    struct err lost = {0};
    struct hub_credential granted = *c;
    str token = {0};
    int code = request_token(h, client, r, c->expires - c->issued, &token, err);
    if (code < 0)
        return code;
    bool is_kept = hub_credential_write(&h->options.source, c->config.token, token, &lost) == 0;
    (void)hub_token_read(r->arena, token, &granted);
    if (is_kept)
        log_line(h->options.log, LOG_INFO, "renewed the token for the hub", LOG_INT("expires", granted.expires));
    else
        log_line(h->options.log, LOG_WARN, "the renewed token for the hub is lost when this process ends",
                 LOG_STR("error", str_of(lost.msg)));
    keep_token(h, token, is_kept ? token : c->config.token);
    return tell_token(h, token);
}

/* ---- One visit. ---- */

/* Somebody has written another token into the kubeconfig: a fresh join. */
static int follow(struct hub *h, const struct hub_credential *c)
{
    keep_token(h, c->config.token, c->config.token);
    h->due = 0;
    return tell_token(h, c->config.token);
}

static int keep(struct hub *h, struct client *client, struct reconcile *r, const struct hub_credential *c,
                struct err *err)
{
    if (!is_same_server(&h->config, &c->config))
        return tell(h, NEWS_CHANGED);
    if (!str_eq(c->config.token, h->read_token))
        return follow(h, c);
    int code = look(h, client, r, c, err);
    if (code < 0)
        return code;
    h->has_answered = true;
    int64_t due = due_in(h, c);
    r->again_ns = due < LOOK_NS ? due : LOOK_NS;
    return due <= 0 ? renew(h, client, r, c, err) : 0;
}

static int pass(struct hub *h, struct reconcile *r, struct err *err)
{
    struct hub_credential c = {0};
    struct client *client = client_of(h);
    int code = h->options.has_works && !h->has_kind ? make_kind(h, r, err) : 0;
    if (code == 0 && h->options.has_works && !h->has_kind) {
        r->again_ns = SOON_NS;
        return 0;
    }
    if (code == 0)
        code = hub_credential_read(r->arena, &h->options.source, &c, err);
    if (code == 0)
        code = hub_credential_check(&c, h->options.cluster, err);
    if (code < 0)
        return code;
    if (!h->is_found)
        return take(h, err);
    return client ? keep(h, client, r, &c, err) : 0;
}

/* People hear of trouble once, and when it is another or over; meanwhile it is tried again, later and later. */
static void note(struct hub *h, const struct err *err)
{
    struct err was;
    (void)pthread_mutex_lock(&h->lock);
    was = h->trouble;
    h->trouble = *err;
    h->is_looked_at = h->has_answered;
    bool is_over = h->is_over;
    (void)pthread_mutex_unlock(&h->lock);
    if (is_over)
        return;
    if (err->code && strcmp(was.msg, err->msg) != 0)
        log_line(h->options.log, LOG_ERROR, "no way to the hub", LOG_STR("error", str_of(err->msg)));
    else if (was.code && !err->code)
        log_line(h->options.log, LOG_INFO, "the way to the hub is open again");
}

static int visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct hub *h = ctx;
    int code = pass(h, r, err);
    note(h, code < 0 ? err : &(struct err){0});
    h->failures = code < 0 ? h->failures + 1 : 0;
    if (code < 0)
        r->again_ns = h->failures < WAIT_DOUBLINGS ? SECOND << h->failures >> 1 : WAIT_NS;
    return 0;
}

/* ---- The life of it. ---- */

static void release(void *state)
{
    struct hub *h = state;
    loop_post_cancel(h->options.loop, &h->work);
    buf_done(&h->new_token);
    arena_done(&h->token_arena);
    arena_done(&h->arena);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

struct hub *hub_add(const struct hub_options *options)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h || pthread_mutex_init(&h->lock, NULL))
        abort();
    h->options = *options;
    h->work.fn = on_news;
    control_own(options->control, h, release);
    h->controller = control_add(
        options->control, &(struct controller_options){
                              .name = "hub", .client = options->managed, .workers = 1, .reconcile = visit, .ctx = h});
    control_enqueue(h->controller, (str){0}, KEY);
    return h;
}
