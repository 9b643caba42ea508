/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/rune.h"
#include "base/str.h"
#include "json/yaml.h"
#include "json/yaml_internal.h"

#include <stdlib.h>

enum yaml_style { YAML_PLAIN, YAML_SINGLE, YAML_DOUBLE, YAML_LITERAL };
struct yaml_page {
    struct buf *out;
    int column; /* characters so far in this line */
    int indent; /* where block lines start; -1 before the first */
    bool blank; /* the last character parts tokens: no further space is needed */
    bool fresh; /* nothing but indentation and "- " or "? " in this line */
};

enum { YAML_INDENT = 2, YAML_WIDTH = 80 };

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

/* Whether the character r, the first of a string if first, is special to a YAML reader in its position. */
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

/* Whether s can be a key in one line. */
static bool yaml_is_simple_key(str s)
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

/* Starts a line at the current indentation, unless one is started already. */
static void yaml_page_line(struct yaml_page *p)
{
    int indent = p->indent < 0 ? 0 : p->indent;
    if (!p->fresh || p->column > indent || (p->column == indent && !p->blank))
        put_newline(p);
    while (p->column < indent)
        put(p, ' ');
    p->blank = p->fresh = true;
}

/* "- " and the like: spaced puts a space in front if there is none; block: a container may begin in this line. */
static void yaml_page_mark(struct yaml_page *p, const char *mark, bool spaced, bool block)
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

/* Whether the line is broken at the space in front of s, which then replaces that space. */
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

/* Prints a string in the style asked for, or the next one that can hold it. A key is never broken into lines. */
static void yaml_page_text(struct yaml_page *p, str s, enum yaml_style style, bool key)
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

static bool is_digit(uint32_t r)
{
    return char_is_digit(r);
}

/* ---- The order of keys: letters after everything else, numbers by value: a2 before a10. ---- */

/* Go asks its Unicode tables; we know the blocks beyond ASCII that hold no letters, or hardly any. */
static bool is_letter(uint32_t r)
{
    static const struct {
        uint32_t from, to;
    } others[] = {{0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb9},     {0xbb, 0xbf},      {0xd7, 0xd7},
                  {0xf7, 0xf7},     {0x300, 0x36f},   {0x2000, 0x2070}, {0x2072, 0x207e},  {0x2080, 0x208f},
                  {0x20a0, 0x2101}, {0x2190, 0x2bff}, {0x2e00, 0x3004}, {0x3007, 0x3030},  {0xd800, 0xf8ff},
                  {0xfe00, 0xfe6f}, {0xfeff, 0xff20}, {0xfff0, 0xffff}, {0x1f000, 0x1faff}};
    if (r < 0x80)
        return char_is_letter(r);
    for (size_t i = 0; i < COUNT(others); i++) {
        if (r >= others[i].from && r <= others[i].to)
            return false;
    }
    return true;
}

/* The number at the front of s on top of a start value; wraps around as Go's does. */
static int64_t take_number(str *s, uint64_t start)
{
    while (s->n && is_digit((unsigned char)s->p[0])) {
        start = start * 10 + (uint64_t)(s->p[0] - '0');
        *s = str_from(*s, 1);
    }
    return (int64_t)start;
}

/* Whether the run of digits that ends s has a digit other than 0. */
static bool ends_in_number(str s)
{
    while (s.n && is_digit((unsigned char)s.p[s.n - 1])) {
        if (s.p[--s.n] != '0')
            return true;
    }
    return false;
}

static bool is_less(str a, str b)
{
    str x = a, y = b;
    while (x.n && y.n) {
        str x_rest = x, y_rest = y;
        uint32_t c = rune_next(&x_rest), d = rune_next(&y_rest);
        if (c != d) {
            if (is_letter(c) || is_letter(d))
                return is_letter(c) && is_letter(d) ? c < d : is_letter(d);
            uint64_t start = (c == '0' || d == '0') && ends_in_number(str_upto(a, a.n - x.n));
            str x_end = x, y_end = y;
            int64_t n = take_number(&x_end, start), m = take_number(&y_end, start);
            if (n != m)
                return n < m;
            size_t x_digits = x.n - x_end.n, y_digits = y.n - y_end.n;
            return x_digits != y_digits ? x_digits < y_digits : c < d;
        }
        x = x_rest;
        y = y_rest;
    }
    return y.n > 0;
}

static bool is_less_by_bytes(str a, str b)
{
    return str_cmp(a, b) < 0;
}

/* A merge sort of its own: the order above is not always transitive, which qsort does not forgive; and it can be
 * suspended. */
static void merge_sort(const struct json_member **list, const struct json_member **spare, size_t n,
                       bool (*is_before)(str a, str b))
{
    size_t half = n / 2;
    if (n < 2)
        return;
    merge_sort(list, spare, half, is_before);
    merge_sort(list + half, spare, n - half, is_before);
    if (!budget_charge(n))
        return;
    memcpy(spare, list, half * sizeof *list);
    for (size_t i = 0, k = half, at = 0; i < half; at++) {
        bool second = k < n && is_before(json_key(list[k]), json_key(spare[i]));
        list[at] = second ? list[k++] : spare[i++];
    }
}

/* For the same reason the keys are put in an order of their own first: the output must not depend on how they came. */
static void sort_keys(const struct json_member **list, const struct json_member **spare, size_t n)
{
    merge_sort(list, spare, n, is_less_by_bytes);
    merge_sort(list, spare, n, is_less);
}

/* ---- Scalars. ---- */

/* Sexagesimal numbers such as 1:30 are strings to Kubernetes but not to other readers of YAML 1.1, so they are quoted:
 * [sign] digit {digit _} {: [0-5] digit}+ [. {digit _}] */
static bool is_base60(str s)
{
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');
    if (i >= s.n || !is_digit((unsigned char)s.p[i]))
        return false;
    while (i < s.n && (is_digit((unsigned char)s.p[i]) || s.p[i] == '_'))
        i++;
    bool any = false;
    for (; i + 1 < s.n && s.p[i] == ':'; any = true) {
        bool two = i + 2 < s.n && s.p[i + 1] <= '5' && is_digit((unsigned char)s.p[i + 2]);
        if (!is_digit((unsigned char)s.p[i + 1]))
            return false;
        i += two ? 3 : 2;
    }
    if (any && i < s.n && s.p[i] == '.') {
        for (i++; i < s.n && (is_digit((unsigned char)s.p[i]) || s.p[i] == '_');)
            i++;
    }
    return any && i == s.n;
}

static void print_text(struct yaml_page *p, str s, bool key)
{
    enum yaml_style style = YAML_PLAIN;
    if (str_find_char(s, '\n') >= 0)
        style = YAML_LITERAL;
    else if (yaml_resolve(s, true).type != YAML_STR || is_base60(s) || (key && str_eq(s, S("<<"))))
        style = YAML_DOUBLE;
    yaml_page_text(p, s, style, key);
}

/* kubectl's numbers go through JSON first, where 1.0 is 1; what is then no integer of 64 bits is printed as a float. */
static void print_number(struct yaml_page *p, const struct json *v)
{
    char memory[64];
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.p = memory, .cap = sizeof memory, .arena = &scratch};
    json_encode_number(&text, v);
    struct json number = yaml_resolve(buf_str(&text), false).value;
    text.n = 0;
    if (number.type == JSON_REAL)
        yaml_format_real(&text, number.d, 64);
    else
        json_encode_number(&text, &number);
    yaml_page_text(p, buf_str(&text), YAML_PLAIN, false);
}

/* ---- Containers. ---- */

enum { VALUE_STEPS = 10 }; /* of one value, with its line */

static void print(struct yaml_page *p, const struct json *v, bool member);

/* Dashes of a list that is a member are at the indentation of its key. */
static void print_items(struct yaml_page *p, const struct json *arr, bool member)
{
    int outer = p->indent;
    if (outer < 0)
        p->indent = 0;
    else if (!member || p->fresh)
        p->indent += YAML_INDENT;
    json_each_item(arr, item)
    {
        yaml_page_line(p);
        yaml_page_mark(p, "-", true, true);
        print(p, item, false);
    }
    p->indent = outer;
}

static void print_member(struct yaml_page *p, const struct json_member *m)
{
    bool simple = yaml_is_simple_key(json_key(m));
    yaml_page_line(p);
    if (!simple)
        yaml_page_mark(p, "?", true, true);
    print_text(p, json_key(m), simple);
    if (!simple)
        yaml_page_line(p);
    yaml_page_mark(p, ":", !simple, !simple);
    print(p, &m->val, true);
}

static void print_members(struct yaml_page *p, const struct json *obj)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json_member **list = ARENA_ARRAY(&scratch, const struct json_member *, obj->n);
    const struct json_member **spare = ARENA_ARRAY(&scratch, const struct json_member *, obj->n);
    int outer = p->indent;
    for (uint32_t i = 0; i < obj->n; i++)
        list[i] = &obj->members[i];
    sort_keys(list, spare, obj->n);
    p->indent = outer < 0 ? 0 : outer + YAML_INDENT;
    for (uint32_t i = 0; i < obj->n; i++)
        print_member(p, list[i]);
    p->indent = outer;
}

static void print(struct yaml_page *p, const struct json *v, bool member)
{
    if (!budget_charge(VALUE_STEPS))
        return;
    switch (json_type(v)) {
    case JSON_NULL:
        yaml_page_text(p, S("null"), YAML_PLAIN, false);
        break;
    case JSON_BOOL:
        yaml_page_text(p, v->b ? S("true") : S("false"), YAML_PLAIN, false);
        break;
    case JSON_STR:
        print_text(p, json_text(v), false);
        break;
    case JSON_ARR:
        if (v->n)
            print_items(p, v, member);
        else
            yaml_page_mark(p, "[]", true, false);
        break;
    case JSON_OBJ:
        if (v->n)
            print_members(p, v);
        else
            yaml_page_mark(p, "{}", true, false);
        break;
    default:
        print_number(p, v);
    }
}

void yaml_encode(struct buf *b, const struct json *v)
{
    struct yaml_page page = {.out = b, .indent = -1, .blank = true, .fresh = true};
    print(&page, v, false);
    yaml_page_line(&page);
}

void yaml_encode_item(struct buf *b, const struct json *v)
{
    struct yaml_page page = {.out = b, .blank = true, .fresh = true};
    yaml_page_mark(&page, "-", true, true);
    print(&page, v, false);
    yaml_page_line(&page);
}
