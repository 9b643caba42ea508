/* SPDX-License-Identifier: Apache-2.0 */
/* install.yaml: the one Deployment that runs a package's controller. */
#include "package/load.h"

#include "kinds/builtin.h"
#include "kinds/strategy.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"

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
