/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/visible.h"

#include "base/arena.h"
#include "base/rune.h"

enum { C1_END = 0xa0, TWO_BYTES = 0xffff };

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c < 0x7f;
}

/* Besides control characters those that move text or hide it: a name written from right to left reads as another. */
static void add_rune(struct buf *b, str bytes, uint32_t r)
{
    if (bytes.n == 1 || r < C1_END)
        buf_fmt(b, "\\x%02x", bytes.n == 1 ? (unsigned char)bytes.p[0] : (unsigned)r);
    else if (rune_is_print(r))
        buf_add_str(b, bytes);
    else
        buf_fmt(b, r > TWO_BYTES ? "\\U%08x" : "\\u%04x", (unsigned)r);
}

void cli_add_visibly(struct buf *b, str text)
{
    while (text.n) {
        size_t plain = 0;
        while (plain < text.n && is_plain((unsigned char)text.p[plain]))
            plain++;
        buf_add(b, text.p, plain);
        text = str_from(text, plain);
        if (text.n == 0)
            break;
        str rest = text;
        uint32_t r = rune_next(&rest);
        add_rune(b, str_upto(text, text.n - rest.n), r);
        text = rest;
    }
}

/* Eight at a time: whether some byte is below ' ', or above '~'. Names by the hundred thousand come through here. */
static bool is_word_plain(const char *p)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    uint64_t word;
    memcpy(&word, p, sizeof word);
    bool is_low = (word - each * ' ') & ~word & high, is_high = ((word + each) | word) & high;
    return !is_low && !is_high;
}

/* What is not ASCII is looked at twice. */
bool cli_is_visible(str text)
{
    size_t i = 0;
    for (; text.n - i >= sizeof(uint64_t); i += sizeof(uint64_t))
        if (!is_word_plain(text.p + i))
            return false;
    for (; i < text.n; i++)
        if (!is_plain((unsigned char)text.p[i]))
            return false;
    return true;
}

str cli_visible(struct arena *a, str text)
{
    struct buf shown = {.arena = a};
    if (cli_is_visible(text))
        return text;
    cli_add_visibly(&shown, text);
    return buf_str(&shown);
}
