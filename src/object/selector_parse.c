/* SPDX-License-Identifier: Apache-2.0 */
/* Label selectors as text:
 *
 *     selector = [ term { "," term } ]
 *     term     = [ "!" ] key | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ] | key ( "in" | "notin" ) "(" values ")"
 *
 * Words run until a blank, a special character or NUL; "in" and "notin" are operators only where one is expected. */
#include "object/selector_build.h"

enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_IN,
    TOKEN_NOT_IN,
    TOKEN_NOT,
    TOKEN_EQUALS,
    TOKEN_DOUBLE_EQUALS,
    TOKEN_NOT_EQUALS,
    TOKEN_GREATER,
    TOKEN_LESS,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
};

struct parser {
    struct arena *arena;
    str rest;
    enum token token; /* the next one, not yet taken */
    str text;         /* as it stands in the selector */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_special(char c)
{
    return c == '=' || c == '!' || c == '(' || c == ')' || c == ',' || c == '>' || c == '<';
}

static enum token special(str s, size_t *ret_n)
{
    bool equals = s.n > 1 && s.p[1] == '=';
    *ret_n = equals && (s.p[0] == '=' || s.p[0] == '!') ? 2 : 1;
    switch (s.p[0]) {
    case '=':
        return equals ? TOKEN_DOUBLE_EQUALS : TOKEN_EQUALS;
    case '!':
        return equals ? TOKEN_NOT_EQUALS : TOKEN_NOT;
    case '>':
        return TOKEN_GREATER;
    case '<':
        return TOKEN_LESS;
    case '(':
        return TOKEN_OPEN;
    case ')':
        return TOKEN_CLOSE;
    default:
        return TOKEN_COMMA;
    }
}

/* Reads the next token. A NUL ends the selector where a token would begin, and elsewhere only the token before it. */
static void advance(struct parser *p)
{
    str s = p->rest;
    while (s.n && is_blank(s.p[0]))
        s = str_from(s, 1);
    size_t n = 0;
    if (s.n == 0 || s.p[0] == 0) {
        *p = (struct parser){.arena = p->arena};
        return;
    }
    if (is_special(s.p[0])) {
        p->token = special(s, &n);
    } else {
        while (n < s.n && s.p[n] && !is_blank(s.p[n]) && !is_special(s.p[n]))
            n++;
        p->token = str_eq(str_upto(s, n), S("in"))      ? TOKEN_IN
                   : str_eq(str_upto(s, n), S("notin")) ? TOKEN_NOT_IN
                                                        : TOKEN_WORD;
    }
    p->text = str_upto(s, n);
    p->rest = str_from(s, n);
    if (p->rest.n && p->rest.p[0] == 0)
        p->rest = str_from(p->rest, 1);
}

static bool at_word(const struct parser *p)
{
    return p->token == TOKEN_WORD || p->token == TOKEN_IN || p->token == TOKEN_NOT_IN;
}

static int expected(const struct parser *p, struct err *err, const char *what)
{
    return err_set(err, ERR_BAD_REQUEST, "found '%.*s', expected: %s", STR(p->text), what);
}

static int parse_operator(struct parser *p, enum selector_op *ret, struct err *err)
{
    switch (p->token) {
    case TOKEN_IN:
        *ret = SELECTOR_IN;
        break;
    case TOKEN_NOT_IN:
        *ret = SELECTOR_NOT_IN;
        break;
    case TOKEN_EQUALS:
        *ret = SELECTOR_EQUALS;
        break;
    case TOKEN_DOUBLE_EQUALS:
        *ret = SELECTOR_DOUBLE_EQUALS;
        break;
    case TOKEN_NOT_EQUALS:
        *ret = SELECTOR_NOT_EQUALS;
        break;
    case TOKEN_GREATER:
        *ret = SELECTOR_GREATER;
        break;
    case TOKEN_LESS:
        *ret = SELECTOR_LESS;
        break;
    default:
        return expected(p, err, "in, notin, =, ==, !=, gt, lt");
    }
    advance(p);
    return 0;
}

/* The inside of a list, up to its ")". Commas with nothing between them stand for an empty value, though "(a,,)" is
 * refused: after two commas in a row Kubernetes wants a value. */
static int parse_list(struct parser *p, struct selector_values *values, struct err *err)
{
    for (;;) {
        if (at_word(p)) {
            *vec_push(p->arena, values) = p->text;
            advance(p);
            if (p->token == TOKEN_CLOSE)
                return 0;
            if (p->token != TOKEN_COMMA)
                return expected(p, err, "',' or ')'");
        } else if (p->token == TOKEN_COMMA) {
            advance(p);
            if (values->n == 0 || p->token == TOKEN_CLOSE || p->token == TOKEN_COMMA)
                *vec_push(p->arena, values) = (str){0};
            if (p->token == TOKEN_CLOSE)
                return 0;
            if (p->token == TOKEN_COMMA)
                advance(p);
        } else {
            return expected(p, err, "',', or identifier");
        }
    }
}

static int parse_values(struct parser *p, struct selector_values *values, struct err *err)
{
    if (p->token != TOKEN_OPEN)
        return err_set(err, ERR_BAD_REQUEST, "found '%.*s' expected: '('", STR(p->text));
    advance(p);
    int rc = 0;
    if (p->token == TOKEN_CLOSE)
        *vec_push(p->arena, values) = (str){0};
    else if (at_word(p) || p->token == TOKEN_COMMA)
        rc = parse_list(p, values, err);
    else
        rc = expected(p, err, "',', ')' or identifier");
    if (rc == 0)
        advance(p);
    selector_values_unique(values);
    return rc;
}

/* What follows "=" and its like; nothing at all means the empty value. */
static int parse_exact(struct parser *p, struct selector_values *values, struct err *err)
{
    if (p->token == TOKEN_END || p->token == TOKEN_COMMA) {
        *vec_push(p->arena, values) = (str){0};
        return 0;
    }
    if (!at_word(p))
        return expected(p, err, "identifier");
    *vec_push(p->arena, values) = p->text;
    advance(p);
    return 0;
}

static int parse_key(struct parser *p, str *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &scratch};
    if (!at_word(p))
        return expected(p, err, "identifier");
    selector_key_check(&errs, S("<nil>"), p->text);
    if (errs.list.n)
        return selector_refuse(&errs, err);
    *ret = p->text;
    advance(p);
    return 0;
}

static int parse_term(struct parser *p, struct selector_term *ret, struct err *err)
{
    struct selector_values values = {0};
    enum selector_op op = SELECTOR_EXISTS;
    str key = {0};
    int rc;
    if (p->token == TOKEN_NOT) {
        op = SELECTOR_ABSENT;
        advance(p);
    }
    if ((rc = parse_key(p, &key, err)) < 0)
        return rc;
    if (op == SELECTOR_EXISTS && p->token != TOKEN_END && p->token != TOKEN_COMMA) {
        if ((rc = parse_operator(p, &op, err)) < 0)
            return rc;
        bool list = op == SELECTOR_IN || op == SELECTOR_NOT_IN;
        rc = list ? parse_values(p, &values, err) : parse_exact(p, &values, err);
        if (rc < 0)
            return rc;
    }
    return selector_term_make(ret, key, op, values, err);
}

int selector_parse(struct arena *a, str text, struct selector *ret, struct err *err)
{
    struct parser p = {.arena = a, .rest = str_dup(a, text)};
    struct selector_terms terms = {0};
    advance(&p);
    if (p.token != TOKEN_END && !at_word(&p) && p.token != TOKEN_NOT)
        return expected(&p, err, "!, identifier, or 'end of string'");
    while (p.token != TOKEN_END) {
        struct selector_term term;
        int rc = parse_term(&p, &term, err);
        if (rc < 0) {
            (void)err_wrap(err, "unable to parse requirement");
            return rc;
        }
        *vec_push(a, &terms) = term;
        if (p.token == TOKEN_END)
            break;
        if (p.token != TOKEN_COMMA)
            return expected(&p, err, "',' or 'end of string'");
        advance(&p);
        if (!at_word(&p) && p.token != TOKEN_NOT)
            return expected(&p, err, "identifier after ','");
    }
    *ret = selector_finish(&terms);
    return 0;
}
