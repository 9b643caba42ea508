/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term.h"

enum { ESCAPE = '\x1b' };

/* The first style in a word, or an empty text. What others wrote has none: it is made visible. */
static str style_in(str word)
{
    const char *from = word.n ? memchr(word.p, ESCAPE, word.n) : NULL;
    const char *to = from ? memchr(from, 'm', word.n - (size_t)(from - word.p)) : NULL;
    return to ? (str){from, (size_t)(to - from) + 1} : (str){0};
}

static size_t width_of(str word)
{
    size_t n = str_is_utf8(word) ? str_utf8_len(word) : word.n;
    for (str style; (style = style_in(word)).n; word = str_from(word, (size_t)(style.p - word.p) + style.n))
        n -= style.n;
    return n;
}

/* The style that is on behind a word; empty: none. */
static str style_behind(const struct term *t, str word, str before)
{
    for (str style; (style = style_in(word)).n; word = str_from(word, (size_t)(style.p - word.p) + style.n))
        before = str_eq(style, term_style(t, STYLE_PLAIN)) ? (str){0} : style;
    return before;
}

/* A style does not colour what is in front of the next line. */
static void break_line(struct buf *b, const struct term *t, str hang, str style)
{
    if (style.n)
        buf_add_str(b, term_style(t, STYLE_PLAIN));
    buf_add_char(b, '\n');
    buf_add_str(b, hang);
    buf_add_str(b, style);
}

void term_add_wrapped(struct buf *b, const struct term *t, const struct term_wrap *w, str text)
{
    size_t used = width_of(w->lead);
    bool is_empty = true; /* nothing of the text is on the line yet */
    str style = {0};
    buf_add_str(b, w->lead);
    for (str word; text.n;) {
        str_cut(text, ' ', &word, &text);
        size_t n = width_of(word);
        if (!is_empty && w->width && used + 1 + n > w->width) {
            break_line(b, t, w->hang, style);
            used = width_of(w->hang);
            is_empty = true;
        }
        if (!is_empty) {
            buf_add_char(b, ' ');
            used++;
        }
        buf_add_str(b, word);
        used += n;
        is_empty = false;
        style = style_behind(t, word, style);
    }
    buf_add_char(b, '\n');
}
