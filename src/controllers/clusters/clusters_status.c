/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_status.h"

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/name.h"
#include "object/object.h"

enum { LEASE_MAX_SECONDS = 365 * 24 * 3600 };

/* ---- Where. ---- */

bool cluster_is_reserved(str name)
{
    return str_eq(name, S("default")) || str_has_prefix(name, S("kube-"));
}

/* Whoever may make ManagedClusters must not thereby come to the Secrets of a namespace that is used for something else. So one that
 * was there before must say that it is meant. */
str cluster_refusal(struct arena *a, str name, const struct json *namespace)
{
    if (!name_is(NAME_DNS_LABEL, name))
        return str_fmt(a, "the name of a managed cluster is that of its namespace, and \"%.*s\" cannot be one",
                       STR(name));
    if (cluster_is_reserved(name))
        return str_fmt(a, "namespace \"%.*s\" belongs to Kubernetes and cannot be that of a managed cluster",
                       STR(name));
    if (namespace && !str_eq(object_label(namespace, S(FLEET_LABEL_CLUSTER)), name))
        return str_fmt(a,
                       "namespace \"%.*s\" was not made for this cluster; if it may be used: kubectl label namespace "
                       "%.*s " FLEET_LABEL_CLUSTER "=%.*s",
                       STR(name), STR(name), STR(name));
    if (namespace && object_is_deleting(namespace))
        return str_fmt(a, "namespace \"%.*s\" is being deleted", STR(name));
    return (str){0};
}

int64_t cluster_lease_seconds(const struct json *cluster)
{
    int64_t seconds = 0;
    if (!json_to_int(json_dig(cluster, "spec.leaseDurationSeconds"), &seconds) || seconds <= 0)
        return FLEET_LEASE_SECONDS;
    return seconds < LEASE_MAX_SECONDS ? seconds : LEASE_MAX_SECONDS;
}

/* ---- Status. ---- */

static struct condition accepted(const struct cluster_facts *facts)
{
    static const struct condition in = {.type = S_INIT("HubAcceptedManagedCluster"),
                                        .status = S_INIT("True"),
                                        .reason = S_INIT("HubClusterAdminAccepted"),
                                        .message = S_INIT("Accepted by hub cluster admin")};
    struct condition out = {.type = CLUSTER_ACCEPTED, .status = S("False"), .message = facts->text};
    if (facts->stand == CLUSTER_IN)
        return in;
    out.reason = facts->stand == CLUSTER_OUT ? S("HubClusterAdminDenied") : S("NamespaceRefused");
    return out;
}

/* Empty type: nothing is known. */
static struct condition available(struct arena *a, const struct beat *beat)
{
    struct condition c = {.type = CLUSTER_AVAILABLE};
    if (beat->state == BEAT_NEW)
        return (struct condition){0};
    if (beat->state == BEAT_SILENT) {
        c.status = S("Unknown");
        c.reason = S("ManagedClusterLeaseUpdateStopped");
        c.message = S("Registration agent stopped updating its lease.");
    } else if (beat->trouble.n) {
        c.status = S("False");
        c.reason = S("ManagedClusterKubeAPIServerUnavailable");
        c.message = str_fmt(a, "The kube-apiserver is not ok, %.*s", STR(beat->trouble));
    } else {
        c.status = S("True");
        c.reason = S("ManagedClusterAvailable");
        c.message = S("Managed cluster is available");
    }
    return c;
}

static bool tell_version(struct arena *a, struct json *cluster, str kubernetes)
{
    struct json *status = json_get_mut(cluster, S("status"));
    struct json *version = json_get_mut(status, S("version"));
    if (kubernetes.n == 0 || str_eq(json_get_text(version, S("kubernetes")), kubernetes))
        return false;
    if (!json_is_obj(version))
        version = json_set(a, status, S("version"), json_obj());
    json_set(a, version, S("kubernetes"), json_str(kubernetes));
    return true;
}

static bool has_joined(const struct json *cluster, const struct beat *beat)
{
    return beat->has_renewed || condition_is(cluster, CLUSTER_JOINED, S("True"));
}

bool cluster_tell(struct arena *a, struct json *cluster, const struct cluster_facts *facts, const struct clock *clock)
{
    static const struct condition joined = {.type = S_INIT("ManagedClusterJoined"),
                                            .status = S_INIT("True"),
                                            .reason = S_INIT("ManagedClusterJoined"),
                                            .message = S_INIT("Managed cluster joined")};
    const struct beat *beat = facts->beat;
    struct json *conditions = conditions_of(a, cluster);
    bool is_new = false;
    if (facts->stand != CLUSTER_UNDECIDED) {
        struct condition c = accepted(facts);
        is_new = condition_set(a, conditions, &c, clock);
    }
    if (!beat || facts->stand == CLUSTER_REFUSED || !has_joined(cluster, beat))
        return is_new;
    struct condition c = available(a, beat);
    is_new |= condition_set(a, conditions, &joined, clock);
    is_new |= c.type.n && condition_set(a, conditions, &c, clock);
    is_new |= tell_version(a, cluster, beat->kubernetes);
    return is_new;
}

/* ---- Metadata and taints. ---- */

static struct json *member_of(struct arena *a, struct json *object, str key)
{
    struct json *member = json_get_mut(object, key);
    return json_is_obj(member) ? member : json_set(a, object, key, json_obj());
}

static bool mark_finalizer(struct arena *a, struct json *cluster)
{
    if (object_has_finalizer(cluster, S(FLEET_FINALIZER_CLUSTER)))
        return false;
    struct json *metadata = member_of(a, cluster, S("metadata")), *list = json_get_mut(metadata, S("finalizers"));
    if (!json_is_arr(list))
        list = json_set(a, metadata, S("finalizers"), json_arr());
    json_push(a, list, json_str(S(FLEET_FINALIZER_CLUSTER)));
    return true;
}

/* Silence says nothing about who the agent is: only one that is heard of says so. */
static bool mark_agent(struct arena *a, struct json *cluster, const struct beat *beat)
{
    str label = object_label(cluster, S(FLEET_LABEL_AGENT));
    str want = beat->agent == BEAT_BY_REEVE ? S("true") : (str){0};
    if (beat->state != BEAT_LIVE || beat->agent == BEAT_UNSURE || str_eq(label, want))
        return false;
    struct json *labels = member_of(a, member_of(a, cluster, S("metadata")), S("labels"));
    if (want.n)
        json_set(a, labels, S(FLEET_LABEL_AGENT), json_str(want));
    else
        json_remove(labels, S(FLEET_LABEL_AGENT));
    return true;
}

static size_t find_taint(const struct json *taints, str key)
{
    size_t at = 0;
    json_each_item(taints, taint)
    {
        if (str_eq(json_get_text(taint, S("key")), key))
            break;
        at++;
    }
    return at;
}

static bool mark_taint(struct arena *a, struct json *cluster, str key, bool wanted, const struct clock *clock)
{
    struct json *spec = member_of(a, cluster, S("spec")), *taints = json_get_mut(spec, S("taints"));
    size_t at = find_taint(taints, key);
    if (wanted == (at < json_len(taints)))
        return false;
    if (!wanted) {
        json_erase(taints, at);
        return true;
    }
    struct json taint = json_obj();
    struct buf now = {.arena = a};
    time_format(&now, clock_seconds(clock), 0, 0);
    json_add(a, &taint, S("key"), json_str(key));
    json_add(a, &taint, S("effect"), json_str(S("NoSelect")));
    json_add(a, &taint, S("timeAdded"), json_str(buf_str(&now)));
    if (!json_is_arr(taints))
        taints = json_set(a, spec, S("taints"), json_arr());
    json_push(a, taints, taint);
    return true;
}

bool cluster_mark(struct arena *a, struct json *cluster, const struct cluster_facts *facts, const struct clock *clock)
{
    const struct beat *beat = facts->beat;
    bool is_new = facts->stand == CLUSTER_IN && mark_finalizer(a, cluster);
    if (!beat || facts->stand == CLUSTER_REFUSED || !has_joined(cluster, beat) || beat->state == BEAT_NEW)
        return is_new;
    bool is_silent = beat->state == BEAT_SILENT;
    is_new |= mark_agent(a, cluster, beat);
    is_new |= mark_taint(a, cluster, S(FLEET_TAINT_UNREACHABLE), is_silent, clock);
    is_new |= mark_taint(a, cluster, S(FLEET_TAINT_UNAVAILABLE), !is_silent && beat->trouble.n, clock);
    return is_new;
}
