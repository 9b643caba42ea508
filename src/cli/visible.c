/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/visible.h"

void cli_add_visibly(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool c1 = c == 0xc2 && i + 1 < text.n && (unsigned char)text.p[i + 1] < 0xa0;
        if (c < ' ' || c == 0x7f || c1)
            buf_fmt(b, "\\x%02x", c1 ? (unsigned char)text.p[++i] : c);
        else
            buf_add_char(b, (char)c);
    }
}

/* 0xc2 begins the control characters of the second set, and some letters: whoever has one is looked at twice. */
bool cli_is_visible(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < ' ' || c == 0x7f || c == 0xc2)
            return false;
    }
    return true;
}
