/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "kinds/strategy_internal.h"
#include "object/object.h"

#include <arpa/inet.h>

/* Service, Endpoints, Ingress, NetworkPolicy. */

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

/* Values that the server assigned to a Service stay unless the update sets them. */
static void prepare_service_update(struct arena *a, struct json *object, const struct json *current)
{
    struct json *spec = make_obj(a, object, S("spec"));
    const struct json *old = json_get(current, S("spec"));
    if (is_type(spec, "ExternalName"))
        return;
    str address = json_get_text(spec, S("clusterIP"));
    if (address.n && !str_eq(address, json_get_text(old, S("clusterIP"))) &&
        json_equal(json_get(spec, S("clusterIPs")), json_get(old, S("clusterIPs"))))
        json_remove(spec, S("clusterIPs")); /* the old one came along by itself; the new one is meant */
    if (!is_type(old, "ExternalName")) {
        static const char *const given[] = {"clusterIP", "clusterIPs" /* goes with the first */, "ipFamilies",
                                            "ipFamilyPolicy"};
        for (size_t i = 0; i < COUNT(given); i++) {
            bool is_open = is_unset(json_get(spec, str_of(given[i])));
            if (is_open && !(i == 1 && address.n))
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

/* ---- Checking Services. ---- */

static bool is_headless(const struct json *spec)
{
    const struct json *ips = json_get(spec, S("clusterIPs"));
    return json_len(ips) == 1 && str_eq(json_text(ips->items), S("None"));
}

static void check_service_type(struct field_errors *errs, const struct place *at, const struct json *spec)
{
    str type = json_get_text(spec, S("type")), name = json_get_text(spec, S("externalName"));
    const struct place *first = AT_ITEM(AT(at, "clusterIPs"), 0);
    if (is_headless(spec) && str_eq(type, S("LoadBalancer")))
        check_invalid_text(errs, first, S("None"), "may not be set to 'None' for LoadBalancer services");
    if (is_headless(spec) && str_eq(type, S("NodePort")))
        check_invalid_text(errs, first, S("None"), "may not be set to 'None' for NodePort services");
    if (!str_eq(type, S("ExternalName")))
        return;
    if (json_len(json_get(spec, S("clusterIPs"))))
        check_forbidden(errs, AT(at, "clusterIPs"), "may not be set for ExternalName services");
    if (json_len(json_get(spec, S("ipFamilies"))))
        check_forbidden(errs, AT(at, "ipFamilies"), "may not be set for ExternalName services");
    if (!json_is_null(json_get(spec, S("ipFamilyPolicy"))))
        check_forbidden(errs, AT(at, "ipFamilyPolicy"), "may not be set for ExternalName services");
    if (str_has_suffix(name, S(".")))
        name.n--;
    if (name.n)
        check_name(errs, AT(at, "externalName"), NAME_DNS_SUBDOMAIN, name);
    else
        check_required(errs, AT(at, "externalName"), "");
}

static void check_service_port(struct field_errors *errs, const struct place *at, const struct json *port,
                               bool needs_name, struct map *names)
{
    static char taken;
    str name = json_get_text(port, S("name")), app = json_get_text(port, S("appProtocol"));
    if (needs_name && name.n == 0)
        check_required(errs, AT(at, "name"), "");
    if (name.n) {
        check_name(errs, AT(at, "name"), NAME_DNS_LABEL, name);
        if (map_set(names, name, &taken))
            check_duplicate(errs, AT(at, "name"), name);
    }
    check_port_number(errs, AT(at, "port"), int_of(json_get(port, S("port"))));
    check_choice(errs, AT(at, "protocol"), json_get_text(port, S("protocol")), "SCTP TCP UDP");
    check_port(errs, AT(at, "targetPort"), json_get(port, S("targetPort")));
    if (app.n)
        check_name(errs, AT(at, "appProtocol"), NAME_QUALIFIED, app);
}

/* No two ports may be the same for clients. */
static void check_same_ports(struct field_errors *errs, const struct place *at, const struct json *ports)
{
    static char taken;
    struct arena *a = errs->arena;
    struct map seen = {0};
    json_each_item(ports, it)
    {
        str protocol = json_get_text(it, S("protocol"));
        long long number = int_of(json_get(it, S("port")));
        str key = str_fmt(a, "%.*s %lld", STR(protocol), number);
        if (map_set(&seen, key, &taken))
            field_error_add(errs, FIELD_DUPLICATE, place_format(a, AT_ITEM(at, (size_t)(it - ports->items))),
                            str_fmt(a,
                                    "core.ServicePort{Name:\"\", Protocol:%.*s, AppProtocol:(*string)(nil), Port:%lld, "
                                    "TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}, NodePort:0}",
                                    STR(field_quote(a, protocol)), number),
                            NULL);
    }
    map_done(&seen);
}

static void check_ports(struct field_errors *errs, const struct place *at, const struct json *ports)
{
    struct map names = {0};
    json_each_item(ports, it)
        check_service_port(errs, AT_ITEM(at, (size_t)(it - ports->items)), it, json_len(ports) > 1, &names);
    map_done(&names);
}

static void check_traffic(struct field_errors *errs, const struct place *at, const struct json *spec)
{
    str outside = json_get_text(spec, S("externalTrafficPolicy")),
        inside = json_get_text(spec, S("internalTrafficPolicy"));
    bool is_open = is_type(spec, "NodePort LoadBalancer") ||
                   (is_type(spec, "ClusterIP") && json_len(json_get(spec, S("externalIPs"))));
    if (!is_open && outside.n)
        check_invalid_text(errs, AT(at, "externalTrafficPolicy"), outside,
                           "may only be set for externally-accessible services");
    else if (is_open)
        check_choice(errs, AT(at, "externalTrafficPolicy"), outside, "Cluster Local");
    if (inside.n && !is_choice(inside, "Cluster Local"))
        check_unsupported(errs, AT(at, "internalTrafficPolicy"), inside, "Cluster Local");
}

static void validate_service(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *ports = json_get(spec, S("ports"));
    if (json_len(ports) == 0 && !is_headless(spec) && !is_type(spec, "ExternalName"))
        check_required(errs, AT(at, "ports"), "");
    check_service_type(errs, at, spec);
    check_ports(errs, AT(at, "ports"), ports);
    check_labels(errs, AT(at, "selector"), json_get(spec, S("selector")));
    check_choice(errs, AT(at, "sessionAffinity"), json_get_text(spec, S("sessionAffinity")), "ClientIP None");
    check_choice(errs, AT(at, "type"), json_get_text(spec, S("type")), "ClusterIP ExternalName LoadBalancer NodePort");
    json_each_item(ports, it)
    {
        if (is_type(spec, "ClusterIP") && int_of(json_get(it, S("nodePort"))))
            check_forbidden(errs, AT(AT_ITEM(AT(at, "ports"), (size_t)(it - ports->items)), "nodePort"),
                            "may not be used when `type` is 'ClusterIP'");
    }
    check_same_ports(errs, AT(at, "ports"), ports);
    if (!json_is_null(json_get(spec, S("allocateLoadBalancerNodePorts"))) && !is_type(spec, "LoadBalancer"))
        check_forbidden(errs, AT(at, "allocateLoadBalancerNodePorts"),
                        "may only be used when `type` is 'LoadBalancer'");
    check_traffic(errs, at, spec);
}

/* The address of a Service is its own for as long as it has one. */
static void validate_service_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *spec = json_get(object, S("spec")), *old = json_get(current, S("spec"));
    const struct json *now = json_get(spec, S("clusterIPs")), *before = json_get(old, S("clusterIPs"));
    if (is_type(spec, "ExternalName") || is_type(old, "ExternalName") || json_len(before) == 0)
        return;
    if (json_len(now) == 0 || !json_equal(&now->items[0], &before->items[0])) {
        const struct place *at = AT_ITEM(AT(AT(NULL, "spec"), "clusterIPs"), 0);
        VEC(str) shown = {0};
        json_each_item(now, it) * vec_push(errs->arena, &shown) = json_text(it);
        check_invalid_go(errs, at, field_strings(errs->arena, shown.p, shown.n), "may not change once set");
    }
}

/* ---- Checking Ingresses. ---- */

static void check_backend(struct field_errors *errs, const struct place *at, const struct json *backend)
{
    const struct json *service = json_get(backend, S("service")), *resource = json_get(backend, S("resource"));
    const struct json *port = json_get(service, S("port"));
    str name = json_get_text(service, S("name")), port_name = json_get_text(port, S("name"));
    int64_t number = int_of(json_get(port, S("number")));
    if (json_is_obj(service) && json_is_obj(resource)) {
        check_invalid_text(errs, at, (str){0}, "cannot set both resource and service backends");
        return;
    }
    if (!json_is_obj(service))
        return;
    if (name.n == 0)
        check_required(errs, AT(AT(at, "service"), "name"), "");
    else
        check_name(errs, AT(AT(at, "service"), "name"), NAME_DNS1035_LABEL, name);
    if (port_name.n && number)
        check_invalid_text(errs, at, (str){0}, "cannot set both port name & port number");
    else if (port_name.n)
        check_name(errs, AT(AT(AT(at, "service"), "port"), "name"), NAME_PORT, port_name);
    else if (number)
        check_port_number(errs, AT(AT(AT(at, "service"), "port"), "number"), number);
    else
        check_required(errs, at, "port name or number is required");
}

static void check_ingress_path(struct field_errors *errs, const struct place *at, const struct json *path)
{
    str type = json_get_text(path, S("pathType")), text = json_get_text(path, S("path"));
    if (json_is_null(json_get(path, S("pathType"))))
        check_required(errs, AT(at, "pathType"), "pathType must be specified");
    else if (!is_choice(type, "Exact ImplementationSpecific Prefix"))
        check_unsupported(errs, AT(at, "pathType"), type, "Exact ImplementationSpecific Prefix");
    else if (!str_has_prefix(text, S("/")) && (text.n || is_choice(type, "Exact Prefix")))
        check_invalid_text(errs, AT(at, "path"), text, "must be an absolute path");
    check_backend(errs, AT(at, "backend"), json_get(path, S("backend")));
}

static void validate_ingress(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "spec");
    const struct json *spec = json_get(object, S("spec")), *rules = json_get(spec, S("rules"));
    const struct json *fallback = json_get(spec, S("defaultBackend"));
    if (json_len(rules) == 0 && !json_is_obj(fallback))
        check_invalid_go(errs, at, S("[]networking.IngressRule(nil)"),
                         "either `defaultBackend` or `rules` must be specified");
    if (json_is_obj(fallback))
        check_backend(errs, AT(at, "defaultBackend"), fallback);
    json_each_item(rules, rule)
    {
        const struct place *here = AT_ITEM(AT(at, "rules"), (size_t)(rule - rules->items));
        const struct json *http = json_get(rule, S("http")), *paths = json_get(http, S("paths"));
        str host = json_get_text(rule, S("host"));
        if (host.n)
            check_name(errs, AT(here, "host"), str_has_prefix(host, S("*")) ? NAME_WILDCARD : NAME_DNS_SUBDOMAIN, host);
        if (json_is_obj(http) && json_len(paths) == 0)
            check_required(errs, AT(AT(here, "http"), "paths"), "");
        json_each_item(paths, it)
            check_ingress_path(errs, AT_ITEM(AT(AT(here, "http"), "paths"), (size_t)(it - paths->items)), it);
    }
}

static const struct strategy network_rows[] = {
    {
        .kind = "Service",
        .fill = fill_service,
        .prepare_create = prepare_service,
        .prepare_update = prepare_service_update,
        .validate = validate_service,
        .validate_update = validate_service_update,
    },
    {
        .kind = "Endpoints",
        .fill = fill_endpoints,
    },
    {
        .group = "networking.k8s.io",
        .kind = "Ingress",
        .validate = validate_ingress,
    },
    {
        .group = "networking.k8s.io",
        .kind = "NetworkPolicy",
        .fill = fill_network_policy,
    },
};
STRATEGIES(strategies_network, network_rows);

/* ---- EndpointSlices. ---- */

enum {
    MAX_ENDPOINTS = 1000,
    MAX_ADDRESSES = 100,
    MAX_PORTS = 20000,
    MAX_ZONES = 8,
};

static void fill_slice(struct arena *a, struct json *object)
{
    json_each_item_mut(json_get_mut(object, S("ports")), port)
    {
        if (json_is_null(json_get(port, S("name"))))
            json_set(a, port, S("name"), json_str((str){0}));
        default_str(a, port, S("protocol"), S("TCP"));
    }
}

/* ---- Addresses. ---- */

struct address {
    int family; /* 0: none */
    unsigned char bytes[16];
};

static struct address parse(str text)
{
    char terminated[INET6_ADDRSTRLEN];
    struct address ip = {0};
    if (text.n == 0 || text.n >= sizeof terminated)
        return ip;
    memcpy(terminated, text.p, text.n);
    terminated[text.n] = 0;
    if (inet_pton(AF_INET, terminated, ip.bytes) == 1)
        ip.family = AF_INET;
    else if (inet_pton(AF_INET6, terminated, ip.bytes) == 1)
        ip.family = AF_INET6;
    return ip;
}

/* Addresses that mean another machine on each machine. */
static void check_special(struct field_errors *errs, const struct place *at, str text, const struct address *ip)
{
    static const unsigned char zero[16] = {0}, one[16] = {[15] = 1};
    const unsigned char *b = ip->bytes;
    bool is_v4 = ip->family == AF_INET;
    if (memcmp(b, zero, is_v4 ? 4 : 16) == 0)
        check_invalid_text(errs, at, text,
                           str_cstr(errs->arena, str_fmt(errs->arena, "may not be unspecified (%.*s)", STR(text))));
    if (is_v4 ? b[0] == 127 : memcmp(b, one, 16) == 0)
        check_invalid_text(errs, at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (is_v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        check_invalid_text(errs, at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (is_v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 0x02)
        check_invalid_text(errs, at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void check_address(struct field_errors *errs, const struct place *at, str type, str text)
{
    struct address ip = parse(text);
    if (str_eq(type, S("FQDN"))) {
        if (str_has_suffix(text, S(".")))
            text.n--;
        if (text.n == 0)
            check_required(errs, at, "");
        else
            check_name(errs, at, NAME_DNS_SUBDOMAIN, text);
        return;
    }
    if (!is_choice(type, "IPv4 IPv6"))
        return;
    if (str_eq(type, S("IPv4")) && ip.family != AF_INET)
        check_invalid_text(errs, at, text, "must be a valid IPv4 address");
    if (str_eq(type, S("IPv6")) && ip.family != AF_INET6)
        check_invalid_text(errs, at, text, "must be a valid IPv6 address");
    if (ip.family == 0)
        check_invalid_text(errs, at, text, "must be a valid IP address");
    else
        check_special(errs, at, text, &ip);
}

/* ---- Endpoints and ports. ---- */

static bool has_too_many(struct field_errors *errs, const struct place *at, const struct json *list, size_t max)
{
    if (json_len(list) <= max)
        return false;
    check_too_many(errs, at, json_len(list), max);
    return true;
}

static void check_hints(struct field_errors *errs, const struct place *at, const struct json *zones)
{
    static char taken;
    struct map names = {0};
    if (has_too_many(errs, at, zones, MAX_ZONES))
        return;
    json_each_item(zones, it)
    {
        const struct place *here = AT(AT_ITEM(at, (size_t)(it - zones->items)), "name");
        str name = json_get_text(it, S("name"));
        if (map_set(&names, name, &taken))
            check_duplicate(errs, here, name);
        check_name(errs, here, NAME_LABEL_VALUE, name);
    }
    map_done(&names);
}

static void check_endpoint(struct field_errors *errs, const struct place *at, const struct json *endpoint, str type)
{
    const struct json *addresses = json_get(endpoint, S("addresses")), *node = json_get(endpoint, S("nodeName")),
                      *host = json_get(endpoint, S("hostname"));
    const struct place *list = AT(at, "addresses");
    if (json_len(addresses) == 0)
        check_required(errs, list, "must contain at least 1 address");
    has_too_many(errs, list, addresses, MAX_ADDRESSES);
    json_each_item(addresses, it)
        check_address(errs, AT_ITEM(list, (size_t)(it - addresses->items)), type, json_text(it));
    if (!json_is_null(node))
        check_name(errs, AT(at, "nodeName"), NAME_DNS_SUBDOMAIN, json_text(node));
    check_labels(errs, AT(at, "deprecatedTopology"), json_get(endpoint, S("deprecatedTopology")));
    if (!json_is_null(host))
        check_name(errs, AT(at, "hostname"), NAME_DNS_LABEL, json_text(host));
    check_hints(errs, AT(AT(at, "hints"), "forZones"), json_dig(endpoint, "hints.forZones"));
}

static void check_slice_ports(struct field_errors *errs, const struct place *at, const struct json *ports)
{
    static char taken;
    struct map names = {0};
    if (has_too_many(errs, at, ports, MAX_PORTS))
        return;
    json_each_item(ports, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - ports->items));
        const struct json *app = json_get(it, S("appProtocol"));
        str name = json_get_text(it, S("name")), protocol = json_get_text(it, S("protocol"));
        if (name.n)
            check_name(errs, AT(here, "name"), NAME_DNS_LABEL, name);
        if (map_set(&names, name, &taken))
            check_duplicate(errs, AT(here, "name"), name);
        if (!is_choice(protocol, "SCTP TCP UDP"))
            check_unsupported(errs, AT(here, "protocol"), protocol, "SCTP TCP UDP");
        if (!json_is_null(app))
            check_name(errs, AT(here, "appProtocol"), NAME_QUALIFIED, json_text(app));
    }
    map_done(&names);
}

static void validate_slice(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "endpoints");
    const struct json *endpoints = json_get(object, S("endpoints"));
    str type = json_get_text(object, S("addressType"));
    check_choice(errs, AT(NULL, "addressType"), type, "FQDN IPv4 IPv6");
    if (!has_too_many(errs, at, endpoints, MAX_ENDPOINTS)) {
        json_each_item(endpoints, it) check_endpoint(errs, AT_ITEM(at, (size_t)(it - endpoints->items)), it, type);
    }
    check_slice_ports(errs, AT(NULL, "ports"), json_get(object, S("ports")));
}

static void validate_slice_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "addressType"), json_get(object, S("addressType")),
                    json_get(current, S("addressType")));
}

static const struct strategy slices_rows[] = {
    {
        .group = "discovery.k8s.io",
        .kind = "EndpointSlice",
        .fill = fill_slice,
        .validate = validate_slice,
        .validate_update = validate_slice_update,
        .changes_come_last = true,
    },
};
STRATEGIES(strategies_slices, slices_rows);
