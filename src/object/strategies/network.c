/* SPDX-License-Identifier: Apache-2.0 */
/* Service, Endpoints, Ingress, NetworkPolicy. */
#include "object/strategies/check.h"
#include "object/strategies/strategies.h"

#include "object/object.h"

/* ---- Services. ---- */

static void fill_service_ports(struct arena *a, struct json *spec)
{
    json_each_item_mut(json_get_mut(spec, S("ports")), port)
    {
        if (!json_is_obj(port))
            continue;
        default_str(a, port, S("protocol"), S("TCP"));
        const struct json *target = json_get(port, S("targetPort"));
        if (is_unset(target) || (json_is_num(target) && int_of(target) == 0))
            json_set(a, port, S("targetPort"), json_int(int_of(json_get(port, S("port")))));
    }
}

static void fill_affinity(struct arena *a, struct json *spec)
{
    enum { THREE_HOURS = 10800 };
    default_str(a, spec, S("sessionAffinity"), S("None"));
    str affinity = json_get_text(spec, S("sessionAffinity"));
    if (str_eq(affinity, S("None")))
        json_remove(spec, S("sessionAffinityConfig"));
    if (!str_eq(affinity, S("ClientIP")))
        return;
    struct json *client = make_obj(a, make_obj(a, spec, S("sessionAffinityConfig")), S("clientIP"));
    default_int(a, client, S("timeoutSeconds"), THREE_HOURS);
}

static bool is_type(const struct json *spec, const char *names)
{
    return is_choice(json_get_text(spec, S("type")), names);
}

static void fill_service(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    fill_affinity(a, spec);
    default_str(a, spec, S("type"), S("ClusterIP"));
    fill_service_ports(a, spec);
    bool is_open = is_type(spec, "NodePort LoadBalancer") ||
                   (is_type(spec, "ClusterIP") && json_len(json_get(spec, S("externalIPs"))));
    if (is_open)
        default_str(a, spec, S("externalTrafficPolicy"), S("Cluster"));
    if (is_type(spec, "NodePort LoadBalancer ClusterIP"))
        default_str(a, spec, S("internalTrafficPolicy"), S("Cluster"));
    if (!is_type(spec, "LoadBalancer"))
        return;
    default_bool(a, spec, S("allocateLoadBalancerNodePorts"), true);
    struct json *balancer = json_get_mut(json_get_mut(object, S("status")), S("loadBalancer"));
    json_each_item_mut(json_get_mut(balancer, S("ingress")), it)
    {
        if (json_get_text(it, S("ip")).n)
            default_str(a, it, S("ipMode"), S("VIP"));
    }
}

/* clusterIP and clusterIPs[0] are two names of one thing. */
static void pair_cluster_ips(struct arena *a, struct json *spec)
{
    str one = json_get_text(spec, S("clusterIP"));
    const struct json *list = json_get(spec, S("clusterIPs"));
    if (one.n && json_len(list) == 0)
        json_push(a, make_arr(a, spec, S("clusterIPs")), json_str(one));
    else if (one.n == 0 && json_len(list))
        json_set(a, spec, S("clusterIP"), list->items[0]);
}

static void prepare_service(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    if (is_type(spec, "ExternalName"))
        return;
    pair_cluster_ips(a, spec);
    default_str(a, spec, S("ipFamilyPolicy"), S("SingleStack"));
    if (is_unset(json_get(spec, S("ipFamilies"))))
        json_push(a, make_arr(a, spec, S("ipFamilies")), json_str(S("IPv4")));
}

/* What the server gave a Service stays with it unless the update says otherwise. */
static void prepare_service_update(struct arena *a, struct json *object, const struct json *current)
{
    struct json *spec = make_obj(a, object, S("spec"));
    const struct json *old = json_get(current, S("spec"));
    if (is_type(spec, "ExternalName"))
        return;
    if (!is_type(old, "ExternalName")) {
        static const char *const given[] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
        for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
            if (is_unset(json_get(spec, str_of(given[i]))))
                copy_member(a, spec, old, str_of(given[i]));
        }
    }
    prepare_service(a, object);
}

/* ---- Endpoints. ---- */

static void fill_endpoints(struct arena *a, struct json *object)
{
    json_each_item_mut(json_get_mut(object, S("subsets")), subset)
    {
        json_each_item_mut(json_get_mut(subset, S("ports")), port) default_str(a, port, S("protocol"), S("TCP"));
    }
}

/* ---- NetworkPolicies. ---- */

static void fill_policy_ports(struct arena *a, struct json *rules)
{
    json_each_item_mut(rules, rule)
    {
        json_each_item_mut(json_get_mut(rule, S("ports")), port) default_str(a, port, S("protocol"), S("TCP"));
    }
}

static void fill_network_policy(struct arena *a, struct json *object)
{
    struct json *spec = make_obj(a, object, S("spec"));
    fill_policy_ports(a, json_get_mut(spec, S("ingress")));
    fill_policy_ports(a, json_get_mut(spec, S("egress")));
    if (!is_unset(json_get(spec, S("policyTypes"))))
        return;
    bool has_egress = json_len(json_get(spec, S("egress")));
    struct json *types = make_arr(a, spec, S("policyTypes"));
    json_push(a, types, json_str(S("Ingress")));
    if (has_egress)
        json_push(a, types, json_str(S("Egress")));
}

static const struct strategy rows[] = {
    {
        .kind = "Service",
        .fill = fill_service,
        .prepare_create = prepare_service,
        .prepare_update = prepare_service_update,
    },
    {
        .kind = "Endpoints",
        .fill = fill_endpoints,
    },
    {
        .group = "networking.k8s.io",
        .kind = "NetworkPolicy",
        .fill = fill_network_policy,
    },
};
STRATEGIES(strategies_network, rows);
