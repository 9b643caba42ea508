/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_internal.h"
#include "object/conditions.h"
#include "object/object.h"

static bool tell(struct arena *a, struct json *cluster, const void *ctx, const struct clock *clock)
{
    return condition_set(a, conditions_of(a, cluster), ctx, clock);
}

static bool release(struct arena *a, struct json *cluster, const void *ctx, const struct clock *clock)
{
    (void)a, (void)ctx, (void)clock;
    struct json *list = json_get_mut(json_get_mut(cluster, S("metadata")), S("finalizers"));
    for (size_t i = 0; i < json_len(list); i++) {
        if (str_eq(json_text(&list->items[i]), S(FLEET_FINALIZER_CLUSTER))) {
            json_erase(list, i);
            return true;
        }
    }
    return false;
}

static int wait_for(struct cluster_visit *v, const char *plural, const struct cluster_remains *left, struct err *err)
{
    struct condition c = {.type = CLUSTER_DELETING, .status = S("False"), .reason = S("ResourceRemaining")};
    c.message = str_fmt(v->reconcile->arena,
                        "The resource %s is remaining, the remaining count is %zu, the finalizer pending count is %zu",
                        plural, left->n, left->n_pending);
    v->reconcile->again_ns = cluster_pause(v, json_get_text(object_meta(&v->cluster), S("deletionTimestamp")));
    return cluster_write(v, S("status"), tell, &c, err);
}

/* What is there is deleted, and looked for again: the list may have been taken before. */
static int clear(struct cluster_visit *v, const char *plural,
                 int (*look)(struct cluster_visit *, bool, struct cluster_remains *, struct err *), bool *ret_done,
                 struct err *err)
{
    struct cluster_remains left = {0};
    int code = look(v, true, &left, err);
    if (code == 0 && left.n)
        code = look(v, false, &left, err);
    *ret_done = code == 0 && left.n == 0;
    return code < 0 || *ret_done ? code : wait_for(v, plural, &left, err);
}

/* Add-ons, then works, which the agent carries out; its rights are the last that go. Permissions and the namespace stay: whoever
 * adds a cluster of this name again finds them. */
int cluster_leave(struct cluster_visit *v, struct err *err)
{
    static const struct condition over = {.type = S_INIT("Deleting"),
                                          .status = S_INIT("True"),
                                          .reason = S_INIT("NoResource"),
                                          .message = S_INIT("No cleaned resource in cluster ns.")};
    bool is_done = true;
    int code = 0;
    if (!object_has_finalizer(&v->cluster, S(FLEET_FINALIZER_CLUSTER)))
        return 0;
    if (!cluster_is_reserved(v->reconcile->name)) {
        code = clear(v, "managedclusteraddons", cluster_addons, &is_done, err);
        if (code == 0 && is_done)
            code = clear(v, "manifestworks", cluster_works, &is_done, err);
        if (code < 0 || !is_done)
            return code;
        code = cluster_agent_remove(v, err);
    }
    if (code == 0)
        code = cluster_write(v, S("status"), tell, &over, err);
    return code == 0 ? cluster_write(v, (str){0}, release, NULL, err) : code;
}
