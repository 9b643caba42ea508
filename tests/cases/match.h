/* SPDX-License-Identifier: Apache-2.0 */
/* What: expectations about answers of a server: JSON or text in which some values are made up, "<rv a>".
 * Owns: the table of names; texts live in the arena.
 * Threads: one.
 * Errors: none.
 *
 * Texts of the form "<kind name>" stand for what the server makes up: <uid …>, <rv …>, <time …>, <any …>. The first of a name
 * may be anything of that kind, later ones must be the same. The name may be left out. */
#pragma once

#include "base/map.h"
#include "json/json.h"

struct match {
    struct arena *arena;
    struct map bound; /* "<rv a>" → struct json * */
};

void match_done(struct match *m);
/* The text with what is known in place of "<rv a>" and "<rv a + 1>"; "<fill 1000>" becomes a thousand letters. */
str match_fill(struct match *m, str text);
/* A text that may be, or hold, placeholders. */
bool match_text(struct match *m, str want, str got);
/* The same JSON, whatever the order of its members, managedFields aside unless they are wanted; with is_part the answer may have
 * members that are not listed here, at any depth, but for those that are "<none>". What is no JSON is compared as text; an empty
 * want: it does not matter. */
bool match_body(struct match *m, str want, str got, bool is_part);
