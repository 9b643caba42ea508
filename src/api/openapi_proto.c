/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi_proto.h"

#include "json/wire.h"
#include "json/yaml.h"

#include <string.h>

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

void openapi_proto_start(struct buf *b)
{
    add_text(b, DOCUMENT_SWAGGER, S("2.0"));
    size_t info = begin(b, DOCUMENT_INFO);
    add_text(b, INFO_TITLE, S("Kubernetes"));
    add_text(b, INFO_VERSION, S("1.32"));
    end(b, info);
    end(b, begin(b, DOCUMENT_PATHS));
}

void openapi_proto_definition(struct buf *b, str name, const struct json *schema)
{
    size_t definitions = begin(b, DOCUMENT_DEFINITIONS);
    add_named_schema(b, LIST_MEMBER, name, schema);
    end(b, definitions);
}
