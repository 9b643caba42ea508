/* SPDX-License-Identifier: Apache-2.0 */
/* Format B: package.yaml, a stream of documents: one object that says what the package is, and its CRDs.
 *
 *   spec.controller.image      runs as the one container "package-runtime"; without it the package's own image does, as an
 *                              xpkg is its own runtime image
 *   spec.dependsOn             requirements
 *   spec.crossplane.version    not looked at: Reeve is no version of Crossplane
 *   permissionRequests         refused: what a package may do follows from its CRDs
 *   other kinds                webhooks, ManagedResourceDefinitions and the like are never installed; a warning names each */
#include "package/load.h"

#include "object/object.h"
#include "oci/reference.h"
#include "package/semver.h"

#define META_GROUP "meta.pkg.crossplane.io/"
#define RUNTIME_CONTAINER "package-runtime"

enum { METRICS_PORT = 8080 };

#define INNER(rules) rules, COUNT(rules)

static const struct field_rule depends_rules[] = {
    {"provider", FIELD_WORD, FIELDS_LINE, NULL, 0}, {"configuration", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"function", FIELD_WORD, FIELDS_LINE, NULL, 0}, {"apiVersion", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"kind", FIELD_WORD, FIELDS_LINE, NULL, 0},     {"package", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"version", FIELD_WORD, FIELDS_LINE, NULL, 0},
};

static const struct field_rule spec_rules[] = {
    {"dependsOn", FIELD_RECORDS, 0, INNER(depends_rules)},
    {"controller", FIELD_IGNORED, 0, NULL, 0},
    {"crossplane", FIELD_IGNORED, 0, NULL, 0},
    {"capabilities", FIELD_IGNORED, 0, NULL, 0},
};

static const struct field_rule controller_rules[] = {
    {"image", FIELD_WORD, FIELDS_LINE, NULL, 0},
    {"permissionRequests", FIELD_IGNORED, 0, NULL, 0},
};

/* ---- What people see. ---- */

static const struct {
    str annotation, field;
} shown[] = {
    {S_INIT("friendly-name.meta.crossplane.io"), S_INIT("title")},
    {S_INIT("meta.crossplane.io/description"), S_INIT("overviewShort")},
    {S_INIT("meta.crossplane.io/license"), S_INIT("license")},
    {S_INIT("meta.crossplane.io/readme"), S_INIT("readme")},
    {S_INIT("meta.crossplane.io/source"), S_INIT("source")},
};

static void read_metadata(struct load *l, const struct load_document *d)
{
    struct json m = json_obj();
    for (size_t i = 0; i < COUNT(shown); i++) {
        str text = object_annotation(d->json, shown[i].annotation);
        if (text.n > FIELDS_TEXT)
            findings_add(l->warnings, (str){0}, "%.*s: annotation %.*s: is longer than %d bytes and left out",
                         STR(d->path), STR(shown[i].annotation), FIELDS_TEXT);
        else if (text.n)
            json_add(l->while_loading, &m, shown[i].field, json_str(str_dup(l->while_loading, text)));
    }
    str maintainer = object_annotation(d->json, S("meta.crossplane.io/maintainer")), name = object_name(d->json);
    if (maintainer.n && maintainer.n <= FIELDS_LINE) {
        struct json person = json_obj(), people = json_arr();
        json_add(l->while_loading, &person, S("name"), json_str(str_dup(l->while_loading, maintainer)));
        json_push(l->while_loading, &people, person);
        json_add(l->while_loading, &m, S("maintainers"), people);
    }
    if (json_get(&m, S("title")) == NULL && name.n && name.n <= FIELDS_LINE)
        json_add(l->while_loading, &m, S("title"), json_str(str_dup(l->while_loading, name)));
    l->package->metadata = m;
}

/* ---- Other packages. ---- */

/* NULL with *ret set, or what is wrong. */
static const char *read_requirement(const struct json *item, struct package_requirement *ret)
{
    str package = json_get_text(item, S("provider")), kind = json_get_text(item, S("kind"));
    struct oci_reference reference;
    if (json_get_text(item, S("configuration")).n || json_get_text(item, S("function")).n ||
        (kind.n && !str_eq(kind, S("Provider"))))
        return "must be a Provider: Reeve installs no other kinds";
    if (package.n == 0)
        package = json_get_text(item, S("package"));
    if (package.n == 0)
        return "must say which package";
    if (oci_reference_parse(package, &reference, NULL) < 0 || reference.tag.n || reference.digest.n)
        return "package: must be the name of an image without a tag";
    *ret = (struct package_requirement){package, json_get_text(item, S("version"))};
    return semver_is_constraint(ret->constraint) ? NULL
                                                 : "version: must be a constraint, such as >=v1.2.0, or a digest";
}

static void read_requirements(struct load *l, str path, const struct json *list)
{
    json_each_item(list, item)
    {
        struct package_requirement r;
        const char *why = read_requirement(item, &r);
        if (why)
            findings_add(l->findings, INVALID_PACKAGE, "%.*s: spec.dependsOn[%zu]: %s", STR(path),
                         (size_t)(item - list->items), why);
        else
            *vec_push(l->keep, &l->requirements) = r;
    }
}

/* ---- What runs. ---- */

static struct json runtime_container(struct arena *a, str image)
{
    struct json container = json_obj(), port = json_obj(), ports = json_arr(), env = json_obj(), envs = json_arr();
    struct json field = json_obj(), source = json_obj();
    json_add(a, &container, S("name"), json_str(S(RUNTIME_CONTAINER)));
    if (image.n)
        json_add(a, &container, S("image"), json_str(image));
    json_add(a, &port, S("name"), json_str(S("metrics")));
    json_add(a, &port, S("containerPort"), json_int(METRICS_PORT));
    json_push(a, &ports, port);
    json_add(a, &container, S("ports"), ports);
    json_add(a, &field, S("fieldPath"), json_str(S("metadata.namespace")));
    json_add(a, &source, S("fieldRef"), field);
    json_add(a, &env, S("name"), json_str(S("POD_NAMESPACE")));
    json_add(a, &env, S("valueFrom"), source);
    json_push(a, &envs, env);
    json_add(a, &container, S("env"), envs);
    return container;
}

static void make_deployment(struct load *l, str path, str image)
{
    struct arena *a = l->line;
    struct json deployment = json_obj(), spec = json_obj(), template = json_obj(), pod = json_obj();
    struct json containers = json_arr();
    json_push(a, &containers, runtime_container(a, image));
    json_add(a, &pod, S("containers"), containers);
    json_add(a, &template, S("spec"), pod);
    json_add(a, &spec, S("template"), template);
    json_add(a, &deployment, S("apiVersion"), json_str(S("apps/v1")));
    json_add(a, &deployment, S("kind"), json_str(S("Deployment")));
    json_add(a, &deployment, S("spec"), spec);
    load_deployment(l, path, &deployment);
}

static void read_controller(struct load *l, str path, const struct json *controller)
{
    struct json got = json_obj();
    if (!json_is_null(controller) && !json_is_obj(controller)) {
        findings_add(l->findings, INVALID_PACKAGE, "%.*s: spec.controller: must be a mapping, but is a %s", STR(path),
                     fields_type(controller));
        return;
    }
    if (json_is_obj(controller)) {
        struct fields_reader reader = load_fields(l, str_fmt(l->line, "%.*s: spec.controller", STR(path)), l->line);
        got = fields_read(&reader, controller, INNER(controller_rules));
    }
    if (!json_is_null(json_get(controller, S("permissionRequests"))) &&
        (json_len(json_get(controller, S("permissionRequests"))) ||
         !json_is_arr(json_get(controller, S("permissionRequests")))))
        findings_add(
            l->findings, INVALID_PACKAGE,
            "%.*s: spec.controller.permissionRequests: must not be there: what a package may do follows from its CRDs",
            STR(path));
    make_deployment(l, path, json_get_text(&got, S("image")));
}

/* ---- The stream. ---- */

static bool is_meta(const struct json *o)
{
    return str_has_prefix(object_api_version(o), S(META_GROUP));
}

static bool check_meta(struct load *l, const struct load_document *d)
{
    str version = str_from(object_api_version(d->json), sizeof META_GROUP - 1), kind = object_kind(d->json);
    if (l->meta.n)
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: there must be one object of meta.pkg.crossplane.io, but there are several", STR(d->path));
    else if (!str_eq(version, S("v1")) && !str_eq(version, S("v1beta1")) && !str_eq(version, S("v1alpha1")))
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: apiVersion: must be meta.pkg.crossplane.io/v1, but its version is %.*s", STR(d->path),
                     STR(fields_shown(l->line, version)));
    else if (!str_eq(kind, S("Provider")))
        findings_add(l->findings, INVALID_PACKAGE,
                     "%.*s: kind: must be Provider, but is %.*s, which Reeve does not install", STR(d->path),
                     STR(fields_shown(l->line, kind)));
    else
        return true;
    return false;
}

static void read_meta(struct load *l, const struct load_document *d)
{
    bool ok = check_meta(l, d);
    l->meta = str_dup(l->while_loading, d->path);
    if (!ok)
        return;
    const struct json *spec = json_get(d->json, S("spec"));
    l->package->scope = PACKAGE_CLUSTER;
    read_metadata(l, d);
    if (!json_is_null(spec)) {
        struct fields_reader reader = load_fields(l, str_fmt(l->line, "%.*s: spec", STR(d->path)), l->keep);
        struct json fields = fields_read(&reader, spec, INNER(spec_rules));
        read_requirements(l, d->path, json_get(&fields, S("dependsOn")));
    }
    read_controller(l, d->path, json_get(spec, S("controller")));
}

void load_xpkg(struct load *l, const struct load_document *d)
{
    str kind = object_kind(d->json), version = object_api_version(d->json);
    if (is_meta(d->json))
        read_meta(l, d);
    else if (str_eq(kind, S("CustomResourceDefinition")) && str_has_prefix(version, S("apiextensions.k8s.io/")))
        load_crd(l, d);
    else
        findings_add(l->warnings, (str){0}, "%.*s: %.*s %.*s is left out: packages install CRDs alone", STR(d->path),
                     STR(fields_shown(l->line, kind)), STR(fields_shown(l->line, object_name(d->json))));
}

void load_xpkg_end(struct load *l)
{
    if (l->meta.n == 0)
        findings_add(l->findings, INVALID_PACKAGE, "package.yaml: must have one Provider of meta.pkg.crossplane.io/v1");
}
