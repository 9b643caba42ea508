/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_graph_node.h"

#include "base/vec.h"

static bool is_settled(const struct node *n)
{
    for (uint32_t i = 0; i < n->n_edges; i++) {
        if (!node_is_observed(n->edges[i].owner) || edge_is_doubtful(&n->edges[i]))
            return false;
    }
    return true;
}

void graph_sweep(struct graph *g)
{
    for (size_t i = 0; i < g->n_chains; i++) {
        for (const struct node *n = g->chains[i]; n; n = n->next) {
            if (n->flags & NODE_ABSENT)
                continue;
            if (n->flags & NODE_ORPHANING)
                g->sink.orphan(g->sink.ctx, node_uid(n));
            else if (n->flags & (NODE_VIRTUAL | NODE_DELETING_DEPENDENTS) ||
                     ((n->flags & NODE_DELETING) == 0 && !is_settled(n)))
                g->sink.visit(g->sink.ctx, node_uid(n));
        }
    }
}

/* ---- What is known. ---- */

static const struct node *find_present(const struct graph *g, str uid)
{
    const struct node *n = node_find(g, uid);
    return n && (n->flags & NODE_ABSENT) == 0 ? n : NULL;
}

static struct graph_id id_dup(struct arena *a, const struct node *n)
{
    struct graph_id id = node_id(n);
    return (struct graph_id){.api_version = str_dup(a, id.api_version),
                             .kind = str_dup(a, id.kind),
                             .namespace = str_dup(a, id.namespace),
                             .name = str_dup(a, id.name),
                             .uid = str_dup(a, id.uid)};
}

bool graph_find(const struct graph *g, struct arena *a, str uid, struct graph_view *ret)
{
    const struct node *n = find_present(g, uid);
    if (n == NULL)
        return false;
    *ret = (struct graph_view){.id = id_dup(a, n),
                               .is_virtual = n->flags & NODE_VIRTUAL,
                               .is_deleting = n->flags & NODE_DELETING,
                               .is_deleting_dependents = n->flags & NODE_DELETING_DEPENDENTS,
                               .is_orphaning = n->flags & NODE_ORPHANING,
                               .has_dependents = n->dependents != NULL,
                               .is_settled = is_settled(n),
                               .n_blocking = n->n_blocking};
    return true;
}

/* References of one dependent come together, and so are neighbours in the ring. */
struct graph_ids graph_dependents(const struct graph *g, struct arena *a, str uid)
{
    const struct node *n = find_present(g, uid);
    VEC(struct graph_id) ids = {0};
    for (const struct edge *e = n ? n->dependents : NULL; e; e = e->next == n->dependents ? NULL : e->next) {
        if (e == n->dependents || e->prev->dependent != e->dependent)
            *vec_push(a, &ids) = id_dup(a, e->dependent);
    }
    return (struct graph_ids){ids.p, ids.n};
}

bool graph_has_deleting_dependent(const struct graph *g, str uid)
{
    const struct node *n = find_present(g, uid);
    for (const struct edge *e = n ? n->dependents : NULL; e; e = e->next == n->dependents ? NULL : e->next) {
        if (e->dependent->flags & NODE_DELETING_DEPENDENTS)
            return true;
    }
    return false;
}

unsigned graph_count_attempt(struct graph *g, str uid)
{
    struct node *n = node_find(g, uid);
    if (n == NULL)
        return 0;
    return n->attempts < 30 ? n->attempts++ : n->attempts;
}

struct graph_stats graph_stats(const struct graph *g)
{
    struct graph_stats stats = g->stats;
    stats.bytes += g->kinds.slots ? (g->kinds.mask + 1) * 32 : 0;
    for (size_t i = 0; i < g->n_chains; i++) {
        for (const struct node *n = g->chains[i]; n; n = n->next)
            stats.virtual += (n->flags & NODE_VIRTUAL) != 0;
    }
    return stats;
}
