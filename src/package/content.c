/* SPDX-License-Identifier: Apache-2.0 */
#include "package/content.h"

#include "oci/oci_fetch.h"
#include "package/content_internal.h"

#include <stdlib.h>

/* ---- Lines in memory. ---- */

struct of_text {
    struct content content;
    str text;
    uint64_t at;
};

static str line_at(const struct of_text *t, uint64_t offset)
{
    str line, rest;
    str_cut(str_from(t->text, offset), '\n', &line, &rest);
    return line;
}

static int next(struct content *c, struct arena *a, str *ret, uint64_t *ret_offset, struct err *err)
{
    (void)a;
    (void)err;
    struct of_text *t = (struct of_text *)c;
    if (t->at >= t->text.n)
        return 0;
    *ret_offset = t->at;
    *ret = line_at(t, t->at);
    t->at += ret->n + 1;
    return 1;
}

static int read_at(struct content *c, struct arena *a, uint64_t offset, str *ret, struct err *err)
{
    (void)a;
    (void)err;
    *ret = line_at((struct of_text *)c, offset);
    return 0;
}

static void close_text(struct content *c)
{
    free((struct of_text *)c);
}

struct content *content_of_text(str lines)
{
    static const struct content_source source = {next, read_at, close_text};
    struct of_text *t = xcalloc(1, sizeof *t);
    t->content.source = &source;
    t->text = lines;
    return &t->content;
}

/* ---- All of them. ---- */

void content_close(struct content *c)
{
    if (c)
        c->source->close(c);
}

static int decode(struct arena *a, str line, struct json *ret, struct err *err)
{
    static const struct json_limits limits = {.bytes = FETCH_MAX_LINE};
    if (json_decode(a, line, &limits, NULL, ret, err) < 0 || !json_is_obj(ret))
        return err_set(err, ERR_IO, "a line of the package makes no sense");
    return 0;
}

int content_next(struct content *c, struct arena *a, struct content_line *ret, struct err *err)
{
    str line;
    int code = c->source->next(c, a, &line, &ret->offset, err);
    if (code <= 0)
        return code;
    ret->bytes = line.n;
    code = decode(a, line, &ret->json, err);
    return code < 0 ? code : 1;
}

int content_document(struct content *c, struct arena *a, uint64_t offset, struct json *ret, struct err *err)
{
    str line = {0};
    struct json whole;
    int code = c->source->read_at(c, a, offset, &line, err);
    if (code < 0 || (code = decode(a, line, &whole, err)) < 0)
        return code;
    const struct json *document = json_get(&whole, S("document"));
    if (!document)
        return err_set(err, ERR_IO, "a line of the package has no document");
    *ret = *document;
    return 0;
}
