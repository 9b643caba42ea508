/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/builtin.h"
#include "openapi/openapi_render.h"

#include <stdlib.h>

/* The schemas of an OpenAPI document that come from tables: built-in kinds, and the records that all kinds share. */

/* ---- Types that are more than a JSON type and less than a record. ---- */

#define META "io.k8s.apimachinery.pkg.apis.meta.v1"
#define APIEXTENSIONS "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

enum special {
    TIME,
    MICRO_TIME,
    QUANTITY,
    INT_OR_STRING,
    RAW_EXTENSION,
    FIELDS,
    JSON,
    OR_BOOL,
    OR_ARRAY,
    OR_STRINGS,
    PATCH
};

static const struct {
    const char *name, *schema;
} specials[] = {
    [TIME] = {META ".Time", "{\"type\":\"string\",\"format\":\"date-time\"}"},
    [MICRO_TIME] = {META ".MicroTime", "{\"type\":\"string\",\"format\":\"date-time\"}"},
    [QUANTITY] = {"io.k8s.apimachinery.pkg.api.resource.Quantity",
                  "{\"description\":\"An amount: a number with a unit such as 500m, 2, 64Mi or 1G.\","
                  "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}"},
    [INT_OR_STRING] = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                       "{\"description\":\"A whole number, or a text: a name or a percentage.\","
                       "\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}"},
    [RAW_EXTENSION] = {"io.k8s.apimachinery.pkg.runtime.RawExtension", "{\"type\":\"object\"}"},
    [FIELDS] = {META ".FieldsV1", "{\"type\":\"object\"}"},
    [JSON] = {APIEXTENSIONS ".JSON", "{\"description\":\"Any JSON value.\"}"},
    [OR_BOOL] = {APIEXTENSIONS ".JSONSchemaPropsOrBool", "{\"description\":\"A schema, or true or false.\"}"},
    [OR_ARRAY] = {APIEXTENSIONS ".JSONSchemaPropsOrArray", "{\"description\":\"A schema, or a list of them.\"}"},
    [OR_STRINGS] = {APIEXTENSIONS ".JSONSchemaPropsOrStringArray",
                    "{\"description\":\"A schema, or a list of names.\"}"},
    [PATCH] = {META ".Patch", "{\"description\":\"A patch of the type that Content-Type says.\",\"type\":\"object\"}"},
};

enum { N_SPECIALS = COUNT(specials) };

/* The special type of a field, or -1. What any JSON is called depends on where it stands. */
static int special_of(const struct shape *s, const struct shape_field *f)
{
    switch ((enum shape_type)f->type) {
    case SHAPE_TIME:
        return TIME;
    case SHAPE_MICRO_TIME:
        return MICRO_TIME;
    case SHAPE_QUANTITY:
        return QUANTITY;
    case SHAPE_INT_OR_STRING:
        return INT_OR_STRING;
    case SHAPE_RAW:
        return strcmp(s->package, APIEXTENSIONS) == 0 ? JSON : strcmp(s->package, META) == 0 ? FIELDS : RAW_EXTENSION;
    case SHAPE_JSON_OR_BOOL:
        return OR_BOOL;
    case SHAPE_JSON_OR_ARRAY:
        return OR_ARRAY;
    case SHAPE_JSON_OR_STRINGS:
        return OR_STRINGS;
    default:
        return -1;
    }
}

/* ---- One field. ---- */

void openapi_add_description(struct buf *b, const char *text)
{
    if (!text)
        return;
    add_lit(b, "\"description\":");
    json_encode_str(b, str_of(text));
    buf_add_char(b, ',');
}

/* "enum":["Always","Never"],  */
static void add_values(struct buf *b, const struct openapi_text *t)
{
    if (!t || !t->values)
        return;
    str rest = str_of(t->values), one;
    add_lit(b, "\"enum\":[");
    for (bool more = true, is_first = true; more; is_first = false) { /* a value may be empty */
        more = str_cut(rest, ',', &one, &rest);
        if (!is_first)
            buf_add_char(b, ',');
        json_encode_str(b, one);
    }
    add_lit(b, "],");
}

/* The members of a schema for one value, each with a comma behind it. */
static void add_type(struct buf *b, const struct shape *s, const struct shape_field *f)
{
    static const char *const plain[] = {
        [SHAPE_STRING] = "\"type\":\"string\",",
        [SHAPE_BOOL] = "\"type\":\"boolean\",",
        [SHAPE_INT32] = "\"type\":\"integer\",\"format\":\"int32\",",
        [SHAPE_INT64] = "\"type\":\"integer\",\"format\":\"int64\",",
        [SHAPE_DOUBLE] = "\"type\":\"number\",\"format\":\"double\",",
        [SHAPE_BYTES] = "\"type\":\"string\",\"format\":\"byte\",",
        [SHAPE_STRINGS] = "\"type\":\"array\",\"items\":{\"type\":\"string\"},",
    };
    int special = special_of(s, f);
    if (f->type == SHAPE_RECORD)
        buf_fmt(b, "\"allOf\":[{\"$ref\":\"#/components/schemas/%s.%s\"}],", f->record->package, f->record->name);
    else if (special >= 0)
        buf_fmt(b, "\"allOf\":[{\"$ref\":\"#/components/schemas/%s\"}],", specials[special].name);
    else
        buf_add_str(b, str_of(plain[f->type]));
}

/* The last comma is one too many. */
static void close_object(struct buf *b)
{
    b->n -= b->p[b->n - 1] == ',';
    buf_add_char(b, '}');
}

static void add_keys(struct buf *b, const char *keys)
{
    str rest = str_of(keys), one;
    add_lit(b, "\"x-kubernetes-list-map-keys\":[");
    for (bool more = true, is_first = true; more; is_first = false) {
        more = str_cut(rest, ',', &one, &rest);
        buf_fmt(b, "%s\"%.*s\"", is_first ? "" : ",", STR(one));
    }
    add_lit(b, "],");
}

/* How apply and strategic merge patch treat the field. */
static void add_merging(struct buf *b, const struct shape_field *f)
{
    if (f->card == SHAPE_LIST && f->merge == SHAPE_KEYED)
        add_keys(b, f->keys);
    if ((f->card == SHAPE_LIST && f->merge != SHAPE_GRANULAR) || (f->type == SHAPE_BYTES && f->merge == SHAPE_ATOMIC))
        buf_fmt(b, "\"x-kubernetes-list-type\":\"%s\",",
                f->merge == SHAPE_KEYED ? "map"
                : f->merge == SHAPE_SET ? "set"
                                        : "atomic");
    else if (f->merge == SHAPE_ATOMIC)
        add_lit(b, "\"x-kubernetes-map-type\":\"atomic\",");
    if (f->smp_key)
        buf_fmt(b, "\"x-kubernetes-patch-merge-key\":\"%s\",", f->smp_key);
    if (f->smp)
        buf_fmt(b, "\"x-kubernetes-patch-strategy\":\"%s%s%s\",", f->smp & SHAPE_SMP_MERGE ? "merge" : "",
                f->smp == (SHAPE_SMP_MERGE | SHAPE_SMP_RETAIN_KEYS) ? "," : "",
                f->smp & SHAPE_SMP_RETAIN_KEYS ? "retainKeys"
                : f->smp & SHAPE_SMP_REPLACE   ? "replace"
                                               : "");
}

/* Objects share what is said of their common fields; "kind" of a reference is something else. */
static const struct openapi_text *text_of(const struct shape *s, const struct shape_field *f)
{
    const struct openapi_text *t = openapi_text_find(s->name, f->name);
    return t || !shape_find(s, S("metadata")) ? t : openapi_text_find("*", f->name);
}

static void add_field(struct buf *b, const struct shape *s, const struct shape_field *f)
{
    const struct openapi_text *t = text_of(s, f);
    json_encode_str(b, str_of(f->name));
    add_lit(b, ":{");
    openapi_add_description(b, t ? t->text : NULL);
    if (f->card != SHAPE_ONE)
        buf_add_str(b, f->card == SHAPE_LIST ? S("\"type\":\"array\",\"items\":{")
                                             : S("\"type\":\"object\",\"additionalProperties\":{"));
    add_type(b, s, f);
    add_values(b, t);
    if (f->card != SHAPE_ONE) {
        close_object(b);
        buf_add_char(b, ',');
    }
    add_merging(b, f);
    close_object(b);
}

/* ---- One record. ---- */

static int by_field_name(const void *l, const void *r)
{
    return strcmp((*(const struct shape_field *const *)l)->name, (*(const struct shape_field *const *)r)->name);
}

static void add_required(struct buf *b, const struct shape *s)
{
    bool is_any = false;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->fields[i].required)
            continue;
        buf_fmt(b, "%s\"%s\"", is_any ? "," : "\"required\":[", s->fields[i].name);
        is_any = true;
    }
    if (is_any)
        add_lit(b, "],");
}

static void add_properties(struct buf *b, const struct shape *s)
{
    if (s->n == 0)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    const struct shape_field **fields = ARENA_ARRAY(&scratch, const struct shape_field *, s->n);
    for (size_t i = 0; i < s->n; i++)
        fields[i] = &s->fields[i];
    qsort(fields, s->n, sizeof fields[0], by_field_name);
    add_lit(b, "\"properties\":{");
    for (size_t i = 0; i < s->n; i++) {
        add_field(b, s, fields[i]);
        buf_add_char(b, ',');
    }
    close_object(b);
    buf_add_char(b, ',');
}

static void add_shape(struct buf *b, const struct shape *s, const struct kind *k)
{
    const struct openapi_text *t = openapi_text_find(s->name, NULL);
    buf_fmt(b, "\"%s.%s\":{", s->package, s->name);
    openapi_add_description(b, t ? t->text : NULL);
    add_lit(b, "\"type\":\"object\",");
    add_required(b, s);
    add_properties(b, s);
    if (k) {
        add_lit(b, "\"x-kubernetes-group-version-kind\":");
        openapi_add_gvk(b, k, k->kind);
        buf_add_char(b, ',');
    }
    if (s->atomic)
        add_lit(b, "\"x-kubernetes-map-type\":\"atomic\",");
    close_object(b);
}

/* ---- All that a document needs. ---- */

struct closure {
    struct arena *arena;
    struct map known; /* full names */
    VEC(struct openapi_shape) entries;
    bool specials[N_SPECIALS];
};

static void need(struct closure *c, const struct shape *s, const struct kind *k)
{
    str name = str_fmt(c->arena, "%s.%s", s->package, s->name);
    if (map_get(&c->known, name))
        return;
    map_set(&c->known, name, c);
    *vec_push(c->arena, &c->entries) = (struct openapi_shape){s, k, 0};
}

static void need_kind(struct closure *c, const struct kind *k)
{
    if (k && k->shape)
        need(c, k->shape, k);
}

/* Everything the records already there refer to, and so on. */
static void follow(struct closure *c)
{
    for (size_t i = 0; i < c->entries.n; i++) {
        const struct shape *s = c->entries.p[i].shape;
        for (size_t f = 0; f < s->n; f++) {
            int special = special_of(s, &s->fields[f]);
            if (special >= 0)
                c->specials[special] = true;
            else if (s->fields[f].type == SHAPE_RECORD)
                need(c, s->fields[f].record, NULL);
        }
    }
}

static void need_kinds(struct closure *c, struct openapi_kinds kinds)
{
    const struct shape_field *meta = shape_find(kind_builtin_by_body(S("v1"), S("ConfigMap"))->shape, S("metadata"));
    need(c, meta->record, NULL);
    for (size_t i = 0; i < kinds.n; i++) {
        const struct kind *k = kinds.p[i];
        need_kind(c, k);
        if (k->verbs & (VERB_DELETE | VERB_LIST)) {
            need_kind(c, kind_builtin_by_body(S("v1"), S("DeleteOptions")));
            need_kind(c, kind_builtin_by_body(S("v1"), S("Status"))); /* ListMeta comes with it */
        }
        c->specials[PATCH] |= (k->verbs & VERB_PATCH) != 0;
        for (size_t s = 0; s < k->n_subresources; s++) {
            const struct kind_subresource *sub = &k->subresources[s];
            if (sub->group)
                need_kind(
                    c, kind_builtin_by_body(str_fmt(c->arena, "%s/%s", sub->group, sub->version), str_of(sub->kind)));
        }
    }
    follow(c);
}

static int by_name(const void *l, const void *r)
{
    const struct shape *a = ((const struct openapi_shape *)l)->shape, *b = ((const struct openapi_shape *)r)->shape;
    int cmp = strcmp(a->package, b->package);
    return cmp ? cmp : strcmp(a->name, b->name);
}

struct openapi_shapes openapi_shapes_find(struct arena *a, struct openapi_kinds kinds)
{
    struct closure c = {.arena = a};
    need_kinds(&c, kinds);
    map_done(&c.known);
    qsort(c.entries.p, c.entries.n, sizeof c.entries.p[0], by_name);
    for (size_t i = 0; i < N_SPECIALS; i++)
        if (c.specials[i])
            *vec_push(a, &c.entries) = (struct openapi_shape){.special = i};
    return (struct openapi_shapes){c.entries.p, c.entries.n};
}

void openapi_render_shape(struct buf *b, const struct openapi_shape *s)
{
    if (!s->shape) {
        buf_fmt(b, "\"%s\":%s", specials[s->special].name, specials[s->special].schema);
        return;
    }
    add_shape(b, s->shape, s->kind);
    if (s->kind && s->kind->verbs & VERB_LIST) {
        buf_add_char(b, ',');
        openapi_add_list(b, s->kind);
    }
}

void openapi_render_shapes(struct buf *b, struct openapi_kinds kinds)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct openapi_shapes shapes = openapi_shapes_find(&scratch, kinds);
    add_lit(b, "},\"components\":{\"schemas\":{");
    for (size_t i = 0; i < shapes.n; i++) {
        if (i)
            buf_add_char(b, ',');
        openapi_render_shape(b, &shapes.p[i]);
    }
}

void openapi_render_end(struct buf *b)
{
    add_lit(b, "}}}\n");
}

/* The schemas of custom kinds, from what their CRDs say, and what all kinds have in common. */

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
static void add_custom_properties(struct buf *b, const struct json *properties, bool is_object)
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
static void add_custom_required(struct buf *b, const struct json *required, bool is_embedded)
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
        add_custom_required(b, required, is_embedded);
    if (json_len(properties) || is_embedded || is_object)
        add_custom_properties(b, properties, is_object || is_embedded);
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
