/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term.h"

#include "cli/help.h"
#include "cli/visible.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
