/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: which revision is asked for, and how the answer leaves.
 *
 *   resourceVersion   unset, 0        what there is now
 *                     N               what there is now, once N was reached
 *                     N with limit, or resourceVersionMatch=Exact: as of N
 *   continue                          as of the revision in the token; past history: 410 with a token for the rest */
#include "api/list.h"

#include "api/gzip.h"
#include "object/status.h"

struct request {
    struct list_args args;
    struct accept accept;
};

struct stream {
    struct list *list;
    struct buf first; /* made before it was clear that the list is long */
};

enum { FIRST_BYTES = 64 * 1024 };

/* ---- The answer. ---- */

static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct stream *s = ctx;
    struct err err;
    if (s->first.n) {
        buf_add_str(out, buf_str(&s->first));
        buf_done(&s->first);
        s->first = (struct buf){0};
        return HTTP_MORE;
    }
    return list_fill(s->list, x, out, room, &err);
}

static void release(void *ctx)
{
    struct stream *s = ctx;
    buf_done(&s->first);
    list_free(s->list);
}

static void refuse_expired(struct api_request *r, const struct list_args *args);

static void refuse(struct api_request *r, const struct list_args *args, const struct err *err)
{
    if (err->code == ERR_EXPIRED)
        refuse_expired(r, args);
    else
        api_refuse_err(r, err);
}

static void answer_whole(struct api_request *r, enum list_form form, str text)
{
    if (form == LIST_YAML)
        api_answer_text(r, 200, S("application/yaml"), text);
    else
        api_answer_json(r, 200, str_upto(text, text.n - 1));
}

static void answer_stream(struct api_request *r, struct stream *s, enum list_form form, bool takes_gzip)
{
    str type = form == LIST_YAML ? S("application/yaml") : S("application/json");
    struct http_source source = {fill, s};
    r->released = release;
    r->released_ctx = s;
    if (!takes_gzip || !gzip_answer(r, type, source))
        api_answer_stream(r, type, source);
}

/* Short lists leave as one piece, with their length; of long ones there is never more than a piece in memory. */
static void answer_list(struct api_request *r, const struct list_args *args)
{
    struct stream *s = ARENA_NEW(r->arena, struct stream);
    struct err err = {0};
    bool takes_gzip = gzip_is_accepted(r);
    s->list = list_new(args);
    enum http_fill filled =
        list_fill(s->list, r->x, &s->first, takes_gzip ? (size_t)GZIP_LEAST : (size_t)FIRST_BYTES, &err);
    if (filled == HTTP_ABORT || filled == HTTP_END) {
        struct buf first = s->first;
        enum list_form form = args->form;
        list_free(s->list); /* before the answer: with it the arena may go, and s */
        if (filled == HTTP_ABORT)
            refuse(r, args, &err);
        else
            answer_whole(r, form, buf_str(&first));
        buf_done(&first);
        return;
    }
    answer_stream(r, s, args->form, takes_gzip);
}

static void start(struct api_request *r, void *ctx)
{
    struct request *q = ctx;
    if (q->args.at == 0)
        q->args.at = store_revision(r->api->store);
    answer_list(r, &q->args);
}

/* ---- Which revision. ---- */

static void refuse_expired(struct api_request *r, const struct list_args *args)
{
    if (args->from.name.n == 0) {
        struct json status = status_expired(r->arena, S("The resourceVersion for the provided list is too old."));
        api_refuse(r, &status);
        return;
    }
    struct json status = status_expired(
        r->arena,
        S("The provided continue parameter is too old to display a consistent list result. You can start a new "
          "list without the continue parameter, or use the continue token in this response to retrieve the "
          "remainder of the results. Continuing with the provided token results in an inconsistent list - "
          "objects that were created, modified, or deleted between the time the first chunk was returned and "
          "now may show up in the list."));
    struct page_token rest = args->from;
    rest.revision = -1;
    rest.left = 0; /* of another revision */
    struct json metadata = json_obj_sized(r->arena, 1);
    json_add(r->arena, &metadata, S("continue"),
             json_str(page_token_format(r->arena, &rest, args->options.all_namespaces)));
    json_set(r->arena, &status, S("metadata"), metadata);
    api_refuse(r, &status);
}

/* As of exactly this revision. */
static void start_at(struct api_request *r, struct request *q, rev at)
{
    rev current = store_revision(r->api->store);
    q->args.at = at;
    if (at > current) {
        struct json status = status_version_too_large(r->arena, at, current);
        api_refuse(r, &status);
    } else if (at < store_oldest(r->api->store)) {
        refuse_expired(r, &q->args);
    } else {
        start(r, q);
    }
}

static void start_page(struct api_request *r, struct request *q)
{
    const struct read_options *o = &q->args.options;
    struct err err;
    struct page_token *from = &q->args.from;
    if (page_token_parse(r->arena, o->continue_token, o->all_namespaces, from, &err) < 0) {
        (void)err_wrap(&err, "invalid continue token");
        api_refuse_err(r, &err);
    } else if (o->resource_version.n && !str_eq(o->resource_version, S("0"))) {
        struct json status =
            status_bad_request(r->arena, S("specifying resource version is not allowed when using continue"));
        api_refuse(r, &status);
    } else if (from->revision < 0) {
        start(r, q);
    } else {
        start_at(r, q, (rev)from->revision);
    }
}

static void resolve(struct api_request *r, struct request *q)
{
    const struct read_options *o = &q->args.options;
    bool is_named = o->name.n && !o->all_namespaces; /* such a list has one page */
    bool is_zero = o->resource_version.n == 0 || str_eq(o->resource_version, S("0"));
    q->args.limit = is_named || str_eq(o->resource_version, S("0")) ? 0 : o->limit;
    struct err err;
    if (is_named && o->continue_token.n &&
        page_token_parse(r->arena, o->continue_token, false, &q->args.from, &err) < 0) {
        (void)err_wrap(&err, "invalid continue token");
        api_refuse_err(r, &err);
        return;
    }
    q->args.from = (struct page_token){0};
    if (o->continue_token.n && !is_named) {
        q->args.limit = o->limit;
        start_page(r, q);
        return;
    }
    bool is_match = o->resource_version_match.n > 0;
    bool is_exact = str_eq(o->resource_version_match, S("Exact")) || (!is_match && !is_zero && o->limit > 0);
    rev wanted;
    str why;
    if (!read_revision_parse(r->arena, o->resource_version, &wanted, &why)) {
        read_revision_refuse(r, why, is_exact);
    } else if (is_exact && wanted && !(is_named && !is_match)) {
        start_at(r, q, wanted);
    } else {
        read_revision_await(r, wanted, start, q);
    }
}

static bool refuse_single_form(struct api_request *r, const struct accept *accept)
{
    if (accept->as != AS_METADATA || !str_eq(accept->kind, S("PartialObjectMetadata")))
        return false;
    struct status_args args = {
        .code = ERR_NOT_ACCEPTABLE,
        .message = str_fmt(r->arena, "you requested PartialObjectMetadata, but the requested object is a list (%.*s)",
                           STR(view_go_type(r->arena, r->route.kind, true))),
    };
    struct json status = status_build(r->arena, &args);
    api_refuse(r, &status);
    return true;
}

void read_list(struct api_request *r)
{
    struct request *q = ARENA_NEW(r->arena, struct request);
    if (!read_options_parse(r, &q->args.options) ||
        !negotiate(r, ACCEPT_TABLE | ACCEPT_METADATA | ACCEPT_YAML, &q->accept) || refuse_single_form(r, &q->accept) ||
        !view_of_request(r, &q->accept, &q->args.view))
        return;
    q->args.form = q->accept.media == MEDIA_YAML ? LIST_YAML : q->accept.is_pretty ? LIST_PRETTY : LIST_JSON;
    resolve(r, q);
}
