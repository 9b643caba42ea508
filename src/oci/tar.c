/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/tar.h"

#include "oci/tar_parts.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LONG_NAME_MAX = TAR_PATH_MAX + TAR_BLOCK, /* GNU counts the NUL at its end */
    METAS_MAX = 8,                            /* extended headers in front of one entry */
};

/* What comes next, and where it goes. */
enum state {
    IN_HEADER,
    IN_DATA,    /* of an entry: to on_data */
    IN_META,    /* of an extended header: into meta */
    IN_PADDING, /* up to the next block */
    IN_END,     /* behind the first block of zeros */
};

struct tar_reader {
    const struct tar_reader_ops *ops;
    void *ctx;
    uint64_t max_entries, entries;
    uint64_t at; /* in the archive */

    enum state state;
    char block[TAR_BLOCK];
    size_t filled;    /* of block */
    uint64_t left;    /* bytes of data, or of padding */
    uint32_t padding; /* behind the data */

    char meta_type; /* 'x', 'g', 'L' or 'K' */
    unsigned metas; /* since the last entry */
    struct buf meta;
    struct tar_extra extra;
    struct buf path, raw_path;
    int broken; /* the code of the first error */
};

struct tar_reader *tar_reader_new(const struct tar_reader_ops *ops, void *ctx, uint64_t max_entries)
{
    struct tar_reader *r = xcalloc(1, sizeof(*r));
    r->ops = ops;
    r->ctx = ctx;
    r->max_entries = max_entries;
    return r;
}

void tar_reader_free(struct tar_reader *r)
{
    if (r == NULL)
        return;
    buf_done(&r->meta);
    tar_extra_done(&r->extra);
    buf_done(&r->path);
    buf_done(&r->raw_path);
    free(r);
}

static bool is_zero(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i])
            return false;
    return true;
}

/* So many bytes of data follow the header. */
static void expect(struct tar_reader *r, enum state state, uint64_t size)
{
    r->state = state;
    r->left = size;
    r->padding = (uint32_t)(-size & (TAR_BLOCK - 1));
}

/* ---- Extended headers: they speak of the entry that follows. ---- */

static bool is_meta(char type)
{
    return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

static int begin_meta(struct tar_reader *r, const struct tar_header *h, struct err *err)
{
    uint64_t max = h->type == 'x' || h->type == 'g' ? TAR_PAX_MAX : LONG_NAME_MAX;
    if (h->size > max)
        return err_set(err, ERR_TOO_LARGE, "the archive has an extended header of more than %llu bytes",
                       (unsigned long long)max);
    if (++r->metas > METAS_MAX)
        return err_set(err, ERR_INVALID, "the archive has more than %d extended headers for one entry", METAS_MAX);
    r->meta_type = h->type;
    r->meta.n = 0;
    expect(r, IN_META, h->size);
    return 0;
}

static int set_long(struct buf *text, bool *has, str data, struct err *err)
{
    if (*has)
        return err_set(err, ERR_INVALID, "the archive gives one entry two names");
    int code = tar_long_name(data, text, err);
    *has = code == 0;
    return code;
}

static int end_meta(struct tar_reader *r, struct err *err)
{
    str data = buf_str(&r->meta);
    if (r->meta_type == 'L')
        return set_long(&r->extra.path, &r->extra.has_path, data, err);
    if (r->meta_type == 'K')
        return set_long(&r->extra.link, &r->extra.has_link, data, err);
    return tar_pax_parse(data, r->meta_type == 'g', &r->extra, err);
}

/* ---- Entries. ---- */

static int find_type(const struct tar_header *h, str raw_path, enum tar_type *ret, struct err *err)
{
    switch (h->type) {
    case '0':
    case '7':
        *ret = TAR_FILE;
        return 0;
    case '\0': /* before ustar a directory was a file with a slash */
        *ret = str_has_suffix(raw_path, S("/")) ? TAR_DIRECTORY : TAR_FILE;
        return 0;
    case '1':
        *ret = TAR_HARD_LINK;
        return 0;
    case '2':
        *ret = TAR_SYMLINK;
        return 0;
    case '3':
    case '4':
    case '6':
        *ret = TAR_SPECIAL;
        return 0;
    case '5':
        *ret = TAR_DIRECTORY;
        return 0;
    case 'S':
        return err_set(err, ERR_INVALID, "the archive has sparse files, which no package needs");
    default:
        return err_set(err, ERR_INVALID, "the archive has an entry of an unknown type (0x%02x)",
                       (unsigned)(unsigned char)h->type);
    }
}

/* Where the path was said: in an extended header, or here, in up to two parts. */
static void take_path(struct tar_reader *r, const struct tar_header *h)
{
    r->raw_path.n = r->path.n = 0;
    if (r->extra.has_path) {
        buf_add_str(&r->raw_path, buf_str(&r->extra.path));
        return;
    }
    if (h->prefix.n) {
        buf_add_str(&r->raw_path, h->prefix);
        buf_add_char(&r->raw_path, '/');
    }
    buf_add_str(&r->raw_path, h->name);
}

static int begin_entry(struct tar_reader *r, const struct tar_header *h, struct err *err)
{
    struct tar_entry e = {.mode = h->mode, .offset = r->at};
    int code;
    if (++r->entries > r->max_entries)
        return err_set(err, ERR_TOO_LARGE, "there are more than %llu entries", (unsigned long long)r->max_entries);
    take_path(r, h);
    e.raw_path = buf_str(&r->raw_path);
    if ((code = tar_path_clean(e.raw_path, &r->path, err)) < 0 || (code = find_type(h, e.raw_path, &e.type, err)) < 0)
        return code;
    e.path = buf_str(&r->path);
    e.is_absolute = e.raw_path.n && e.raw_path.p[0] == '/';
    e.link = r->extra.has_link ? buf_str(&r->extra.link) : h->link;
    if (e.type == TAR_FILE) /* others have no data, whatever they say: so do all tools read it */
        e.size = r->extra.has_size ? r->extra.size : h->size;
    if (e.path.n == 0 && e.type != TAR_DIRECTORY)
        return err_set(err, ERR_INVALID, "the archive has an entry without a name");
    code = r->ops->on_entry(r->ctx, &e, err);
    tar_extra_clear(&r->extra);
    r->metas = 0;
    expect(r, IN_DATA, e.size);
    return code;
}

static int end_header(struct tar_reader *r, struct err *err)
{
    struct tar_header h;
    r->filled = 0;
    if (is_zero((str){r->block, TAR_BLOCK})) {
        if (r->metas)
            return err_set(err, ERR_INVALID, "the archive ends behind an extended header");
        r->state = IN_END;
        return 0;
    }
    int code = tar_header_parse(r->block, &h, err);
    if (code < 0)
        return code;
    return is_meta(h.type) ? begin_meta(r, &h, err) : begin_entry(r, &h, err);
}

/* ---- Bytes in. ---- */

static int feed_header(struct tar_reader *r, str piece, size_t *used, struct err *err)
{
    size_t n = TAR_BLOCK - r->filled < piece.n ? TAR_BLOCK - r->filled : piece.n;
    memcpy(r->block + r->filled, piece.p, n);
    r->filled += n;
    r->at += n;
    *used = n;
    return r->filled == TAR_BLOCK ? end_header(r, err) : 0;
}

static int feed_data(struct tar_reader *r, str piece, size_t *used, struct err *err)
{
    str mine = str_upto(piece, r->left < piece.n ? (size_t)r->left : piece.n);
    *used = mine.n;
    r->left -= mine.n;
    r->at += mine.n;
    if (r->state == IN_META)
        buf_add_str(&r->meta, mine);
    else if (r->state == IN_DATA && r->ops->on_data && mine.n)
        return r->ops->on_data(r->ctx, mine, err);
    return 0;
}

/* The data, or the padding, is complete. */
static int end_data(struct tar_reader *r, struct err *err)
{
    enum state ended = r->state;
    r->state = ended == IN_PADDING ? IN_HEADER : IN_PADDING;
    r->left = ended == IN_PADDING ? 0 : r->padding;
    return ended == IN_META ? end_meta(r, err) : 0;
}

static int feed(struct tar_reader *r, str piece, struct err *err)
{
    for (;;) {
        size_t used = 0;
        int code = 0;
        if (r->state == IN_END)
            return is_zero(piece) ? 0 : err_set(err, ERR_INVALID, "there is something behind the end of the archive");
        if (r->state != IN_HEADER && r->left == 0)
            code = end_data(r, err);
        else if (piece.n == 0)
            return 0;
        else if (r->state == IN_HEADER)
            code = feed_header(r, piece, &used, err);
        else
            code = feed_data(r, piece, &used, err);
        if (code < 0)
            return code;
        piece = str_from(piece, used);
    }
}

int tar_feed(struct tar_reader *r, str piece, struct err *err)
{
    if (r->broken)
        return err_set(err, (enum err_code)r->broken, "the archive was given up");
    r->broken = feed(r, piece, err);
    return r->broken;
}

int tar_finish(struct tar_reader *r, struct err *err)
{
    if (r->broken)
        return err_set(err, (enum err_code)r->broken, "the archive was given up");
    if (r->state != IN_END)
        return err_set(err, ERR_INVALID,
                       "the archive is cut off: it ends in the middle of an entry or without its end");
    return 0;
}
