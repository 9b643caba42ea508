/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/crd_check.h"

/* A place is written down only if the error is kept. */
static void add(struct field_errors *errs, enum field_error_type type, const struct step *at, str value, str text)
{
    struct buf place = {.arena = errs->arena};
    if (!field_errors_full(errs))
        schema_path_format(&place, at, true);
    field_error_add(errs, type, buf_str(&place), value, "%.*s", STR(text));
}

void crd_required(struct field_errors *errs, const struct step *at, const char *text)
{
    add(errs, FIELD_REQUIRED, at, (str){0}, str_of(text));
}

void crd_forbidden(struct field_errors *errs, const struct step *at, const char *text)
{
    add(errs, FIELD_FORBIDDEN, at, (str){0}, str_of(text));
}

void crd_invalid(struct field_errors *errs, const struct step *at, str value, const char *text)
{
    add(errs, FIELD_INVALID, at, value, str_of(text));
}

void crd_invalid_text(struct field_errors *errs, const struct step *at, str value, const char *text)
{
    struct buf quoted = {.arena = errs->arena};
    buf_add_quoted(&quoted, value);
    crd_invalid(errs, at, buf_str(&quoted), text);
}

void crd_unsupported(struct field_errors *errs, const struct step *at, str value, const char *names)
{
    struct buf quoted = {.arena = errs->arena}, list = {.arena = errs->arena};
    buf_add_quoted(&quoted, value);
    str rest = str_of(names), name;
    const char *before = "supported values: ";
    for (; rest.n; before = ", ") {
        str_cut(rest, ' ', &name, &rest);
        buf_fmt(&list, "%s\"%.*s\"", before, STR(name));
    }
    add(errs, FIELD_NOT_SUPPORTED, at, buf_str(&quoted), buf_str(&list));
}

void crd_check_choice(struct field_errors *errs, const struct step *at, str value, const char *names)
{
    str rest = str_of(names), name;
    if (value.n == 0) {
        crd_required(errs, at, "");
        return;
    }
    while (rest.n) {
        str_cut(rest, ' ', &name, &rest);
        if (str_eq(name, value))
            return;
    }
    crd_unsupported(errs, at, value, names);
}

str crd_strings(struct arena *a, const struct json *list)
{
    struct buf b = {.arena = a};
    if (json_len(list) == 0)
        return S("[]string(nil)");
    buf_add_str(&b, S("[]string{"));
    json_each_item(list, it)
    {
        if (it != list->items)
            buf_add_str(&b, S(", "));
        buf_add_quoted(&b, json_text(it));
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}
