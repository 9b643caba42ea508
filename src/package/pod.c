/* SPDX-License-Identifier: Apache-2.0 */
#include "package/pod.h"

#include "object/object.h"
#include "package/fields.h"

/* A place in the Deployment while it is walked, for messages. */
struct walk {
    struct findings *findings;
    struct arena *scratch;
    str at; /* "install.yaml: spec.template.spec.containers[0]" */
};

static struct walk into(const struct walk *w, const char *field)
{
    return (struct walk){w->findings, w->scratch, str_fmt(w->scratch, "%.*s.%s", STR(w->at), field)};
}

static struct walk item_of(const struct walk *w, size_t i)
{
    return (struct walk){w->findings, w->scratch, str_fmt(w->scratch, "%.*s[%zu]", STR(w->at), i)};
}

static void refuse(const struct walk *w, const char *field, const char *why)
{
    findings_add(w->findings, INVALID_PACKAGE, "%.*s.%s: %s", STR(w->at), field, why);
}

/* ---- What a field may be; anything else is refused, whatever its type. ---- */

static void want_unset(const struct walk *w, const struct json *record, const char *field, const char *why)
{
    const struct json *v = json_get(record, str_of(field));
    bool is_empty = json_is_null(v) || (json_is_str(v) && v->n == 0) || (v->type >= JSON_ARR && v->n == 0);
    if (!is_empty)
        refuse(w, field, why);
}

static void want_false(const struct walk *w, const struct json *record, const char *field, const char *why)
{
    const struct json *v = json_get(record, str_of(field));
    if (!json_is_null(v) && !(v->type == JSON_BOOL && !v->b))
        refuse(w, field, why);
}

static void want_one_of(const struct walk *w, const struct json *record, const char *field, const char *const *values)
{
    const struct json *v = json_get(record, str_of(field));
    if (json_is_null(v) || (json_is_str(v) && v->n == 0))
        return;
    for (size_t i = 0; values[i]; i++)
        if (json_is_str(v) && str_eq(json_text(v), str_of(values[i])))
            return;
    refuse(w, field, "asks for a pod that is less confined than others");
}

/* The list, or NULL when there is nothing to walk. A list that is none is refused. */
static const struct json *list_of(const struct walk *w, const struct json *record, const char *field)
{
    const struct json *v = json_get(record, str_of(field));
    if (!json_is_null(v) && !json_is_arr(v))
        refuse(w, field, "must be a list");
    return json_is_arr(v) ? v : NULL;
}

/* ---- Security contexts, of pods and of containers. ---- */

static void check_selinux(const struct walk *w, const struct json *options)
{
    static const char *const types[] = {"container_t", "container_init_t", "container_kvm_t", "container_engine_t",
                                        NULL};
    want_one_of(w, options, "type", types);
    want_unset(w, options, "user", "must not be set");
    want_unset(w, options, "role", "must not be set");
}

/* The node's own default, or what the runtime does for all. Profiles that lie on the node were made for somebody else. */
static void check_profile(const struct walk *w, const struct json *profile)
{
    static const char *const types[] = {"RuntimeDefault", NULL};
    want_one_of(w, profile, "type", types);
}

static void check_context(const struct walk *w, const struct json *record)
{
    static const char *const mounts[] = {"Default", NULL};
    const struct json *context = json_get(record, S("securityContext"));
    struct walk at = into(w, "securityContext"), seccomp = into(&at, "seccompProfile");
    struct walk apparmor = into(&at, "appArmorProfile"), selinux = into(&at, "seLinuxOptions");
    struct walk windows = into(&at, "windowsOptions"), capabilities = into(&at, "capabilities");
    want_false(&at, context, "privileged", "privileged containers are not allowed");
    want_unset(&capabilities, json_get(context, S("capabilities")), "add", "capabilities must not be added");
    want_one_of(&at, context, "procMount", mounts);
    want_unset(&at, context, "sysctls", "sysctls must not be set");
    want_false(&windows, json_get(context, S("windowsOptions")), "hostProcess", "host processes are not allowed");
    check_profile(&seccomp, json_get(context, S("seccompProfile")));
    check_profile(&apparmor, json_get(context, S("appArmorProfile")));
    check_selinux(&selinux, json_get(context, S("seLinuxOptions")));
}

/* ---- Containers. ---- */

/* The kubelet sends these from the node, so they must go to the pod itself. */
static void check_handler(const struct walk *w, const struct json *handler)
{
    struct walk http = into(w, "httpGet"), tcp = into(w, "tcpSocket");
    want_unset(&http, json_get(handler, S("httpGet")), "host", "must not be set: it would be asked from the node");
    want_unset(&tcp, json_get(handler, S("tcpSocket")), "host", "must not be set: it would be asked from the node");
}

static void check_handlers(const struct walk *w, const struct json *container)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    static const char *const hooks[] = {"postStart", "preStop"};
    struct walk lifecycle = into(w, "lifecycle");
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        struct walk at = into(w, probes[i]);
        check_handler(&at, json_get(container, str_of(probes[i])));
    }
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        struct walk at = into(&lifecycle, hooks[i]);
        check_handler(&at, json_get(json_get(container, S("lifecycle")), str_of(hooks[i])));
    }
}

static void check_port(const struct walk *w, const struct json *port)
{
    const struct json *v = json_get(port, S("hostPort"));
    int64_t n = 0;
    if (!json_is_null(v) && (!json_to_int(v, &n) || n != 0))
        refuse(w, "hostPort", "ports of the node are not allowed");
}

static void check_containers(const struct walk *w, const struct json *pod, const char *field)
{
    const struct json *list = list_of(w, pod, field);
    struct walk all = into(w, field);
    json_each_item(list, container)
    {
        struct walk at = item_of(&all, (size_t)(container - list->items)), ports_at = into(&at, "ports");
        const struct json *ports = list_of(&at, container, "ports");
        check_context(&at, container);
        check_handlers(&at, container);
        json_each_item(ports, port)
        {
            struct walk port_at = item_of(&ports_at, (size_t)(port - ports->items));
            check_port(&port_at, port);
        }
    }
}

/* ---- Volumes: of the pod, of its namespace, or made by a driver that the cluster's owner put there. ---- */

static bool is_volume_allowed(str kind)
{
    static const str kinds[] = {
        S_INIT("name"),      S_INIT("configMap"), S_INIT("csi"),   S_INIT("downwardAPI"),
        S_INIT("emptyDir"),  S_INIT("ephemeral"), S_INIT("image"), S_INIT("persistentVolumeClaim"),
        S_INIT("projected"), S_INIT("secret"),
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(kind, kinds[i]))
            return true;
    return false;
}

static void check_volumes(const struct walk *w, const struct json *pod)
{
    const struct json *list = list_of(w, pod, "volumes");
    struct walk all = into(w, "volumes");
    json_each_item(list, volume)
    {
        struct walk at = item_of(&all, (size_t)(volume - list->items));
        json_each_member(volume, m)
        {
            if (!is_volume_allowed(json_key(m)) && !json_is_null(&m->val))
                refuse(&at, str_cstr(w->scratch, fields_shown(w->scratch, json_key(m))),
                       "volumes of this kind are not allowed");
        }
    }
}

/* ---- The pod. ---- */

/* What the same settings were before they had fields. */
static void check_annotations(const struct walk *w, const struct json *template)
{
    static const str prefixes[] = {S_INIT("container.apparmor.security.beta.kubernetes.io/"),
                                   S_INIT("container.seccomp.security.alpha.kubernetes.io/"),
                                   S_INIT("seccomp.security.alpha.kubernetes.io/")};
    const struct json *annotations = object_annotations(template);
    struct walk at = into(w, "metadata");
    json_each_member(annotations, m)
    {
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (str_has_prefix(json_key(m), prefixes[i]) && !str_eq(json_text(&m->val), S("runtime/default")))
                refuse(&at, "annotations", "asks for a pod that is less confined than others");
    }
}

static void want_own(const struct walk *w, const struct json *record, const char *field, str own)
{
    const struct json *v = json_get(record, str_of(field));
    if (!json_is_null(v) && !(json_is_str(v) && (v->n == 0 || str_eq(json_text(v), own))))
        findings_add(w->findings, INVALID_PACKAGE,
                     "%.*s.%s: must not be set: the package gets a ServiceAccount of its own", STR(w->at), field);
}

static void check_spec(const struct walk *w, const struct json *pod, str account)
{
    want_false(w, pod, "hostNetwork", "the node's network is not allowed");
    want_false(w, pod, "hostPID", "the node's processes are not allowed");
    want_false(w, pod, "hostIPC", "the node's shared memory is not allowed");
    want_unset(w, pod, "ephemeralContainers", "must not be set");
    want_own(w, pod, "serviceAccountName", account);
    want_own(w, pod, "serviceAccount", account);
    check_context(w, pod);
    check_volumes(w, pod);
    check_containers(w, pod, "initContainers");
    check_containers(w, pod, "containers");
}

static void check_namespace(const struct walk *w, const struct json *record, str namespace)
{
    const struct json *v = json_get(object_meta(record), S("namespace"));
    if (!json_is_null(v) && !(json_is_str(v) && (v->n == 0 || str_eq(json_text(v), namespace))))
        refuse(w, "namespace", "must not be set: the package runs where it is installed");
}

void package_check_pod(const struct json *deployment, str account, str namespace, struct findings *findings)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (json_is_null(deployment))
        return;
    const struct json *template = json_dig(deployment, "spec.template");
    struct walk meta = {findings, &scratch, S("Deployment: metadata")};
    struct walk at = {findings, &scratch, S("Deployment: spec.template")};
    struct walk template_meta = into(&at, "metadata"), pod = into(&at, "spec");
    check_namespace(&meta, deployment, namespace);
    check_namespace(&template_meta, template, namespace);
    check_annotations(&at, template);
    check_spec(&pod, json_get(template, S("spec")), account);
}
