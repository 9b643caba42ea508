/* SPDX-License-Identifier: Apache-2.0 */
#include "json/syntax.h"

/* A second, slow look at a text that the parser refused: one token at a time, remembering the open containers. */
struct look {
    str text;
    size_t at;
    const char *where; /* what was being read when it went wrong; NULL: nothing wrong so far */
    char expecting;    /* inside true, false, null */
    const char *literal;
    size_t depth;
    char open[JSON_MAX_DEPTH]; /* '{' or '[' */
};

static int peek(const struct look *l)
{
    return l->at < l->text.n ? (unsigned char)l->text.p[l->at] : -1;
}

static bool is_hex(int c)
{
    return char_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static void skip_blanks(struct look *l)
{
    while (peek(l) == ' ' || peek(l) == '\t' || peek(l) == '\r' || peek(l) == '\n')
        l->at++;
}

static bool wrong(struct look *l, const char *where)
{
    l->where = where;
    return false;
}

static bool read_escape(struct look *l)
{
    int c = peek(l);
    if (c < 0 || c == 0 || strchr("bfnrt\\/\"u", c) == NULL)
        return wrong(l, "in string escape code");
    l->at++;
    for (int i = 0; c == 'u' && i < 4; i++, l->at++) {
        if (!is_hex(peek(l)))
            return wrong(l, "in \\u hexadecimal character escape");
    }
    return true;
}

/* Behind the opening quote. */
static bool read_string(struct look *l)
{
    for (int c; (c = peek(l)) != '"';) {
        if (c < ' ')
            return wrong(l, "in string literal");
        l->at++;
        if (c == '\\' && !read_escape(l))
            return false;
    }
    l->at++;
    return true;
}

static void skip_digits(struct look *l)
{
    while (char_is_digit(peek(l)))
        l->at++;
}

static bool read_number(struct look *l)
{
    if (peek(l) == '-')
        l->at++;
    if (!char_is_digit(peek(l)))
        return wrong(l, "in numeric literal");
    if (peek(l) == '0')
        l->at++;
    else
        skip_digits(l);
    if (peek(l) == '.') {
        l->at++;
        if (!char_is_digit(peek(l)))
            return wrong(l, "after decimal point in numeric literal");
        skip_digits(l);
    }
    if (peek(l) == 'e' || peek(l) == 'E') {
        l->at++;
        if (peek(l) == '+' || peek(l) == '-')
            l->at++;
        if (!char_is_digit(peek(l)))
            return wrong(l, "in exponent of numeric literal");
        skip_digits(l);
    }
    return true;
}

static bool read_literal(struct look *l, const char *literal)
{
    for (const char *want = literal; *want; want++, l->at++) {
        if (peek(l) != *want) {
            l->literal = literal;
            l->expecting = *want;
            return wrong(l, "in literal");
        }
    }
    return true;
}

/* Reads a scalar whole, or opens a container. */
static bool read_value(struct look *l)
{
    int c = peek(l);
    switch (c) {
    case '{':
    case '[':
        if (l->depth == sizeof l->open)
            return false;
        l->open[l->depth++] = (char)c;
        l->at++;
        return true;
    case '"':
        l->at++;
        return read_string(l);
    case 't':
        return read_literal(l, "true");
    case 'f':
        return read_literal(l, "false");
    case 'n':
        return read_literal(l, "null");
    default:
        return c == '-' || char_is_digit(c) ? read_number(l) : wrong(l, "looking for beginning of value");
    }
}

static bool read_key(struct look *l)
{
    skip_blanks(l);
    if (peek(l) != '"')
        return wrong(l, "looking for beginning of object key string");
    l->at++;
    if (!read_string(l))
        return false;
    skip_blanks(l);
    if (peek(l) != ':')
        return wrong(l, "after object key");
    l->at++;
    return true;
}

/* Between values: closes containers and finds the comma that lets the next value follow. */
static bool read_between(struct look *l, bool *fresh)
{
    while (l->depth) {
        char open = l->open[l->depth - 1];
        skip_blanks(l);
        if (peek(l) == (open == '{' ? '}' : ']')) {
            l->at++;
            l->depth--;
            *fresh = false;
            continue;
        }
        if (!*fresh) {
            if (peek(l) != ',')
                return wrong(l, open == '{' ? "after object key:value pair" : "after array element");
            l->at++;
        }
        return open == '[' || read_key(l);
    }
    skip_blanks(l);
    return peek(l) < 0 || wrong(l, "after top-level value");
}

static void look_through(struct look *l)
{
    do {
        size_t depth = l->depth;
        skip_blanks(l);
        if (!read_value(l))
            return;
        bool fresh = l->depth > depth;
        if (!read_between(l, &fresh))
            return;
    } while (l->depth);
}

/* Where the text may not end: Go's reader looks at a blank behind the last byte, and these places do not take one. */
static bool is_inside_token(const char *where)
{
    return (str_has_prefix(str_of(where), S("in ")) && strcmp(where, "in string literal") != 0) ||
           str_has_suffix(str_of(where), S("in numeric literal"));
}

/* Well-formed, but there is no such number: 1e400. */
static int number_error(str text, size_t at, struct err *err)
{
    size_t end = at;
    while (end < text.n && (char_is_digit(text.p[end]) || (text.p[end] && strchr("+-.eE", text.p[end]))))
        end++;
    return err_set(err, ERR_BAD_REQUEST, "json: cannot unmarshal number %.*s into Go value of type float64",
                   (int)(end - at), text.p + at);
}

/* As Go quotes a byte, which it takes for a character. c < 0: the blank behind the end. */
static void add_char(struct buf *b, int c)
{
    char text[2] = {(char)(0xc0 | (c >> 6 & 3)), (char)(0x80 | (c & 0x3f))};
    if (c < 0 || c == '"') {
        buf_fmt(b, "'%c'", c < 0 ? ' ' : c);
    } else if (c == '\'') {
        buf_add_str(b, S("'\\''"));
    } else {
        size_t from = b->n;
        buf_add_quoted(b, c < 0x80 ? (str){&(char){(char)c}, 1} : (str){text, 2});
        b->p[from] = b->p[b->n - 1] = '\'';
    }
}

int json_syntax_error(str text, const char *fallback, size_t at, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = &scratch};
    struct look l = {.text = text};
    look_through(&l);
    if (l.where == NULL && at < text.n && (char_is_digit(text.p[at]) || text.p[at] == '-'))
        return number_error(text, at, err);
    if (l.where == NULL)
        return err_set(err, ERR_BAD_REQUEST, "%s at byte %zu", fallback, at);
    if (peek(&l) < 0 && !is_inside_token(l.where))
        return err_set(err, ERR_BAD_REQUEST, "unexpected end of JSON input");
    buf_add_str(&b, S("invalid character "));
    add_char(&b, peek(&l));
    buf_fmt(&b, " %s", l.where);
    if (l.literal)
        buf_fmt(&b, " %s (expecting '%c')", l.literal, l.expecting);
    return err_set(err, ERR_BAD_REQUEST, "%.*s", STR(buf_str(&b)));
}
