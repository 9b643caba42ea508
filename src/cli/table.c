/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "base/arena.h"
#include "cli/visible.h"

enum { GAP = 3 };

/* Most cells are so already. */
static str visible(struct arena *a, str cell)
{
    struct buf text = {.arena = a};
    cli_add_visibly(&text, cell);
    return text.n == cell.n ? cell : buf_str(&text);
}

void cli_table_add(struct table *t, const str *cells)
{
    for (size_t i = 0; i < t->columns; i++)
        *vec_push(t->arena, &t->cells) = visible(t->arena, cells[i]);
}

static size_t width_of(str cell)
{
    return str_is_utf8(cell) ? str_utf8_len(cell) : cell.n;
}

void cli_table_print(struct buf *b, const struct table *t)
{
    size_t *widths = ARENA_ARRAY(t->arena, size_t, t->columns);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t width = width_of(t->cells.p[i]), *widest = &widths[i % t->columns];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t i = 0; i < t->cells.n; i++) {
        bool is_last = i % t->columns == t->columns - 1;
        buf_add_str(b, t->cells.p[i]);
        for (size_t pad = width_of(t->cells.p[i]); !is_last && pad < widths[i % t->columns] + GAP; pad++)
            buf_add_char(b, ' ');
        if (is_last)
            buf_add_char(b, '\n');
    }
}
