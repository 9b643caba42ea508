/* SPDX-License-Identifier: Apache-2.0 */
#include "json/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

str base64_encode(struct arena *a, str bytes)
{
    size_t n = bytes.n / 3 * 4 + (bytes.n % 3 ? 4 : 0);
    if (n == 0)
        return (str){0};
    char *out = arena_alloc(a, n), *at = out;
    const unsigned char *in = (const unsigned char *)bytes.p;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t have = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t bits = (uint32_t)in[i] << 16 | (have > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (have > 2 ? in[i + 2] : 0);
        *at++ = alphabet[bits >> 18];
        *at++ = alphabet[bits >> 12 & 63];
        *at++ = have > 1 ? alphabet[bits >> 6 & 63] : '=';
        *at++ = have > 2 ? alphabet[bits & 63] : '=';
    }
    return (str){out, n};
}

/* The six bits of a character, or -1. */
static int bits_of(unsigned char c)
{
    if (char_is_upper(c))
        return c - 'A';
    if (char_is_lower(c))
        return c - 'a' + 26;
    if (char_is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t skip_breaks(str text, size_t at)
{
    while (at < text.n && (text.p[at] == '\n' || text.p[at] == '\r'))
        at++;
    return at;
}

/* What must follow a '=' that stands at `at` behind `have` characters of its group: true when the text ends well. */
static bool ends_well(str text, size_t at, unsigned have, size_t *ret_at)
{
    *ret_at = at;
    if (have < 2)
        return false;
    at = skip_breaks(text, at + 1);
    if (have == 2) {
        *ret_at = at < text.n ? at - 1 : text.n;
        if (at == text.n || text.p[at] != '=')
            return false;
        at = skip_breaks(text, at + 1);
    }
    *ret_at = at;
    return at == text.n;
}

int base64_decode(struct arena *a, str text, str *ret, size_t *ret_at)
{
    char *out = ret ? arena_alloc(a, text.n / 4 * 3 + 3) : NULL;
    size_t n = 0, at = 0;
    uint32_t bits = 0;
    unsigned have = 0; /* characters of the present group of four */
    for (; (at = skip_breaks(text, at)) < text.n; at++) {
        int six = bits_of((unsigned char)text.p[at]);
        if (six < 0)
            break;
        bits = bits << 6 | (uint32_t)six;
        if (++have < 4)
            continue;
        if (out) {
            out[n] = (char)(bits >> 16);
            out[n + 1] = (char)(bits >> 8);
            out[n + 2] = (char)bits;
        }
        n += 3;
        bits = have = 0;
    }
    if (at < text.n) {
        *ret_at = at;
        if (text.p[at] != '=' || !ends_well(text, at, have, ret_at))
            return -1;
    } else if (have) {
        *ret_at = at - have;
        return -1;
    }
    if (out && have >= 2)
        out[n++] = (char)(bits >> (have == 2 ? 4 : 10));
    if (out && have == 3)
        out[n++] = (char)(bits >> 2);
    if (ret)
        *ret = (str){out, n};
    return 0;
}
