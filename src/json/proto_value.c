/* SPDX-License-Identifier: Apache-2.0 */
#include "json/proto_value.h"

#include "base/clock.h"
#include "json/base64.h"

#include <math.h>

int proto_bad(struct proto_decoder *d, struct proto_place at, const char *why)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, at.path);
    return err_set(d->err, ERR_BAD_REQUEST, "protobuf: %.*s%s%s", STR(buf_str(&path)), path.n ? ": " : "", why);
}

int proto_deeper(struct proto_decoder *d, struct proto_place *at)
{
    return ++at->depth > d->max_depth ? err_set(d->err, ERR_TOO_LARGE, "protobuf: exceeded max depth") : 0;
}

int proto_text(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at)
{
    if (!str_is_utf8(bytes))
        return proto_bad(d, at, "a string is not UTF-8");
    *ret = json_str(str_dup(d->arena, bytes));
    return 0;
}

enum { YEAR_1 = -62135596800, YEAR_10000 = 253402300800 };

/* Time counts whole seconds; MicroTime drops what is below a microsecond. Both as Kubernetes reads them. */
static int time_value(struct proto_decoder *d, str bytes, int digits, struct json *ret, struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    int64_t seconds = 0;
    int32_t nanos = 0;
    enum wire_step step;
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number <= 2 && f.type != WIRE_VARINT)
            return proto_bad(d, at, "a time has a field of the wrong wire type");
        if (f.number == 1)
            seconds = (int64_t)f.value;
        else if (f.number == 2)
            nanos = (int32_t)f.value;
    }
    if (step == WIRE_BROKEN)
        return proto_bad(d, at, w.error);
    *ret = json_null();
    if (bytes.n == 0)
        return 0;
    if (seconds < YEAR_1 || seconds >= YEAR_10000 || nanos < 0 || nanos > 999999999)
        return proto_bad(d, at, "a time is out of range");
    struct buf b = {.arena = d->arena};
    time_format(&b, seconds, digits ? (uint32_t)nanos : 0, digits);
    *ret = json_str(buf_str(&b));
    return 0;
}

/* The last bytes with this number, for messages that wrap a single value. */
static int unwrap(struct proto_decoder *d, str bytes, uint32_t number, str *ret, struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    *ret = (str){0};
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number != number)
            continue;
        if (f.type != WIRE_BYTES)
            return proto_bad(d, at, "wrong wire type");
        *ret = f.bytes;
    }
    return step == WIRE_BROKEN ? proto_bad(d, at, w.error) : 0;
}

static int int_or_string_value(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    uint64_t kind = 0;
    int32_t number = 0;
    str text = {0};
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number <= 3 && f.type != (f.number == 3 ? WIRE_BYTES : WIRE_VARINT))
            return proto_bad(d, at, "wrong wire type");
        if (f.number == 1)
            kind = f.value;
        else if (f.number == 2)
            number = (int32_t)f.value;
        else if (f.number == 3)
            text = f.bytes;
    }
    if (step == WIRE_BROKEN)
        return proto_bad(d, at, w.error);
    if (kind > 1)
        return proto_bad(d, at, "neither an integer nor a string");
    if (kind == 1)
        return proto_text(d, text, ret, at);
    *ret = json_int(number);
    return 0;
}

/* {raw=1}: JSON text inside the message. */
static int raw_value(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at)
{
    str raw;
    *ret = json_null();
    if (unwrap(d, bytes, 1, &raw, at) < 0)
        return ERR_BAD_REQUEST;
    if (raw.n == 0)
        return 0;
    uint32_t left = d->max_depth - at.depth;
    struct json_limits limits = {.bytes = d->limits ? d->limits->bytes : 0, .depth = left ? left : 1};
    struct json v;
    int rc = json_decode(d->arena, raw, &limits, NULL, &v, d->err);
    if (rc < 0) {
        (void)err_wrap(d->err, "protobuf: JSON inside a message");
        return rc;
    }
    if (left == 0 && v.type >= JSON_ARR)
        return proto_deeper(d, &at);
    *ret = v;
    return 0;
}

/* {items=1*} */
static int strings_value(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    if (proto_deeper(d, &at) < 0)
        return ERR_TOO_LARGE;
    *ret = json_arr();
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        struct json item = json_null();
        if (f.number != 1)
            continue;
        if (f.type != WIRE_BYTES)
            return proto_bad(d, at, "wrong wire type");
        if (proto_text(d, f.bytes, &item, at) < 0)
            return ERR_BAD_REQUEST;
        json_push(d->arena, ret, item);
    }
    return step == WIRE_BROKEN ? proto_bad(d, at, w.error) : 0;
}

/* The three unions of a CRD's schema: a schema, or else a boolean, a list of schemas, or a list of names.
 *     OrBool {allows=1 schema=2}   OrArray {schema=1 schemas=2*}   OrStrings {schema=1 names=2*} */
static int union_value(struct proto_decoder *d, const struct shape_field *row, str bytes, struct json *ret,
                       struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    bool is_bool = row->type == SHAPE_JSON_OR_BOOL, allows = false, has_schema = false;
    struct json schema = json_obj(), list = json_arr();
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number > 2)
            continue;
        if (f.type != (is_bool && f.number == 1 ? WIRE_VARINT : WIRE_BYTES))
            return proto_bad(d, at, "wrong wire type");
        int rc = 0;
        if (is_bool && f.number == 1) {
            allows = f.value != 0;
        } else if (is_bool || f.number == 1) {
            has_schema = true;
            rc = proto_message(d, row->record, 0, f.bytes, &schema, at);
        } else {
            struct json item = json_obj();
            struct proto_place inside = at;
            if (proto_deeper(d, &inside) < 0)
                return ERR_TOO_LARGE;
            rc = row->type == SHAPE_JSON_OR_ARRAY ? proto_message(d, row->record, 0, f.bytes, &item, inside)
                                                  : proto_text(d, f.bytes, &item, inside);
            json_push(d->arena, &list, item);
        }
        if (rc < 0)
            return rc;
    }
    if (step == WIRE_BROKEN)
        return proto_bad(d, at, w.error);
    *ret = list.n ? list : has_schema ? schema : is_bool ? json_bool(allows) : json_null();
    return 0;
}

enum wire_type proto_wire_type(const struct shape_field *row)
{
    switch (row->type) {
    case SHAPE_BOOL:
    case SHAPE_INT32:
    case SHAPE_INT64:
        return WIRE_VARINT;
    case SHAPE_DOUBLE:
        return WIRE_FIXED64;
    default:
        return WIRE_BYTES;
    }
}

static int real_value(struct proto_decoder *d, uint64_t bits, struct json *ret, struct proto_place at)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    if (!isfinite(real))
        return proto_bad(d, at, "a number is not finite");
    *ret = json_real(real);
    return 0;
}

/* Any value but a record. */
int proto_value(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f, struct json *ret,
                struct proto_place at)
{
    str text;
    switch (row->type) {
    case SHAPE_BOOL:
        *ret = json_bool(f->value != 0);
        return 0;
    case SHAPE_INT32:
        *ret = json_int((int32_t)f->value);
        return 0;
    case SHAPE_INT64:
        *ret = json_int((int64_t)f->value);
        return 0;
    case SHAPE_DOUBLE:
        return real_value(d, f->value, ret, at);
    case SHAPE_STRING:
        return proto_text(d, f->bytes, ret, at);
    case SHAPE_BYTES:
        *ret = json_str(base64_encode(d->arena, f->bytes));
        return 0;
    case SHAPE_TIME:
        return time_value(d, f->bytes, 0, ret, at);
    case SHAPE_MICRO_TIME:
        return time_value(d, f->bytes, 6, ret, at);
    case SHAPE_QUANTITY:
        return unwrap(d, f->bytes, 1, &text, at) < 0 ? ERR_BAD_REQUEST : proto_text(d, text, ret, at);
    case SHAPE_INT_OR_STRING:
        return int_or_string_value(d, f->bytes, ret, at);
    case SHAPE_RAW:
        return raw_value(d, f->bytes, ret, at);
    case SHAPE_STRINGS:
        return strings_value(d, f->bytes, ret, at);
    default:
        return union_value(d, row, f->bytes, ret, at);
    }
}
