/* SPDX-License-Identifier: Apache-2.0 */
/* What: text of others on a terminal: what a terminal would obey is shown instead.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/str.h"

struct arena;

/* Control characters and bytes that are not UTF-8 as \x1b, what has no form of its own as \u202e; a line stays one line. */
void cli_add_visibly(struct buf *b, str text);
/* The same as a text: for what stands in the middle of a message of several lines, where a foreign line could pass for ours. */
str cli_visible(struct arena *a, str text);
/* Surely nothing of it is shown otherwise. */
bool cli_is_visible(str text);

/* Who is at the other end of our output: a terminal with colours, or a program; and talk, which goes to standard error. */

enum term_color { TERM_AUTO, TERM_ALWAYS, TERM_NEVER };
extern const char *const term_colors[]; /* the words of --color */

struct term {
    bool has_color;      /* on standard output */
    bool has_talk_color; /* on standard error */
    bool is_live;        /* standard error is a terminal that can be redrawn: progress bars */
    bool has_utf8;       /* else lines are drawn in ASCII */
    bool is_quiet;       /* only errors are told */
    unsigned verbosity;
    unsigned width; /* columns of standard output; 80 when nobody knows */
    bool has_width; /* somebody does: a terminal, or COLUMNS */
};

/* NO_COLOR, TERM=dumb, COLUMNS and the locale count. */
void term_open(struct term *t, enum term_color color, bool is_quiet, unsigned verbosity);

enum term_style { STYLE_PLAIN, STYLE_GAIN, STYLE_LOSS, STYLE_WARN, STYLE_HEAD, STYLE_FAINT, STYLE_NAME };

/* What switches a style on, on standard output; "" without colours. STYLE_PLAIN switches all off. */
str term_style(const struct term *t, enum term_style style);
/* text in a style, control characters shown instead of sent. */
void term_add(struct buf *b, const struct term *t, enum term_style style, str text);

/* With what trees are drawn. */
struct term_lines {
    str branch, last; /* in front of what hangs there; of the last of them */
    str line, none;   /* below these, in front of what hangs deeper */
    str dots;
};

const struct term_lines *term_lines(const struct term *t);

/* Columns that a line may take; 0: nobody knows, a program is going to read it, and it stays whole. */
size_t term_room(const struct term *t);

/* How a line that is too long is broken. */
struct term_wrap {
    size_t width; /* columns there are; 0: it is not */
    str lead;     /* in front of the first line */
    str hang;     /* in front of those that follow */
};

/* A line of text that a terminal may be sent, styles and all: broken between words, a newline at the end of each line. */
void term_add_wrapped(struct buf *b, const struct term *t, const struct term_wrap *w, str text);

/* A line of talk, unless it is to be quiet; a newline is added, control characters but for newlines are shown. */
void term_say(const struct term *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "reeve plan: …", always. */
void term_complain(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
