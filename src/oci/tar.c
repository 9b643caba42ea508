/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/tar.h"
#include "oci/shown.h"
#include "oci/tar_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/*   offset  0     100   108  116  124   136    148   156  157   257    263      265 …  345     500
 *           name  mode  uid  gid  size  mtime  sum   type link  magic  version      prefix
 *
 * Fields are texts that end with NUL unless they are full. Numbers are octal, or, with the first bit set, binary with the
 * most significant byte first (GNU, for what is too large). */
enum {
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    N_NAME = 100,
    N_NUMBER = 8,
    N_SIZE = 12,
    N_PREFIX = 155,
};

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Blanks and NULs around the digits; nothing but these: zero. */
static bool parse_octal(str field, uint64_t *ret)
{
    while (field.n && (field.p[0] == ' ' || field.p[0] == '\0'))
        field = str_from(field, 1);
    while (field.n && (field.p[field.n - 1] == ' ' || field.p[field.n - 1] == '\0'))
        field.n--;
    *ret = 0;
    for (size_t i = 0; i < field.n; i++) { /* at most 12 digits: 36 bits */
        if (!is_octal(field.p[i]))
            return false;
        *ret = *ret << 3 | (uint64_t)(field.p[i] - '0');
    }
    return true;
}

/* Refuses negative numbers and those past 2^63. */
static bool parse_binary(str field, uint64_t *ret)
{
    *ret = (unsigned char)field.p[0] & 0x7f;
    for (size_t i = 1; i < field.n; i++) {
        if (*ret >> 55)
            return false;
        *ret = *ret << 8 | (unsigned char)field.p[i];
    }
    return true;
}

static bool parse_number(str field, uint64_t *ret)
{
    return (unsigned char)field.p[0] & 0x80 ? parse_binary(field, ret) : parse_octal(field, ret);
}

/* Up to the first NUL. False when something hides behind it. */
static bool parse_text(str field, str *ret)
{
    size_t n = strnlen(field.p, field.n);
    for (size_t i = n; i < field.n; i++)
        if (field.p[i])
            return false;
    *ret = str_upto(field, n);
    return true;
}

/* The sum of all bytes, those of the sum itself taken as blanks. Some old tools added them up as signed. */
static bool is_sum_right(const char *block)
{
    uint64_t want;
    uint32_t sum = 0;
    int32_t signed_sum = 0;
    for (int i = 0; i < TAR_BLOCK; i++) {
        char c = i >= AT_SUM && i < AT_SUM + N_NUMBER ? ' ' : block[i];
        sum += (unsigned char)c;
        signed_sum += (signed char)c;
    }
    return parse_number((str){block + AT_SUM, N_NUMBER}, &want) &&
           (want == sum || (signed_sum >= 0 && want == (uint64_t)signed_sum));
}

/* Checks the sum, and reads the fields. */
static int tar_header_parse(const char block[TAR_BLOCK], struct tar_header *ret, struct err *err)
{
    struct tar_header h = {.type = block[AT_TYPE]};
    uint64_t mode;
    if (!is_sum_right(block))
        return err_set(err, ERR_INVALID, "the archive is damaged: the checksum of a header is wrong");
    if (!parse_text((str){block, N_NAME}, &h.name))
        return err_set(err, ERR_INVALID, "a path in the archive has a NUL byte in it");
    if (!parse_number((str){block + AT_SIZE, N_SIZE}, &h.size))
        return err_set(err, ERR_INVALID, "the size of an entry of the archive is not a number");
    if (!parse_number((str){block + AT_MODE, N_NUMBER}, &mode))
        return err_set(err, ERR_INVALID, "the mode of an entry of the archive is not a number");
    h.mode = (uint32_t)(mode & 07777);
    h.link = (str){block + AT_LINK, strnlen(block + AT_LINK, N_NAME)};
    if (memcmp(block + AT_MAGIC, "ustar", 6) == 0) /* GNU's own format, "ustar ", keeps other things there */
        h.prefix = (str){block + AT_PREFIX, strnlen(block + AT_PREFIX, N_PREFIX)};
    *ret = h;
    return 0;
}

/* ---- Paths. ---- */

int tar_path_clean(str raw, struct buf *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str component, rest = raw;
    if (raw.n > TAR_PATH_MAX)
        return err_set(err, ERR_TOO_LARGE, "the path %.*s is longer than %d bytes", STR(oci_shown(&scratch, raw)),
                       TAR_PATH_MAX);
    if (str_find_char(raw, '\0') >= 0)
        return err_set(err, ERR_INVALID, "the path %.*s has a NUL byte in it", STR(oci_shown(&scratch, raw)));
    for (bool is_more = true; is_more;) {
        is_more = str_cut(rest, '/', &component, &rest);
        if (str_eq(component, S("..")))
            return err_set(err, ERR_INVALID, "the path %.*s leads out of the archive", STR(oci_shown(&scratch, raw)));
        if (component.n == 0 || str_eq(component, S(".")))
            continue;
        if (ret->n)
            buf_add_char(ret, '/');
        buf_add_str(ret, component);
    }
    return 0;
}

enum { LENGTH_DIGITS = 8 }; /* a record is never longer than TAR_PAX_MAX */

static void tar_extra_clear(struct tar_extra *x)
{
    x->has_path = x->has_link = x->has_size = false;
    x->path.n = x->link.n = 0;
}

static void tar_extra_done(struct tar_extra *x)
{
    buf_done(&x->path);
    buf_done(&x->link);
}

static int set_text(struct buf *ret, bool *ret_has, str value, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (value.n > TAR_PATH_MAX)
        return err_set(err, ERR_TOO_LARGE, "the path %.*s is longer than %d bytes", STR(oci_shown(&scratch, value)),
                       TAR_PATH_MAX);
    if (str_find_char(value, '\0') >= 0)
        return err_set(err, ERR_INVALID, "the path %.*s has a NUL byte in it", STR(oci_shown(&scratch, value)));
    ret->n = 0;
    buf_add_str(ret, value);
    *ret_has = value.n > 0; /* an empty value takes back what was said */
    return 0;
}

static int set_size(struct tar_extra *x, str value, struct err *err)
{
    x->has_size = value.n > 0;
    if (value.n && (!str_to_uint64(value, &x->size) || x->size > INT64_MAX))
        return err_set(err, ERR_INVALID, "the size of an entry of the archive is not a number");
    return 0;
}

static int set_record(str key, str value, bool is_global, struct tar_extra *x, struct err *err)
{
    bool is_path = str_eq(key, S("path")), is_link = str_eq(key, S("linkpath")), is_size = str_eq(key, S("size"));
    if (str_has_prefix(key, S("GNU.sparse.")))
        return err_set(err, ERR_INVALID, "the archive has sparse files, which no package needs");
    if (is_global && (is_path || is_link || is_size))
        return err_set(err, ERR_INVALID, "the archive has one %.*s for all entries", STR(key));
    if (is_path)
        return set_text(&x->path, &x->has_path, value, err);
    if (is_link)
        return set_text(&x->link, &x->has_link, value, err);
    return is_size ? set_size(x, value, err) : 0;
}

/* Records of a pax header ("27 path=…\n"…). is_global: those for all entries to come, which may not say what would have to
 * be carried on: a path, a link or a size. */
static int tar_pax_parse(str records, bool is_global, struct tar_extra *x, struct err *err)
{
    while (records.n) {
        str digits, key, value;
        uint64_t n;
        bool is_record = str_cut(str_upto(records, LENGTH_DIGITS), ' ', &digits, &value) && str_to_uint64(digits, &n);
        /* The length counts itself, the blank, and the newline at the end. */
        if (!is_record || n < digits.n + 2 || n > records.n || records.p[n - 1] != '\n')
            return err_set(err, ERR_INVALID, "the archive is damaged: a record of an extended header has no end");
        str text = str_from(str_upto(records, n - 1), digits.n + 1);
        if (!str_cut(text, '=', &key, &value))
            return err_set(err, ERR_INVALID, "the archive is damaged: a record of an extended header has no value");
        int code = set_record(key, value, is_global, x, err);
        if (code < 0)
            return code;
        records = str_from(records, n);
    }
    return 0;
}

/* A name of GNU: ends with NUL. */
static int tar_long_name(str data, struct buf *ret, struct err *err)
{
    bool has = false;
    while (data.n && data.p[data.n - 1] == '\0')
        data.n--;
    return set_text(ret, &has, data, err);
}

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
    struct tar_header h = {0};
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

static const char zeros[2 * TAR_BLOCK];

static int write_header(struct oci_sink sink, str path, char type, size_t size, struct err *err)
{
    char block[TAR_BLOCK] = {0};
    unsigned sum = 0;
    memcpy(block, path.p, path.n < N_NAME ? path.n : N_NAME);
    snprintf(block + AT_MODE, 8, "%07o", type == '5' ? 0755U : 0644U);
    snprintf(block + AT_UID, 8, "%07o", 0U);
    snprintf(block + AT_GID, 8, "%07o", 0U);
    snprintf(block + AT_SIZE, 12, "%011llo", (unsigned long long)size & 077777777777);
    snprintf(block + AT_TIME, 12, "%011o", 0U);
    memset(block + AT_SUM, ' ', 8);
    block[AT_TYPE] = type;
    memcpy(block + AT_MAGIC, "ustar\00000", 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + AT_SUM, 7, "%06o", sum);
    return sink.take(sink.ctx, (str){block, TAR_BLOCK}, err);
}

static int write_data(struct oci_sink sink, str data, struct err *err)
{
    size_t padding = -data.n & (TAR_BLOCK - 1);
    int code = data.n ? sink.take(sink.ctx, data, err) : 0;
    return code < 0 || padding == 0 ? code : sink.take(sink.ctx, (str){zeros, padding}, err);
}

/* The length of a record counts its own digits. */
static str path_record(struct arena *a, str path)
{
    size_t body = sizeof(" path=\n") - 1 + path.n, n = body + 1;
    while (n - body < (size_t)snprintf(NULL, 0, "%zu", n))
        n++;
    return str_fmt(a, "%zu path=%.*s\n", n, STR(path));
}

int tar_write_entry(struct oci_sink sink, str path, const str *data, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = 0;
    if (data == NULL)
        path = str_fmt(&scratch, "%.*s/", STR(path));
    if (path.n > N_NAME) {
        str record = path_record(&scratch, path);
        if ((code = write_header(sink, S("PaxHeaders/path"), 'x', record.n, err)) < 0 ||
            (code = write_data(sink, record, err)) < 0)
            return code;
    }
    code = write_header(sink, path, data ? '0' : '5', data ? data->n : 0, err);
    return code < 0 || data == NULL ? code : write_data(sink, *data, err);
}

int tar_write_end(struct oci_sink sink, struct err *err)
{
    return sink.take(sink.ctx, (str){zeros, sizeof(zeros)}, err);
}
