/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "object/object.h"

/* Columns of Endpoints, EndpointSlice, Ingress and NetworkPolicy. */

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

/* Columns of PersistentVolume and PersistentVolumeClaim. */

static str access_modes(struct arena *a, const struct json *modes)
{
    static const char *const names[][2] = {
        {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
    struct buf b = {.arena = a};
    for (size_t i = 0; i < COUNT(names); i++) {
        bool has = false;
        json_each_item(modes, it) has = has || str_eq(json_text(it), str_of(names[i][0]));
        if (has)
            column_join(&b, str_of(names[i][1]), ",");
    }
    return buf_str(&b);
}

static struct json phase(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(object_is_deleting(obj) ? S("Terminating") : column_text(obj, "status.phase"));
}

/* The annotation is older than the field and takes precedence. */
static struct json storage_class(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *old = json_get(object_annotations(obj), S("volume.beta.kubernetes.io/storage-class"));
    (void)a;
    (void)now;
    return json_str(old ? json_text(old) : column_text(obj, "spec.storageClassName"));
}

/* ---- Volumes. ---- */

static struct json volume_capacity(struct arena *a, const struct json *obj, int64_t now)
{
    str amount = column_text(obj, "spec.capacity.storage");
    (void)a;
    (void)now;
    return json_str(amount.n ? amount : S("0"));
}

static struct json volume_modes(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(access_modes(a, json_dig(obj, "spec.accessModes")));
}

static struct json volume_claim(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *claim = json_dig(obj, "spec.claimRef");
    (void)now;
    if (!json_is_obj(claim))
        return json_str((str){0});
    return json_str(
        str_fmt(a, "%.*s/%.*s", STR(json_get_text(claim, S("namespace"))), STR(json_get_text(claim, S("name")))));
}

static const struct column persistent_volumes[] = {
    NAME_COLUMN,
    CELL_COLUMN("Capacity", volume_capacity),
    CELL_COLUMN("Access Modes", volume_modes),
    FIELD_COLUMN("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", NULL),
    CELL_COLUMN("Status", phase),
    CELL_COLUMN("Claim", volume_claim),
    CELL_COLUMN("StorageClass", storage_class),
    FIELD_COLUMN("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    FIELD_COLUMN("Reason", "status.reason", NULL),
    AGE_COLUMN,
    WIDE_FIELD_COLUMN("VolumeMode", "spec.volumeMode", "<unset>"),
};
COLUMNS(columns_persistent_volumes, persistent_volumes);

/* ---- Claims: they show what they have once they are bound. ---- */

static bool is_bound(const struct json *obj)
{
    return column_text(obj, "spec.volumeName").n > 0;
}

static struct json claim_capacity(struct arena *a, const struct json *obj, int64_t now)
{
    str amount = column_text(obj, "status.capacity.storage");
    (void)a;
    (void)now;
    return json_str(!is_bound(obj) ? (str){0} : amount.n ? amount : S("0"));
}

static struct json claim_modes(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(is_bound(obj) ? access_modes(a, json_dig(obj, "status.accessModes")) : (str){0});
}

static const struct column persistent_volume_claims[] = {
    NAME_COLUMN,
    CELL_COLUMN("Status", phase),
    FIELD_COLUMN("Volume", "spec.volumeName", NULL),
    CELL_COLUMN("Capacity", claim_capacity),
    CELL_COLUMN("Access Modes", claim_modes),
    CELL_COLUMN("StorageClass", storage_class),
    FIELD_COLUMN("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    AGE_COLUMN,
    WIDE_FIELD_COLUMN("VolumeMode", "spec.volumeMode", "<unset>"),
};
COLUMNS(columns_persistent_volume_claims, persistent_volume_claims);
