/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/tar_parts.h"

#include "oci/shown.h"

/*   offset  0     100   108  116  124   136    148   156  157   257    263      265 …  345     500
 *           name  mode  uid  gid  size  mtime  sum   type link  magic  version      prefix
 *
 * Fields are texts that end with NUL unless they are full. Numbers are octal, or, with the first bit set, binary with the
 * most significant byte first (GNU, for what is too large). */
enum {
    AT_MODE = 100,
    AT_SIZE = 124,
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

int tar_header_parse(const char block[TAR_BLOCK], struct tar_header *ret, struct err *err)
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
