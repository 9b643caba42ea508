/* SPDX-License-Identifier: Apache-2.0 */
#include "object/field_error.h"

#include "base/map.h"
#include "object/go_text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

/* What each type is called in texts and in causes, and whether its text shows the value. */
static const struct {
    const char *title, *reason;
    bool shows_value;
} types[] = {
    [FIELD_REQUIRED] = {"Required value", "FieldValueRequired", false},
    [FIELD_INVALID] = {"Invalid value", "FieldValueInvalid", true},
    [FIELD_TYPE_INVALID] = {"Invalid value", "FieldValueTypeInvalid", true},
    [FIELD_NOT_SUPPORTED] = {"Unsupported value", "FieldValueNotSupported", true},
    [FIELD_FORBIDDEN] = {"Forbidden", "FieldValueForbidden", false},
    [FIELD_TOO_LONG] = {"Too long", "FieldValueTooLong", false},
    [FIELD_TOO_MANY] = {"Too many", "FieldValueTooMany", true},
    [FIELD_DUPLICATE] = {"Duplicate value", "FieldValueDuplicate", true},
    [FIELD_NOT_FOUND] = {"Not found", "FieldValueNotFound", true},
    [FIELD_INTERNAL] = {"Internal error", "InternalError", false},
};

bool field_errors_full(const struct field_errors *errs)
{
    return errs->list.n >= FIELD_ERRORS_MAX || errs->bytes >= FIELD_ERRORS_MAX_BYTES;
}

void field_error_add(struct field_errors *errs, enum field_error_type type, str field, str value, const char *fmt, ...)
{
    if (field_errors_full(errs)) {
        errs->dropped++;
        return;
    }
    struct buf detail = {.arena = errs->arena};
    if (fmt) {
        va_list args;
        va_start(args, fmt);
        buf_vfmt(&detail, fmt, args);
        va_end(args);
    }
    struct field_error e = {
        .type = type,
        .field = str_dup(errs->arena, str_clip(errs->arena, field)),
        .value = str_dup(errs->arena, str_clip(errs->arena, value)),
        .detail = str_clip(errs->arena, buf_str(&detail)),
    };
    errs->bytes += e.field.n + e.value.n + e.detail.n;
    *vec_push(errs->arena, &errs->list) = e;
}

const char *field_error_reason(enum field_error_type type)
{
    assert((size_t)type < COUNT(types));
    return types[type].reason;
}

void field_error_body(struct buf *b, const struct field_error *e)
{
    assert((size_t)e->type < COUNT(types));
    buf_add_str(b, str_of(types[e->type].title));
    if (types[e->type].shows_value && e->value.n) {
        buf_add_str(b, S(": "));
        buf_add_str(b, e->value);
    }
    if (e->detail.n) {
        buf_add_str(b, S(": "));
        buf_add_str(b, e->detail);
    }
}

void field_error_format(struct buf *b, const struct field_error *e)
{
    buf_add_str(b, e->field);
    buf_add_str(b, S(": "));
    field_error_body(b, e);
}

void field_errors_format(struct buf *b, const struct field_errors *errs)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct map seen = {0};
    VEC(str) texts = {0};
    vec_each(&errs->list, e)
    {
        struct buf one = {.arena = &scratch};
        field_error_format(&one, e);
        if (map_get(&seen, buf_str(&one)))
            continue;
        map_set(&seen, buf_str(&one), (void *)e);
        *vec_push(&scratch, &texts) = buf_str(&one);
    }
    map_done(&seen);
    if (errs->dropped)
        *vec_push(&scratch, &texts) = str_fmt(&scratch, "and %zu more", errs->dropped);
    bool many = texts.n > 1;
    if (many)
        buf_add_char(b, '[');
    for (size_t i = 0; i < texts.n; i++) {
        if (i)
            buf_add_str(b, S(", "));
        buf_add_str(b, texts.p[i]);
    }
    if (many)
        buf_add_char(b, ']');
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(json_key(*(const struct json_member *const *)a), json_key(*(const struct json_member *const *)b));
}

static void add_value(struct buf *b, const struct json *v, struct arena *scratch);

static void add_map(struct buf *b, const struct json *v, struct arena *scratch)
{
    const struct json_member **sorted = ARENA_ARRAY(scratch, const struct json_member *, v->n + 1);
    size_t n = 0;
    json_each_member(v, m) sorted[n++] = m;
    qsort(sorted, n, sizeof *sorted, by_key);
    buf_add_str(b, S("map[string]interface {}{"));
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(b, S(", "));
        buf_add_quoted(b, json_key(sorted[i]));
        buf_add_char(b, ':');
        add_value(b, &sorted[i]->val, scratch);
    }
    buf_add_char(b, '}');
}

/* As Go's %#v prints a value inside another. */
static void add_value(struct buf *b, const struct json *v, struct arena *scratch)
{
    switch (json_type(v)) {
    case JSON_NULL:
        buf_add_str(b, S("interface {}(nil)"));
        break;
    case JSON_BOOL:
        buf_add_str(b, v->b ? S("true") : S("false"));
        break;
    case JSON_INT:
        buf_fmt(b, "%lld", (long long)v->i);
        break;
    case JSON_UINT:
        buf_fmt(b, "%llu", (unsigned long long)v->u);
        break;
    case JSON_REAL:
        go_text_real(b, v->d);
        break;
    case JSON_STR:
        buf_add_quoted(b, json_text(v));
        break;
    case JSON_OBJ:
        add_map(b, v, scratch);
        break;
    case JSON_ARR:
        buf_add_str(b, S("[]interface {}{"));
        for (size_t i = 0; i < v->n; i++) {
            if (i)
                buf_add_str(b, S(", "));
            add_value(b, &v->items[i], scratch);
        }
        buf_add_char(b, '}');
        break;
    }
}

str field_value(struct arena *a, const struct json *v)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf b = {.arena = a};
    if (json_is_null(v))
        buf_add_str(&b, S("\"null\""));
    else
        add_value(&b, v, &scratch);
    return buf_str(&b);
}

str field_quote(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, str_clip(a, text));
    return buf_str(&b);
}

str field_strings(struct arena *a, const str *list, size_t n)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("[]string{"));
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(&b, S(", "));
        buf_add_quoted(&b, list[i]);
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}

str field_child(struct arena *a, str path, str name)
{
    return path.n ? str_fmt(a, "%.*s.%.*s", STR(path), STR(name)) : str_dup(a, name);
}

str field_index(struct arena *a, str path, size_t i)
{
    return str_fmt(a, "%.*s[%zu]", STR(path), i);
}

str field_key(struct arena *a, str path, str key)
{
    return str_fmt(a, "%.*s[%.*s]", STR(path), STR(key));
}
