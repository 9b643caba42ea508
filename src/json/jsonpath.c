/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jsonpath.h"

#include "base/budget.h"

enum jsonpath_op {
    JSONPATH_EXISTS,
    JSONPATH_EQ,
    JSONPATH_NE,
    JSONPATH_LT,
    JSONPATH_LE,
    JSONPATH_GT,
    JSONPATH_GE,
};

struct jsonpath_step {
    enum { JSONPATH_FIELD, JSONPATH_ALL, JSONPATH_SLICE, JSONPATH_FILTER } kind;
    str name; /* JSONPATH_FIELD */
    /* JSONPATH_SLICE: [from:to:by]; [from] is single */
    bool has_from, has_to, single;
    int64_t from, to, by;
    /* JSONPATH_FILTER: left op right; right is a path or, if that is NULL, the literal */
    enum jsonpath_op op;
    const struct jsonpath *left, *right;
    struct json literal;
};

struct jsonpath {
    VEC(struct jsonpath_step) steps;
};

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

static struct jsonpath_step *add_step(struct parser *p, struct jsonpath *to)
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
    struct jsonpath_step *s = add_step(p, ret);
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

static int parse_slice(struct parser *p, str text, struct jsonpath *ret)
{
    struct jsonpath_step *s = add_step(p, ret);
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
        return parse_slice(p, text, ret);
    struct parser inside = *p;
    struct buf dotted = {.arena = p->arena};
    buf_add_char(&dotted, '.');
    buf_add_str(&dotted, inner); /* may hold a NUL, which must not end it */
    inside.rest = buf_str(&dotted);
    return path(&inside, ret);
}

/* ---- Filters. ---- */

/* Finds the parenthesis that ends a filter; it may contain one pair of quotes. */
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

static int parse_filter(struct parser *p, struct jsonpath *ret)
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
    *add_step(p, ret) = s;
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
            rc = parse_filter(p, ret);
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

/* ---- Comparison in filters: only values of one basic type compare, as in Go's templates. ---- */

enum order { ORDER_NONE, ORDER_LESS, ORDER_EQUAL, ORDER_GREATER };

static enum order order_of(int cmp)
{
    return cmp < 0 ? ORDER_LESS : cmp > 0 ? ORDER_GREATER : ORDER_EQUAL;
}

static enum order compare(const struct json *l, const struct json *r)
{
    if (json_type(l) != json_type(r))
        return ORDER_NONE;
    switch (json_type(l)) {
    case JSON_STR:
        return order_of(str_cmp(json_text(l), json_text(r)));
    case JSON_INT:
        return order_of((l->i > r->i) - (l->i < r->i));
    case JSON_REAL:
        return order_of((l->d > r->d) - (l->d < r->d));
    case JSON_BOOL:
        return l->b == r->b ? ORDER_EQUAL : ORDER_LESS;
    default:
        return ORDER_NONE;
    }
}

static bool passes(enum jsonpath_op op, enum order o)
{
    switch (op) {
    case JSONPATH_EQ:
        return o == ORDER_EQUAL;
    case JSONPATH_NE:
        return o != ORDER_EQUAL;
    case JSONPATH_LT:
        return o == ORDER_LESS;
    case JSONPATH_LE:
        return o != ORDER_GREATER;
    case JSONPATH_GT:
        return o == ORDER_GREATER;
    default:
        return o != ORDER_LESS;
    }
}

/* ---- Evaluation: each step turns the hits so far into the next ones. ---- */

static bool find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret);

static void add_hit(struct arena *a, jsonpath_hits *hits, const struct json *v)
{
    *vec_push(a, hits) = v;
}

static void all_children(struct arena *a, const struct json *v, jsonpath_hits *ret)
{
    budget_charge(json_len(v));
    json_each_item(v, item)
    {
        add_hit(a, ret, item);
    }
    json_each_member(v, m)
    {
        add_hit(a, ret, &m->val);
    }
}

static bool find_slice(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    if (json_is_null(v))
        return true;
    if (!json_is_arr(v))
        return false;
    int64_t n = (int64_t)v->n;
    int64_t from = s->has_from ? s->from : 0, to = s->has_to ? s->to : n;
    if (s->single)
        to = from + 1;
    if (from < 0)
        from += n;
    if (to < 0 || (to == 0 && s->single))
        to += n;
    if (from == to)
        return true;
    if (from < 0 || from >= n || to < 0 || to > n || from > to)
        return false;
    for (int64_t i = from; i < to; i += s->by)
        add_hit(a, ret, &v->items[i]);
    return true;
}

/* Whether one item passes; *ret_stop when the two sides cannot be compared. What it takes in a is of no use
 * afterwards. */
static bool item_passes(struct arena *a, const struct jsonpath_step *s, const struct json *item, bool *ret_stop)
{
    jsonpath_hits left = {0}, right = {0};
    bool ok = find(a, s->left, item, &left);
    if (s->op == JSONPATH_EXISTS)
        return !ok || left.n > 0;
    *ret_stop = !ok || left.n > 1;
    if (*ret_stop || left.n == 0)
        return false;
    if (s->right) {
        *ret_stop = !find(a, s->right, item, &right) || right.n > 1;
        if (*ret_stop || right.n == 0)
            return false;
    }
    enum order o = compare(left.p[0], s->right ? right.p[0] : &s->literal);
    bool unordered = left.p[0]->type == JSON_BOOL && s->op != JSONPATH_EQ && s->op != JSONPATH_NE;
    *ret_stop = o == ORDER_NONE || unordered;
    return !*ret_stop && passes(s->op, o);
}

static bool find_filtered(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool stop = false;
    if (!json_is_arr(v))
        return false;
    json_each_item(v, item)
    {
        arena_reset(&scratch);
        if (item_passes(&scratch, s, item, &stop))
            add_hit(a, ret, item);
        if (stop)
            return false;
    }
    return true;
}

static bool step(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    const struct json *child;
    switch (s->kind) {
    case JSONPATH_FIELD:
        if ((child = json_get(v, s->name)))
            add_hit(a, ret, child);
        return true;
    case JSONPATH_ALL:
        all_children(a, v, ret);
        return true;
    case JSONPATH_SLICE:
        return find_slice(a, s, v, ret);
    default:
        return find_filtered(a, s, v, ret);
    }
}

static bool find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret)
{
    jsonpath_hits now = {0}, next;
    add_hit(a, &now, doc);
    for (size_t i = 0; i < path->steps.n; i++) {
        next = (jsonpath_hits){0};
        if (!budget_charge(3 + now.n))
            return false;
        for (size_t k = 0; k < now.n; k++)
            if (!step(a, &path->steps.p[i], now.p[k], &next))
                return false;
        now = next;
    }
    *ret = now;
    return true;
}

bool jsonpath_find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret)
{
    return find(a, path, doc, ret);
}

const struct json *jsonpath_first(struct arena *a, const struct jsonpath *path, const struct json *doc)
{
    jsonpath_hits hits = {0};
    return find(a, path, doc, &hits) && hits.n ? hits.p[0] : NULL;
}
