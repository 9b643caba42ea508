/* SPDX-License-Identifier: Apache-2.0 */
/* Field selectors as text: terms separated by commas, each field=value, field==value or field!=value. A backslash takes
 * the meaning from a comma, an equals sign or a backslash in a value; fields know no such thing. */
#include "object/selector.h"

#include "base/rune.h"

#include <stdio.h>
#include <stdlib.h>

struct texts {
    str *p;
    size_t n, cap;
};

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static struct texts split_terms(struct arena *a, str text)
{
    struct texts terms = {0};
    size_t start = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\') {
            i++;
        } else if (text.p[i] == ',') {
            *vec_push(a, &terms) = str_from(str_upto(text, i), start);
            start = i + 1;
        }
    }
    *vec_push(a, &terms) = str_from(text, start);
    qsort(terms.p, terms.n, sizeof *terms.p, by_text);
    return terms;
}

/* The first operator parts the field from the value. */
static bool split_term(str text, struct field_term *ret)
{
    for (size_t i = 0; i < text.n; i++) {
        str rest = str_from(text, i);
        bool negated = str_has_prefix(rest, S("!="));
        if (!negated && rest.p[0] != '=')
            continue;
        size_t sign = negated || str_has_prefix(rest, S("==")) ? 2 : 1;
        *ret = (struct field_term){str_upto(text, i), str_from(rest, sign), negated};
        return true;
    }
    return false;
}

static int unescape(struct arena *a, str *value, struct err *err)
{
    struct buf b = {.arena = a};
    for (str rest = *value; rest.n;) {
        str from = rest;
        uint32_t r = rune_next(&rest);
        if (r == ',' || r == '=')
            return err_set(err, ERR_BAD_REQUEST, "invalid field selector: unescaped character in value: %u", r);
        if (r == '\\') {
            from = rest;
            r = rest.n ? rune_next(&rest) : 0;
            if (r != '\\' && r != ',' && r != '=')
                return err_set(err, ERR_BAD_REQUEST, "invalid field selector: invalid escape sequence: \\%.*s",
                               STR(str_upto(from, from.n - rest.n)));
        }
        buf_add_str(&b, str_upto(from, from.n - rest.n));
    }
    *value = buf_str(&b);
    return 0;
}

int field_selector_parse(struct arena *a, str text, struct field_selector *ret, struct err *err)
{
    struct texts parts = split_terms(a, str_dup(a, text));
    struct field_term *terms = ARENA_ARRAY(a, struct field_term, parts.n);
    size_t n = 0;
    for (size_t i = 0; i < parts.n; i++) {
        struct field_term t;
        if (parts.p[i].n == 0)
            continue;
        if (!split_term(parts.p[i], &t))
            return err_set(err, ERR_BAD_REQUEST, "invalid selector: '%.*s'; can't understand '%.*s'", STR(text),
                           STR(parts.p[i]));
        int rc = unescape(a, &t.value, err);
        if (rc < 0)
            return rc;
        if (t.field.n || t.value.n)
            terms[n++] = t;
    }
    *ret = (struct field_selector){terms, n};
    return 0;
}

/* ---- Which fields a kind knows. ---- */

static bool is_listed(const char *const *list, str field)
{
    for (; list && *list; list++) {
        if (str_eq(str_of(*list), field))
            return true;
    }
    return false;
}

static int refuse(const struct kind *kind, bool own, str field, struct err *err)
{
    struct buf quoted = {0};
    buf_add_quoted(&quoted, field);
    str shown = buf_str(&quoted);
    if (!own)
        (void)err_set(err, ERR_BAD_REQUEST,
                      "%.*s is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", STR(shown));
    else if (strcmp(kind->group, "batch") == 0)
        (void)err_set(err, ERR_BAD_REQUEST, "field label %.*s not supported for %s", STR(shown), kind->kind);
    else
        (void)err_set(err, ERR_BAD_REQUEST, "field label not supported: %.*s", STR(field));
    buf_done(&quoted);
    return ERR_BAD_REQUEST;
}

int field_selector_check(const struct field_selector *s, const struct kind *kind, struct err *err)
{
    bool own = (kind->flags & KIND_CUSTOM) || (kind->selectable && kind->selectable[0]);
    for (size_t i = 0; i < s->n; i++) {
        str field = s->terms[i].field;
        /* Kinds without a list of their own take a namespace even where they have none. */
        bool known = str_eq(field, S("metadata.name")) ||
                     (str_eq(field, S("metadata.namespace")) && (kind->namespaced || !own)) ||
                     is_listed(kind->selectable, field);
        if (!known)
            return refuse(kind, own, field, err);
    }
    return 0;
}

/* ---- Matching. ---- */

bool field_selector_matches(const struct field_selector *s, str (*get)(void *ctx, str field), void *ctx)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct field_term *t = &s->terms[i];
        if (str_eq(get(ctx, t->field), t->value) == t->negated)
            return false;
    }
    return true;
}

static bool value_is(const struct json *v, str text)
{
    char digits[24];
    int64_t number;
    if (json_type(v) == JSON_BOOL)
        return str_eq(text, v->b ? S("true") : S("false"));
    if (json_to_int(v, &number)) {
        int n = snprintf(digits, sizeof digits, "%lld", (long long)number);
        return str_eq(text, (str){digits, (size_t)n});
    }
    return str_eq(text, json_text(v));
}

bool field_selector_matches_object(const struct field_selector *s, const struct json *object)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct json *at = object;
        str rest = s->terms[i].field, name;
        for (bool more = true; more;) {
            more = str_cut(rest, '.', &name, &rest);
            at = json_get(at, name);
        }
        if (value_is(at, s->terms[i].value) == s->terms[i].negated)
            return false;
    }
    return true;
}

bool field_selector_requires(const struct field_selector *s, str field, str *ret_value)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!s->terms[i].negated && str_eq(s->terms[i].field, field)) {
            *ret_value = s->terms[i].value;
            return true;
        }
    }
    return false;
}

/* ---- Text out. ---- */

void field_selector_format(struct buf *b, const struct field_selector *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct field_term *t = &s->terms[i];
        if (i)
            buf_add_char(b, ',');
        buf_add_str(b, t->field);
        buf_add_str(b, t->negated ? S("!=") : S("="));
        for (size_t k = 0; k < t->value.n; k++) {
            if (t->value.p[k] == '\\' || t->value.p[k] == ',' || t->value.p[k] == '=')
                buf_add_char(b, '\\');
            buf_add_char(b, t->value.p[k]);
        }
    }
}
