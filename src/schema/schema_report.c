/* SPDX-License-Identifier: Apache-2.0 */
/* How failed checks become field errors. */
#include "schema/schema_check.h"

#include <stdarg.h>

str report_name(struct validation *v, const struct step *path)
{
    struct buf b = {.arena = v->errs->arena};
    schema_path_format(&b, path, v->brackets);
    return buf_str(&b);
}

/* The field of an error: below base; the root of an object has the name <nil>. */
static str field_of(struct validation *v, str name)
{
    if (name.n == 0)
        return v->base.n ? v->base : S("<nil>");
    return field_child(v->errs->arena, v->base, name);
}

static bool is_same(const struct field_error *a, const struct field_error *b)
{
    return a->type == b->type && str_eq(a->field, b->field) && str_eq(a->detail, b->detail) &&
           (a->detail.n || str_eq(a->value, b->value));
}

/* Several ways through a schema may come to the same error: it is told once. */
static void add_once(struct field_errors *errs, const struct field_error *e)
{
    vec_each(&errs->list, it)
    {
        if (is_same(it, e))
            return;
    }
    errs->bytes += e->field.n + e->value.n + e->detail.n;
    *vec_push(errs->arena, &errs->list) = *e;
}

void report_merge(struct validation *v, const struct field_errors *from)
{
    struct arena *a = v->errs->arena;
    vec_each(&from->list, it)
    {
        if (report_wanted(v))
            add_once(v->errs, &(struct field_error){it->type, str_dup(a, it->field), str_dup(a, it->value),
                                                    str_dup(a, it->detail)});
    }
    v->errs->dropped += from->dropped;
}

bool report(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt, ...)
{
    if (!report_wanted(v))
        return false;
    str name = report_name(v, path);
    struct buf detail = {.arena = v->errs->arena};
    buf_fmt(&detail, "%.*s in body ", STR(name));
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&detail, fmt, args);
    va_end(args);
    add_once(v->errs, &(struct field_error){type, field_of(v, name), value, buf_str(&detail)});
    return false;
}

bool report_plain(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt,
                  ...)
{
    if (!report_wanted(v))
        return false;
    struct buf detail = {.arena = v->errs->arena};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&detail, fmt, args);
    va_end(args);
    add_once(v->errs, &(struct field_error){type, field_of(v, report_name(v, path)), value, buf_str(&detail)});
    return false;
}

bool report_whole(struct validation *v, str text)
{
    if (report_wanted(v))
        add_once(v->errs, &(struct field_error){FIELD_INVALID, field_of(v, (str){0}), S("\"\""), text});
    return false;
}
