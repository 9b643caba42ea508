/* SPDX-License-Identifier: Apache-2.0 */
/* What: the page a YAML document is printed on: columns, indentation, and scalars in one of four styles. Private to the
 *       YAML printer of this folder.
 * Owns: nothing; text goes to the buffer given.
 * Threads: one page, one thread.
 * Errors: none.
 *
 * libyaml can print too, but the Go port that kubectl prints with has parted from it (document ends after "|+", strings
 * with blanks before line breaks, …), and users compare output byte by byte. */
#pragma once

#include "base/str.h"

enum yaml_style { YAML_PLAIN, YAML_SINGLE, YAML_DOUBLE, YAML_LITERAL };

struct yaml_page {
    struct buf *out;
    int column; /* characters so far in this line */
    int indent; /* where block lines start; -1 before the first */
    bool blank; /* the last character parts tokens: no further space is needed */
    bool fresh; /* nothing but indentation and "- " or "? " in this line */
};

enum { YAML_INDENT = 2, YAML_WIDTH = 80 };

/* Starts a line at the current indentation, unless one is started already. */
void yaml_page_line(struct yaml_page *p);
/* "- " and the like: spaced puts a space in front if there is none; block says that a container may begin in this line. */
void yaml_page_mark(struct yaml_page *p, const char *mark, bool spaced, bool block);
/* Whether s can be a key in one line. */
bool yaml_is_simple_key(str s);
/* Prints a string in the style asked for, or the next one that can hold it. A key is never broken into lines. */
void yaml_page_text(struct yaml_page *p, str s, enum yaml_style style, bool key);
