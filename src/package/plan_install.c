/* SPDX-License-Identifier: Apache-2.0 */
/* What of an install the plan needs. The schema of its CRD has checked most of it; what an older server, or one without that
 * schema, let through is found here. */
#include "package/plan.h"

#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"

#define REASON S("InvalidInstall")

struct reading {
    struct arena *a;
    const struct json *spec;
    struct findings *findings;
};

/* The text of a field of spec that may be left out. */
static str text_of(struct reading *r, const char *field)
{
    const struct json *v = json_get(r->spec, str_of(field));
    if (!json_is_null(v) && !json_is_str(v))
        findings_add(r->findings, REASON, "spec.%s: must be a string, not %s", field, json_type_name(v));
    return json_text(v);
}

static str read_image(struct reading *r, str source)
{
    const struct json *field = json_get(r->spec, S("package"));
    str package = text_of(r, "package");
    struct oci_reference parsed;
    struct err err;
    if (json_is_null(field) || (json_is_str(field) && package.n == 0))
        findings_add(r->findings, REASON, "spec.package: must name an image, such as acme/wordpress:1.0");
    if (package.n == 0)
        return package;
    str image = oci_reference_with_source(r->a, package, source);
    if (oci_reference_parse(image, &parsed, &err) < 0)
        findings_add(r->findings, REASON, "spec.package: %s", err.msg);
    return image;
}

static str read_policy(struct reading *r)
{
    str policy = text_of(r, "imagePullPolicy");
    if (policy.n && !str_eq(policy, S("Always")) && !str_eq(policy, S("IfNotPresent")) && !str_eq(policy, S("Never")))
        findings_add(r->findings, REASON, "spec.imagePullPolicy: must be Always, IfNotPresent or Never, not \"%.*s\"",
                     STR(policy));
    return policy;
}

static struct json read_secrets(struct reading *r)
{
    const struct json *list = json_get(r->spec, S("imagePullSecrets"));
    struct json secrets = json_null();
    if (json_is_null(list))
        return secrets;
    if (!json_is_arr(list)) {
        findings_add(r->findings, REASON, "spec.imagePullSecrets: must be a list of {name: …}");
        return secrets;
    }
    secrets = json_arr_sized(r->a, json_len(list));
    json_each_item(list, item)
    {
        str name = json_get_text(item, S("name"));
        struct json secret = json_obj();
        if (!name_is(NAME_DNS_SUBDOMAIN, name))
            findings_add(r->findings, REASON, "spec.imagePullSecrets[%zu].name: must be the name of a Secret",
                         (size_t)(item - list->items));
        json_add(r->a, &secret, S("name"), json_str(name));
        json_push(r->a, &secrets, secret);
    }
    return secrets;
}

static struct json read_annotations(struct reading *r)
{
    const struct json *account = json_get(r->spec, S("serviceAccount"));
    const struct json *annotations = json_get(account, S("annotations"));
    struct field_errors errs = {.arena = r->a};
    if (!json_is_null(account) && !json_is_obj(account))
        findings_add(r->findings, REASON, "spec.serviceAccount: must be an object, not %s", json_type_name(account));
    name_validate_annotations(&errs, S("spec.serviceAccount.annotations"), annotations);
    vec_each(&errs.list, e)
    {
        struct buf text = {.arena = r->a};
        field_error_format(&text, e);
        findings_add(r->findings, REASON, "%.*s", STR(buf_str(&text)));
    }
    return annotations ? *annotations : json_null();
}

static str read_namespace(struct reading *r)
{
    str namespace = text_of(r, "namespace");
    if (namespace.n == 0)
        return S(ENVIRONMENT_NAMESPACE);
    struct name_faults faults = name_check(NAME_DNS_LABEL, namespace);
    if (faults.n)
        findings_add(r->findings, REASON, "spec.namespace: \"%.*s\": %s", STR(namespace), faults.texts[0]);
    return namespace;
}

static str held_source(struct arena *a, str reference)
{
    struct oci_reference ref;
    return oci_reference_parse(reference, &ref, NULL) < 0 ? (str){0} : oci_reference_source(a, &ref);
}

void plan_install_read(struct arena *a, const struct dialect *dialect, const struct json *install,
                       struct plan_install *ret, struct findings *findings)
{
    struct reading r = {.a = a, .spec = json_get(install, S("spec")), .findings = findings};
    bool is_cluster = str_eq(object_kind(install), dialect->install[1].kind);
    str source = text_of(&r, "source");
    str held = json_get_text(json_get(install, S("status")), S("installedPackage"));
    *ret = (struct plan_install){
        .dialect = dialect,
        .is_cluster = is_cluster,
        .name = object_name(install),
        .namespace = is_cluster ? read_namespace(&r) : object_namespace(install),
        .image = read_image(&r, source),
        .source = source,
        .held_source = held_source(a, held),
        .pull_policy = read_policy(&r),
        .pull_secrets = read_secrets(&r),
        .account_annotations = read_annotations(&r),
    };
    if (!is_cluster && !str_eq(object_kind(install), dialect->install[0].kind))
        findings_add(findings, REASON, "kind: must be %.*s or %.*s, not \"%.*s\"", STR(dialect->install[0].kind),
                     STR(dialect->install[1].kind), STR(object_kind(install)));
}
