/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/load.h"
#include "package/plan_internal.h"
#include "package/pod.h"

/* What runs: the account of the controller, and its Deployment, which is the author's but for who it is, what it may touch on its
 * node, and where its images come from. */

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

/* install.yaml: the one Deployment that runs a package's controller. */

enum { MAX_BYTES = 256 * 1024 }; /* of its line; larger ones would hardly be stored */

/* ---- Whether the server would take it. ---- */

static struct json *member(struct arena *a, struct json *record, const char *name)
{
    struct json *v = json_get_mut(record, str_of(name));
    return json_is_obj(v) ? v : json_set(a, record, str_of(name), json_obj());
}

static void fill_images(struct arena *a, struct json *containers)
{
    for (size_t i = 0; i < json_len(containers); i++) {
        struct json *c = &containers->items[i];
        if (json_is_obj(c) && json_get_text(c, S("image")).n == 0)
            json_set(a, c, S("image"), json_str(S("image")));
    }
}

/* In place: what the plan will put in, whatever the install is called. */
static void fill_in(struct arena *a, struct json *deployment)
{
    struct json *meta = meta_of(a, deployment), *spec = member(a, deployment, "spec"), *labels, *pod;
    json_set(a, meta, S("name"), json_str(S("controller")));
    json_set(a, meta, S("namespace"), json_str(S("default")));
    json_set(a, spec, S("selector"), json_obj());
    labels = member(a, json_get_mut(spec, S("selector")), "matchLabels");
    json_set(a, labels, S("app"), json_str(S("controller")));
    labels = member(a, member(a, member(a, spec, "template"), "metadata"), "labels");
    json_set(a, labels, S("app"), json_str(S("controller")));
    pod = member(a, member(a, spec, "template"), "spec");
    fill_images(a, json_get_mut(pod, S("containers")));
    fill_images(a, json_get_mut(pod, S("initContainers")));
}

static void check_as_server(struct load *l, str from, const struct kind *kind, const struct json *deployment)
{
    struct json copy = json_dup(l->line, deployment);
    struct field_errors errs = {.arena = l->line};
    fill_in(l->line, &copy);
    strategy_default(l->line, kind, &copy);
    meta_validate(&errs, kind, &copy);
    strategy_validate(&errs, kind, &copy);
    vec_each(&errs.list, e)
    {
        struct buf b = {.arena = l->line};
        field_error_format(&b, e);
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: %.*s", STR(from), STR(buf_str(&b)));
    }
    l->findings->more += errs.dropped;
}

/* Fields that this server does not know are left out, so that nothing passes by that package_check_pod does not look at. */
void load_deployment(struct load *l, str from, struct json *deployment)
{
    const struct kind *kind = kind_builtin_by_body(S("apps/v1"), S("Deployment"));
    struct strict_notes notes = {0};
    struct err err;
    if (strict_decode(l->line, kind->shape, deployment, NULL, &notes, &err) < 0) {
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: %s", STR(from), err.msg);
        return;
    }
    vec_each(&notes.list, note) findings_add(l->warnings, (str){0}, "%.*s: %.*s is left out", STR(from), STR(*note));
    json_remove(deployment, S("status"));
    check_as_server(l, from, kind, deployment);
    l->package->deployment = json_dup(l->keep, deployment);
}

/* ---- install.yaml. ---- */

/* Deployments were elsewhere once; other kinds never ran. */
static bool check_kind(struct load *l, const struct load_document *d)
{
    str version = object_api_version(d->json), kind = object_kind(d->json);
    bool is_deployment = str_eq(kind, S("Deployment"));
    if (is_deployment && str_eq(version, S("apps/v1")))
        return true;
    if (is_deployment && (str_has_prefix(version, S("apps/")) || str_has_prefix(version, S("extensions/"))))
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: apiVersion: must be apps/v1, but is %.*s", STR(d->path),
                     STR(fields_shown(l->line, version)));
    else
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: must be a Deployment of apps/v1, but is %.*s of %.*s",
                     STR(d->path), STR(fields_shown(l->line, kind)), STR(fields_shown(l->line, version)));
    return false;
}

void load_install(struct load *l, const struct load_document *d)
{
    if (l->install.n) {
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: there must be one install.yaml with one document, but there is %.*s, too", STR(d->path),
                     STR(l->install));
        return;
    }
    l->install = str_dup(l->while_loading, d->path);
    if (!json_is_obj(d->json)) {
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: must be a Deployment of apps/v1, but is a %s", STR(d->path),
                     fields_type(d->json));
        return;
    }
    if (d->bytes > MAX_BYTES) {
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: must not be larger than %d bytes", STR(d->path), MAX_BYTES);
        return;
    }
    struct json deployment = json_dup_top(l->line, d->json);
    if (check_kind(l, d))
        load_deployment(l, l->install, &deployment);
}
