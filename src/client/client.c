/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include <assert.h>
#include <stdlib.h>

#include "client/client_internal.h"

/* One attempt. After client_stop it stays, silent, until its owner cancels it or the client is freed: owners need not know. */
struct client_call {
    struct client *client;
    struct client_call *next, **link; /* among the client's calls */
    struct transport_call *at;        /* NULL: silent */
    struct client_listener listener;
    void *ctx;
    struct loop_timer limit;
};

/* ---- Calls. ---- */

static void release(struct client_call *call)
{
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    loop_timer_cancel(call->client->loop, &call->limit);
    free(call);
}

static void silence(struct client_call *call)
{
    struct transport *t = call->client->transport;
    if (call->at)
        t->ops->cancel(t, call->at);
    call->at = NULL;
    loop_timer_cancel(call->client->loop, &call->limit);
}

static void end_with(struct client_call *call, const struct client_answer *answer)
{
    struct client_listener listener = call->listener;
    void *ctx = call->ctx;
    release(call);
    listener.end(ctx, answer);
}

static void on_data(void *ctx, str bytes)
{
    struct client_call *call = ctx;
    call->listener.data(call->ctx, bytes);
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    end_with(ctx, answer);
}

static void on_limit(void *ctx)
{
    struct client_call *call = ctx;
    struct err err;
    silence(call);
    err_set(&err, ERR_TIMEOUT, "the server took too long to answer");
    end_with(call, &(struct client_answer){.err = &err});
}

struct client_call *client_start(struct client *c, const struct client_request *request,
                                 const struct client_listener *listener, void *ctx)
{
    struct client_call *call = xcalloc(1, sizeof *call);
    *call = (struct client_call){.client = c,
                                 .next = c->calls,
                                 .link = &c->calls,
                                 .listener = *listener,
                                 .ctx = ctx,
                                 .limit = {.fn = on_limit, .ctx = call}};
    if (c->calls)
        c->calls->link = &call->next;
    c->calls = call;
    if (c->is_stopped) /* written by this thread alone */
        return call;
    call->at = c->transport->ops->start(
        c->transport, request, &(struct client_listener){.data = listener->data ? on_data : NULL, .end = on_end}, call);
    if (request->total_ns > 0)
        loop_timer_set(c->loop, &call->limit, request->total_ns);
    return call;
}

void client_cancel(struct client_call *call)
{
    if (call == NULL)
        return;
    silence(call);
    release(call);
}

/* ---- The client. ---- */

struct client *client_new(const struct client_options *options)
{
    struct client *c = calloc(1, sizeof *c);
    if (c == NULL || pthread_mutex_init(&c->lock, NULL))
        abort();
    c->loop = options->loop;
    c->transport = options->transport;
    c->random = options->random;
    c->is_impatient = options->is_impatient;
    c->inbox_end = &c->inbox;
    c->arrival.fn = client_waits_arrive;
    return c;
}

void client_stop(struct client *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->is_stopped = true;
    (void)pthread_mutex_unlock(&c->lock);
    client_waits_stop(c);
    for (struct client_call *call = c->calls; call; call = call->next)
        silence(call);
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    client_stop(c);
    for (struct client_call *call = c->calls, *next; call; call = next) {
        next = call->next;
        free(call);
    }
    if (c->is_posted)
        loop_post_cancel(c->loop, &c->arrival);
    c->transport->ops->free(c->transport);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}
