/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of custom kinds, from what their CRDs say, and what all kinds have in common. */
#include "api/openapi_render.h"

#include "api/openapi_text.h"

/* ---- Names. ---- */

/* "disco.example.com" → com.example.disco */
static void add_reversed(struct buf *b, str group)
{
    while (group.n) {
        size_t at = group.n;
        while (at > 0 && group.p[at - 1] != '.')
            at--;
        buf_add_str(b, str_from(group, at));
        group = str_upto(group, at ? at - 1 : 0);
        if (group.n)
            buf_add_char(b, '.');
    }
}

void openapi_add_name(struct buf *b, const struct kind *k, const char *kind)
{
    if (k->shape) {
        buf_fmt(b, "%s.%s", k->shape->package, kind);
        return;
    }
    add_reversed(b, str_of(k->group));
    buf_fmt(b, ".%s.%s", k->version, kind);
}

void openapi_add_gvk(struct buf *b, const struct kind *k, const char *kind)
{
    buf_fmt(b, "[{\"group\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\"}]", k->group, kind, k->version);
}

/* ---- What every object has. ---- */

/* "apiVersion":{"description":…,"type":"string"} */
static void add_type_meta(struct buf *b, const char *name)
{
    const struct openapi_text *t = openapi_text_find("*", name);
    buf_fmt(b, "\"%s\":{", name);
    openapi_add_description(b, t ? t->text : NULL);
    add_lit(b, "\"type\":\"string\"}");
}

static void add_metadata(struct buf *b, const char *record)
{
    const struct openapi_text *t = openapi_text_find("*", "metadata");
    add_lit(b, "\"metadata\":{");
    openapi_add_description(b, t ? t->text : NULL);
    buf_fmt(b, "\"allOf\":[{\"$ref\":\"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.%s\"}]}", record);
}

static void add_selectable(struct buf *b, const struct kind *k)
{
    if (!(k->flags & KIND_CUSTOM))
        return;
    add_lit(b, ",\"x-kubernetes-selectable-fields\":[");
    for (size_t i = 0; k->selectable && k->selectable[i]; i++) {
        buf_add_str(b, i ? S(",{\"fieldPath\":") : S("{\"fieldPath\":"));
        json_encode_str(b, str_of(k->selectable[i]));
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

void openapi_add_list(struct buf *b, const struct kind *k)
{
    buf_add_char(b, '"');
    openapi_add_name(b, k, k->list_kind);
    buf_fmt(b, "\":{\"description\":\"A list of objects of kind %s.\",\"type\":\"object\",\"required\":[\"items\"],",
            k->kind);
    add_lit(b, "\"properties\":{");
    add_type_meta(b, "apiVersion");
    add_lit(b, ",\"items\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/");
    openapi_add_name(b, k, k->kind);
    add_lit(b, "\"}},");
    add_type_meta(b, "kind");
    buf_add_char(b, ',');
    add_metadata(b, "ListMeta");
    add_lit(b, "},\"x-kubernetes-group-version-kind\":");
    openapi_add_gvk(b, k, k->list_kind);
    add_selectable(b, k);
    buf_add_char(b, '}');
}

/* ---- Schemas. ---- */

/* Keywords that are allowed in a CRD but say nothing about its objects. */
static bool is_left_out(str keyword)
{
    static const char *const names[] = {"$schema", "definitions", "dependencies", "example", "externalDocs", "id"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_eq(keyword, str_of(names[i])))
            return true;
    return false;
}

static bool has_type(const struct json *schema, str type)
{
    return str_eq(json_get_text(schema, S("type")), type);
}

/* [{"type":"integer"},{"type":"string"}] */
static bool is_int_or_string(const struct json *any_of)
{
    return json_is_arr(any_of) && any_of->n == 2 && has_type(&any_of->items[0], S("integer")) &&
           has_type(&any_of->items[1], S("string"));
}

/* Spells x-kubernetes-int-or-string out for those who do not know it, unless the schema does so itself. */
static void add_int_or_string(struct buf *b, const struct json *schema)
{
    const struct json *any_of = json_get(schema, S("anyOf")), *all_of = json_get(schema, S("allOf"));
    const struct json *first = json_is_arr(all_of) && all_of->n ? &all_of->items[0] : NULL;
    static const str both = S_INIT("\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]");
    if (!json_true(json_get(schema, S("x-kubernetes-int-or-string"))) || is_int_or_string(any_of) ||
        is_int_or_string(json_get(first, S("anyOf"))))
        return;
    if (!any_of) {
        buf_add_str(b, both);
        buf_add_char(b, ',');
        return;
    }
    buf_fmt(b, "\"allOf\":[{%.*s}", STR(both));
    json_each_item(all_of, item)
    {
        buf_add_char(b, ',');
        json_encode(b, item, 0);
    }
    add_lit(b, "],");
}

static void add_schema(struct buf *b, const struct json *schema, bool is_object);

/* Objects within objects have apiVersion, kind and metadata too, whatever the CRD says of these. */
static void add_properties(struct buf *b, const struct json *properties, bool is_object)
{
    bool is_any = is_object;
    add_lit(b, "\"properties\":{");
    if (is_object) {
        add_type_meta(b, "apiVersion");
        buf_add_char(b, ',');
        add_type_meta(b, "kind");
        buf_add_char(b, ',');
        add_metadata(b, "ObjectMeta");
    }
    json_each_member(properties, m)
    {
        str name = json_key(m);
        if (is_object && (str_eq(name, S("apiVersion")) || str_eq(name, S("kind")) || str_eq(name, S("metadata"))))
            continue;
        if (is_any)
            buf_add_char(b, ',');
        json_encode_str(b, name);
        buf_add_char(b, ':');
        add_schema(b, &m->val, false);
        is_any = true;
    }
    add_lit(b, "},");
}

static bool has_text(const struct json *list, str text)
{
    json_each_item(list, item)
    {
        if (str_eq(json_text(item), text))
            return true;
    }
    return false;
}

/* An embedded resource needs apiVersion and kind. */
static void add_required(struct buf *b, const struct json *required, bool is_embedded)
{
    bool is_any = false;
    add_lit(b, "\"required\":[");
    json_each_item(required, item)
    {
        if (is_any)
            buf_add_char(b, ',');
        json_encode(b, item, 0);
        is_any = true;
    }
    if (is_embedded && !has_text(required, S("kind"))) {
        buf_add_str(b, is_any ? S(",\"kind\"") : S("\"kind\""));
        is_any = true;
    }
    if (is_embedded && !has_text(required, S("apiVersion")))
        buf_add_str(b, is_any ? S(",\"apiVersion\"") : S("\"apiVersion\""));
    add_lit(b, "],");
}

static void add_schemas(struct buf *b, const struct json *list)
{
    buf_add_char(b, '[');
    json_each_item(list, item)
    {
        if (item != list->items)
            buf_add_char(b, ',');
        add_schema(b, item, false);
    }
    buf_add_char(b, ']');
}

/* One keyword with its value and a comma; those whose value is the zero of Go's types are left out, as they were never said. */
static void add_keyword(struct buf *b, const struct json_member *m)
{
    str name = json_key(m);
    bool holds_any = str_eq(name, S("default")) || str_eq(name, S("enum"));
    if (is_left_out(name) || json_is_null(&m->val) || (!holds_any && m->val.type == JSON_BOOL && !m->val.b))
        return;
    json_encode_str(b, name);
    buf_add_char(b, ':');
    if (str_eq(name, S("items")) || str_eq(name, S("not")) || str_eq(name, S("additionalProperties")))
        add_schema(b, &m->val, false);
    else if (str_eq(name, S("allOf")) || str_eq(name, S("anyOf")) || str_eq(name, S("oneOf")))
        add_schemas(b, &m->val);
    else
        json_encode(b, &m->val, 0);
    buf_add_char(b, ',');
}

/* The members of a schema, each with a comma behind it. */
static void add_keywords(struct buf *b, const struct json *schema, bool is_object)
{
    bool is_embedded = !is_object && json_true(json_get(schema, S("x-kubernetes-embedded-resource")));
    bool is_all_of_made = false;
    const struct json *required = json_get(schema, S("required")), *properties = json_get(schema, S("properties"));
    size_t before = b->n;
    add_int_or_string(b, schema);
    is_all_of_made = b->n > before && json_get(schema, S("anyOf"));
    json_each_member(schema, m)
    {
        str name = json_key(m);
        if (str_eq(name, S("required")) || str_eq(name, S("properties")) ||
            (is_all_of_made && str_eq(name, S("allOf"))))
            continue;
        add_keyword(b, m);
    }
    if (json_len(required) || is_embedded)
        add_required(b, required, is_embedded);
    if (json_len(properties) || is_embedded || is_object)
        add_properties(b, properties, is_object || is_embedded);
}

static void add_schema(struct buf *b, const struct json *schema, bool is_object)
{
    if (!json_is_obj(schema)) {
        json_encode(b, schema, 0);
        return;
    }
    buf_add_char(b, '{');
    add_keywords(b, schema, is_object);
    b->n -= b->p[b->n - 1] == ',';
    buf_add_char(b, '}');
}

static const struct json *schema_of(const struct kind *k, const struct json *crd)
{
    json_each_item(json_dig(crd, "spec.versions"), v)
    {
        if (str_eq(json_get_text(v, S("name")), str_of(k->version)))
            return json_dig(v, "schema.openAPIV3Schema");
    }
    return NULL;
}

void openapi_render_custom(struct buf *b, const struct kind *k, const struct json *crd)
{
    const struct json *schema = schema_of(k, crd);
    add_lit(b, ",\"");
    openapi_add_name(b, k, k->kind);
    add_lit(b, "\":{");
    if (json_is_obj(schema))
        add_keywords(b, schema, true);
    else
        add_lit(b, "\"type\":\"object\",");
    add_lit(b, "\"x-kubernetes-group-version-kind\":");
    openapi_add_gvk(b, k, k->kind);
    add_selectable(b, k);
    add_lit(b, "},");
    openapi_add_list(b, k);
}
