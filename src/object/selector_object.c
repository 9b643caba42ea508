/* SPDX-License-Identifier: Apache-2.0 */
/* LabelSelector objects: {"matchLabels": {"a": "b"}, "matchExpressions": [{"key", "operator", "values"}]} */
#include "object/selector_build.h"

#include "object/name.h"

static const struct {
    const char *name;
    enum selector_op op;
} operators[] = {
    {"In", SELECTOR_IN},
    {"NotIn", SELECTOR_NOT_IN},
    {"Exists", SELECTOR_EXISTS},
    {"DoesNotExist", SELECTOR_ABSENT},
};

static bool find_operator(str name, enum selector_op *ret)
{
    for (size_t i = 0; i < COUNT(operators); i++) {
        if (str_eq(name, str_of(operators[i].name))) {
            *ret = operators[i].op;
            return true;
        }
    }
    return false;
}

static int add_label(struct arena *a, const struct json_member *m, struct selector_terms *terms, struct err *err)
{
    struct selector_values values = {0};
    struct selector_term term;
    if (!json_is_str(&m->val))
        return err_set(err, ERR_BAD_REQUEST, "matchLabels[%.*s] must be a string", STR(json_key(m)));
    *vec_push(a, &values) = str_dup(a, json_text(&m->val));
    int rc = selector_term_make(&term, str_dup(a, json_key(m)), SELECTOR_EQUALS, values, err);
    if (rc == 0)
        *vec_push(a, terms) = term;
    return rc;
}

static int add_expression(struct arena *a, const struct json *expression, struct selector_terms *terms, struct err *err)
{
    struct selector_values values = {0};
    struct selector_term term;
    enum selector_op op;
    const struct json *list = json_get(expression, S("values"));
    str name = json_get_text(expression, S("operator"));
    if (!find_operator(name, &op)) {
        return err_set(err, ERR_BAD_REQUEST, "%.*s is not a valid label selector operator", STR(field_quote(a, name)));
    }
    if (!json_is_arr(list) && !json_is_null(list))
        return err_set(err, ERR_BAD_REQUEST, "values must be a list of strings");
    json_each_item(list, v)
    {
        if (!json_is_str(v))
            return err_set(err, ERR_BAD_REQUEST, "values must be a list of strings");
        *vec_push(a, &values) = str_dup(a, json_text(v));
    }
    int rc = selector_term_make(&term, str_dup(a, json_get_text(expression, S("key"))), op, values, err);
    if (rc == 0)
        *vec_push(a, terms) = term;
    return rc;
}

int selector_from_object(struct arena *a, const struct json *object, struct selector *ret, struct err *err)
{
    if (json_is_null(object)) {
        *ret = (struct selector){.nothing = true};
        return 0;
    }
    struct selector_terms terms = {0};
    const struct json *labels = json_get(object, S("matchLabels"));
    const struct json *expressions = json_get(object, S("matchExpressions"));
    int rc = 0;
    /* A selector that cannot be read must not come out as the one that selects everything. */
    if (!json_is_obj(object))
        return err_set(err, ERR_BAD_REQUEST, "a label selector must be an object");
    if (!json_is_obj(labels) && !json_is_null(labels))
        return err_set(err, ERR_BAD_REQUEST, "matchLabels must be a map of strings");
    if (!json_is_arr(expressions) && !json_is_null(expressions))
        return err_set(err, ERR_BAD_REQUEST, "matchExpressions must be a list");
    json_each_member(labels, m)
    {
        if ((rc = add_label(a, m, &terms, err)) < 0)
            return rc;
    }
    json_each_item(expressions, e)
    {
        if ((rc = add_expression(a, e, &terms, err)) < 0)
            return rc;
    }
    *ret = selector_finish(&terms);
    return 0;
}

/* A selector that cannot be read must not pass as an empty one. */
static void validate_list(struct field_errors *errs, str field, const struct json *v)
{
    if (!json_is_arr(v) && !json_is_null(v))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(errs->arena, v), "must be a list");
}

static void validate_expression(struct field_errors *errs, str field, const struct json *expression, bool stored)
{
    struct arena *a = errs->arena;
    const struct json *values = json_get(expression, S("values"));
    const struct json *operator= json_get(expression, S("operator"));
    str values_field = field_child(a, field, S("values"));
    enum selector_op op;
    if (!find_operator(json_text(operator), &op)) {
        field_error_add(errs, FIELD_INVALID, field_child(a, field, S("operator")), field_quote(a, json_text(operator)),
                        "not a valid selector operator");
    } else if ((op == SELECTOR_IN || op == SELECTOR_NOT_IN) && json_len(values) == 0) {
        field_error_add(errs, FIELD_REQUIRED, values_field, (str){0},
                        "must be specified when `operator` is 'In' or 'NotIn'");
    } else if ((op == SELECTOR_EXISTS || op == SELECTOR_ABSENT) && json_len(values) > 0) {
        field_error_add(errs, FIELD_FORBIDDEN, values_field, (str){0},
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
    name_validate(errs, field_child(a, field, S("key")), NAME_QUALIFIED, json_get_text(expression, S("key")));
    size_t i = 0;
    validate_list(errs, values_field, values);
    json_each_item(values, v)
    {
        str item = field_index(a, values_field, i++);
        if (json_is_str(v) && !stored)
            name_validate(errs, item, NAME_LABEL_VALUE, json_text(v));
        else if (!json_is_str(v))
            field_error_add(errs, FIELD_TYPE_INVALID, item, field_value(a, v), "must be a string");
    }
}

static void validate(struct field_errors *errs, str field, const struct json *object, bool stored)
{
    struct arena *a = errs->arena;
    const struct json *expressions = json_get(object, S("matchExpressions"));
    str list = field_child(a, field, S("matchExpressions"));
    size_t i = 0;
    if (!json_is_obj(object) && !json_is_null(object))
        field_error_add(errs, FIELD_TYPE_INVALID, field, field_value(a, object), "must be an object");
    name_validate_labels(errs, field_child(a, field, S("matchLabels")), json_get(object, S("matchLabels")));
    validate_list(errs, list, expressions);
    json_each_item(expressions, e) validate_expression(errs, field_index(a, list, i++), e, stored);
}

void selector_validate(struct field_errors *errs, str field, const struct json *object)
{
    validate(errs, field, object, false);
}

void selector_validate_stored(struct field_errors *errs, str field, const struct json *object)
{
    validate(errs, field, object, true);
}
