/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of the gate that turns Go's expressions into PCRE2's. Only for pattern_*.c.
 * Owns: nothing.
 * Threads: one gate, one thread.
 * Errors: gate_fail, with the texts of Go's regexp/syntax. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum gate_flag {
    GATE_FOLD = 1,  /* (?i) */
    GATE_LINES = 2, /* (?m): ^ and $ at every line */
    GATE_DOT = 4,   /* (?s): . takes newlines */
};

/* An open group, and what to return to when it closes. */
struct gate_group {
    size_t out;     /* where it begins in the output */
    unsigned flags; /* of what is around it */
    uint32_t cost;  /* the largest so far inside */
};

struct gate {
    str in;
    size_t at;
    struct buf *out;
    struct err *err;
    struct arena arena;
    unsigned flags;
    VEC(struct gate_group) groups;
    uint32_t cost; /* largest product of nested repeat counts among the atoms of the open group */

    bool has_atom, atom_needs_group; /* what a repeat operator would repeat */
    size_t atom;                     /* where it begins in the output */
    uint32_t atom_cost;
    size_t repeat; /* where the repeat operator just read begins in the input; SIZE_MAX: the last thing was none */
};

/* "error parsing regexp: <what>: `<text>`"; returns false. */
bool gate_fail(struct gate *g, const char *what, str text);
/* The next character; at must not be at the end. */
uint32_t gate_next(struct gate *g);
/* After a backslash: the character it denotes. */
bool gate_escape(struct gate *g, uint32_t *ret);
/* \d, \w, [:alpha:]… without their backslash or brackets: writes the items of a class. */
enum unicode_class { UNICODE_UNKNOWN, UNICODE_ANY, UNICODE_CATEGORY, UNICODE_SCRIPT };

/* [abc], at the bracket. */
bool gate_class(struct gate *g);
/* \pL, \p{Greek}, \d, \W…, at the backslash: *ret_found is set if it was one; then it is written as a class. */
bool gate_class_escape(struct gate *g, bool *ret_found);
/* One character as PCRE2 text. */
void gate_put(struct buf *b, uint32_t c);
