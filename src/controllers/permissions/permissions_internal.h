/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the controller of ClusterPermissions share. Private to this folder.
 * Owns: see permissions.h.
 * Threads: handlers on the loop thread, visits on workers; what both touch is an informer or has a lock.
 * Errors: those of the server, wrapped with what was tried. */
#pragma once

#include "control/control.h"
#include "control/recorder.h"
#include "controllers/permissions/permissions_build.h"
#include "controllers/permissions/permissions_own_writes.h"
#include "controllers/permissions/permissions_shift.h"
#include "controllers/policy.h"

struct permissions {
    struct clock clock;
    bool requires_approval;
    struct policy
        *policy; /* guards approvals on other servers; NULL: nobody asks for them, or the server of this process does */
    bool trusts_stamp; /* the server of this process wrote who asked for a permission; elsewhere anybody may have */
    struct informer *permissions, *works, *clusters, *accounts, *addons, *namespaces, *roles, *cluster_roles;
    struct controller *controller;
    struct recorder *recorder;
    struct echoes *echoes;
};

extern const struct client_resource permissions_resource, permissions_works, permissions_roles;

/* ---- permissions_watch.c: what is kept of objects, and from a change to the permissions concerned. ---- */

item_trim watch_trim_permission, watch_trim_work, watch_trim_cluster, watch_trim_addon;

void watch_permission(void *ctx, const struct informer_change *change);
void watch_work(void *ctx, const struct informer_change *change);
void watch_cluster(void *ctx, const struct informer_change *change);
void watch_account(void *ctx, const struct informer_change *change);
void watch_addon(void *ctx, const struct informer_change *change);
void watch_namespace(void *ctx, const struct informer_change *change);
void watch_role(void *ctx, const struct informer_change *change);

/* ---- permissions_reconcile.c ---- */

struct visit {
    struct permissions *all;
    struct reconcile *r;
    struct arena *a;
    struct json permission; /* as the server has it now */
};

int permissions_visit(void *ctx, struct reconcile *r, struct err *err);

/* ---- permissions_facts.c ---- */

/* A build that asks for what it needs. */
int facts_build(struct visit *v, bool is_delivered, struct permission_build *ret, struct err *err);

/* ---- permissions_works.c: the ManifestWorks of one permission. ---- */

typedef VEC(struct json) work_vec;

struct works {
    work_vec own; /* as the server has them, in the order of their parts; after a write as it answered */
    str problem;  /* one cannot be written: why */
    int code;     /* of that problem, when the server said so: it is worth another attempt */
};

/* Reads those that the cache knows of, and the first one. */
int works_read(struct visit *v, struct works *w, struct err *err);
/* Makes them so, as far as that can be done now. What the server refuses is a problem, not an error. */
int works_write(struct visit *v, struct works *w, const struct permission_build *build, struct err *err);
int works_delete_all(struct visit *v, struct works *w, struct err *err);

/* ---- permissions_approval.c ---- */

struct approval {
    bool is_awaited;
    str text; /* empty: nobody asks for one */
};

/* Whether what was built may be delivered; of what could not be built: what was decided before. */
int approval_decide(struct visit *v, const struct permission_build *build, struct approval *ret, struct err *err);
