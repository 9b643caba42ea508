/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/crd.h"

#include "base/budget.h"
#include "base/rune.h"
#include "object/conditions.h"
#include "object/name.h"
#include "schema/crd_internal.h"
#include "schema/schema_format.h"

/* ---- Defaulting. ---- */

static bool is_absent(const struct json *v)
{
    return json_is_null(v) || (json_is_str(v) && v->n == 0);
}

/* The member as an object, created if absent. */
static struct json *object_at(struct arena *a, struct json *parent, str key)
{
    struct json *v = json_get_mut(parent, key);
    return v && v->type != JSON_NULL ? v : json_set(a, parent, key, json_obj());
}

static void default_names(struct arena *a, struct json *names)
{
    str kind = json_get_text(names, S("kind"));
    if (is_absent(json_get(names, S("singular"))) && kind.n)
        json_set(a, names, S("singular"), json_str(str_lower(a, kind)));
    if (is_absent(json_get(names, S("listKind"))) && kind.n)
        json_set(a, names, S("listKind"), json_str(str_fmt(a, "%.*sList", STR(kind))));
}

static void default_conversion(struct arena *a, struct json *spec)
{
    struct json *conversion = json_get_mut(spec, S("conversion"));
    if (json_is_null(conversion)) {
        json_set(a, spec, S("conversion"), json_build(a, "{strategy: 'None'}"));
        return;
    }
    struct json *webhook = json_get_mut(conversion, S("webhook"));
    struct json *client = json_get_mut(webhook, S("clientConfig"));
    struct json *service = json_get_mut(client, S("service"));
    if (json_is_obj(service) && json_is_null(json_get(service, S("port"))))
        json_set(a, service, S("port"), json_int(443));
}

void crd_default(struct arena *a, struct json *crd)
{
    struct json *spec = json_get_mut(crd, S("spec")), *names = json_get_mut(spec, S("names"));
    if (!json_is_obj(spec))
        return;
    if (json_is_obj(names))
        default_names(a, names);
    default_conversion(a, spec);
}

static str storage_version(const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, it)
    {
        if (json_true(json_get(it, S("storage"))))
            return json_get_text(it, S("name"));
    }
    return (str){0};
}

static void store_version(struct arena *a, struct json *crd)
{
    str name = storage_version(crd);
    if (name.n == 0)
        return;
    struct json *status = object_at(a, crd, S("status")), *stored = json_get_mut(status, S("storedVersions"));
    if (!json_is_arr(stored))
        stored = json_set(a, status, S("storedVersions"), json_arr());
    json_each_item(stored, it)
    {
        if (str_eq(json_text(it), name))
            return;
    }
    json_push(a, stored, json_str(name));
}

void crd_prepare_create(struct arena *a, struct json *crd)
{
    json_set(a, crd, S("status"),
             json_build(a, "{conditions: null, acceptedNames: {plural: '', kind: ''}, storedVersions: null}"));
    store_version(a, crd);
}

void crd_prepare_update(struct arena *a, struct json *crd, const struct json *old)
{
    const struct json *status = json_get(old, S("status"));
    if (json_is_obj(status))
        json_set(a, crd, S("status"), json_dup(a, status));
    else
        json_remove(crd, S("status"));
    store_version(a, crd);
}

/* Paths are formatted only if the error is kept. */
static void add(struct field_errors *errs, enum field_error_type type, const struct step *at, str value, str text)
{
    struct buf place = {.arena = errs->arena};
    if (!field_errors_full(errs))
        schema_path_format(&place, at, true);
    field_error_add(errs, type, buf_str(&place), value, "%.*s", STR(text));
}

void crd_required(struct field_errors *errs, const struct step *at, const char *text)
{
    add(errs, FIELD_REQUIRED, at, (str){0}, str_of(text));
}

void crd_forbidden(struct field_errors *errs, const struct step *at, const char *text)
{
    add(errs, FIELD_FORBIDDEN, at, (str){0}, str_of(text));
}

void crd_invalid(struct field_errors *errs, const struct step *at, str value, const char *text)
{
    add(errs, FIELD_INVALID, at, value, str_of(text));
}

void crd_invalid_text(struct field_errors *errs, const struct step *at, str value, const char *text)
{
    struct buf quoted = {.arena = errs->arena};
    buf_add_quoted(&quoted, value);
    crd_invalid(errs, at, buf_str(&quoted), text);
}

void crd_unsupported(struct field_errors *errs, const struct step *at, str value, const char *names)
{
    struct buf quoted = {.arena = errs->arena}, list = {.arena = errs->arena};
    buf_add_quoted(&quoted, value);
    str rest = str_of(names), name;
    const char *before = "supported values: ";
    for (; rest.n; before = ", ") {
        str_cut(rest, ' ', &name, &rest);
        buf_fmt(&list, "%s\"%.*s\"", before, STR(name));
    }
    add(errs, FIELD_NOT_SUPPORTED, at, buf_str(&quoted), buf_str(&list));
}

/* The value must be there and among the names. */
static void crd_check_choice(struct field_errors *errs, const struct step *at, str value, const char *names)
{
    str rest = str_of(names), name;
    if (value.n == 0) {
        crd_required(errs, at, "");
        return;
    }
    while (rest.n) {
        str_cut(rest, ' ', &name, &rest);
        if (str_eq(name, value))
            return;
    }
    crd_unsupported(errs, at, value, names);
}

str crd_strings(struct arena *a, const struct json *list)
{
    struct buf b = {.arena = a};
    if (json_len(list) == 0)
        return S("[]string(nil)");
    buf_add_str(&b, S("[]string{"));
    json_each_item(list, it)
    {
        if (it != list->items)
            buf_add_str(&b, S(", "));
        buf_add_quoted(&b, json_text(it));
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}

/* How objects get from one version to another: by None, or by a webhook that can be reached. Places are named as
 * upstream does inside: webhookClientConfig and conversionReviewVersions are next to the strategy. */

static void check_webhook_url(struct field_errors *errs, const struct step *at, str url)
{
    static const char form[] = "; desired format: https://host[/path]";
    struct arena *a = errs->arena;
    struct uri uri;
    str plain, fragment;
    bool has_fragment = str_cut(url, '#', &plain, &fragment);
    if (!uri_parse(plain, &uri) && plain.n) {
        crd_required(errs, at,
                     str_cstr(a, str_fmt(a, "url must be a valid URL: parse \"%.*s\": invalid%s", STR(url), form)));
        return;
    }
    if (!str_eq(uri.scheme, S("https")))
        crd_invalid_text(errs, at, uri.scheme,
                         str_cstr(a, str_fmt(a, "'https' is the only allowed URL scheme%s", form)));
    if (uri.host.n == 0)
        crd_invalid_text(errs, at, uri.host, str_cstr(a, str_fmt(a, "host must be specified%s", form)));
    if (uri.has_user)
        crd_invalid_text(errs, at, uri.user, "user information is not permitted in the URL");
    if (has_fragment && fragment.n)
        crd_invalid_text(errs, at, fragment, "fragments are not permitted in the URL");
    if (uri.query.n)
        crd_invalid_text(errs, at, uri.query, "query parameters are not permitted in the URL");
}

static void check_webhook_path(struct field_errors *errs, const struct step *at, str path)
{
    struct arena *a = errs->arena;
    if (path.n == 0 || str_eq(path, S("/")))
        return;
    if (path.p[0] != '/')
        crd_invalid_text(errs, at, path, "must start with a '/'");
    str rest = str_from(path, 1), segment;
    if (str_has_suffix(rest, S("/")))
        rest.n--;
    bool more = true;
    for (size_t i = 0; more; i++) {
        more = str_cut(rest, '/', &segment, &rest);
        struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, segment);
        if (segment.n == 0)
            crd_invalid_text(errs, at, path, str_cstr(a, str_fmt(a, "segment[%zu] may not be empty", i)));
        for (size_t f = 0; segment.n && f < faults.n; f++)
            crd_invalid_text(errs, at, path, str_cstr(a, str_fmt(a, "segment[%zu]: %s", i, faults.texts[f])));
    }
}

static void check_webhook_service(struct field_errors *errs, const struct step *at, const struct json *service)
{
    int64_t port = 0;
    /* Upstream hands over name and namespace the wrong way round; so the messages are. */
    if (json_get_text(service, S("namespace")).n == 0)
        crd_required(errs, AT(at, S("name")), "service name is required");
    if (json_get_text(service, S("name")).n == 0)
        crd_required(errs, AT(at, S("namespace")), "service namespace is required");
    (void)json_to_int(json_get(service, S("port")), &port);
    if (port < 1 || port > 65535)
        crd_invalid(errs, AT(at, S("port")), str_fmt(errs->arena, "%lld", (long long)port),
                    "port is not valid: must be between 1 and 65535, inclusive");
    check_webhook_path(errs, AT(at, S("path")), json_get_text(service, S("path")));
}

static void check_webhook_client(struct field_errors *errs, const struct step *at, const struct json *client)
{
    const struct json *url = json_get(client, S("url")), *service = json_get(client, S("service"));
    if (!json_is_obj(client)) {
        crd_required(errs, at, "required when strategy is set to Webhook");
        return;
    }
    if (json_is_null(url) == json_is_null(service))
        crd_required(errs, at, "exactly one of url or service is required");
    else if (!json_is_null(url))
        check_webhook_url(errs, AT(at, S("url")), json_text(url));
    else
        check_webhook_service(errs, AT(at, S("service")), service);
}

static void check_review_versions(struct field_errors *errs, const struct step *at, const struct json *versions)
{
    bool accepted = false;
    if (json_len(versions) == 0) {
        crd_required(errs, at, "");
        return;
    }
    for (uint32_t i = 0; i < versions->n && i < CRD_MAX_VERSIONS; i++) {
        str v = json_text(&versions->items[i]);
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again = again || str_eq(json_text(&versions->items[k]), v);
        struct name_faults faults = name_check(NAME_DNS1035_LABEL, v);
        if (again)
            crd_invalid_text(errs, AT_ITEM(at, i), v, "duplicate version");
        for (size_t f = 0; !again && f < faults.n; f++)
            crd_invalid_text(errs, AT_ITEM(at, i), v, faults.texts[f]);
        accepted = accepted || str_eq(v, S("v1")) || str_eq(v, S("v1beta1"));
    }
    if (!accepted)
        crd_invalid(errs, at, crd_strings(errs->arena, versions), "must include at least one of v1, v1beta1");
}

static void crd_check_conversion(struct field_errors *errs, const struct json *spec, const struct step *at)
{
    const struct json *conversion = json_get(spec, S("conversion")), *webhook = json_get(conversion, S("webhook"));
    const struct step *client = AT(at, S("webhookClientConfig")), *reviews = AT(at, S("conversionReviewVersions"));
    str strategy = json_get_text(conversion, S("strategy"));
    if (json_is_null(conversion))
        return;
    if (json_true(json_get(spec, S("preserveUnknownFields"))) && !str_eq(strategy, S("None")))
        crd_invalid_text(errs, AT(at, S("strategy")), strategy, "must be None if spec.preserveUnknownFields is true");
    crd_check_choice(errs, AT(at, S("strategy")), strategy, "None Webhook");
    if (str_eq(strategy, S("Webhook"))) {
        check_webhook_client(errs, client, json_get(webhook, S("clientConfig")));
        check_review_versions(errs, reviews, json_get(webhook, S("conversionReviewVersions")));
        return;
    }
    if (json_is_obj(json_get(webhook, S("clientConfig"))))
        crd_forbidden(errs, client, "should not be set when strategy is not set to Webhook");
    if (json_len(json_get(webhook, S("conversionReviewVersions"))))
        crd_forbidden(errs, reviews, "should not be set when strategy is not set to Webhook");
}

/* The check of a CustomResourceDefinition, in the order of the API server. */

/* One CRD as upstream sees it: what all versions share is moved to the top. */
struct crd {
    struct field_errors *errs;
    const struct json *spec, *versions;
    const struct step *at; /* spec */
    bool shares_schema, shares_subresources, shares_columns, shares_fields;
};

static bool is_empty(const struct json *v)
{
    return json_is_null(v) || (v->type >= JSON_ARR && v->n == 0 && v->type == JSON_ARR);
}

/* Whether all versions have the same value there; none at all is the same, too. */
static bool shares(const struct json *versions, str key)
{
    const struct json *first = json_len(versions) ? json_get(&versions->items[0], key) : NULL;
    json_each_item(versions, it)
    {
        const struct json *v = json_get(it, key);
        if (is_empty(v) != is_empty(first) || (!is_empty(v) && !json_equal(v, first)))
            return false;
    }
    return true;
}

static str joined(struct arena *a, const struct name_faults *faults)
{
    struct buf b = {.arena = a};
    name_faults_format(&b, faults, S(","));
    return buf_str(&b);
}

static void check_label(struct field_errors *errs, const struct step *at, str name)
{
    struct name_faults faults = name_check(NAME_DNS1035_LABEL, name);
    if (faults.n)
        crd_invalid_text(errs, at, name, str_cstr(errs->arena, joined(errs->arena, &faults)));
}

/* ---- Names ---- */

static void check_mixed_case(struct field_errors *errs, const struct step *at, str name)
{
    struct arena *a = errs->arena;
    struct name_faults faults = name_check(NAME_DNS1035_LABEL, str_lower(a, name));
    if (name.n == 0 || faults.n == 0)
        return;
    str text = str_fmt(a, "may have mixed case, but should otherwise match: %.*s", STR(joined(a, &faults)));
    crd_invalid_text(errs, at, name, str_cstr(a, text));
}

static void check_names(struct field_errors *errs, const struct json *names, const struct step *at)
{
    str plural = json_get_text(names, S("plural")), singular = json_get_text(names, S("singular"));
    str kind = json_get_text(names, S("kind")), list_kind = json_get_text(names, S("listKind"));
    const struct json *shorts = json_get(names, S("shortNames")), *categories = json_get(names, S("categories"));
    if (plural.n)
        check_label(errs, AT(at, S("plural")), plural);
    if (singular.n)
        check_label(errs, AT(at, S("singular")), singular);
    check_mixed_case(errs, AT(at, S("kind")), kind);
    check_mixed_case(errs, AT(at, S("listKind")), list_kind);
    for (uint32_t i = 0; json_is_arr(shorts) && i < shorts->n; i++)
        check_label(errs, AT_ITEM(AT(at, S("shortNames")), i), json_text(&shorts->items[i]));
    if (kind.n && str_eq(kind, list_kind))
        crd_invalid_text(errs, AT(at, S("listKind")), list_kind, "kind and listKind may not be the same");
    for (uint32_t i = 0; json_is_arr(categories) && i < categories->n; i++)
        check_label(errs, AT_ITEM(AT(at, S("categories")), i), json_text(&categories->items[i]));
}

static void check_group(const struct crd *c)
{
    struct arena *a = c->errs->arena;
    str group = json_get_text(c->spec, S("group"));
    const struct step *at = AT(c->at, S("group"));
    struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, group);
    if (group.n == 0)
        crd_required(c->errs, at, "");
    else if (faults.n)
        crd_invalid_text(c->errs, at, group, str_cstr(a, joined(a, &faults)));
    else if (str_find_char(group, '.') < 0)
        crd_invalid_text(c->errs, at, group, "should be a domain with at least one dot");
}

/* ---- Columns and subresources ---- */

static void check_column(struct field_errors *errs, const struct json *column, const struct step *at)
{
    static const char types[] = "must be one of boolean,date,integer,number,string";
    static const char formats[] = "must be one of byte,date,date-time,double,float,int32,int64,password";
    str type = json_get_text(column, S("type")), format = json_get_text(column, S("format"));
    str path = json_get_text(column, S("jsonPath"));
    str wrapped = str_fmt(errs->arena, ",%.*s,", STR(type)),
        wrapped_format = str_fmt(errs->arena, ",%.*s,", STR(format));
    if (json_get_text(column, S("name")).n == 0)
        crd_required(errs, AT(at, S("name")), "");
    if (type.n == 0)
        crd_required(errs, AT(at, S("type")), types);
    else if (str_find(S(",boolean,date,integer,number,string,"), wrapped) < 0)
        crd_invalid_text(errs, AT(at, S("type")), type, types);
    if (format.n && str_find(S(",byte,date,date-time,double,float,int32,int64,password,"), wrapped_format) < 0)
        crd_invalid_text(errs, AT(at, S("format")), format, formats);
    if (path.n == 0)
        crd_required(errs, AT(at, S("JSONPath")), "");
    else
        crd_check_json_path(errs, AT(at, S("JSONPath")), path);
}

static void check_columns(struct field_errors *errs, const struct json *columns, const struct step *at)
{
    for (uint32_t i = 0; json_is_arr(columns) && i < columns->n; i++)
        check_column(errs, &columns->items[i], AT_ITEM(at, i));
}

static void check_scale_path(struct field_errors *errs, const struct step *at, str path, const char *under,
                             const char *text)
{
    if (path.p[0] != '.')
        crd_check_json_path(errs, at, path);
    else if (!str_has_prefix(path, str_of(under)))
        crd_invalid_text(errs, at, path, text);
}

static void check_subresources(struct field_errors *errs, const struct json *subresources, const struct step *path)
{
    const struct json *scale = json_get(subresources, S("scale"));
    const struct step *at = AT(path, S("scale"));
    str spec = json_get_text(scale, S("specReplicasPath")), status = json_get_text(scale, S("statusReplicasPath"));
    str labels = json_get_text(scale, S("labelSelectorPath"));
    if (!json_is_obj(scale))
        return;
    if (spec.n == 0)
        crd_required(errs, AT(at, S("specReplicasPath")), "");
    else
        check_scale_path(errs, AT(at, S("specReplicasPath")), spec, ".spec.", "should be a json path under .spec");
    if (status.n == 0)
        crd_required(errs, AT(at, S("statusReplicasPath")), "");
    else
        check_scale_path(errs, AT(at, S("statusReplicasPath")), status, ".status.",
                         "should be a json path under .status");
    if (labels.n && !str_has_prefix(labels, S(".spec.")))
        check_scale_path(errs, AT(at, S("labelSelectorPath")), labels, ".status.",
                         "should be a json path under either .spec or .status");
}

/* ---- Versions ---- */

static void check_deprecation(struct field_errors *errs, const struct json *version, const struct step *at)
{
    const struct json *warning = json_get(version, S("deprecationWarning"));
    str text = json_text(warning);
    if (json_is_null(warning))
        return;
    if (!json_true(json_get(version, S("deprecated")))) {
        crd_invalid_text(errs, at, text, "can only be set for deprecated versions");
        return;
    }
    if (text.n > 256)
        crd_invalid_text(errs, at, text, "must be <= 256 characters long");
    if (text.n == 0)
        crd_invalid_text(errs, at, text, "must not be an empty string");
    for (str rest = text; rest.n;) {
        size_t i = text.n - rest.n;
        if (rune_is_print(rune_next(&rest)))
            continue;
        str why = str_fmt(
            errs->arena, "must only contain printable UTF-8 characters; non-printable character found at index %zu", i);
        crd_invalid_text(errs, at, text, str_cstr(errs->arena, why));
        break;
    }
}

static bool has_status(const struct json *subresources)
{
    return json_is_obj(json_get(subresources, S("status")));
}

static void check_version(const struct crd *c, const struct json *version, const struct step *at)
{
    const struct json *schema = json_get(json_get(version, S("schema")), S("openAPIV3Schema"));
    const struct json *subresources = json_get(version, S("subresources"));
    const struct json *fields = json_get(version, S("selectableFields"));
    check_label(c->errs, AT(at, S("name")), json_get_text(version, S("name")));
    check_deprecation(c->errs, version, AT(at, S("deprecationWarning")));
    if (!c->shares_schema && json_is_obj(schema))
        crd_check_schema(&(struct crd_schema){c->errs, has_status(subresources)}, schema,
                         AT(AT(at, S("schema")), S("openAPIV3Schema")));
    if (!c->shares_subresources)
        check_subresources(c->errs, subresources, AT(at, S("subresources")));
    if (!c->shares_columns)
        check_columns(c->errs, json_get(version, S("additionalPrinterColumns")), AT(at, S("additionalPrinterColumns")));
    if (c->shares_fields || json_len(fields) == 0)
        return;
    if (c->shares_schema || !json_is_obj(schema))
        crd_invalid_text(c->errs, AT(at, S("selectableFields")), (str){0},
                         "selectableFields may only be set when version.schema.openAPIV3Schema is not included");
    else
        crd_check_selectable(c->errs, fields, schema, AT(at, S("selectableFields")));
}

/* The versions as Go prints them; what hides behind pointers is shown as nil. */
static str versions_value(const struct crd *c)
{
    struct buf b = {.arena = c->errs->arena};
    buf_add_str(&b, S("[]apiextensions.CustomResourceDefinitionVersion{"));
    for (uint32_t i = 0; c->versions && i < c->versions->n; i++) {
        const struct json *v = &c->versions->items[i];
        buf_fmt(&b, "%sapiextensions.CustomResourceDefinitionVersion{Name:", i ? ", " : "");
        buf_add_quoted(&b, json_get_text(v, S("name")));
        buf_fmt(&b, ", Served:%s, Storage:%s, Deprecated:%s, ", json_true(json_get(v, S("served"))) ? "true" : "false",
                json_true(json_get(v, S("storage"))) ? "true" : "false",
                json_true(json_get(v, S("deprecated"))) ? "true" : "false");
        buf_add_str(&b, S("DeprecationWarning:(*string)(nil), Schema:(*apiextensions.CustomResourceValidation)(nil), "
                          "Subresources:(*apiextensions.CustomResourceSubresources)(nil), "
                          "AdditionalPrinterColumns:[]apiextensions.CustomResourceColumnDefinition(nil), "
                          "SelectableFields:[]apiextensions.SelectableField(nil)}"));
    }
    buf_add_char(&b, '}');
    return c->versions ? buf_str(&b) : S("[]apiextensions.CustomResourceDefinitionVersion(nil)");
}

static bool has_name_twice(const struct json *versions)
{
    uint32_t n = (uint32_t)json_len(versions);
    for (uint32_t i = 1; versions && i < n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (str_eq(json_get_text(&versions->items[i], S("name")), json_get_text(&versions->items[k], S("name"))))
                return true;
        }
    }
    return false;
}

static void check_versions(const struct crd *c)
{
    const struct step *at = AT(c->at, S("versions"));
    uint32_t storage = 0;
    for (uint32_t i = 0; i < json_len(c->versions) && i < CRD_MAX_VERSIONS; i++) {
        storage += json_true(json_get(&c->versions->items[i], S("storage")));
        check_version(c, &c->versions->items[i], AT_ITEM(at, i));
    }
    if (json_len(c->versions) > CRD_MAX_VERSIONS) {
        crd_invalid(c->errs, at, (str){0}, "too many versions");
        return;
    }
    if (has_name_twice(c->versions))
        crd_invalid(c->errs, at, versions_value(c), "must contain unique version names");
    if (storage != 1)
        crd_invalid(c->errs, at, versions_value(c), "must have exactly one version marked as storage version");
    if (json_len(c->versions)) /* upstream copies the first name to the field of old */
        check_label(c->errs, AT(c->at, S("version")), json_get_text(&c->versions->items[0], S("name")));
}

static void check_schemas_given(const struct crd *c)
{
    for (uint32_t i = 0; i < json_len(c->versions) && i < CRD_MAX_VERSIONS; i++) {
        const struct json *schema = json_get(&c->versions->items[i], S("schema"));
        const struct step *at = AT(AT_ITEM(AT(c->at, S("versions")), i), S("schema"));
        if (!json_is_obj(json_get(schema, S("openAPIV3Schema"))))
            crd_required(c->errs, AT(at, S("openAPIV3Schema")), "schemas are required");
    }
}

/* What the versions share. */
static void check_shared(const struct crd *c)
{
    const struct json *first = json_len(c->versions) ? &c->versions->items[0] : NULL;
    const struct json *schema = json_get(json_get(first, S("schema")), S("openAPIV3Schema"));
    const struct json *fields = json_get(first, S("selectableFields"));
    bool status = false;
    json_each_item(c->versions, it) status = status || has_status(json_get(it, S("subresources")));
    if (c->shares_schema && json_is_obj(schema))
        crd_check_schema(&(struct crd_schema){c->errs, status}, schema,
                         AT(AT(c->at, S("validation")), S("openAPIV3Schema")));
    if (c->shares_subresources)
        check_subresources(c->errs, json_get(first, S("subresources")), AT(c->at, S("subresources")));
    if (c->shares_columns)
        check_columns(c->errs, json_get(first, S("additionalPrinterColumns")),
                      AT(c->at, S("additionalPrinterColumns")));
    if (!c->shares_fields || json_len(fields) == 0)
        return;
    if (!c->shares_schema || !json_is_obj(schema))
        crd_invalid_text(c->errs, AT(c->at, S("selectableFields")), (str){0},
                         "selectableFields may only be set when validations.schema is included");
    else
        crd_check_selectable(c->errs, fields, schema, AT(c->at, S("selectableFields")));
}

/* ---- The whole ---- */

static bool has_default(const struct json *schema)
{
    budget_charge(5);
    struct keywords kw;
    keywords_read(schema, &kw);
    bool found = kw.at[KW_DEFAULT] != NULL;
    for (int k = 0; k < KW_COUNT && !found; k++) {
        const struct json *v = kw.at[k];
        if (v == NULL)
            continue;
        enum keyword_form form = keyword_form(k);
        bool one = form == FORM_SCHEMA || form == FORM_SCHEMA_OR_BOOL || form == FORM_SCHEMA_OR_LIST;
        if (one && json_is_obj(v))
            found = has_default(v);
        for (uint32_t i = 0; form == FORM_SCHEMAS && json_is_arr(v) && i < v->n && !found; i++)
            found = has_default(&v->items[i]);
        for (uint32_t i = 0; form == FORM_NAMED && json_is_obj(v) && i < v->n && !found; i++)
            found = has_default(&v->members[i].val);
    }
    return found;
}

static void check_spec(const struct crd *c)
{
    static const char *const names[] = {"plural", "singular", "kind", "listKind"};
    const struct json *given = json_get(c->spec, S("names"));
    const struct step *at = AT(c->at, S("names"));
    bool defaults = false;
    check_group(c);
    crd_check_choice(c->errs, AT(c->at, S("scope")), json_get_text(c->spec, S("scope")), "Cluster Namespaced");
    check_schemas_given(c);
    if (json_true(json_get(c->spec, S("preserveUnknownFields"))))
        json_each_item(c->versions, it) defaults =
            defaults || has_default(json_get(json_get(it, S("schema")), S("openAPIV3Schema")));
    if (defaults)
        crd_invalid(c->errs, AT(c->at, S("preserveUnknownFields")), S("true"),
                    "must be false in order to use defaults in the schema");
    check_versions(c);
    for (size_t i = 0; i < COUNT(names); i++) {
        if (json_get_text(given, str_of(names[i])).n == 0)
            crd_required(c->errs, AT(at, str_of(names[i])), "");
    }
    check_names(c->errs, given, at);
    check_shared(c);
    crd_check_conversion(c->errs, c->spec, AT(c->at, S("conversion")));
}

static void check_stored(struct field_errors *errs, const struct json *crd)
{
    const struct json *stored = json_dig(crd, "status.storedVersions"), *versions = json_dig(crd, "spec.versions");
    const struct step *at = AT(AT(NULL, S("status")), S("storedVersions"));
    if (json_len(stored) == 0) {
        crd_invalid(errs, at, S("[]string(nil)"), "must have at least one stored version");
        return;
    }
    for (uint32_t i = 0; i < json_len(versions) && i < CRD_MAX_VERSIONS; i++) {
        const struct json *version = &versions->items[i];
        str name = json_get_text(version, S("name"));
        bool found = false;
        json_each_item(stored, it) found = found || str_eq(json_text(it), name);
        if (json_true(json_get(version, S("storage"))) && !found)
            crd_invalid(errs, at, crd_strings(errs->arena, stored),
                        str_cstr(errs->arena, str_fmt(errs->arena, "must have the storage version %.*s", STR(name))));
    }
    for (uint32_t i = 0; i < stored->n && i < CRD_MAX_VERSIONS; i++) {
        str name = json_text(&stored->items[i]);
        bool found = false;
        json_each_item(versions, it) found = found || str_eq(json_get_text(it, S("name")), name);
        if (!found)
            crd_invalid_text(errs, AT_ITEM(at, i), name, "must appear in spec.versions");
    }
}

void crd_validate_status(struct field_errors *errs, const struct json *crd)
{
    check_names(errs, json_dig(crd, "status.acceptedNames"), AT(AT(NULL, S("status")), S("acceptedNames")));
}

/* ---- Groups of the Kubernetes community need an approval ---- */

enum approval { APPROVAL_INVALID, APPROVED, APPROVAL_BYPASSED, APPROVAL_MISSING };

static const char approval_annotation[] = "api-approved.kubernetes.io";

static enum approval approval_of(const struct json *crd)
{
    str text = json_get_text(json_dig(crd, "metadata.annotations"), str_of(approval_annotation));
    struct uri uri;
    if (text.n == 0)
        return APPROVAL_MISSING;
    if (str_has_prefix(text, S("unapproved")))
        return APPROVAL_BYPASSED;
    return uri_parse(text, &uri) && uri.host.n && uri.scheme.n ? APPROVED : APPROVAL_INVALID;
}

static bool is_community_group(str group)
{
    return str_eq(group, S("k8s.io")) || str_has_suffix(group, S(".k8s.io")) || str_eq(group, S("kubernetes.io")) ||
           str_has_suffix(group, S(".kubernetes.io"));
}

static void check_approval(struct field_errors *errs, const struct json *crd, const struct json *old)
{
    enum approval now = approval_of(crd);
    if (!is_community_group(json_get_text(json_get(crd, S("spec")), S("group"))) || (old && approval_of(old) == now))
        return;
    const struct step *at = AT_KEY(AT(AT(NULL, S("metadata")), S("annotations")), str_of(approval_annotation));
    str text = json_get_text(json_dig(crd, "metadata.annotations"), str_of(approval_annotation));
    if (now == APPROVAL_MISSING)
        crd_required(errs, at,
                     "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
                     "https://github.com/kubernetes/enhancements/pull/1111");
    else if (now == APPROVAL_INVALID)
        crd_invalid_text(errs, at, text,
                         "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a "
                         "URL or a reason starting with \"unapproved\", see "
                         "https://github.com/kubernetes/enhancements/pull/1111");
}

static void check_name(struct field_errors *errs, const struct json *crd)
{
    const struct json *spec = json_get(crd, S("spec"));
    str name = json_get_text(json_get(crd, S("metadata")), S("name"));
    str want = str_fmt(errs->arena, "%.*s.%.*s", STR(json_get_text(json_get(spec, S("names")), S("plural"))),
                       STR(json_get_text(spec, S("group"))));
    str base = json_get_text(json_get(crd, S("metadata")), S("generateName"));
    if (base.n && !str_eq(base, want))
        crd_invalid_text(errs, AT(AT(NULL, S("metadata")), S("generateName")), base,
                         "must be spec.names.plural+\".\"+spec.group");
    if (name.n && !str_eq(name, want))
        crd_invalid_text(errs, AT(AT(NULL, S("metadata")), S("name")), name,
                         "must be spec.names.plural+\".\"+spec.group");
}

static void check_all(struct field_errors *errs, const struct json *crd)
{
    const struct json *spec = json_get(crd, S("spec")), *versions = json_get(spec, S("versions"));
    struct crd c = {
        .errs = errs,
        .spec = spec,
        .versions = json_is_arr(versions) ? versions : NULL,
        .at = AT(NULL, S("spec")),
        .shares_schema = shares(versions, S("schema")),
        .shares_subresources = shares(versions, S("subresources")),
        .shares_columns = shares(versions, S("additionalPrinterColumns")),
        .shares_fields = shares(versions, S("selectableFields")),
    };
    check_spec(&c);
}

static void check_rest(struct field_errors *errs, const struct json *crd, const struct json *old)
{
    crd_validate_status(errs, crd);
    check_stored(errs, crd);
    check_approval(errs, crd, old);
    if (json_true(json_get(json_get(crd, S("spec")), S("preserveUnknownFields"))) &&
        !json_true(json_get(json_get(old, S("spec")), S("preserveUnknownFields"))))
        crd_invalid(errs, AT(AT(NULL, S("spec")), S("preserveUnknownFields")), S("true"),
                    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema "
                    "instead");
}

void crd_validate(struct field_errors *errs, const struct json *crd)
{
    check_name(errs, crd);
    check_all(errs, crd);
    check_rest(errs, crd, NULL);
}

static void check_immutable(struct field_errors *errs, const struct json *crd, const struct json *old, const char *path)
{
    str full = str_fmt(errs->arena, "spec.%s", path);
    const struct json *now = json_dig(crd, str_cstr(errs->arena, full));
    const struct json *was = json_dig(old, str_cstr(errs->arena, full));
    if (json_equal(now, was))
        return;
    struct buf quoted = {.arena = errs->arena};
    buf_add_quoted(&quoted, json_text(now));
    field_error_add(errs, FIELD_INVALID, full, buf_str(&quoted), "field is immutable");
}

void crd_validate_update(struct field_errors *errs, const struct json *crd, const struct json *old)
{
    check_all(errs, crd);
    if (condition_is(old, S("Established"), S("True"))) {
        check_immutable(errs, crd, old, "scope");
        check_immutable(errs, crd, old, "names.kind");
    }
    check_immutable(errs, crd, old, "group");
    check_immutable(errs, crd, old, "names.plural");
    check_rest(errs, crd, old);
}
