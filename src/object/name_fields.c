/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of name.c applied to fields: each fault becomes an error with the field's path. */
#include "object/name.h"

#include "base/budget.h"
#include "base/rune.h"

enum { ANNOTATIONS_MAX = 256 * 1024 };

static void add_faults(struct field_errors *errs, str field, str value, struct name_faults faults)
{
    str shown = faults.n ? field_quote(errs->arena, value) : (str){0};
    for (size_t i = 0; i < faults.n; i++)
        field_error_add(errs, FIELD_INVALID, field, shown, "%s", faults.texts[i]);
}

void name_validate(struct field_errors *errs, str field, enum name_rule rule, str name)
{
    budget_charge(10);
    add_faults(errs, field, name, name_check(rule, name));
}

void name_validate_prefix(struct field_errors *errs, str field, enum name_rule rule, str prefix)
{
    add_faults(errs, field, prefix, name_check_prefix(rule, prefix));
}

void name_validate_field_manager(struct field_errors *errs, str field, str manager)
{
    if (manager.n > NAME_FIELD_MANAGER_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field, (str){0}, "may not be more than %d bytes", NAME_FIELD_MANAGER_MAX);
    bool enough = false; /* each error shows the whole name: one is enough for a long one */
    for (str rest = manager; rest.n && !enough;) {
        size_t at = manager.n - rest.n;
        uint32_t r = rune_next(&rest);
        if (rune_is_print(r))
            continue;
        enough = manager.n > NAME_FIELD_MANAGER_MAX;
        field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, manager),
                        "invalid character U+%04X (at position %zu)", r, at);
    }
}

bool name_is_standard_finalizer(str finalizer)
{
    return str_eq(finalizer, S("kubernetes")) || str_eq(finalizer, S("orphan")) ||
           str_eq(finalizer, S("foregroundDeletion"));
}

void name_validate_standard_finalizer(struct field_errors *errs, str field, str finalizer)
{
    if (str_find_char(finalizer, '/') < 0 && !name_is_standard_finalizer(finalizer))
        field_error_add(errs, FIELD_INVALID, field, field_quote(errs->arena, finalizer),
                        "name is neither a standard finalizer name nor is it fully qualified");
}

/* False, with an error, for what can be no map of strings. Absent and null maps are empty ones. */
static bool is_text(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_str(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a string");
    return json_is_str(v);
}

static bool is_map(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_obj(v) && !json_is_null(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a map of strings");
    return json_is_obj(v);
}

void name_validate_labels(struct field_errors *errs, str field, const struct json *labels)
{
    if (!is_map(errs, field, labels))
        return;
    json_each_member(labels, m)
    {
        name_validate(errs, field, NAME_QUALIFIED, json_key(m));
        if (is_text(errs, field, &m->val))
            name_validate(errs, field, NAME_LABEL_VALUE, json_text(&m->val));
    }
}

void name_validate_annotations(struct field_errors *errs, str field, const struct json *annotations)
{
    if (!is_map(errs, field, annotations))
        return;
    size_t sum = 0;
    json_each_member(annotations, m)
    {
        name_validate(errs, field, NAME_ANNOTATION_KEY, json_key(m));
        (void)is_text(errs, field, &m->val);
        sum += m->key_n + json_text(&m->val).n;
    }
    if (sum > ANNOTATIONS_MAX)
        field_error_add(errs, FIELD_TOO_LONG, field, (str){0}, "may not be more than %d bytes", ANNOTATIONS_MAX);
}

void name_faults_format(struct buf *b, const struct name_faults *faults, str separator)
{
    for (size_t i = 0; i < faults->n; i++) {
        if (i)
            buf_add_str(b, separator);
        buf_add_str(b, str_of(faults->texts[i]));
    }
}
