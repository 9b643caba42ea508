/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/rune.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

void buf_done(struct buf *b)
{
    if (b->arena == NULL)
        free(b->p);
    *b = (struct buf){0};
}

void buf_grow(struct buf *b, size_t extra)
{
    size_t need;
    if (__builtin_add_overflow(b->n, extra, &need) || need > SIZE_MAX / 2)
        abort();
    if (need <= b->cap)
        return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    while (cap < need)
        cap *= 2;
    b->p = b->arena ? arena_realloc(b->arena, b->p, b->cap, cap) : realloc(b->p, cap);
    if (b->p == NULL)
        abort();
    b->cap = cap;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    if (n > b->cap - b->n)
        buf_grow(b, n);
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_vfmt(struct buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    buf_grow(b, 1);
    int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, args); /* what there is mostly suffices */
    if (n < 0)
        abort();
    if ((size_t)n >= b->cap - b->n) {
        buf_grow(b, (size_t)n + 1);
        (void)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    b->n += (size_t)n;
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    buf_vfmt(b, fmt, args);
    va_end(args);
}

void buf_add_uint(struct buf *b, uint64_t v)
{
    char digits[20]; /* of 2^64 - 1 */
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    buf_add(b, digits + at, sizeof digits - at);
}

/* A character that cannot stand for itself between quotes. */
static void quote_rune(struct buf *b, uint32_t r)
{
    static const char names[] = "\aa\bb\ff\nn\rr\tt\vv\"\"\\\\";
    for (size_t i = 0; i + 1 < sizeof names; i += 2) {
        if ((unsigned char)names[i] == r) {
            buf_add_char(b, '\\');
            buf_add_char(b, names[i + 1]);
            return;
        }
    }
    if (r < 0x80)
        buf_fmt(b, "\\x%02x", r);
    else
        buf_fmt(b, r < 0x10000 ? "\\u%04x" : "\\U%08x", r);
}

/* How much of the start of s stands for itself between quotes: printable ASCII. */
static size_t plain_start(str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= ' ' && s.p[n] <= '~' && s.p[n] != '"' && s.p[n] != '\\')
        n++;
    return n;
}

void buf_add_quoted(struct buf *b, str s)
{
    buf_add_char(b, '"');
    while (s.n) {
        size_t plain = plain_start(s);
        if (plain) {
            buf_add(b, s.p, plain);
            s = str_from(s, plain);
            continue;
        }
        str rest = s;
        uint32_t r = rune_next(&rest);
        size_t n = s.n - rest.n;
        if (r == RUNE_BAD && n == 1)
            buf_fmt(b, "\\x%02x", (unsigned char)s.p[0]);
        else if (r == '"' || r == '\\' || !rune_is_print(r))
            quote_rune(b, r);
        else
            buf_add(b, s.p, n);
        s = rest;
    }
    buf_add_char(b, '"');
}
