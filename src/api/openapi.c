/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"
#include "api/api_value.h"
#include "api/discovery.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "openapi/openapi_render.h"
#include "openapi/openapi_v2.h"

#include <openssl/evp.h>
#include <stdlib.h>

/* ---- Sending: a document leaves piece by piece. Never more of it is in memory than one schema, or what the client has not taken. A
 * document that would mix two states of a CRD is broken off. ---- */

enum document_form { DOCUMENT_V3, DOCUMENT_V2, DOCUMENT_V2_PROTOBUF };

/* A kind, and which state of its CRD the hash was made from. */
struct part {
    const struct kind *kind; /* held */
    rev created;
    int64_t generation;
};

enum step { START, PATHS, SHAPES, SCHEMAS, END, DONE };

struct stream {
    struct api *api;
    struct arena *arena; /* the request's */
    enum document_form form;
    struct part *parts;
    struct openapi_kinds kinds;
    struct openapi_shapes shapes; /* of v2 */
    struct map told;              /* of v2: names of definitions */
    enum step step;
    size_t i;         /* of PATHS, SHAPES and SCHEMAS */
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
static bool render_custom(struct stream *s, struct buf *b, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct part *part = &s->parts[i];
    struct json crd;
    struct store_item item;
    if (crd_get(s->api, &scratch, part->kind, &crd, &item) < 0 || item.created != part->created ||
        object_generation(&crd) != part->generation)
        return false;
    openapi_render_custom(b, part->kind, &crd);
    return true;
}

/* ---- v3. ---- */

static bool render_v3(struct stream *s)
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
        if (s->kinds.p[s->i]->flags & KIND_CUSTOM && !render_custom(s, &s->piece, s->i))
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

/* ---- v2. ---- */

static enum openapi_v2_form form_of(const struct stream *s)
{
    return s->form == DOCUMENT_V2 ? OPENAPI_V2_JSON : OPENAPI_V2_PROTOBUF;
}

/* Turns members of an object into definitions; text is that object without its braces. A name that was told is not told again:
 * a CRD can have any group. */
static void tell(struct stream *s, str text)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json object = json_null();
    str whole = str_fmt(&scratch, "{%.*s}", STR(text));
    (void)json_decode(&scratch, whole, &(struct json_limits){.bytes = whole.n}, NULL, &object, NULL);
    json_each_member(&object, m)
    {
        struct json schema = openapi_v2_schema(&scratch, &m->val);
        if (map_get(&s->told, json_key(m)))
            continue;
        if (s->form == DOCUMENT_V2 && s->told.n)
            buf_add_char(&s->piece, ',');
        map_set(&s->told, str_dup(s->arena, json_key(m)), s);
        openapi_v2_definition(&s->piece, form_of(s), json_key(m), &schema);
    }
}

static bool tell_custom(struct stream *s, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    if (!render_custom(s, &b, i))
        return false;
    tell(s, str_from(buf_str(&b), 1)); /* behind its comma */
    return true;
}

static void tell_shape(struct stream *s, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    openapi_render_shape(&b, &s->shapes.p[i]);
    tell(s, buf_str(&b));
}

static bool render_v2(struct stream *s)
{
    switch (s->step) {
    case SHAPES:
        tell_shape(s, s->i++);
        if (s->i == s->shapes.n) {
            s->i = 0;
            s->step = SCHEMAS;
        }
        return true;
    case SCHEMAS:
        if (s->kinds.p[s->i]->flags & KIND_CUSTOM && !tell_custom(s, s->i))
            return false;
        s->step = ++s->i == s->kinds.n ? END : SCHEMAS;
        return true;
    case END:
        openapi_v2_end(&s->piece, form_of(s));
        s->step = DONE;
        return true;
    default:
        openapi_v2_start(&s->piece, form_of(s));
        s->step = SHAPES;
        return true;
    }
}

/* ---- Sending. ---- */

static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct stream *s = ctx;
    (void)x;
    while (room) {
        if (s->taken == s->piece.n) {
            if (s->step == DONE)
                return HTTP_END;
            s->piece.n = s->taken = 0;
            if (!(s->form == DOCUMENT_V3 ? render_v3(s) : render_v2(s)))
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
    map_done(&s->told);
    buf_done(&s->piece);
}

static struct stream *stream_new(struct api_request *r, struct openapi_kinds from)
{
    struct stream *s = ARENA_NEW(r->arena, struct stream);
    const struct kind **kinds = ARENA_ARRAY(r->arena, const struct kind *, from.n);
    s->api = r->api;
    s->arena = r->arena;
    s->parts = ARENA_ARRAY(r->arena, struct part, from.n);
    for (size_t i = 0; i < from.n; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct store_item item;
        struct json metadata = json_null();
        kinds[i] = s->parts[i].kind = registry_hold(from.p[i]);
        if (!(kinds[i]->flags & KIND_CUSTOM) ||
            store_get(r->api->store, r->api->tables.crds, (str){0}, str_of(kinds[i]->crd), &item, NULL) < 0)
            continue;
        (void)value_metadata(&scratch, &item, &metadata, NULL);
        s->parts[i].created = item.created;
        json_to_int(json_get(&metadata, S("generation")), &s->parts[i].generation);
    }
    s->kinds = (struct openapi_kinds){kinds, from.n};
    return s;
}

static void stream_document(struct api_request *r, struct http_headers headers, struct openapi_kinds kinds,
                            enum document_form form)
{
    struct stream *s = stream_new(r, kinds);
    s->form = form;
    if (form != DOCUMENT_V3)
        s->shapes = openapi_shapes_find(r->arena, s->kinds);
    r->released = release;
    r->released_ctx = s;
    api_answer_stream_with(r, headers, (struct http_source){fill, s});
}

/* ---- Documents and their index. ---- */

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
    struct openapi *o = xcalloc(1, sizeof *o);
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

/* ---- Answers. ---- */

static void answer_document(struct api_request *r, const struct document *d)
{
    str wanted = query_get(&r->query, S("hash")), etag = str_fmt(r->arena, "\"%.*s\"", STR(d->hash));
    int64_t now = clock_seconds(&r->api->options.clock);
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
    stream_document(r, (struct http_headers){headers, n}, d->kinds, DOCUMENT_V3);
}

static void answer_index(struct api_request *r)
{
    index_make(r->api->openapi);
    api_answer_text(r, 200, S("application/json"), r->api->openapi->index);
}

/* The kinds of all groups. */
static struct openapi_kinds kinds_of_all(struct api_request *r)
{
    struct discovery_groups groups = discovery_groups(r->api->discovery);
    VEC(const struct kind *) all = {0};
    for (size_t g = 0; g < groups.n; g++)
        for (size_t v = 0; v < groups.p[g].n; v++)
            for (size_t i = 0; i < groups.p[g].versions[v].n; i++)
                *vec_push(r->arena, &all) = groups.p[g].versions[v].kinds[i];
    return (struct openapi_kinds){all.p, all.n};
}

/* What v2 says follows from the documents of v3, whose hashes are in the index, and from how this version writes it. */
static void answer_v2(struct api_request *r)
{
    static const char *const types[] = {"application/json",
                                        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
                                        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", NULL};
    struct openapi *o = r->api->openapi;
    int type = negotiate_type(r, types);
    index_make(o);
    str hash = hash_of(r->arena, str_fmt(r->arena, "%s %.*s", REEVE_VERSION, STR(o->index)));
    str etag = str_fmt(r->arena, "\"%.*s\"", STR(hash));
    struct http_header headers[3] = {{S("Vary"), S("Accept")}, {S("ETag"), etag}};
    if (type < 0) {
        api_answer_with(r, 406, (struct http_headers){headers, 1}, (str){0});
    } else if (str_eq(http_header(r->x, S("if-none-match")), etag)) {
        api_answer_with(r, 304, (struct http_headers){headers, 2}, (str){0});
    } else {
        headers[2] = (struct http_header){S("Content-Type"), str_of(types[type ? 2 : 0])};
        stream_document(r, (struct http_headers){headers, 3}, kinds_of_all(r),
                        type ? DOCUMENT_V2_PROTOBUF : DOCUMENT_V2);
    }
}

bool openapi_handle(struct api_request *r)
{
    struct openapi *o = r->api->openapi;
    str path = r->route.path, prefix = S("/openapi/v3/");
    bool is_v2 = str_eq(path, S("/openapi/v2"));
    if (is_v2 || str_eq(path, S("/openapi/v3"))) {
        is_v2 ? answer_v2(r) : answer_index(r);
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
