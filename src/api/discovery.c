/* SPDX-License-Identifier: Apache-2.0 */
#include "api/discovery.h"
#include "api/discovery_render.h"
#include "kinds/strategy.h"
#include "object/status.h"
#include "json/base64.h"
#include "json/yaml.h"

#include <openssl/evp.h>
#include <stdlib.h>

/* ==== The documents as text ==== */

/* ---- Pieces. ---- */

/* Names of groups, kinds and the like hold nothing that JSON escapes, but those of CRDs were written by others. */
static void add_text(struct buf *b, const char *text)
{
    json_encode_str(b, str_of(text));
}

#define add_lit(b, lit) buf_add((b), (lit), sizeof(lit) - 1)

/* ,"shortNames":["cm"]; nothing when there are none. */
static void add_list(struct buf *b, str name, const char *const *texts)
{
    if (!texts || !texts[0])
        return;
    buf_add_char(b, ',');
    json_encode_str(b, name);
    add_lit(b, ":[");
    for (size_t i = 0; texts[i]; i++) {
        if (i)
            buf_add_char(b, ',');
        add_text(b, texts[i]);
    }
    buf_add_char(b, ']');
}

/* Built-in kinds tell their verbs by name. Custom resources have an order of their own: nobody knows why, many have seen it. */
static const unsigned verbs_by_name[] = {VERB_CREATE, VERB_DELETE, VERB_DELETECOLLECTION, VERB_GET,
                                         VERB_LIST,   VERB_PATCH,  VERB_UPDATE,           VERB_WATCH};
static const unsigned verbs_of_custom[] = {VERB_DELETE, VERB_DELETECOLLECTION, VERB_GET,    VERB_LIST,
                                           VERB_PATCH,  VERB_CREATE,           VERB_UPDATE, VERB_WATCH};

static void add_verbs(struct buf *b, const struct kind *k, unsigned verbs)
{
    const unsigned *order = k->flags & KIND_CUSTOM ? verbs_of_custom : verbs_by_name;
    size_t told = 0;
    add_lit(b, ",\"verbs\":[");
    for (size_t i = 0; i < COUNT(verbs_by_name); i++) {
        if (!(verbs & order[i]))
            continue;
        if (told++)
            buf_add_char(b, ',');
        add_text(b, verb_name(order[i]));
    }
    buf_add_char(b, ']');
}

/* The i-th subresource to be told: by name, but for custom resources status first. */
static const struct kind_subresource *subresource_at(const struct kind *k, size_t i)
{
    return &k->subresources[k->flags & KIND_CUSTOM ? k->n_subresources - 1 - i : i];
}

/* ---- Aggregated. ---- */

/* What the answers of a resource are. For built-in kinds, empty group and version mean: those around it. */
static void add_response_kind(struct buf *b, const struct kind *k, const struct kind_subresource *sub)
{
    bool is_own = !sub || !sub->kind, is_custom = k->flags & KIND_CUSTOM;
    const char *group = sub && sub->group ? sub->group : is_custom ? k->group : "";
    const char *version = sub && sub->version ? sub->version : is_custom ? k->version : "";
    add_lit(b, "\"responseKind\":{\"group\":");
    add_text(b, group);
    add_lit(b, ",\"version\":");
    add_text(b, version);
    add_lit(b, ",\"kind\":");
    add_text(b, is_own ? k->kind : sub->kind);
    buf_add_char(b, '}');
}

static void add_subresources(struct buf *b, const struct kind *k)
{
    if (k->n_subresources == 0)
        return;
    add_lit(b, ",\"subresources\":[");
    for (size_t i = 0; i < k->n_subresources; i++) {
        const struct kind_subresource *sub = subresource_at(k, i);
        if (i)
            buf_add_char(b, ',');
        add_lit(b, "{\"subresource\":");
        add_text(b, sub->name);
        buf_add_char(b, ',');
        add_response_kind(b, k, sub);
        add_verbs(b, k, sub->verbs);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

static void add_resource(struct buf *b, const struct kind *k)
{
    add_lit(b, "{\"resource\":");
    add_text(b, k->plural);
    buf_add_char(b, ',');
    add_response_kind(b, k, NULL);
    add_lit(b, ",\"scope\":");
    add_text(b, k->namespaced ? "Namespaced" : "Cluster");
    add_lit(b, ",\"singularResource\":");
    add_text(b, k->singular);
    add_verbs(b, k, k->verbs);
    add_list(b, S("shortNames"), k->short_names);
    add_list(b, S("categories"), k->categories);
    add_subresources(b, k);
    buf_add_char(b, '}');
}

static void add_group(struct buf *b, const struct registry_group *g)
{
    add_lit(b, "{\"metadata\":{");
    if (g->name[0]) {
        add_lit(b, "\"name\":");
        add_text(b, g->name);
        buf_add_char(b, ',');
    }
    add_lit(b, "\"creationTimestamp\":null},\"versions\":[");
    for (size_t v = 0; v < g->n; v++) {
        if (v)
            buf_add_char(b, ',');
        add_lit(b, "{\"version\":");
        add_text(b, g->versions[v].version);
        add_lit(b, ",\"resources\":[");
        for (size_t i = 0; i < g->versions[v].n; i++) {
            if (i)
                buf_add_char(b, ',');
            add_resource(b, g->versions[v].kinds[i]);
        }
        add_lit(b, "],\"freshness\":\"Current\"}");
    }
    add_lit(b, "]}");
}

void discovery_render_aggregated(struct buf *b, struct discovery_groups groups, bool is_core, str version)
{
    size_t told = 0;
    add_lit(b, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/");
    buf_add_str(b, version);
    add_lit(b, "\",\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < groups.n; i++) {
        if (!groups.p[i].name[0] != is_core)
            continue;
        if (told++)
            buf_add_char(b, ',');
        add_group(b, &groups.p[i]);
    }
    add_lit(b, "]}\n");
}

/* ---- Old. ---- */

const struct registry_group *discovery_find_group(struct discovery_groups groups, str name)
{
    for (size_t i = 0; i < groups.n; i++)
        if (str_eq(name, str_of(groups.p[i].name)))
            return &groups.p[i];
    return NULL;
}

const struct registry_version *discovery_find_version(const struct registry_group *g, str version)
{
    for (size_t i = 0; g && i < g->n; i++)
        if (str_eq(version, str_of(g->versions[i].version)))
            return &g->versions[i];
    return NULL;
}

void discovery_render_core(struct buf *b, struct discovery_groups groups, str address)
{
    const struct registry_group *core = discovery_find_group(groups, S(""));
    add_lit(b, "{\"kind\":\"APIVersions\",\"versions\":[");
    for (size_t i = 0; core && i < core->n; i++) {
        if (i)
            buf_add_char(b, ',');
        add_text(b, core->versions[i].version);
    }
    add_lit(b, "],\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":");
    json_encode_str(b, address);
    add_lit(b, "}]}\n");
}

/* {"groupVersion":"apps/v1","version":"v1"} */
static void add_version(struct buf *b, const struct registry_group *g, const struct registry_version *v)
{
    buf_fmt(b, "{\"groupVersion\":\"%s/%s\",\"version\":\"%s\"}", g->name, v->version, v->version);
}

/* "name":"apps","versions":[…],"preferredVersion":… */
static void add_versions(struct buf *b, const struct registry_group *g)
{
    add_lit(b, "\"name\":");
    add_text(b, g->name);
    add_lit(b, ",\"versions\":[");
    for (size_t i = 0; i < g->n; i++) {
        if (i)
            buf_add_char(b, ',');
        add_version(b, g, &g->versions[i]);
    }
    add_lit(b, "],\"preferredVersion\":");
    add_version(b, g, &g->versions[0]);
}

void discovery_render_groups(struct buf *b, struct discovery_groups groups)
{
    size_t told = 0;
    add_lit(b, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < groups.n; i++) {
        if (!groups.p[i].name[0])
            continue;
        if (told++)
            buf_add_char(b, ',');
        buf_add_char(b, '{');
        add_versions(b, &groups.p[i]);
        buf_add_char(b, '}');
    }
    add_lit(b, "]}\n");
}

void discovery_render_group(struct buf *b, const struct registry_group *g)
{
    add_lit(b, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
    add_versions(b, g);
    add_lit(b, "}\n");
}

/* Whether the version in which a custom resource is stored is served; the old documents tell its hash only then. */
static bool is_storage_served(const struct registry_group *g, const struct kind *k)
{
    const struct registry_version *v = discovery_find_version(g, str_of(k->storage_version));
    size_t low = 0, high = v ? v->n : 0;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int cmp = strcmp(v->kinds[mid]->plural, k->plural);
        if (cmp == 0)
            return v->kinds[mid]->crd && strcmp(v->kinds[mid]->crd, k->crd) == 0;
        if (cmp < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

/* Names the form in which objects are stored: the first bytes of a hash of group, version and kind. */
static void add_storage_hash(struct buf *b, const struct registry_group *g, const struct kind *k)
{
    if (k->flags & KIND_NOT_STORED || (k->flags & KIND_CUSTOM && !is_storage_served(g, k)))
        return;
    struct arena scratch ARENA_SCOPE = {0};
    const struct kind *stored = strategy_storage_kind(k);
    const char *version = k->flags & KIND_CUSTOM ? k->storage_version : stored->version;
    str name = str_fmt(&scratch, "%s/%s/%s", stored->group, version, stored->kind);
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (EVP_Digest(name.p, name.n, digest, NULL, EVP_sha256(), NULL) != 1)
        return;
    add_lit(b, ",\"storageVersionHash\":");
    json_encode_str(b, base64_encode(&scratch, (str){(const char *)digest, 8}));
}

static void add_subresource_row(struct buf *b, const struct kind *k, const struct kind_subresource *sub)
{
    add_lit(b, ",{\"name\":");
    struct arena scratch ARENA_SCOPE = {0};
    json_encode_str(b, str_fmt(&scratch, "%s/%s", k->plural, sub->name));
    buf_fmt(b, ",\"singularName\":\"\",\"namespaced\":%s", k->namespaced ? "true" : "false");
    if (sub->group) {
        add_lit(b, ",\"group\":");
        add_text(b, sub->group);
        add_lit(b, ",\"version\":");
        add_text(b, sub->version);
    }
    add_lit(b, ",\"kind\":");
    add_text(b, sub->kind ? sub->kind : k->kind);
    add_verbs(b, k, sub->verbs);
    buf_add_char(b, '}');
}

static void add_row(struct buf *b, const struct registry_group *g, const struct kind *k)
{
    add_lit(b, "{\"name\":");
    add_text(b, k->plural);
    add_lit(b, ",\"singularName\":");
    add_text(b, k->singular);
    buf_fmt(b, ",\"namespaced\":%s,\"kind\":", k->namespaced ? "true" : "false");
    add_text(b, k->kind);
    add_verbs(b, k, k->verbs);
    add_list(b, S("shortNames"), k->short_names);
    add_list(b, S("categories"), k->categories);
    add_storage_hash(b, g, k);
    buf_add_char(b, '}');
    for (size_t i = 0; i < k->n_subresources; i++)
        add_subresource_row(b, k, subresource_at(k, i));
}

void discovery_render_resources(struct buf *b, const struct registry_group *g, const struct registry_version *v)
{
    /* The core group is older than apiVersion in this kind, and still does without. */
    if (g->name[0])
        buf_fmt(b, "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"%s/%s\",", g->name,
                v->version);
    else
        buf_fmt(b, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"%s\",", v->version);
    add_lit(b, "\"resources\":[");
    for (size_t i = 0; i < v->n; i++) {
        if (i)
            buf_add_char(b, ',');
        add_row(b, g, v->kinds[i]);
    }
    add_lit(b, "]}\n");
}

/* ==== Answers ==== */

/* The aggregated documents: two paths, two versions of the format. */
enum { CORE_V2, CORE_V2BETA1, GROUPS_V2, GROUPS_V2BETA1, N_DOCUMENTS };

struct document {
    struct buf text; /* empty: not asked for yet */
    str etag;        /* in quotes */
};

struct discovery {
    struct api *api;
    bool is_fresh;
    uint64_t generation; /* of the registry that everything below was made from */
    struct arena arena;
    struct discovery_groups groups;
    struct document documents[N_DOCUMENTS];
};

static void forget(struct discovery *d)
{
    for (size_t i = 0; i < N_DOCUMENTS; i++)
        buf_done(&d->documents[i].text);
    memset(d->documents, 0, sizeof d->documents);
    arena_done(&d->arena);
    d->is_fresh = false;
}

struct discovery *discovery_new(struct api *api)
{
    struct discovery *d = xcalloc(1, sizeof *d);
    d->api = api;
    return d;
}

void discovery_free(struct discovery *d)
{
    if (!d)
        return;
    forget(d);
    free(d);
}

struct discovery_groups discovery_groups(struct discovery *d)
{
    uint64_t generation = registry_generation(d->api->registry);
    if (d->is_fresh && d->generation == generation)
        return d->groups;
    forget(d);
    d->groups.p = registry_groups(&d->arena, d->api->registry, &d->groups.n);
    d->generation = generation;
    d->is_fresh = true;
    return d->groups;
}

/* ---- Aggregated. ---- */

/* A hash of the content in quotes, as an ETag has to be. */
static str etag_of(struct arena *a, str text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct buf b = {.arena = a};
    if (EVP_Digest(text.p, text.n, digest, &n, EVP_sha512(), NULL) != 1)
        abort(); /* SHA-512 is always there */
    buf_add_char(&b, '"');
    for (unsigned i = 0; i < n; i++)
        buf_fmt(&b, "%02X", digest[i]);
    buf_add_char(&b, '"');
    return buf_str(&b);
}

static const struct document *document_get(struct discovery *d, bool is_core, bool is_v2)
{
    struct discovery_groups groups = discovery_groups(d);
    struct document *doc = &d->documents[(is_core ? CORE_V2 : GROUPS_V2) + !is_v2];
    if (!doc->text.n) {
        discovery_render_aggregated(&doc->text, groups, is_core, is_v2 ? S("v2") : S("v2beta1"));
        doc->etag = etag_of(&d->arena, buf_str(&doc->text));
    }
    return doc;
}

/* For those who asked for it in another form; the text is JSON of our own. */
static str reshape(struct api_request *r, str text)
{
    struct json tree;
    struct buf b = {.arena = r->arena};
    struct json_limits limits = {.bytes = text.n};
    bool is_yaml = r->media == MEDIA_YAML;
    if ((!is_yaml && !negotiate_is_pretty(r)) || json_decode(r->arena, text, &limits, NULL, &tree, NULL) < 0)
        return text;
    if (is_yaml) {
        yaml_encode(&b, &tree);
    } else {
        json_encode(&b, &tree, JSON_PRETTY);
        buf_add_char(&b, '\n');
    }
    return buf_str(&b);
}

static void answer_aggregated(struct api_request *r, bool is_core, bool is_v2)
{
    const struct document *doc = document_get(r->api->discovery, is_core, is_v2);
    str type = str_fmt(r->arena, "application/%s;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList",
                       r->media == MEDIA_YAML ? "yaml" : "json", is_v2 ? "v2" : "v2beta1");
    struct http_header headers[] = {
        {S("Cache-Control"), S("public")},
        {S("ETag"), doc->etag},
        {S("Vary"), S("Accept")},
        {S("Content-Type"), type},
    };
    size_t n = COUNT(headers);
    if (str_eq(http_header(r->x, S("if-none-match")), doc->etag))
        api_answer_with(r, 304, (struct http_headers){headers, n - 1}, (str){0});
    else
        api_answer_with(r, 200, (struct http_headers){headers, n}, reshape(r, buf_str(&doc->text)));
}

/* ---- Old. ---- */

static void answer_old(struct api_request *r, str text)
{
    api_answer_text(r, 200, r->media == MEDIA_YAML ? S("application/yaml") : S("application/json"), reshape(r, text));
}

/* /api and /apis */
static void answer_root(struct api_request *r, bool is_core)
{
    struct accept accept;
    struct buf b = {.arena = r->arena};
    if (!negotiate(r, ACCEPT_YAML | ACCEPT_DISCOVERY | (is_core ? ACCEPT_ROUTED : 0), &accept))
        return;
    if (accept.as == AS_DISCOVERY) {
        answer_aggregated(r, is_core, str_eq(accept.group_version, S("apidiscovery.k8s.io/v2")));
        return;
    }
    if (is_core)
        discovery_render_core(&b, discovery_groups(r->api->discovery), r->api->options.address);
    else
        discovery_render_groups(&b, discovery_groups(r->api->discovery));
    answer_old(r, buf_str(&b));
}

/* A version that is not there: groups of the server itself answer with a Status, all others are no path at all. */
static bool answer_no_version(struct api_request *r, const struct registry_group *g)
{
    if (!g || g->versions[0].kinds[0]->flags & KIND_CUSTOM)
        return false;
    struct json status = status_no_such_resource(r->arena);
    api_refuse(r, &status);
    return true;
}

/* /apis/G, /apis/G/V, and /api/V, whose group has no name. */
static bool answer_group(struct api_request *r, str group, str version)
{
    const struct registry_group *g = discovery_find_group(discovery_groups(r->api->discovery), group);
    const struct registry_version *v = discovery_find_version(g, version);
    struct accept accept;
    struct buf b = {.arena = r->arena};
    if (!g || (version.n && !v))
        return answer_no_version(r, g);
    bool is_routed = v && !(v->kinds[0]->flags & KIND_CUSTOM);
    if (!negotiate(r, ACCEPT_YAML | (is_routed ? ACCEPT_ROUTED : 0), &accept))
        return true;
    if (v)
        discovery_render_resources(&b, g, v);
    else
        discovery_render_group(&b, g);
    answer_old(r, buf_str(&b));
    return true;
}

bool discovery_handle(struct api_request *r)
{
    str path = r->route.path, group, version;
    if (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    bool is_core = str_eq(path, S("/api")) || str_has_prefix(path, S("/api/"));
    if (str_eq(path, S("/api")) || str_eq(path, S("/apis"))) {
        answer_root(r, is_core);
        return true;
    }
    if (!is_core && !str_has_prefix(path, S("/apis/")))
        return false;
    if (is_core)
        group = (str){0}, version = str_from(path, 5);
    else
        str_cut(str_from(path, 6), '/', &group, &version);
    if (str_find_char(version, '/') >= 0 || (!is_core && !group.n))
        return false;
    return answer_group(r, group, version);
}
