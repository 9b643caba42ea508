/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/lines.h"

#include "json/json.h"

enum { PATH_MAX_BYTES = 4096 };

void lines_init(struct lines *l, int (*take)(void *ctx, str line, struct err *err), void *ctx)
{
    *l = (struct lines){.take = take, .ctx = ctx};
}

void lines_done(struct lines *l)
{
    buf_done(&l->rest);
    arena_done(&l->scratch);
}

static int nonsense(struct err *err, const char *what)
{
    return err_set(err, ERR_BAD_REQUEST, "reeve-fetch printed %s", what);
}

/* Texts of the child end up in conditions and logs. */
static void add_printable(struct buf *b, str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool c1 = c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0;
        i += c1;
        buf_add_char(b, c < ' ' || c == 0x7f || c1 ? ' ' : (char)c);
    }
}

static int take_manifest(struct lines *l, const struct json *o, struct err *err)
{
    const struct json *manifest = json_get(o, S("manifest"));
    if (!oci_digest_parse(json_get_text(manifest, S("digest")), &l->digest))
        return nonsense(err, "no digest in its first line");
    int64_t size;
    if (json_to_int(json_get(manifest, S("size")), &size) && size > 0)
        l->size = (uint64_t)size;
    l->is_from_store = str_eq(json_get_text(manifest, S("from")), S("store"));
    l->state = LINES_BODY;
    return 0;
}

static int take_progress(struct lines *l, const struct json *o, struct err *err)
{
    struct oci_progress progress;
    if (l->progress == NULL || !oci_progress_decode(o, &progress))
        return nonsense(err, "progress that makes no sense");
    l->progress(l->ctx, &progress);
    return 0;
}

static int take_end(struct lines *l, const struct json *end, struct err *err)
{
    int64_t files;
    if (!json_to_int(json_get(end, S("files")), &files) || files < 0 || (uint64_t)files != l->files)
        return nonsense(err, "an end that does not fit what came before");
    l->is_known = json_true(json_get(end, S("known")));
    if (l->is_known && l->files)
        return nonsense(err, "files of what it says is known");
    l->state = LINES_END;
    return 0;
}

static enum err_code refusal_of(str name)
{
    static const enum err_code codes[] = {ERR_UNAUTHORIZED, ERR_FORBIDDEN};
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (str_eq(name, str_of(err_name(codes[i]))))
            return codes[i];
    }
    return 0;
}

static int take_error(struct lines *l, const struct json *error, struct err *err)
{
    struct buf text = {.arena = &l->scratch};
    str reason = json_get_text(error, S("reason")), message = json_get_text(error, S("message"));
    bool is_invalid = str_eq(reason, S("InvalidPackage"));
    if ((!is_invalid && !str_eq(reason, S("PullFailed"))) || message.n == 0)
        return nonsense(err, "an error that makes no sense");
    add_printable(&text, str_upto(message, sizeof l->error.msg));
    l->failure.reason = is_invalid ? FETCH_INVALID_PACKAGE : FETCH_PULL_FAILED;
    l->failure.may_pass = json_true(json_get(error, S("retry")));
    err_set(&l->error, is_invalid ? ERR_INVALID : ERR_UNAVAILABLE, "%.*s", STR(buf_str(&text)));
    l->failure.refusal = refusal_of(json_get_text(error, S("code")));
    l->state = LINES_ERROR;
    return 0;
}

/* {"path":"…", "index":0, "document":{…}} or with "text" or "base64" */
static int take_file(struct lines *l, const struct json *o, str line, struct err *err)
{
    str path = json_get_text(o, S("path"));
    int64_t index = 0;
    const struct json *document = json_get(o, S("document")), *at = json_get(o, S("index"));
    bool is_text = json_is_str(json_get(o, S("text"))) || json_is_str(json_get(o, S("base64")));
    if (path.n == 0 || path.n > PATH_MAX_BYTES || (document != NULL) == is_text ||
        (document && (!json_to_int(at, &index) || index < 0)))
        return nonsense(err, "a line that makes no sense");
    if (l->lines == FETCH_MAX_LINES || l->bytes + line.n > FETCH_MAX_BYTES)
        return err_set(err, ERR_TOO_LARGE, "reeve-fetch printed too much");
    l->files += index == 0;
    l->lines++;
    l->bytes += line.n;
    l->object = o;
    int code = l->take(l->ctx, line, err);
    l->object = NULL;
    return code;
}

static int take_line(struct lines *l, str line, struct err *err)
{
    static const struct json_limits limits = {.bytes = FETCH_MAX_LINE};
    const struct json *end, *error, *progress;
    struct json o;
    arena_reset(&l->scratch);
    if (l->state == LINES_END || l->state == LINES_ERROR)
        return nonsense(err, "more after its end");
    if (json_decode(&l->scratch, line, &limits, NULL, &o, NULL) < 0 || !json_is_obj(&o))
        return nonsense(err, "a line that is no JSON object");
    if ((error = json_get(&o, S("error"))))
        return take_error(l, error, err);
    if (l->state == LINES_BEGIN && (progress = json_get(&o, S("progress"))))
        return take_progress(l, progress, err);
    if (l->state == LINES_BEGIN)
        return take_manifest(l, &o, err);
    if ((end = json_get(&o, S("end"))))
        return take_end(l, end, err);
    return take_file(l, &o, line, err);
}

int lines_add(struct lines *l, str piece, struct err *err)
{
    while (piece.n) {
        ptrdiff_t end = str_find_char(piece, '\n');
        size_t n = end < 0 ? piece.n : (size_t)end + 1;
        if (l->rest.n + n > FETCH_MAX_LINE)
            return err_set(err, ERR_TOO_LARGE, "reeve-fetch printed a line that is too long");
        int code = 0;
        if (end >= 0 && l->rest.n == 0) {
            code = take_line(l, str_upto(piece, n), err);
        } else {
            buf_add_str(&l->rest, str_upto(piece, n));
            if (end >= 0) {
                code = take_line(l, buf_str(&l->rest), err);
                l->rest.n = 0;
            }
        }
        if (code < 0)
            return code;
        piece = str_from(piece, n);
    }
    return 0;
}

int lines_finish(struct lines *l, struct err *err)
{
    if (l->rest.n || (l->state != LINES_END && l->state != LINES_ERROR))
        return nonsense(err, "no end");
    return 0;
}
