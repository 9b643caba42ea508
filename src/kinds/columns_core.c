/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "object/conditions.h"
#include "object/object.h"

#include <stdlib.h>

/* core/v1: columns of everything but pods and events. */

/* ---- Small kinds. ---- */

static struct json data_count(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    size_t n = json_len(json_get(obj, S("data"))) + json_len(json_get(obj, S("binaryData")));
    return json_int((int64_t)n);
}

static struct json secret_count(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int((int64_t)json_len(json_get(obj, S("secrets"))));
}

static const struct column config_maps[] = {
    NAME_COLUMN,
    CELL_COLUMN("Data", data_count),
    AGE_COLUMN,
};
COLUMNS(columns_config_maps, config_maps);

static const struct column secrets[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Type", "type", NULL),
    CELL_COLUMN("Data", data_count),
    AGE_COLUMN,
};
COLUMNS(columns_secrets, secrets);

static const struct column service_accounts[] = {
    NAME_COLUMN,
    CELL_COLUMN("Secrets", secret_count),
    AGE_COLUMN,
};
COLUMNS(columns_service_accounts, service_accounts);

static const struct column namespaces[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Status", "status.phase", NULL),
    AGE_COLUMN,
};
COLUMNS(columns_namespaces, namespaces);

static const struct column leases[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Holder", "spec.holderIdentity", NULL),
    AGE_COLUMN,
};
COLUMNS(columns_leases, leases);

/* ---- Texts in order. ---- */

typedef VEC(str) str_vec;

static int by_bytes(const void *l, const void *r)
{
    return str_cmp(*(const str *)l, *(const str *)r);
}

/* Sorted, without doubles, commas between. */
static str sorted_join(struct arena *a, str_vec *list)
{
    struct buf b = {.arena = a};
    if (list->n)
        qsort(list->p, list->n, sizeof list->p[0], by_bytes);
    for (size_t i = 0; i < list->n; i++)
        if (i == 0 || !str_eq(list->p[i], list->p[i - 1]))
            column_join(&b, list->p[i], ",");
    return buf_str(&b);
}

/* ---- Nodes. ---- */

static struct json node_status(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    const struct json *ready = NULL;
    json_each_item(json_dig(obj, "status.conditions"), c)
    {
        if (str_eq(json_get_text(c, S("type")), S("Ready")))
            ready = c; /* the last one counts */
    }
    const char *text = !ready ? "Unknown" : str_eq(json_get_text(ready, S("status")), S("True")) ? "Ready" : "NotReady";
    bool cordoned = json_true(json_dig(obj, "spec.unschedulable"));
    return json_str(str_fmt(a, "%s%s", text, cordoned ? ",SchedulingDisabled" : ""));
}

static struct json node_roles(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    str_vec roles = {0};
    const str prefix = S("node-role.kubernetes.io/");
    json_each_member(json_dig(obj, "metadata.labels"), m)
    {
        str role = str_has_prefix(json_key(m), prefix)            ? str_from(json_key(m), prefix.n)
                   : str_eq(json_key(m), S("kubernetes.io/role")) ? json_text(&m->val)
                                                                  : (str){0};
        if (role.n)
            *vec_push(a, &roles) = role;
    }
    return json_str(roles.n ? sorted_join(a, &roles) : S("<none>"));
}

static struct json node_address(const struct json *obj, str type)
{
    const struct json *found = condition_find(json_dig(obj, "status.addresses"), type);
    return json_str(found ? json_get_text(found, S("address")) : S("<none>"));
}

static struct json node_internal_ip(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return node_address(obj, S("InternalIP"));
}

static struct json node_external_ip(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return node_address(obj, S("ExternalIP"));
}

static const struct column nodes[] = {
    NAME_COLUMN,
    CELL_COLUMN("Status", node_status),
    CELL_COLUMN("Roles", node_roles),
    AGE_COLUMN,
    FIELD_COLUMN("Version", "status.nodeInfo.kubeletVersion", NULL),
    WIDE_CELL_COLUMN("Internal-IP", node_internal_ip),
    WIDE_CELL_COLUMN("External-IP", node_external_ip),
    WIDE_FIELD_COLUMN("OS-Image", "status.nodeInfo.osImage", "<unknown>"),
    WIDE_FIELD_COLUMN("Kernel-Version", "status.nodeInfo.kernelVersion", "<unknown>"),
    WIDE_FIELD_COLUMN("Container-Runtime", "status.nodeInfo.containerRuntimeVersion", "<unknown>"),
};
COLUMNS(columns_nodes, nodes);

/* ---- Services. ---- */

static struct json cluster_ip(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    const struct json *ips = json_dig(obj, "spec.clusterIPs");
    return json_str(json_is_arr(ips) && ips->n ? json_text(&ips->items[0]) : S("<none>"));
}

str column_balancer_addresses(struct arena *a, const struct json *obj)
{
    str_vec list = {0};
    json_each_item(json_dig(obj, "status.loadBalancer.ingress"), at)
    {
        str ip = json_get_text(at, S("ip")), host = json_get_text(at, S("hostname"));
        if (ip.n || host.n)
            *vec_push(a, &list) = ip.n ? ip : host;
    }
    return sorted_join(a, &list);
}

static struct json external_ip(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    str type = column_text(obj, "spec.type");
    bool balanced = str_eq(type, S("LoadBalancer"));
    if (str_eq(type, S("ExternalName")))
        return json_str(column_text(obj, "spec.externalName"));
    if (!balanced && !str_eq(type, S("ClusterIP")) && !str_eq(type, S("NodePort")))
        return json_str(S("<unknown>"));
    struct buf b = {.arena = a};
    if (balanced)
        buf_add_str(&b, column_balancer_addresses(a, obj));
    json_each_item(json_dig(obj, "spec.externalIPs"), ip)
    {
        column_join(&b, json_text(ip), ",");
    }
    return json_str(b.n ? buf_str(&b) : balanced ? S("<pending>") : S("<none>"));
}

static struct json service_ports(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    struct buf b = {.arena = a};
    json_each_item(json_dig(obj, "spec.ports"), port)
    {
        long long number = column_int(port, "port"), on_node = column_int(port, "nodePort");
        str protocol = json_get_text(port, S("protocol"));
        if (b.n)
            buf_add_char(&b, ',');
        if (on_node > 0)
            buf_fmt(&b, "%lld:%lld/%.*s", number, on_node, STR(protocol));
        else
            buf_fmt(&b, "%lld/%.*s", number, STR(protocol));
    }
    return json_str(b.n ? buf_str(&b) : S("<none>"));
}

static struct json service_selector(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    str_vec list = {0};
    json_each_member(json_dig(obj, "spec.selector"), m)
    {
        *vec_push(a, &list) = str_fmt(a, "%.*s=%.*s", STR(json_key(m)), STR(json_text(&m->val)));
    }
    return json_str(list.n ? sorted_join(a, &list) : S("<none>"));
}

static const struct column services[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Type", "spec.type", NULL),
    CELL_COLUMN("Cluster-IP", cluster_ip),
    CELL_COLUMN("External-IP", external_ip),
    CELL_COLUMN("Port(s)", service_ports),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Selector", service_selector),
};
COLUMNS(columns_services, services);

/* ---- Quotas: "cpu: 1/2, pods: 0/10"; what begins with limits. has a column of its own. ---- */

static struct json quota(struct arena *a, const struct json *obj, bool limits)
{
    struct buf b = {.arena = a};
    struct json_index used JSON_INDEX_SCOPE;
    json_index_init(&used, json_dig(obj, "status.used"));
    str_vec rows = {0};
    json_each_member(json_dig(obj, "status.hard"), m)
    {
        if (str_has_prefix(json_key(m), S("limits.")) != limits)
            continue;
        const struct json_member *have = json_index_find(&used, json_key(m));
        str now = have ? json_text(&have->val) : S("0");
        *vec_push(a, &rows) = str_fmt(a, "%.*s: %.*s/%.*s", STR(json_key(m)), STR(now), STR(json_text(&m->val)));
    }
    if (rows.n)
        qsort(rows.p, rows.n, sizeof rows.p[0], by_bytes);
    for (size_t i = 0; i < rows.n; i++)
        column_join(&b, rows.p[i], ", ");
    return json_str(buf_str(&b));
}

static struct json quota_requests(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return quota(a, obj, false);
}

static struct json quota_limits(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return quota(a, obj, true);
}

static const struct column resource_quotas[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    CELL_COLUMN("Request", quota_requests),
    CELL_COLUMN("Limit", quota_limits),
};
COLUMNS(columns_resource_quotas, resource_quotas);

/* Events of both groups: the same columns over two sets of field names. */

static str either(const struct json *obj, const char *core, const char *events)
{
    str text = column_text(obj, core);
    return text.n ? text : column_text(obj, events);
}

static struct json first_seen(struct arena *a, const struct json *obj, int64_t now)
{
    str at = either(obj, "firstTimestamp", "deprecatedFirstTimestamp");
    return json_str(column_age(a, at.n ? at : column_text(obj, "eventTime"), now));
}

static struct json last_seen(struct arena *a, const struct json *obj, int64_t now)
{
    str at = either(obj, "lastTimestamp", "deprecatedLastTimestamp");
    if (json_is_obj(json_get(obj, S("series"))))
        return json_str(column_age(a, column_text(obj, "series.lastObservedTime"), now));
    return at.n ? json_str(column_age(a, at, now)) : first_seen(a, obj, now);
}

static struct json count(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    if (json_is_obj(json_get(obj, S("series"))))
        return json_int(column_int(obj, "series.count"));
    int64_t n = column_int(obj, "count") + column_int(obj, "deprecatedCount"); /* an event has one of them */
    return json_int(n ? n : 1);
}

/* "pod/web" */
static struct json target(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    struct buf b = {.arena = a};
    str kind = either(obj, "involvedObject.kind", "regarding.kind");
    str name = either(obj, "involvedObject.name", "regarding.name");
    for (size_t i = 0; i < kind.n; i++)
        buf_add_char(&b, char_is_upper(kind.p[i]) ? (char)(kind.p[i] + 32) : kind.p[i]);
    if (name.n)
        buf_fmt(&b, "/%.*s", STR(name));
    return json_str(buf_str(&b));
}

static struct json subobject(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(either(obj, "involvedObject.fieldPath", "regarding.fieldPath"));
}

/* "kubelet, node-1" */
static struct json source(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    str component = either(obj, "source.component", "deprecatedSource.component");
    str host = either(obj, "source.host", "deprecatedSource.host");
    component = component.n ? component : either(obj, "reportingComponent", "reportingController");
    host = host.n ? host : column_text(obj, "reportingInstance");
    return json_str(host.n ? str_fmt(a, "%.*s, %.*s", STR(component), STR(host)) : component);
}

static struct json message(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_str(str_trim(either(obj, "message", "note")));
}

static const struct column events[] = {
    CELL_COLUMN("Last Seen", last_seen),
    FIELD_COLUMN("Type", "type", NULL),
    FIELD_COLUMN("Reason", "reason", NULL),
    CELL_COLUMN("Object", target),
    WIDE_CELL_COLUMN("Subobject", subobject),
    WIDE_CELL_COLUMN("Source", source),
    CELL_COLUMN("Message", message),
    WIDE_CELL_COLUMN("First Seen", first_seen),
    WIDE_CELL_COLUMN("Count", count),
    {.name = "Name", .type = "string", .format = "name", .field = "metadata.name", .priority = 1},
};
COLUMNS(columns_events, events);

/* Who may do what: columns of role bindings and requests for certificates. */

/* ---- Role bindings. ---- */

static struct json role(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return json_str(
        str_fmt(a, "%.*s/%.*s", STR(column_text(obj, "roleRef.kind")), STR(column_text(obj, "roleRef.name"))));
}

static struct json subjects(struct arena *a, const struct json *obj, str kind)
{
    struct buf b = {.arena = a};
    size_t n = 0;
    json_each_item(json_get(obj, S("subjects")), s)
    {
        if (!str_eq(json_get_text(s, S("kind")), kind))
            continue;
        if (n++)
            buf_add_str(&b, S(", "));
        if (str_eq(kind, S("ServiceAccount")))
            buf_fmt(&b, "%.*s/", STR(json_get_text(s, S("namespace"))));
        buf_add_str(&b, json_get_text(s, S("name")));
    }
    return json_str(buf_str(&b));
}

static struct json users(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("User"));
}

static struct json groups(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("Group"));
}

static struct json accounts(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    return subjects(a, obj, S("ServiceAccount"));
}

static const struct column role_bindings[] = {
    NAME_COLUMN,
    CELL_COLUMN("Role", role),
    AGE_COLUMN,
    WIDE_CELL_COLUMN("Users", users),
    WIDE_CELL_COLUMN("Groups", groups),
    WIDE_CELL_COLUMN("ServiceAccounts", accounts),
};
COLUMNS(columns_role_bindings, role_bindings);

/* ---- Requests for certificates. ---- */

static struct json requested_duration(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    if (!json_is_num(json_dig(obj, "spec.expirationSeconds")))
        return json_str(S("<none>"));
    return json_str(column_duration(a, column_int(obj, "spec.expirationSeconds")));
}

/* "Approved,Issued" */
static struct json condition(struct arena *a, const struct json *obj, int64_t now)
{
    (void)now;
    const struct json *conditions = json_dig(obj, "status.conditions");
    const char *decision = condition_find(conditions, S("Denied"))     ? "Denied"
                           : condition_find(conditions, S("Approved")) ? "Approved"
                                                                       : "Pending";
    bool failed = condition_find(conditions, S("Failed")), issued = column_text(obj, "status.certificate").n;
    return json_str(str_fmt(a, "%s%s%s", decision, failed ? ",Failed" : "", issued ? ",Issued" : ""));
}

static const struct column certificate_signing_requests[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    FIELD_COLUMN("SignerName", "spec.signerName", "<none>"),
    FIELD_COLUMN("Requestor", "spec.username", NULL),
    CELL_COLUMN("RequestedDuration", requested_duration),
    CELL_COLUMN("Condition", condition),
};
COLUMNS(columns_certificate_signing_requests, certificate_signing_requests);

/* Columns of PriorityClass, StorageClass, IngressClass and RuntimeClass. */

/* ---- Priorities. ---- */

static struct json priority(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_int(column_int(obj, "value"));
}

static struct json is_default(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_bool(json_true(json_get(obj, S("globalDefault"))));
}

static const struct column priority_classes[] = {
    NAME_COLUMN,
    INTEGER_COLUMN("Value", priority),
    {.name = "Global-Default", .type = "boolean", .cell = is_default},
    AGE_COLUMN,
    FIELD_COLUMN("PreemptionPolicy", "preemptionPolicy", NULL),
};
COLUMNS(columns_priority_classes, priority_classes);

/* ---- Storage. ---- */

static struct json storage_name(struct arena *a, const struct json *obj, int64_t now)
{
    static const char *const marks[] = {"storageclass.kubernetes.io/is-default-class",
                                        "storageclass.beta.kubernetes.io/is-default-class"};
    (void)now;
    for (size_t i = 0; i < COUNT(marks); i++) {
        if (str_eq(json_get_text(object_annotations(obj), str_of(marks[i])), S("true")))
            return json_str(str_fmt(a, "%.*s (default)", STR(object_name(obj))));
    }
    return json_str(object_name(obj));
}

static struct json may_grow(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)now;
    return json_bool(json_true(json_get(obj, S("allowVolumeExpansion"))));
}

static const struct column storage_classes[] = {
    {.name = "Name", .type = "string", .format = "name", .cell = storage_name},
    FIELD_COLUMN("Provisioner", "provisioner", NULL),
    FIELD_COLUMN("ReclaimPolicy", "reclaimPolicy", "Delete"),
    FIELD_COLUMN("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    CELL_COLUMN("AllowVolumeExpansion", may_grow),
    AGE_COLUMN,
};
COLUMNS(columns_storage_classes, storage_classes);

/* ---- Ingress and runtimes. ---- */

/* "Kind.group/name" */
static struct json parameters(struct arena *a, const struct json *obj, int64_t now)
{
    const struct json *p = json_dig(obj, "spec.parameters");
    str group = json_get_text(p, S("apiGroup"));
    (void)now;
    if (!json_is_obj(p))
        return json_str(S("<none>"));
    return json_str(str_fmt(a, "%.*s%s%.*s/%.*s", STR(json_get_text(p, S("kind"))),
                            json_is_str(json_get(p, S("apiGroup"))) ? "." : "", STR(group),
                            STR(json_get_text(p, S("name")))));
}

static const struct column ingress_classes[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Controller", "spec.controller", NULL),
    CELL_COLUMN("Parameters", parameters),
    AGE_COLUMN,
};
COLUMNS(columns_ingress_classes, ingress_classes);

static const struct column runtime_classes[] = {
    NAME_COLUMN,
    FIELD_COLUMN("Handler", "handler", NULL),
    AGE_COLUMN,
};
COLUMNS(columns_runtime_classes, runtime_classes);
