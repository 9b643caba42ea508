/* SPDX-License-Identifier: Apache-2.0 */
/* How objects get from one version to another: by None, or by a webhook that can be reached. Places are named as upstream
 * does inside: webhookClientConfig and conversionReviewVersions stand beside the strategy. */
#include "object/name.h"
#include "schema/crd_check.h"
#include "schema/schema_format.h"

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

void crd_check_conversion(struct field_errors *errs, const struct json *spec, const struct step *at)
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
