/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "api/discovery.h"
#include "api/openapi_render.h"
#include "api/value.h"
#include "object/object.h"

enum { HASH_BYTES = 32, YEAR = 365 * 24 * 3600 };

/* One document: a version of a group. */
struct document {
    str path; /* "api/v1", "apis/example.com/v1" */
    struct openapi_kinds kinds;
    str hash;
};

struct openapi {
    struct api *api;
    str salt;           /* hash of a sample: what we write of custom kinds, whatever their CRDs say */
    struct map builtin; /* path → hash of what is built in, as a text; never changes */
    struct arena arena; /* of salt and builtin */
    bool is_fresh;
    uint64_t generation; /* of the registry that everything below was made from */
    struct arena index_arena;
    struct map documents; /* path → struct document */
    str index;
};

static void forget(struct openapi *o)
{
    map_done(&o->documents);
    o->documents = (struct map){0};
    arena_done(&o->index_arena);
    o->is_fresh = false;
}

struct openapi *openapi_new(struct api *api)
{
    struct openapi *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->api = api;
    return o;
}

void openapi_free(struct openapi *o)
{
    if (!o)
        return;
    forget(o);
    map_done(&o->builtin);
    arena_done(&o->arena);
    free(o);
}

void openapi_forget(struct openapi *o, str group)
{
    (void)group; /* the index is one document, and made again in a moment */
    o->is_fresh = false;
}

/* ---- Hashes. Clients keep a document for good under its hash, so equal hashes must mean equal documents: in this server, in
 * the next one that listens on the same port, and in newer versions of it. Documents of built-in kinds are rendered and
 * hashed once. For custom kinds there may be thousands: their hash comes from the uid and the generation of their CRD, which
 * change whenever it says something else, and from a sample that shows how we write them. ---- */

static str hash_of(struct arena *a, str text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct buf b = {.arena = a};
    if (EVP_Digest(text.p, text.n, digest, NULL, EVP_sha256(), NULL) != 1)
        abort(); /* SHA-256 is always there */
    for (unsigned i = 0; i < HASH_BYTES; i++)
        buf_fmt(&b, "%02X", digest[i]);
    return buf_str(&b);
}

static void render_all(struct buf *b, struct openapi_kinds kinds, const struct json *crd)
{
    openapi_render_start(b, kinds);
    for (size_t i = 0; i < kinds.n; i++)
        openapi_render_paths(b, kinds, i);
    openapi_render_shapes(b, kinds);
    for (size_t i = 0; crd && i < kinds.n; i++)
        openapi_render_custom(b, kinds.p[i], crd);
    openapi_render_end(b);
}

static str salt_get(struct openapi *o)
{
    static const struct kind_subresource subresources[] = {
        {"scale", "autoscaling", "v1", "Scale", VERBS_STATUS},
        {"status", NULL, NULL, NULL, VERBS_STATUS},
    };
    static const struct kind sample = {
        .group = "example.com",
        .version = "v1",
        .kind = "Sample",
        .list_kind = "SampleList",
        .plural = "samples",
        .singular = "sample",
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_CUSTOM,
        .subresources = subresources,
        .n_subresources = 2,
        .crd = "samples.example.com",
    };
    static const str crd_text = S_INIT(
        "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
        "\"spec\":{\"type\":\"object\",\"required\":[\"a\"],\"nullable\":false,\"example\":1,\"properties\":{"
        "\"a\":{\"x-kubernetes-int-or-string\":true},\"b\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
        "\"c\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true},"
        "\"d\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{\"maxLength\":1}],\"type\":\"string\"}}}}}}}}]}}");
    const struct kind *kinds[] = {&sample};
    if (o->salt.n)
        return o->salt;
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    struct json crd = json_null();
    if (json_decode(&scratch, crd_text, NULL, NULL, &crd, NULL) == 0)
        render_all(&b, (struct openapi_kinds){kinds, 1}, &crd);
    o->salt = hash_of(&o->arena, buf_str(&b));
    return o->salt;
}

static str builtin_hash(struct openapi *o, const struct document *d)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *known = map_get(&o->builtin, d->path);
    if (known)
        return str_of(known);
    const struct kind **kinds = ARENA_ARRAY(&scratch, const struct kind *, d->kinds.n);
    size_t n = 0;
    for (size_t i = 0; i < d->kinds.n; i++)
        if (!(d->kinds.p[i]->flags & KIND_CUSTOM))
            kinds[n++] = d->kinds.p[i];
    if (n == 0)
        return (str){0};
    struct buf b = {.arena = &scratch};
    render_all(&b, (struct openapi_kinds){kinds, n}, NULL);
    char *made = str_cstr(&o->arena, hash_of(&scratch, buf_str(&b)));
    map_set(&o->builtin, str_dup(&o->arena, d->path), made);
    return str_of(made);
}

/* What a CRD says, without reading more of it than its metadata. */
static void add_fingerprint(struct openapi *o, struct buf *b, const struct kind *k)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct store_item item;
    struct json metadata = json_null();
    int64_t generation = 0;
    if (store_get(o->api->store, o->api->tables.crds, (str){0}, str_of(k->crd), &item, NULL) == 0)
        (void)value_metadata(&scratch, &item, &metadata, NULL);
    json_to_int(json_get(&metadata, S("generation")), &generation);
    buf_fmt(b, "%s %s %s %s %x ", k->crd, k->version, k->kind, k->list_kind, k->verbs);
    buf_fmt(b, "%.*s %lld\n", STR(json_get_text(&metadata, S("uid"))), (long long)generation);
}

static str document_hash(struct openapi *o, const struct document *d)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    str builtin = builtin_hash(o, d);
    bool is_custom = false;
    buf_fmt(&b, "%.*s %.*s\n", STR(builtin), STR(salt_get(o)));
    for (size_t i = 0; i < d->kinds.n; i++) {
        if (!(d->kinds.p[i]->flags & KIND_CUSTOM))
            continue;
        add_fingerprint(o, &b, d->kinds.p[i]);
        is_custom = true;
    }
    return is_custom ? hash_of(&o->index_arena, buf_str(&b)) : builtin;
}

/* ---- The index. ---- */

static void index_add(struct openapi *o, struct buf *b, const struct registry_group *g,
                      const struct registry_version *v)
{
    struct document *d = ARENA_NEW(&o->index_arena, struct document);
    d->path = g->name[0] ? str_fmt(&o->index_arena, "apis/%s/%s", g->name, v->version)
                         : str_fmt(&o->index_arena, "api/%s", v->version);
    d->kinds = (struct openapi_kinds){v->kinds, v->n};
    d->hash = document_hash(o, d);
    map_set(&o->documents, d->path, d);
    if (b->p[b->n - 1] == '}')
        buf_add_char(b, ',');
    buf_fmt(b, "\"%.*s\":{\"serverRelativeURL\":\"/openapi/v3/%.*s?hash=%.*s\"}", STR(d->path), STR(d->path),
            STR(d->hash));
}

static void index_make(struct openapi *o)
{
    struct discovery_groups groups = discovery_groups(o->api->discovery);
    uint64_t generation = registry_generation(o->api->registry);
    if (o->is_fresh && o->generation == generation)
        return;
    forget(o);
    struct buf b = {.arena = &o->index_arena};
    buf_add_str(&b, S("{\"paths\":{"));
    for (size_t g = 0; g < groups.n; g++)
        for (size_t v = 0; v < groups.p[g].n; v++)
            index_add(o, &b, &groups.p[g], &groups.p[g].versions[v]);
    buf_add_str(&b, S("}}\n"));
    o->index = buf_str(&b);
    o->generation = generation;
    o->is_fresh = true;
}

/* ---- Documents, piece by piece. ---- */

/* A kind, and which state of its CRD the hash was made from. */
struct part {
    const struct kind *kind; /* held */
    rev created;
    int64_t generation;
};

enum step { START, PATHS, SHAPES, SCHEMAS, END, DONE };

struct stream {
    struct api *api;
    struct part *parts;
    struct openapi_kinds kinds;
    enum step step;
    size_t i;         /* of PATHS and SCHEMAS */
    struct buf piece; /* heap */
    size_t taken;     /* of piece */
};

static const struct kind *crd_kind(void)
{
    return kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
}

static int crd_get(struct api *api, struct arena *a, const struct kind *k, struct json *ret, struct store_item *item)
{
    return value_get(api, a, crd_kind(), (str){0}, str_of(k->crd), ret, item, NULL);
}

/* False when the CRD is not the one the hash was made from: a mixture of states must not be kept by anybody. */
static bool render_custom(struct stream *s, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct part *part = &s->parts[i];
    struct json crd;
    struct store_item item;
    if (crd_get(s->api, &scratch, part->kind, &crd, &item) < 0 || item.created != part->created ||
        object_generation(&crd) != part->generation)
        return false;
    openapi_render_custom(&s->piece, part->kind, &crd);
    return true;
}

static bool render_piece(struct stream *s)
{
    bool is_last = s->i + 1 >= s->kinds.n;
    switch (s->step) {
    case START:
        openapi_render_start(&s->piece, s->kinds);
        s->step = PATHS;
        return true;
    case PATHS:
        openapi_render_paths(&s->piece, s->kinds, s->i);
        s->i = is_last ? 0 : s->i + 1;
        s->step = is_last ? SHAPES : PATHS;
        return true;
    case SHAPES:
        openapi_render_shapes(&s->piece, s->kinds);
        s->step = SCHEMAS;
        return true;
    case SCHEMAS:
        if (s->kinds.p[s->i]->flags & KIND_CUSTOM && !render_custom(s, s->i))
            return false;
        s->i++;
        s->step = is_last ? END : SCHEMAS;
        return true;
    default:
        openapi_render_end(&s->piece);
        s->step = DONE;
        return true;
    }
}

static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct stream *s = ctx;
    (void)x;
    while (room) {
        if (s->taken == s->piece.n) {
            if (s->step == DONE)
                return HTTP_END;
            s->piece.n = s->taken = 0;
            if (!render_piece(s))
                return HTTP_ABORT;
        }
        str rest = str_upto(str_from(buf_str(&s->piece), s->taken), room);
        buf_add_str(out, rest);
        s->taken += rest.n;
        room -= rest.n;
    }
    return HTTP_MORE;
}

static void release(void *ctx)
{
    struct stream *s = ctx;
    for (size_t i = 0; i < s->kinds.n; i++)
        registry_release(s->kinds.p[i]);
    buf_done(&s->piece);
}

static struct stream *stream_new(struct api_request *r, const struct document *d)
{
    struct stream *s = ARENA_NEW(r->arena, struct stream);
    const struct kind **kinds = ARENA_ARRAY(r->arena, const struct kind *, d->kinds.n);
    s->api = r->api;
    s->parts = ARENA_ARRAY(r->arena, struct part, d->kinds.n);
    for (size_t i = 0; i < d->kinds.n; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct store_item item;
        struct json metadata = json_null();
        kinds[i] = s->parts[i].kind = registry_hold(d->kinds.p[i]);
        if (!(kinds[i]->flags & KIND_CUSTOM) ||
            store_get(r->api->store, r->api->tables.crds, (str){0}, str_of(kinds[i]->crd), &item, NULL) < 0)
            continue;
        (void)value_metadata(&scratch, &item, &metadata, NULL);
        s->parts[i].created = item.created;
        json_to_int(json_get(&metadata, S("generation")), &s->parts[i].generation);
    }
    s->kinds = (struct openapi_kinds){kinds, d->kinds.n};
    return s;
}

/* ---- Answers. ---- */

static void answer_document(struct api_request *r, const struct document *d)
{
    str wanted = query_get(&r->query, S("hash")), etag = str_fmt(r->arena, "\"%.*s\"", STR(d->hash));
    int64_t now = r->api->options.clock.wall_ns(r->api->options.clock.ctx) / 1000000000;
    struct http_header headers[6] = {{S("ETag"), etag}, {S("Vary"), S("Accept")}};
    size_t n = 2;
    if (wanted.n && !str_eq(wanted, d->hash)) {
        str location = str_fmt(r->arena, "/openapi/v3/%.*s?hash=%.*s", STR(d->path), STR(d->hash));
        headers[n++] = (struct http_header){S("Location"), location};
        api_answer_with(r, 301, (struct http_headers){headers, n}, (str){0});
        return;
    }
    if (wanted.n) {
        headers[n++] = (struct http_header){S("Cache-Control"), S("public, immutable")};
        headers[n++] = (struct http_header){S("Expires"), api_date(r->arena, now + YEAR)};
    }
    if (str_eq(http_header(r->x, S("if-none-match")), etag)) {
        api_answer_with(r, 304, (struct http_headers){headers, n}, (str){0});
        return;
    }
    headers[n++] = (struct http_header){S("Content-Type"), S("application/json")};
    struct stream *s = stream_new(r, d);
    r->released = release;
    r->released_ctx = s;
    api_answer_stream_with(r, (struct http_headers){headers, n}, (struct http_source){fill, s});
}

bool openapi_handle(struct api_request *r)
{
    struct openapi *o = r->api->openapi;
    str path = r->route.path, prefix = S("/openapi/v3/");
    if (str_eq(path, S("/openapi/v3"))) {
        index_make(o);
        api_answer_text(r, 200, S("application/json"), o->index);
        return true;
    }
    if (!str_has_prefix(path, prefix))
        return false;
    index_make(o);
    const struct document *d = map_get(&o->documents, str_from(path, prefix.n));
    if (d)
        answer_document(r, d);
    else
        api_answer_with(r, 404, (struct http_headers){0}, (str){0});
    return true;
}
