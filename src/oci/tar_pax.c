/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/tar_parts.h"

#include "oci/shown.h"

enum { LENGTH_DIGITS = 8 }; /* a record is never longer than TAR_PAX_MAX */

void tar_extra_clear(struct tar_extra *x)
{
    x->has_path = x->has_link = x->has_size = false;
    x->path.n = x->link.n = 0;
}

void tar_extra_done(struct tar_extra *x)
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

int tar_pax_parse(str records, bool is_global, struct tar_extra *x, struct err *err)
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

int tar_long_name(str data, struct buf *ret, struct err *err)
{
    bool has = false;
    while (data.n && data.p[data.n - 1] == '\0')
        data.n--;
    return set_text(ret, &has, data, err);
}
