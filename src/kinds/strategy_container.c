/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"
#include "object/quantity.h"

/* Volumes of pods: where they come from is one of many sources. */

/* ---- Filling in. ---- */

static const struct {
    const char *source, *field, *value;
} texts[] = {
    {"iscsi", "iscsiInterface", "default"},
    {"rbd", "pool", "rbd"},
    {"rbd", "user", "admin"},
    {"rbd", "keyring", "/etc/ceph/keyring"},
    {"azureDisk", "cachingMode", "ReadWrite"},
    {"azureDisk", "fsType", "ext4"},
    {"azureDisk", "kind", "Shared"},
    {"scaleIO", "storageMode", "ThinProvisioned"},
    {"scaleIO", "fsType", "xfs"},
};

static void fill_source(struct arena *a, str name, struct json *source)
{
    static const char *const with_mode[] = {"secret", "configMap", "downwardAPI", "projected"};
    enum { MODE = 0644 };
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (str_eq(name, str_of(texts[i].source)))
            default_str(a, source, str_of(texts[i].field), str_of(texts[i].value));
    }
    for (size_t i = 0; i < COUNT(with_mode); i++) {
        if (str_eq(name, str_of(with_mode[i])))
            default_int(a, source, S("defaultMode"), MODE);
    }
    if (str_eq(name, S("azureDisk")))
        default_bool(a, source, S("readOnly"), false);
    if (str_eq(name, S("hostPath")) && json_is_null(json_get(source, S("type"))))
        json_set(a, source, S("type"), json_str((str){0}));
    if (str_eq(name, S("downwardAPI")))
        json_each_item_mut(json_get_mut(source, S("items")), it) pod_fill_field_ref(a, it);
}

static void fill_projection(struct arena *a, struct json *projection)
{
    struct json *token = json_get_mut(projection, S("serviceAccountToken"));
    if (json_is_obj(token))
        default_int(a, token, S("expirationSeconds"), 3600);
    struct json *downward = json_get_mut(projection, S("downwardAPI"));
    json_each_item_mut(json_get_mut(downward, S("items")), it) pod_fill_field_ref(a, it);
}

void pod_fill_claim_spec(struct arena *a, struct json *spec)
{
    if (json_is_obj(spec))
        default_str(a, spec, S("volumeMode"), S("Filesystem"));
}

void pod_fill_volume(struct arena *a, struct json *volume)
{
    bool has_source = false;
    for (size_t i = 0; i < json_len(volume); i++) {
        struct json_member *m = &volume->members[i];
        if (str_eq(json_key(m), S("name")) || m->val.type != JSON_OBJ)
            continue;
        has_source = true;
        fill_source(a, json_key(m), &m->val);
    }
    if (json_is_obj(volume) && !has_source)
        json_set(a, volume, S("emptyDir"), json_obj());
    json_each_item_mut(json_get_mut(json_get_mut(volume, S("projected")), S("sources")), it) fill_projection(a, it);
    struct json *claim = json_get_mut(json_get_mut(volume, S("ephemeral")), S("volumeClaimTemplate"));
    if (json_is_obj(claim))
        pod_fill_claim_spec(a, make_obj(a, claim, S("spec")));
}

/* ---- Checking. ---- */

static void pod_check_no_backsteps(struct field_errors *errs, const struct place *at, str path)
{
    str rest = path, step;
    bool more = true;
    while (more) {
        more = str_cut(rest, '/', &step, &rest);
        if (!more)
            step = rest;
        if (str_eq(step, S(".."))) {
            check_invalid_text(errs, at, path, "must not contain '..'");
            return;
        }
    }
}

static void check_mode(struct field_errors *errs, const struct place *at, const struct json *mode)
{
    if (!json_is_null(mode) && (int_of(mode) < 0 || int_of(mode) > 0777))
        check_invalid(errs, at, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

/* Keys that become files. */
static void check_items(struct field_errors *errs, const struct place *at, const struct json *source)
{
    const struct json *items = json_get(source, S("items"));
    check_mode(errs, AT(at, "defaultMode"), json_get(source, S("defaultMode")));
    json_each_item(items, it)
    {
        const struct place *here = AT_ITEM(AT(at, "items"), (size_t)(it - items->items));
        str path = json_get_text(it, S("path"));
        if (json_get_text(it, S("key")).n == 0)
            check_required(errs, AT(here, "key"), "");
        if (path.n == 0)
            check_required(errs, AT(here, "path"), "");
        if (path.n && path.p[0] == '/')
            check_invalid_text(errs, AT(here, "path"), path, "must be a relative path");
        pod_check_no_backsteps(errs, AT(here, "path"), path);
        if (str_has_prefix(path, S("..")) && !str_has_prefix(path, S("../")))
            check_invalid_text(errs, AT(here, "path"), path, "must not start with '..'");
        check_mode(errs, AT(here, "mode"), json_get(it, S("mode")));
    }
}

static void check_source(struct field_errors *errs, const struct place *at, str name, const struct json *source)
{
    static const struct {
        const char *source, *field;
    } needed[] = {
        {"secret", "secretName"}, {"configMap", "name"}, {"persistentVolumeClaim", "claimName"},
        {"hostPath", "path"},     {"csi", "driver"},
    };
    for (size_t i = 0; i < COUNT(needed); i++) {
        str field = str_of(needed[i].field);
        if (str_eq(name, str_of(needed[i].source)) && json_get_text(source, field).n == 0)
            check_required(errs, AT_FIELD(at, field), "");
    }
    if (str_eq(name, S("hostPath")))
        pod_check_no_backsteps(errs, AT(at, "path"), json_get_text(source, S("path")));
    if (is_choice(name, "secret configMap"))
        check_items(errs, at, source);
    if (str_eq(name, S("nfs")) && json_get_text(source, S("server")).n == 0)
        check_required(errs, AT(at, "server"), "");
    if (str_eq(name, S("nfs")) && json_get_text(source, S("path")).n == 0)
        check_required(errs, AT(at, "path"), "");
    if (str_eq(name, S("nfs")) && json_get_text(source, S("path")).n && json_get_text(source, S("path")).p[0] != '/')
        check_invalid_text(errs, AT(at, "path"), json_get_text(source, S("path")), "must be an absolute path");
}

static void check_volume(struct field_errors *errs, const struct place *at, const struct json *volume)
{
    bool has_source = json_is_obj(json_get(volume, S("emptyDir"))); /* it goes first, whatever else there is */
    json_each_member(volume, m)
    {
        if (m->val.type != JSON_OBJ || str_eq(json_key(m), S("emptyDir")))
            continue;
        if (has_source)
            check_forbidden(errs, AT_FIELD(at, json_key(m)), "may not specify more than 1 volume type");
        else
            check_source(errs, AT_FIELD(at, json_key(m)), json_key(m), &m->val);
        has_source = true;
    }
    str name = json_get_text(volume, S("name"));
    if (name.n == 0)
        check_required(errs, AT(at, "name"), "");
    else
        check_name(errs, AT(at, "name"), NAME_DNS_LABEL, name);
}

void pod_check_volumes(struct field_errors *errs, const struct place *at, const struct json *volumes,
                       struct map *ret_names)
{
    static char known;
    json_each_item(volumes, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - volumes->items));
        size_t faults = errs->list.n + errs->dropped;
        str name = json_get_text(it, S("name"));
        check_volume(errs, here, it);
        if (map_get(ret_names, name))
            check_duplicate(errs, AT(here, "name"), name);
        if (errs->list.n + errs->dropped == faults)
            map_set(ret_names, name, &known);
    }
}

/* What is refused in a container. */

/* ---- Ports and environment. ---- */

static void check_ports(struct field_errors *errs, const struct place *at, const struct json *ports)
{
    struct map names = {0};
    static char taken;
    json_each_item(ports, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - ports->items));
        str name = json_get_text(it, S("name")), protocol = json_get_text(it, S("protocol"));
        int64_t port = int_of(json_get(it, S("containerPort"))), on_host = int_of(json_get(it, S("hostPort")));
        if (name.n && !name_is(NAME_PORT, name))
            check_name(errs, AT(here, "name"), NAME_PORT, name);
        else if (name.n && map_set(&names, name, &taken))
            check_duplicate(errs, AT(here, "name"), name);
        if (port == 0)
            check_required(errs, AT(here, "containerPort"), "");
        else
            check_port_number(errs, AT(here, "containerPort"), port);
        if (on_host)
            check_port_number(errs, AT(here, "hostPort"), on_host);
        check_choice(errs, AT(here, "protocol"), protocol, "SCTP TCP UDP");
    }
    map_done(&names);
}

static void check_key_ref(struct field_errors *errs, const struct place *at, const struct json *ref)
{
    str key = json_get_text(ref, S("key"));
    check_name(errs, AT(at, "name"), NAME_DNS_SUBDOMAIN, json_get_text(ref, S("name")));
    if (key.n == 0)
        check_required(errs, AT(at, "key"), "");
    else
        check_name(errs, AT(at, "key"), NAME_CONFIG_KEY, key);
}

/* A variable takes its value from one place. */
static void check_value_from(struct field_errors *errs, const struct place *at, const struct json *env)
{
    const struct json *from = json_get(env, S("valueFrom"));
    const struct json *field = json_get(from, S("fieldRef")), *resource = json_get(from, S("resourceFieldRef"));
    const struct json *config = json_get(from, S("configMapKeyRef")), *secret = json_get(from, S("secretKeyRef"));
    int n = json_is_obj(field) + json_is_obj(resource) + json_is_obj(config) + json_is_obj(secret);
    if (!json_is_obj(from))
        return;
    if (json_is_obj(field) && json_get_text(field, S("fieldPath")).n == 0)
        check_required(errs, AT(AT(at, "fieldRef"), "fieldPath"), "");
    if (json_is_obj(resource) && json_get_text(resource, S("resource")).n == 0)
        check_required(errs, AT(AT(at, "resourceFieldRef"), "resource"), "");
    if (json_is_obj(config))
        check_key_ref(errs, AT(at, "configMapKeyRef"), config);
    if (json_is_obj(secret))
        check_key_ref(errs, AT(at, "secretKeyRef"), secret);
    if (n == 0)
        check_invalid_text(errs, at, (str){0},
                           "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
    else if (json_get_text(env, S("value")).n)
        check_invalid_text(errs, at, (str){0}, "may not be specified when `value` is not empty");
    else if (n > 1)
        check_invalid_text(errs, at, (str){0}, "may not have more than one field specified at a time");
}

static void check_env(struct field_errors *errs, const struct place *at, const struct json *list)
{
    json_each_item(list, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - list->items));
        str name = json_get_text(it, S("name"));
        if (name.n == 0)
            check_required(errs, AT(here, "name"), "");
        else
            check_name(errs, AT(here, "name"), NAME_ENV_VAR_RELAXED, name);
        check_value_from(errs, AT(here, "valueFrom"), it);
    }
}

static void check_env_source(struct field_errors *errs, const struct place *at, const struct json *source)
{
    str name = json_get_text(source, S("name"));
    if (name.n == 0)
        check_required(errs, AT(at, "name"), "");
    else if (name_check_prefix(NAME_DNS_SUBDOMAIN, name).n)
        name_validate_prefix(errs, place_format(errs->arena, AT(at, "name")), NAME_DNS_SUBDOMAIN, name);
}

static void check_env_from(struct field_errors *errs, const struct place *at, const struct json *list)
{
    json_each_item(list, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - list->items));
        const struct json *config = json_get(it, S("configMapRef")), *secret = json_get(it, S("secretRef"));
        str prefix = json_get_text(it, S("prefix"));
        if (prefix.n)
            check_name(errs, AT(here, "prefix"), NAME_ENV_VAR_RELAXED, prefix);
        if (json_is_obj(config))
            check_env_source(errs, AT(here, "configMapRef"), config);
        if (json_is_obj(secret))
            check_env_source(errs, AT(here, "secretRef"), secret);
        if (!json_is_obj(config) && !json_is_obj(secret))
            check_invalid_text(errs, at, (str){0}, "must specify one of: `configMapRef` or `secretRef`");
        else if (json_is_obj(config) && json_is_obj(secret))
            check_invalid_text(errs, at, (str){0}, "may not have more than one field specified at a time");
    }
}

/* ---- Mounts. ---- */

static void check_descending(struct field_errors *errs, const struct place *at, str path)
{
    if (path.n && path.p[0] == '/')
        check_invalid_text(errs, at, path, "must be a relative path");
    pod_check_no_backsteps(errs, at, path);
}

static void check_mounts(struct field_errors *errs, const struct place *at, const struct json *list,
                         const struct map *volumes)
{
    struct map paths = {0};
    static char taken;
    json_each_item(list, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - list->items));
        str name = json_get_text(it, S("name")), path = json_get_text(it, S("mountPath"));
        if (name.n == 0)
            check_required(errs, AT(here, "name"), "");
        if (map_get(volumes, name) == NULL)
            check_not_found(errs, AT(here, "name"), name);
        if (path.n == 0)
            check_required(errs, AT(here, "mountPath"), "");
        if (map_set(&paths, path, &taken))
            check_invalid_text(errs, AT(here, "mountPath"), path, "must be unique");
        check_descending(errs, AT(at, "subPath"), json_get_text(it, S("subPath")));
    }
    map_done(&paths);
}

/* ---- Limits and requests. ---- */

static bool is_native(str name)
{
    str domain, rest;
    return !str_cut(name, '/', &domain, &rest) || str_find(domain, S("kubernetes.io")) >= 0;
}

static bool is_known_resource(str name)
{
    return is_choice(name, "cpu memory ephemeral-storage") || str_has_prefix(name, S("hugepages-"));
}

static void check_amount(struct field_errors *errs, const struct place *at, const struct json_member *m)
{
    str name = json_key(m), amount = json_text(&m->val);
    check_name(errs, at, NAME_QUALIFIED, name);
    if (str_find_char(name, '/') < 0 && !is_known_resource(name)) {
        if (!is_choice(name, "pods services replicationcontrollers resourcequotas storage")) /* …known elsewhere */
            check_invalid_go(errs, at, name, "must be a standard resource type or fully qualified");
        check_invalid_go(errs, at, name, "must be a standard resource for containers");
    }
    if (amount.n && quantity_check(amount) == NULL && quantity_sign(amount) < 0)
        check_invalid_text(errs, at, amount, "must be greater than or equal to 0");
}

/* A request against the limit of the same thing, which may be NULL. */
static void check_limit(struct field_errors *errs, const struct place *at, const struct json_member *request,
                        const struct json_member *limit)
{
    str name = json_key(request), amount = json_text(&request->val), most = limit ? json_text(&limit->val) : (str){0};
    bool may_differ = is_native(name) && !str_has_prefix(name, S("hugepages-"));
    if (!limit && !may_differ)
        check_required(errs, AT(at, "limits"), "Limit must be set for non overcommitable resources");
    if (!limit || quantity_check(amount) || quantity_check(most) || field_errors_full(errs))
        return;
    int order = quantity_cmp(amount, most);
    const char *rule = may_differ ? "must be less than or equal to" : "must be equal to";
    if (order > 0 || (order && !may_differ)) {
        str text = str_fmt(errs->arena, "%s %.*s limit of %.*s", rule, STR(name), STR(most));
        check_invalid_text(errs, AT(at, "requests"), amount, str_cstr(errs->arena, text));
    }
}

/* Limits and requests. */
static void pod_check_resources(struct field_errors *errs, const struct place *at, const struct json *resources)
{
    const struct json *limits = json_get(resources, S("limits")), *requests = json_get(resources, S("requests"));
    struct json_index limited JSON_INDEX_SCOPE;
    json_index_init(&limited, limits);
    json_each_member(limits, m) check_amount(errs, AT_KEY(AT(at, "limits"), json_key(m)), m);
    json_each_member(requests, m)
    {
        check_amount(errs, AT_KEY(AT(at, "requests"), json_key(m)), m);
        check_limit(errs, at, m, json_index_find(&limited, json_key(m)));
    }
}

/* ---- Probes and hooks. ---- */

static void check_one_handler(struct field_errors *errs, const struct place *at, str name, const struct json *handler)
{
    str scheme = json_get_text(handler, S("scheme"));
    if (str_eq(name, S("exec")) && json_len(json_get(handler, S("command"))) == 0)
        check_required(errs, AT(at, "command"), "");
    if (str_eq(name, S("httpGet"))) {
        check_port(errs, AT(at, "port"), json_get(handler, S("port")));
        if (!is_choice(scheme, "HTTP HTTPS"))
            check_unsupported(errs, AT(at, "scheme"), scheme, "HTTP HTTPS");
    }
    if (str_eq(name, S("tcpSocket")) || str_eq(name, S("grpc")))
        check_port(errs, AT(at, "port"), json_get(handler, S("port")));
}

static void check_handler(struct field_errors *errs, const struct place *at, const struct json *of)
{
    static const char *const names[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    bool has = false;
    for (size_t i = 0; i < COUNT(names); i++) {
        str name = str_of(names[i]);
        const struct json *handler = json_get(of, name);
        if (!json_is_obj(handler))
            continue;
        if (has)
            check_forbidden(errs, AT_FIELD(at, name), "may not specify more than 1 handler type");
        else
            check_one_handler(errs, AT_FIELD(at, name), name, handler);
        has = true;
    }
    if (!has)
        check_required(errs, at, "must specify a handler type");
}

static void check_probe(struct field_errors *errs, const struct place *at, const struct json *probe, bool is_ready)
{
    static const char *const counts[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
                                         "failureThreshold"};
    const struct json *grace = json_get(probe, S("terminationGracePeriodSeconds"));
    const struct json *success = json_get(probe, S("successThreshold"));
    if (!json_is_obj(probe))
        return;
    check_handler(errs, at, probe);
    for (size_t i = 0; i < COUNT(counts); i++)
        check_not_negative(errs, AT_FIELD(at, str_of(counts[i])), json_get(probe, str_of(counts[i])));
    if (!json_is_null(grace) && int_of(grace) <= 0)
        check_invalid(errs, AT(at, "terminationGracePeriodSeconds"), grace, "must be greater than 0");
    if (!is_ready && int_of(success) != 1)
        check_invalid(errs, AT(at, "successThreshold"), success, "must be 1");
    if (is_ready && !json_is_null(grace))
        check_invalid(errs, AT(at, "terminationGracePeriodSeconds"), grace, "must not be set for readinessProbes");
}

void pod_check_probes(struct field_errors *errs, const struct place *at, const struct json *c)
{
    const struct json *lifecycle = json_get(c, S("lifecycle"));
    if (json_is_obj(json_get(lifecycle, S("postStart"))))
        check_handler(errs, AT(AT(at, "lifecycle"), "postStart"), json_get(lifecycle, S("postStart")));
    if (json_is_obj(json_get(lifecycle, S("preStop"))))
        check_handler(errs, AT(AT(at, "lifecycle"), "preStop"), json_get(lifecycle, S("preStop")));
    check_probe(errs, AT(at, "livenessProbe"), json_get(c, S("livenessProbe")), false);
    check_probe(errs, AT(at, "readinessProbe"), json_get(c, S("readinessProbe")), true);
    check_probe(errs, AT(at, "startupProbe"), json_get(c, S("startupProbe")), false);
}

/* ---- The container. ---- */

void pod_check_container(struct field_errors *errs, const struct place *at, const struct json *c,
                         const struct map *volumes)
{
    str name = json_get_text(c, S("name"));
    if (name.n == 0)
        check_required(errs, AT(at, "name"), "");
    else
        check_name(errs, AT(at, "name"), NAME_DNS_LABEL, name);
    if (json_get_text(c, S("image")).n == 0)
        check_required(errs, AT(at, "image"), "");
    check_choice(errs, AT(at, "terminationMessagePolicy"), json_get_text(c, S("terminationMessagePolicy")),
                 "File FallbackToLogsOnError");
    check_ports(errs, AT(at, "ports"), json_get(c, S("ports")));
    check_env(errs, AT(at, "env"), json_get(c, S("env")));
    check_env_from(errs, AT(at, "envFrom"), json_get(c, S("envFrom")));
    check_mounts(errs, AT(at, "volumeMounts"), json_get(c, S("volumeMounts")), volumes);
    check_choice(errs, AT(at, "imagePullPolicy"), json_get_text(c, S("imagePullPolicy")), "Always IfNotPresent Never");
    pod_check_resources(errs, AT(at, "resources"), json_get(c, S("resources")));
}
