/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage.h"

#include <assert.h>
#include <stdlib.h>

#include "controllers/garbage/garbage_internal.h"

#define PERIOD_NS (30 * NS_PER_S) /* of Kubernetes */
#define SOON_NS (2 * NS_PER_S)    /* a server may take a moment until discovery tells of a new definition */

enum { VISITORS = 8, ORPHANERS = 2 };

/* ---- What the graph tells; the lock is held. ---- */

static void on_visit(void *ctx, str uid)
{
    struct garbage *g = ctx;
    if (g->is_open)
        control_enqueue(g->visits, (str){0}, uid);
}

static void on_orphan(void *ctx, str uid)
{
    struct garbage *g = ctx;
    if (g->is_open)
        control_enqueue(g->orphans, (str){0}, uid);
}

static void on_absent(void *ctx, const struct graph_id *id)
{
    struct garbage *g = ctx;
    absent_add(&g->absent, id);
}

static void on_misplaced(void *ctx, const struct graph_id *dependent, const struct graph_reference *owner)
{
    struct garbage *g = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json object = json_obj(), metadata = json_obj();
    json_add(&scratch, &metadata, S("name"), json_str(dependent->name));
    json_add(&scratch, &metadata, S("namespace"), json_str(dependent->namespace));
    json_add(&scratch, &metadata, S("uid"), json_str(dependent->uid));
    json_add(&scratch, &object, S("apiVersion"), json_str(dependent->api_version));
    json_add(&scratch, &object, S("kind"), json_str(dependent->kind));
    json_add(&scratch, &object, S("metadata"), metadata);
    struct buf text = {.arena = &scratch};
    buf_fmt(&text, "ownerRef [%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s] does not exist in namespace ",
            STR(owner->api_version), STR(owner->kind), STR(dependent->namespace), STR(owner->name), STR(owner->uid));
    buf_add_quoted(&text, dependent->namespace);
    recorder_event(g->recorder, &object, RECORDER_WARNING, S("OwnerRefInvalidNamespace"), buf_str(&text));
}

/* ---- Which kinds there are. ---- */

static void on_news(struct loop_work *w)
{
    struct garbage *g = (struct garbage *)((char *)w - offsetof(struct garbage, news));
    pthread_mutex_lock(&g->lock);
    struct kinds *kinds = g->new_kinds, *former = g->kinds;
    g->new_kinds = NULL;
    g->kinds = kinds_ref(kinds);
    bool is_current = g->told == atomic_load(&g->definitions);
    pthread_mutex_unlock(&g->lock);
    kinds_unref(former);
    watch_kinds(g, kinds, is_current);
    kinds_unref(kinds);
}

/* Hands over what discovery has told; what was told before and nobody has taken yet is of no use any more. */
static void tell(struct garbage *g, struct kinds *kinds, uint_fast64_t definitions)
{
    pthread_mutex_lock(&g->lock);
    struct kinds *missed = g->new_kinds;
    g->new_kinds = kinds;
    g->told = definitions;
    pthread_mutex_unlock(&g->lock);
    kinds_unref(missed);
    if (missed == NULL)
        loop_post(g->env.loop, &g->news);
}

static int ask(void *ctx, struct reconcile *r, struct err *err)
{
    struct garbage *g = ctx;
    struct kinds *kinds;
    uint_fast64_t definitions = atomic_load(&g->definitions);
    int code = kinds_ask(r->client, &kinds, err);
    if (code < 0)
        return err_wrap(err, "ask for the kinds of the server");
    tell(g, kinds, definitions);
    r->again_ns = definitions != g->asked ? SOON_NS : PERIOD_NS;
    g->asked = definitions;
    return 0;
}

/* ---- Made and freed. ---- */

static void discard(void *state)
{
    struct garbage *g = state;
    loop_post_cancel(g->env.loop, &g->news);
    watch_done(g);
    recorder_free(g->recorder);
    graph_free(g->graph);
    absent_done(&g->absent);
    kinds_unref(g->kinds);
    kinds_unref(g->new_kinds);
    arena_done(&g->scratch);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static struct controller *add_controller(struct garbage *g, const char *name, unsigned workers,
                                         int (*reconcile)(void *ctx, struct reconcile *r, struct err *err))
{
    return control_add(
        g->env.control,
        &(struct controller_options){
            .name = name, .client = g->env.client, .workers = workers, .reconcile = reconcile, .ctx = g});
}

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    assert(env->loop);
    struct garbage *g = xcalloc(1, sizeof *g);
    g->env = *env;
    pthread_mutex_init(&g->lock, NULL);
    g->news.fn = on_news;
    g->graph = graph_new(&(struct graph_sink){
        .visit = on_visit, .orphan = on_orphan, .absent = on_absent, .misplaced = on_misplaced, .ctx = g});
    g->recorder = recorder_new(&(struct recorder_options){
        .loop = env->loop, .client = env->client, .clock = env->clock, .component = S("garbage-collector-controller")});
    control_own(env->control, g, discard);
    g->visits = add_controller(g, "garbage", VISITORS, garbage_visit);
    g->orphans = add_controller(g, "garbage-orphans", ORPHANERS, garbage_orphan);
    g->asking = add_controller(g, "garbage-kinds", 1, ask);
    control_enqueue(g->asking, (str){0}, GARBAGE_KINDS_KEY);
    return 0;
}

const struct controller_row garbage_row = {
    .name = "garbage",
    .account = "generic-garbage-collector",
    .summary = "deletes what has lost all its owners",
    .in_kubernetes = true,
    .rights = {"delete,get,list,patch,watch:*:*", "create,patch,update:,events.k8s.io:events"},
    .add = add,
};
