/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns.h"

#include "base/clock.h"
#include "kinds/columns_internal.h"
#include "object/go_text.h"

/* "5h" or "5h7m": the second part is left out when it is zero. */
static str two_parts(struct arena *a, int64_t first, char unit, int64_t second, char small)
{
    if (second == 0)
        return str_fmt(a, "%lld%c", (long long)first, unit);
    return str_fmt(a, "%lld%c%lld%c", (long long)first, unit, (long long)second, small);
}

str column_duration(struct arena *a, int64_t s)
{
    const int64_t minute = 60, hour = 60 * minute, day = 24 * hour, year = 365 * day;
    if (s < -1)
        return S("<invalid>");
    if (s < 0)
        return S("0s");
    if (s < 2 * minute)
        return two_parts(a, s, 's', 0, 0);
    if (s < 10 * minute)
        return two_parts(a, s / minute, 'm', s % minute, 's');
    if (s < 3 * hour)
        return two_parts(a, s / minute, 'm', 0, 0);
    if (s < 8 * hour)
        return two_parts(a, s / hour, 'h', s % hour / minute, 'm');
    if (s < 48 * hour)
        return two_parts(a, s / hour, 'h', 0, 0);
    if (s < 8 * day)
        return two_parts(a, s / day, 'd', s % day / hour, 'h');
    if (s < 2 * year)
        return two_parts(a, s / day, 'd', 0, 0);
    if (s < 8 * year)
        return two_parts(a, s / year, 'y', s % year / day, 'd');
    return two_parts(a, s / year, 'y', 0, 0);
}

str column_age(struct arena *a, str timestamp, int64_t now)
{
    int64_t then;
    uint32_t nanos;
    if (!time_parse(timestamp, &then, &nanos))
        return S("<unknown>");
    return column_duration(a, now - then);
}

/* ---- Custom resources. ---- */

/* Text as kubectl prints a value found by a JSONPath. */
static struct json printed(struct arena *a, const struct json *v)
{
    if (json_is_str(v))
        return *v;
    struct buf b = {.arena = a};
    if (json_is_null(v))
        buf_add_str(&b, S("<no value>"));
    else if (v->type == JSON_REAL || v->type == JSON_UINT)
        go_text_real(&b, json_to_real(v));
    else
        json_encode(&b, v, JSON_SORTED);
    return json_str(buf_str(&b));
}

static struct json date(struct arena *a, str text, int64_t now)
{
    int64_t then;
    uint32_t nanos;
    if (text.n == 0)
        return json_str(S("<unknown>"));
    if (!time_parse(text, &then, &nanos))
        return json_str(S("<invalid>"));
    return json_str(column_duration(a, now - then));
}

/* A hit that does not fit the column's type shows nothing. */
static struct json typed(struct arena *a, const char *type, const struct json *v, int64_t now)
{
    str t = str_of(type);
    if (str_eq(t, S("string")))
        return printed(a, v);
    if (str_eq(t, S("integer")) && json_is_num(v)) {
        double d = json_to_real(v);
        bool fits = d >= -0x1p63 && d < 0x1p63; /* else what the processor of a Go server makes of it */
        return v->type == JSON_INT ? *v : json_int(fits ? (int64_t)d : INT64_MIN);
    }
    if (str_eq(t, S("number")) && json_is_num(v))
        return json_real(json_to_real(v));
    if (str_eq(t, S("boolean")) && json_type(v) == JSON_BOOL)
        return *v;
    if (str_eq(t, S("date")) && json_is_str(v))
        return date(a, json_text(v), now);
    return json_null();
}

static const char *dup_text(struct arena *a, const struct json *obj, str key)
{
    return str_cstr(a, json_get_text(obj, key));
}

static struct json creation_age(struct arena *a, const struct json *obj, int64_t now)
{
    return json_str(column_age(a, json_text(json_dig(obj, "metadata.creationTimestamp")), now));
}

static struct json nothing(struct arena *a, const struct json *obj, int64_t now)
{
    (void)a;
    (void)obj;
    (void)now;
    return json_null();
}

static struct column of_definition(struct arena *a, const struct json *def)
{
    int64_t priority = 0;
    json_to_int(json_get(def, S("priority")), &priority);
    str path = json_get_text(def, S("jsonPath")), description = json_get_text(def, S("description"));
    if (description.n == 0)
        description = str_fmt(a, "Custom resource definition column (in JSONPath format): %.*s", STR(path));
    struct column c = {
        .name = dup_text(a, def, S("name")),
        .type = dup_text(a, def, S("type")),
        .format = dup_text(a, def, S("format")),
        .description = str_cstr(a, description),
        .priority = (int)priority,
    };
    struct err ignored;
    if (jsonpath_compile(a, path, &c.path, &ignored) < 0)
        c.cell = nothing;
    return c;
}

const struct columns *columns_of_crd(struct arena *a, const struct json *printer_columns)
{
    size_t n = json_len(printer_columns), at = 0;
    struct column *list = ARENA_ARRAY(a, struct column, n + 2);
    list[at++] = (struct column){.name = "Name", .type = "string", .format = "name", .field = "metadata.name"};
    if (n == 0)
        list[at++] = (struct column){.name = "Age", .type = "date", .cell = creation_age};
    json_each_item(printer_columns, def)
    {
        list[at++] = of_definition(a, def);
    }
    struct columns *made = ARENA_NEW(a, struct columns);
    *made = (struct columns){list, at};
    return made;
}

/* ---- Tables. ---- */

static struct json text_or_empty(const char *s)
{
    return json_str(str_of(s ? s : ""));
}

struct json columns_define(struct arena *a, const struct columns *columns)
{
    struct json list = json_arr_sized(a, columns->n);
    for (size_t i = 0; i < columns->n; i++) {
        const struct column *c = &columns->list[i];
        struct json def = json_obj_sized(a, 5);
        json_add(a, &def, S("name"), text_or_empty(c->name));
        json_add(a, &def, S("type"), text_or_empty(c->type));
        json_add(a, &def, S("format"), text_or_empty(c->format));
        json_add(a, &def, S("description"),
                 text_or_empty(c->description ? c->description : column_description(c->name)));
        json_add(a, &def, S("priority"), json_int(c->priority));
        json_push(a, &list, def);
    }
    return list;
}

static struct json cell(struct arena *a, const struct column *c, const struct json *obj, int64_t now)
{
    if (c->cell)
        return c->cell(a, obj, now);
    if (c->path) {
        const struct json *hit = jsonpath_first(a, c->path, obj);
        return hit ? typed(a, c->type, hit, now) : json_null();
    }
    str text = json_text(json_dig(obj, c->field));
    return text.n ? json_str(text) : text_or_empty(c->absent);
}

struct json columns_cells(struct arena *a, const struct columns *columns, const struct json *obj, int64_t now)
{
    struct json list = json_arr_sized(a, columns->n);
    for (size_t i = 0; i < columns->n; i++)
        json_push(a, &list, cell(a, &columns->list[i], obj, now));
    return list;
}

bool columns_of_metadata(const struct columns *columns)
{
    for (size_t i = 0; i < columns->n; i++) {
        const struct column *c = &columns->list[i];
        bool is_field = !c->cell && !c->path && str_has_prefix(str_of(c->field), S("metadata."));
        if (!is_field && c->cell != creation_age)
            return false;
    }
    return true;
}

static const struct column default_list[] = {
    {.name = "Name", .type = "string", .format = "name", .field = "metadata.name"},
    {.name = "Created At", .type = "date", .field = "metadata.creationTimestamp", .absent = "0001-01-01T00:00:00Z"},
};

const struct columns columns_default = {default_list, 2};
