/* SPDX-License-Identifier: Apache-2.0 */
#include "package/finding.h"

enum { TEXT_MAX = 1000 }; /* of a condition's message, about */

str finding_shown(struct arena *a, str text, size_t max)
{
    if (text.n <= max)
        return text;
    size_t n = max;
    while (n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return str_fmt(a, "%.*s…", (int)n, text.p);
}

/* In place: messages stay on one line, whatever they quote. */
static str on_one_line(struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if ((unsigned char)b->p[i] < ' ' || b->p[i] == 0x7f)
            b->p[i] = ' ';
    return buf_str(b);
}

void findings_add(struct findings *f, str reason, const char *fmt, ...)
{
    if (f->list.n == FINDINGS_MAX) {
        f->more++;
        return;
    }
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    *vec_push(f->arena, &f->list) =
        (struct finding){reason, str_dup(f->arena, finding_shown(&scratch, on_one_line(&b), FINDING_MAX_BYTES))};
}

str findings_text(struct arena *a, const struct findings *f)
{
    struct buf b = {.arena = a};
    size_t told = 0;
    while (told < f->list.n && (told == 0 || b.n + f->list.p[told].message.n <= TEXT_MAX)) {
        if (told)
            buf_add_str(&b, S("; "));
        buf_add_str(&b, f->list.p[told++].message);
    }
    size_t rest = f->list.n - told + f->more;
    if (rest)
        buf_fmt(&b, "; and %zu more", rest);
    return buf_str(&b);
}
