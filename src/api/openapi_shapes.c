/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of an OpenAPI document that come from tables: built-in kinds, and the records that all kinds share. */
#include "api/openapi_render.h"

#include "api/openapi_text.h"
#include "kinds/builtin.h"

#include <stdlib.h>

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
