/* SPDX-License-Identifier: Apache-2.0 */
/* Go's decoder keeps the first wrong type it meets and goes on, but stops at once when a type with a parser of its own
 * (time, quantity, int-or-string, the unions of a schema) refuses; what stops it is told rather than what was kept.
 * Both errors name the innermost struct and the JSON names from the root, without list positions and map keys. */
#include "kinds/strict_value.h"

#include "base/budget.h"
#include "object/quantity.h"
#include "object/timestamp.h"
#include "json/base64.h"

static const char *given(const struct json *v)
{
    switch (json_type(v)) {
    case JSON_STR:
        return "string";
    case JSON_BOOL:
        return "bool";
    case JSON_ARR:
        return "array";
    case JSON_OBJ:
        return "object";
    case JSON_NULL:
        return "null";
    default:
        return "number";
    }
}

static void names_format(struct buf *b, const struct strict_names *names)
{
    if (!names)
        return;
    names_format(b, names->up);
    if (names->up)
        buf_add_char(b, '.');
    buf_add_str(b, str_of(names->name));
}

/* "number 80.0": a number of the right kind that does not fit is told with its digits. */
static void number_format(struct buf *b, const struct json *v)
{
    buf_add_str(b, S("number "));
    size_t start = b->n;
    json_encode_number(b, v);
    str text = str_from(buf_str(b), start);
    if (v->type == JSON_REAL && str_find_char(text, '.') < 0 && str_find_char(text, 'e') < 0)
        buf_add_str(b, S(".0"));
}

static int type_error(struct strict_walk *w, struct strict_spot at, str value, const char *type)
{
    if (w->err->code)
        return 0; /* the first one counts */
    struct arena scratch ARENA_SCOPE = {0};
    struct buf names = {.arena = &scratch};
    names_format(&names, at.names);
    if (at.owner)
        err_set(w->err, ERR_BAD_REQUEST, "json: cannot unmarshal %.*s into Go struct field %s.%.*s of type %s",
                STR(value), at.owner, STR(buf_str(&names)), type);
    else
        err_set(w->err, ERR_BAD_REQUEST, "json: cannot unmarshal %.*s into Go value of type %s", STR(value), type);
    return 0;
}

int strict_wrong_type(struct strict_walk *w, struct strict_spot at, const struct json *v, const char *type)
{
    return type_error(w, at, str_of(given(v)), type);
}

static int wrong_number(struct strict_walk *w, struct strict_spot at, const struct json *v, const char *type)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf value = {.arena = &scratch};
    number_format(&value, v);
    return type_error(w, at, buf_str(&value), type);
}

/* The refusal of a type that parses itself ends everything. */
static int stop(struct strict_walk *w, const char *why)
{
    return err_set(w->err, ERR_BAD_REQUEST, "%s", why);
}

/* …and if it refuses because of a JSON type, that is told like any other. */
static int stop_type(struct strict_walk *w, struct strict_spot at, const struct json *v, const char *type)
{
    w->err->code = ERR_NONE;
    strict_wrong_type(w, at, v, type);
    return ERR_BAD_REQUEST;
}

/* Go's name of one value of the row, and of the whole. */
static str type_name(struct arena *a, const struct shape_field *row)
{
    bool whole_named = row->card == SHAPE_MAP || row->type == SHAPE_RECORD;
    if (row->go_type && !whole_named)
        return str_of(row->go_type);
    switch (row->type) {
    case SHAPE_BOOL:
        return S("bool");
    case SHAPE_INT32:
        return S("int32");
    case SHAPE_INT64:
        return S("int64");
    case SHAPE_DOUBLE:
        return S("float64");
    case SHAPE_BYTES:
        return S("[]uint8");
    case SHAPE_RECORD:
        return str_fmt(a, "%.*s.%s", STR(shape_version(row->record)), row->record->name);
    case SHAPE_QUANTITY:
        return S("resource.Quantity");
    case SHAPE_STRINGS:
        return S("v1.ExtraValue");
    case SHAPE_RAW:
        return S("v1.JSON");
    case SHAPE_JSON_OR_STRINGS:
        return S("v1.JSONSchemaPropsOrStringArray");
    default:
        return S("string");
    }
}

int strict_wrong_whole(struct strict_walk *w, struct strict_spot at, const struct json *v,
                       const struct shape_field *row)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool named = row->go_type && (row->card == SHAPE_MAP || row->type == SHAPE_RECORD);
    str type = named ? str_of(row->go_type)
                     : str_fmt(&scratch, "%s%.*s", row->card == SHAPE_MAP ? "map[string]" : "[]",
                               STR(type_name(&scratch, row)));
    return strict_wrong_type(w, at, v, str_cstr(&scratch, type));
}

static int integer(struct strict_walk *w, const struct shape_field *row, const struct json *v, struct strict_spot at)
{
    const char *type = row->type == SHAPE_INT32 ? "int32" : "int64";
    if (!json_is_num(v))
        return strict_wrong_type(w, at, v, type);
    bool fits = v->type == JSON_INT && (row->type == SHAPE_INT64 || (v->i >= INT32_MIN && v->i <= INT32_MAX));
    return fits ? 0 : wrong_number(w, at, v, type);
}

/* Bytes are base64; Go also takes a list of numbers. */
static int bytes_of_list(struct strict_walk *w, struct json *v, struct strict_spot at)
{
    struct buf b = {.arena = w->arena};
    json_each_item(v, item)
    {
        if (item->type == JSON_INT && item->i >= 0 && item->i <= 255)
            buf_add_char(&b, (char)item->i);
        else if (json_is_num(item))
            return wrong_number(w, at, item, "uint8");
        else if (item->type != JSON_NULL)
            return strict_wrong_type(w, at, item, "uint8");
        else
            buf_add_char(&b, 0);
    }
    *v = json_str(base64_encode(w->arena, buf_str(&b)));
    return 0;
}

static int bytes(struct strict_walk *w, struct json *v, struct strict_spot at)
{
    if (v->type == JSON_ARR)
        return bytes_of_list(w, v, at);
    if (v->type != JSON_STR)
        return strict_wrong_type(w, at, v, "[]uint8");
    str raw;
    size_t where;
    if (base64_decode(w->arena, json_text(v), &raw, &where) < 0) {
        if (!w->err->code)
            err_set(w->err, ERR_BAD_REQUEST, "illegal base64 data at input byte %zu", where);
        return 0;
    }
    *v = json_str(base64_encode(w->arena, raw));
    return 0;
}

static int instant(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    str text;
    if (v->type != JSON_STR)
        return stop_type(w, at, v, "string");
    if (timestamp_normalize(w->arena, json_text(v), row->type == SHAPE_TIME ? TIMESTAMP_SECONDS : TIMESTAMP_MICROS,
                            &text, w->err) < 0)
        return ERR_BAD_REQUEST;
    *v = text.n ? json_str(text) : json_null();
    return 0;
}

static int quantity(struct strict_walk *w, struct json *v)
{
    struct buf b = {.arena = w->arena};
    if (json_is_num(v))
        json_encode_number(&b, v);
    str text = v->type == JSON_STR ? str_trim(json_text(v)) : buf_str(&b);
    const char *why = quantity_check(text);
    if (why)
        return stop(w, why);
    *v = json_str(text);
    return 0;
}

static int int_or_string(struct strict_walk *w, const struct json *v, struct strict_spot at)
{
    if (v->type == JSON_STR || (v->type == JSON_INT && v->i >= INT32_MIN && v->i <= INT32_MAX))
        return 0;
    w->err->code = ERR_NONE;
    (void)(json_is_num(v) ? wrong_number(w, at, v, "int32") : strict_wrong_type(w, at, v, "int32"));
    return ERR_BAD_REQUEST;
}

static int strings(struct strict_walk *w, struct json *v, struct strict_spot at)
{
    budget_charge(json_len(v));
    if (v->type != JSON_ARR)
        return strict_wrong_type(w, at, v, "v1.ExtraValue");
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i].type == JSON_NULL)
            v->items[i] = json_str((str){0});
        else if (v->items[i].type != JSON_STR)
            strict_wrong_type(w, at, &v->items[i], "string");
    }
    return 0;
}

/* The unions of a CRD's schema decode themselves, without notes; what they cannot read at all becomes nothing. */
static int union_value(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    struct err *kept = NULL; /* what came before; only told when nothing in here stops us */
    int rc = 0;
    if (w->err->code) {
        kept = arena_alloc(w->arena, sizeof *kept);
        *kept = *w->err;
    }
    at.sealed = true;
    w->err->code = ERR_NONE;
    if (v->type == JSON_OBJ)
        rc = strict_record(w, row->record, v, at);
    else if (row->type == SHAPE_JSON_OR_BOOL)
        rc = v->type == JSON_BOOL ? 0 : stop(w, "boolean or JSON schema expected");
    else if (v->type != JSON_ARR)
        *v = json_null();
    else if (row->type == SHAPE_JSON_OR_STRINGS)
        rc = strings(w, v, at);
    else
        for (size_t i = 0; i < v->n && rc == 0; i++)
            rc = strict_record(w, row->record, &v->items[i], at);
    if (rc < 0 || w->err->code)
        return ERR_BAD_REQUEST;
    if (kept)
        *w->err = *kept;
    return 0;
}

static int scalar(struct strict_walk *w, const struct shape_field *row, const struct json *v, struct strict_spot at)
{
    bool fits = row->type == SHAPE_STRING ? v->type == JSON_STR
                : row->type == SHAPE_BOOL ? v->type == JSON_BOOL
                                          : json_is_num(v);
    if (fits)
        return 0;
    return strict_wrong_type(w, at, v, type_name(NULL, row).p); /* a literal: only records need the arena */
}

int strict_value(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    budget_charge(3);
    switch (row->type) {
    case SHAPE_STRING:
    case SHAPE_BOOL:
    case SHAPE_DOUBLE:
        return scalar(w, row, v, at);
    case SHAPE_INT32:
    case SHAPE_INT64:
        return integer(w, row, v, at);
    case SHAPE_BYTES:
        return bytes(w, v, at);
    case SHAPE_RECORD:
        return strict_record(w, row->record, v, at);
    case SHAPE_TIME:
    case SHAPE_MICRO_TIME:
        return instant(w, row, v, at);
    case SHAPE_QUANTITY:
        return quantity(w, v);
    case SHAPE_INT_OR_STRING:
        return int_or_string(w, v, at);
    case SHAPE_RAW:
        return 0;
    case SHAPE_STRINGS:
        return strings(w, v, at);
    default:
        return union_value(w, row, v, at);
    }
}

struct json strict_zero(const struct shape_field *row)
{
    switch (row->type) {
    case SHAPE_BOOL:
        return json_bool(false);
    case SHAPE_INT32:
    case SHAPE_INT64:
    case SHAPE_INT_OR_STRING:
        return json_int(0);
    case SHAPE_DOUBLE:
        return json_real(0);
    case SHAPE_RECORD:
        return json_obj();
    case SHAPE_QUANTITY:
        return json_str(S("0"));
    case SHAPE_STRINGS:
        return json_arr();
    case SHAPE_STRING:
    case SHAPE_BYTES:
        return json_str((str){0});
    default:
        return json_null();
    }
}
