/* SPDX-License-Identifier: Apache-2.0 */
#include "openapi/openapi_v2.h"
#include "json/proto.h"
#include "json/yaml.h"

#include <string.h>

/* ---- Protobuf: messages of gnostic's openapi.v2.Document, which client-go asks for. Keywords that the messages have no field for
 * are left out. ---- */

/* Numbers of fields. */
enum {
    DOCUMENT_SWAGGER = 1,
    DOCUMENT_INFO = 2,
    DOCUMENT_PATHS = 8,
    DOCUMENT_DEFINITIONS = 9,
    INFO_TITLE = 1,
    INFO_VERSION = 2,
    NAMED_NAME = 1, /* of NamedSchema and NamedAny */
    NAMED_VALUE = 2,
    ANY_YAML = 2,
    LIST_MEMBER = 1, /* of Definitions, Properties, ItemsItem, TypeItem; the schema of AdditionalPropertiesItem */
    ADDITIONAL_BOOLEAN = 2,
    SCHEMA_EXTENSION = 31,
};

/* ---- The wire. ---- */

static void add_varint(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_add_char(b, (char)(v | 0x80));
    buf_add_char(b, (char)v);
}

static void add_tag(struct buf *b, unsigned field, enum wire_type type)
{
    add_varint(b, (uint64_t)field << 3 | type);
}

static void add_text(struct buf *b, unsigned field, str text)
{
    add_tag(b, field, WIRE_BYTES);
    add_varint(b, text.n);
    buf_add_str(b, text);
}

static void add_bool(struct buf *b, unsigned field, bool v)
{
    add_tag(b, field, WIRE_VARINT);
    add_varint(b, v);
}

static void add_double(struct buf *b, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_tag(b, field, WIRE_FIXED64);
    for (int shift = 0; shift < 64; shift += 8)
        buf_add_char(b, (char)(bits >> shift));
}

/* Messages within messages say how long they are before anybody knows. So room for the length is left, and filled in later:
 * a number may be written with more bytes than it needs. */
enum { LENGTH_BYTES = 4 };

static size_t begin(struct buf *b, unsigned field)
{
    add_tag(b, field, WIRE_BYTES);
    size_t at = b->n;
    for (int i = 0; i < LENGTH_BYTES; i++)
        buf_add_char(b, 0);
    return at;
}

static void end(struct buf *b, size_t at)
{
    size_t n = b->n - at - LENGTH_BYTES;
    for (size_t i = 0; i < LENGTH_BYTES; i++, n >>= 7)
        b->p[at + i] = (char)((n & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* ---- Schemas. ---- */

static void add_any(struct buf *b, unsigned field, const struct json *v)
{
    size_t any = begin(b, field), yaml = begin(b, ANY_YAML);
    yaml_encode(b, v);
    end(b, yaml);
    end(b, any);
}

static void add_members(struct buf *b, const struct json *schema);

static void add_schema(struct buf *b, unsigned field, const struct json *schema)
{
    size_t at = begin(b, field);
    add_members(b, schema);
    end(b, at);
}

static void add_named_schema(struct buf *b, unsigned field, str name, const struct json *schema)
{
    size_t at = begin(b, field);
    add_text(b, NAMED_NAME, name);
    add_schema(b, NAMED_VALUE, schema);
    end(b, at);
}

static void add_extension(struct buf *b, str name, const struct json *v)
{
    size_t at = begin(b, SCHEMA_EXTENSION);
    add_text(b, NAMED_NAME, name);
    add_any(b, NAMED_VALUE, v);
    end(b, at);
}

static void add_properties(struct buf *b, unsigned field, const struct json *properties)
{
    size_t at = begin(b, field);
    json_each_member(properties, m)
    {
        add_named_schema(b, LIST_MEMBER, json_key(m), &m->val);
    }
    end(b, at);
}

/* A schema, or whether there may be any. */
static void add_additional(struct buf *b, unsigned field, const struct json *v)
{
    size_t at = begin(b, field);
    if (json_is_obj(v))
        add_schema(b, LIST_MEMBER, v);
    else
        add_bool(b, ADDITIONAL_BOOLEAN, json_true(v));
    end(b, at);
}

enum form { TEXT, NUMBER, COUNT, FLAG, ANY, ANYS, TEXTS, TYPE, ITEMS, ADDITIONAL, PROPERTIES };

static const struct keyword {
    const char *name;
    unsigned field;
    enum form form;
} keywords[] = {
    {"$ref", 1, TEXT},
    {"format", 2, TEXT},
    {"title", 3, TEXT},
    {"description", 4, TEXT},
    {"default", 5, ANY},
    {"multipleOf", 6, NUMBER},
    {"maximum", 7, NUMBER},
    {"exclusiveMaximum", 8, FLAG},
    {"minimum", 9, NUMBER},
    {"exclusiveMinimum", 10, FLAG},
    {"maxLength", 11, COUNT},
    {"minLength", 12, COUNT},
    {"pattern", 13, TEXT},
    {"maxItems", 14, COUNT},
    {"minItems", 15, COUNT},
    {"uniqueItems", 16, FLAG},
    {"maxProperties", 17, COUNT},
    {"minProperties", 18, COUNT},
    {"required", 19, TEXTS},
    {"enum", 20, ANYS},
    {"additionalProperties", 21, ADDITIONAL},
    {"type", 22, TYPE},
    {"items", 23, ITEMS},
    {"properties", 25, PROPERTIES},
};

static const struct keyword *keyword_find(str name)
{
    for (size_t i = 0; i < COUNT(keywords); i++)
        if (str_eq(name, str_of(keywords[i].name)))
            return &keywords[i];
    return NULL;
}

static void add_count(struct buf *b, unsigned field, const struct json *v)
{
    int64_t n;
    if (!json_to_int(v, &n))
        return;
    add_tag(b, field, WIRE_VARINT);
    add_varint(b, (uint64_t)n);
}

static void add_list(struct buf *b, const struct keyword *k, const struct json *list)
{
    json_each_item(list, item)
    {
        if (k->form == TEXTS)
            add_text(b, k->field, json_text(item));
        else
            add_any(b, k->field, item);
    }
}

static void add_keyword(struct buf *b, const struct keyword *k, const struct json *v)
{
    size_t at;
    switch (k->form) {
    case TEXT:
        add_text(b, k->field, json_text(v));
        break;
    case NUMBER:
        add_double(b, k->field, json_to_real(v));
        break;
    case COUNT:
        add_count(b, k->field, v);
        break;
    case FLAG:
        add_bool(b, k->field, json_true(v));
        break;
    case ANY:
        add_any(b, k->field, v);
        break;
    case ANYS:
    case TEXTS:
        add_list(b, k, v);
        break;
    case TYPE:
        at = begin(b, k->field);
        add_text(b, LIST_MEMBER, json_text(v));
        end(b, at);
        break;
    case ITEMS:
        at = begin(b, k->field);
        add_schema(b, LIST_MEMBER, v);
        end(b, at);
        break;
    case ADDITIONAL:
        add_additional(b, k->field, v);
        break;
    case PROPERTIES:
        add_properties(b, k->field, v);
        break;
    }
}

static void add_members(struct buf *b, const struct json *schema)
{
    json_each_member(schema, m)
    {
        const struct keyword *k = keyword_find(json_key(m));
        if (k)
            add_keyword(b, k, &m->val);
        else if (str_has_prefix(json_key(m), S("x-")))
            add_extension(b, json_key(m), &m->val);
    }
}

/* ---- The document. ---- */

static void add_proto_start(struct buf *b)
{
    add_text(b, DOCUMENT_SWAGGER, S("2.0"));
    size_t info = begin(b, DOCUMENT_INFO);
    add_text(b, INFO_TITLE, S("Kubernetes"));
    add_text(b, INFO_VERSION, S("1.32"));
    end(b, info);
    end(b, begin(b, DOCUMENT_PATHS));
}

static void add_proto_definition(struct buf *b, str name, const struct json *schema)
{
    size_t definitions = begin(b, DOCUMENT_DEFINITIONS);
    add_named_schema(b, LIST_MEMBER, name, schema);
    end(b, definitions);
}

#define PRESERVE S("x-kubernetes-preserve-unknown-fields")

/* ---- From v3 to v2. ---- */

static bool is_one_of(str name, const char *const *names)
{
    while (*names && !str_eq(name, str_of(*names)))
        names++;
    return *names;
}

/* #/components/schemas/X → #/definitions/X */
static struct json reference(struct arena *a, str v3)
{
    str prefix = S("#/components/schemas/");
    if (!str_has_prefix(v3, prefix))
        return json_str(v3);
    return json_str(str_fmt(a, "#/definitions/%.*s", STR(str_from(v3, prefix.n))));
}

/* The schemas of v3 write [{"$ref":…}] where something else stands beside the reference. */
static str reference_in(const struct json *all_of)
{
    return json_is_arr(all_of) && all_of->n ? json_get_text(&all_of->items[0], S("$ref")) : (str){0};
}

/* Numbers that may be texts: for kubectl, a number is a text too, but not the other way round. */
static bool may_be_text(const struct json *one_of)
{
    json_each_item(one_of, choice)
    {
        if (str_eq(json_get_text(choice, S("type")), S("string")))
            return true;
    }
    return false;
}

static bool is_nullable(const struct json *schema)
{
    return json_true(json_get(schema, S("nullable")));
}

/* What may be null need not be there, and embedded resources of any form are not looked into. */
static struct json required_of(struct arena *a, const struct json *schema)
{
    static const char *const added[] = {"apiVersion", "kind", NULL};
    bool is_any =
        json_true(json_get(schema, PRESERVE)) && json_true(json_get(schema, S("x-kubernetes-embedded-resource")));
    struct json made = json_arr();
    struct json_index properties;
    if (is_nullable(json_get(schema, S("additionalProperties"))))
        return made;
    json_index_init(&properties, json_get(schema, S("properties")));
    json_each_item(json_get(schema, S("required")), name)
    {
        const struct json_member *m = json_index_find(&properties, json_text(name));
        if ((!m || !is_nullable(&m->val)) && !(is_any && is_one_of(json_text(name), added)))
            json_push(a, &made, *name);
    }
    json_index_done(&properties);
    return made;
}

static struct json convert(struct arena *a, const struct json *schema);

static struct json convert_each(struct arena *a, const struct json *properties)
{
    struct json made = json_obj_sized(a, json_len(properties));
    json_each_member(properties, m)
    {
        json_add(a, &made, json_key(m), convert(a, &m->val));
    }
    return made;
}

/* Whether the type can still be told: kubectl asks for items of lists, and takes objects to have no fields but those named. */
static bool has_type(const struct json *schema, bool is_open)
{
    str type = json_get_text(schema, S("type"));
    if (is_nullable(schema))
        return false;
    if (str_eq(type, S("array")))
        return !is_open && json_get(schema, S("items"));
    return !is_open || !str_eq(type, S("object"));
}

static void convert_keyword(struct arena *a, const struct json *schema, const struct json_member *m, struct json *made)
{
    static const char *const gone[] = {"anyOf", "default", "not", "nullable", NULL};
    str name = json_key(m);
    bool is_open = json_true(json_get(schema, PRESERVE));
    if (is_one_of(name, gone))
        return;
    if (str_eq(name, S("$ref"))) {
        json_add(a, made, name, reference(a, json_text(&m->val)));
    } else if (str_eq(name, S("allOf"))) {
        if (reference_in(&m->val).n)
            json_add(a, made, S("$ref"), reference(a, reference_in(&m->val)));
    } else if (str_eq(name, S("oneOf"))) {
        if (may_be_text(&m->val))
            json_add(a, made, S("type"), json_str(S("string")));
    } else if (str_eq(name, S("required"))) {
        struct json required = required_of(a, schema);
        if (required.n)
            json_add(a, made, name, required);
    } else if (str_eq(name, S("properties")) || str_eq(name, S("items"))) {
        if (!is_open && !is_nullable(schema))
            json_add(a, made, name, name.p[0] == 'p' ? convert_each(a, &m->val) : convert(a, &m->val));
    } else if (str_eq(name, S("additionalProperties"))) {
        json_add(a, made, name, convert(a, &m->val));
    } else if (!str_eq(name, S("type")) || has_type(schema, is_open)) {
        json_add(a, made, name, m->val);
    }
}

static struct json convert(struct arena *a, const struct json *schema)
{
    if (!json_is_obj(schema))
        return *schema;
    struct json made = json_obj_sized(a, schema->n);
    json_each_member(schema, m)
    {
        convert_keyword(a, schema, m, &made);
    }
    return made;
}

struct json openapi_v2_schema(struct arena *a, const struct json *schema)
{
    static const char *const kept[] = {"type", "x-kubernetes-group-version-kind", "x-kubernetes-selectable-fields",
                                       NULL};
    if (!json_true(json_get(schema, PRESERVE)))
        return convert(a, schema);
    struct json made = json_obj();
    json_each_member(schema, m)
    {
        if (is_one_of(json_key(m), kept))
            json_add(a, &made, json_key(m), m->val);
    }
    return made;
}

/* ---- The document. ---- */

void openapi_v2_start(struct buf *b, enum openapi_v2_form form)
{
    if (form == OPENAPI_V2_PROTOBUF)
        add_proto_start(b);
    else
        buf_add_str(b, S("{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"1.32\"},\"paths\":{},"
                         "\"definitions\":{"));
}

void openapi_v2_definition(struct buf *b, enum openapi_v2_form form, str name, const struct json *schema)
{
    if (form == OPENAPI_V2_PROTOBUF) {
        add_proto_definition(b, name, schema);
        return;
    }
    json_encode_str(b, name);
    buf_add_char(b, ':');
    json_encode(b, schema, 0);
}

void openapi_v2_end(struct buf *b, enum openapi_v2_form form)
{
    if (form == OPENAPI_V2_JSON)
        buf_add_str(b, S("}}\n"));
}
