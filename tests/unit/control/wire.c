/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <stdlib.h>

static void forget(struct wire_call *call)
{
    struct wire_call **link = &call->wire->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    call->wire->n_calls--;
    free(call);
}

static struct transport_call *start(struct transport *t, const struct client_request *request,
                                    const struct client_listener *listener, void *ctx)
{
    struct wire *w = (struct wire *)t;
    struct wire_call *call = xcalloc(1, sizeof *call);
    *call = (struct wire_call){.next = w->calls,
                               .wire = w,
                               .target = str_dup(&w->arena, request->target),
                               .accept = str_dup(&w->arena, request->accept),
                               .total_ns = request->total_ns,
                               .listener = *listener,
                               .ctx = ctx};
    w->calls = call;
    w->n_calls++;
    w->n_asked++;
    return (struct transport_call *)call;
}

static void cancel(struct transport *t, struct transport_call *call)
{
    ((struct wire *)t)->n_cancelled++;
    forget((struct wire_call *)call);
}

static void no_free(struct transport *t)
{
    (void)t;
}

void wire_init(struct wire *w)
{
    static const struct transport_ops ops = {start, cancel, no_free};
    *w = (struct wire){.base = {&ops}};
}

void wire_done(struct wire *w)
{
    while (w->calls)
        forget(w->calls);
    arena_done(&w->arena);
}

/* The bytes are gone when the listener returns: whoever looks at them later is caught. */
void wire_send(struct wire_call *call, str bytes)
{
    char *copy = xmalloc(bytes.n ? bytes.n : 1);
    if (bytes.n)
        memcpy(copy, bytes.p, bytes.n);
    call->listener.data(call->ctx, (str){copy, bytes.n});
    free(copy);
}

void wire_end(struct wire_call *call, int status, str body, int retry_after)
{
    struct client_listener listener = call->listener;
    void *ctx = call->ctx;
    if (status == 200 && body.n && listener.data) {
        struct wire *w = call->wire;
        size_t before = w->n_cancelled;
        wire_send(call, body);
        if (w->n_cancelled != before)
            return;
        body = (str){0};
    }
    forget(call);
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "connection lost");
    listener.end(ctx, &(struct client_answer){.status = status,
                                              .body = body,
                                              .retry_after_ns = (int64_t)retry_after * 1000000000,
                                              .err = status ? NULL : &err});
}
