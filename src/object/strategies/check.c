/* SPDX-License-Identifier: Apache-2.0 */
#include "object/strategies/check.h"

static void format(struct buf *b, const struct place *at)
{
    if (at == NULL)
        return;
    format(b, at->up);
    if (at->name.p == NULL)
        buf_fmt(b, "[%zu]", at->index);
    else if (at->is_key)
        buf_fmt(b, "[%.*s]", STR(at->name));
    else
        buf_fmt(b, "%s%.*s", at->up ? "." : "", STR(at->name));
}

str place_format(struct arena *a, const struct place *at)
{
    struct buf b = {.arena = a};
    format(&b, at);
    return buf_str(&b);
}

static void add(struct field_errors *errs, enum field_error_type type, const struct place *at, str value, str text)
{
    str place = field_errors_full(errs) ? (str){0} : place_format(errs->arena, at);
    field_error_add(errs, type, place, value, "%.*s", STR(text));
}

void check_required(struct field_errors *errs, const struct place *at, const char *text)
{
    add(errs, FIELD_REQUIRED, at, (str){0}, str_of(text));
}

void check_forbidden(struct field_errors *errs, const struct place *at, const char *text)
{
    add(errs, FIELD_FORBIDDEN, at, (str){0}, str_of(text));
}

void check_invalid(struct field_errors *errs, const struct place *at, const struct json *value, const char *text)
{
    str shown = field_errors_full(errs) ? (str){0} : field_value(errs->arena, value);
    add(errs, FIELD_INVALID, at, shown, str_of(text));
}

void check_invalid_text(struct field_errors *errs, const struct place *at, str value, const char *text)
{
    struct json v = json_str(value);
    check_invalid(errs, at, &v, text);
}

void check_duplicate(struct field_errors *errs, const struct place *at, str value)
{
    add(errs, FIELD_DUPLICATE, at, field_quote(errs->arena, value), (str){0});
}

void check_unsupported(struct field_errors *errs, const struct place *at, str value, const char *names)
{
    struct buf list = {.arena = errs->arena};
    str rest = str_of(names), name;
    for (const char *before = "supported values: "; rest.n; before = ", ") {
        str_cut(rest, ' ', &name, &rest);
        buf_fmt(&list, "%s\"%.*s\"", before, STR(name));
    }
    add(errs, FIELD_NOT_SUPPORTED, at, field_quote(errs->arena, value), buf_str(&list));
}

void check_too_long(struct field_errors *errs, const struct place *at, size_t max)
{
    add(errs, FIELD_TOO_LONG, at, (str){0}, str_fmt(errs->arena, "may not be more than %zu bytes", max));
}

bool is_choice(str value, const char *names)
{
    str rest = str_of(names), name;
    while (rest.n) {
        str_cut(rest, ' ', &name, &rest);
        if (str_eq(name, value))
            return true;
    }
    return false;
}

void check_choice(struct field_errors *errs, const struct place *at, str value, const char *names)
{
    if (value.n == 0)
        check_required(errs, at, "");
    else if (!is_choice(value, names))
        check_unsupported(errs, at, value, names);
}

void check_name(struct field_errors *errs, const struct place *at, enum name_rule rule, str name)
{
    if (!name_is(rule, name) && !field_errors_full(errs))
        name_validate(errs, place_format(errs->arena, at), rule, name);
}

void check_not_negative(struct field_errors *errs, const struct place *at, const struct json *v)
{
    if (int_of(v) < 0)
        check_invalid(errs, at, v, "must be greater than or equal to 0");
}

void check_range(struct field_errors *errs, const struct place *at, int64_t v, int64_t low, int64_t high)
{
    struct json value = json_int(v);
    if (v < low || v > high)
        add(errs, FIELD_INVALID, at, field_value(errs->arena, &value),
            str_fmt(errs->arena, "must be between %lld and %lld, inclusive", (long long)low, (long long)high));
}

void check_immutable(struct field_errors *errs, const struct place *at, const struct json *now,
                     const struct json *before)
{
    struct json none = json_null();
    if (!json_equal(now ? now : &none, before ? before : &none))
        check_invalid(errs, at, now, "field is immutable");
}

int64_t int_of(const struct json *v)
{
    int64_t n;
    return json_to_int(v, &n) ? n : 0;
}

bool is_unset(const struct json *v)
{
    return json_is_null(v) || (v->type >= JSON_STR && v->n == 0);
}

struct json *make_obj(struct arena *a, struct json *parent, str key)
{
    struct json *v = json_get_mut(parent, key);
    return json_is_obj(v) ? v : json_set(a, parent, key, json_obj());
}

struct json *make_arr(struct arena *a, struct json *parent, str key)
{
    struct json *v = json_get_mut(parent, key);
    return json_is_arr(v) ? v : json_set(a, parent, key, json_arr());
}

void default_str(struct arena *a, struct json *parent, str key, str value)
{
    if (json_get_text(parent, key).n == 0)
        json_set(a, parent, key, json_str(value));
}

void default_int(struct arena *a, struct json *parent, str key, int64_t value)
{
    if (json_is_null(json_get(parent, key)))
        json_set(a, parent, key, json_int(value));
}

void default_bool(struct arena *a, struct json *parent, str key, bool value)
{
    if (json_is_null(json_get(parent, key)))
        json_set(a, parent, key, json_bool(value));
}

void copy_member(struct arena *a, struct json *to, const struct json *from, str key)
{
    const struct json *v = json_get(from, key);
    if (v == NULL)
        json_remove(to, key);
    else
        json_set(a, to, key, json_dup(a, v));
}

void complete_map(struct arena *a, struct json *to, const struct json *from)
{
    struct json_index known JSON_INDEX_SCOPE;
    struct json added = json_obj();
    json_index_init(&known, to);
    json_each_member(from, m)
    {
        if (json_index_find(&known, json_key(m)) == NULL)
            json_add(a, &added, json_key(m), m->val);
    }
    json_each_member(&added, m) json_add(a, to, json_key(m), m->val);
}
