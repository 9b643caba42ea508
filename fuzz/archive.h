/* SPDX-License-Identifier: Apache-2.0 */
/* What: archives written as text, for seeds that can be read and inputs that get past the checksums.
 * Owns: nothing; bytes live in the arena given.
 * Threads: one.
 * Errors: none; what makes no sense makes an archive that makes none.
 *
 *     archive
 *     0||.registry/app.yaml||hello      type | size | path | link | data; with no size, that of the data
 *     x||pax||16 path=a/long\n          \n \0 \\ \| and \xHH stand for bytes
 *     end                               two blocks of zeros
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdio.h>

enum { ARCHIVE_BLOCK = 512 };

static inline int archive_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One field up to a '|' or the end of the line, unescaped; *at is moved behind it. */
static inline str archive_field(struct arena *a, str line, size_t *at)
{
    struct buf b = {.arena = a};
    for (; *at < line.n && line.p[*at] != '|'; ++*at) {
        char c = line.p[*at];
        if (c == '\\' && *at + 1 < line.n) {
            c = line.p[++*at];
            if (c == 'x' && *at + 2 < line.n && archive_digit(line.p[*at + 1]) >= 0 &&
                archive_digit(line.p[*at + 2]) >= 0) {
                c = (char)(archive_digit(line.p[*at + 1]) << 4 | archive_digit(line.p[*at + 2]));
                *at += 2;
            } else {
                c = c == 'n' ? '\n' : c == '0' ? '\0' : c;
            }
        }
        buf_add_char(&b, c);
    }
    ++*at;
    return buf_str(&b);
}

static inline void archive_put(char *to, str text, size_t max)
{
    if (text.n)
        memcpy(to, text.p, text.n < max ? text.n : max);
}

static inline void archive_entry(struct arena *a, str line, struct buf *out)
{
    char block[ARCHIVE_BLOCK] = {0}, number[24];
    unsigned sum = 0;
    size_t at = 0;
    str type = archive_field(a, line, &at), size = archive_field(a, line, &at), path = archive_field(a, line, &at),
        link = archive_field(a, line, &at), data = archive_field(a, line, &at);
    snprintf(number, sizeof number, "%011zo", data.n);
    archive_put(block, path, 100);
    archive_put(block + 100, S("0000644"), 8);
    archive_put(block + 124, size.n ? size : str_of(number), 12);
    memset(block + 148, ' ', 8);
    block[156] = type.n ? type.p[0] : '\0';
    archive_put(block + 157, link, 100);
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof block; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    buf_add(out, block, sizeof block);
    buf_add_str(out, data);
    while (out->n % ARCHIVE_BLOCK)
        buf_add_char(out, '\0');
}

/* The archive of the lines of text. */
static inline str archive_of(struct arena *a, str text)
{
    struct buf out = {.arena = a};
    str line;
    for (bool is_more = true; is_more;) {
        is_more = str_cut(text, '\n', &line, &text);
        if (str_eq(line, S("end")))
            for (int i = 0; i < 2 * ARCHIVE_BLOCK; i++)
                buf_add_char(&out, '\0');
        else if (line.n)
            archive_entry(a, line, &out);
    }
    return buf_str(&out);
}
