/* SPDX-License-Identifier: Apache-2.0 */
#include "object/selector_build.h"

#include "object/name.h"

#include <stdlib.h>

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

void selector_values_sort(struct selector_values *v)
{
    if (v->n > 1)
        qsort(v->p, v->n, sizeof *v->p, by_text);
}

void selector_values_unique(struct selector_values *v)
{
    selector_values_sort(v);
    size_t kept = 0;
    for (size_t i = 0; i < v->n; i++) {
        if (kept == 0 || !str_eq(v->p[kept - 1], v->p[i]))
            v->p[kept++] = v->p[i];
    }
    v->n = kept;
}

struct selector selector_finish(struct selector_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        terms->p[i].order = i;
    if (terms->n > 1)
        qsort(terms->p, terms->n, sizeof *terms->p, by_key);
    return (struct selector){.terms = terms->p, .n = terms->n};
}

void selector_key_check(struct field_errors *errs, str field, str key)
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

int selector_term_make(struct selector_term *ret, str key, enum selector_op op, struct selector_values values,
                       struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &scratch};
    int64_t number = 0;
    selector_key_check(&errs, S("key"), key);
    check_count(&errs, op, &values);
    if ((op == SELECTOR_GREATER || op == SELECTOR_LESS) && !str_to_int64(values.p[0], &number))
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

int selector_refuse(const struct field_errors *errs, struct err *err)
{
    struct buf text = {.arena = errs->arena};
    field_errors_format(&text, errs);
    return err_set(err, ERR_BAD_REQUEST, "%.*s", STR(buf_str(&text)));
}
