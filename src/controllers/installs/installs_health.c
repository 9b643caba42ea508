/* SPDX-License-Identifier: Apache-2.0 */
/* The condition Healthy: whether the current generation of the Deployment is available.
 *
 *   no Deployment in the package                  True     NoController
 *   not observed, no node exists                  Unknown  NoWorkloads            at once on the embedded server, which has no Deployment
 *                                                                                 controller; elsewhere after GRACE
 *   not observed, or an older generation is       False    WaitingForDeployment
 *   pods refused (quota, admission, …)            False    PodsRefused            with the reason of the server
 *   rollout past its deadline                     False    RolloutFailed          with the message of the Deployment
 *   rollout under way                             False    WaitingForDeployment   with counts
 *   rolled out, not enough pods                   False    Unavailable
 *   rolled out and available                      True     Available */
#include "controllers/installs/installs_status.h"
#include "object/object.h"

enum { GRACE_SECONDS = 3, NODES_SECONDS = 30 };

static const struct client_resource nodes = CLIENT_RESOURCE("", "v1", "nodes", "Node", false);

/* ---- A Deployment that a controller has observed. ---- */

static int64_t number_of(const struct json *deployment, const char *path, int64_t otherwise)
{
    int64_t n = otherwise;
    return json_to_int(json_dig(deployment, path), &n) ? n : otherwise;
}

static struct status_word unhealthy(str reason, str message)
{
    return (struct status_word){STATUS_FALSE, reason, message};
}

struct status_word health_of_deployment(struct arena *a, const struct json *d)
{
    str name = object_name(d);
    const struct json *conditions = json_dig(d, "status.conditions");
    const struct json *progress = condition_find(conditions, S("Progressing"));
    const struct json *failure = condition_find(conditions, S("ReplicaFailure"));
    int64_t wanted = number_of(d, "spec.replicas", 1), all = number_of(d, "status.replicas", 0),
            updated = number_of(d, "status.updatedReplicas", 0),
            available = number_of(d, "status.availableReplicas", 0);
    if (number_of(d, "status.observedGeneration", 0) < object_generation(d))
        return unhealthy(S("WaitingForDeployment"),
                         str_fmt(a, "Waiting for the Deployment controller to observe Deployment %.*s.", STR(name)));
    if (str_eq(json_get_text(failure, S("status")), S("True")))
        return unhealthy(S("PodsRefused"), str_fmt(a, "Deployment %.*s cannot create pods: %.*s", STR(name),
                                                   STR(json_get_text(failure, S("message")))));
    if (str_eq(json_get_text(progress, S("status")), S("False")))
        return unhealthy(S("RolloutFailed"),
                         str_fmt(a, "Deployment %.*s: %.*s", STR(name), STR(json_get_text(progress, S("message")))));
    /* Rolled out once, it stays so while single pods come and go. */
    bool is_rolled_out =
        updated >= wanted && (str_eq(json_get_text(progress, S("reason")), S("NewReplicaSetAvailable")) ||
                              (all <= updated && available >= updated));
    if (!is_rolled_out)
        return unhealthy(S("WaitingForDeployment"),
                         str_fmt(a, "Deployment %.*s: %lld of %lld pods are updated, %lld available.", STR(name),
                                 (long long)updated, (long long)wanted, (long long)available));
    if (!condition_is(d, S("Available"), S("True")))
        return unhealthy(S("Unavailable"), str_fmt(a, "Deployment %.*s is not available: %lld of %lld pods are.",
                                                   STR(name), (long long)available, (long long)wanted));
    return (struct status_word){STATUS_TRUE, S("Available"), (str){0}};
}

/* ---- One that no controller has observed. ---- */

static int take_node(void *ctx, const struct json *item, struct err *err)
{
    (void)item;
    *(bool *)ctx = true;
    return err_set(err, ERR_CONFLICT, "one is enough");
}

/* Whether any node exists; asked once in a while, for all installs. */
static int has_nodes(struct visit *v, bool *ret, struct err *err)
{
    struct installs *s = v->s;
    int64_t now = clock_mono_ns(&v->r->clock);
    bool is_any = false;
    installs_lock(s);
    bool is_known = s->nodes_asked_ns && now - s->nodes_asked_ns < NODES_SECONDS * NS_PER_S;
    *ret = s->has_nodes;
    installs_unlock(s);
    if (is_known)
        return 0;
    struct client_ref ref = {.resource = &nodes};
    struct client_taker taker = {.item = take_node};
    int code = client_list_each(v->r->client, &ref, &(struct client_list_options){.metadata_only = true, .limit = 1},
                                &taker, &is_any, err);
    if (code < 0 && !is_any)
        return err_wrap(err, "list nodes");
    *ret = is_any;
    installs_lock(s);
    s->has_nodes = is_any;
    s->nodes_asked_ns = now;
    installs_unlock(s);
    return 0;
}

/* For how long the Deployment has been there without being observed. */
static int64_t unobserved_ns(struct visit *v)
{
    int64_t now = clock_mono_ns(&v->r->clock), since = now;
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (h && h->unobserved_ns)
        since = h->unobserved_ns;
    else if (h)
        h->unobserved_ns = now;
    installs_unlock(v->s);
    return now - since;
}

static int report_unobserved(struct visit *v, str name, struct err *err)
{
    const struct json *now = condition_find(json_dig(&v->install, "status.conditions"), S("Healthy"));
    bool is_any, was_so = str_eq(json_get_text(now, S("reason")), S("NoWorkloads")); /* before a restart of Reeve */
    int code = has_nodes(v, &is_any, err);
    if (code < 0)
        return code;
    int64_t wait = v->s->is_embedded || was_so ? 0 : GRACE_SECONDS * NS_PER_S - unobserved_ns(v);
    if (!is_any && wait <= 0) {
        status_say(v->report, STATUS_HEALTHY, STATUS_UNKNOWN, S("NoWorkloads"),
                   S("No node and no Deployment controller were found. The Deployment was created; nothing runs it."));
        return 0;
    }
    if (!is_any && v->r->again_ns == 0)
        v->r->again_ns = wait;
    status_say(v->report, STATUS_HEALTHY, STATUS_FALSE, S("WaitingForDeployment"),
               str_fmt(v->a, "Waiting for the Deployment controller to observe Deployment %.*s.", STR(name)));
    return 0;
}

int health_report(struct visit *v, const struct plan *plan, struct err *err)
{
    struct json deployment;
    if (json_is_null(&plan->deployment)) {
        status_say(v->report, STATUS_HEALTHY, STATUS_TRUE, S("NoController"), S("the package has no controller"));
        return 0;
    }
    str namespace = object_namespace(&plan->deployment), name = object_name(&plan->deployment);
    if (!informer_read(v->s->own[OWN_DEPLOYMENT], v->a, namespace, name, &deployment) ||
        json_is_null(json_dig(&deployment, "status.observedGeneration")))
        return report_unobserved(v, name, err);
    v->report->words[STATUS_HEALTHY] = health_of_deployment(v->a, &deployment);
    return 0;
}
