/* SPDX-License-Identifier: Apache-2.0 */
#include "api/server.h"
#include "object/status.h"

enum { CLAUSES_MAX = 64 };

struct clause {
    str type, subtype, as, group, version;
    int quality; /* in thousandths */
};

/* "0.8" → 800; anything odd counts as 1. */
static int quality_of(str s)
{
    if (s.n == 0 || (s.p[0] != '0' && s.p[0] != '1'))
        return 1000;
    int q = (s.p[0] - '0') * 1000;
    for (size_t i = 2, unit = 100; i < s.n && unit; i++, unit /= 10) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return 1000;
        q += (s.p[i] - '0') * (int)unit;
    }
    return q > 1000 ? 1000 : q;
}

static bool clause_parse(str text, struct clause *ret)
{
    *ret = (struct clause){.quality = 1000};
    str type, params;
    str_cut(text, ';', &type, &params);
    type = str_trim(type);
    if (!str_cut(type, '/', &ret->type, &ret->subtype))
        return false;
    while (params.n) {
        str param, name, value;
        str_cut(params, ';', &param, &params);
        if (!str_cut(str_trim(param), '=', &name, &value))
            continue;
        if (str_eq(name, S("q")))
            ret->quality = quality_of(value);
        else if (str_eq(name, S("as")))
            ret->as = value;
        else if (str_eq(name, S("g")))
            ret->group = value;
        else if (str_eq(name, S("v")))
            ret->version = value;
    }
    return true;
}

static bool comes_before(const struct clause *l, const struct clause *r)
{
    if (l->quality != r->quality)
        return l->quality > r->quality;
    bool l_any = str_eq(l->type, S("*")), r_any = str_eq(r->type, S("*"));
    if (l_any != r_any)
        return r_any;
    return !str_eq(l->subtype, S("*")) && str_eq(r->subtype, S("*"));
}

static size_t clauses_parse(str header, struct clause *clauses)
{
    size_t n = 0;
    while (header.n && n < CLAUSES_MAX) {
        str one;
        str_cut(header, ',', &one, &header);
        struct clause c;
        if (!clause_parse(one, &c))
            continue;
        size_t at = n++;
        for (; at > 0 && comes_before(&c, &clauses[at - 1]); at--)
            clauses[at] = clauses[at - 1];
        clauses[at] = c;
    }
    return n;
}

static bool media_of(const struct clause *c, unsigned allowed, enum media *ret)
{
    bool is_any = str_eq(c->type, S("*")) && str_eq(c->subtype, S("*"));
    bool is_ours = str_eq(c->type, S("application"));
    if (is_any || (is_ours && (str_eq(c->subtype, S("json")) || str_eq(c->subtype, S("*"))))) {
        *ret = MEDIA_JSON;
        return true;
    }
    *ret = MEDIA_YAML;
    return (allowed & ACCEPT_YAML) && is_ours && str_eq(c->subtype, S("yaml"));
}

static bool is_discovery(const struct clause *c, struct accept *ret)
{
    bool is_v2 = str_eq(c->version, S("v2"));
    if (!str_eq(c->group, S("apidiscovery.k8s.io")) || (!is_v2 && !str_eq(c->version, S("v2beta1"))))
        return false;
    ret->as = AS_DISCOVERY;
    ret->group_version = is_v2 ? S("apidiscovery.k8s.io/v2") : S("apidiscovery.k8s.io/v2beta1");
    return true;
}

static bool form_of(const struct clause *c, unsigned allowed, struct accept *ret)
{
    ret->as = AS_OBJECT;
    if (c->as.n == 0)
        return true;
    if (str_eq(c->as, S("APIGroupDiscoveryList")))
        return (allowed & ACCEPT_DISCOVERY) && is_discovery(c, ret);
    bool is_v1 = str_eq(c->version, S("v1"));
    if (!str_eq(c->group, S("meta.k8s.io")) || (!is_v1 && !str_eq(c->version, S("v1beta1"))))
        return false;
    ret->group_version = is_v1 ? S("meta.k8s.io/v1") : S("meta.k8s.io/v1beta1");
    ret->kind = c->as;
    if (str_eq(c->as, S("Table"))) {
        ret->as = AS_TABLE;
        return allowed & ACCEPT_TABLE;
    }
    ret->as = AS_METADATA;
    return (allowed & ACCEPT_METADATA) &&
           (str_eq(c->as, S("PartialObjectMetadata")) || str_eq(c->as, S("PartialObjectMetadataList")));
}

static bool is_browser(str agent)
{
    return str_has_prefix(agent, S("curl")) || str_has_prefix(agent, S("Wget")) ||
           str_has_prefix(agent, S("Mozilla/5.0"));
}

bool negotiate_is_pretty(const struct api_request *r)
{
    return query_has(&r->query, S("pretty")) ? query_true(&r->query, S("pretty"))
                                             : is_browser(http_header(r->x, S("user-agent")));
}

bool negotiate_refusal(const struct api_request *r, enum media *ret)
{
    struct clause clauses[CLAUSES_MAX];
    str header = http_header(r->x, S("accept"));
    size_t n = clauses_parse(header, clauses);
    *ret = MEDIA_JSON;
    if (header.n == 0)
        return true;
    for (size_t i = 0; i < n; i++)
        if (clauses[i].as.n == 0 && media_of(&clauses[i], ACCEPT_YAML, ret))
            return true;
    *ret = MEDIA_JSON;
    return false;
}

/* ---- Answers that nobody would take. ---- */

static const char types_of_object[] = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
static const char types_of_watch[] = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/* Kubernetes sends requests for built-in kinds through a router first. That compares types letter by letter, whatever their
 * parameters, and knows no wildcard for subtypes. */
static bool router_takes(str header)
{
    static const char *const known[] = {"*/*", "application/json", "application/yaml",
                                        "application/vnd.kubernetes.protobuf"};
    while (header.n) {
        str one, type, params;
        str_cut(header, ',', &one, &header);
        str_cut(one, ';', &type, &params);
        for (size_t i = 0; i < COUNT(known); i++)
            if (str_eq(str_trim(type), str_of(known[i])))
                return true;
    }
    return false;
}

static bool is_routed(const struct api_request *r)
{
    return r->route.kind && !(r->route.kind->flags & KIND_CUSTOM);
}

static void refuse_route(struct api_request *r)
{
    bool is_list = r->route.verb & (VERB_LIST | VERB_WATCH);
    struct json status = status_no_representation(
        r->arena, str_fmt(r->arena, "%s%s%s", types_of_object, is_list ? ", " : "", is_list ? types_of_watch : ""));
    api_refuse(r, &status);
}

static void refuse_types(struct api_request *r)
{
    enum media media;
    bool is_stream = r->route.verb == VERB_WATCH && negotiate_refusal(r, &media) && media == MEDIA_YAML;
    struct json status = status_not_acceptable(r->arena, str_of(is_stream ? types_of_watch : types_of_object));
    api_refuse(r, &status);
}

bool negotiate(struct api_request *r, unsigned allowed, struct accept *ret)
{
    struct clause clauses[CLAUSES_MAX];
    str header = http_header(r->x, S("accept"));
    size_t n = clauses_parse(header, clauses);
    *ret = (struct accept){.is_pretty = negotiate_is_pretty(r)};
    r->media = MEDIA_JSON;
    if (header.n == 0)
        return true;
    if (((allowed & ACCEPT_ROUTED) || is_routed(r)) && !router_takes(header)) {
        refuse_route(r);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (media_of(&clauses[i], allowed, &ret->media) && form_of(&clauses[i], allowed, ret)) {
            r->media = (uint8_t)ret->media;
            return true;
        }
    *ret = (struct accept){0};
    refuse_types(r);
    return false;
}

/* Here wildcards for subtypes count. */
static bool takes(const struct clause *c, str type)
{
    str main, sub;
    str_cut(type, '/', &main, &sub);
    return (str_eq(c->type, main) || str_eq(c->type, S("*"))) &&
           (str_eq(c->subtype, sub) || str_eq(c->subtype, S("*")));
}

int negotiate_type(const struct api_request *r, const char *const *types)
{
    struct clause clauses[CLAUSES_MAX];
    str header = http_header(r->x, S("accept"));
    size_t n = clauses_parse(header, clauses);
    if (header.n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        for (int t = 0; types[t]; t++)
            if (takes(&clauses[i], str_of(types[t])))
                return t;
    return -1;
}
