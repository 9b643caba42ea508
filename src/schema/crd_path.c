/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that a CustomResourceDefinition holds: of printed columns, of scale, of selectable fields. */
#include "base/map.h"
#include "schema/crd_check.h"

enum { MAX_SELECTABLE = 8 };

void crd_check_json_path(struct field_errors *errs, const struct step *at, str path)
{
    if (path.p[0] != '.')
        crd_invalid_text(errs, at, path, "must be a simple json path starting with .");
}

/* The next token: a dot, a bracket, a quoted string, or the text up to one of them. */
static str next_token(str *rest)
{
    size_t n = 0;
    str s = *rest;
    if (s.n && s.p[0] == '\'') {
        for (n = 1; n < s.n && !(s.p[n] == '\'' && s.p[n - 1] != '\\'); n++)
            ;
        n += n < s.n;
    } else {
        while (n < s.n && !memchr(".[]", s.p[n], 3))
            n++;
        n += n == 0 && s.n > 0;
    }
    *rest = str_from(s, n);
    return str_upto(s, n);
}

/* 'it\'s' without quotes and backslashes. */
static bool unquote(struct arena *a, str token, str *ret)
{
    if (token.n < 2 || token.p[0] != '\'' || token.p[token.n - 1] != '\'')
        return false;
    struct buf b = {.arena = a};
    for (size_t i = 1; i + 1 < token.n; i++) {
        if (token.p[i] == '\\' && i + 2 < token.n)
            i++;
        buf_add_char(&b, token.p[i]);
    }
    *ret = buf_str(&b);
    return true;
}

static const char *enter(struct arena *a, struct crd_field *field, str name, struct buf *canonical)
{
    const struct json *props = json_get(field->schema, S("properties"));
    const struct json *extra = json_get(field->schema, S("additionalProperties"));
    (void)a;
    if (json_len(props)) {
        if (canonical->n)
            buf_add_char(canonical, '.');
        buf_add_str(canonical, name);
        field->schema = json_get(props, name);
        return field->schema ? NULL : "does not refer to a valid field";
    }
    if (json_is_null(extra))
        return "does not refer to a valid field";
    buf_fmt(canonical, "[%.*s]", STR(name));
    field->schema = json_is_obj(extra) ? extra : NULL;
    return NULL;
}

const char *crd_field_find(struct arena *a, const struct json *schema, str path, bool allow_brackets,
                           struct crd_field *ret)
{
    *ret = (struct crd_field){.schema = schema};
    struct buf canonical = {.arena = a};
    while (path.n) {
        str token = next_token(&path);
        bool bracket = str_eq(token, S("["));
        if (!bracket && !str_eq(token, S(".")))
            return str_cstr(a, str_fmt(a, "expected [ or . but got: %.*s", STR(token)));
        if (bracket && !allow_brackets)
            return "array notation is not allowed";
        if (path.n == 0)
            return "unexpected end of JSON path";
        str name = next_token(&path);
        if (bracket && !unquote(a, name, &name))
            return str_cstr(a, str_fmt(a, "expected single quoted string but got %.*s", STR(name)));
        const char *wrong = enter(a, ret, name, &canonical);
        if (wrong)
            return wrong;
        if (ret->first.p == NULL)
            ret->first = name;
        if (bracket && path.n == 0)
            return "unexpected end of JSON path";
        str close = bracket ? next_token(&path) : S("]");
        if (!str_eq(close, S("]")))
            return str_cstr(a, str_fmt(a, "expected ] but got %.*s", STR(close)));
    }
    ret->canonical = buf_str(&canonical);
    return NULL;
}

static bool is_selectable(const struct json *schema)
{
    str type = json_get_text(schema, S("type"));
    return str_eq(type, S("string")) || str_eq(type, S("boolean")) || str_eq(type, S("integer"));
}

void crd_check_selectable(struct field_errors *errs, const struct json *fields, const struct json *schema,
                          const struct step *path)
{
    struct arena *a = errs->arena;
    struct map seen = {0};
    for (uint32_t i = 0; i < json_len(fields); i++) {
        const struct step *item = AT_ITEM(path, i), *at = AT(item, S("jsonPath"));
        str text = json_get_text(&fields->items[i], S("jsonPath"));
        struct crd_field field;
        if (text.n == 0) {
            crd_required(errs, at, "");
            continue;
        }
        const char *wrong = crd_field_find(a, schema, text, false, &field);
        if (wrong) {
            crd_invalid_text(errs, at, text, str_cstr(a, str_fmt(a, "is an invalid path: %s", wrong)));
            continue;
        }
        if (str_eq(field.first, S("metadata")))
            crd_invalid_text(errs, at, text, "must not point to fields in metadata");
        if (!is_selectable(field.schema))
            crd_invalid_text(errs, at, text,
                             "must point to a field of type string, boolean or integer. Enum string fields and strings "
                             "with formats are allowed.");
        if (!map_set(&seen, field.canonical, &seen))
            continue;
        struct buf field_name = {.arena = a}, quoted = {.arena = a};
        schema_path_format(&field_name, at, true);
        buf_add_quoted(&quoted, text);
        field_error_add(errs, FIELD_DUPLICATE, buf_str(&field_name), buf_str(&quoted), "%s", "");
    }
    size_t distinct = seen.n;
    map_done(&seen);
    if (distinct > MAX_SELECTABLE) {
        struct buf field_name = {.arena = a};
        schema_path_format(&field_name, path, true);
        field_error_add(errs, FIELD_TOO_MANY, buf_str(&field_name), str_fmt(a, "%zu", distinct),
                        "must have at most %d items", MAX_SELECTABLE);
    }
}
