/* SPDX-License-Identifier: Apache-2.0 */
#include "lease_server.h"

#include <assert.h>
#include <stdlib.h>

#include "object/object.h"

struct way {
    struct transport transport; /* first member */
    struct lease_server *server;
    const struct link *link;
};

/* A call on its way there, then back. Cancelled ones go on: nobody can take back what was sent. */
struct passage {
    struct passage *next, **link;
    struct way *way;
    struct arena arena;
    struct client_request request;
    struct client_listener listener; /* end NULL: cancelled */
    void *ctx;
    struct loop_timer timer;
    int status;
    str body;
};

static void passage_free(struct passage *p)
{
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    loop_timer_cancel(p->way->server->loop, &p->timer);
    arena_done(&p->arena);
    free(p);
}

/* ---- The Lease. ---- */

static void store(struct lease_server *s, const struct json *object)
{
    s->exists = true;
    s->lease = json_dup(&s->arena, object);
    struct json *meta = json_get_mut(&s->lease, S("metadata"));
    str version = str_fmt(&s->arena, "%llu", (unsigned long long)++s->revision);
    json_set(&s->arena, meta, S("resourceVersion"), json_str(version));
}

static int put(struct lease_server *s, const struct json *object)
{
    s->puts++;
    if (!s->exists)
        return 404;
    if (!str_eq(object_rv(object), object_rv(&s->lease))) {
        s->conflicts++;
        return 409;
    }
    struct buf text = {.arena = &s->arena};
    json_encode(&text, json_get(object, S("spec")), 0);
    s->last_put = buf_str(&text);
    store(s, object);
    return 200;
}

static int post(struct lease_server *s, const struct json *object)
{
    s->posts++;
    if (s->exists) {
        s->conflicts++;
        return 409;
    }
    store(s, object);
    return 201;
}

static void act(struct lease_server *s, struct passage *p)
{
    struct json object = json_null();
    struct buf body = {.arena = &p->arena};
    str base = S("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");
    bool is_post = str_eq(p->request.method, S("POST")), is_get = str_eq(p->request.method, S("GET"));
    str want = is_post ? base : str_fmt(&p->arena, "%.*s/reeve", STR(base));
    if (!str_eq(p->request.target, want))
        abort();
    if (!is_get && json_decode(&p->arena, p->request.body, NULL, NULL, &object, NULL) < 0)
        abort();
    if (is_get) {
        s->gets++;
        p->status = s->exists ? 200 : 404;
    } else {
        p->status = is_post ? post(s, &object) : put(s, &object);
    }
    if (p->status < 300)
        json_encode(&body, &s->lease, 0);
    p->body = p->way->link->babbles ? S("[nonsense") : buf_str(&body);
}

/* ---- The way there and back. ---- */

static void on_back(void *ctx)
{
    struct passage *p = ctx;
    struct client_listener listener = p->listener;
    void *listener_ctx = p->ctx;
    struct err err;
    struct client_answer answer = {.status = p->status, .body = p->body};
    if (p->status == 0) {
        err_set(&err, ERR_UNAVAILABLE, "connection refused");
        answer.err = &err;
    }
    if (listener.end)
        listener.end(listener_ctx, &answer);
    passage_free(p);
}

static void on_there(void *ctx)
{
    struct passage *p = ctx;
    const struct link *link = p->way->link;
    act(p->way->server, p);
    if (link->loses_answers)
        return;
    p->timer.fn = on_back;
    loop_timer_set(p->way->server->loop, &p->timer, link->back_ns);
}

static struct transport_call *start(struct transport *t, const struct client_request *request,
                                    const struct client_listener *listener, void *ctx)
{
    struct way *way = (struct way *)t;
    struct lease_server *s = way->server;
    struct passage *p = calloc(1, sizeof *p);
    assert(p);
    p->way = way;
    p->request = *request;
    p->request.method = str_dup(&p->arena, request->method);
    p->request.target = str_dup(&p->arena, request->target);
    p->request.body = str_dup(&p->arena, request->body);
    p->listener = *listener;
    p->ctx = ctx;
    p->next = s->under_way;
    p->link = &s->under_way;
    if (p->next)
        p->next->link = &p->next;
    s->under_way = p;
    p->timer = (struct loop_timer){.fn = way->link->is_cut ? on_back : on_there, .ctx = p};
    if (!way->link->loses_requests)
        loop_timer_set(s->loop, &p->timer, way->link->is_cut ? 0 : way->link->there_ns);
    return (struct transport_call *)p;
}

static void cancel(struct transport *t, struct transport_call *call)
{
    (void)t;
    ((struct passage *)call)->listener.end = NULL;
}

/* What was sent through it arrives all the same; it goes with the server. */
static void free_way(struct transport *t)
{
    (void)t;
}

struct transport *lease_server_transport(struct lease_server *s, const struct link *link)
{
    static const struct transport_ops ops = {start, cancel, free_way};
    struct way *way = ARENA_NEW(&s->arena, struct way);
    *way = (struct way){{&ops}, s, link};
    return &way->transport;
}

void lease_server_done(struct lease_server *s)
{
    for (struct passage *p = s->under_way, *next; p; p = next) {
        next = p->next;
        passage_free(p);
    }
    arena_done(&s->arena);
}

/* ---- Others. ---- */

void lease_server_set_spec(struct lease_server *s, const char *spec)
{
    struct json object = s->lease, tree;
    if (!s->exists && json_decode(&s->arena, S("{\"metadata\":{\"name\":\"reeve\"}}"), NULL, NULL, &object, NULL) < 0)
        abort();
    if (json_decode(&s->arena, str_of(spec), NULL, NULL, &tree, NULL) < 0)
        abort();
    json_set(&s->arena, &object, S("spec"), tree);
    store(s, &object);
}

void lease_server_annotate(struct lease_server *s)
{
    struct json annotations = json_obj();
    json_set(&s->arena, &annotations, S("kept"), json_str(S("yes")));
    json_set(&s->arena, json_get_mut(&s->lease, S("metadata")), S("annotations"), annotations);
    store(s, &s->lease);
}

void lease_server_delete(struct lease_server *s)
{
    s->exists = false;
}

str lease_server_field(struct lease_server *s, const char *name)
{
    const struct json *v = s->exists ? json_get(json_get(&s->lease, S("spec")), str_of(name)) : NULL;
    int64_t n;
    return json_to_int(v, &n) ? str_fmt(&s->arena, "%lld", (long long)n) : json_text(v);
}
