/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "schema/crd_internal.h"
#include "schema/schema_internal.h"

static const char *crd_field_find(struct arena *a, const struct json *schema, str path, bool allow_brackets,
                                  struct crd_field *ret);

/* Defaults in a schema: each must have only known fields and be valid in its place. Most schemas have few:
 * what is below the first on the way down is compiled, once, and walked side by side with its JSON. */

struct walk {
    struct field_errors *errs;
    bool is_root;
    bool inside_meta; /* below apiVersion, kind or metadata of an embedded resource */
};

static void check_pruned(struct field_errors *errs, schema_node node, bool is_resource, const struct json *value,
                         const struct step *at)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json pruned = json_dup(&scratch, value);
    schema_prune(node, &pruned, &(struct schema_prune_args){.is_resource = is_resource});
    if (!json_equal(&pruned, value))
        crd_invalid(errs, at, field_value(errs->arena, value), "must not have unknown fields");
}

static void check_default(const struct walk *w, schema_node node, const struct json *value, const struct step *at)
{
    struct field_errors *errs = w->errs;
    struct buf base = {.arena = errs->arena};
    schema_path_format(&base, at, true);
    if (!w->inside_meta)
        check_pruned(errs, node, w->is_root || schema_node_is_resource(node), value, at);
    (void)schema_validate_default(node, buf_str(&base), value, w->is_root, errs);
}

static void walk(const struct walk *w, schema_node node, const struct json *schema, const struct step *path);

static void walk_under(const struct walk *w, schema_node node, const struct json *schema, const struct step *path)
{
    const struct json *items = json_get(schema, S("items")), *props = json_get(schema, S("properties"));
    bool is_resource = json_true(json_get(schema, S("x-kubernetes-embedded-resource")));
    struct walk under = {.errs = w->errs, .inside_meta = w->inside_meta && !is_resource};
    if (json_is_obj(items))
        walk(&under, node.schema ? schema_items(node) : node, items, AT(path, S("items")));
    json_each_member(props, m)
    {
        struct walk inside = under;
        if (is_resource && is_meta_field(m))
            inside.inside_meta = true;
        walk(&inside, node.schema ? schema_property(node, json_key(m)) : node, &m->val,
             AT_KEY(AT(path, S("properties")), json_key(m)));
    }
}

static void walk(const struct walk *w, schema_node node, const struct json *schema, const struct step *path)
{
    const struct json *value = json_get(schema, S("default"));
    struct schema *own = NULL;
    if (!json_is_null(value)) {
        if (node.schema == NULL) {
            if (schema_compile(schema, &own, NULL) < 0)
                return; /* a type nobody knows: crd_check_openapi says so */
            node = schema_root(own);
        }
        struct walk here = *w;
        here.inside_meta = w->inside_meta && !schema_node_is_resource(node);
        check_default(&here, node, value, AT(path, S("default")));
    }
    walk_under(w, node, schema, path);
    schema_free(own);
}

/* Defaults must be valid in their places. */
static void crd_check_defaults(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    walk(&(struct walk){.errs = errs, .is_root = true}, (schema_node){0}, schema, path);
}

/* Paths that a CustomResourceDefinition holds: of printed columns, of scale, of selectable fields. */

enum { MAX_SELECTABLE = 8 };

void crd_check_json_path(struct field_errors *errs, const struct step *at, str path)
{
    if (path.p[0] != '.')
        crd_invalid_text(errs, at, path, "must be a simple json path starting with .");
}

/* The next token: a dot, a bracket, a quoted string, or the text up to one of them. */
static str next_token(str *rest)
{
    size_t n = 0;
    str s = *rest;
    if (s.n && s.p[0] == '\'') {
        for (n = 1; n < s.n && !(s.p[n] == '\'' && s.p[n - 1] != '\\'); n++)
            ;
        n += n < s.n;
    } else {
        while (n < s.n && !memchr(".[]", s.p[n], 3))
            n++;
        n += n == 0 && s.n > 0;
    }
    *rest = str_from(s, n);
    return str_upto(s, n);
}

/* 'it\'s' without quotes and backslashes. */
static bool unquote(struct arena *a, str token, str *ret)
{
    if (token.n < 2 || token.p[0] != '\'' || token.p[token.n - 1] != '\'')
        return false;
    struct buf b = {.arena = a};
    for (size_t i = 1; i + 1 < token.n; i++) {
        if (token.p[i] == '\\' && i + 2 < token.n)
            i++;
        buf_add_char(&b, token.p[i]);
    }
    *ret = buf_str(&b);
    return true;
}

static const char *enter(struct arena *a, struct crd_field *field, str name, struct buf *canonical)
{
    const struct json *props = json_get(field->schema, S("properties"));
    const struct json *extra = json_get(field->schema, S("additionalProperties"));
    (void)a;
    if (json_len(props)) {
        if (canonical->n)
            buf_add_char(canonical, '.');
        buf_add_str(canonical, name);
        field->schema = json_get(props, name);
        return field->schema ? NULL : "does not refer to a valid field";
    }
    if (json_is_null(extra))
        return "does not refer to a valid field";
    buf_fmt(canonical, "[%.*s]", STR(name));
    field->schema = json_is_obj(extra) ? extra : NULL;
    return NULL;
}

/* Follows a path like .spec.color or .map['key'] through a schema; NULL, or what is wrong with it. */
static const char *crd_field_find(struct arena *a, const struct json *schema, str path, bool allow_brackets,
                                  struct crd_field *ret)
{
    *ret = (struct crd_field){.schema = schema};
    struct buf canonical = {.arena = a};
    while (path.n) {
        str token = next_token(&path);
        bool bracket = str_eq(token, S("["));
        if (!bracket && !str_eq(token, S(".")))
            return str_cstr(a, str_fmt(a, "expected [ or . but got: %.*s", STR(token)));
        if (bracket && !allow_brackets)
            return "array notation is not allowed";
        if (path.n == 0)
            return "unexpected end of JSON path";
        str name = next_token(&path);
        if (bracket && !unquote(a, name, &name))
            return str_cstr(a, str_fmt(a, "expected single quoted string but got %.*s", STR(name)));
        const char *wrong = enter(a, ret, name, &canonical);
        if (wrong)
            return wrong;
        if (ret->first.p == NULL)
            ret->first = name;
        if (bracket && path.n == 0)
            return "unexpected end of JSON path";
        str close = bracket ? next_token(&path) : S("]");
        if (!str_eq(close, S("]")))
            return str_cstr(a, str_fmt(a, "expected ] but got %.*s", STR(close)));
    }
    ret->canonical = buf_str(&canonical);
    return NULL;
}

static bool is_selectable(const struct json *schema)
{
    str type = json_get_text(schema, S("type"));
    return str_eq(type, S("string")) || str_eq(type, S("boolean")) || str_eq(type, S("integer"));
}

void crd_check_selectable(struct field_errors *errs, const struct json *fields, const struct json *schema,
                          const struct step *path)
{
    struct arena *a = errs->arena;
    struct map seen = {0};
    for (uint32_t i = 0; i < json_len(fields); i++) {
        const struct step *item = AT_ITEM(path, i), *at = AT(item, S("jsonPath"));
        str text = json_get_text(&fields->items[i], S("jsonPath"));
        struct crd_field field;
        if (text.n == 0) {
            crd_required(errs, at, "");
            continue;
        }
        const char *wrong = crd_field_find(a, schema, text, false, &field);
        if (wrong) {
            crd_invalid_text(errs, at, text, str_cstr(a, str_fmt(a, "is an invalid path: %s", wrong)));
            continue;
        }
        if (str_eq(field.first, S("metadata")))
            crd_invalid_text(errs, at, text, "must not point to fields in metadata");
        if (!is_selectable(field.schema))
            crd_invalid_text(errs, at, text,
                             "must point to a field of type string, boolean or integer. Enum string fields and strings "
                             "with formats are allowed.");
        if (!map_set(&seen, field.canonical, &seen))
            continue;
        struct buf field_name = {.arena = a}, quoted = {.arena = a};
        schema_path_format(&field_name, at, true);
        buf_add_quoted(&quoted, text);
        field_error_add(errs, FIELD_DUPLICATE, buf_str(&field_name), buf_str(&quoted), "%s", "");
    }
    size_t distinct = seen.n;
    map_done(&seen);
    if (distinct > MAX_SELECTABLE) {
        struct buf field_name = {.arena = a};
        schema_path_format(&field_name, path, true);
        field_error_add(errs, FIELD_TOO_MANY, buf_str(&field_name), str_fmt(a, "%zu", distinct),
                        "must have at most %d items", MAX_SELECTABLE);
    }
}

/* The rules for one openAPIV3Schema, apart from being structural. */

/* What is known on the way down. */
struct context {
    struct field_errors *errs;
    bool is_root;
    bool inside_meta;        /* of a resource, embedded or not */
    const char *no_defaults; /* why defaults are forbidden here, or NULL */
};

static void check(const struct context *c, const struct json *schema, const struct step *path);

/* ---- Form ---- */

static bool check_forms_of(struct field_errors *errs, const struct keywords *kw, const struct step *path)
{
    budget_charge(10);
    bool ok = true;
    for (uint64_t left = kw->given; left; left &= left - 1) {
        enum keyword k = keyword_lowest(left);
        const char *wrong = keyword_misformed(k, kw->at[k]);
        if (wrong == NULL)
            continue;
        crd_invalid(errs, AT(path, str_of(keyword_name(k))), field_value(errs->arena, kw->at[k]), wrong);
        ok = false;
    }
    return ok;
}

/* Keywords with values of the wrong form; true when there are none. */
static bool crd_check_forms(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    struct keywords kw;
    keywords_read(schema, &kw);
    bool ok = check_forms_of(errs, &kw, path);
    for (uint64_t left = kw.given; ok && left; left &= left - 1) {
        enum keyword k = keyword_lowest(left);
        const struct json *v = kw.at[k];
        enum keyword_form form = keyword_form(k);
        bool one = form == FORM_SCHEMA || form == FORM_SCHEMA_OR_BOOL || form == FORM_SCHEMA_OR_LIST;
        bool list = form == FORM_SCHEMAS || form == FORM_SCHEMA_OR_LIST;
        if (!one && !list && form != FORM_NAMED)
            continue;
        const struct step *at = AT(path, str_of(keyword_name(k)));
        if (one && json_is_obj(v))
            ok = crd_check_forms(errs, v, at);
        for (uint32_t i = 0; list && json_is_arr(v) && i < v->n; i++)
            ok = crd_check_forms(errs, &v->items[i], AT_ITEM(at, i)) && ok;
        for (uint32_t i = 0; form == FORM_NAMED && i < json_len(v); i++)
            ok = crd_check_forms(errs, &v->members[i].val, AT_KEY(at, json_key(&v->members[i]))) && ok;
    }
    return ok;
}

/* ---- What custom resources leave out of JSON schema ---- */

static void check_unsupported(const struct context *c, const struct keywords *kw, const struct step *path)
{
    static const struct {
        uint8_t keyword;
        bool even_empty;
        const char *text;
    } unsupported[] = {
        {KW_ID, false, "id is not supported"},
        {KW_ADDITIONAL_ITEMS, true, "additionalItems is not supported"},
        {KW_PATTERN_PROPERTIES, false, "patternProperties is not supported"},
        {KW_DEFINITIONS, false, "definitions is not supported"},
        {KW_DEPENDENCIES, true, "dependencies is not supported"},
        {KW_REF, true, "$ref is not supported"},
    };
    str type = keyword_text(kw, KW_TYPE);
    static const char types[] = "array boolean integer number object string";
    static const char *const known[] = {"array", "boolean", "integer", "number", "object", "string"};
    bool ok = type.n == 0;
    for (size_t i = 0; i < COUNT(known); i++)
        ok = ok || str_eq(type, str_of(known[i]));
    if (!ok)
        crd_unsupported(c->errs, AT(path, S("type")), type, types);
    if (kw->at[KW_DEFAULT] && c->no_defaults) {
        str text = str_fmt(c->errs->arena, "must not be set %s", c->no_defaults);
        crd_forbidden(c->errs, AT(path, S("default")), str_cstr(c->errs->arena, text));
    }
    for (size_t i = 0; i < COUNT(unsupported); i++) {
        const struct json *v = kw->at[unsupported[i].keyword];
        if (v && (unsupported[i].even_empty || v->n))
            crd_forbidden(c->errs, AT(path, str_of(keyword_name(unsupported[i].keyword))), unsupported[i].text);
    }
    if (str_eq(type, S("null")))
        crd_forbidden(c->errs, AT(path, S("type")), "type cannot be set to null, use nullable as an alternative");
    if (json_is_arr(kw->at[KW_ITEMS]) && kw->at[KW_ITEMS]->n)
        crd_forbidden(c->errs, AT(path, S("items")), "items must be a schema object and not an array");
    if (c->inside_meta && keyword_true(kw, KW_X_EMBEDDED))
        crd_forbidden(c->errs, AT(path, str_of(keyword_name(KW_X_EMBEDDED))),
                      "must not be used inside of resource meta");
}

/* ---- Children ---- */

static void check_extra(const struct context *c, const struct keywords *kw, const struct step *path)
{
    const struct json *extra = kw->at[KW_ADDITIONAL_PROPERTIES];
    if (extra == NULL)
        return;
    if (json_len(kw->at[KW_PROPERTIES]) && !json_true(extra))
        crd_forbidden(c->errs, AT(path, S("additionalProperties")),
                      "additionalProperties and properties are mutual exclusive");
    struct context under = *c;
    under.is_root = false;
    if (c->inside_meta)
        under.no_defaults = "inside additionalProperties applying to object metadata";
    if (json_is_obj(extra))
        check(&under, extra, AT(path, S("additionalProperties")));
}

static void check_properties(const struct context *c, const struct keywords *kw, const struct step *path)
{
    json_each_member(kw->at[KW_PROPERTIES], m)
    {
        struct context under = *c;
        under.is_root = false;
        if (is_meta_field(m) && (c->is_root || keyword_true(kw, KW_X_EMBEDDED)))
            under.inside_meta = true;
        if (is_meta_field(m) && c->is_root)
            under.no_defaults =
                str_cstr(c->errs->arena, str_fmt(c->errs->arena, "in top-level %.*s", STR(json_key(m))));
        check(&under, &m->val, AT_KEY(AT(path, S("properties")), json_key(m)));
    }
}

static void check_children(const struct context *c, const struct keywords *kw, const struct step *path)
{
    static const uint8_t lists[] = {KW_ALL_OF, KW_ONE_OF, KW_ANY_OF};
    struct context under = *c;
    under.is_root = false;
    check_extra(c, kw, path);
    check_properties(c, kw, path);
    if (kw->at[KW_NOT])
        check(&under, kw->at[KW_NOT], AT(path, S("not")));
    for (size_t l = 0; l < sizeof lists; l++) {
        const struct json *list = kw->at[lists[l]];
        const struct step *at = AT(path, str_of(keyword_name(lists[l])));
        for (uint32_t i = 0; i < json_len(list); i++)
            check(&under, &list->items[i], AT_ITEM(at, i));
    }
    json_each_member(kw->at[KW_DEFINITIONS], m) check(&under, &m->val, AT_KEY(AT(path, S("definitions")), json_key(m)));
    const struct json *items = kw->at[KW_ITEMS];
    if (json_is_obj(items))
        check(&under, items, AT(path, S("items")));
    for (uint32_t i = 0; json_is_arr(items) && i < items->n; i++)
        check(&under, &items->items[i], AT_ITEM(AT(path, S("items")), i));
}

/* ---- Kubernetes' own keywords ---- */

static void check_type_for(const struct context *c, const struct keywords *kw, const char *want, const char *text,
                           const struct step *path)
{
    str type = keyword_text(kw, KW_TYPE);
    if (type.n == 0)
        crd_required(c->errs, AT(path, S("type")), text);
    else if (!str_eq(type, str_of(want)))
        crd_invalid_text(c->errs, AT(path, S("type")), type, text);
}

static void check_set_items(const struct context *c, const struct keywords *kw, const struct step *path)
{
    const struct json *items = kw->at[KW_ITEMS];
    str type = json_get_text(items, S("type"));
    const struct json *list = json_get(items, str_of(keyword_name(KW_X_LIST_TYPE)));
    str map = json_get_text(items, str_of(keyword_name(KW_X_MAP_TYPE)));
    const char *text = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const struct step *at = AT(path, S("items"));
    str shown = field_value(c->errs->arena, list);
    if (str_eq(type, S("array")) && !json_is_null(list) && !str_eq(json_text(list), S("atomic")))
        crd_invalid(c->errs, AT(at, str_of(keyword_name(KW_X_LIST_TYPE))), shown, text);
    if (str_eq(type, S("object")) && !str_eq(map, S("atomic")))
        crd_invalid(c->errs, AT(at, str_of(keyword_name(KW_X_MAP_TYPE))), shown, text);
}

static void check_list_type(const struct context *c, const struct keywords *kw, const struct step *path)
{
    str type = keyword_text(kw, KW_X_LIST_TYPE);
    const struct step *at = AT(path, str_of(keyword_name(KW_X_LIST_TYPE)));
    bool is_map = str_eq(type, S("map")), is_set = str_eq(type, S("set"));
    if (kw->at[KW_X_LIST_TYPE] && !str_eq(keyword_text(kw, KW_TYPE), S("array")))
        check_type_for(c, kw, "array", "must be array if x-kubernetes-list-type is specified", path);
    else if (is_set && json_is_obj(kw->at[KW_ITEMS]))
        check_set_items(c, kw, path);
    if (kw->at[KW_X_LIST_TYPE] && !is_map && !is_set && !str_eq(type, S("atomic")))
        crd_unsupported(c->errs, at, type, "atomic set map");
    if (json_len(kw->at[KW_X_LIST_MAP_KEYS]) && kw->at[KW_X_LIST_TYPE] == NULL)
        crd_required(c->errs, at, "must be map if x-kubernetes-list-map-keys is non-empty");
    else if (json_len(kw->at[KW_X_LIST_MAP_KEYS]) && !is_map)
        crd_invalid_text(c->errs, at, type, "must be map if x-kubernetes-list-map-keys is non-empty");
}

/* The keys of a list of type map: names of scalar properties of its items, each once. */
static void check_map_keys(const struct context *c, const struct keywords *kw, const struct step *path)
{
    const struct json *keys = kw->at[KW_X_LIST_MAP_KEYS];
    const struct json *props = json_get(kw->at[KW_ITEMS], S("properties"));
    const struct step *at = AT(path, str_of(keyword_name(KW_X_LIST_MAP_KEYS))), *items = AT(path, S("items"));
    str shown = crd_strings(c->errs->arena, keys);
    struct json_index known JSON_INDEX_SCOPE = {0};
    struct map seen = {0};
    json_index_init(&known, props);
    for (uint32_t i = 0; i < json_len(keys); i++) {
        str key = json_text(&keys->items[i]);
        const struct json_member *prop = json_index_find(&known, key);
        str type = prop ? json_get_text(&prop->val, S("type")) : (str){0};
        if (prop == NULL)
            crd_invalid(c->errs, at, shown, "entries must all be names of item properties");
        else if (str_eq(type, S("array")) || str_eq(type, S("object")))
            crd_invalid_text(c->errs, AT(AT_KEY(AT(items, S("properties")), key), S("type")), S("object"),
                             "must be a scalar type if parent array's x-kubernetes-list-type is map");
        if (map_set(&seen, key, &seen))
            crd_invalid(c->errs, at, shown, "must not contain duplicate entries");
    }
    map_done(&seen);
}

static void check_list_map(const struct context *c, const struct keywords *kw, const struct step *path)
{
    const struct json *items = kw->at[KW_ITEMS];
    if (!str_eq(keyword_text(kw, KW_X_LIST_TYPE), S("map")))
        return;
    if (json_len(kw->at[KW_X_LIST_MAP_KEYS]) == 0)
        crd_required(c->errs, AT(path, str_of(keyword_name(KW_X_LIST_MAP_KEYS))),
                     "must not be empty if x-kubernetes-list-type is map");
    if (items == NULL)
        crd_required(c->errs, AT(path, S("items")), "must have a schema if x-kubernetes-list-type is map");
    if (!json_is_obj(items))
        return;
    str type = json_get_text(items, S("type"));
    if (str_eq(type, S("object")))
        check_map_keys(c, kw, path);
    else
        crd_invalid_text(c->errs, AT(AT(path, S("items")), S("type")), type,
                         "must be object if parent array's x-kubernetes-list-type is map");
}

static void check_key_field(const struct context *c, const struct json_member *prop, bool required,
                            const struct step *at)
{
    if (!required && json_is_null(json_get(&prop->val, S("default"))))
        crd_required(c->errs, AT(at, S("default")),
                     "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
                     "property");
    if (json_true(json_get(&prop->val, S("nullable"))))
        crd_forbidden(c->errs, AT(at, S("nullable")),
                      "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
}

/* Items of sets and maps are never null; keys of maps are always there. */
static void check_presence(const struct context *c, const struct keywords *kw, const struct step *path)
{
    const struct json *item = kw->at[KW_ITEMS], *keys = kw->at[KW_X_LIST_MAP_KEYS];
    str type = keyword_text(kw, KW_X_LIST_TYPE);
    bool is_map = str_eq(type, S("map"));
    if (!json_is_obj(item) || (!is_map && !str_eq(type, S("set"))))
        return;
    const struct step *items = AT(path, S("items"));
    if (json_true(json_get(item, S("nullable"))))
        crd_forbidden(c->errs, AT(items, S("nullable")),
                      is_map ? "cannot be nullable when x-kubernetes-list-type is map"
                             : "cannot be nullable when x-kubernetes-list-type is set");
    if (!is_map)
        return;
    struct json_index known JSON_INDEX_SCOPE = {0};
    struct map required = {0};
    json_index_init(&known, json_get(item, S("properties")));
    const struct json *names = json_get(item, S("required"));
    json_each_item(names, it) map_set(&required, json_text(it), &required);
    for (uint32_t i = 0; i < json_len(keys); i++) {
        const struct json_member *prop = json_index_find(&known, json_text(&keys->items[i]));
        if (prop)
            check_key_field(c, prop, map_get(&required, json_key(prop)),
                            AT_KEY(AT(items, S("properties")), json_key(prop)));
    }
    map_done(&required);
}

static bool has_newline(str s)
{
    return str_find_char(s, '\n') >= 0 || str_find_char(s, '\r') >= 0;
}

/* The form of one rule in CEL; the expressions themselves are not read. */
static void check_rule(const struct context *c, const struct json *schema, const struct json *rule,
                       const struct step *at)
{
    str text = json_get_text(rule, S("rule")), message = json_get_text(rule, S("message"));
    str expression = json_get_text(rule, S("messageExpression")), path = json_get_text(rule, S("fieldPath"));
    const struct json *reason = json_get(rule, S("reason"));
    if (str_trim(text).n == 0)
        crd_required(c->errs, AT(at, S("rule")), "rule is not specified");
    else if (message.n && str_trim(message).n == 0)
        crd_invalid_text(c->errs, AT(at, S("message")), message, "message must be non-empty if specified");
    else if (has_newline(str_trim(message)))
        crd_invalid_text(c->errs, AT(at, S("message")), message, "message must not contain line breaks");
    else if (has_newline(str_trim(text)) && message.n == 0)
        crd_required(c->errs, AT(at, S("message")), "message must be specified if rule contains line breaks");
    if (expression.n && str_trim(expression).n == 0)
        crd_required(c->errs, AT(at, S("messageExpression")), "messageExpression must be non-empty if specified");
    static const char *const reasons[] = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                          "FieldValueRequired"};
    bool known = json_is_null(reason);
    for (size_t i = 0; i < COUNT(reasons); i++)
        known = known || str_eq(json_text(reason), str_of(reasons[i]));
    if (!known)
        crd_unsupported(c->errs, AT(at, S("reason")), json_text(reason),
                        "FieldValueDuplicate FieldValueForbidden FieldValueInvalid FieldValueRequired");
    struct crd_field field;
    if (path.n && str_trim(path).n == 0)
        crd_invalid_text(c->errs, AT(at, S("fieldPath")), path, "fieldPath must be non-empty if specified");
    if (has_newline(path))
        crd_invalid_text(c->errs, AT(at, S("fieldPath")), path, "fieldPath must not contain line breaks");
    if (path.n && crd_field_find(c->errs->arena, schema, path, true, &field))
        crd_invalid_text(c->errs, AT(at, S("fieldPath")), path, "fieldPath must be a valid path");
}

static void check_extensions(const struct context *c, const struct keywords *kw, const struct json *schema,
                             const struct step *path)
{
    str map = keyword_text(kw, KW_X_MAP_TYPE);
    if (kw->at[KW_X_PRESERVE] && !keyword_true(kw, KW_X_PRESERVE))
        crd_invalid(c->errs, AT(path, str_of(keyword_name(KW_X_PRESERVE))), S("false"), "must be true or undefined");
    if (kw->at[KW_X_MAP_TYPE] && !str_eq(keyword_text(kw, KW_TYPE), S("object")))
        check_type_for(c, kw, "object", "must be object if x-kubernetes-map-type is specified", path);
    if (kw->at[KW_X_MAP_TYPE] && !str_eq(map, S("atomic")) && !str_eq(map, S("granular")))
        crd_unsupported(c->errs, AT(path, str_of(keyword_name(KW_X_MAP_TYPE))), map, "atomic granular");
    check_list_type(c, kw, path);
    check_list_map(c, kw, path);
    check_presence(c, kw, path);
    const struct json *rules = kw->at[KW_X_VALIDATIONS];
    for (uint32_t i = 0; i < json_len(rules); i++)
        check_rule(c, schema, &rules->items[i], AT_ITEM(AT(path, str_of(keyword_name(KW_X_VALIDATIONS))), i));
}

static void check(const struct context *c, const struct json *schema, const struct step *path)
{
    if (!budget_charge(20))
        return;
    struct keywords kw;
    keywords_read(schema, &kw);
    check_unsupported(c, &kw, path);
    if (keyword_true(&kw, KW_UNIQUE_ITEMS))
        crd_forbidden(c->errs, AT(path, S("uniqueItems")),
                      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    check_children(c, &kw, path);
    check_extensions(c, &kw, schema, path);
}

/* The rules of every schema, structural or not. */
static void crd_check_openapi(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    check(&(struct context){.errs = errs, .is_root = true}, schema, path);
}

/* ---- The whole ---- */

/* With the status subresource on, status is validated alone, so the root must have no rules besides properties. */
static void check_root_for_status(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    static const uint8_t forbidden[] = {
        KW_ID,
        KW_SCHEMA,
        KW_REF,
        KW_DEFAULT,
        KW_ENUM,
        KW_MAX_PROPERTIES,
        KW_MIN_PROPERTIES,
        KW_ALL_OF,
        KW_ONE_OF,
        KW_ANY_OF,
        KW_NOT,
        KW_ADDITIONAL_PROPERTIES,
        KW_PATTERN_PROPERTIES,
        KW_DEPENDENCIES,
        KW_ADDITIONAL_ITEMS,
        KW_DEFINITIONS,
        KW_NULLABLE,
        KW_X_EMBEDDED,
        KW_X_INT_OR_STRING,
        KW_X_LIST_MAP_KEYS,
        KW_X_LIST_TYPE,
        KW_X_MAP_TYPE,
    };
    struct keywords kw;
    keywords_read(schema, &kw);
    str type = keyword_text(&kw, KW_TYPE);
    if (type.n && !str_eq(type, S("object"))) {
        crd_invalid_text(
            errs, AT(path, S("type")), type,
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is "
            "enabled");
        return;
    }
    for (size_t i = 0; i < sizeof forbidden; i++) {
        const struct json *v = kw.at[forbidden[i]];
        if (v == NULL || (v->type == JSON_BOOL && !v->b && forbidden[i] != KW_ADDITIONAL_PROPERTIES))
            continue;
        crd_invalid(errs, path, (str){0},
                    "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
                    "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs "
                    "Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the "
                    "status subresource is enabled");
        return;
    }
}

void crd_check_schema(const struct crd_schema *c, const struct json *schema, const struct step *path)
{
    struct field_errors *errs = c->errs;
    size_t first = errs->list.n;
    if (!crd_check_forms(errs, schema, path))
        return;
    if (c->has_status)
        check_root_for_status(errs, schema, path);
    if (json_true(json_get(schema, S("nullable"))))
        crd_forbidden(errs, AT(path, S("nullable")), "nullable cannot be true at the root");
    const char *why = crd_unstructural(schema);
    if (why == NULL) {
        size_t before = errs->list.n;
        crd_check_structural(errs, schema, path);
        if (errs->list.n == before)
            crd_check_defaults(errs, schema, path);
    }
    crd_check_openapi(errs, schema, path);
    if (why && errs->list.n == first)
        crd_invalid(errs, path, S("\"\""), why);
}
