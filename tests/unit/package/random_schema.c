/* SPDX-License-Identifier: Apache-2.0 */
#include "random_schema.h"

#include <assert.h>

static const char *const names[] = {"a", "b", "c", "d"};

size_t roll(struct dice *d, size_t n)
{
    return (size_t)(random_uint64(&d->random) % n);
}

static str a_name(struct dice *d)
{
    return str_of(names[roll(d, 4)]);
}

static void set(struct dice *d, struct json *schema, const char *keyword, struct json v)
{
    json_set(d->arena, schema, str_of(keyword), v);
}

/* ---- Schemas ---- */

static struct json some_texts(struct dice *d)
{
    struct json list = json_arr();
    for (size_t i = 0; i < 4; i++)
        if (roll(d, 2))
            json_push(d->arena, &list, json_str(str_of(names[i])));
    if (list.n == 0)
        json_push(d->arena, &list, json_str(S("a")));
    return list;
}

static struct json a_text(struct dice *d)
{
    struct json s = json_obj();
    set(d, &s, "type", json_str(S("string")));
    if (roll(d, 3) == 0)
        set(d, &s, "enum", some_texts(d));
    if (roll(d, 4) == 0)
        set(d, &s, "maxLength", json_int((int64_t)roll(d, 4)));
    if (roll(d, 4) == 0)
        set(d, &s, "minLength", json_int((int64_t)roll(d, 3)));
    if (roll(d, 6) == 0)
        set(d, &s, "pattern", json_str(roll(d, 2) ? S("^a") : S("b$")));
    return s;
}

static struct json a_number(struct dice *d)
{
    struct json s = json_obj();
    set(d, &s, "type", json_str(roll(d, 3) ? S("integer") : S("number")));
    if (roll(d, 3) == 0)
        set(d, &s, "maximum", json_int((int64_t)roll(d, 6)));
    if (json_get(&s, S("maximum")) && roll(d, 3) == 0)
        set(d, &s, "exclusiveMaximum", json_bool(true));
    if (roll(d, 3) == 0)
        set(d, &s, "minimum", json_int((int64_t)roll(d, 3)));
    if (roll(d, 6) == 0)
        set(d, &s, "multipleOf", json_int(2));
    if (roll(d, 6) == 0)
        set(d, &s, roll(d, 2) ? "anyOf" : "not", json_null());
    struct json inner = json_obj(), list = json_arr();
    set(d, &inner, "minimum", json_int((int64_t)roll(d, 5)));
    json_push(d->arena, &list, inner);
    if (json_find(&s, S("anyOf")))
        set(d, &s, "anyOf", list);
    if (json_find(&s, S("not")))
        set(d, &s, "not", inner);
    return s;
}

static struct json a_map(struct dice *d, int depth)
{
    struct json s = json_obj();
    set(d, &s, "type", json_str(S("object")));
    set(d, &s, "additionalProperties", random_schema(d, depth - 1));
    if (roll(d, 3) == 0)
        set(d, &s, "maxProperties", json_int((int64_t)roll(d, 3)));
    return s;
}

static struct json a_list(struct dice *d, int depth)
{
    struct json s = json_obj();
    set(d, &s, "type", json_str(S("array")));
    set(d, &s, "items", random_schema(d, depth - 1));
    if (roll(d, 3) == 0)
        set(d, &s, "maxItems", json_int((int64_t)roll(d, 3)));
    if (roll(d, 4) == 0)
        set(d, &s, "minItems", json_int((int64_t)roll(d, 2)));
    return s;
}

static struct json a_record(struct dice *d, int depth)
{
    struct json s = json_obj(), properties = json_obj(), required = json_arr();
    set(d, &s, "type", json_str(S("object")));
    for (size_t i = 0; i < 4; i++) {
        if (roll(d, 2))
            continue;
        json_set(d->arena, &properties, str_of(names[i]), random_schema(d, depth - 1));
        if (roll(d, 4) == 0)
            json_push(d->arena, &required, json_str(str_of(names[i])));
    }
    if (properties.n)
        set(d, &s, "properties", properties);
    if (required.n)
        set(d, &s, "required", required);
    if (roll(d, 8) == 0)
        set(d, &s, "maxProperties", json_int((int64_t)roll(d, 4)));
    if (roll(d, 8) == 0)
        set(d, &s, "x-kubernetes-preserve-unknown-fields", json_bool(true));
    return s;
}

struct json random_schema(struct dice *d, int depth)
{
    struct json s;
    size_t which = roll(d, depth > 0 ? 6 : 3);
    if (which == 0) {
        s = json_obj();
        set(d, &s, "type", json_str(S("boolean")));
    } else {
        s = which == 1   ? a_text(d)
            : which == 2 ? a_number(d)
            : which == 3 ? a_map(d, depth)
            : which == 4 ? a_list(d, depth)
                         : a_record(d, depth);
    }
    if (roll(d, 6) == 0)
        set(d, &s, "nullable", json_bool(true));
    if (roll(d, 5) == 0)
        set(d, &s, "default", random_value(d, &s, depth));
    if (json_is_null(json_get(&s, S("default"))))
        json_remove(&s, S("default"));
    return s;
}

/* ---- Changes ---- */

static struct json a_bound(struct dice *d)
{
    return json_int((int64_t)roll(d, 6));
}

static void set_bound(struct dice *d, struct json *s, const char *const either[2])
{
    size_t which = roll(d, 2);
    set(d, s, either[which], a_bound(d));
}

/* Something about the place itself. */
static void change_here(struct dice *d, struct json *s)
{
    static const char *const texts[] = {"maxLength", "minLength"}, *const numbers[] = {"maximum", "minimum"};
    str type = json_get_text(s, S("type"));
    size_t which = roll(d, 8);
    if (which == 0)
        set(d, s, "nullable", json_bool(roll(d, 2)));
    else if (which == 1 && s->n > 1)
        json_remove_at(s, 1 + roll(d, s->n - 1)); /* whatever it was; the type comes first */
    else if (which == 2)
        set(d, s, "description", json_str(a_name(d)));
    else if (str_eq(type, S("string")) && which < 5)
        set(d, s, "enum", some_texts(d));
    else if (str_eq(type, S("string")))
        set_bound(d, s, texts);
    else if (str_eq(type, S("array")))
        set(d, s, "maxItems", a_bound(d));
    else if (str_eq(type, S("object")) && json_get(s, S("additionalProperties")))
        set(d, s, "maxProperties", a_bound(d));
    else if (str_eq(type, S("object"))) {
        struct json *properties = json_get_mut(s, S("properties"));
        if (!json_is_obj(properties))
            properties = json_set(d->arena, s, S("properties"), json_obj());
        str name = a_name(d); /* the rolls in one order, whatever the compiler does with arguments */
        json_set(d->arena, properties, name, random_schema(d, 1));
        if (which == 7)
            set(d, s, "required", some_texts(d));
    } else if (str_eq(type, S("boolean")))
        set(d, s, "type", json_str(S("integer")));
    else
        set_bound(d, s, numbers);
}

static void change(struct dice *d, struct json *s)
{
    static const char *const below[] = {"items", "additionalProperties"};
    struct json *properties = json_get_mut(s, S("properties"));
    if (roll(d, 3) && json_len(properties)) {
        size_t i = roll(d, properties->n);
        if (roll(d, 6) == 0)
            json_remove_at(properties, i);
        else
            change(d, &properties->members[i].val);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        struct json *inner = json_get_mut(s, str_of(below[i]));
        if (json_is_obj(inner) && roll(d, 3)) {
            change(d, inner);
            return;
        }
    }
    change_here(d, s);
}

struct json random_change(struct dice *d, const struct json *schema)
{
    struct json copy = json_dup(d->arena, schema);
    change(d, &copy);
    return copy;
}

/* ---- Values ---- */

static struct json an_object(struct dice *d, const struct json *s, int depth)
{
    struct json v = json_obj();
    const struct json *properties = json_get(s, S("properties")), *entries = json_get(s, S("additionalProperties"));
    json_each_member(properties, m)
    {
        if (roll(d, 3))
            json_set(d->arena, &v, json_key(m), random_value(d, &m->val, depth - 1));
    }
    for (size_t i = roll(d, 3); json_is_obj(entries) && i > 0; i--) {
        str name = a_name(d);
        json_set(d->arena, &v, name, random_value(d, entries, depth - 1));
    }
    if (json_true(json_get(s, S("x-kubernetes-preserve-unknown-fields"))))
        json_set(d->arena, &v, a_name(d), json_int(5));
    return v;
}

struct json random_value(struct dice *d, const struct json *s, int depth)
{
    static const char *const texts[] = {"", "a", "b", "c", "d", "ab", "abb"};
    str type = json_get_text(s, S("type"));
    if (json_true(json_get(s, S("nullable"))) && roll(d, 4) == 0)
        return json_null();
    if (str_eq(type, S("boolean")))
        return json_bool(roll(d, 2));
    if (str_eq(type, S("string")))
        return json_str(str_of(texts[roll(d, 7)]));
    if (str_eq(type, S("integer")))
        return json_int((int64_t)roll(d, 7));
    if (str_eq(type, S("number")))
        return json_real((double)roll(d, 13) / 2);
    if (str_eq(type, S("object")))
        return an_object(d, s, depth);
    struct json list = json_arr();
    for (size_t i = roll(d, 3); i > 0; i--)
        json_push(d->arena, &list, random_value(d, json_get(s, S("items")), depth - 1));
    return list;
}

/* ---- Definitions ---- */

struct json random_crd(struct arena *a, const struct json *spec)
{
    static const char text[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"things.example.org\"},\"spec\":{\"group\":\"example.org\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
        "\"things\",\"kind\":\"Thing\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{}}}}]}}";
    struct json crd;
    struct err err;
    int rc = json_decode(a, str_of(text), NULL, NULL, &crd, &err);
    assert(rc == 0);
    (void)rc;
    struct json *version = &json_get_mut(json_get_mut(&crd, S("spec")), S("versions"))->items[0];
    struct json *schema = json_get_mut(json_get_mut(version, S("schema")), S("openAPIV3Schema"));
    json_set(a, json_get_mut(schema, S("properties")), S("spec"), *spec);
    return crd;
}
