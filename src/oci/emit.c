/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/emit.h"

#include "json/base64.h"

#include <errno.h>
#include <unistd.h>

enum { PENDING_MAX = 256 * 1024 };

static int flush(struct emit *p, struct err *err)
{
    for (size_t at = 0; at < p->pending.n;) {
        ssize_t n = write(p->fd, p->pending.p + at, p->pending.n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "write to standard output: %m");
        at += (size_t)n;
    }
    p->pending.n = 0;
    return 0;
}

static int end_line(struct emit *p, struct err *err)
{
    buf_add_char(&p->pending, '\n');
    return p->pending.n < PENDING_MAX ? 0 : flush(p, err);
}

static void begin_file(struct emit *p, str path, const char *member)
{
    buf_add_str(&p->pending, S("{\"path\":"));
    json_encode_str(&p->pending, path);
    buf_fmt(&p->pending, ",\"%s\":", member);
}

int emit_progress(struct emit *p, const struct oci_progress *progress, struct err *err)
{
    oci_progress_encode(&p->pending, progress);
    buf_add_char(&p->pending, '\n');
    return flush(p, err);
}

int emit_manifest(struct emit *p, const struct emit_image *image, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    buf_fmt(&p->pending, "{\"manifest\":{\"digest\":\"%.*s\",\"from\":\"%s\",\"reference\":",
            STR(oci_digest_format(&scratch, image->digest)), image->from);
    json_encode_str(&p->pending, image->reference);
    buf_fmt(&p->pending, ",\"size\":%llu}}", (unsigned long long)image->size);
    return end_line(p, err);
}

struct documents {
    struct emit *emit;
    str path, file; /* file: what the path is made of; empty: nothing else */
    size_t first;   /* index of the first document */
    size_t n;       /* of documents, so far */
};

static int emit_document(void *ctx, size_t index, const struct json *document, struct err *err)
{
    struct documents *d = ctx;
    struct buf *b = &d->emit->pending;
    begin_file(d->emit, d->path, "index");
    buf_add_uint(b, d->first + index);
    if (d->file.n) {
        buf_add_str(b, S(",\"file\":"));
        json_encode_str(b, d->file);
    }
    buf_add_str(b, S(",\"document\":"));
    json_encode(b, document, 0);
    buf_add_char(b, '}');
    d->emit->files += d->first + index == 0;
    d->n = index + 1;
    return end_line(d->emit, err);
}

static int emit_documents(struct documents *d, str text, const struct yaml_each_limits *limits, struct err *err)
{
    int code = yaml_decode_each(text, limits, emit_document, d, err);
    if (code == ERR_BAD_REQUEST) /* whoever wrote the package has to mend it */
        code = err->code = ERR_INVALID;
    return code < 0 && code != ERR_IO ? err_wrap(err, "%.*s", STR(d->file.n ? d->file : d->path)) : code;
}

int emit_yaml(struct emit *p, str path, str text, const struct yaml_each_limits *limits, struct err *err)
{
    struct documents d = {.emit = p, .path = path};
    return emit_documents(&d, text, limits, err);
}

int emit_yaml_part(struct emit *p, str path, const struct oci_file *part, size_t *index,
                   const struct yaml_each_limits *limits, struct err *err)
{
    struct documents d = {.emit = p, .path = path, .file = part->path, .first = *index};
    struct yaml_each_limits left = *limits;
    left.documents -= *index;
    int code = emit_documents(&d, part->data, &left, err);
    *index += d.n;
    return code;
}

int emit_text(struct emit *p, str path, str text, struct err *err)
{
    if (!str_is_utf8(text))
        return err_set(err, ERR_INVALID, "%.*s: is not UTF-8", STR(path));
    begin_file(p, path, "text");
    json_encode_str(&p->pending, text);
    buf_add_char(&p->pending, '}');
    p->files++;
    return end_line(p, err);
}

int emit_base64(struct emit *p, str path, str bytes, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    begin_file(p, path, "base64");
    json_encode_str(&p->pending, base64_encode(&scratch, bytes));
    buf_add_char(&p->pending, '}');
    p->files++;
    return end_line(p, err);
}

int emit_end(struct emit *p, bool is_known, struct err *err)
{
    buf_fmt(&p->pending, "{\"end\":{\"files\":%zu%s}}\n", p->files, is_known ? ",\"known\":true" : "");
    return flush(p, err);
}

int emit_error(struct emit *p, const struct err *what)
{
    struct oci_failure failure = oci_failure_of(what->code);
    struct err unread;
    p->pending.n = 0; /* what was not written yet is of no use */
    buf_fmt(&p->pending,
            "{\"error\":{\"reason\":\"%.*s\",\"retry\":%s,\"code\":\"%s\",\"message\":", STR(failure.reason),
            failure.can_retry ? "true" : "false", err_name(what->code));
    json_encode_str(&p->pending, str_of(what->msg));
    buf_add_str(&p->pending, S("}}\n"));
    return flush(p, &unread);
}
