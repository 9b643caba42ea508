/* SPDX-License-Identifier: Apache-2.0 */
#include "package/pod.h"

#include "object/object.h"
#include "package/fields.h"

/* ---- Rules. ---- */

enum rule_type {
    RULE_ANY,     /* whatever the API server accepts */
    RULE_ONE_OF,  /* one of .values, or unset */
    RULE_KEYS,    /* a mapping whose keys are among .values */
    RULE_MAX,     /* an integer from 0 to .max */
    RULE_UNSET,   /* must not be set: null, false, 0 and empty are fine */
    RULE_ACCOUNT, /* the package's own ServiceAccount, or unset */
    RULE_PLACE,   /* the install's namespace, or unset */
    RULE_RECORD,  /* the fields of .inner and no others */
    RULE_RECORDS, /* a list of these */
};

struct pod_rule {
    const char *name;
    enum rule_type type;
    const struct pod_rules *inner;
    const char *const *values; /* ends with NULL */
    int64_t max;
    const char *why; /* the text of the refusal; NULL: a general one */
};

struct pod_rules {
    const struct pod_rule *p;
    size_t n;
    const char *why_unlisted; /* NULL: "is not allowed in a package" */
};

/* clang-format off */
#define ANY(field)                      {.name = (field), .type = RULE_ANY}
#define MAX(field, most)                {.name = (field), .type = RULE_MAX, .max = (most)}
#define UNSET(field, text)              {.name = (field), .type = RULE_UNSET, .why = (text)}
#define RECORD(field, rules)            {.name = (field), .type = RULE_RECORD, .inner = &(rules)}
#define RECORDS(field, rules)           {.name = (field), .type = RULE_RECORDS, .inner = &(rules)}
#define ONE_OF(field, text, ...)        {.name = (field), .type = RULE_ONE_OF, .why = (text), .values = (const char *const[]){__VA_ARGS__, NULL}}
#define KEYS(field, text, ...)          {.name = (field), .type = RULE_KEYS, .why = (text), .values = (const char *const[]){__VA_ARGS__, NULL}}
#define LIST_OF(rules)                  (rules), COUNT(rules)
/* clang-format on */

#define LESS_CONFINED "asks for a pod that is less confined than others"
#define FROM_NODE "must not be set: it would be asked from the node"
#define DEVICES "only cpu, memory and ephemeral-storage are allowed: other resources are devices of the node"
#define NODES "only kubernetes.io/arch and kubernetes.io/os are allowed: the scheduler chooses the node"

/* ---- Security contexts, of pods and of containers. What passes here is still tightened by pod_security.c. ---- */

static const struct pod_rule capability_rules[] = {UNSET("add", "capabilities must not be added"), ANY("drop")};
static const struct pod_rules capabilities = {LIST_OF(capability_rules), NULL};

static const struct pod_rule windows_rules[] = {UNSET("hostProcess", "host processes are not allowed")};
static const struct pod_rules windows = {LIST_OF(windows_rules), NULL};

/* Localhost: a profile that the node's administrator made, as "restricted" allows it. */
static const struct pod_rule seccomp_rules[] = {ONE_OF("type", LESS_CONFINED, "RuntimeDefault", "Localhost"),
                                                ANY("localhostProfile")};
static const struct pod_rules seccomp = {LIST_OF(seccomp_rules), NULL};

static const struct pod_rule apparmor_rules[] = {ONE_OF("type", LESS_CONFINED, "RuntimeDefault"),
                                                 ANY("localhostProfile")};
static const struct pod_rules apparmor = {LIST_OF(apparmor_rules), NULL};

static const struct pod_rule selinux_rules[] = {
    ONE_OF("type", LESS_CONFINED, "container_t", "container_init_t", "container_kvm_t", "container_engine_t"),
    UNSET("user", "must not be set"), UNSET("role", "must not be set"), ANY("level")};
static const struct pod_rules selinux = {LIST_OF(selinux_rules), NULL};

static const struct pod_rule context_rules[] = {
    UNSET("privileged", "privileged containers are not allowed"),
    RECORD("capabilities", capabilities),
    ONE_OF("procMount", LESS_CONFINED, "Default"),
    UNSET("sysctls", "sysctls must not be set"),
    RECORD("windowsOptions", windows),
    RECORD("seccompProfile", seccomp),
    RECORD("appArmorProfile", apparmor),
    RECORD("seLinuxOptions", selinux),
    ANY("allowPrivilegeEscalation"),
    ANY("fsGroup"),
    ANY("fsGroupChangePolicy"),
    ANY("readOnlyRootFilesystem"),
    ANY("runAsGroup"),
    ANY("runAsNonRoot"),
    ANY("runAsUser"),
    ANY("seLinuxChangePolicy"),
    ANY("supplementalGroups"),
    ANY("supplementalGroupsPolicy"),
};
static const struct pod_rules context = {LIST_OF(context_rules), NULL};

/* ---- Containers. ---- */

/* The kubelet sends these from the node, so they must go to the pod itself. */
static const struct pod_rule http_rules[] = {UNSET("host", FROM_NODE), ANY("httpHeaders"), ANY("path"), ANY("port"),
                                             ANY("scheme")};
static const struct pod_rules http = {LIST_OF(http_rules), NULL};
static const struct pod_rule tcp_rules[] = {UNSET("host", FROM_NODE), ANY("port")};
static const struct pod_rules tcp = {LIST_OF(tcp_rules), NULL};

static const struct pod_rule probe_rules[] = {
    ANY("exec"),           RECORD("httpGet", http), RECORD("tcpSocket", tcp),
    ANY("grpc"),           ANY("failureThreshold"), ANY("initialDelaySeconds"),
    ANY("periodSeconds"),  ANY("successThreshold"), ANY("terminationGracePeriodSeconds"),
    ANY("timeoutSeconds"),
};
static const struct pod_rules probe = {LIST_OF(probe_rules), NULL};

static const struct pod_rule hook_rules[] = {ANY("exec"), RECORD("httpGet", http), RECORD("tcpSocket", tcp),
                                             ANY("sleep")};
static const struct pod_rules hook = {LIST_OF(hook_rules), NULL};
static const struct pod_rule lifecycle_rules[] = {RECORD("postStart", hook), RECORD("preStop", hook)};
static const struct pod_rules lifecycle = {LIST_OF(lifecycle_rules), NULL};

static const struct pod_rule port_rules[] = {UNSET("hostPort", "ports of the node are not allowed"),
                                             UNSET("hostIP", "addresses of the node are not allowed"),
                                             ANY("containerPort"), ANY("name"), ANY("protocol")};
static const struct pod_rules port = {LIST_OF(port_rules), NULL};

static const struct pod_rule resource_rules[] = {KEYS("limits", DEVICES, "cpu", "memory", "ephemeral-storage"),
                                                 KEYS("requests", DEVICES, "cpu", "memory", "ephemeral-storage")};
static const struct pod_rules resources = {LIST_OF(resource_rules), NULL};

static const struct pod_rule mount_rules[] = {
    ANY("mountPath"),  ONE_OF("mountPropagation", "mounts must not be shared with the node", "None"),
    ANY("name"),       ANY("readOnly"),
    ANY("subPath"),    ANY("recursiveReadOnly"),
    ANY("subPathExpr")};
static const struct pod_rules mount = {LIST_OF(mount_rules), NULL};

static const struct pod_rule container_rules[] = {
    ANY("name"),
    ANY("image"),
    ANY("imagePullPolicy"),
    ANY("command"),
    ANY("args"),
    ANY("workingDir"),
    ANY("env"),
    ANY("envFrom"),
    RECORD("securityContext", context),
    RECORD("livenessProbe", probe),
    RECORD("readinessProbe", probe),
    RECORD("startupProbe", probe),
    RECORD("lifecycle", lifecycle),
    RECORDS("ports", port),
    RECORD("resources", resources),
    ANY("resizePolicy"),
    ANY("restartPolicy"),
    RECORDS("volumeMounts", mount),
    UNSET("volumeDevices", "block devices are not allowed"),
    ANY("terminationMessagePath"),
    ANY("terminationMessagePolicy"),
    ANY("stdin"),
    ANY("stdinOnce"),
    ANY("tty"),
};
static const struct pod_rules container = {LIST_OF(container_rules), NULL};

/* ---- Volumes: of the pod alone, or made from ConfigMaps and Secrets of its namespace, which its ServiceAccount may read. ---- */

static const struct pod_rule empty_dir_rules[] = {ONE_OF("medium", "must be Memory or empty", "Memory"),
                                                  ANY("sizeLimit")};
static const struct pod_rules empty_dir = {LIST_OF(empty_dir_rules), NULL};

/* A claim that is made for the pod and goes with it. Data of other claims and volumes must not come with it. */
static const struct pod_rule claim_rules[] = {
    ANY("accessModes"),
    ANY("resources"),
    ANY("storageClassName"),
    ONE_OF("volumeMode", "block devices are not allowed", "Filesystem"),
    UNSET("volumeName", "must not be set: existing volumes are not allowed"),
    UNSET("dataSource", "must not be set: data of other volumes is not allowed"),
    UNSET("dataSourceRef", "must not be set: data of other volumes is not allowed"),
};
static const struct pod_rules claim = {LIST_OF(claim_rules), NULL};
static const struct pod_rule claim_template_rules[] = {RECORD("spec", claim)};
static const struct pod_rules claim_template = {LIST_OF(claim_template_rules), NULL};
static const struct pod_rule ephemeral_rules[] = {RECORD("volumeClaimTemplate", claim_template)};
static const struct pod_rules ephemeral = {LIST_OF(ephemeral_rules), NULL};

static const struct pod_rule source_rules[] = {ANY("clusterTrustBundle"), ANY("configMap"), ANY("downwardAPI"),
                                               ANY("secret"), ANY("serviceAccountToken")};
static const struct pod_rules source = {LIST_OF(source_rules), NULL};
static const struct pod_rule projected_rules[] = {ANY("defaultMode"), RECORDS("sources", source)};
static const struct pod_rules projected = {LIST_OF(projected_rules), NULL};

static const struct pod_rule volume_rules[] = {
    ANY("name"),
    ANY("configMap"),
    ANY("downwardAPI"),
    RECORD("emptyDir", empty_dir),
    RECORD("ephemeral", ephemeral),
    RECORD("projected", projected),
    ANY("secret"),
    UNSET("persistentVolumeClaim", "existing claims are not allowed: use an ephemeral volume"),
    UNSET("csi", "volumes of CSI drivers are not allowed: use an ephemeral volume"),
};
static const struct pod_rules volume = {LIST_OF(volume_rules), "volumes of this kind are not allowed"};

/* ---- Scheduling. ---- */

static const struct pod_rule toleration_rules[] = {
    ONE_OF("key",
           "only kubernetes.io/arch, node.kubernetes.io/not-ready and node.kubernetes.io/unreachable are allowed",
           "kubernetes.io/arch", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"),
    ANY("effect"), ANY("operator"), ANY("tolerationSeconds"), ANY("value")};
static const struct pod_rules toleration = {LIST_OF(toleration_rules), NULL};

static const struct pod_rule expression_rules[] = {ONE_OF("key", NODES, "kubernetes.io/arch", "kubernetes.io/os"),
                                                   ANY("operator"), ANY("values")};
static const struct pod_rules expression = {LIST_OF(expression_rules), NULL};
static const struct pod_rule node_term_rules[] = {RECORDS("matchExpressions", expression)};
static const struct pod_rules node_term = {LIST_OF(node_term_rules), NULL};
static const struct pod_rule preferred_node_rules[] = {RECORD("preference", node_term), ANY("weight")};
static const struct pod_rules preferred_node = {LIST_OF(preferred_node_rules), NULL};
static const struct pod_rule required_node_rules[] = {RECORDS("nodeSelectorTerms", node_term)};
static const struct pod_rules required_node = {LIST_OF(required_node_rules), NULL};
static const struct pod_rule node_affinity_rules[] = {
    RECORDS("preferredDuringSchedulingIgnoredDuringExecution", preferred_node),
    RECORD("requiredDuringSchedulingIgnoredDuringExecution", required_node)};
static const struct pod_rules node_affinity = {LIST_OF(node_affinity_rules), NULL};

/* Pods of its namespace only. A required term would keep other pods away from a node. */
static const struct pod_rule pod_term_rules[] = {ANY("labelSelector"), ANY("matchLabelKeys"), ANY("mismatchLabelKeys"),
                                                 ANY("topologyKey")};
static const struct pod_rules pod_term = {LIST_OF(pod_term_rules), NULL};
static const struct pod_rule preferred_pod_rules[] = {RECORD("podAffinityTerm", pod_term), ANY("weight")};
static const struct pod_rules preferred_pod = {LIST_OF(preferred_pod_rules), NULL};
static const struct pod_rule pod_affinity_rules[] = {
    RECORDS("preferredDuringSchedulingIgnoredDuringExecution", preferred_pod),
    UNSET("requiredDuringSchedulingIgnoredDuringExecution", "only preferred terms are allowed: required ones may keep "
                                                            "other pods from a node")};
static const struct pod_rules pod_affinity = {LIST_OF(pod_affinity_rules), NULL};
static const struct pod_rule affinity_rules[] = {RECORD("nodeAffinity", node_affinity),
                                                 RECORD("podAffinity", pod_affinity),
                                                 RECORD("podAntiAffinity", pod_affinity)};
static const struct pod_rules affinity = {LIST_OF(affinity_rules), NULL};

/* ---- The pod and the Deployment. ---- */

static const struct pod_rule os_rules[] = {ONE_OF("name", "only linux is allowed", "linux")};
static const struct pod_rules os = {LIST_OF(os_rules), NULL};

static const struct pod_rule pod_spec_rules[] = {
    UNSET("hostNetwork", "the node's network is not allowed"),
    UNSET("hostPID", "the node's processes are not allowed"),
    UNSET("hostIPC", "the node's shared memory is not allowed"),
    UNSET("hostUsers", "the node's user namespace must not be asked for"),
    UNSET("ephemeralContainers", "must not be set"),
    UNSET("nodeName", "must not be set: the scheduler chooses the node"),
    UNSET("priorityClassName", "must not be set: the cluster decides about priorities"),
    UNSET("priority", "must not be set: the cluster decides about priorities"),
    {.name = "serviceAccountName", .type = RULE_ACCOUNT},
    {.name = "serviceAccount", .type = RULE_ACCOUNT},
    RECORD("securityContext", context),
    RECORDS("volumes", volume),
    RECORDS("initContainers", container),
    RECORDS("containers", container),
    KEYS("nodeSelector", NODES, "kubernetes.io/arch", "kubernetes.io/os"),
    RECORD("affinity", affinity),
    RECORDS("tolerations", toleration),
    ANY("topologySpreadConstraints"),
    ONE_OF("schedulerName", "only the default scheduler is allowed", "default-scheduler"),
    RECORD("os", os),
    RECORD("resources", resources),
    ANY("automountServiceAccountToken"),
    ANY("dnsConfig"),
    ANY("dnsPolicy"),
    ANY("enableServiceLinks"),
    ANY("hostAliases"),
    ANY("hostname"),
    ANY("imagePullSecrets"),
    ANY("restartPolicy"),
    ANY("shareProcessNamespace"),
    MAX("terminationGracePeriodSeconds", 600),
};
static const struct pod_rules pod_spec = {LIST_OF(pod_spec_rules), NULL};

/* What is listed here of metadata is replaced or filtered; what is not has no use in a template. */
static const struct pod_rule metadata_rules[] = {
    {.name = "namespace", .type = RULE_PLACE}, ANY("annotations"), ANY("creationTimestamp"), ANY("labels"), ANY("name"),
};
static const struct pod_rules metadata = {LIST_OF(metadata_rules), NULL};

static const struct pod_rule template_rules[] = {RECORD("metadata", metadata), RECORD("spec", pod_spec)};
static const struct pod_rules template = {LIST_OF(template_rules), NULL};

static const struct pod_rule deployment_spec_rules[] = {
    MAX("replicas", POD_MAX_REPLICAS),
    ANY("selector"),
    RECORD("template", template),
    ANY("strategy"),
    ANY("minReadySeconds"),
    MAX("revisionHistoryLimit", 10),
    UNSET("paused", "must not be set: a paused Deployment is never rolled out"),
    ANY("progressDeadlineSeconds"),
};
static const struct pod_rules deployment_spec = {LIST_OF(deployment_spec_rules), NULL};

static const struct pod_rule own_namespace = {.name = "namespace", .type = RULE_PLACE};

/* ---- The walk. ---- */

struct pod_walk {
    struct findings *findings;
    struct arena *scratch;
    str account, place; /* of the install */
};

static void refuse_field(const struct pod_walk *w, str at, const char *text)
{
    findings_add(w->findings, INVALID_PACKAGE, "%.*s: %s", STR(at), text);
}

static str child_path(const struct pod_walk *w, str at, str name)
{
    return str_fmt(w->scratch, "%.*s.%.*s", STR(at), STR(name));
}

/* What Go's types leave out when they are written. A mapping that is empty still chooses something: hostPath: {}. */
static bool is_zero(const struct json *v)
{
    int64_t n;
    return json_is_null(v) || (v->type == JSON_BOOL && !v->b) || (json_to_int(v, &n) && n == 0) ||
           ((json_is_str(v) || json_is_arr(v)) && v->n == 0);
}

static bool is_among(str text, const char *const *values)
{
    for (size_t i = 0; values[i]; i++)
        if (str_eq(text, str_of(values[i])))
            return true;
    return false;
}

static void check_value(const struct pod_walk *w, str at, const struct pod_rule *rule, const struct json *v);

static void check_one_of(const struct pod_walk *w, str at, const struct pod_rule *rule, const struct json *v)
{
    if (!json_is_str(v) || (v->n && !is_among(json_text(v), rule->values)))
        refuse_field(w, at, rule->why);
}

static void check_keys(const struct pod_walk *w, str at, const struct pod_rule *rule, const struct json *v)
{
    if (!json_is_obj(v))
        refuse_field(w, at, "must be a mapping");
    json_each_member(v, m)
    {
        if (!is_among(json_key(m), rule->values))
            refuse_field(w, str_fmt(w->scratch, "%.*s[%.*s]", STR(at), STR(fields_shown(w->scratch, json_key(m)))),
                         rule->why);
    }
}

static void check_max(const struct pod_walk *w, str at, const struct pod_rule *rule, const struct json *v)
{
    int64_t n;
    if (!json_to_int(v, &n) || n < 0 || n > rule->max)
        findings_add(w->findings, INVALID_PACKAGE, "%.*s: must be a number from 0 to %lld", STR(at),
                     (long long)rule->max);
}

static void check_own(const struct pod_walk *w, str at, const struct json *v, str own, const char *why)
{
    if (!json_is_str(v) || (v->n && !str_eq(json_text(v), own)))
        refuse_field(w, at, why);
}

/* Listed fields in the order of their table, then those that are not listed. */
static void check_record(const struct pod_walk *w, str at, const struct pod_rules *rules, const struct json *record)
{
    if (!json_is_obj(record)) {
        refuse_field(w, at, "must be a mapping");
        return;
    }
    for (size_t i = 0; i < rules->n; i++)
        check_value(w, child_path(w, at, str_of(rules->p[i].name)), &rules->p[i],
                    json_get(record, str_of(rules->p[i].name)));
    json_each_member(record, m)
    {
        bool is_listed = false;
        for (size_t i = 0; !is_listed && i < rules->n; i++)
            is_listed = str_eq(json_key(m), str_of(rules->p[i].name));
        if (!is_listed && !is_zero(&m->val))
            refuse_field(w, child_path(w, at, fields_shown(w->scratch, json_key(m))),
                         rules->why_unlisted ? rules->why_unlisted : "is not allowed in a package");
    }
}

static void check_records(const struct pod_walk *w, str at, const struct pod_rules *rules, const struct json *list)
{
    if (!json_is_arr(list)) {
        refuse_field(w, at, "must be a list");
        return;
    }
    json_each_item(list, item)
    {
        check_record(w, str_fmt(w->scratch, "%.*s[%zu]", STR(at), (size_t)(item - list->items)), rules, item);
    }
}

static void check_value(const struct pod_walk *w, str at, const struct pod_rule *rule, const struct json *v)
{
    if (json_is_null(v))
        return;
    switch (rule->type) {
    case RULE_ANY:
        return;
    case RULE_ONE_OF:
        check_one_of(w, at, rule, v);
        return;
    case RULE_KEYS:
        check_keys(w, at, rule, v);
        return;
    case RULE_MAX:
        check_max(w, at, rule, v);
        return;
    case RULE_UNSET:
        if (!is_zero(v))
            refuse_field(w, at, rule->why);
        return;
    case RULE_ACCOUNT:
        check_own(w, at, v, w->account, "must not be set: the package gets a ServiceAccount of its own");
        return;
    case RULE_PLACE:
        check_own(w, at, v, w->place, "must not be set: the package runs where it is installed");
        return;
    case RULE_RECORD:
        check_record(w, at, rule->inner, v);
        return;
    case RULE_RECORDS:
        check_records(w, at, rule->inner, v);
        return;
    }
}

/* ---- Tolerations, and settings that were annotations before they had fields. ---- */

/* Without a key a toleration is one of every taint. */
static void check_tolerations(const struct pod_walk *w, const struct json *list)
{
    json_each_item(list, item)
    {
        if (json_get_text(item, S("key")).n == 0)
            refuse_field(w,
                         str_fmt(w->scratch, "Deployment: spec.template.spec.tolerations[%zu].key",
                                 (size_t)(item - list->items)),
                         "must be set: without it every taint is tolerated");
    }
}

static bool is_confinement(str key)
{
    return str_has_prefix(key, S("container.apparmor.security.beta.kubernetes.io/")) ||
           str_has_prefix(key, S("container.seccomp.security.alpha.kubernetes.io/")) ||
           str_has_prefix(key, S("seccomp.security.alpha.kubernetes.io/"));
}

static void check_annotations(const struct pod_walk *w, const struct json *annotations)
{
    json_each_member(annotations, m)
    {
        if (is_confinement(json_key(m)) && !str_eq(json_text(&m->val), S("runtime/default")))
            refuse_field(w, S("Deployment: spec.template.metadata.annotations"), LESS_CONFINED);
    }
}

void package_check_pod(const struct json *deployment, str account, str namespace, struct findings *findings)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct pod_walk w = {findings, &scratch, account, namespace};
    const struct json *spec = json_get(deployment, S("spec"));
    if (json_is_null(deployment))
        return;
    /* The rest of its metadata is not used. */
    check_value(&w, S("Deployment: metadata.namespace"), &own_namespace, json_dig(deployment, "metadata.namespace"));
    check_record(&w, S("Deployment: spec"), &deployment_spec, spec);
    check_tolerations(&w, json_dig(spec, "template.spec.tolerations"));
    check_annotations(&w, object_annotations(json_get(spec, S("template"))));
}

/* ---- Labels and annotations of the pods. ---- */

static bool is_own_key(const struct package *p, str key)
{
    str prefix, name;
    if (!str_cut(key, '/', &prefix, &name))
        return false;
    for (size_t i = 0; i < p->n_crds; i++) {
        str group = p->crds[i].info.group;
        bool is_below = prefix.n > group.n && str_has_suffix(prefix, group) && prefix.p[prefix.n - group.n - 1] == '.';
        if (str_eq(prefix, group) || is_below)
            return true;
    }
    return false;
}

bool package_keeps_label(const struct package *p, str key)
{
    return is_own_key(p, key);
}

bool package_keeps_annotation(const struct package *p, str key)
{
    return is_own_key(p, key) || is_confinement(key) || str_has_prefix(key, S("prometheus.io/")) ||
           str_eq(key, S("kubectl.kubernetes.io/default-container"));
}

static bool is_replaced_label(str key)
{
    return str_eq(key, S("app")) || str_has_prefix(key, S("app.kubernetes.io/"));
}

void package_warn_of_pod(const struct package *p, struct findings *warnings)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *meta = json_dig(&p->deployment, "spec.template.metadata");
    const struct json *labels = json_get(meta, S("labels")), *annotations = json_get(meta, S("annotations"));
    json_each_member(labels, m)
    {
        if (!package_keeps_label(p, json_key(m)) && !is_replaced_label(json_key(m)))
            findings_add(warnings, (str){0},
                         "Deployment: spec.template.metadata.labels[%.*s]: is left out: labels of the pods must be "
                         "under a group of the package's own CRDs",
                         STR(fields_shown(&scratch, json_key(m))));
    }
    json_each_member(annotations, m)
    {
        if (!package_keeps_annotation(p, json_key(m)))
            findings_add(warnings, (str){0},
                         "Deployment: spec.template.metadata.annotations[%.*s]: is left out: annotations of the pods "
                         "must be under a group of the package's own CRDs",
                         STR(fields_shown(&scratch, json_key(m))));
    }
}
