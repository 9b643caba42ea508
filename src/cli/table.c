/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "base/arena.h"
#include "cli/command.h"
#include "cli/visible.h"

enum { GAP = 3, PIECE = 64 * 1024 };

void cli_table_reserve(struct table *t, size_t rows)
{
    size_t n = arena_array_size(rows, t->columns);
    if (t->cells.n || n <= t->cells.cap)
        return;
    t->cells.p = arena_alloc(t->arena, arena_array_size(n, sizeof *t->cells.p));
    t->cells.cap = n;
}

void cli_table_add_cells(struct table *t, const struct table_cell *cells)
{
    for (size_t i = 0; i < t->columns; i++) {
        struct table_cell *cell = vec_push(t->arena, &t->cells);
        *cell = cells[i];
        cell->text = cli_visible(t->arena, cells[i].text);
    }
}

void cli_table_add(struct table *t, const str *cells)
{
    for (size_t i = 0; i < t->columns; i++)
        *vec_push(t->arena, &t->cells) = (struct table_cell){.text = cli_visible(t->arena, cells[i])};
}

static size_t width_of_text(str text)
{
    return str_is_utf8(text) ? str_utf8_len(text) : text.n;
}

static size_t width_of(const struct table_cell *cell)
{
    return width_of_text(cell->lead) + width_of_text(cell->text);
}

static void add_styled(struct buf *b, const struct term *term, enum term_style style, str text)
{
    if (term && style != STYLE_PLAIN && text.n)
        term_add(b, term, style, text);
    else
        buf_add_str(b, text);
}

/* leaving: called at ends of lines when there is much in b, and takes it away; or NULL. */
static void print(struct buf *b, const struct table *t, void (*leaving)(struct buf *b))
{
    size_t *widths = ARENA_ARRAY(t->arena, size_t, t->columns), gap = t->gap ? t->gap : GAP;
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t width = width_of(&t->cells.p[i]), *widest = &widths[i % t->columns];
        *widest = width > *widest ? width : *widest;
    }
    size_t pad = 0; /* owed before the next text, so that no line ends in spaces */
    for (size_t i = 0; i < t->cells.n; i++) {
        const struct table_cell *cell = &t->cells.p[i];
        size_t width = width_of(cell);
        for (; width && pad; pad--)
            buf_add_char(b, ' ');
        add_styled(b, t->term, STYLE_FAINT, cell->lead);
        add_styled(b, t->term, cell->style, cell->text);
        pad += widths[i % t->columns] - width + gap;
        if (i % t->columns == t->columns - 1) {
            buf_add_char(b, '\n');
            pad = 0;
            if (leaving && b->n >= PIECE)
                leaving(b);
        }
    }
}

void cli_table_print(struct buf *b, const struct table *t)
{
    print(b, t, NULL);
}

static void put_out(struct buf *b)
{
    output_text(buf_str(b));
    b->n = 0;
}

void cli_table_output(const struct table *t)
{
    struct buf piece = {0};
    print(&piece, t, put_out);
    put_out(&piece);
    buf_done(&piece);
}
