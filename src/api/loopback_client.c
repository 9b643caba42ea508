/* SPDX-License-Identifier: Apache-2.0 */
#include "api/loopback_client.h"

#include <stdlib.h>

#include "api/loopback.h"
#include "client/retry_after.h"

struct loopback_transport {
    struct transport base; /* first */
    struct loop *loop;
    struct api *api;                         /* NULL: it was closed */
    struct loopback_transport *next, **link; /* among those of the server */
    struct arena arena;
    struct authz_identity who;
    str user_agent;
};

/* The server may answer before loopback_start returns; the listener hears of it later, when its owner has the call. */
struct transport_call {
    struct loopback_transport *transport;
    struct loopback *at; /* NULL: answered */
    struct client_listener listener;
    void *ctx;
    bool is_starting, is_ending, is_cancelled;
    struct loop_work later; /* deferred once it was answered within the start */
    struct arena arena;     /* of the answer that waits */
    struct client_answer answer;
    struct err err;
};

/* ---- Answers. The server says Retry-After in seconds, never as a date. ---- */

static str header_of(struct http_headers headers, str name)
{
    for (size_t i = 0; i < headers.n; i++)
        if (http_name_eq(headers.p[i].name, name))
            return headers.p[i].value;
    return (str){0};
}

static void release(struct transport_call *call)
{
    arena_done(&call->arena);
    free(call);
}

static void end(struct transport_call *call)
{
    struct client_answer *answer = &call->answer;
    call->is_ending = true;
    if (call->listener.data && answer->status == 200) {
        if (answer->body.n)
            call->listener.data(call->ctx, answer->body);
        answer->body = (str){0};
    }
    if (!call->is_cancelled)
        call->listener.end(call->ctx, answer);
    release(call);
}

static void on_later(struct loop_work *w)
{
    end((struct transport_call *)((char *)w - offsetof(struct transport_call, later)));
}

static void on_piece(void *ctx, str bytes)
{
    struct transport_call *call = ctx;
    call->listener.data(call->ctx, bytes);
}

static void take(struct transport_call *call, int status, struct http_headers headers, str body)
{
    call->at = NULL;
    call->answer = (struct client_answer){.status = status,
                                          .content_type = header_of(headers, S("Content-Type")),
                                          .retry_after_ns = retry_after_parse(header_of(headers, S("Retry-After")), 0),
                                          .body = body};
    if (status == 0) {
        err_set(&call->err, ERR_UNAVAILABLE, "the server of this process has ended the call");
        call->answer.err = &call->err;
    } else if (body.n > CLIENT_ANSWER_BYTES) {
        err_set(&call->err, ERR_TOO_LARGE, "the answer is larger than %d bytes", CLIENT_ANSWER_BYTES);
        call->answer = (struct client_answer){.err = &call->err};
    }
}

static void end_later(struct transport_call *call)
{
    call->answer.content_type = str_dup(&call->arena, call->answer.content_type);
    call->answer.body = str_dup(&call->arena, call->answer.body);
    call->later.fn = on_later;
    loop_defer(call->transport->loop, &call->later);
}

static void on_done(void *ctx, int status, struct http_headers headers, str body)
{
    struct transport_call *call = ctx;
    take(call, status, headers, body);
    if (call->is_starting)
        end_later(call);
    else
        end(call);
}

/* ---- Calls. ---- */

static struct transport_call *start(struct transport *t, const struct client_request *request,
                                    const struct client_listener *listener, void *ctx)
{
    struct transport_call *call = xcalloc(1, sizeof *call);
    struct loopback_transport *lt = (struct loopback_transport *)t;
    call->transport = lt;
    call->listener = *listener;
    call->ctx = ctx;
    if (lt->api == NULL) {
        take(call, 0, (struct http_headers){0}, (str){0});
        end_later(call);
        return call;
    }
    struct http_header as = {S("Impersonate-User"), request->as};
    call->is_starting = true;
    call->at = loopback_start(lt->api, &(struct loopback_call){.who = lt->who,
                                                               .headers = {&as, request->as.n ? 1 : 0},
                                                               .method = request->method,
                                                               .target = request->target,
                                                               .content_type = request->content_type,
                                                               .accept = request->accept,
                                                               .user_agent = lt->user_agent,
                                                               .body = request->body,
                                                               .piece = listener->data ? on_piece : NULL,
                                                               .done = on_done,
                                                               .ctx = call});
    call->is_starting = false;
    return call;
}

static void cancel(struct transport *t, struct transport_call *call)
{
    (void)t;
    if (call->is_ending) { /* by the listener, which has just got all of it */
        call->is_cancelled = true;
        return;
    }
    if (call->at)
        loopback_cancel(call->at);
    else
        loop_defer_cancel(call->transport->loop, &call->later);
    release(call);
}

static void leave(struct loopback_transport *lt)
{
    if (lt->api == NULL)
        return;
    *lt->link = lt->next;
    if (lt->next)
        lt->next->link = lt->link;
    lt->api = NULL;
}

static void free_transport(struct transport *t)
{
    struct loopback_transport *lt = (struct loopback_transport *)t;
    leave(lt);
    arena_done(&lt->arena);
    free(lt);
}

void loopback_client_detach(struct api *api)
{
    while (api->transports)
        leave(api->transports);
}

/* ---- Making one. ---- */

struct transport *loopback_client_new(struct api *api, const struct loopback_client_options *options)
{
    static const struct transport_ops ops = {start, cancel, free_transport};
    struct loopback_transport *lt = xcalloc(1, sizeof *lt);
    lt->base.ops = &ops;
    lt->loop = api->options.loop;
    lt->api = api;
    lt->next = api->transports;
    lt->link = &api->transports;
    if (lt->next)
        lt->next->link = &lt->next;
    api->transports = lt;
    lt->who = loopback_dup_identity(&lt->arena, &options->who);
    lt->user_agent = str_dup(&lt->arena, options->user_agent);
    return &lt->base;
}

struct transport *loopback_client_new_account(struct api *api, str namespace, str name)
{
    struct arena a ARENA_SCOPE = {0};
    const str groups[] = {S("system:serviceaccounts"), str_fmt(&a, "system:serviceaccounts:%.*s", STR(namespace)),
                          S("system:authenticated")};
    struct loopback_client_options options = {
        .who = {.user = str_fmt(&a, "system:serviceaccount:%.*s:%.*s", STR(namespace), STR(name)),
                .groups = {groups, COUNT(groups)}},
        .user_agent = name,
    };
    return loopback_client_new(api, &options);
}
