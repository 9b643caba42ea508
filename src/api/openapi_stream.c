/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi_stream.h"

#include "api/openapi_v2.h"
#include "api/value.h"
#include "kinds/builtin.h"
#include "object/object.h"

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
    enum openapi_stream_form form;
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
    return s->form == OPENAPI_STREAM_V2 ? OPENAPI_V2_JSON : OPENAPI_V2_PROTOBUF;
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
        if (s->form == OPENAPI_STREAM_V2 && s->told.n)
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
            if (!(s->form == OPENAPI_STREAM_V3 ? render_v3(s) : render_v2(s)))
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

void openapi_stream(struct api_request *r, struct http_headers headers, struct openapi_kinds kinds,
                    enum openapi_stream_form form)
{
    struct stream *s = stream_new(r, kinds);
    s->form = form;
    if (form != OPENAPI_STREAM_V3)
        s->shapes = openapi_shapes_find(r->arena, s->kinds);
    r->released = release;
    r->released_ctx = s;
    api_answer_stream_with(r, headers, (struct http_source){fill, s});
}
