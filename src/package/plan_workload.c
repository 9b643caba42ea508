/* SPDX-License-Identifier: Apache-2.0 */
/* What runs: the account of the controller, and its Deployment, which is the author's but for who it is, what it may touch on its
 * node, and where its images come from. */
#include "package/plan_parts.h"

#include "oci/reference.h"

struct json plan_account_of(struct arena *a, const struct plan_install *install)
{
    struct json metadata = plan_metadata(a, install->name, install->namespace);
    if (json_len(&install->account_annotations))
        json_add(a, &metadata, S("annotations"), install->account_annotations);
    return plan_object(a, S("v1"), S("ServiceAccount"), metadata);
}

/* ---- Containers. ---- */

static struct json bare_security(struct arena *a)
{
    struct json context = json_obj();
    json_add(a, &context, S("allowPrivilegeEscalation"), json_bool(false));
    json_add(a, &context, S("privileged"), json_bool(false));
    json_add(a, &context, S("runAsNonRoot"), json_bool(true));
    return context;
}

static struct json container(struct arena *a, const struct plan_args *args, const struct json *author)
{
    const struct plan_install *install = args->install;
    struct json c = json_dup_top(a, author);
    if (!json_is_obj(&c))
        return c;
    str image = json_get_text(&c, S("image"));
    image = image.n ? oci_reference_with_source(a, image, install->source) : install->image;
    json_set(a, &c, S("image"), json_str(image));
    if (install->pull_policy.n)
        json_set(a, &c, S("imagePullPolicy"), json_str(install->pull_policy));
    if (!args->options.pass_full_deployment)
        json_set(a, &c, S("securityContext"), bare_security(a));
    return c;
}

static void replace_containers(struct arena *a, const struct plan_args *args, struct json *pod, str key)
{
    const struct json *author = json_get(pod, key);
    struct json list = json_arr();
    if (!json_is_arr(author))
        return;
    json_each_item(author, c)
    {
        json_push(a, &list, container(a, args, c));
    }
    json_set(a, pod, key, list);
}

/* ---- The pod. ---- */

static void add_pull_secrets(struct arena *a, const struct plan_install *install, struct json *pod)
{
    if (json_len(&install->pull_secrets) == 0)
        return;
    const struct json *author = json_get(pod, S("imagePullSecrets"));
    struct json list = json_is_arr(author) ? json_dup_top(a, author) : json_arr();
    struct map names = {0};
    json_each_item(author, secret)
    {
        map_set(&names, json_get_text(secret, S("name")), a);
    }
    json_each_item(&install->pull_secrets, secret)
    {
        if (map_set(&names, json_get_text(secret, S("name")), a) == NULL)
            json_push(a, &list, *secret);
    }
    map_done(&names);
    json_set(a, pod, S("imagePullSecrets"), list);
}

/* Volumes that belong to a group are the author's business, unless it is root's. */
static struct json pod_security(struct arena *a, const struct json *author)
{
    struct json context = json_obj();
    int64_t group;
    json_add(a, &context, S("runAsNonRoot"), json_bool(true));
    if (json_to_int(json_get(author, S("fsGroup")), &group) && group != 0)
        json_add(a, &context, S("fsGroup"), json_int(group));
    return context;
}

static struct json pod_spec(struct arena *a, const struct plan_args *args, const struct json *author)
{
    struct json pod = json_is_obj(author) ? json_dup_top(a, author) : json_obj();
    json_set(a, &pod, S("serviceAccountName"), json_str(args->install->name));
    json_remove(&pod, S("serviceAccount")); /* the same under its old name */
    replace_containers(a, args, &pod, S("containers"));
    replace_containers(a, args, &pod, S("initContainers"));
    add_pull_secrets(a, args->install, &pod);
    if (!args->options.pass_full_deployment)
        json_set(a, &pod, S("securityContext"), pod_security(a, json_get(author, S("securityContext"))));
    return pod;
}

static struct json pod_template(struct arena *a, const struct plan_args *args, const struct json *author, str name)
{
    const struct json *labels = json_dig(author, "metadata.labels");
    const struct json *annotations = json_dig(author, "metadata.annotations");
    struct json template = json_obj(), metadata = json_obj(), own = json_obj();
    if (json_is_obj(labels))
        own = json_dup_top(a, labels);
    json_set(a, &own, S("app"), json_str(name));
    json_add(a, &metadata, S("labels"), own);
    if (json_len(annotations))
        json_add(a, &metadata, S("annotations"), *annotations);
    json_add(a, &template, S("metadata"), metadata);
    json_add(a, &template, S("spec"), pod_spec(a, args, json_get(author, S("spec"))));
    return template;
}

struct json plan_deployment_of(struct arena *a, const struct plan_args *args)
{
    const struct json *author = &args->package->deployment;
    if (json_is_null(author))
        return json_null();
    str name = plan_deployment_name(a, args->install->name);
    const struct json *author_spec = json_get(author, S("spec"));
    struct json spec = json_is_obj(author_spec) ? json_dup_top(a, author_spec) : json_obj();
    struct json selector = json_obj(), match = json_obj();
    json_add(a, &match, S("app"), json_str(name));
    json_add(a, &selector, S("matchLabels"), match);
    json_set(a, &spec, S("selector"), selector);
    json_set(a, &spec, S("template"), pod_template(a, args, json_get(author_spec, S("template")), name));
    struct json object =
        plan_object(a, S("apps/v1"), S("Deployment"), plan_metadata(a, name, args->install->namespace));
    json_add(a, &object, S("spec"), spec);
    return object;
}
