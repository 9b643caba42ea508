/* SPDX-License-Identifier: Apache-2.0 */
/* An owner that is deleted with "orphan": its dependents forget it, then it may go. */
#include "controllers/garbage/garbage_internal.h"
#include "object/object.h"

/* All of them, whatever happens to some; the first failure is told. */
static int free_dependents(const struct live *l, struct err *err)
{
    struct garbage *g = l->garbage;
    str owner = l->item.id.uid;
    pthread_mutex_lock(&g->lock);
    struct graph_ids dependents = graph_dependents(g->graph, l->r->arena, owner);
    pthread_mutex_unlock(&g->lock);
    size_t failed = 0;
    for (size_t i = 0; i < dependents.n; i++) {
        struct err why = {0};
        if (live_drop_owners(l, &dependents.p[i], (struct uids){&owner, 1}, &why) == 0)
            continue;
        if (failed++ == 0)
            *err = why;
    }
    if (failed == 0)
        return 0;
    return err_wrap(err, "%zu of %zu dependents not orphaned", failed, dependents.n);
}

int garbage_orphan(void *ctx, struct reconcile *r, struct err *err)
{
    struct garbage *g = ctx;
    struct live l LIVE_SCOPE = {0};
    if (!live_look(g, r, &l) || !l.item.is_orphaning)
        return 0;
    if (atomic_load(&g->unsynced) > 0)
        return 0; /* there may be dependents that nobody has seen; the graph tells of it again when all are known */
    switch (live_get(&l, &l.item.id, &l.tree, err)) {
    case LIVE_FAILED:
        return err->code;
    case LIVE_GONE:
        live_deny(&l);
        return 0;
    case LIVE_UNKNOWN:
        live_later(&l);
        return 0;
    case LIVE_INVALID:
        return 0;
    case LIVE_THERE:
        break;
    }
    if (!object_has_finalizer(&l.tree, GARBAGE_ORPHAN))
        return 0;
    int code = free_dependents(&l, err);
    return code < 0 ? code : live_finalize(&l, GARBAGE_ORPHAN, err);
}
