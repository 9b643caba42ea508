/* SPDX-License-Identifier: Apache-2.0 */
#include "api/discovery.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "object/status.h"
#include "json/yaml.h"

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
    bool is_yaml = r->accept.media == MEDIA_YAML;
    if ((!is_yaml && !r->accept.is_pretty) || json_decode(r->arena, text, &limits, NULL, &tree, NULL) < 0)
        return text;
    if (is_yaml) {
        yaml_encode(&b, &tree);
    } else {
        json_encode(&b, &tree, JSON_PRETTY);
        buf_add_char(&b, '\n');
    }
    return buf_str(&b);
}

static void answer_aggregated(struct api_request *r, bool is_core)
{
    bool is_v2 = str_eq(r->accept.group_version, S("apidiscovery.k8s.io/v2"));
    const struct document *doc = document_get(r->api->discovery, is_core, is_v2);
    str type = str_fmt(r->arena, "application/%s;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList",
                       r->accept.media == MEDIA_YAML ? "yaml" : "json", is_v2 ? "v2" : "v2beta1");
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
    api_answer_text(r, 200, r->accept.media == MEDIA_YAML ? S("application/yaml") : S("application/json"),
                    reshape(r, text));
}

/* /api and /apis */
static void answer_root(struct api_request *r, bool is_core)
{
    struct accept accept;
    struct buf b = {.arena = r->arena};
    if (!negotiate(r, ACCEPT_YAML | ACCEPT_DISCOVERY | (is_core ? ACCEPT_ROUTED : 0), &accept))
        return;
    if (accept.as == AS_DISCOVERY) {
        answer_aggregated(r, is_core);
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
