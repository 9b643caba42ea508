/* SPDX-License-Identifier: Apache-2.0 */
/* A visit of one object. The graph said that it is worth one; what is done depends on what the server has now:
 *
 *   there is no such object                        the graph learns of it, and its dependents are visited
 *   it waits for its dependents, and none blocks   the finalizer foregroundDeletion goes
 *   it has no owner references                     nothing
 *   an owner is there                              references to owners that are gone, or wait for it, go
 *   owners wait for it, and it has dependents      deleted in the foreground, so that they go first
 *   all owners are gone, or wait for it            deleted, in the way its finalizers ask for
 *
 * Every deletion names the uid and the version it was decided on: nothing goes that is another object, or has got another owner. */
#include "controllers/garbage/garbage_internal.h"
#include "object/object.h"

#include "base/vec.h"

/* The references of an object by what became of the owners. */
struct owners {
    VEC(str) gone;  /* uids of owners that are gone, and of those that wait for it to go */
    size_t solid;   /* owners that are there */
    size_t waiting; /* that are deleting their dependents */
};

/* ---- Owners. ---- */

static bool is_known_absent(struct garbage *g, struct graph_id id)
{
    pthread_mutex_lock(&g->lock);
    bool is_absent = absent_has(&g->absent, &id);
    if (!is_absent) {
        id.namespace = (str){0};
        is_absent = absent_has(&g->absent, &id);
    }
    pthread_mutex_unlock(&g->lock);
    return is_absent;
}

static void remember_absent(const struct live *l, struct graph_id id)
{
    struct garbage *g = l->garbage;
    const struct client_resource *resource = kinds_find(l->kinds, id.api_version, id.kind);
    if (resource && !resource->namespaced)
        id.namespace = (str){0};
    pthread_mutex_lock(&g->lock);
    absent_add(&g->absent, &id);
    pthread_mutex_unlock(&g->lock);
}

/* The owner that a reference of the item names; references speak of the namespace of their object. */
static enum live_answer get_owner(const struct live *l, const struct json *ref, struct json *ret, struct err *err)
{
    struct graph_id id = {.api_version = json_get_text(ref, S("apiVersion")),
                          .kind = json_get_text(ref, S("kind")),
                          .namespace = l->item.id.namespace,
                          .name = json_get_text(ref, S("name")),
                          .uid = json_get_text(ref, S("uid"))};
    if (is_known_absent(l->garbage, id))
        return LIVE_GONE;
    enum live_answer answer = live_get(l, &id, ret, err);
    if (answer == LIVE_GONE)
        remember_absent(l, id);
    return answer;
}

/* LIVE_THERE: all of them are known. */
static enum live_answer sort_owners(const struct live *l, struct owners *ret, struct err *err)
{
    struct arena *a = l->r->arena;
    json_each_item(object_owners(&l->tree), ref)
    {
        struct json owner;
        enum live_answer answer = get_owner(l, ref, &owner, err);
        if (answer != LIVE_THERE && answer != LIVE_GONE)
            return answer;
        bool waits =
            answer == LIVE_THERE && object_is_deleting(&owner) && object_has_finalizer(&owner, GARBAGE_FOREGROUND);
        if (answer == LIVE_GONE || waits)
            *vec_push(a, &ret->gone) = json_get_text(ref, S("uid"));
        ret->waiting += waits;
        ret->solid += answer == LIVE_THERE && !waits;
    }
    return LIVE_THERE;
}

/* ---- What is done. ---- */

/* An owner waits for the item, the item has dependents: they go first. If one of those is itself waiting for its dependents, the
 * item may be among them: then nobody in the circle may block another. */
static int delete_in_foreground(struct live *l, struct err *err)
{
    struct garbage *g = l->garbage;
    pthread_mutex_lock(&g->lock);
    bool may_be_circle = graph_has_deleting_dependent(g->graph, l->item.id.uid);
    pthread_mutex_unlock(&g->lock);
    int code = may_be_circle ? live_unblock(l, err) : 0;
    return code < 0 ? code : live_delete(l, S("Foreground"), err);
}

static int act(struct live *l, const struct owners *owners, struct err *err)
{
    if (owners->solid > 0) {
        if (owners->gone.n == 0)
            return 0;
        return live_drop_owners(l, &l->item.id, (struct uids){owners->gone.p, owners->gone.n}, err);
    }
    if (owners->waiting > 0 && l->item.has_dependents)
        return delete_in_foreground(l, err);
    if (object_has_finalizer(&l->tree, GARBAGE_ORPHAN))
        return live_delete(l, S("Orphan"), err);
    if (object_has_finalizer(&l->tree, GARBAGE_FOREGROUND))
        return live_delete(l, S("Foreground"), err);
    return live_delete(l, S("Background"), err);
}

static int judge(struct live *l, struct err *err)
{
    struct owners owners = {0};
    if (json_len(object_owners(&l->tree)) == 0)
        return 0;
    switch (sort_owners(l, &owners, err)) {
    case LIVE_UNKNOWN:
        live_later(l);
        return 0;
    case LIVE_INVALID: /* will not become right by waiting */
        return 0;
    case LIVE_FAILED:
        return err->code;
    default:
        return act(l, &owners, err);
    }
}

/* While some kinds are not known yet there may be dependents that nobody has seen; the graph tells of it again when they are. */
static int finish_foreground(struct live *l, struct err *err)
{
    struct garbage *g = l->garbage;
    struct graph_view now = {0};
    pthread_mutex_lock(&g->lock);
    bool is_there = graph_find(g->graph, l->r->arena, l->item.id.uid, &now);
    pthread_mutex_unlock(&g->lock);
    if (!is_there || now.n_blocking > 0 || atomic_load(&g->unsynced) > 0)
        return 0;
    return live_finalize(l, GARBAGE_FOREGROUND, err);
}

/* ---- The visit. ---- */

/* What goes already is waited for. What has all its owners needs no look at the server: when one goes, the graph tells. */
static bool is_worth_it(const struct graph_view *item)
{
    if (item->is_deleting)
        return item->is_deleting_dependents;
    return item->is_virtual || !item->is_settled;
}

int garbage_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct live l LIVE_SCOPE = {0};
    if (!live_look(ctx, r, &l) || !is_worth_it(&l.item))
        return 0;
    l.resource = kinds_find(l.kinds, l.item.id.api_version, l.item.id.kind);
    switch (live_get(&l, &l.item.id, &l.tree, err)) {
    case LIVE_FAILED:
        return err->code;
    case LIVE_INVALID:
        return 0;
    case LIVE_UNKNOWN:
        live_later(&l);
        return 0;
    case LIVE_GONE:
        live_deny(&l);
        return 0;
    case LIVE_THERE:
        break;
    }
    int code = l.item.is_deleting_dependents ? finish_foreground(&l, err) : judge(&l, err);
    if (code == 0 && l.item.is_virtual)
        live_later(&l); /* until it is seen, or is gone: it may have come and gone while nobody watched */
    return code;
}
