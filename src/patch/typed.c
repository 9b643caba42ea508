/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/typed.h"

#include "kinds/shapes.h"

struct typed typed_deduced(void)
{
    return (struct typed){.allows = TYPED_ALL, .source = TYPED_DEDUCED};
}

/* Lists of unknown form are not inspected any deeper. */
static struct typed untyped(void)
{
    return (struct typed){.allows = TYPED_ALL, .source = TYPED_UNTYPED, .atomic = true};
}

static struct typed scalar(enum typed_scalar form)
{
    return (struct typed){.allows = TYPED_SCALAR, .scalar = (uint8_t)form, .source = TYPED_SHAPE, .type = SHAPE_STRING};
}

/* ---- Shapes. ---- */

static struct typed record_place(const struct shape *record)
{
    return (struct typed){
        .allows = TYPED_MAP, .source = TYPED_SHAPE, .type = SHAPE_RECORD, .atomic = record->atomic, .record = record};
}

/* A single value of this type: a field, an item or an entry. */
static struct typed value_place(enum shape_type type, const struct shape *record)
{
    switch (type) {
    case SHAPE_STRING:
    case SHAPE_BYTES:
        return scalar(TYPED_STRING);
    case SHAPE_BOOL:
        return scalar(TYPED_BOOL);
    case SHAPE_INT32:
    case SHAPE_INT64:
    case SHAPE_DOUBLE:
        return scalar(TYPED_NUMBER);
    case SHAPE_TIME:
    case SHAPE_MICRO_TIME:
    case SHAPE_QUANTITY:
    case SHAPE_INT_OR_STRING:
        return scalar(TYPED_ANY);
    case SHAPE_RECORD:
        return record_place(record);
    case SHAPE_STRINGS:
        return (struct typed){.allows = TYPED_LIST, .source = TYPED_SHAPE, .type = SHAPE_STRING, .card = SHAPE_LIST};
    case SHAPE_RAW:
    case SHAPE_JSON_OR_BOOL:
    case SHAPE_JSON_OR_ARRAY:
    case SHAPE_JSON_OR_STRINGS:
        return typed_deduced(); /* the documentation gives these no type, and that decides */
    }
    return typed_deduced();
}

/* Single values that Go writes even when they are empty: records as {}, times as null. */
static bool is_always_written(const struct shape_field *f)
{
    return f->type == SHAPE_RECORD || f->type == SHAPE_TIME || f->type == SHAPE_MICRO_TIME;
}

static struct typed field_place(const struct shape_field *f)
{
    struct typed t = {.source = TYPED_SHAPE, .type = f->type, .card = f->card, .record = f->record};
    switch (f->card) {
    case SHAPE_LIST:
        t.allows = TYPED_LIST;
        t.list = f->merge == SHAPE_SET     ? TYPED_LIST_SET
                 : f->merge == SHAPE_KEYED ? TYPED_LIST_KEYED
                                           : TYPED_LIST_ATOMIC;
        t.keys = f->keys;
        t.present = f->required && !f->pointer;
        return t;
    case SHAPE_MAP:
        t.allows = TYPED_MAP;
        t.atomic = f->merge == SHAPE_ATOMIC;
        t.present = f->required && !f->pointer;
        return t;
    default:
        t = value_place((enum shape_type)f->type, f->record);
        t.atomic |= f->merge == SHAPE_ATOMIC;
        t.present = is_always_written(f) && !f->pointer;
        return t;
    }
}

struct typed typed_of_shape(const struct shape *shape)
{
    return record_place(shape);
}

static enum typed_found in_shape(const struct typed *t, str key, struct typed *ret)
{
    if (t->card == SHAPE_MAP) {
        *ret = value_place((enum shape_type)t->type, t->record);
        return TYPED_ENTRY;
    }
    const struct shape_field *f = shape_find(t->record, key);
    *ret = f ? field_place(f) : typed_deduced();
    return f ? TYPED_FIELD : TYPED_UNDECLARED;
}

bool typed_next_present(const struct typed *t, size_t *at, str *key, struct typed *ret)
{
    if (t->source != TYPED_SHAPE || t->card != SHAPE_ONE || !t->record)
        return false;
    while (*at < t->record->n) {
        const struct shape_field *f = &t->record->fields[(*at)++];
        if (f->pointer || (!is_always_written(f) && f->card == SHAPE_ONE))
            continue;
        *ret = field_place(f);
        *key = str_of(f->name);
        if (ret->present)
            return true;
    }
    return false;
}

/* ---- Schemas. ---- */

static struct typed node_place(schema_node node, bool open)
{
    static const uint8_t lists[] = {
        [SCHEMA_LIST_ATOMIC] = TYPED_LIST_ATOMIC,
        [SCHEMA_LIST_SET] = TYPED_LIST_SET,
        [SCHEMA_LIST_MAP] = TYPED_LIST_KEYED,
    };
    struct schema_facts facts = schema_node_facts(node);
    struct typed t = {.source = TYPED_SCHEMA, .node = node, .open = open};
    switch (facts.kind) {
    case SCHEMA_SCALAR:
        if (facts.is_int_or_string)
            return typed_deduced();
        t.allows = TYPED_SCALAR;
        return t;
    case SCHEMA_LIST:
        t.allows = TYPED_LIST;
        t.list = lists[facts.list_type];
        if (t.list == TYPED_LIST_KEYED && schema_node_key_count(node) > TYPED_MAX_KEYS)
            t.list = TYPED_LIST_ATOMIC;
        return t;
    case SCHEMA_MAP:
        t.allows = TYPED_MAP;
        t.atomic = facts.is_atomic_map;
        t.open |= facts.keeps_unknown || !facts.has_properties;
        t.type = facts.is_resource;
        return t;
    default:
        return typed_deduced();
    }
}

struct typed typed_of_schema(const struct schema *schema)
{
    struct typed t = schema ? node_place(schema_root(schema), false) : (struct typed){.open = true};
    t.source = TYPED_SCHEMA;
    t.allows = TYPED_MAP;
    t.type = true; /* apiVersion, kind and metadata are there, whatever the schema says */
    return t;
}

/* The fields that every object has, whatever its schema. */
static bool in_resource(str key, struct typed *ret)
{
    if (str_eq(key, S("metadata")))
        *ret = record_place(&shape_object_meta);
    else if (str_eq(key, S("apiVersion")) || str_eq(key, S("kind")))
        *ret = scalar(TYPED_STRING);
    else
        return false;
    return true;
}

static enum typed_found in_schema(const struct typed *t, const struct json_member *m, struct typed *ret)
{
    if (t->type && in_resource(json_key(m), ret))
        return TYPED_FIELD;
    bool declared = false;
    schema_node child = t->node.at ? schema_member(t->node, m, &declared) : (schema_node){0};
    if (child.at == 0) {
        *ret = typed_deduced();
        return t->open ? TYPED_ENTRY : TYPED_UNDECLARED;
    }
    *ret = node_place(child, t->open);
    return declared ? TYPED_FIELD : TYPED_ENTRY;
}

/* ---- Both. ---- */

unsigned typed_deduce(const struct typed *t, const struct json *v)
{
    static const uint8_t forms[] = {
        [JSON_NULL] = 0,
        [JSON_BOOL] = TYPED_SCALAR,
        [JSON_INT] = TYPED_SCALAR,
        [JSON_UINT] = TYPED_SCALAR,
        [JSON_REAL] = TYPED_SCALAR,
        [JSON_STR] = TYPED_SCALAR,
        [JSON_ARR] = TYPED_LIST,
        [JSON_OBJ] = TYPED_MAP,
    };
    unsigned form = forms[json_type(v)] & t->allows;
    if (form)
        return form;
    return t->allows & TYPED_MAP ? TYPED_MAP : t->allows & TYPED_SCALAR ? TYPED_SCALAR : TYPED_LIST;
}

enum typed_found typed_member(const struct typed *t, const struct json_member *m, struct typed *ret)
{
    switch (t->source) {
    case TYPED_SHAPE:
        return in_shape(t, json_key(m), ret);
    case TYPED_SCHEMA:
        return in_schema(t, m, ret);
    case TYPED_UNTYPED:
        *ret = untyped();
        return TYPED_ENTRY;
    default:
        *ret = typed_deduced();
        return TYPED_ENTRY;
    }
}

enum typed_found typed_field(const struct typed *t, str key, struct typed *ret)
{
    struct json_member m = {.key = key.n ? key.p : "", .key_n = (uint32_t)key.n, .hash = json_hash(key)};
    return typed_member(t, &m, ret);
}

enum typed_scalar typed_scalar(const struct typed *t)
{
    static const uint8_t scalars[] = {
        [SCHEMA_ANY_SCALAR] = TYPED_ANY,
        [SCHEMA_STRING] = TYPED_STRING,
        [SCHEMA_NUMBER] = TYPED_NUMBER,
        [SCHEMA_BOOLEAN] = TYPED_BOOL,
    };
    return (enum typed_scalar)(t->source == TYPED_SCHEMA ? scalars[schema_node_scalar(t->node)] : t->scalar);
}

struct typed typed_item(const struct typed *t)
{
    if (t->source == TYPED_SHAPE)
        return value_place((enum shape_type)t->type, t->record);
    if (t->source == TYPED_SCHEMA)
        return node_place(schema_items(t->node), t->open);
    return untyped();
}

static void insert_sorted(str *list, size_t n, str s)
{
    while (n > 0 && str_cmp(s, list[n - 1]) < 0) {
        list[n] = list[n - 1];
        n--;
    }
    list[n] = s;
}

size_t typed_keys(const struct typed *t, str ret[TYPED_MAX_KEYS])
{
    size_t n = 0;
    if (t->source == TYPED_SCHEMA) {
        for (; n < schema_node_key_count(t->node) && n < TYPED_MAX_KEYS; n++)
            insert_sorted(ret, n, schema_node_key(t->node, n));
    } else if (t->source == TYPED_SHAPE) {
        str rest = str_of(t->keys), name;
        for (; rest.n && n < TYPED_MAX_KEYS; n++) {
            str_cut(rest, ',', &name, &rest);
            insert_sorted(ret, n, name);
        }
    }
    return n;
}

/* Of built-in kinds: protocols are TCP, and what Go writes even when it is empty is empty. */
static bool default_of_row(const struct shape *record, str key, struct json *ret)
{
    const struct shape_field *row = record ? shape_find(record, key) : NULL;
    if (!row)
        return false;
    bool is_text = row->type == SHAPE_STRING;
    bool is_reference = strcmp(record->name, "LocalObjectReference") == 0; /* its name is said to be "" */
    if (str_eq(key, S("protocol")))
        *ret = json_str(S("TCP"));
    else if (!row->pointer && (row->required || row->written || is_reference))
        *ret = is_text ? json_str(S("")) : json_int(0);
    else
        return false;
    return true;
}

bool typed_key_default(const struct typed *t, str key, struct arena *a, struct json *ret)
{
    if (t->source == TYPED_SCHEMA)
        return schema_node_default(schema_property(schema_items(t->node), key), a, ret);
    return t->source == TYPED_SHAPE && default_of_row(t->record, key, ret);
}
