/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a schema structural: every place has a type outside of anyOf, oneOf, allOf and not; inside of them only
 * values are restricted, and only values of places known outside. */
#include "base/budget.h"
#include "schema/crd_internal.h"
#include "schema/pattern.h"

#include <stdlib.h>

enum level { ROOT, ITEM, FIELD };

static void check_value(struct field_errors *errs, const struct keywords *kw, bool skip_any_of, bool skip_first_any_of,
                        const struct step *path);

/* ---- Value validations: the schemas inside anyOf and the like ---- */

static void forbid_shape(struct field_errors *errs, const struct keywords *kw, const struct step *path)
{
    static const struct {
        uint8_t keyword;
        const char *text;
    } shape[] = {
        {KW_TYPE, "must be empty to be structural"},
        {KW_ADDITIONAL_PROPERTIES, "must be undefined to be structural"},
        {KW_DEFAULT, "must be undefined to be structural"},
        {KW_TITLE, "must be empty to be structural"},
        {KW_DESCRIPTION, "must be empty to be structural"},
        {KW_NULLABLE, "must be false to be structural"},
        {KW_X_PRESERVE, "must be false to be structural"},
        {KW_X_EMBEDDED, "must be false to be structural"},
        {KW_X_INT_OR_STRING, "must be false to be structural"},
        {KW_X_LIST_MAP_KEYS, "must be empty to be structural"},
        {KW_X_LIST_TYPE, "must be undefined to be structural"},
        {KW_X_MAP_TYPE, "must be undefined to be structural"},
        {KW_X_VALIDATIONS, "must be empty to be structural"},
    };
    for (size_t i = 0; i < COUNT(shape); i++) {
        enum keyword k = shape[i].keyword;
        bool is_pointer = k == KW_X_LIST_TYPE || k == KW_X_MAP_TYPE;
        if (keyword_counts(kw, k) || (is_pointer && kw->at[k]))
            crd_forbidden(errs, AT(path, str_of(keyword_name(k))), shape[i].text);
    }
    if (json_get(kw->at[KW_PROPERTIES], S("metadata")))
        crd_forbidden(errs, AT_KEY(AT(path, S("properties")), S("metadata")),
                      "must not be specified in a nested context");
}

static void check_nested(struct field_errors *errs, const struct json *schema, bool skip_any_of,
                         const struct step *path)
{
    if (!json_is_obj(schema))
        return;
    struct keywords kw;
    keywords_read(schema, &kw);
    check_value(errs, &kw, skip_any_of, false, path);
    check_nested(errs, kw.at[KW_ITEMS], false, AT(path, S("items")));
    json_each_member(kw.at[KW_PROPERTIES], m)
        check_nested(errs, &m->val, false, AT_KEY(AT(path, S("properties")), json_key(m)));
    forbid_shape(errs, &kw, path);
}

static void check_list(struct field_errors *errs, const struct json *list, bool skip_first_any_of,
                       const struct step *path)
{
    for (uint32_t i = 0; i < json_len(list); i++)
        check_nested(errs, &list->items[i], skip_first_any_of && i == 0, AT_ITEM(path, i));
}

static void check_value(struct field_errors *errs, const struct keywords *kw, bool skip_any_of, bool skip_first_any_of,
                        const struct step *path)
{
    if (!budget_charge(20))
        return;
    if (!skip_any_of)
        check_list(errs, kw->at[KW_ANY_OF], false, AT(path, S("anyOf")));
    check_list(errs, kw->at[KW_ALL_OF], skip_first_any_of, AT(path, S("allOf")));
    check_list(errs, kw->at[KW_ONE_OF], false, AT(path, S("oneOf")));
    check_nested(errs, kw->at[KW_NOT], false, AT(path, S("not")));
    str pattern = keyword_text(kw, KW_PATTERN);
    struct err why = {0};
    if (pattern.n && pattern_check(pattern, &why) < 0) {
        str text = str_fmt(errs->arena, "must be a valid regular expression, but isn't: %s", why.msg);
        crd_invalid_text(errs, AT(path, S("pattern")), pattern, str_cstr(errs->arena, text));
    }
}

/* ---- Structure ---- */

static bool is_only_type(const struct json *schema, const char *type)
{
    struct keywords kw;
    keywords_read(schema, &kw);
    for (int k = 0; k < KW_COUNT; k++) {
        if (keyword_counts(&kw, k) != (k == KW_TYPE))
            return false;
    }
    return str_eq(keyword_text(&kw, KW_TYPE), str_of(type));
}

/* anyOf: [{type: integer}, {type: string}], the one place where types are welcome inside anyOf. */
static bool is_int_or_string(const struct json *any_of)
{
    return json_len(any_of) == 2 && is_only_type(&any_of->items[0], "integer") &&
           is_only_type(&any_of->items[1], "string");
}

static bool is_first_int_or_string(const struct json *all_of)
{
    return json_len(all_of) && is_int_or_string(json_get(&all_of->items[0], S("anyOf")));
}

static void check_type(struct field_errors *errs, const struct keywords *kw, enum level level, const struct step *path)
{
    static const char *const empty[] = {
        [ROOT] = "must not be empty at the root",
        [ITEM] = "must not be empty for specified array items",
        [FIELD] = "must not be empty for specified object fields",
    };
    str type = keyword_text(kw, KW_TYPE);
    const struct step *at = AT(path, S("type"));
    bool is_object = str_eq(type, S("object"));
    if (keyword_true(kw, KW_X_EMBEDDED) && type.n == 0)
        crd_required(errs, at, "must be object if x-kubernetes-embedded-resource is true");
    else if (keyword_true(kw, KW_X_EMBEDDED) && !is_object)
        crd_invalid_text(errs, at, type, "must be object if x-kubernetes-embedded-resource is true");
    else if (type.n == 0 && !keyword_true(kw, KW_X_INT_OR_STRING) && !keyword_true(kw, KW_X_PRESERVE))
        crd_required(errs, at, empty[level]);
    if (keyword_true(kw, KW_X_EMBEDDED) && kw->at[KW_ADDITIONAL_PROPERTIES])
        crd_forbidden(errs, AT(path, S("additionalProperties")),
                      "must not be used if x-kubernetes-embedded-resource is set");
    if (level == ROOT && type.n && !is_object)
        crd_invalid_text(errs, at, type, "must be object at the root");
}

/* At the root of a resource, metadata may have rules for name and generateName only. */
static bool is_plain_metadata(const struct json *schema)
{
    struct keywords kw;
    keywords_read(schema, &kw);
    for (int k = 0; k < KW_COUNT; k++) {
        bool free = k == KW_TYPE || k == KW_DEFAULT || k == KW_PROPERTIES || k == KW_EXTERNAL_DOCS || k == KW_EXAMPLE;
        if (!free && (keyword_counts(&kw, k) || (k == KW_ADDITIONAL_PROPERTIES && kw.at[k])))
            return false;
    }
    json_each_member(kw.at[KW_PROPERTIES], m)
    {
        if (!str_eq(json_key(m), S("name")) && !str_eq(json_key(m), S("generateName")))
            return false;
    }
    return true;
}

static void check_meta(struct field_errors *errs, const struct keywords *kw, enum level level, const struct step *path)
{
    bool is_resource = level == ROOT || keyword_true(kw, KW_X_EMBEDDED);
    const struct step *props = AT(path, S("properties"));
    static const char *const texts[] = {"kind", "apiVersion"};
    for (size_t i = 0; is_resource && i < 2; i++) {
        const struct json *field = json_get(kw->at[KW_PROPERTIES], str_of(texts[i]));
        str type = json_get_text(field, S("type"));
        if (field && !str_eq(type, S("string")))
            crd_invalid_text(errs, AT(AT_KEY(props, str_of(texts[i])), S("type")), type, "must be string");
    }
    const struct json *metadata = json_get(kw->at[KW_PROPERTIES], S("metadata"));
    if (metadata == NULL)
        return;
    const struct step *at = AT_KEY(props, S("metadata"));
    str type = json_get_text(metadata, S("type"));
    if (is_resource && !str_eq(type, S("object")))
        crd_invalid_text(errs, AT(at, S("type")), type, "must be object");
    if (level == ROOT && !is_plain_metadata(metadata))
        crd_forbidden(
            errs, at,
            "must not specify anything other than name and generateName, but metadata is implicitly specified");
}

static void check_structure(struct field_errors *errs, const struct json *schema, enum level level,
                            const struct step *path);

static void check_children(struct field_errors *errs, const struct keywords *kw, enum level level,
                           const struct step *path)
{
    const struct json *extra = kw->at[KW_ADDITIONAL_PROPERTIES];
    if (str_eq(keyword_text(kw, KW_TYPE), S("array")) && kw->at[KW_ITEMS] == NULL)
        crd_required(errs, AT(path, S("items")), "must be specified");
    if (kw->at[KW_ITEMS])
        check_structure(errs, kw->at[KW_ITEMS], ITEM, AT(path, S("items")));
    json_each_member(kw->at[KW_PROPERTIES], m)
        check_structure(errs, &m->val, FIELD, AT_KEY(AT(path, S("properties")), json_key(m)));
    if (extra && level == ROOT)
        crd_forbidden(errs, AT(path, S("additionalProperties")), "must not be used at the root");
    if (json_is_obj(extra))
        check_structure(errs, extra, FIELD, AT(path, S("additionalProperties")));
}

static void check_extensions(struct field_errors *errs, const struct keywords *kw, const struct step *path)
{
    if (keyword_true(kw, KW_X_INT_OR_STRING) && keyword_true(kw, KW_X_PRESERVE))
        crd_invalid(errs, AT(path, str_of(keyword_name(KW_X_PRESERVE))), S("true"),
                    "must be false if x-kubernetes-int-or-string is true");
    if (keyword_true(kw, KW_X_INT_OR_STRING) && keyword_true(kw, KW_X_EMBEDDED))
        crd_invalid(errs, AT(path, str_of(keyword_name(KW_X_EMBEDDED))), S("true"),
                    "must be false if x-kubernetes-int-or-string is true");
    if (keyword_true(kw, KW_X_EMBEDDED) && !keyword_true(kw, KW_X_PRESERVE) && json_len(kw->at[KW_PROPERTIES]) == 0)
        crd_required(errs, AT(path, S("properties")),
                     "must not be empty if x-kubernetes-embedded-resource is true without "
                     "x-kubernetes-preserve-unknown-fields");
}

static void check_structure(struct field_errors *errs, const struct json *schema, enum level level,
                            const struct step *path)
{
    if (!budget_charge(20))
        return;
    struct keywords kw;
    keywords_read(schema, &kw);
    check_children(errs, &kw, level, path);
    check_extensions(errs, &kw, path);
    check_value(errs, &kw, is_int_or_string(kw.at[KW_ANY_OF]), is_first_int_or_string(kw.at[KW_ALL_OF]), path);
    check_type(errs, &kw, level, path);
    check_meta(errs, &kw, level, path);
}

/* ---- Completeness: value validations may only refer to declared fields ---- */

struct places {
    const struct json *outer; /* the structure, NULL: not there */
    const struct step *outer_path;
};

static void check_complete(struct field_errors *errs, const struct json *inner, struct places p,
                           const struct step *path);

static void demand(struct field_errors *errs, const struct step *missing, const struct step *because)
{
    struct buf b = {.arena = errs->arena};
    if (!field_errors_full(errs))
        schema_path_format(&b, because, true);
    str text = str_fmt(errs->arena, "because it is defined in %.*s", STR(buf_str(&b)));
    crd_required(errs, missing, str_cstr(errs->arena, text));
}

static void check_junctors(struct field_errors *errs, const struct keywords *kw, struct places p,
                           const struct step *path)
{
    static const uint8_t lists[] = {KW_ALL_OF, KW_ANY_OF, KW_ONE_OF};
    if (kw->at[KW_NOT])
        check_complete(errs, kw->at[KW_NOT], p, AT(path, S("not")));
    for (size_t l = 0; l < sizeof lists; l++) {
        const struct json *list = kw->at[lists[l]];
        const struct step *at = AT(path, str_of(keyword_name(lists[l])));
        for (uint32_t i = 0; i < json_len(list); i++)
            check_complete(errs, &list->items[i], p, AT_ITEM(at, i));
    }
}

static void check_complete(struct field_errors *errs, const struct json *inner, struct places p,
                           const struct step *path)
{
    if (!budget_charge(20))
        return;
    if (p.outer == NULL) {
        demand(errs, p.outer_path, path);
        return;
    }
    struct keywords kw;
    keywords_read(inner, &kw);
    check_junctors(errs, &kw, p, path);
    if (kw.at[KW_ITEMS]) {
        const struct json *items = json_get(p.outer, S("items"));
        struct places under = {json_is_null(items) ? NULL : items, AT(p.outer_path, S("items"))};
        check_complete(errs, kw.at[KW_ITEMS], under, AT(path, S("items")));
    }
    if (json_len(kw.at[KW_PROPERTIES]) == 0)
        return;
    struct json_index known JSON_INDEX_SCOPE = {0};
    json_index_init(&known, json_get(p.outer, S("properties")));
    json_each_member(kw.at[KW_PROPERTIES], m)
    {
        const struct step *at = AT_KEY(AT(path, S("properties")), json_key(m));
        const struct step *outer = AT_KEY(AT(p.outer_path, S("properties")), json_key(m));
        const struct json_member *place = json_index_find(&known, json_key(m));
        check_complete(errs, &m->val, (struct places){place ? &place->val : NULL, outer}, at);
    }
}

/* Only the root is checked, as upstream and its tests do. */
static void check_completeness(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    struct keywords kw;
    keywords_read(schema, &kw);
    check_junctors(errs, &kw, (struct places){schema, path}, path);
}

/* ---- The whole ---- */

static int by_text(const void *a, const void *b)
{
    const struct field_error *x = a, *y = b;
    struct arena scratch ARENA_SCOPE = {0};
    struct buf s = {.arena = &scratch}, t = {.arena = &scratch};
    field_error_format(&s, x);
    field_error_format(&t, y);
    return str_cmp(buf_str(&s), buf_str(&t));
}

void crd_check_structural(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    struct field_errors found = {.arena = errs->arena};
    check_structure(&found, schema, ROOT, path);
    check_completeness(&found, schema, path);
    if (found.list.n)
        qsort(found.list.p, found.list.n, sizeof *found.list.p, by_text);
    vec_each(&found.list, e) field_error_add(errs, e->type, e->field, e->value, "%.*s", STR(e->detail));
    errs->dropped += found.dropped;
}

const char *crd_unstructural(const struct json *schema)
{
    static const struct {
        uint8_t keyword;
        const char *text;
    } unsupported[] = {
        {KW_ID, "OpenAPIV3Schema 'id' is not supported"},
        {KW_SCHEMA, "OpenAPIV3Schema 'schema' is not supported"},
        {KW_REF, "OpenAPIV3Schema '$ref' is not supported"},
        {KW_PATTERN_PROPERTIES, "OpenAPIV3Schema 'patternProperties' is not supported"},
        {KW_DEPENDENCIES, "OpenAPIV3Schema 'dependencies' is not supported"},
        {KW_ADDITIONAL_ITEMS, "OpenAPIV3Schema 'additionalItems' is not supported"},
        {KW_DEFINITIONS, "OpenAPIV3Schema 'definitions' is not supported"},
    };
    struct keywords kw;
    keywords_read(schema, &kw);
    for (size_t i = 0; i < COUNT(unsupported); i++) {
        const struct json *v = kw.at[unsupported[i].keyword];
        if (v && (v->type == JSON_BOOL || v->n))
            return unsupported[i].text;
    }
    if (kw.at[KW_X_PRESERVE] && !keyword_true(&kw, KW_X_PRESERVE))
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
    if (json_is_arr(kw.at[KW_ITEMS]))
        return "OpenAPIV3Schema 'items' must be a schema, but is an array";
    const char *wrong = NULL;
    for (uint64_t left = kw.given; left && wrong == NULL; left &= left - 1) {
        enum keyword k = keyword_lowest(left);
        const struct json *v = kw.at[k];
        enum keyword_form form = keyword_form(k);
        if (form == FORM_SCHEMA || ((form == FORM_SCHEMA_OR_BOOL || form == FORM_SCHEMA_OR_LIST) && json_is_obj(v)))
            wrong = crd_unstructural(v);
        for (uint32_t i = 0; form == FORM_SCHEMAS && i < json_len(v) && wrong == NULL; i++)
            wrong = crd_unstructural(&v->items[i]);
        for (uint32_t i = 0; form == FORM_NAMED && i < json_len(v) && wrong == NULL; i++)
            wrong = crd_unstructural(&v->members[i].val);
    }
    return wrong;
}
