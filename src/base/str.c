/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

int str_cmp(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_str(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

void str_sort(str *list, size_t n)
{
    if (n > 1)
        qsort(list, n, sizeof *list, compare_str);
}

bool str_has_prefix(str s, str prefix)
{
    return s.n >= prefix.n && str_eq(str_upto(s, prefix.n), prefix);
}

bool str_has_suffix(str s, str suffix)
{
    return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

ptrdiff_t str_find_char(str s, char c)
{
    const char *at = s.n ? memchr(s.p, c, s.n) : NULL;
    return at ? at - s.p : -1;
}

ptrdiff_t str_find(str s, str needle)
{
    if (needle.n == 0)
        return 0;
    const char *at = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
    return at ? at - s.p : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

str str_trim(str s)
{
    while (s.n && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool str_cut(str s, char c, str *before, str *rest)
{
    ptrdiff_t at = str_find_char(s, c);
    *before = at < 0 ? s : str_upto(s, (size_t)at);
    *rest = at < 0 ? (str){0} : str_from(s, (size_t)at + 1);
    return at >= 0;
}

bool str_to_uint64(str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

bool str_to_int64(str s, int64_t *ret)
{
    bool minus = s.n && s.p[0] == '-';
    bool sign = minus || (s.n && s.p[0] == '+');
    uint64_t v;
    if (!str_to_uint64(str_from(s, sign), &v) || v > (uint64_t)INT64_MAX + minus)
        return false;
    *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* Length of the code point at p, at most n bytes long, or 0 when it is not valid UTF-8. */
static size_t utf8_step(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : len;
}

bool str_is_utf8(str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    for (size_t i = 0; i < s.n;) {
        uint64_t word;
        if (s.n - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                i += sizeof word;
                continue;
            }
        }
        size_t step = utf8_step(p + i, s.n - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

size_t str_utf8_len(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

str str_dup(struct arena *a, str s)
{
    if (s.n == 0)
        return (str){"", 0};
    char *p = arena_alloc_aligned(a, s.n, 1);
    memcpy(p, s.p, s.n);
    return (str){p, s.n};
}

str str_clip(struct arena *a, str s)
{
    static const char mark[] = "\xe2\x80\xa6";
    if (s.n <= STR_QUOTED_MAX)
        return s;
    size_t n = STR_QUOTED_MAX - (sizeof mark - 1);
    while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    char *p = arena_alloc_aligned(a, n + sizeof mark, 1);
    memcpy(p, s.p, n);
    memcpy(p + n, mark, sizeof mark - 1);
    return (str){p, n + sizeof mark - 1};
}

str str_lower(struct arena *a, str s)
{
    char *p = arena_alloc(a, s.n + 1);
    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(char_is_upper(s.p[i]) ? s.p[i] + 32 : s.p[i]);
    return (str){p, s.n};
}

char *str_cstr(struct arena *a, str s)
{
    char *p = arena_alloc_aligned(a, s.n + 1, 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return p;
}

str str_fmt(struct arena *a, const char *fmt, ...)
{
    struct buf b = {.arena = a};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    return buf_str(&b);
}
