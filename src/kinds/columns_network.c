/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of Endpoints, EndpointSlice, Ingress and NetworkPolicy. */
#include "kinds/columns_internal.h"

enum { SHOWN = 3 }; /* of long lists; then "+ 4 more..." */

/* ---- Endpoints. ---- */

struct shown {
    struct buf b;
    size_t n, all;
};

static void show_address(struct shown *s, str ip, const struct json *port)
{
    if (s->all++ >= SHOWN)
        return;
    const char *open = str_find_char(ip, ':') >= 0 ? "[" : "", *close = open[0] ? "]" : "";
    struct arena *a = s->b.arena;
    if (port == NULL)
        column_join(&s->b, ip, ",");
    else
        column_join(&s->b, str_fmt(a, "%s%.*s%s:%lld", open, STR(ip), close, (long long)column_int(port, "port")), ",");
    s->n++;
}

static struct json endpoint_list(struct arena *a, const struct json *obj, int64_t now)
{
    struct shown s = {.b = {.arena = a}};
    const struct json *subsets = json_get(obj, S("subsets"));
    (void)now;
    json_each_item(subsets, subset)
    {
        const struct json *ports = json_get(subset, S("ports")), *addresses = json_get(subset, S("addresses"));
        for (size_t p = 0; p == 0 || p < json_len(ports); p++) {
            json_each_item(addresses, it)
                show_address(&s, json_get_text(it, S("ip")), json_len(ports) ? &ports->items[p] : NULL);
        }
    }
    if (json_len(subsets) == 0)
        return json_str(S("<none>"));
    if (s.all > SHOWN)
        buf_fmt(&s.b, " + %zu more...", s.all - SHOWN);
    return json_str(buf_str(&s.b));
}

static const struct column endpoints[] = {
    NAME_COLUMN,
    CELL_COLUMN("Endpoints", endpoint_list),
    AGE_COLUMN,
};
COLUMNS(columns_endpoints, endpoints);

static struct json slice_ports(struct arena *a, const struct json *obj, int64_t now)
{
    struct buf b = {.arena = a};
    const struct json *ports = json_get(obj, S("ports"));
    (void)now;
    for (size_t i = 0; i < json_len(ports) && i < SHOWN; i++) {
        const struct json *port = &ports->items[i], *name = json_get(port, S("name"));
        if (json_is_num(json_get(port, S("port"))))
            column_join(&b, str_fmt(a, "%lld", (long long)column_int(port, "port")), ",");
        else
            column_join(&b, json_is_str(name) ? json_text(name) : S("*"), ",");
    }
    if (json_len(ports) > SHOWN)
        buf_fmt(&b, " + %zu more...", json_len(ports) - SHOWN);
    return json_str(b.n ? buf_str(&b) : S("<unset>"));
}

static struct json slice_addresses(struct arena *a, const struct json *obj, int64_t now)
{
    struct shown s = {.b = {.arena = a}};
    (void)now;
    json_each_item(json_get(obj, S("endpoints")), endpoint)
    {
        json_each_item(json_get(endpoint, S("addresses")), it) show_address(&s, json_text(it), NULL);
    }
    if (s.all > SHOWN)
        buf_fmt(&s.b, " + %zu more...", s.all - SHOWN);
    return json_str(s.b.n ? buf_str(&s.b) : S("<unset>"));
}

static const struct column endpoint_slices[] = {
    NAME_COLUMN,
    FIELD_COLUMN("AddressType", "addressType", NULL),
    CELL_COLUMN("Ports", slice_ports),
    CELL_COLUMN("Endpoints", slice_addresses),
    AGE_COLUMN,
};
COLUMNS(columns_endpoint_slices, endpoint_slices);

/* ---- Ingresses. ---- */

static struct json ingress_hosts(struct arena *a, const struct json *obj, int64_t now)
{
    struct buf b = {.arena = a};
    const struct json *rules = json_dig(obj, "spec.rules");
    size_t n = 0;
    bool more = false;
    (void)now;
    json_each_item(rules, rule)
    {
        str host = json_get_text(rule, S("host"));
        more = more || n == SHOWN;
        if (more || host.n == 0)
            continue;
        column_join(&b, host, ",");
        n++;
    }
    if (n == 0)
        return json_str(S("*"));
    if (more)
        buf_fmt(&b, " + %zu more...", json_len(rules) - SHOWN);
    return json_str(buf_str(&b));
}

static struct json ingress_address(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(column_balancer_addresses(a, obj));
}

static struct json ingress_ports(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(json_len(json_dig(obj, "spec.tls")) ? S("80, 443") : S("80"));
}

static const struct column ingresses[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Class", "spec.ingressClassName", "<none>"),
    CELL_COLUMN("Hosts", ingress_hosts),
    CELL_COLUMN("Address", ingress_address),
    CELL_COLUMN("Ports", ingress_ports),
    AGE_COLUMN,
};
COLUMNS(columns_ingresses, ingresses);

/* ---- Network policies. ---- */

static struct json policy_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return column_selector(a, json_dig(obj, "spec.podSelector"), "<error>", "<none>");
}

static const struct column network_policies[] = {
    NAME_COLUMN,
    CELL_COLUMN("Pod-Selector", policy_selector),
    AGE_COLUMN,
};
COLUMNS(columns_network_policies, network_policies);
