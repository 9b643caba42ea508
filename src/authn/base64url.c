/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/base64url.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

str base64url_encode(struct arena *a, str bytes)
{
    struct buf out = {.arena = a};
    uint32_t bits = 0;
    unsigned have = 0; /* bits not yet written */
    for (size_t i = 0; i < bytes.n; i++) {
        bits = bits << 8 | (unsigned char)bytes.p[i];
        for (have += 8; have >= 6; have -= 6)
            buf_add_char(&out, alphabet[bits >> (have - 6) & 63]);
    }
    if (have)
        buf_add_char(&out, alphabet[bits << (6 - have) & 63]);
    return buf_str(&out);
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
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool base64url_decode(struct arena *a, str text, str *ret)
{
    struct buf out = {.arena = a};
    uint32_t bits = 0;
    unsigned have = 0;
    if (text.n % 4 == 1)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int six = bits_of((unsigned char)text.p[i]);
        if (six < 0)
            return false;
        bits = bits << 6 | (uint32_t)six;
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_add_char(&out, (char)(bits >> have));
        }
    }
    if (bits & ((1U << have) - 1)) /* what is left over must be nothing: else two texts would mean the same bytes */
        return false;
    *ret = buf_str(&out);
    return true;
}
