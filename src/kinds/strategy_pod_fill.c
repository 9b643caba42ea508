/* SPDX-License-Identifier: Apache-2.0 */
/* What the server fills into pods and into the templates of pods. */
#include "kinds/strategy_pod.h"

/* ---- Images. ---- */

/* Whether an image without a pull policy is one that may change under its name: no tag and no digest, or the tag latest. What
 * is no image reference has no tag. */
static bool is_latest(str image)
{
    str name = image, rest, tag = {0};
    bool has_digest = str_cut(image, '@', &name, &rest);
    size_t start = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '/')
            start = i + 1;
    }
    str last = str_from(name, start), repository;
    bool has_tag = str_cut(last, ':', &repository, &tag);
    if (repository.n == 0)
        return false;
    for (size_t i = 0; i < repository.n; i++) {
        char c = repository.p[i];
        if (!(char_is_lower(c) || char_is_digit(c) || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return has_tag ? str_eq(tag, S("latest")) : !has_digest;
}

/* ---- Probes and handlers. ---- */

static void fill_handler(struct arena *a, struct json *handler)
{
    struct json *http = json_get_mut(handler, S("httpGet")), *grpc = json_get_mut(handler, S("grpc"));
    if (json_is_obj(http)) {
        default_str(a, http, S("path"), S("/"));
        default_str(a, http, S("scheme"), S("HTTP"));
    }
    if (json_is_obj(grpc) && json_is_null(json_get(grpc, S("service"))))
        json_set(a, grpc, S("service"), json_str((str){0}));
}

static void default_count(struct arena *a, struct json *parent, str key, int64_t value)
{
    if (int_of(json_get(parent, key)) == 0)
        json_set(a, parent, key, json_int(value));
}

static void fill_probe(struct arena *a, struct json *probe)
{
    if (!json_is_obj(probe))
        return;
    fill_handler(a, probe);
    default_count(a, probe, S("timeoutSeconds"), 1);
    default_count(a, probe, S("periodSeconds"), 10);
    default_count(a, probe, S("successThreshold"), 1);
    default_count(a, probe, S("failureThreshold"), 3);
}

/* ---- Containers. ---- */

void pod_fill_field_ref(struct arena *a, struct json *parent)
{
    struct json *ref = json_get_mut(parent, S("fieldRef"));
    if (json_is_obj(ref))
        default_str(a, ref, S("apiVersion"), S("v1"));
}

static void fill_container(struct arena *a, struct json *c)
{
    if (!json_is_obj(c))
        return;
    default_str(a, c, S("imagePullPolicy"), is_latest(json_get_text(c, S("image"))) ? S("Always") : S("IfNotPresent"));
    default_str(a, c, S("terminationMessagePath"), S("/dev/termination-log"));
    default_str(a, c, S("terminationMessagePolicy"), S("File"));
    json_each_item_mut(json_get_mut(c, S("ports")), port) default_str(a, port, S("protocol"), S("TCP"));
    json_each_item_mut(json_get_mut(c, S("env")), env) pod_fill_field_ref(a, json_get_mut(env, S("valueFrom")));
    fill_probe(a, json_get_mut(c, S("livenessProbe")));
    fill_probe(a, json_get_mut(c, S("readinessProbe")));
    fill_probe(a, json_get_mut(c, S("startupProbe")));
    struct json *lifecycle = json_get_mut(c, S("lifecycle"));
    fill_handler(a, json_get_mut(lifecycle, S("postStart")));
    fill_handler(a, json_get_mut(lifecycle, S("preStop")));
}

static void fill_containers(struct arena *a, struct json *spec, str key)
{
    json_each_item_mut(json_get_mut(spec, key), c) fill_container(a, c);
}

/* ---- Pods. ---- */

/* Two names of one field; the newer one counts. */
static void fill_account(struct arena *a, struct json *spec)
{
    str name = json_get_text(spec, S("serviceAccountName"));
    if (name.n == 0)
        name = json_get_text(spec, S("serviceAccount"));
    if (name.n == 0)
        return;
    json_set(a, spec, S("serviceAccountName"), json_str(name));
    json_set(a, spec, S("serviceAccount"), json_str(name));
}

void pod_fill_spec(struct arena *a, struct json *spec)
{
    if (!json_is_obj(spec))
        return;
    default_str(a, spec, S("dnsPolicy"), S("ClusterFirst"));
    default_str(a, spec, S("restartPolicy"), S("Always"));
    default_str(a, spec, S("schedulerName"), S("default-scheduler"));
    default_int(a, spec, S("terminationGracePeriodSeconds"), 30);
    make_obj(a, spec, S("securityContext"));
    fill_account(a, spec);
    json_each_item_mut(json_get_mut(spec, S("volumes")), v) pod_fill_volume(a, v);
    fill_containers(a, spec, S("containers"));
    fill_containers(a, spec, S("initContainers"));
    fill_containers(a, spec, S("ephemeralContainers"));
}

/* A template without a spec gets one, as every struct is there in Go. */
void pod_fill_template(struct arena *a, struct json *template)
{
    if (json_is_obj(template))
        pod_fill_spec(a, make_obj(a, template, S("spec")));
}
