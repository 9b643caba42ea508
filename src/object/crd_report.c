/* SPDX-License-Identifier: Apache-2.0 */
#include "object/crd_check.h"

static str place(struct field_errors *errs, const struct step *at)
{
    struct buf b = {.arena = errs->arena};
    schema_path_format(&b, at, true);
    return buf_str(&b);
}

void crd_required(struct field_errors *errs, const struct step *at, const char *text)
{
    field_error_add(errs, FIELD_REQUIRED, place(errs, at), (str){0}, "%s", text);
}

void crd_forbidden(struct field_errors *errs, const struct step *at, const char *text)
{
    field_error_add(errs, FIELD_FORBIDDEN, place(errs, at), (str){0}, "%s", text);
}

void crd_invalid(struct field_errors *errs, const struct step *at, str value, const char *text)
{
    field_error_add(errs, FIELD_INVALID, place(errs, at), value, "%s", text);
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
    while (rest.n) {
        str_cut(rest, ' ', &name, &rest);
        buf_fmt(&list, "%s\"%.*s\"", list.n ? ", " : "", STR(name));
    }
    field_error_add(errs, FIELD_NOT_SUPPORTED, place(errs, at), buf_str(&quoted), "supported values: %.*s",
                    STR(buf_str(&list)));
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
