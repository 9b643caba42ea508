/* SPDX-License-Identifier: Apache-2.0 */
#include "object/selector.h"

#include "base/vec.h"
#include "object/name.h"

#include <stdlib.h>

struct selector_values {
    str *p;
    size_t n, cap;
};

struct selector_terms {
    struct selector_term *p;
    size_t n, cap;
};

/* How each operator is written between key and values. */
static const char *const signs[] = {
    [SELECTOR_IN] = " in ",          [SELECTOR_NOT_IN] = " notin ", [SELECTOR_EQUALS] = "=",
    [SELECTOR_DOUBLE_EQUALS] = "==", [SELECTOR_GREATER] = ">",      [SELECTOR_LESS] = "<",
    [SELECTOR_NOT_EQUALS] = "!=",
};

/* ---- Matching. ---- */

static bool has_value(const struct selector_term *t, str value)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = str_cmp(value, t->values[mid]);
        if (order == 0)
            return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

/* label is the value of the label that the term is about; NULL: absent. */
static bool term_holds(const struct selector_term *t, const str *label)
{
    int64_t number;
    switch (t->op) {
    case SELECTOR_IN:
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return label && has_value(t, *label);
    case SELECTOR_NOT_IN:
    case SELECTOR_NOT_EQUALS:
        return !label || !has_value(t, *label);
    case SELECTOR_GREATER:
        return label && str_to_int64(*label, &number) && number > t->number;
    case SELECTOR_LESS:
        return label && str_to_int64(*label, &number) && number < t->number;
    case SELECTOR_EXISTS:
        return label;
    case SELECTOR_ABSENT:
        return !label;
    }
    return false;
}

bool selector_term_matches(const struct selector_term *t, const struct json *labels)
{
    const struct json *label = json_get(labels, t->key);
    str value = json_text(label);
    return term_holds(t, label ? &value : NULL);
}

bool selector_matches(const struct selector *s, const struct json *labels)
{
    if (s->nothing)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (!selector_term_matches(&s->terms[i], labels))
            return false;
    }
    return true;
}

/* Takes the string at the front of *text, its quotes and the character behind it. */
static str take_string(str *text)
{
    *text = str_from(*text, 1);
    ptrdiff_t end = str_find_char(*text, '"');
    str s = str_upto(*text, end < 0 ? text->n : (size_t)end);
    *text = str_from(*text, end < 0 || s.n + 2 > text->n ? text->n : s.n + 2);
    return s;
}

bool selector_matches_text(const struct selector *s, str labels)
{
    if (s->nothing)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const struct selector_term *t = &s->terms[i];
        str rest = labels.n > 2 ? str_from(labels, 1) : (str){0}, value = {0};
        bool is_found = false;
        while (rest.n && !is_found) {
            is_found = str_eq(take_string(&rest), t->key);
            value = take_string(&rest);
        }
        if (!term_holds(t, is_found ? &value : NULL))
            return false;
    }
    return true;
}

bool selector_requires(const struct selector *s, str key, str *ret_value)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct selector_term *t = &s->terms[i];
        if (!str_eq(t->key, key))
            continue;
        bool exact = t->op == SELECTOR_IN || t->op == SELECTOR_EQUALS || t->op == SELECTOR_DOUBLE_EQUALS;
        if (exact && t->n == 1)
            *ret_value = t->values[0];
        return exact && t->n == 1;
    }
    return false;
}

/* ---- Text out. ---- */

static void format_term(struct buf *b, const struct selector_term *t)
{
    if (t->op == SELECTOR_ABSENT)
        buf_add_char(b, '!');
    buf_add_str(b, t->key);
    if (t->op == SELECTOR_ABSENT || t->op == SELECTOR_EXISTS)
        return;
    bool list = t->op == SELECTOR_IN || t->op == SELECTOR_NOT_IN;
    buf_add_str(b, str_of(signs[t->op]));
    if (list)
        buf_add_char(b, '(');
    for (size_t i = 0; i < t->n; i++) {
        if (i)
            buf_add_char(b, ',');
        buf_add_str(b, t->values[i]);
    }
    if (list)
        buf_add_char(b, ')');
}

void selector_format(struct buf *b, const struct selector *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (i)
            buf_add_char(b, ',');
        format_term(b, &s->terms[i]);
    }
}

/* ---- Building. ---- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static int by_key(const void *a, const void *b)
{
    const struct selector_term *x = a, *y = b;
    int order = str_cmp(x->key, y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static void selector_values_sort(struct selector_values *v)
{
    if (v->n > 1)
        qsort(v->p, v->n, sizeof *v->p, by_text);
}

/* Sorted, and each value once. */
static void selector_values_unique(struct selector_values *v)
{
    selector_values_sort(v);
    size_t kept = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (kept == 0 || !str_eq(v->p[kept - 1], v->p[i]))
            v->p[kept++] = v->p[i];
    }
    v->n = kept;
}

static struct selector selector_finish(struct selector_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        terms->p[i].order = i;
    if (terms->n > 1)
        qsort(terms->p, terms->n, sizeof *terms->p, by_key);
    return (struct selector){.terms = terms->p, .n = terms->n};
}

/* Adds the faults of a label key as one error. */
static void selector_key_check(struct field_errors *errs, str field, str key)
{
    struct name_faults faults = name_check(NAME_QUALIFIED, key);
    if (faults.n == 0)
        return;
    struct buf text = {.arena = errs->arena};
    name_faults_format(&text, &faults, S("; "));
    field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, key), "%.*s", STR(buf_str(&text)));
}

static void check_count(struct field_errors *errs, enum selector_op op, const struct selector_values *v)
{
    bool list = op == SELECTOR_IN || op == SELECTOR_NOT_IN;
    bool bare = op == SELECTOR_EXISTS || op == SELECTOR_ABSENT;
    if (list && v->n == 0)
        field_error_add(errs, FIELD_INVALID, S("values"), S("[]string(nil)"),
                        "for 'in', 'notin' operators, values set can't be empty");
    if (bare && v->n)
        field_error_add(errs, FIELD_INVALID, S("values"), field_strings(errs->arena, v->p, v->n),
                        "values set must be empty for exists and does not exist");
}

static void check_value(struct field_errors *errs, str key, str value, size_t i)
{
    struct name_faults faults = name_check(NAME_LABEL_VALUE, value);
    if (faults.n == 0)
        return;
    struct buf text = {.arena = errs->arena};
    name_faults_format(&text, &faults, S("; "));
    str field = str_fmt(errs->arena, "values[%zu][%.*s]", i, STR(key));
    field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, value), "%.*s", STR(buf_str(&text)));
}

/* Turns field errors into one err. */
static int selector_refuse(const struct field_errors *errs, struct err *err)
{
    struct buf text = {.arena = errs->arena};
    field_errors_format(&text, errs);
    return err_set(err, ERR_BAD_REQUEST, "%.*s", STR(buf_str(&text)));
}

/* Checks key and values; keeps what it is given, sorted in place. Operators with one value must come with one. */
static int selector_term_make(struct selector_term *ret, str key, enum selector_op op, struct selector_values values,
                              struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &scratch};
    int64_t number = 0;
    selector_key_check(&errs, S("key"), key);
    check_count(&errs, op, &values);
    if ((op == SELECTOR_GREATER || op == SELECTOR_LESS) && values.n && !str_to_int64(values.p[0], &number))
        field_error_add(&errs, FIELD_INVALID, S("values[0]"), field_quote(&scratch, values.p[0]),
                        "for 'Gt', 'Lt' operators, the value must be an integer");
    for (size_t i = 0; i < values.n; i++)
        check_value(&errs, key, values.p[i], i);
    if (errs.list.n)
        return selector_refuse(&errs, err);
    selector_values_sort(&values);
    *ret = (struct selector_term){.key = key, .op = op, .values = values.p, .n = values.n, .number = number};
    return 0;
}

/* Label selectors as text:
 *
 *     selector = [ term { "," term } ]
 *     term     = [ "!" ] key | key ( "=" | "==" | "!=" | ">" | "<" ) [ value ] | key ( "in" | "notin" ) "(" values ")"
 *
 * Words run until a blank, a special character or NUL; "in" and "notin" are operators only where one is expected. */

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

/* The inside of a list, up to its ")". Commas with nothing between them mean an empty value, though "(a,,)" is
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

/* LabelSelector objects: {"matchLabels": {"a": "b"}, "matchExpressions": [{"key", "operator", "values"}]} */

static const struct {
    const char *name;
    enum selector_op op;
} operators[] = {
    {"In", SELECTOR_IN},
    {"NotIn", SELECTOR_NOT_IN},
    {"Exists", SELECTOR_EXISTS},
    {"DoesNotExist", SELECTOR_ABSENT},
};

static bool find_operator(str name, enum selector_op *ret)
{
    for (size_t i = 0; i < COUNT(operators); i++) {
        if (str_eq(name, str_of(operators[i].name))) {
            *ret = operators[i].op;
            return true;
        }
    }
    return false;
}

static int add_label(struct arena *a, const struct json_member *m, struct selector_terms *terms, struct err *err)
{
    struct selector_values values = {0};
    struct selector_term term;
    if (!json_is_str(&m->val))
        return err_set(err, ERR_BAD_REQUEST, "matchLabels[%.*s] must be a string", STR(json_key(m)));
    *vec_push(a, &values) = str_dup(a, json_text(&m->val));
    int rc = selector_term_make(&term, str_dup(a, json_key(m)), SELECTOR_EQUALS, values, err);
    if (rc == 0)
        *vec_push(a, terms) = term;
    return rc;
}

static int add_expression(struct arena *a, const struct json *expression, struct selector_terms *terms, struct err *err)
{
    struct selector_values values = {0};
    struct selector_term term;
    enum selector_op op;
    const struct json *list = json_get(expression, S("values"));
    str name = json_get_text(expression, S("operator"));
    if (!find_operator(name, &op)) {
        return err_set(err, ERR_BAD_REQUEST, "%.*s is not a valid label selector operator", STR(field_quote(a, name)));
    }
    if (!json_is_arr(list) && !json_is_null(list))
        return err_set(err, ERR_BAD_REQUEST, "values must be a list of strings");
    json_each_item(list, v)
    {
        if (!json_is_str(v))
            return err_set(err, ERR_BAD_REQUEST, "values must be a list of strings");
        *vec_push(a, &values) = str_dup(a, json_text(v));
    }
    int rc = selector_term_make(&term, str_dup(a, json_get_text(expression, S("key"))), op, values, err);
    if (rc == 0)
        *vec_push(a, terms) = term;
    return rc;
}

int selector_from_object(struct arena *a, const struct json *object, struct selector *ret, struct err *err)
{
    if (json_is_null(object)) {
        *ret = (struct selector){.nothing = true};
        return 0;
    }
    struct selector_terms terms = {0};
    const struct json *labels = json_get(object, S("matchLabels"));
    const struct json *expressions = json_get(object, S("matchExpressions"));
    int rc = 0;
    /* A selector that cannot be read must not come out as the one that selects everything. */
    if (!json_is_obj(object))
        return err_set(err, ERR_BAD_REQUEST, "a label selector must be an object");
    if (!json_is_obj(labels) && !json_is_null(labels))
        return err_set(err, ERR_BAD_REQUEST, "matchLabels must be a map of strings");
    if (!json_is_arr(expressions) && !json_is_null(expressions))
        return err_set(err, ERR_BAD_REQUEST, "matchExpressions must be a list");
    json_each_member(labels, m)
    {
        if ((rc = add_label(a, m, &terms, err)) < 0)
            return rc;
    }
    json_each_item(expressions, e)
    {
        if ((rc = add_expression(a, e, &terms, err)) < 0)
            return rc;
    }
    *ret = selector_finish(&terms);
    return 0;
}

/* A selector that cannot be read must not pass as an empty one. */
static void validate_list(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_arr(v) && !json_is_null(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a list");
}

static void validate_expression(struct field_errors *errs, str field, const struct json *expression, bool stored)
{
    struct arena *a = errs->arena;
    const struct json *values = json_get(expression, S("values"));
    const struct json *operator= json_get(expression, S("operator"));
    str values_field = field_child(a, field, S("values"));
    enum selector_op op;
    if (!find_operator(json_text(operator), &op)) {
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("operator")), field_quote(a, json_text(operator)),
                        "not a valid selector operator");
    } else if ((op == SELECTOR_IN || op == SELECTOR_NOT_IN) && json_len(values) == 0) {
        field_error_add(errs, FIELD_REQUIRED, values_field, (str){0},
                        "must be specified when `operator` is 'In' or 'NotIn'");
    } else if ((op == SELECTOR_EXISTS || op == SELECTOR_ABSENT) && json_len(values) > 0) {
        field_error_add(errs, FIELD_FORBIDDEN, values_field, (str){0},
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
    name_validate(errs, field_child(a, field, S("key")), NAME_QUALIFIED, json_get_text(expression, S("key")));
    size_t i = 0;
    validate_list(errs, values_field, values);
    json_each_item(values, v)
    {
        str item = field_index(a, values_field, i++);
        if (json_is_str(v) && !stored)
            name_validate(errs, item, NAME_LABEL_VALUE, json_text(v));
        else if (!json_is_str(v))
            field_error_add(errs, FIELD_TYPE_INVALID, item, field_value(a, v), "must be a string");
    }
}

static void validate(struct field_errors *errs, str field, const struct json *object, bool stored)
{
    struct arena *a = errs->arena;
    const struct json *expressions = json_get(object, S("matchExpressions"));
    str list = field_child(a, field, S("matchExpressions"));
    size_t i = 0;
    if (!json_is_obj(object) && !json_is_null(object))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(a, object), "must be an object");
    name_validate_labels(errs, field_child(a, field, S("matchLabels")), json_get(object, S("matchLabels")));
    validate_list(errs, list, expressions);
    json_each_item(expressions, e) validate_expression(errs, field_index(a, list, i++), e, stored);
}

void selector_validate(struct field_errors *errs, str field, const struct json *object)
{
    validate(errs, field, object, false);
}

void selector_validate_stored(struct field_errors *errs, str field, const struct json *object)
{
    validate(errs, field, object, true);
}
