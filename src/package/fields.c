/* SPDX-License-Identifier: Apache-2.0 */
#include "package/fields.h"

str fields_shown(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    buf_add_quoted(&b, finding_shown(a, text, FIELDS_SHOWN));
    return buf_str(&b);
}

const char *fields_type(const struct json *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",   [JSON_BOOL] = "boolean", [JSON_INT] = "number", [JSON_UINT] = "number",
        [JSON_REAL] = "number", [JSON_STR] = "string",   [JSON_ARR] = "list",   [JSON_OBJ] = "mapping",
    };
    return names[json_type(v)];
}

static void wrong_type(const struct fields_reader *r, str field, const char *wanted, const struct json *got)
{
    const char *hint = json_is_num(got) && wanted[0] == 's' ? "; put it in quotes" : "";
    findings_add(r->findings, INVALID_PACKAGE, "%.*s: %.*s: must be a %s, but is a %s%s", STR(r->file), STR(field),
                 wanted, fields_type(got), hint);
}

static bool read_text(const struct fields_reader *r, str field, const struct field_rule *rule, const struct json *v,
                      struct json *ret)
{
    if (!json_is_str(v)) {
        wrong_type(r, field, "string", v);
        return false;
    }
    if (v->n > rule->max && rule->type == FIELD_WORD)
        findings_add(r->findings, INVALID_PACKAGE, "%.*s: %.*s: must not be longer than %zu bytes", STR(r->file),
                     STR(field), rule->max);
    else if (v->n > rule->max)
        findings_add(r->warnings, (str){0}, "%.*s: %.*s: is longer than %zu bytes and left out", STR(r->file),
                     STR(field), rule->max);
    if (v->n > rule->max)
        return false;
    *ret = json_str(str_dup(r->arena, json_text(v)));
    return true;
}

static struct json read_record(const struct fields_reader *r, const char *within, const struct json *record,
                               const struct field_rule *rules, size_t n);

static bool read_list(const struct fields_reader *r, str field, const struct field_rule *rule, const struct json *v,
                      struct json *ret)
{
    if (!json_is_arr(v)) {
        wrong_type(r, field, "list", v);
        return false;
    }
    if (v->n > FIELDS_MAX_ITEMS) {
        findings_add(r->findings, INVALID_PACKAGE, "%.*s: %.*s: must not have more than %d items", STR(r->file),
                     STR(field), FIELDS_MAX_ITEMS);
        return false;
    }
    *ret = json_arr_sized(r->arena, v->n);
    json_each_item(v, item)
    {
        struct arena scratch ARENA_SCOPE = {0};
        str place = str_fmt(&scratch, "%.*s[%zu]", STR(field), (size_t)(item - v->items));
        struct json got;
        if (rule->type == FIELD_TEXTS) {
            if (read_text(r, place, rule, item, &got))
                json_push(r->arena, ret, got);
        } else if (!json_is_obj(item)) {
            wrong_type(r, place, "mapping", item);
        } else {
            const char *prefix = str_cstr(&scratch, str_fmt(&scratch, "%.*s.", STR(place)));
            json_push(r->arena, ret, read_record(r, prefix, item, rule->inner, rule->n_inner));
        }
    }
    return true;
}

static void read_field(const struct fields_reader *r, str field, const struct field_rule *rule, const struct json *v,
                       struct json *record)
{
    struct json got;
    bool ok = false;
    if (rule->type == FIELD_TEXT || rule->type == FIELD_WORD)
        ok = read_text(r, field, rule, v, &got);
    else if (rule->type != FIELD_IGNORED)
        ok = read_list(r, field, rule, v, &got);
    if (ok)
        json_add(r->arena, record, str_of(rule->name), got);
}

static const struct field_rule *rule_of(str name, const struct field_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_of(rules[i].name)))
            return &rules[i];
    return NULL;
}

static void warn_unknown(const struct fields_reader *r, const char *within, const struct json *record,
                         const struct field_rule *rules, size_t n)
{
    json_each_member(record, m)
    {
        if (rule_of(json_key(m), rules, n))
            continue;
        struct arena scratch ARENA_SCOPE = {0};
        str name = fields_shown(&scratch, json_key(m));
        findings_add(r->warnings, (str){0}, "%.*s: %s%.*s: is not a known field and left out", STR(r->file), within,
                     STR(name));
    }
}

static struct json read_record(const struct fields_reader *r, const char *within, const struct json *record,
                               const struct field_rule *rules, size_t n)
{
    struct json ret = json_obj();
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(record, str_of(rules[i].name));
        if (json_is_null(v))
            continue;
        struct arena scratch ARENA_SCOPE = {0};
        read_field(r, str_fmt(&scratch, "%s%s", within, rules[i].name), &rules[i], v, &ret);
    }
    warn_unknown(r, within, record, rules, n);
    return ret;
}

struct json fields_read(const struct fields_reader *r, const struct json *document, const struct field_rule *rules,
                        size_t n)
{
    if (!json_is_obj(document)) {
        findings_add(r->findings, INVALID_PACKAGE, "%.*s: must be a mapping, but is a %s", STR(r->file),
                     fields_type(document));
        return json_obj();
    }
    return read_record(r, "", document, rules, n);
}
