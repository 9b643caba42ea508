/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fake_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "object/status.h"

/* ---- The life of a call. ----
 *
 *   start ─► ARRIVED ──in a later turn──► fault? ─► served ─► gone
 *                                           │         └─► WATCHES ─► gone
 *                                           └─► WAITS ─► fake_release ─► served
 */

static void release(struct transport_call *call)
{
    struct fake *f = call->fake;
    *call->link = call->next;
    if (call->next)
        call->next->link = call->link;
    else
        f->calls_end = call->link;
    if (call->is_working)
        loop_defer_cancel(f->options.loop, &call->work);
    loop_timer_cancel(f->options.loop, &call->timer);
    arena_done(&call->arena);
    free(call);
}

bool fake_tell(struct transport_call *call, str bytes)
{
    size_t piece = call->fake->options.piece ? call->fake->options.piece : bytes.n;
    assert(call->listener.data || bytes.n == 0);
    call->is_telling = true;
    for (; bytes.n && !call->is_cancelled; bytes = str_from(bytes, piece))
        call->listener.data(call->ctx, str_upto(bytes, piece));
    call->is_telling = false;
    if (!call->is_cancelled)
        return true;
    release(call);
    return false;
}

static void end(struct transport_call *call, const struct client_answer *answer)
{
    call->is_telling = true; /* nobody frees it meanwhile */
    call->listener.end(call->ctx, answer);
    release(call);
}

void fake_answer(struct transport_call *call, int status, int retry_after, str text)
{
    bool in_pieces = status == 200 && call->listener.data;
    if (in_pieces && !fake_tell(call, text))
        return;
    end(call, &(struct client_answer){.status = status,
                                      .content_type = S("application/json"),
                                      .retry_after_ns = (int64_t)retry_after * 1000000000,
                                      .body = in_pieces ? (str){0} : text});
}

void fake_lose(struct transport_call *call, bool can_retry)
{
    struct err err;
    err_set(&err, can_retry ? ERR_UNAVAILABLE : ERR_IO, "the connection was lost");
    end(call, &(struct client_answer){.err = &err, .can_retry = can_retry});
}

/* ---- Faults. ---- */

static bool matches(const struct client_request *r, str method, str prefix)
{
    return (method.n == 0 || str_eq(method, r->method)) && str_has_prefix(r->target, prefix);
}

static const struct fake_fault *fault_of(struct fake *f, const struct client_request *request)
{
    vec_each(&f->rules, rule)
    {
        if (rule->is_over || !matches(request, rule->fault.method, rule->fault.prefix))
            continue;
        if (rule->fault.times && --rule->fault.times == 0)
            rule->is_over = true;
        return &rule->fault;
    }
    return NULL;
}

static void answer_fault(struct transport_call *call, const struct fake_fault *fault)
{
    str body = fault->body;
    if (body.n == 0) {
        struct buf b = {.arena = &call->arena};
        enum err_code code = status_code((str){0}, fault->status);
        struct json status = status_build(&call->arena, &(struct status_args){.code = code,
                                                                              .http = fault->status,
                                                                              .message = S("as the test has it"),
                                                                              .retry_after = fault->retry_after});
        json_encode(&b, &status, 0);
        body = buf_str(&b);
    }
    fake_answer(call, fault->status, fault->retry_after, body);
}

/* A listener that keeps the answer, or half of it, from the one who asked. */
struct thief {
    struct buf body;
    bool is_over;
};

static void steal(void *ctx, str bytes)
{
    struct thief *t = ctx;
    buf_add_str(&t->body, bytes);
}

static void steal_end(void *ctx, const struct client_answer *answer)
{
    struct thief *t = ctx;
    buf_add_str(&t->body, answer->body);
    t->is_over = true;
}

/* Carries the request out for nobody, and shows half of the answer if asked to; then the connection is gone. */
static void serve_and_lose(struct transport_call *call, bool shows_half)
{
    struct fake *f = call->fake;
    struct thief thief = {0};
    struct transport *t = fake_transport(f);
    static const struct client_listener listener = {steal, steal_end};
    struct transport_call *other = t->ops->start(t, &call->request, &listener, &thief);
    f->log.n--; /* it is the same request */
    loop_defer_cancel(f->options.loop, &other->work);
    other->is_working = false;
    fake_serve(other);
    if (!thief.is_over)
        t->ops->cancel(t, other); /* a watch */
    t->ops->free(t);
    bool goes_on =
        !shows_half || !call->listener.data || fake_tell(call, str_upto(buf_str(&thief.body), thief.body.n / 2));
    buf_done(&thief.body);
    if (goes_on)
        fake_lose(call, false);
}

void fake_fault(struct fake *f, const struct fake_fault *fault)
{
    struct fake_rule *rule = vec_push(&f->arena, &f->rules);
    *rule = (struct fake_rule){.fault = *fault};
    rule->fault.method = str_dup(&f->arena, fault->method);
    rule->fault.prefix = str_dup(&f->arena, fault->prefix);
    rule->fault.body = str_dup(&f->arena, fault->body);
}

void fake_heal(struct fake *f)
{
    f->rules.n = 0;
}

/* ---- Work. ---- */

static void serve(struct transport_call *call)
{
    const struct fake_fault *fault = fault_of(call->fake, &call->request);
    if (fault == NULL) {
        fake_serve(call);
        return;
    }
    switch (fault->type) {
    case FAKE_ANSWER:
        answer_fault(call, fault);
        return;
    case FAKE_LOST:
        if (fault->is_done)
            serve_and_lose(call, false);
        else
            fake_lose(call, fault->can_retry);
        return;
    case FAKE_CUT:
        serve_and_lose(call, true);
        return;
    case FAKE_HELD:
        call->state = FAKE_WAITS;
        return;
    }
}

static void on_work(struct loop_work *w)
{
    struct transport_call *call = (struct transport_call *)((char *)w - offsetof(struct transport_call, work));
    call->is_working = false;
    if (call->state == FAKE_ARRIVED)
        serve(call);
    else if (call->state == FAKE_WATCHES)
        fake_watch_go_on(call);
    else
        fake_serve(call); /* it was held */
}

size_t fake_release(struct fake *f)
{
    size_t n = 0;
    for (struct transport_call *call = f->calls; call; call = call->next) {
        if (call->state != FAKE_WAITS || call->is_working)
            continue;
        call->is_working = true;
        loop_defer(f->options.loop, &call->work);
        n++;
    }
    return n;
}

/* ---- The transport. ---- */

struct fake_transport {
    struct transport base; /* first */
    struct fake *fake;
};

static struct client_request dup_request(struct arena *a, const struct client_request *r)
{
    return (struct client_request){.method = str_dup(a, r->method),
                                   .target = str_dup(a, r->target),
                                   .accept = str_dup(a, r->accept),
                                   .content_type = str_dup(a, r->content_type),
                                   .body = str_dup(a, r->body),
                                   .as = str_dup(a, r->as)};
}

static struct transport_call *start(struct transport *t, const struct client_request *request,
                                    const struct client_listener *listener, void *ctx)
{
    struct fake *f = ((struct fake_transport *)t)->fake;
    struct transport_call *call = xcalloc(1, sizeof *call);
    call->fake = f;
    call->number = ++f->n_calls;
    call->link = f->calls_end;
    *f->calls_end = call;
    f->calls_end = &call->next;
    call->request = dup_request(&call->arena, request);
    call->listener = *listener;
    call->ctx = ctx;
    call->work.fn = on_work;
    call->is_working = true;
    loop_defer(f->options.loop, &call->work);
    struct client_request kept = dup_request(&f->arena, request);
    *vec_push(&f->arena, &f->log) = (struct fake_request){
        kept.method, kept.target, kept.accept, kept.content_type, kept.body, kept.as, loop_now(f->options.loop)};
    return call;
}

static void cancel(struct transport *t, struct transport_call *call)
{
    (void)t;
    if (call->is_telling)
        call->is_cancelled = true;
    else
        release(call);
}

static void free_transport(struct transport *t)
{
    free(t);
}

struct transport *fake_transport(struct fake *f)
{
    static const struct transport_ops ops = {start, cancel, free_transport};
    struct fake_transport *t = xcalloc(1, sizeof *t);
    *t = (struct fake_transport){{&ops}, f};
    return &t->base;
}

/* ---- The whole. ---- */

struct fake *fake_new(const struct fake_options *options)
{
    struct fake *f = xcalloc(1, sizeof *f);
    f->options = *options;
    f->registry = registry_new();
    f->random.state = 1;
    f->rev = 1;
    f->calls_end = &f->calls;
    return f;
}

void fake_free(struct fake *f)
{
    if (f == NULL)
        return;
    assert(f->calls == NULL);
    registry_free(f->registry);
    arena_done(&f->arena);
    free(f);
}

/* ---- What was asked. ---- */

const struct fake_request *fake_log(const struct fake *f, size_t *ret_n)
{
    *ret_n = f->log.n;
    return f->log.p;
}

void fake_log_clear(struct fake *f)
{
    f->log.n = 0;
}

size_t fake_count(const struct fake *f, const char *method, const char *prefix)
{
    size_t n = 0;
    vec_each(&f->log, r)
    {
        if ((*method == 0 || str_eq(r->method, str_of(method))) && str_has_prefix(r->target, str_of(prefix)))
            n++;
    }
    return n;
}

size_t fake_writes(const struct fake *f)
{
    return f->log.n - fake_count(f, "GET", "");
}

static size_t count_calls(const struct fake *f, enum fake_state state)
{
    size_t n = 0;
    for (const struct transport_call *call = f->calls; call; call = call->next)
        n += call->state == state;
    return n;
}

size_t fake_watches(const struct fake *f)
{
    return count_calls(f, FAKE_WATCHES);
}

size_t fake_held(const struct fake *f)
{
    return count_calls(f, FAKE_WAITS);
}
