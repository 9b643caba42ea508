/* SPDX-License-Identifier: Apache-2.0 */
/* What: strings as views ({pointer, length}, by value) and a builder that grows.
 * Owns: a str owns nothing; a buf owns its bytes (heap), or its arena does.
 * Threads: plain values, no shared state.
 * Errors: none; running out of memory aborts. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena;

/* A view of bytes that live elsewhere. Not NUL-terminated; may hold NULs. The zero value is the empty string. */
typedef struct {
    const char *p;
    size_t n;
} str;

/* Number of elements of an array; not for pointers. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define S(lit) ((str){"" lit, sizeof(lit) - 1})
#define S_INIT(lit)             \
    {                           \
        "" lit, sizeof(lit) - 1 \
    }
/* For printf: "%.*s", STR(s). */
#define STR(s) (int)(s).n, (s).n ? (s).p : ""

/* ASCII only, whatever the locale. */
static inline bool char_is_digit(uint32_t c)
{
    return c - '0' < 10;
}

static inline bool char_is_lower(uint32_t c)
{
    return c - 'a' < 26;
}

static inline bool char_is_upper(uint32_t c)
{
    return c - 'A' < 26;
}

static inline bool char_is_letter(uint32_t c)
{
    return char_is_lower(c) || char_is_upper(c);
}

static inline bool char_is_alnum(uint32_t c)
{
    return char_is_letter(c) || char_is_digit(c);
}

static inline str str_of(const char *cstr)
{
    return (str){cstr, cstr ? strlen(cstr) : 0};
}

static inline bool str_eq(str a, str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline str str_from(str s, size_t start)
{
    return start >= s.n ? (str){0} : (str){s.p + start, s.n - start};
}

static inline str str_upto(str s, size_t n)
{
    return n >= s.n ? s : (str){s.p, n};
}

/* Byte order, as Go's and etcd's. */
int str_cmp(str a, str b);
/* In this order. */
void str_sort(str *list, size_t n);
bool str_has_prefix(str s, str prefix);
bool str_has_suffix(str s, str suffix);
/* Position of the first byte c, or -1. */
ptrdiff_t str_find_char(str s, char c);
/* Position of the first occurrence of needle, or -1. */
ptrdiff_t str_find(str s, str needle);
str str_trim(str s);
/* Cuts s at the first c: returns what is before and leaves the rest in *rest (empty and false when there is no c). */
bool str_cut(str s, char c, str *before, str *rest);
/* Whole string as a decimal number; false on anything else, overflow included. */
bool str_to_int64(str s, int64_t *ret);
bool str_to_uint64(str s, uint64_t *ret);
/* Valid UTF-8 as RFC 3629 defines it (no surrogates, no overlong forms). */
bool str_is_utf8(str s);
/* Number of code points of a valid UTF-8 string. */
size_t str_utf8_len(str s);

str str_dup(struct arena *a, str s);
/* What a message repeats of a text that a client sent: all of it, or at most STR_QUOTED_MAX bytes of it that end with "…", at a
 * character boundary. */
enum { STR_QUOTED_MAX = 1024 };
str str_clip(struct arena *a, str s);
/* A copy with ASCII letters made small. */
str str_lower(struct arena *a, str s);
/* A NUL-terminated copy, for calls into C libraries. */
char *str_cstr(struct arena *a, str s);
str str_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bytes under construction. Zero-initialise with an arena (or NULL: heap, then buf_done). */
struct buf {
    char *p;
    size_t n, cap;
    struct arena *arena;
};

void buf_done(struct buf *b);
void buf_grow(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vfmt(struct buf *b, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* In decimal; many times faster than buf_fmt. */
void buf_add_uint(struct buf *b, uint64_t v);
/* Appends s as Go's %q prints it: double quotes, backslash escapes. */
void buf_add_quoted(struct buf *b, str s);

static inline void buf_add_str(struct buf *b, str s)
{
    if (s.n)
        buf_add(b, s.p, s.n);
}

static inline void buf_add_char(struct buf *b, char c)
{
    if (b->n == b->cap)
        buf_grow(b, 1);
    b->p[b->n++] = c;
}

static inline str buf_str(const struct buf *b)
{
    return (str){b->p, b->n};
}
