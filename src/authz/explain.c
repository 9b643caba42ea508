/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain.h"

#include "authz/explain_misses.h"
#include "authz/explain_sources.h"

struct paths {
    struct explain_sources *sources;
    VEC(struct explain_path) list;
};

static bool add_path(void *ctx, const struct authz_grant *grant)
{
    struct paths *p = ctx;
    const struct explain_path *path = explain_role(p->sources, grant->role);
    if (!path)
        return true;
    struct explain_path *added = vec_push(p->sources->arena, &p->list);
    *added = *path;
    added->grant = *grant;
    return true;
}

struct explanation explain_request(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                   const struct authz_attributes *what)
{
    struct explanation e = {
        .who = who ? *who : (struct authz_identity){0},
        .what = what ? *what : (struct authz_attributes){0},
        .decision = authz_check(ix, who, what, a),
        .is_master = authz_is_master(who),
    };
    if (!ix || !who || !what)
        return e;
    struct explain_sources sources EXPLAIN_SOURCES_SCOPE = {.arena = a, .ix = ix, .what = what};
    struct paths paths = {.sources = &sources};
    /* URLs are in no namespace, so no RoleBinding reaches them. */
    authz_visit(ix, who, what->is_resource ? what->namespace : (str){0}, add_path, &paths);
    e.paths = paths.list.p;
    e.n_paths = paths.list.n;
    if (!e.decision.allowed)
        explain_misses(a, ix, &e);
    return e;
}
