/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "base/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0xe2;
}

/* Writes the escape of s[i] to *out and returns how many bytes of s it replaces. */
static size_t escape(char **out, str s, size_t i)
{
    static const char hex[] = "0123456789abcdef";
    static const char short_form[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    unsigned char c = (unsigned char)s.p[i];
    char *o = *out;
    if (c == 0xe2) {
        bool separator = s.n - i >= 3 && (unsigned char)s.p[i + 1] == 0x80 && ((unsigned char)s.p[i + 2] | 1) == 0xa9;
        if (!separator) {
            *(*out)++ = (char)c;
            return 1;
        }
        memcpy(o, (unsigned char)s.p[i + 2] == 0xa8 ? "\\u2028" : "\\u2029", 6);
        *out += 6;
        return 3;
    }
    *o++ = '\\';
    if (c < sizeof short_form && short_form[c]) {
        *o++ = short_form[c];
    } else {
        memcpy(o, "u00", 3);
        o[3] = hex[c >> 4];
        o[4] = hex[c & 15];
        o += 5;
    }
    *out = o;
    return 1;
}

typedef unsigned char bytes16 __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

/* A byte that is not zero stands where an escape may be needed: a control character, one of " \ < > &, or not ASCII
 * (only U+2028 and U+2029 are escaped then, which copy_escaped finds out byte by byte). */
static inline bytes16 special_bytes(bytes16 v)
{
    return (bytes16)(v < 0x20) | (bytes16)(v > 0x7f) | (bytes16)((v & (unsigned char)~0x04) == '"') |
           (bytes16)((v | 0x02) == '>') | (bytes16)(v == '\\');
}

static inline bool is_zero(bytes16 v)
{
    halves h = (halves)v;
    return (h[0] | h[1]) == 0;
}

static inline bytes16 copy16(char *out, const char *from)
{
    bytes16 v;
    memcpy(&v, from, sizeof v);
    memcpy(out, &v, sizeof v);
    return special_bytes(v);
}

/* Copies s while it looks for what needs an escape; false when there is such a byte (then the copy is of no use). The
 * last step overlaps the one before instead of leaving single bytes over. */
static inline bool copy_plain(char *out, str s)
{
    if (s.n >= 16) {
        bytes16 special = copy16(out + s.n - 16, s.p + s.n - 16);
        for (size_t i = 0; i < s.n - 16; i += 16)
            special |= copy16(out + i, s.p + i);
        return is_zero(special);
    }
    if (s.n >= 8) {
        uint64_t first, last;
        memcpy(&first, s.p, 8);
        memcpy(&last, s.p + s.n - 8, 8);
        memcpy(out, &first, 8);
        memcpy(out + s.n - 8, &last, 8);
        return is_zero(special_bytes((bytes16)(halves){first, last}));
    }
    if (s.n >= 4) {
        uint32_t first, last;
        memcpy(&first, s.p, 4);
        memcpy(&last, s.p + s.n - 4, 4);
        memcpy(out, &first, 4);
        memcpy(out + s.n - 4, &last, 4);
        uint64_t both = (uint64_t)first << 32 | last;
        return is_zero(special_bytes((bytes16)(halves){both, both}));
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!is_plain((unsigned char)s.p[i]))
            return false;
        out[i] = s.p[i];
    }
    return true;
}

/* The output has room for 6 bytes per input byte. */
static char *copy_escaped(char *out, str s)
{
    for (size_t i = 0; i < s.n;) {
        if (is_plain((unsigned char)s.p[i]))
            *out++ = s.p[i++];
        else
            i += escape(&out, s, i);
    }
    return out;
}

enum { PIECE = 256 }; /* of a long string, so that it does not reserve six times its size at once */

static void encode_long(struct buf *b, str s)
{
    buf_add_char(b, '"');
    while (s.n) {
        size_t n = s.n > PIECE ? PIECE : s.n;
        if (!budget_charge(PIECE / 64))
            break;
        while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80) /* U+2028 is not split */
            n++;
        if (b->cap - b->n < n * 6)
            buf_grow(b, n * 6);
        char *at = b->p + b->n;
        str piece = str_upto(s, n);
        b->n = (size_t)((copy_plain(at, piece) ? at + n : copy_escaped(at, piece)) - b->p);
        s = str_from(s, n);
    }
    buf_add_char(b, '"');
}

void json_encode_str(struct buf *b, str s)
{
    if (s.n > PIECE) {
        encode_long(b, s);
        return;
    }
    if (b->cap - b->n < s.n * 6 + 2)
        buf_grow(b, s.n * 6 + 2);
    char *at = b->p + b->n;
    *at++ = '"';
    at = copy_plain(at, s) ? at + s.n : copy_escaped(at, s);
    *at++ = '"';
    b->n = (size_t)(at - b->p);
}

static void encode_int(struct buf *b, uint64_t u, bool minus)
{
    char digits[24], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    if (minus)
        *--p = '-';
    buf_add(b, p, (size_t)(digits + sizeof digits - p));
}

/* The shortest digits that read back as d, without a point, and the power of ten of the first one: 1.5 → "15", 0. */
static size_t shortest_digits(double d, char digits[32], int *exponent)
{
    char memory[2048];
    yyjson_alc alc;
    yyjson_alc_pool_init(&alc, memory, sizeof memory);
    yyjson_val v = {0};
    unsafe_yyjson_set_real(&v, d);
    size_t len;
    char *text = yyjson_val_write_opts(&v, 0, &alc, &len, NULL);
    if (text == NULL)
        abort();
    size_t n = 0;
    int point = -1, exp = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.') {
            point = (int)n;
        } else if (text[i] == 'e' || text[i] == 'E') {
            exp = (int)strtol(text + i + 1, NULL, 10);
            break;
        } else if (char_is_digit(text[i]) && n < 31) {
            digits[n++] = text[i];
        }
    }
    if (point < 0)
        point = (int)n;
    size_t zeros = 0; /* in front: 0.001 */
    while (zeros + 1 < n && digits[zeros] == '0')
        zeros++;
    memmove(digits, digits + zeros, n - zeros);
    n -= zeros;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    *exponent = exp + point - (int)zeros - 1;
    return n;
}

/* As Go prints a float64 in JSON: plain digits from 1e-6 up to 1e21, else 1.5e-7 and 1e+21. */
static void encode_real(struct buf *b, double d)
{
    char digits[32] = "0";
    int exp;
    if (d < 0 || (d == 0 && __builtin_signbit(d)))
        buf_add_char(b, '-');
    if (d == 0) {
        buf_add_char(b, '0');
        return;
    }
    int n = (int)shortest_digits(d < 0 ? -d : d, digits, &exp);
    if (exp < -6 || exp >= 21) {
        buf_add_char(b, digits[0]);
        if (n > 1)
            buf_fmt(b, ".%.*s", n - 1, digits + 1);
        buf_fmt(b, "e%c%02d", exp < 0 ? '-' : '+', abs(exp));
        if (b->p[b->n - 2] == '0' && exp < 0 && exp > -10) {
            b->p[b->n - 2] = b->p[b->n - 1]; /* Go's encoder turns e-09 into e-9 */
            b->n--;
        }
        return;
    }
    if (exp < 0)
        buf_fmt(b, "0.%.*s", -exp - 1, "000000");
    for (int i = 0; i < n || i <= exp; i++) {
        if (i == exp + 1 && exp >= 0)
            buf_add_char(b, '.');
        buf_add_char(b, i < n ? digits[i] : '0');
    }
}

void json_encode_number(struct buf *b, const struct json *v)
{
    if (v->type == JSON_INT)
        encode_int(b, v->i < 0 ? 0 - (uint64_t)v->i : (uint64_t)v->i, v->i < 0);
    else if (v->type == JSON_UINT)
        encode_int(b, v->u, false);
    else
        encode_real(b, v->d);
}

struct encoder {
    struct buf *b;
    unsigned flags;
    unsigned depth;
};

static void encode(struct encoder *e, const struct json *v);

static void new_line(struct encoder *e)
{
    if (!(e->flags & JSON_PRETTY))
        return;
    buf_add_char(e->b, '\n');
    for (unsigned i = 0; i < e->depth; i++)
        buf_add_str(e->b, S("  "));
}

static void encode_member(struct encoder *e, const struct json_member *m, bool first)
{
    if (!first)
        buf_add_char(e->b, ',');
    new_line(e);
    json_encode_str(e->b, json_key(m));
    buf_add_char(e->b, ':');
    if (e->flags & JSON_PRETTY)
        buf_add_char(e->b, ' ');
    encode(e, &m->val);
}

static int by_key(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    return str_cmp(json_key(*x), json_key(*y));
}

static void encode_sorted(struct encoder *e, const struct json *obj)
{
    enum { ON_STACK = 16 };
    const struct json_member *few[ON_STACK], **list = few;
    if (obj->n > ON_STACK && (list = malloc(obj->n * sizeof *list)) == NULL)
        abort();
    budget_charge((size_t)obj->n * 8);
    for (uint32_t i = 0; i < obj->n; i++)
        list[i] = &obj->members[i];
    qsort(list, obj->n, sizeof *list, by_key);
    for (uint32_t i = 0; i < obj->n; i++)
        encode_member(e, list[i], i == 0);
    if (list != few)
        free(list);
}

static void encode_children(struct encoder *e, const struct json *v)
{
    bool obj = v->type == JSON_OBJ;
    bool is_deep = e->flags & JSON_PRETTY && e->depth > 16;
    if (!budget_charge(is_deep ? v->n : 1))
        return;
    buf_add_char(e->b, obj ? '{' : '[');
    e->depth++;
    if (obj && (e->flags & JSON_SORTED)) {
        encode_sorted(e, v);
    } else if (obj) {
        for (uint32_t i = 0; i < v->n && budget_charge_round(i, v->n); i++)
            encode_member(e, &v->members[i], i == 0);
    } else {
        for (uint32_t i = 0; i < v->n && budget_charge_round(i, v->n); i++) {
            if (i)
                buf_add_char(e->b, ',');
            new_line(e);
            encode(e, &v->items[i]);
        }
    }
    e->depth--;
    if (v->n)
        new_line(e);
    buf_add_char(e->b, obj ? '}' : ']');
}

static void encode(struct encoder *e, const struct json *v)
{
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        buf_add_str(e->b, S("null"));
        break;
    case JSON_BOOL:
        buf_add_str(e->b, v->b ? S("true") : S("false"));
        break;
    case JSON_STR:
        json_encode_str(e->b, (str){v->s, v->n});
        break;
    case JSON_ARR:
    case JSON_OBJ:
        encode_children(e, v);
        break;
    default:
        json_encode_number(e->b, v);
    }
}

void json_encode(struct buf *b, const struct json *v, unsigned flags)
{
    static const struct json null;
    struct encoder e = {b, flags, 0};
    encode(&e, v ? v : &null);
}
