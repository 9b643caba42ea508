/* SPDX-License-Identifier: Apache-2.0 */
#include "json/yaml_print.h"

#include "base/budget.h"
#include "base/rune.h"

/* What of a string decides on its style. */
struct look {
    bool indicator;                /* would not read back as one plain string */
    bool breaks;                   /* has line breaks */
    bool special;                  /* has characters that must be escaped */
    bool edge_blank;               /* begins or ends with a space or a line break */
    bool end_space;                /* ends with a space */
    bool space_break, break_space; /* has a space before, or after, a line break */
};

static bool is_break(uint32_t r)
{
    return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029;
}

static bool is_printable(uint32_t r)
{
    return r == '\n' || (r >= 0x20 && r <= 0x7e) || (r >= 0xa0 && r <= 0xfffd && r != 0xfeff);
}

static bool ends_word(str rest)
{
    return rest.n == 0 || rest.p[0] == ' ' || rest.p[0] == '\t';
}

/* Whether the character r, the first of a string if first, means something to a YAML reader where it stands. */
static bool is_indicator(uint32_t r, bool first, bool after_blank, str rest)
{
    if (r == ':')
        return ends_word(rest);
    if (r == '#')
        return after_blank;
    if (!first || r == 0 || r > 0x7f)
        return false;
    return r == '-' || r == '?' ? ends_word(rest) : strchr(",[]{}&*!|>'\"%@`", (int)r) != NULL;
}

static struct look look_at(str s)
{
    struct look l = {.indicator = str_has_prefix(s, S("---")) || str_has_prefix(s, S("..."))};
    bool after_space = false, after_break = false, after_blank = true;
    for (str rest = s; rest.n;) {
        bool first = rest.n == s.n;
        uint32_t r = rune_next(&rest);
        bool space = r == ' ', line = is_break(r), edge = first || rest.n == 0;
        l.indicator |= is_indicator(r, first, after_blank, rest);
        l.special |= !is_printable(r);
        l.breaks |= line;
        l.edge_blank |= edge && (space || line);
        l.end_space |= space && rest.n == 0;
        l.break_space |= space && after_break;
        l.space_break |= line && after_space;
        after_space = space;
        after_break = line;
        after_blank = space || line || r == '\t' || r == 0;
    }
    return l;
}

bool yaml_is_simple_key(str s)
{
    return s.n <= 128 && !look_at(s).breaks;
}

static enum yaml_style choose(str s, enum yaml_style style, bool key)
{
    struct look l = look_at(s);
    if (style == YAML_PLAIN && (l.edge_blank || l.break_space || l.space_break || l.special || l.breaks || l.indicator))
        style = YAML_SINGLE;
    if (style == YAML_SINGLE && (l.break_space || l.space_break || l.special))
        style = YAML_DOUBLE;
    if (style == YAML_LITERAL && (l.end_space || l.space_break || l.special || key))
        style = YAML_DOUBLE;
    return style;
}

/* ---- The page. ---- */

static void put(struct yaml_page *p, char c)
{
    buf_add_char(p->out, c);
    p->column++;
}

static void put_newline(struct yaml_page *p)
{
    buf_add_char(p->out, '\n');
    p->column = 0;
}

void yaml_page_line(struct yaml_page *p)
{
    int indent = p->indent < 0 ? 0 : p->indent;
    if (!p->fresh || p->column > indent || (p->column == indent && !p->blank))
        put_newline(p);
    while (p->column < indent)
        put(p, ' ');
    p->blank = p->fresh = true;
}

void yaml_page_mark(struct yaml_page *p, const char *mark, bool spaced, bool block)
{
    if (spaced && !p->blank)
        put(p, ' ');
    while (*mark)
        put(p, *mark++);
    p->blank = false;
    p->fresh = p->fresh && block;
}

/* Takes one character from the front of *s to the page as it is. */
static void copy(struct yaml_page *p, str *s)
{
    str rest = *s;
    uint32_t r = rune_next(&rest);
    buf_add(p->out, s->p, s->n - rest.n);
    p->column = is_break(r) ? 0 : p->column + 1;
    *s = rest;
}

/* Whether the line is broken at the space in front of s, which then stands for that space. */
static bool can_fold(const struct yaml_page *p, str s, bool after_space, bool key)
{
    return !key && !after_space && p->column > YAML_WIDTH && s.n > 1;
}

static void write_plain(struct yaml_page *p, str s, bool key)
{
    bool after_space = false;
    if (!p->blank)
        put(p, ' ');
    while (s.n) {
        bool space = s.p[0] == ' ';
        if (space && can_fold(p, s, after_space, key) && s.p[1] != ' ') {
            yaml_page_line(p);
            s = str_from(s, 1);
        } else {
            copy(p, &s);
        }
        p->fresh = false;
        after_space = space;
    }
    p->blank = p->fresh = false;
}

/* Line breaks here are U+2028 and U+2029, which are not folded; a string with newlines is literal or double-quoted. */
static void write_single(struct yaml_page *p, str s, bool key)
{
    bool after_space = false, after_break = false;
    size_t all = s.n;
    yaml_page_mark(p, "'", true, false);
    while (s.n) {
        str rest = s;
        uint32_t r = rune_next(&rest);
        bool line = is_break(r);
        if (r == ' ' && can_fold(p, s, after_space, key) && s.n < all && s.p[1] != ' ') {
            yaml_page_line(p);
            s = rest;
        } else {
            if (!line && r != ' ' && after_break)
                yaml_page_line(p);
            if (r == '\'')
                put(p, '\'');
            copy(p, &s);
        }
        p->fresh = line || (p->fresh && r == ' ');
        after_break = line || (after_break && r == ' ');
        after_space = r == ' ' || (after_space && line);
    }
    yaml_page_mark(p, "'", false, false);
}

static void put_escape(struct yaml_page *p, uint32_t r)
{
    static const struct {
        uint32_t r;
        char name;
    } names[] = {{0, '0'},     {7, 'a'},    {8, 'b'},    {9, 't'},      {10, 'n'},
                 {11, 'v'},    {12, 'f'},   {13, 'r'},   {0x1b, 'e'},   {0x22, '"'},
                 {0x5c, '\\'}, {0x85, 'N'}, {0xa0, '_'}, {0x2028, 'L'}, {0x2029, 'P'}};
    put(p, '\\');
    for (size_t i = 0; i < COUNT(names); i++) {
        if (names[i].r == r) {
            put(p, names[i].name);
            return;
        }
    }
    size_t before = p->out->n;
    if (r <= 0xff)
        buf_fmt(p->out, "x%02X", r);
    else
        buf_fmt(p->out, r <= 0xffff ? "u%04X" : "U%08X", r);
    p->column += (int)(p->out->n - before);
}

static void write_double(struct yaml_page *p, str s, bool key)
{
    bool after_space = false;
    size_t all = s.n;
    yaml_page_mark(p, "\"", true, false);
    while (s.n) {
        str rest = s;
        uint32_t r = rune_next(&rest);
        if (!is_printable(r) || is_break(r) || r == '"' || r == '\\') {
            put_escape(p, r);
            s = rest;
        } else if (r == ' ' && can_fold(p, s, after_space, key) && s.n < all) {
            yaml_page_line(p);
            s = rest;
            if (s.p[0] == ' ')
                put(p, '\\');
        } else {
            copy(p, &s);
        }
        after_space = r == ' ';
    }
    yaml_page_mark(p, "\"", false, false);
}

/* How a literal block ends: "-" without a line break, "" with one, "+" with several or nothing else. */
static const char *chomping(str s)
{
    bool last = true, before = true;
    while (s.n) {
        before = last;
        last = is_break(rune_next(&s));
    }
    return !last ? "-" : before ? "+" : "";
}

static void write_literal(struct yaml_page *p, str s)
{
    str rest = s;
    uint32_t first = rune_next(&rest);
    bool after_break = true;
    yaml_page_mark(p, "|", true, false);
    if (first == ' ' || is_break(first))
        yaml_page_mark(p, "2", false, false);
    yaml_page_mark(p, chomping(s), false, false);
    put_newline(p);
    p->fresh = p->blank = true;
    while (s.n) {
        rest = s;
        bool line = is_break(rune_next(&rest));
        if (!line && after_break)
            yaml_page_line(p);
        copy(p, &s);
        p->fresh = after_break = line;
    }
}

void yaml_page_text(struct yaml_page *p, str s, enum yaml_style style, bool key)
{
    int outer = p->indent;
    budget_charge(s.n / 8);
    p->indent = outer < 0 ? YAML_INDENT : outer + YAML_INDENT;
    switch (choose(s, style, key)) {
    case YAML_PLAIN:
        write_plain(p, s, key);
        break;
    case YAML_SINGLE:
        write_single(p, s, key);
        break;
    case YAML_DOUBLE:
        write_double(p, s, key);
        break;
    case YAML_LITERAL:
        write_literal(p, s);
        break;
    }
    p->indent = outer;
}
