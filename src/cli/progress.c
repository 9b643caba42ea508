/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/rune.h"
#include "cli/term.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    BAR = 20,                /* columns */
    NARROW = 60,             /* columns of a terminal that has no room for bars */
    WIDE_FROM = 0x1100,      /* characters that may take two columns */
    FRAME_NS = 80 * 1000000, /* between two drawings of what only moves */
    FRAMES = 4,              /* of what moves */
};

/* ---- Pure. ---- */

void progress_bytes(struct buf *b, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    size_t unit = 0;
    uint64_t rest = 0; /* thousandths of the unit */
    while (bytes >= 1000) {
        rest = bytes % 1000;
        bytes /= 1000;
        unit++;
    }
    buf_add_uint(b, bytes);
    if (unit)
        buf_fmt(b, ".%u", (unsigned)(rest / 100));
    buf_fmt(b, " %s", units[unit]);
}

static void add_part(struct buf *b, size_t start)
{
    if (b->n > start)
        buf_add_char(b, ' ');
}

/* "3/5 12.6 MB of 20.1 MB note" */
static void add_details(struct buf *b, const struct progress_step *step)
{
    size_t start = b->n;
    if (step->of)
        buf_fmt(b, "%llu/%llu", (unsigned long long)step->at, (unsigned long long)step->of);
    if (step->bytes) {
        add_part(b, start);
        progress_bytes(b, step->bytes);
        if (step->bytes_of > step->bytes && step->state == PROGRESS_RUNNING) {
            buf_add_str(b, S(" of "));
            progress_bytes(b, step->bytes_of);
        }
    }
    if (step->note.n) {
        add_part(b, start);
        cli_add_visibly(b, step->note);
    }
}

void progress_line(struct buf *b, const struct progress_step *step)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf details = {.arena = &scratch};
    add_details(&details, step);
    buf_fmt(b, "%s%s%s%.*s", step->state == PROGRESS_FAILED ? "failed: " : "", step->name, details.n ? " " : "",
            STR(buf_str(&details)));
}

/* As much of the text as fits into so many columns; returns how many it took. */
static unsigned add_columns(struct buf *b, str text, unsigned room)
{
    unsigned used = 0;
    while (text.n) {
        str rest = text;
        unsigned columns = rune_next(&rest) < WIDE_FROM ? 1 : 2;
        if (used + columns > room)
            break;
        buf_add(b, text.p, text.n - rest.n);
        used += columns;
        text = rest;
    }
    return used;
}

static void add_glyph(struct buf *b, const struct progress_step *step, const struct progress_look *look)
{
    static const char *const ascii[] = {[PROGRESS_AHEAD] = " ", [PROGRESS_DONE] = "+", [PROGRESS_FAILED] = "x"};
    static const char *const utf8[] = {[PROGRESS_AHEAD] = "·", [PROGRESS_DONE] = "✓", [PROGRESS_FAILED] = "✗"};
    static const char *const ascii_moves[FRAMES] = {"|", "/", "-", "\\"};
    static const char *const utf8_moves[FRAMES] = {"◐", "◓", "◑", "◒"};
    static const enum term_style styles[] = {[PROGRESS_AHEAD] = STYLE_FAINT,
                                             [PROGRESS_RUNNING] = STYLE_NAME,
                                             [PROGRESS_DONE] = STYLE_GAIN,
                                             [PROGRESS_FAILED] = STYLE_LOSS};
    struct term talk = *look->term;
    talk.has_color = talk.has_talk_color;
    const char *glyph = look->term->has_utf8 ? utf8[step->state] : ascii[step->state];
    if (step->state == PROGRESS_RUNNING)
        glyph = (look->term->has_utf8 ? utf8_moves : ascii_moves)[look->turn % FRAMES];
    buf_add_str(b, term_style(&talk, styles[step->state]));
    buf_add_str(b, str_of(glyph));
    buf_add_str(b, term_style(&talk, STYLE_PLAIN));
}

static void add_bar(struct buf *b, const struct progress_step *step, bool has_utf8)
{
    /* In parts of the whole, so that no product overflows. */
    uint64_t of = step->bytes_of ? step->bytes_of : step->of, at = step->bytes_of ? step->bytes : step->at;
    unsigned full = (unsigned)((double)(at < of ? at : of) / (double)of * BAR);
    buf_add_str(b, has_utf8 ? (str){0} : S("["));
    for (unsigned i = 0; i < BAR; i++)
        buf_add_str(b, i < full ? (has_utf8 ? S("━") : S("#")) : has_utf8 ? S("─") : S("-"));
    buf_add_str(b, has_utf8 ? S(" ") : S("] "));
}

static size_t widest_name(const struct progress_step *steps, size_t n)
{
    size_t widest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t width = strlen(steps[i].name);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* " + CRDs        [####----] 12/40 note": the glyph, the name in a column of its own, the rest as far as there is room. */
static void draw_step(struct buf *b, const struct progress_step *step, size_t names, const struct progress_look *look)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.arena = &scratch};
    unsigned room = look->width;
    if (room > 2) {
        add_glyph(b, step, look);
        buf_add_char(b, ' ');
        room -= 2;
    }
    buf_fmt(&text, "%s%*s", step->name, (int)(names - strlen(step->name)), "");
    room -= add_columns(b, buf_str(&text), room);
    text.n = 0;
    add_details(&text, step);
    if (text.n && room > 2) {
        buf_add_str(b, S("  "));
        room -= 2;
        if (step->of && step->state == PROGRESS_RUNNING && look->width >= NARROW && room > BAR + 3) {
            add_bar(b, step, look->term->has_utf8);
            room -= BAR + 3;
        }
        (void)add_columns(b, buf_str(&text), room);
    }
    while (b->n && b->p[b->n - 1] == ' ')
        b->n--;
    buf_add_char(b, '\n');
}

void progress_draw(struct buf *b, const struct progress_step *steps, size_t n, const struct progress_look *look)
{
    size_t names = widest_name(steps, n);
    for (size_t i = 0; i < n; i++)
        draw_step(b, &steps[i], names, look);
}

/* ---- Effects. ---- */

/* Whoever reads may be gone; the work goes on. */
static void put(const struct buf *b)
{
    for (size_t at = 0; at < b->n;) {
        ssize_t done = write(STDERR_FILENO, b->p + at, b->n - at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return;
        at += (size_t)done;
    }
}

/* Standard error may be another terminal than standard output, and its window may have just changed. The last column stays empty:
 * some terminals begin a new line when it is written. */
static unsigned width_now(const struct progress *p)
{
    struct winsize size;
    unsigned width = p->term->width;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    return width > 1 ? width - 1 : 1;
}

static void wipe(struct buf *b, struct progress *p)
{
    if (p->drawn)
        buf_fmt(b, "\x1b[%zuA\r\x1b[J", p->drawn);
    p->drawn = 0;
}

static void draw(struct buf *b, struct progress *p)
{
    wipe(b, p);
    progress_draw(b, p->steps, p->n, &(struct progress_look){p->term, width_now(p), p->turn++});
    p->drawn = p->n;
}

static uint64_t count_finished(const struct progress *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        n += p->steps[i].state >= PROGRESS_DONE;
    return n;
}

static void show_lines(struct buf *b, struct progress *p)
{
    for (size_t i = 0; i < p->n; i++) {
        struct progress_step *step = &p->steps[i];
        if (step->state < PROGRESS_DONE || step->is_told)
            continue;
        step->is_told = true;
        progress_line(b, step);
        buf_add_char(b, '\n');
    }
}

void progress_show(struct progress *p)
{
    struct buf b = {0};
    if (p->term->is_quiet)
        return;
    if (!p->term->is_live) {
        show_lines(&b, p);
    } else {
        int64_t now = clock_mono_ns(&clock_system);
        uint64_t finished = count_finished(p);
        if (p->drawn && finished == p->finished && now - p->drawn_at < FRAME_NS)
            return;
        p->drawn_at = now;
        p->finished = finished;
        draw(&b, p);
    }
    put(&b);
    buf_done(&b);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
    struct buf b = {0}, text = {0};
    if (p->term->is_quiet)
        return;
    bool was_drawn = p->drawn != 0;
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    wipe(&b, p);
    bool more = true;
    for (str rest = buf_str(&text), line; more;) {
        more = str_cut(rest, '\n', &line, &rest);
        cli_add_visibly(&b, line);
        buf_add_char(&b, '\n');
    }
    if (was_drawn)
        draw(&b, p);
    put(&b);
    buf_done(&text);
    buf_done(&b);
}

void progress_end(struct progress *p)
{
    struct buf b = {0};
    if (p->drawn)
        draw(&b, p);
    put(&b);
    buf_done(&b);
    p->drawn = 0;
}
