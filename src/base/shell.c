/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"

static bool is_plain(str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_letter = char_is_alnum(c);
        if (!is_letter && (c == 0 || !strchr("_-./:=,@%+", c)))
            return false;
    }
    return text.n > 0;
}

void shell_add_word(struct buf *b, str text)
{
    if (is_plain(text)) {
        buf_add_str(b, text);
        return;
    }
    buf_add_char(b, '\'');
    for (size_t i = 0; i < text.n; i++)
        buf_add_str(b, text.p[i] == '\'' ? S("'\\''") : (str){text.p + i, 1});
    buf_add_char(b, '\'');
}

str shell_word(struct arena *a, str text)
{
    struct buf word = {.arena = a};
    if (is_plain(text))
        return text;
    shell_add_word(&word, text);
    return buf_str(&word);
}
