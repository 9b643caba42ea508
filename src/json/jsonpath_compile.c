/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jsonpath_steps.h"

struct parser {
    struct arena *arena;
    str rest;
    unsigned nesting;
    struct err *err;
};

static int path(struct parser *p, struct jsonpath *ret);

static int bad(struct parser *p, const char *why)
{
    return err_set(p->err, ERR_BAD_REQUEST, "JSONPath: %s", why);
}

static struct jsonpath_step *add(struct parser *p, struct jsonpath *to)
{
    struct jsonpath_step *s = vec_push(p->arena, &to->steps);
    *s = (struct jsonpath_step){0};
    return s;
}

static bool ends_name(char c)
{
    return c && strchr(" \t\r\n.,[]$@{}", c);
}

/* A name up to the next character that ends it; a backslash takes the next one as it is. */
static int name(struct parser *p, struct jsonpath *ret)
{
    struct buf b = {.arena = p->arena};
    size_t i = 0;
    for (; i < p->rest.n && (p->rest.p[i] == '\\' || !ends_name(p->rest.p[i])); i++) {
        if (p->rest.p[i] == '\\' && ++i == p->rest.n)
            break;
        if (p->rest.p[i] != '\\')
            buf_add_char(&b, p->rest.p[i]);
    }
    bool star = str_eq(str_upto(p->rest, i), S("*"));
    p->rest = str_from(p->rest, i);
    struct jsonpath_step *s = add(p, ret);
    s->kind = star ? JSONPATH_ALL : JSONPATH_FIELD;
    s->name = buf_str(&b);
    return 0;
}

/* An optional number and the colon behind it. */
static bool bound(str *text, bool *ret_has, int64_t *ret)
{
    str number;
    bool more = str_cut(*text, ':', &number, text);
    *ret_has = number.n > 0;
    if (number.n && (!str_to_int64(number, ret) || *ret > INT32_MAX || *ret < INT32_MIN || number.p[0] == '+'))
        *text = S("?"); /* no number: let the caller see rest */
    return more;
}

static int slice(struct parser *p, str text, struct jsonpath *ret)
{
    struct jsonpath_step *s = add(p, ret);
    bool has_by = false;
    s->kind = JSONPATH_SLICE;
    s->by = 1;
    s->single = !bound(&text, &s->has_from, &s->from);
    if (!s->single && bound(&text, &s->has_to, &s->to))
        bound(&text, &has_by, &s->by);
    if (text.n)
        return bad(p, "an index is not a number");
    if (s->by <= 0)
        return bad(p, "the step of a slice must be positive");
    return 0;
}

/* ['a'] means .a, whatever a is; [0], [1:3], [*]. */
static int brackets(struct parser *p, struct jsonpath *ret)
{
    ptrdiff_t end = str_find_char(p->rest, ']');
    if (end < 0)
        return bad(p, "a [ is not closed");
    str text = str_upto(p->rest, (size_t)end);
    p->rest = str_from(p->rest, (size_t)end + 1);
    if (str_find_char(text, ',') >= 0)
        return bad(p, "unions are not supported");
    if (str_eq(text, S("*")))
        text = S(":");
    str inner = text.n < 2 ? (str){0} : str_upto(str_from(text, 1), text.n - 2);
    if (text.n < 2 || text.p[0] != '\'' || text.p[text.n - 1] != '\'' || str_find_char(inner, '\'') >= 0)
        return slice(p, text, ret);
    struct parser inside = *p;
    struct buf dotted = {.arena = p->arena};
    buf_add_char(&dotted, '.');
    buf_add_str(&dotted, inner); /* may hold a NUL, which must not end it */
    inside.rest = buf_str(&dotted);
    return path(&inside, ret);
}

/* ---- Filters. ---- */

/* Finds the parenthesis that ends a filter; one pair of quotes may stand in it. */
static bool filter_end(str text, size_t *ret)
{
    char quote = 0;
    bool closed = true;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if ((c == '"' || c == '\'') && !quote) {
            quote = c;
            closed = false;
        } else if (c == quote && quote && text.p[i - 1] != '\\') {
            closed = true;
        } else if (c == ')' && closed) {
            *ret = i;
            return i + 1 < text.n && text.p[i + 1] == ']';
        }
    }
    return false;
}

static bool operator_of(str text, enum jsonpath_op *ret)
{
    static const struct {
        const char *text;
        enum jsonpath_op op;
    } known[] = {{"==", JSONPATH_EQ}, {"!=", JSONPATH_NE}, {"<", JSONPATH_LT},
                 {"<=", JSONPATH_LE}, {">", JSONPATH_GT},  {">=", JSONPATH_GE}};
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(text, str_of(known[i].text))) {
            *ret = known[i].op;
            return true;
        }
    return false;
}

static int quoted(struct parser *p, str text, struct json *ret)
{
    struct buf b = {.arena = p->arena};
    if (text.n < 2 || text.p[text.n - 1] != text.p[0])
        return bad(p, "a quote is not closed");
    for (size_t i = 1; i + 1 < text.n; i++) {
        char c = text.p[i];
        if (c == '\\' && i + 2 < text.n) {
            c = text.p[++i];
            if (!strchr("\\\"'", c) || !c)
                return bad(p, "only quotes and backslashes can be escaped");
        }
        buf_add_char(&b, c);
    }
    *ret = json_str(buf_str(&b));
    return 0;
}

/* The right side: text in quotes, a number, true or false; anything else is a path. */
static int operand(struct parser *p, str text, struct jsonpath_step *s)
{
    text = str_trim(text);
    if (text.n && (text.p[0] == '"' || text.p[0] == '\''))
        return quoted(p, text, &s->literal);
    if (str_eq(text, S("true")) || str_eq(text, S("false"))) {
        s->literal = json_bool(text.p[0] == 't');
        return 0;
    }
    if (text.n && strchr("+-0123456789", text.p[0]) && text.p[0]) {
        str digits = text.p[0] == '+' ? str_from(text, 1) : text;
        struct err ignored;
        if (json_decode(p->arena, digits, NULL, NULL, &s->literal, &ignored) < 0)
            return bad(p, "a number is malformed");
        return 0;
    }
    struct jsonpath *right = ARENA_NEW(p->arena, struct jsonpath);
    struct parser inside = {p->arena, text, p->nesting + 1, p->err};
    s->right = right;
    return path(&inside, right);
}

static int filter(struct parser *p, struct jsonpath *ret)
{
    size_t end, at = 0;
    if (!filter_end(p->rest, &end))
        return bad(p, "a filter is not closed");
    if (p->nesting >= JSONPATH_MAX_NESTING)
        return bad(p, "filters are nested too deeply");
    str text = str_upto(p->rest, end);
    p->rest = str_from(p->rest, end + 2);
    while (at < text.n && !strchr("!<>=", text.p[at]))
        at++;
    size_t behind = at;
    while (behind < text.n && text.p[behind] && strchr("!<>=", text.p[behind]))
        behind++;
    struct jsonpath_step s = {.kind = JSONPATH_FILTER};
    if (at > 0 && behind > at && behind < text.n) {
        if (!operator_of(str_upto(str_from(text, at), behind - at), &s.op))
            return bad(p, "a filter compares with an unknown operator");
        if (operand(p, str_from(text, behind), &s) < 0)
            return ERR_BAD_REQUEST;
        text = str_upto(text, at);
    }
    struct jsonpath *left = ARENA_NEW(p->arena, struct jsonpath);
    struct parser inside = {p->arena, text, p->nesting + 1, p->err};
    s.left = left;
    if (path(&inside, left) < 0)
        return ERR_BAD_REQUEST;
    *add(p, ret) = s;
    return 0;
}

/* ---- Paths. ---- */

static int path(struct parser *p, struct jsonpath *ret)
{
    while (p->rest.n) {
        int rc = 0;
        if (str_has_prefix(p->rest, S("..")))
            return bad(p, "recursive descent (..) is not supported");
        char c = p->rest.p[0];
        bool is_filter = str_has_prefix(p->rest, S("[?("));
        p->rest = str_from(p->rest, is_filter ? 3 : 1);
        if (is_filter)
            rc = filter(p, ret);
        else if (c == '[')
            rc = brackets(p, ret);
        else if (c == '.')
            rc = name(p, ret);
        else if (c != ' ' && c != '@' && c != '$')
            rc = bad(p, "a name must follow a dot");
        if (rc < 0)
            return rc;
    }
    return 0;
}

int jsonpath_compile(struct arena *a, str text, const struct jsonpath **ret, struct err *err)
{
    if (text.n > JSONPATH_MAX_BYTES)
        return err_set(err, ERR_BAD_REQUEST, "JSONPath: limit is %d bytes", JSONPATH_MAX_BYTES);
    struct jsonpath *made = ARENA_NEW(a, struct jsonpath);
    struct parser p = {a, str_dup(a, text), 0, err};
    if (path(&p, made) < 0)
        return ERR_BAD_REQUEST;
    *ret = made;
    return 0;
}
