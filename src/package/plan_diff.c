/* SPDX-License-Identifier: Apache-2.0 */
#include "package/plan.h"

/* What somebody holds where this grant holds: what is granted for the whole cluster holds in every namespace, too. */
static struct rules held(struct arena *a, const struct plan_grants *grants, const struct plan_grant *where)
{
    struct rules all = {0};
    for (size_t i = 0; i < grants->n; i++) {
        const struct plan_grant *g = &grants->p[i];
        bool is_here = !where->is_cluster_wide && str_eq(g->namespace, where->namespace);
        if (g->who == where->who && (g->is_cluster_wide || is_here))
            all = rules_union(a, all, g->rules);
    }
    return all;
}

struct plan_grants plan_grants_added(struct arena *a, struct plan_grants before, struct plan_grants after)
{
    VEC(struct plan_grant) list = {0};
    for (size_t i = 0; i < after.n; i++) {
        struct plan_grant g = after.p[i];
        g.rules = rules_added(a, held(a, &before, &g), g.rules, NULL);
        if (g.rules.n)
            *vec_push(a, &list) = g;
    }
    return (struct plan_grants){list.p, list.n};
}
