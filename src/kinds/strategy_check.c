/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strategy_internal.h"

#include "object/selector.h"

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

void check_invalid_go(struct field_errors *errs, const struct place *at, str value, const char *text)
{
    add(errs, FIELD_INVALID, at, value, str_of(text));
}

void check_not_found(struct field_errors *errs, const struct place *at, str value)
{
    add(errs, FIELD_NOT_FOUND, at, field_quote(errs->arena, value), (str){0});
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

void check_too_many(struct field_errors *errs, const struct place *at, size_t n, size_t max)
{
    add(errs, FIELD_TOO_MANY, at, str_fmt(errs->arena, "%zu", n),
        str_fmt(errs->arena, "must have at most %zu items", max));
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

void check_port_number(struct field_errors *errs, const struct place *at, int64_t port)
{
    check_range(errs, at, port, 1, 65535);
}

void check_port(struct field_errors *errs, const struct place *at, const struct json *port)
{
    if (json_is_str(port))
        check_name(errs, at, NAME_PORT, json_text(port));
    else
        check_port_number(errs, at, int_of(port));
}

bool is_percent(const struct json *share)
{
    return json_is_str(share) && name_is(NAME_PERCENT, json_text(share));
}

int64_t share_of(const struct json *share)
{
    int64_t n;
    if (!is_percent(share))
        return int_of(share);
    return str_to_int64(str_upto(json_text(share), share->n - 1), &n) ? n : INT64_MAX;
}

void check_share(struct field_errors *errs, const struct place *at, const struct json *share)
{
    if (!json_is_str(share)) {
        check_not_negative(errs, at, share);
        return;
    }
    struct name_faults faults = name_check(NAME_PERCENT, json_text(share));
    for (size_t i = 0; i < faults.n; i++)
        check_invalid_go(errs, at, go_int_or_string(errs->arena, share), faults.texts[i]);
}

void check_labels(struct field_errors *errs, const struct place *at, const struct json *labels)
{
    if (json_len(labels))
        name_validate_labels(errs, place_format(errs->arena, at), labels);
}

void check_annotations(struct field_errors *errs, const struct place *at, const struct json *annotations)
{
    if (json_len(annotations))
        name_validate_annotations(errs, place_format(errs->arena, at), annotations);
}

void check_selector(struct field_errors *errs, const struct place *at, const struct json *selector)
{
    selector_validate(errs, place_format(errs->arena, at), selector);
}

void check_immutable(struct field_errors *errs, const struct place *at, const struct json *now,
                     const struct json *before)
{
    struct json none = json_null();
    if (!json_equal(now ? now : &none, before ? before : &none))
        check_invalid(errs, at, now, "field is immutable");
}

/* ---- Values as Go prints them. ---- */

str go_labels(struct arena *a, const struct json *labels)
{
    struct buf b = {.arena = a};
    if (!json_is_obj(labels))
        return S("map[string]string(nil)");
    buf_add_str(&b, S("map[string]string{"));
    json_each_member(labels, m)
    {
        if (m != labels->members)
            buf_add_str(&b, S(", "));
        buf_add_quoted(&b, json_key(m));
        buf_add_char(&b, ':');
        buf_add_quoted(&b, json_text(&m->val));
    }
    buf_add_char(&b, '}');
    return buf_str(&b);
}

static void go_values(struct buf *b, const struct json *values)
{
    if (json_len(values) == 0) {
        buf_add_str(b, S("[]string(nil)"));
        return;
    }
    buf_add_str(b, S("[]string{"));
    json_each_item(values, it)
    {
        if (it != values->items)
            buf_add_str(b, S(", "));
        buf_add_quoted(b, json_text(it));
    }
    buf_add_char(b, '}');
}

str go_selector(struct arena *a, const struct json *selector)
{
    struct buf b = {.arena = a};
    const struct json *list = json_get(selector, S("matchExpressions"));
    buf_fmt(&b, "v1.LabelSelector{MatchLabels:%.*s, MatchExpressions:[]v1.LabelSelectorRequirement",
            STR(go_labels(a, json_get(selector, S("matchLabels")))));
    if (json_len(list) == 0)
        buf_add_str(&b, S("(nil)}"));
    json_each_item(list, it)
    {
        buf_fmt(&b, "%sv1.LabelSelectorRequirement{Key:", it == list->items ? "{" : ", ");
        buf_add_quoted(&b, json_get_text(it, S("key")));
        buf_add_str(&b, S(", Operator:"));
        buf_add_quoted(&b, json_get_text(it, S("operator")));
        buf_add_str(&b, S(", Values:"));
        go_values(&b, json_get(it, S("values")));
        buf_add_char(&b, '}');
    }
    if (json_len(list))
        buf_add_str(&b, S("}}"));
    return buf_str(&b);
}

str go_int_or_string(struct arena *a, const struct json *v)
{
    return str_fmt(a, "intstr.IntOrString{Type:%d, IntVal:%lld, StrVal:%.*s}", json_is_str(v), (long long)int_of(v),
                   STR(field_quote(a, json_text(v))));
}

/* ---- Reading and filling in. ---- */

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
