/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gzip.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    LEVEL = 1,             /* as kube-apiserver */
    WINDOW_BITS = 15 + 16, /* 32 KiB, with the head and tail of gzip */
    MEMORY_LEVEL = 8,
    PIECE = 32 * 1024, /* asked of the source at a time */
};

struct gzip {
    struct loop_work turn; /* first: it is what the loop hands back */
    struct api *api;
    struct http_exchange *x; /* to resume; NULL: gone meanwhile */
    bool is_deferred;
    z_stream z;
    struct http_source source;
    struct buf piece;
    size_t work; /* bytes compressed in this turn */
    void (*released)(void *ctx);
    void *released_ctx;
    str text;          /* of gzip_answer_text: what is left */
    size_t text_bytes; /* …and what it was */
};

bool gzip_is_accepted(const struct api_request *r)
{
    str rest = http_header(r->x, S("Accept-Encoding")), token;
    if (!r->route.is_resource || !str_eq(r->x->method, S("GET")))
        return false;
    while (rest.n) {
        str_cut(rest, ',', &token, &rest);
        if (str_eq(http_trim(token), S("gzip"))) /* with a quality it is not taken, as in Kubernetes */
            return true;
    }
    return false;
}

/* ---- Life. ---- */

static void free_gzip(struct gzip *g)
{
    if (!g->is_deferred)
        free(g);
}

static void release(void *ctx)
{
    struct gzip *g = ctx;
    deflateEnd(&g->z);
    g->api->n_gzips--;
    g->api->gzip_text_bytes -= g->text_bytes;
    buf_done(&g->piece);
    if (g->released)
        g->released(g->released_ctx);
    g->x = NULL;
    free_gzip(g);
}

static struct gzip *gzip_new(struct api_request *r)
{
    if (r->api->n_gzips >= GZIP_STREAMS)
        return NULL;
    struct gzip *g = calloc(1, sizeof *g);
    if (g == NULL || deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    g->api = r->api;
    g->api->n_gzips++;
    return g;
}

/* ---- Filling. ---- */

static void take_turn(struct loop_work *work)
{
    struct gzip *g = (struct gzip *)work;
    g->is_deferred = false;
    g->work = 0;
    if (g->x)
        http_resume(g->x);
    else
        free(g);
}

static enum http_fill step_aside(struct gzip *g, struct http_exchange *x)
{
    g->x = x;
    g->is_deferred = true;
    g->turn.fn = take_turn;
    loop_defer(g->api->options.loop, &g->turn);
    return HTTP_WAIT;
}

static void compress_piece(struct gzip *g, struct buf *out, int flush)
{
    g->z.next_in = (unsigned char *)g->piece.p;
    g->z.avail_in = (unsigned)g->piece.n;
    g->work += g->piece.n;
    do {
        buf_grow(out, PIECE);
        g->z.next_out = (unsigned char *)out->p + out->n;
        g->z.avail_out = (unsigned)(out->cap - out->n < UINT32_MAX ? out->cap - out->n : UINT32_MAX);
        int rc = deflate(&g->z, flush);
        assert(rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR);
        (void)rc;
        out->n = (size_t)((char *)g->z.next_out - out->p);
    } while (g->z.avail_out == 0);
    g->piece.n = 0;
}

/* What the source waits for, it is resumed for by itself: nothing that is held back must leave before. */
static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct gzip *g = ctx;
    size_t start = out->n;
    if (g->is_deferred)
        return HTTP_WAIT;
    while (out->n - start < room) {
        if (g->work >= GZIP_SLICE)
            return step_aside(g, x);
        enum http_fill r = g->source.fill(g->source.ctx, x, &g->piece, PIECE);
        if (r == HTTP_ABORT)
            return r;
        compress_piece(g, out, r == HTTP_END ? Z_FINISH : Z_NO_FLUSH);
        if (r == HTTP_END)
            buf_done(&g->piece);
        if (r != HTTP_MORE)
            return r;
    }
    return HTTP_MORE;
}

static enum http_fill fill_text(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct gzip *g = ctx;
    (void)x;
    str piece = str_upto(g->text, g->text.n < room ? g->text.n : room);
    buf_add_str(out, piece);
    g->text = str_from(g->text, piece.n);
    return g->text.n ? HTTP_MORE : HTTP_END;
}

static void answer(struct api_request *r, struct gzip *g, str content_type)
{
    struct http_header own[] = {
        {S("Content-Type"), content_type},
        {S("Content-Encoding"), S("gzip")},
        {S("Vary"), S("Accept-Encoding")},
    };
    g->released = r->released;
    g->released_ctx = r->released_ctx;
    r->released = release;
    r->released_ctx = g;
    api_answer_stream_with(r, (struct http_headers){own, 3}, (struct http_source){fill, g});
}

bool gzip_answer(struct api_request *r, str content_type, struct http_source source)
{
    struct gzip *g = gzip_new(r);
    if (g == NULL)
        return false;
    g->source = source;
    answer(r, g, content_type);
    return true;
}

bool gzip_answer_text(struct api_request *r, str content_type, str body)
{
    struct gzip *g = body.n <= GZIP_TEXTS_MAX - r->api->gzip_text_bytes ? gzip_new(r) : NULL;
    if (g == NULL)
        return false;
    g->text = str_dup(r->arena, body);
    g->text_bytes = body.n;
    r->api->gzip_text_bytes += body.n;
    g->source = (struct http_source){fill_text, g};
    answer(r, g, content_type);
    return true;
}
