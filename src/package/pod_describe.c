/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a Deployment for people: ports, volumes, and what most packages do not have. */
#include "package/pod.h"

/* ---- Ports. ---- */

static void add_ports(struct arena *a, struct pod_facts *f, const struct json *containers)
{
    json_each_item(containers, c)
    {
        const struct json *ports = json_get(c, S("ports"));
        json_each_item(ports, port)
        {
            int64_t number = 0, on_host = 0;
            str protocol = json_get_text(port, S("protocol")), name = json_get_text(port, S("name"));
            struct buf b = {.arena = a};
            (void)json_to_int(json_get(port, S("containerPort")), &number);
            buf_fmt(&b, "%.*s %lld/%.*s", STR(json_get_text(c, S("name"))), (long long)number,
                    STR(protocol.n ? protocol : S("TCP")));
            if (name.n)
                buf_fmt(&b, " (%.*s)", STR(name));
            if (json_to_int(json_get(port, S("hostPort")), &on_host) && on_host)
                buf_fmt(&b, " as port %lld of the node", (long long)on_host);
            *vec_push(a, &f->ports) = buf_str(&b);
        }
    }
}

/* ---- Volumes. ---- */

/* Where the name of what a volume is made from stands. */
static const struct {
    const char *source, *field;
} names[] = {{"secret", "secretName"},
             {"configMap", "name"},
             {"persistentVolumeClaim", "claimName"},
             {"hostPath", "path"},
             {"csi", "driver"}};

static str name_of_source(str source, const struct json *value)
{
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_eq(source, str_of(names[i].source)))
            return json_get_text(value, str_of(names[i].field));
    return (str){0};
}

static void add_volumes(struct arena *a, struct pod_facts *f, const struct json *volumes)
{
    json_each_item(volumes, volume)
    {
        struct buf b = {.arena = a};
        buf_add_str(&b, json_get_text(volume, S("name")));
        json_each_member(volume, m)
        {
            if (str_eq(json_key(m), S("name")) || json_is_null(&m->val))
                continue;
            str name = name_of_source(json_key(m), &m->val);
            buf_fmt(&b, " (%.*s%s%.*s)", STR(json_key(m)), name.n ? " " : "", STR(name));
        }
        *vec_push(a, &f->volumes) = buf_str(&b);
    }
}

/* ---- What most packages do not have. ---- */

static const char *const unusual_of_pod[] = {
    "affinity",      "dnsConfig",   "dnsPolicy", "hostAliases",      "hostIPC",
    "hostNetwork",   "hostPID",     "nodeName",  "nodeSelector",     "priorityClassName",
    "schedulerName", "tolerations", "subdomain", "runtimeClassName", "shareProcessNamespace",
    "hostUsers",     "hostname",    "os",        "imagePullSecrets",
};

static bool is_set(const struct json *v)
{
    return !json_is_null(v) && !(v->type == JSON_BOOL && !v->b) && !(v->type >= JSON_STR && v->n == 0);
}

static void add_setting(struct arena *a, struct pod_facts *f, str where, str name, const struct json *v)
{
    struct buf b = {.arena = a};
    buf_fmt(&b, "%.*s%.*s", STR(where), STR(name));
    if (json_is_str(v))
        buf_fmt(&b, " %.*s", STR(json_text(v)));
    *vec_push(a, &f->unusual) = buf_str(&b);
}

static void add_unusual_containers(struct arena *a, struct pod_facts *f, const struct json *containers)
{
    static const char *const fields[] = {"lifecycle", "stdin", "tty", "volumeDevices"};
    json_each_item(containers, c)
    {
        str where = str_fmt(a, "%.*s: ", STR(json_get_text(c, S("name"))));
        for (size_t i = 0; i < COUNT(fields); i++) {
            const struct json *v = json_get(c, str_of(fields[i]));
            if (is_set(v))
                add_setting(a, f, where, str_of(fields[i]), v);
        }
        if (json_true(json_dig(c, "securityContext.privileged")))
            add_setting(a, f, where, S("privileged"), NULL);
        if (is_set(json_dig(c, "securityContext.capabilities.add")))
            add_setting(a, f, where, S("added capabilities"), NULL);
    }
}

struct pod_facts package_describe_pod(struct arena *a, const struct json *deployment)
{
    struct pod_facts f = {0};
    const struct json *pod = json_dig(deployment, "spec.template.spec");
    const struct json *first = json_get(pod, S("initContainers")), *containers = json_get(pod, S("containers"));
    int64_t replicas = 1;
    add_ports(a, &f, first);
    add_ports(a, &f, containers);
    add_volumes(a, &f, json_get(pod, S("volumes")));
    if (json_to_int(json_dig(deployment, "spec.replicas"), &replicas) && replicas != 1)
        *vec_push(a, &f.unusual) = str_fmt(a, "%lld replicas", (long long)replicas);
    for (size_t i = 0; i < COUNT(unusual_of_pod); i++) {
        const struct json *v = json_get(pod, str_of(unusual_of_pod[i]));
        if (is_set(v))
            add_setting(a, &f, (str){0}, str_of(unusual_of_pod[i]), v);
    }
    add_unusual_containers(a, &f, first);
    add_unusual_containers(a, &f, containers);
    return f;
}
