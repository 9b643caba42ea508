/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term.h"
#include "base/arena.h"
#include "base/rune.h"
#include "cli/help.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

enum { DEFAULT_WIDTH = 80, MIN_WIDTH = 20, MAX_WIDTH = 1000 };

const char *const term_colors[] = {[TERM_AUTO] = "auto", [TERM_ALWAYS] = "always", [TERM_NEVER] = "never", NULL};

/* Empty counts as not set, as the convention of NO_COLOR has it. */
static const char *from_env(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): before any thread */
    return value && value[0] ? value : NULL;
}

/* 0: nobody knows. */
static unsigned width_of_output(void)
{
    uint64_t columns = 0;
    struct winsize size;
    const char *told = from_env("COLUMNS");
    if (told == NULL || !str_to_uint64(str_of(told), &columns))
        columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    if (columns == 0)
        return 0;
    return columns < MIN_WIDTH ? MIN_WIDTH : columns > MAX_WIDTH ? MAX_WIDTH : (unsigned)columns;
}

void term_open(struct term *t, enum term_color color, bool is_quiet, unsigned verbosity)
{
    const char *kind = from_env("TERM");
    unsigned width = width_of_output();
    bool is_dumb = kind == NULL || strcmp(kind, "dumb") == 0;
    bool wants = color == TERM_ALWAYS || (color == TERM_AUTO && !is_dumb && !from_env("NO_COLOR"));
    (void)setlocale(LC_CTYPE, ""); /* NOLINT(concurrency-mt-unsafe): before any thread */
    *t = (struct term){
        .has_color = wants && (color == TERM_ALWAYS || isatty(STDOUT_FILENO)),
        .has_talk_color = wants && (color == TERM_ALWAYS || isatty(STDERR_FILENO)),
        .is_live = !is_dumb && isatty(STDERR_FILENO),
        .has_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0, /* NOLINT(concurrency-mt-unsafe): before any thread */
        .is_quiet = is_quiet,
        .verbosity = verbosity,
        .width = width ? width : DEFAULT_WIDTH,
        .has_width = width != 0,
    };
}

size_t term_room(const struct term *t)
{
    return t->has_width ? t->width : 0;
}

str term_style(const struct term *t, enum term_style style)
{
    static const str codes[] = {
        [STYLE_PLAIN] = S_INIT("\x1b[0m"), [STYLE_GAIN] = S_INIT("\x1b[32m"), [STYLE_LOSS] = S_INIT("\x1b[31m"),
        [STYLE_WARN] = S_INIT("\x1b[33m"), [STYLE_HEAD] = S_INIT("\x1b[1m"),  [STYLE_FAINT] = S_INIT("\x1b[2m"),
        [STYLE_NAME] = S_INIT("\x1b[36m"),
    };
    return t->has_color ? codes[style] : S("");
}

void term_add(struct buf *b, const struct term *t, enum term_style style, str text)
{
    if (style != STYLE_PLAIN)
        buf_add_str(b, term_style(t, style));
    cli_add_visibly(b, text);
    if (style != STYLE_PLAIN)
        buf_add_str(b, term_style(t, STYLE_PLAIN));
}

const struct term_lines *term_lines(const struct term *t)
{
    static const struct term_lines fine = {S_INIT("├── "), S_INIT("└── "), S_INIT("│   "), S_INIT("    "), S_INIT("…")};
    static const struct term_lines plain = {S_INIT("|-- "), S_INIT("`-- "), S_INIT("|   "), S_INIT("    "),
                                            S_INIT("...")};
    return t->has_utf8 ? &fine : &plain;
}

/* ---- Talk. ---- */

static void add_lines(struct buf *b, str text)
{
    bool more = true;
    for (str line; more;) {
        more = str_cut(text, '\n', &line, &text);
        cli_add_visibly(b, line);
        buf_add_char(b, '\n');
    }
}

__attribute__((format(printf, 2, 0))) static void talk(const char *who, const char *fmt, va_list args)
{
    struct buf said = {0}, shown = {0};
    if (who)
        buf_fmt(&said, "%s %s: ", help_program(), who);
    buf_vfmt(&said, fmt, args);
    add_lines(&shown, buf_str(&said));
    (void)fflush(stdout); /* what was printed before stands before it, in a file of both, too; main tells of an error */
    (void)fwrite(shown.p, 1, shown.n, stderr);
    buf_done(&said);
    buf_done(&shown);
}

void term_say(const struct term *t, const char *fmt, ...)
{
    va_list args;
    if (t->is_quiet)
        return;
    va_start(args, fmt);
    talk(NULL, fmt, args);
    va_end(args);
}

void term_complain(const char *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    talk(command, fmt, args);
    va_end(args);
}
