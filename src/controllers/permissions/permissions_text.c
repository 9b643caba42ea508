/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_text.h"

str permission_clip(struct arena *a, str text, size_t n)
{
    if (text.n <= n)
        return text;
    while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return str_fmt(a, "%.*s…", (int)n, text.p);
}

void permission_note(struct buf *list, str item, size_t n)
{
    if (str_has_suffix(buf_str(list), S(", …")))
        return;
    if (list->n + item.n + 2 > n)
        item = S("…");
    if (list->n)
        buf_add_str(list, S(", "));
    buf_add_str(list, item);
}
