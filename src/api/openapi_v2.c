/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi_v2.h"

#include "api/openapi_proto.h"

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
        openapi_proto_start(b);
    else
        buf_add_str(b, S("{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\",\"version\":\"1.32\"},\"paths\":{},"
                         "\"definitions\":{"));
}

void openapi_v2_definition(struct buf *b, enum openapi_v2_form form, str name, const struct json *schema)
{
    if (form == OPENAPI_V2_PROTOBUF) {
        openapi_proto_definition(b, name, schema);
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
