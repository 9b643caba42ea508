/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pipeline.h"

#include <stdlib.h>

#include "api/discovery.h"
#include "api/health.h"
#include "api/metrics.h"
#include "api/openapi.h"
#include "api/read.h"
#include "api/reviews.h"
#include "api/scale.h"
#include "api/task.h"
#include "api/watch.h"
#include "api/write.h"
#include "authn/impersonate.h"
#include "object/meta.h"
#include "object/status.h"

enum {
    SLOW_NS = 1000000000,    /* requests that took longer than this are worth a line */
    RECHECK_NS = 1000000000, /* credentials have times of expiry: after this they are checked again */
    LOGGED_MAX = 1024,       /* bytes of one text that a client chose */
};

/* ---- The life of a request. ---- */

static int64_t mono(const struct api *api)
{
    return clock_mono_ns(&api->options.clock);
}

static bool is_anonymous(const struct api_request *r)
{
    return r->who.user.n == 0 || str_eq(r->who.user, AUTHN_ANONYMOUS);
}

/* Every request at level debug; without that only those that failed or were slow, and of these not all: peers can cause them. */
static void note(struct api_request *r, int64_t took)
{
    struct api *api = r->api;
    bool is_watch = r->route.verb == VERB_WATCH;
    bool is_notable = r->status >= 500 || (took > SLOW_NS && !is_watch);
    struct log_limit *limit = is_anonymous(r) ? &api->log_limits.anonymous : &api->log_limits.request;
    log_line_limited(
        api->options.log, is_notable ? limit : NULL, is_notable ? LOG_WARN : LOG_DEBUG, "request", LOG_STR("id", r->id),
        LOG_STR("method", str_upto(r->x->method, LOGGED_MAX)), LOG_STR("path", str_upto(r->route.path, LOGGED_MAX)),
        LOG_STR("user", str_upto(r->who.user, LOGGED_MAX)), LOG_INT("status", r->status), LOG_INT("us", took / 1000));
}

static void gone(struct http_exchange *x)
{
    struct api_request *r = x->user;
    int64_t took = mono(r->api) - r->started;
    if (r->status) { /* 0: its body never came, or the connection refused it */
        metrics_request(r->api->metrics, r, took);
        note(r, took);
    }
    flow_end(&r->flow);
    if (r->released)
        r->released(r->released_ctx);
    if (r->route.kind)
        registry_release(r->route.kind);
    task_release(r);
    r->api->n_requests--;
    free(r);
}

void api_forget(struct api_request *r)
{
    struct route route = {.is_resource = true, .kind = r->route.kind, .verb = r->route.verb};
    r->route = route;
    r->id = (str){0};
    r->who = (struct authz_identity){0};
    r->token = (str){0};
    r->query = (struct query){0};
    r->warnings.n = 0;
    r->warnings.cap = 0;
    r->warnings.p = NULL;
    http_forget(r->x);
}

/* ---- Who asks. ---- */

static struct authn_credentials credentials_of(const struct api_request *r)
{
    const struct tls_peer *peer = r->x->peer;
    return (struct authn_credentials){
        .has_certificate = peer->state != TLS_PEER_NONE,
        .is_certificate_bad = peer->state == TLS_PEER_BAD,
        .certificate_der = peer->der,
        .certificate_not_after = peer->not_after,
        .authorization = http_header(r->x, S("authorization")),
    };
}

static bool authenticate(struct api_request *r)
{
    struct authn_credentials credentials = credentials_of(r);
    struct err err;
    if (authn_identify(r->api->authn, r->arena, &credentials, &r->who, &r->token, &err) == 0) {
        r->x->is_known = !str_eq(r->who.user, AUTHN_ANONYMOUS);
        str warning = authn_warning(credentials.authorization);
        if (warning.n)
            api_warn(r, warning);
        return true;
    }
    log_line_limited(r->api->options.log, &r->api->log_limits.credential, LOG_INFO, "credential refused",
                     LOG_STR("id", r->id), LOG_STR("remote", r->x->remote), LOG_STR("reason", str_of(err.msg)));
    struct json status = status_unauthorized(r->arena);
    api_refuse(r, &status);
    return false;
}

static struct status_attempt attempt_of(const struct authz_identity *who, const struct authz_attributes *what)
{
    return (struct status_attempt){
        .user = who->user,
        .verb = what->verb,
        .path = what->is_resource ? (str){0} : what->path,
        .group = what->group,
        .resource = what->resource,
        .subresource = what->subresource,
        .namespace = what->namespace,
        .name = what->name,
    };
}

static bool allow(struct api_request *r, const struct authz_attributes *what)
{
    struct authz_decision decision = authz_check(r->api->authz, &r->who, what, NULL);
    if (decision.allowed)
        return true;
    decision = authz_check(r->api->authz, &r->who, what, r->arena); /* now somebody wants to know why */
    struct status_attempt attempt = attempt_of(&r->who, what);
    struct json status = status_forbidden_attempt(r->arena, &attempt, decision.reason);
    api_refuse(r, &status);
    return false;
}

/* Browsers must not take it for anything but text. */
static void answer_error_text(struct api_request *r, int status, str text)
{
    struct http_header own[] = {{S("Content-Type"), S("text/plain; charset=utf-8")},
                                {S("X-Content-Type-Options"), S("nosniff")}};
    api_answer_with(r, status, (struct http_headers){own, 2}, text);
}

/* In Kubernetes' words, which are plain text and no Status, with what HTML would take for markup escaped. */
static void refuse_impersonation(struct api_request *r, const struct err *err)
{
    struct buf uri = {.arena = r->arena}, text = {.arena = r->arena}, safe = {.arena = r->arena};
    buf_add_str(&uri, r->x->path);
    if (r->x->query.n)
        buf_fmt(&uri, "?%.*s", STR(r->x->query));
    buf_add_str(&text, S("Internal Server Error: "));
    buf_add_quoted(&text, str_clip(r->arena, buf_str(&uri)));
    buf_fmt(&text, ": %s\n", err->msg);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '&' || c == '<' || c == '>')
            buf_add_str(&safe, c == '&' ? S("&amp;") : c == '<' ? S("&lt;") : S("&gt;"));
        else
            buf_add_char(&safe, c);
    }
    answer_error_text(r, 500, buf_str(&safe));
}

static bool impersonate(struct api_request *r)
{
    struct impersonate_header *headers = NULL;
    size_t n = 0;
    for (size_t i = 0; i < r->x->headers.n; i++) {
        const struct http_header *h = &r->x->headers.p[i];
        if (!impersonate_is_header(h->name))
            continue;
        if (!headers)
            headers = ARENA_ARRAY(r->arena, struct impersonate_header, r->x->headers.n);
        headers[n++] = (struct impersonate_header){h->name, h->value};
    }
    if (n == 0)
        return true;
    struct impersonation wanted;
    struct err err;
    if (impersonate_read(r->arena, headers, n, &wanted, &err) < 0) {
        if (err.code == ERR_INTERNAL)
            refuse_impersonation(r, &err);
        else
            api_refuse_err(r, &err);
        return false;
    }
    for (size_t i = 0; i < wanted.n; i++)
        if (!allow(r, &wanted.questions[i]))
            return false;
    if (wanted.n)
        r->who = wanted.who;
    return true;
}

/* ---- What is asked. ---- */

static void refuse_unknown_path(struct api_request *r)
{
    answer_error_text(r, 404, S("404 page not found\n"));
}

static bool is_get(const struct api_request *r)
{
    return str_eq(r->x->method, S("GET")) || str_eq(r->x->method, S("HEAD"));
}

static void serve_path(struct api_request *r)
{
    if (is_get(r) && (discovery_handle(r) || openapi_handle(r)))
        return;
    refuse_unknown_path(r);
}

static void refuse_unknown_resource(struct api_request *r)
{
    if (!registry_has_version(r->api->registry, r->route.group, r->route.version)) {
        refuse_unknown_path(r);
        return;
    }
    struct json status = status_no_such_resource(r->arena);
    api_refuse(r, &status);
}

static void refuse_method(struct api_request *r)
{
    const struct route *route = &r->route;
    struct json status = status_method_not_allowed(r->arena);
    if (route->kind && (route->kind->flags & KIND_CUSTOM)) {
        struct status_args args = {
            .code = ERR_METHOD_NOT_ALLOWED,
            .message = str_fmt(r->arena, "%s is not supported on resources of kind \"%.*s.%.*s\"",
                               route->verb ? verb_name(route->verb) : "", STR(route->resource), STR(route->group)),
            .about = {route->group, route->resource, {0}},
        };
        status = status_build(r->arena, &args);
    }
    api_refuse(r, &status);
}

/* Does the path fit the kind: a namespace where there is one, and only the last segments that exist? The request was
 * authorised within the namespace of its path, so nothing that is not in there may be found behind it. */
static bool is_place(const struct route *route)
{
    const struct kind *kind = route->kind;
    if (route->rest.n || (route->name.n && (kind->flags & KIND_NOT_STORED)))
        return false;
    if (kind->namespaced)
        return route->namespace.n || route->name.n == 0;
    return route->namespace.n == 0 || (route->is_namespace && route->group.n == 0);
}

/* Of custom resources it is the object that is said to be missing. */
static void refuse_unknown_subresource(struct api_request *r)
{
    const struct route *route = &r->route;
    if (!(route->kind->flags & KIND_CUSTOM)) {
        refuse_unknown_resource(r);
        return;
    }
    struct json status =
        status_not_found(r->arena, (struct status_subject){route->group, route->resource, route->name});
    api_refuse(r, &status);
}

static void serve_subresource(struct api_request *r)
{
    const struct route *route = &r->route;
    const struct kind_subresource *sub = kind_subresource(route->kind, route->subresource);
    if (!sub) {
        refuse_unknown_subresource(r);
        return;
    }
    if (!(sub->verbs & route->verb)) {
        refuse_method(r);
        return;
    }
    bool is_scale = str_eq(route->subresource, S("scale"));
    if (route->verb == VERB_GET && is_scale)
        task_start(r, scale_get);
    else if (route->verb == VERB_GET)
        read_get(r);
    else if (route->verb == VERB_UPDATE)
        task_start(r, is_scale ? scale_update : write_update);
    else if (route->verb == VERB_PATCH)
        task_start(r, is_scale ? scale_patch : write_patch);
    else if (route->verb == VERB_CREATE && str_eq(route->subresource, S("token")))
        task_start(r, reviews_token_request);
    else
        refuse_unknown_resource(r);
}

static bool is_custom_terminating(const struct route *route)
{
    return (route->kind->flags & KIND_CUSTOM) && !(route->kind->verbs & VERB_CREATE);
}

static bool allows_verb(const struct route *route)
{
    unsigned verb = route->verb;
    bool is_everywhere = route->kind->namespaced && route->namespace.n == 0;
    if (is_everywhere && !(verb & (VERB_LIST | VERB_WATCH)))
        return false;
    if (verb == VERB_CREATE && route->name.n)
        return false;
    if ((verb & (VERB_UPDATE | VERB_PATCH)) && !route->name.n)
        return false;
    if (is_custom_terminating(route) && (verb & (VERB_UPDATE | VERB_PATCH)))
        return true; /* finalizers must come off, though discovery does not list these any more */
    return route->kind->verbs & verb;
}

static void serve_object(struct api_request *r)
{
    const struct route *route = &r->route;
    if (route->verb == VERB_CREATE && is_custom_terminating(route)) {
        struct json status = write_terminating(r->arena, route->kind);
        api_refuse(r, &status);
        return;
    }
    if (!allows_verb(route)) {
        bool is_everywhere = route->kind->namespaced && route->namespace.n == 0;
        if ((route->kind->flags & KIND_CUSTOM) && is_everywhere)
            refuse_unknown_path(r);
        else
            refuse_method(r);
        return;
    }
    switch (route->verb) {
    case VERB_GET:
        read_get(r);
        return;
    case VERB_LIST:
        read_list(r);
        return;
    case VERB_WATCH:
        watch_start(r);
        return;
    case VERB_CREATE:
        task_start(r, route->kind->flags & KIND_NOT_STORED ? reviews_create : write_create);
        return;
    case VERB_UPDATE:
        task_start(r, write_update);
        return;
    case VERB_PATCH:
        task_start(r, write_patch);
        return;
    case VERB_DELETE:
        task_start(r, write_delete);
        return;
    case VERB_DELETECOLLECTION:
        task_start(r, write_delete_collection);
        return;
    default:
        refuse_method(r);
    }
}

static void serve_resource(struct api_request *r)
{
    struct route *route = &r->route;
    const struct kind *kind = registry_by_path(r->api->registry, route->group, route->version, route->resource);
    if (kind)
        route->kind = registry_hold(kind);
    if (!kind || !is_place(route)) {
        refuse_unknown_resource(r);
        return;
    }
    if (kind->flags & KIND_DEPRECATED)
        api_warn(r, str_of(kind->deprecation_warning));
    if (str_eq(r->x->method, S("HEAD")) &&
        !(kind->flags & KIND_CUSTOM)) { /* whoever may get may ask, nothing answers */
        refuse_method(r);
        return;
    }
    if (r->x->is_too_large) {
        struct json status = status_too_large(r->arena, JSON_MAX_BYTES);
        api_refuse(r, &status);
    } else if (route->subresource.n) {
        serve_subresource(r);
    } else {
        serve_object(r);
    }
}

static bool authorise(struct api_request *r)
{
    struct authz_attributes what = route_attributes(r);
    return allow(r, &what);
}

static bool parse(struct api_request *r)
{
    struct err err;
    if (query_parse(r->arena, r->x->query, &r->query, &err) == 0 && route_parse(r, &err) == 0 &&
        (r->route.verb == VERB_WATCH || query_timeout_check(r->arena, &r->query, &err) == 0))
        return true;
    api_refuse_err(r, &err);
    return false;
}

static void serve(struct api_request *r)
{
    if (r->route.is_resource)
        serve_resource(r);
    else
        serve_path(r);
}

/* ---- Stages. ---- */

/* Every request passes these in this order; the body is not needed. A stage that returns false has answered the
 * request. Afterwards the request waits for its turn, and is checked again if permissions changed or time passed.
 * README.md and docs/ARCHITECTURE.md draw these stages; the test docs/pipeline compares. */
enum { ON_HTTPS = 1, IN_PROCESS = 2, ON_RECHECK = 4 };

static const struct stage {
    bool (*run)(struct api_request *r);
    unsigned when;
} stages[] = {
    {authenticate, ON_HTTPS | ON_RECHECK},
    {parse, ON_HTTPS | IN_PROCESS},
    {impersonate, ON_HTTPS | IN_PROCESS | ON_RECHECK},
    {authorise, ON_HTTPS | IN_PROCESS | ON_RECHECK},
};

static bool run_stages(struct api_request *r, unsigned when)
{
    for (size_t i = 0; i < COUNT(stages); i++) {
        if ((stages[i].when & when) && !stages[i].run(r))
            return false;
    }
    return true;
}

/* ---- Its turn. ---- */

/* A permission or token that was revoked, or has expired, while the request waited is no longer valid. */
static bool check_again(struct api_request *r)
{
    rev now = store_revision(r->api->store);
    if (r->is_own || (r->checked == now && loop_now(r->api->options.loop) - r->started < RECHECK_NS))
        return true;
    r->checked = now;
    return run_stages(r, ON_RECHECK);
}

static enum flow_class flow_class_of(const struct api_request *r)
{
    if (r->is_own || authz_is_master(&r->who))
        return FLOW_FREE;
    if (r->route.verb == VERB_WATCH)
        return FLOW_LONG;
    bool is_read = !r->route.is_resource || (r->route.verb & (VERB_GET | VERB_LIST));
    return is_read ? FLOW_READ : FLOW_WRITE;
}

static void take_turn(struct flow_entry *e)
{
    struct api_request *r = (struct api_request *)((char *)e - offsetof(struct api_request, flow));
    if (r->api->is_closing || r->x->is_abandoned) { /* while it waited: nothing was begun */
        struct json status = status_unavailable(r->arena, S("the server is shutting down"));
        api_refuse(r, &status);
    } else if (http_postpone(r->x)) {
        flow_end(&r->flow); /* it comes again by pipeline_enter */
    } else if (check_again(r)) {
        serve(r);
    }
}

/* Serves it now, or when it is the turn of its user. */
static void wait_for_turn(struct api_request *r)
{
    if (!r->route.is_resource && is_get(r) && health_handle(r)) /* probes do not wait */
        return;
    r->flow.run = take_turn;
    if (flow_start(r->api->flows, &r->flow, r->who.user, flow_class_of(r)))
        return;
    struct json status = status_too_many_requests(r->arena, S("Too many requests, please try again later."), 1);
    api_refuse(r, &status);
}

/* ---- The two doors. ---- */

static struct api_request *begin(struct api *api, struct http_exchange *x)
{
    struct api_request *r = xmalloc(sizeof *r);
    *r = (struct api_request){
        .api = api,
        .x = x,
        .arena = &x->arena,
        .started = mono(api),
        .id = meta_generate_uid(&x->arena, &api->options.random),
    };
    x->user = r;
    x->gone = gone;
    api->n_requests++;
    return r;
}

static bool check_head(struct api *api, struct http_exchange *x)
{
    struct api_request *r = begin(api, x);
    r->checked = store_revision(api->store);
    return run_stages(r, ON_HTTPS);
}

void pipeline_head(struct api *api, struct http_exchange *x)
{
    (void)check_head(api, x);
}

void pipeline_enter(struct api *api, struct http_exchange *x)
{
    if (x->user || check_head(api, x))
        wait_for_turn(x->user);
}

void pipeline_enter_as(struct api *api, struct http_exchange *x, const struct authz_identity *who)
{
    struct api_request *r = begin(api, x);
    r->who = *who;
    r->is_own = true;
    if (run_stages(r, IN_PROCESS))
        wait_for_turn(r);
}
