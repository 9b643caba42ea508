/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/schema_keyword.h"

#include <assert.h>

static const struct {
    str name;
    uint8_t form;
} keywords[KW_COUNT] = {
    [KW_ID] = {S_INIT("id"), FORM_TEXT},
    [KW_SCHEMA] = {S_INIT("$schema"), FORM_TEXT},
    [KW_REF] = {S_INIT("$ref"), FORM_TEXT},
    [KW_DESCRIPTION] = {S_INIT("description"), FORM_TEXT},
    [KW_TYPE] = {S_INIT("type"), FORM_TEXT},
    [KW_FORMAT] = {S_INIT("format"), FORM_TEXT},
    [KW_TITLE] = {S_INIT("title"), FORM_TEXT},
    [KW_DEFAULT] = {S_INIT("default"), FORM_ANY},
    [KW_MAXIMUM] = {S_INIT("maximum"), FORM_NUMBER},
    [KW_EXCLUSIVE_MAXIMUM] = {S_INIT("exclusiveMaximum"), FORM_BOOL},
    [KW_MINIMUM] = {S_INIT("minimum"), FORM_NUMBER},
    [KW_EXCLUSIVE_MINIMUM] = {S_INIT("exclusiveMinimum"), FORM_BOOL},
    [KW_MAX_LENGTH] = {S_INIT("maxLength"), FORM_INTEGER},
    [KW_MIN_LENGTH] = {S_INIT("minLength"), FORM_INTEGER},
    [KW_PATTERN] = {S_INIT("pattern"), FORM_TEXT},
    [KW_MAX_ITEMS] = {S_INIT("maxItems"), FORM_INTEGER},
    [KW_MIN_ITEMS] = {S_INIT("minItems"), FORM_INTEGER},
    [KW_UNIQUE_ITEMS] = {S_INIT("uniqueItems"), FORM_BOOL},
    [KW_MULTIPLE_OF] = {S_INIT("multipleOf"), FORM_NUMBER},
    [KW_ENUM] = {S_INIT("enum"), FORM_VALUES},
    [KW_MAX_PROPERTIES] = {S_INIT("maxProperties"), FORM_INTEGER},
    [KW_MIN_PROPERTIES] = {S_INIT("minProperties"), FORM_INTEGER},
    [KW_REQUIRED] = {S_INIT("required"), FORM_TEXTS},
    [KW_ITEMS] = {S_INIT("items"), FORM_SCHEMA_OR_LIST},
    [KW_ALL_OF] = {S_INIT("allOf"), FORM_SCHEMAS},
    [KW_ONE_OF] = {S_INIT("oneOf"), FORM_SCHEMAS},
    [KW_ANY_OF] = {S_INIT("anyOf"), FORM_SCHEMAS},
    [KW_NOT] = {S_INIT("not"), FORM_SCHEMA},
    [KW_PROPERTIES] = {S_INIT("properties"), FORM_NAMED},
    [KW_ADDITIONAL_PROPERTIES] = {S_INIT("additionalProperties"), FORM_SCHEMA_OR_BOOL},
    [KW_PATTERN_PROPERTIES] = {S_INIT("patternProperties"), FORM_NAMED},
    [KW_DEPENDENCIES] = {S_INIT("dependencies"), FORM_OBJECT},
    [KW_ADDITIONAL_ITEMS] = {S_INIT("additionalItems"), FORM_SCHEMA_OR_BOOL},
    [KW_DEFINITIONS] = {S_INIT("definitions"), FORM_NAMED},
    [KW_EXTERNAL_DOCS] = {S_INIT("externalDocs"), FORM_OBJECT},
    [KW_EXAMPLE] = {S_INIT("example"), FORM_ANY},
    [KW_NULLABLE] = {S_INIT("nullable"), FORM_BOOL},
    [KW_X_PRESERVE] = {S_INIT("x-kubernetes-preserve-unknown-fields"), FORM_BOOL},
    [KW_X_EMBEDDED] = {S_INIT("x-kubernetes-embedded-resource"), FORM_BOOL},
    [KW_X_INT_OR_STRING] = {S_INIT("x-kubernetes-int-or-string"), FORM_BOOL},
    [KW_X_LIST_MAP_KEYS] = {S_INIT("x-kubernetes-list-map-keys"), FORM_TEXTS},
    [KW_X_LIST_TYPE] = {S_INIT("x-kubernetes-list-type"), FORM_TEXT},
    [KW_X_MAP_TYPE] = {S_INIT("x-kubernetes-map-type"), FORM_TEXT},
    [KW_X_VALIDATIONS] = {S_INIT("x-kubernetes-validations"), FORM_OBJECTS},
};

/* By length: most lookups are decided by it. */
static const uint8_t sorted[KW_COUNT] = {
    KW_ID,
    KW_NOT,
    KW_REF,
    KW_ENUM,
    KW_TYPE,
    KW_ALL_OF,
    KW_ANY_OF,
    KW_ITEMS,
    KW_ONE_OF,
    KW_TITLE,
    KW_FORMAT,
    KW_SCHEMA,
    KW_DEFAULT,
    KW_EXAMPLE,
    KW_MAXIMUM,
    KW_MINIMUM,
    KW_PATTERN,
    KW_MAX_ITEMS,
    KW_MIN_ITEMS,
    KW_NULLABLE,
    KW_REQUIRED,
    KW_MAX_LENGTH,
    KW_MIN_LENGTH,
    KW_MULTIPLE_OF,
    KW_PROPERTIES,
    KW_DEFINITIONS,
    KW_DESCRIPTION,
    KW_UNIQUE_ITEMS,
    KW_DEPENDENCIES,
    KW_EXTERNAL_DOCS,
    KW_MAX_PROPERTIES,
    KW_MIN_PROPERTIES,
    KW_ADDITIONAL_ITEMS,
    KW_EXCLUSIVE_MAXIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_PATTERN_PROPERTIES,
    KW_ADDITIONAL_PROPERTIES,
    KW_X_MAP_TYPE,
    KW_X_LIST_TYPE,
    KW_X_VALIDATIONS,
    KW_X_INT_OR_STRING,
    KW_X_LIST_MAP_KEYS,
    KW_X_EMBEDDED,
    KW_X_PRESERVE,
};

/* Where in that order those of a length begin, up to where those of the next one do. */
enum { LONGEST = 36 };
static const uint8_t first[LONGEST + 2] = {
    0,  0,  0,  1,  2,  5,  10, 11, 17, 21, 23, 25, 28, 30, 32, 32, 33, 35, 36,
    36, 36, 37, 38, 39, 39, 40, 40, 42, 42, 42, 42, 43, 43, 43, 43, 43, 43, 44,
};

static int find(str name)
{
    if (name.n == 0 || name.n > LONGEST)
        return -1;
    for (size_t i = first[name.n]; i < first[name.n + 1]; i++) {
        const char *known = keywords[sorted[i]].name.p;
        if (known[0] == name.p[0] && memcmp(known, name.p, name.n) == 0)
            return sorted[i];
    }
    return -1;
}

static_assert(KW_COUNT <= 64, "each has a bit");

void keywords_read(const struct json *schema, struct keywords *ret)
{
    *ret = (struct keywords){0};
    json_each_member(schema, m)
    {
        int k = m->val.type == JSON_NULL ? -1 : find(json_key(m));
        if (k >= 0) {
            ret->at[k] = &m->val;
            ret->given |= UINT64_C(1) << k;
        }
    }
}

const char *keyword_name(enum keyword k)
{
    assert(k < KW_COUNT);
    return keywords[k].name.p;
}

enum keyword_form keyword_form(enum keyword k)
{
    assert(k < KW_COUNT);
    return keywords[k].form;
}

static bool all_of_type(const struct json *list, enum json_type type)
{
    if (!json_is_arr(list))
        return false;
    json_each_item(list, it)
    {
        if (json_type(it) != type)
            return false;
    }
    return true;
}

static bool all_objects(const struct json *named)
{
    if (!json_is_obj(named))
        return false;
    json_each_member(named, m)
    {
        if (!json_is_obj(&m->val))
            return false;
    }
    return true;
}

const char *keyword_misformed(enum keyword k, const struct json *v)
{
    int64_t whole;
    switch (keyword_form(k)) {
    case FORM_TEXT:
        return json_is_str(v) ? NULL : "must be a string";
    case FORM_NUMBER:
        return json_is_num(v) ? NULL : "must be a number";
    case FORM_INTEGER:
        return json_to_int(v, &whole) ? NULL : "must be an integer";
    case FORM_BOOL:
        return json_type(v) == JSON_BOOL ? NULL : "must be a boolean";
    case FORM_ANY:
        return NULL;
    case FORM_VALUES:
        return json_is_arr(v) ? NULL : "must be a list";
    case FORM_TEXTS:
        return all_of_type(v, JSON_STR) ? NULL : "must be a list of strings";
    case FORM_SCHEMA:
        return json_is_obj(v) ? NULL : "must be a schema";
    case FORM_SCHEMAS:
        return all_of_type(v, JSON_OBJ) ? NULL : "must be a list of schemas";
    case FORM_NAMED:
        return all_objects(v) ? NULL : "must be an object of schemas";
    case FORM_SCHEMA_OR_BOOL:
        return json_is_obj(v) || json_type(v) == JSON_BOOL ? NULL : "must be a schema or a boolean";
    case FORM_SCHEMA_OR_LIST:
        return json_is_obj(v) || all_of_type(v, JSON_OBJ) ? NULL : "must be a schema";
    case FORM_OBJECT:
        return json_is_obj(v) ? NULL : "must be an object";
    case FORM_OBJECTS:
        return all_of_type(v, JSON_OBJ) ? NULL : "must be a list of objects";
    }
    return NULL;
}
