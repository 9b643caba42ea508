/* SPDX-License-Identifier: Apache-2.0 */
/* What runs: the account of the controller, and its Deployment, which is the author's but for who it is, what it may touch on its
 * node, and where its images come from. */
#include "package/plan_parts.h"

#include "object/name.h"
#include "oci/reference.h"
#include "package/pod.h"

struct json plan_account_of(struct arena *a, const struct plan_install *install)
{
    struct json metadata = plan_metadata(a, install->name, install->namespace);
    if (json_len(&install->account_annotations))
        json_add(a, &metadata, S("annotations"), install->account_annotations);
    return plan_object(a, S("v1"), S("ServiceAccount"), metadata);
}

/* ---- Containers. ---- */

/* The package's own image by the digest that was checked: a tag may stand for another image by the time a node pulls it. */
static str own_image(struct arena *a, const struct plan_args *args)
{
    struct oci_reference ref;
    struct err ignored;
    str image = args->install->image, digest = args->package->digest;
    if (digest.n == 0 || oci_reference_parse(image, &ref, &ignored) < 0 || ref.digest.n)
        return image;
    return str_fmt(a, "%.*s@%.*s", STR(image), STR(digest));
}

static bool is_own_image(const struct plan_args *args, str image)
{
    struct oci_reference mine, own;
    struct err ignored;
    return oci_reference_parse(image, &mine, &ignored) == 0 &&
           oci_reference_parse(args->install->image, &own, &ignored) == 0 && oci_reference_same(&mine, &own);
}

static struct json container(struct arena *a, const struct plan_args *args, const struct json *author)
{
    const struct plan_install *install = args->install;
    struct json c = json_dup_top(a, author);
    if (!json_is_obj(&c))
        return c;
    str image = json_get_text(&c, S("image"));
    if (image.n)
        image = oci_reference_with_source(a, image, install->source);
    if (image.n == 0 || is_own_image(args, image))
        image = own_image(a, args);
    json_set(a, &c, S("image"), json_str(image));
    if (install->pull_policy.n)
        json_set(a, &c, S("imagePullPolicy"), json_str(install->pull_policy));
    if (!args->options.pass_full_deployment)
        json_set(a, &c, S("securityContext"), package_container_security(a, json_get(author, S("securityContext"))));
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

static struct json pod_spec(struct arena *a, const struct plan_args *args, const struct json *author)
{
    struct json pod = json_is_obj(author) ? json_dup_top(a, author) : json_obj();
    json_set(a, &pod, S("serviceAccountName"), json_str(args->install->name));
    json_remove(&pod, S("serviceAccount")); /* the same under its old name */
    replace_containers(a, args, &pod, S("containers"));
    replace_containers(a, args, &pod, S("initContainers"));
    add_pull_secrets(a, args->install, &pod);
    if (!args->options.pass_full_deployment)
        json_set(a, &pod, S("securityContext"), package_pod_security(a, json_get(author, S("securityContext"))));
    return pod;
}

/* The author's that are kept: all of them with --insecure-pass-full-deployment. */
static struct json kept_texts(struct arena *a, const struct plan_args *args, const struct json *author,
                              bool (*keeps)(const struct package *, str))
{
    struct json kept = json_obj();
    json_each_member(author, m)
    {
        if (args->options.pass_full_deployment || keeps(args->package, json_key(m)))
            json_add(a, &kept, json_key(m), m->val);
    }
    return kept;
}

/* The recommended labels, with values that the author cannot choose: Services and policies of others select pods by them. What is
 * too long or has other letters than a label is left out. */
static void add_recommended(struct arena *a, const struct plan_args *args, struct json *labels)
{
    const struct {
        str key, value;
    } rows[] = {
        {S("app.kubernetes.io/instance"), args->install->name},
        {S(LABEL_MANAGED_BY), S(LABEL_MANAGER)},
        {S("app.kubernetes.io/name"), args->package->name},
        {S("app.kubernetes.io/version"), args->package->version},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (name_is(NAME_LABEL_VALUE, rows[i].value))
            json_set(a, labels, rows[i].key, json_str(rows[i].value));
}

static struct json pod_template(struct arena *a, const struct plan_args *args, const struct json *author, str name)
{
    struct json template = json_obj(), metadata = json_obj();
    struct json labels = kept_texts(a, args, json_dig(author, "metadata.labels"), package_keeps_label);
    struct json annotations = kept_texts(a, args, json_dig(author, "metadata.annotations"), package_keeps_annotation);
    json_set(a, &labels, S("app"), json_str(name));
    if (!args->options.pass_full_deployment)
        add_recommended(a, args, &labels);
    json_add(a, &metadata, S("labels"), labels);
    if (json_len(&annotations))
        json_add(a, &metadata, S("annotations"), annotations);
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
