/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Not zero when one of the eight bytes is zero. */
static inline uint64_t zero_byte(uint64_t w)
{
    return (w - ONES) & ~w & HIGHS;
}

/* Not zero when one of the eight bytes may need an escape: a control character, one of " \ < > &, or not ASCII (only
 * U+2028 and U+2029 do, but they are told apart byte by byte). */
static inline uint64_t special_byte(uint64_t w)
{
    uint64_t control = (w - ONES * 0x20) & ~w & HIGHS;
    uint64_t quote_or_amp = zero_byte((w & ~(ONES * 0x04)) ^ (ONES * 0x22));
    uint64_t angle = zero_byte((w | (ONES * 0x02)) ^ (ONES * 0x3e));
    uint64_t backslash = zero_byte(w ^ (ONES * 0x5c));
    return control | quote_or_amp | angle | backslash | (w & HIGHS);
}

static inline bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0xe2;
}

/* Writes the escape of s[i] to *out and returns how many bytes of s it stands for. */
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

/* The output has room for 6 bytes per input byte. */
static char *escape_into(char *out, str s)
{
    size_t i = 0;
    while (i < s.n) {
        uint64_t w;
        if (s.n - i >= sizeof w) {
            memcpy(&w, s.p + i, sizeof w);
            if (special_byte(w) == 0) {
                memcpy(out, &w, sizeof w);
                out += sizeof w;
                i += sizeof w;
                continue;
            }
        }
        size_t end = s.n - i > sizeof w ? i + sizeof w : s.n;
        while (i < end) {
            if (is_plain((unsigned char)s.p[i]))
                *out++ = s.p[i++];
            else
                i += escape(&out, s, i);
        }
    }
    return out;
}

void json_encode_str(struct buf *b, str s)
{
    enum { PIECE = 512 };
    buf_add_char(b, '"');
    while (s.n) {
        /* In pieces, so that a long text does not reserve six times its size; U+2028 is not split. */
        size_t n = s.n > PIECE ? PIECE : s.n;
        while (n < s.n && n < PIECE + 4 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
            n++;
        if (b->cap - b->n < n * 6)
            buf_grow(b, n * 6);
        b->n = (size_t)(escape_into(b->p + b->n, str_upto(s, n)) - b->p);
        s = str_from(s, n);
    }
    buf_add_char(b, '"');
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
        } else if (text[i] >= '0' && text[i] <= '9' && n < 31) {
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
    char digits[32];
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
    buf_add_char(e->b, obj ? '{' : '[');
    e->depth++;
    if (obj && (e->flags & JSON_SORTED)) {
        encode_sorted(e, v);
    } else if (obj) {
        for (uint32_t i = 0; i < v->n; i++)
            encode_member(e, &v->members[i], i == 0);
    } else {
        for (uint32_t i = 0; i < v->n; i++) {
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
