/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_check.h"

#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "object/name.h"
#include "package/crd_convert.h"
#include "schema/crd.h"

#include <assert.h>

enum { SHOWN_MAX = 300 }; /* bytes of a text that a package chose */

struct check {
    struct arena *arena; /* of the result */
    struct findings *findings, *warnings;
    str title; /* of the definition, for messages */
    size_t n;  /* findings of this check, told or not */
};

static void refuse(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void refuse(struct check *c, const char *fmt, ...)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    c->n++;
    findings_add(c->findings, S("InvalidPackage"), "%.*s: %.*s", STR(c->title), STR(buf_str(&b)));
}

/* ---- Groups and keys that are not for packages ---- */

static bool is_at_or_below(str domain, const char *top)
{
    str t = str_of(top);
    return str_has_suffix(domain, t) && (domain.n == t.n || domain.p[domain.n - t.n - 1] == '.');
}

bool crd_group_is_protected(str group)
{
    static const char *const tops[] = {
        "k8s.io",
        "kubernetes.io",
        "packages.crossplane.io",
        "stacks.crossplane.io",
        "rbac.crossplane.io",
        "open-cluster-management.io",
    };
    for (size_t i = 0; i < COUNT(tops); i++)
        if (is_at_or_below(group, tops[i]))
            return true;
    return group.n == 0;
}

bool crd_key_is_reserved(str key)
{
    str prefix, name;
    if (!str_cut(key, '/', &prefix, &name))
        prefix = key;
    if (str_eq(prefix, S("app.kubernetes.io")))
        return str_eq(name, S("managed-by"));
    return is_at_or_below(prefix, "crossplane.io") || is_at_or_below(prefix, "kubernetes.io") ||
           is_at_or_below(prefix, "k8s.io") || is_at_or_below(prefix, "reeve.dev");
}

/* ---- Form: a document becomes v1, with no field that v1 does not have ---- */

static bool check_kind(struct check *c, const struct json *doc, struct json *ret)
{
    str version = json_get_text(doc, S("apiVersion")), kind = json_get_text(doc, S("kind"));
    if (!str_eq(kind, S("CustomResourceDefinition"))) {
        refuse(c, "kind must be CustomResourceDefinition");
        return false;
    }
    if (str_eq(version, S("apiextensions.k8s.io/v1beta1")))
        return crd_convert(c->arena, doc, ret, c->findings);
    if (!str_eq(version, S("apiextensions.k8s.io/v1"))) {
        refuse(c, "apiVersion must be apiextensions.k8s.io/v1");
        return false;
    }
    *ret = json_dup_top(c->arena, doc);
    json_remove(ret, S("status"));
    return true;
}

/* Bytes of a value as JSON, if all of its texts were escapes. */
static size_t size_at_most(const struct json *v)
{
    enum { ESCAPE = 6, REST = 32 }; /* bytes of \u003c; of a number, or of quotes, colon and comma */
    size_t n = REST + (json_is_str(v) ? (size_t)v->n * ESCAPE : 0);
    json_each_item(v, it) n += size_at_most(it);
    json_each_member(v, m) n += (size_t)m->key_n * ESCAPE + size_at_most(&m->val);
    return n;
}

static void check_size(struct check *c, const struct json *crd)
{
    struct buf b = {0};
    if (size_at_most(crd) <= CRD_MAX_BYTES)
        return;
    json_encode(&b, crd, 0);
    if (b.n > CRD_MAX_BYTES)
        refuse(c, "%zu bytes are more than the %d a definition may have", b.n, CRD_MAX_BYTES);
    buf_done(&b);
}

/* Types of all fields, and fields nobody knows. In place. */
static bool check_fields(struct check *c, struct json *crd)
{
    const struct kind *kind = kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
    struct strict_notes notes = {0};
    struct err err = {0};
    assert(kind && kind->shape);
    *crd = json_dup(c->arena, crd);
    if (strict_decode(c->arena, kind->shape, crd, NULL, &notes, &err) < 0) {
        refuse(c, "%s", err.msg);
        return false;
    }
    vec_each(&notes.list, note) refuse(c, "%.*s", STR(*note));
    return true;
}

/* ---- Metadata ---- */

static struct json without_reserved(struct check *c, const struct json *map, const char *what)
{
    struct json all = json_obj_sized(c->arena, json_len(map));
    json_each_member(map, m)
    {
        if (crd_key_is_reserved(json_key(m)))
            findings_add(c->warnings, (str){0}, "%.*s: %s %.*s is left out: it is not for packages to set",
                         STR(c->title), what, STR(finding_shown(c->arena, json_key(m), SHOWN_MAX)));
        else
            json_add(c->arena, &all, json_key(m), m->val);
    }
    return all;
}

/* In place: the name, and the author's labels and annotations. */
static void strip_metadata(struct check *c, struct json *crd)
{
    const struct json *given = json_get(crd, S("metadata"));
    struct json labels = without_reserved(c, json_get(given, S("labels")), "label");
    struct json annotations = without_reserved(c, json_get(given, S("annotations")), "annotation");
    struct json kept = json_obj();
    json_add(c->arena, &kept, S("name"), json_str(json_get_text(given, S("name"))));
    if (labels.n)
        json_add(c->arena, &kept, S("labels"), labels);
    if (annotations.n)
        json_add(c->arena, &kept, S("annotations"), annotations);
    json_set(c->arena, crd, S("metadata"), kept);
}

static void check_metadata(struct field_errors *errs, const struct json *crd)
{
    const struct json *meta = json_get(crd, S("metadata"));
    str name = json_get_text(meta, S("name"));
    if (name.n == 0)
        field_error_add(errs, FIELD_REQUIRED, S("metadata.name"), (str){0}, "a definition has a name");
    else
        name_validate(errs, S("metadata.name"), NAME_DNS_SUBDOMAIN, name);
    name_validate_labels(errs, S("metadata.labels"), json_get(meta, S("labels")));
    name_validate_annotations(errs, S("metadata.annotations"), json_get(meta, S("annotations")));
}

/* ---- What the server would say, and what we say besides ---- */

static void check_as_server(struct check *c, const struct json *crd)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &scratch};
    struct json filled = json_dup_top(&scratch, crd);
    bool is_protected = crd_group_is_protected(json_get_text(json_get(crd, S("spec")), S("group")));
    check_metadata(&errs, crd);
    crd_prepare_create(&scratch, &filled);
    builtin_validate_crd(&errs, &filled);
    vec_each(&errs.list, e)
    {
        if (is_protected && str_eq(e->field, S("metadata.annotations[api-approved.kubernetes.io]")))
            continue; /* no approval would help */
        struct buf b = {.arena = &scratch};
        field_error_format(&b, e);
        refuse(c, "%.*s", STR(buf_str(&b)));
    }
    c->n += errs.dropped;
    c->findings->more += errs.dropped;
}

static void check_group(struct check *c, const struct json *spec)
{
    str group = json_get_text(spec, S("group"));
    if (group.n && crd_group_is_protected(group))
        refuse(c, "spec.group: %.*s is a protected group: packages cannot define kinds in it", STR(group));
}

static void check_conversion(struct check *c, const struct json *spec)
{
    const struct json *conversion = json_get(spec, S("conversion"));
    const struct json *client = json_dig(conversion, "webhook.clientConfig"), *service = json_get(client, S("service"));
    str strategy = json_get_text(conversion, S("strategy")), url = json_get_text(client, S("url"));
    if (!str_eq(strategy, S("Webhook")))
        return;
    if (json_is_obj(service))
        refuse(c,
               "spec.conversion: a webhook to service %.*s in namespace %.*s would see all objects of the kind: "
               "only strategy None is allowed",
               STR(finding_shown(c->arena, json_get_text(service, S("name")), SHOWN_MAX)),
               STR(finding_shown(c->arena, json_get_text(service, S("namespace")), SHOWN_MAX)));
    else
        refuse(c, "spec.conversion: a webhook to %.*s would see all objects of the kind: only strategy None is allowed",
               STR(finding_shown(c->arena, url, SHOWN_MAX)));
}

/* ---- The whole ---- */

static struct crd_info info_of(struct arena *a, const struct json *crd)
{
    const struct json *spec = json_get(crd, S("spec")), *versions = json_get(spec, S("versions"));
    struct crd_info info = {
        .name = json_get_text(json_get(crd, S("metadata")), S("name")),
        .group = json_get_text(spec, S("group")),
        .plural = json_get_text(json_get(spec, S("names")), S("plural")),
        .kind = json_get_text(json_get(spec, S("names")), S("kind")),
        .is_namespaced = str_eq(json_get_text(spec, S("scope")), S("Namespaced")),
    };
    json_each_item(versions, it)
    {
        const struct json *subresources = json_get(it, S("subresources"));
        info.has_status = info.has_status || json_is_obj(json_get(subresources, S("status")));
        info.has_scale = info.has_scale || json_is_obj(json_get(subresources, S("scale")));
        *vec_push(a, &info.versions) = (struct crd_version){
            json_get_text(it, S("name")),
            json_true(json_get(it, S("served"))),
            json_true(json_get(it, S("storage"))),
        };
    }
    return info;
}

struct crd_info crd_info_dup(struct arena *a, const struct crd_info *info)
{
    struct crd_info all = *info;
    all.name = str_dup(a, info->name);
    all.group = str_dup(a, info->group);
    all.plural = str_dup(a, info->plural);
    all.kind = str_dup(a, info->kind);
    all.versions.p = NULL;
    all.versions.n = all.versions.cap = 0;
    vec_each(&info->versions, v) * vec_push(a, &all.versions) =
        (struct crd_version){str_dup(a, v->name), v->served, v->storage};
    return all;
}

/* As it will be written, if it is anything like a definition. */
static bool read_form(struct check *c, const struct json *doc, struct json *ret)
{
    if (!check_kind(c, doc, ret) || !check_fields(c, ret))
        return false;
    strip_metadata(c, ret);
    crd_default(c->arena, ret);
    return true;
}

bool crd_read(struct arena *a, const struct json *doc, struct json *ret)
{
    struct findings ignored = {.arena = a};
    struct check c = {.arena = a, .findings = &ignored, .warnings = &ignored};
    return read_form(&c, doc, ret);
}

bool crd_check(struct arena *a, const struct json *doc, struct crd_checked *ret, struct findings *findings,
               struct findings *warnings)
{
    struct check c = {.arena = a, .findings = findings, .warnings = warnings, .title = crd_title(a, doc)};
    struct json crd;
    check_size(&c, doc);
    if (c.n || !read_form(&c, doc, &crd))
        return false;
    check_as_server(&c, &crd);
    check_group(&c, json_get(&crd, S("spec")));
    check_conversion(&c, json_get(&crd, S("spec")));
    if (c.n)
        return false;
    *ret = (struct crd_checked){crd, info_of(a, &crd)};
    return true;
}
