/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_internal.h"
#include "object/conditions.h"
#include "object/object.h"

enum { PAUSE_MIN_S = 1, PAUSE_MAX_S = 60 };

static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);
static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

/* ---- Writes. ---- */

int cluster_write(struct cluster_visit *v, str subresource, cluster_change *change, const void *ctx, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &clusters, .name = r->name, .subresource = subresource};
    struct client_write_options options = {.field_manager = CLUSTERS_MANAGER};
    struct json next = json_dup(r->arena, &v->cluster);
    if (!change(r->arena, &next, ctx, &r->clock))
        return 0;
    return client_update(r->client, r->arena, &ref, &next, &options, &v->cluster, err);
}

static bool mark(struct arena *a, struct json *cluster, const void *ctx, const struct clock *clock)
{
    return cluster_mark(a, cluster, ctx, clock);
}

static bool tell(struct arena *a, struct json *cluster, const void *ctx, const struct clock *clock)
{
    return cluster_tell(a, cluster, ctx, clock);
}

/* A quarter of the time that it took so far. */
int64_t cluster_pause(const struct cluster_visit *v, str since)
{
    const struct clock *clock = &v->reconcile->clock;
    int64_t seconds = 0, pause = PAUSE_MIN_S;
    uint32_t nanos;
    if (time_parse(since, &seconds, &nanos))
        pause = (clock_seconds(clock) - seconds) / 4;
    pause = pause < PAUSE_MIN_S ? PAUSE_MIN_S : pause > PAUSE_MAX_S ? PAUSE_MAX_S : pause;
    return pause * NS_PER_S;
}

/* ---- Silence. ---- */

/* Whether nobody renewed, or we did not hear it: the copy may be behind, or the server was away for all. */
static int listen(struct cluster_visit *v, struct beat *beat, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &leases, .namespace = r->name, .name = S(FLEET_LEASE)};
    struct json lease = json_null();
    if (beat->state != BEAT_SILENT || condition_is(&v->cluster, CLUSTER_AVAILABLE, S("Unknown")))
        return 0;
    int code = client_get(r->client, r->arena, &ref, &lease, err);
    if (code < 0 && !client_is_gone(err)) {
        beats_restart(v->clusters->beats, r->name);
        return err_wrap(err, "look for renewals of Lease %.*s/" FLEET_LEASE, STR(r->name));
    }
    if (code == 0 && !str_eq(json_get_text(json_get(&lease, S("spec")), S("renewTime")), beat->renewed))
        beat->state = BEAT_NEW; /* the watch is going to tell */
    return 0;
}

static int hear(struct cluster_visit *v, struct beat *beat, struct cluster_facts *facts, struct err *err)
{
    if (!beats_get(v->clusters->beats, v->reconcile->arena, v->reconcile->name, beat))
        return 0;
    facts->beat = beat;
    return listen(v, beat, err);
}

/* ---- Accepted, or not. ---- */

static int accept(struct cluster_visit *v, struct cluster_facts *facts, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct json namespace;
    bool has_namespace = informer_read(v->clusters->namespaces, r->arena, (str){0}, r->name, &namespace);
    facts->stand = CLUSTER_IN;
    facts->text = cluster_refusal(r->arena, r->name, has_namespace ? &namespace : NULL);
    if (facts->text.n) {
        facts->stand = CLUSTER_REFUSED;
        return 0;
    }
    int code = cluster_write(v, (str){0}, mark, facts, err); /* nothing is made that nobody would remove */
    return code < 0 ? code : cluster_agent_make(v, err);
}

/* Whoever was never accepted has nothing that could be taken away; should a binding be there all the same, it goes. */
static int deny(struct cluster_visit *v, struct cluster_facts *facts, struct err *err)
{
    struct reconcile *r = v->reconcile;
    const struct json *before = condition_find(json_dig(&v->cluster, "status.conditions"), CLUSTER_ACCEPTED);
    bool has_rights = cluster_agent_has_rights(v);
    struct cluster_remains left = {0};
    int code = 0;
    facts->stand = before || has_rights ? CLUSTER_OUT : CLUSTER_UNDECIDED;
    facts->text = S("Denied by hub cluster admin");
    if (has_rights)
        code = cluster_works(v, false, &left, err);
    if (code == 0 && left.n_delivered == 0)
        return cluster_agent_bar(v, err);
    if (code == 0) {
        facts->text = str_fmt(r->arena, "%.*s; the agent has its rights until it has removed what %zu works delivered",
                              STR(facts->text), left.n_delivered);
        r->again_ns = cluster_pause(v, json_get_text(before, S("lastTransitionTime")));
    }
    return code;
}

int cluster_reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct cluster_visit v = {.clusters = ctx, .reconcile = r};
    struct cluster_facts facts = {0};
    struct beat beat = {0};
    int code = 0;
    if (!informer_read(v.clusters->clusters, r->arena, (str){0}, r->name, &v.cluster))
        return 0;
    if (object_is_deleting(&v.cluster)) {
        code = cluster_leave(&v, err);
    } else {
        code = hear(&v, &beat, &facts, err);
        if (code == 0)
            code = json_true(json_dig(&v.cluster, "spec.hubAcceptsClient")) ? accept(&v, &facts, err)
                                                                            : deny(&v, &facts, err);
        if (code == 0)
            code = cluster_write(&v, (str){0}, mark, &facts, err);
        if (code == 0)
            code = cluster_write(&v, S("status"), tell, &facts, err);
    }
    if (code < 0 && client_is_gone(err) && code == ERR_NOT_FOUND)
        return err_set(err, ERR_CONFLICT, "%s", "something was just deleted");
    return code < 0 ? err_wrap(err, "ManagedCluster %.*s", STR(r->name)) : 0;
}
