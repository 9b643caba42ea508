/* SPDX-License-Identifier: Apache-2.0 */
#include "json/proto.h"

#include "base/clock.h"
#include "base/map.h"
#include "json/base64.h"
#include "json/json.h"
#include "json/shape.h"

#include <math.h>

static bool broken(struct wire *w, const char *why)
{
    w->error = why;
    return false;
}

bool wire_varint(struct wire *w, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (i >= w->rest.n)
            return broken(w, "it ends in the middle of a number");
        unsigned char c = (unsigned char)w->rest.p[i];
        v |= (uint64_t)(c & 127) << (7 * i);
        if (c < 128) {
            if (i == 9 && c > 1)
                break;
            w->rest = str_from(w->rest, i + 1);
            *ret = v;
            return true;
        }
    }
    return broken(w, "a number has more than 64 bits");
}

static bool take(struct wire *w, uint64_t n, str *ret)
{
    if (n > w->rest.n)
        return broken(w, "a field is longer than what is left");
    *ret = str_upto(w->rest, (size_t)n);
    w->rest = str_from(w->rest, (size_t)n);
    return true;
}

static bool fixed(struct wire *w, unsigned n, uint64_t *ret)
{
    str bytes;
    if (!take(w, n, &bytes))
        return false;
    *ret = 0;
    for (unsigned i = 0; i < n; i++)
        *ret |= (uint64_t)(unsigned char)bytes.p[i] << (8 * i);
    return true;
}

/* Everything but groups. */
static bool plain(struct wire *w, struct wire_field *ret)
{
    uint64_t tag, n;
    if (!wire_varint(w, &tag))
        return false;
    *ret = (struct wire_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return broken(w, "a field has an impossible number");
    switch (ret->type) {
    case WIRE_VARINT:
        return wire_varint(w, &ret->value);
    case WIRE_FIXED64:
        return fixed(w, 8, &ret->value);
    case WIRE_FIXED32:
        return fixed(w, 4, &ret->value);
    case WIRE_BYTES:
        return wire_varint(w, &n) && take(w, n, &ret->bytes);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return true;
    default:
        return broken(w, "a field has an unknown wire type");
    }
}

/* No message of Kubernetes has groups: whatever is inside, nested groups too, is passed over. */
static bool skip_group(struct wire *w)
{
    struct wire_field f;
    for (size_t open = 1; open > 0;) {
        if (w->rest.n == 0)
            return broken(w, "it ends inside a group");
        if (!plain(w, &f))
            return false;
        open = f.type == WIRE_GROUP ? open + 1 : f.type == WIRE_GROUP_END ? open - 1 : open;
    }
    return true;
}

enum wire_step wire_next(struct wire *w, struct wire_field *ret)
{
    if (w->rest.n == 0)
        return WIRE_END;
    if (!plain(w, ret))
        return WIRE_BROKEN;
    if (ret->type == WIRE_GROUP_END && !broken(w, "a group ends that never began"))
        return WIRE_BROKEN;
    if (ret->type == WIRE_GROUP && !skip_group(w))
        return WIRE_BROKEN;
    return WIRE_FIELD;
}

struct proto_decoder {
    struct arena *arena;
    const struct json_limits *limits;
    uint32_t max_depth;
    struct err *err;
};

/* Where we are, for messages, and how many objects and arrays are around it. */
struct proto_place {
    const struct json_path *path;
    uint32_t depth;
};

static int proto_message(struct proto_decoder *d, const struct shape *s, uint32_t within, str bytes, struct json *obj,
                         struct proto_place at);

/* Sets "protobuf: PATH: why" and returns its code. */
static int proto_bad(struct proto_decoder *d, struct proto_place at, const char *why)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, at.path);
    return err_set(d->err, ERR_BAD_REQUEST, "protobuf: %.*s%s%s", STR(buf_str(&path)), path.n ? ": " : "", why);
}

/* Steps into one more object or array; ERR_TOO_LARGE past the limit. */
static int proto_deeper(struct proto_decoder *d, struct proto_place *at)
{
    return ++at->depth > d->max_depth ? err_set(d->err, ERR_TOO_LARGE, "protobuf: exceeded max depth") : 0;
}

static int proto_text(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at)
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

static enum wire_type proto_wire_type(const struct shape_field *row)
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
static int proto_value(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f,
                       struct json *ret, struct proto_place at)
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

/* A message is decoded straight into the JSON object it stands for. Go clients send the zero of every field that is not
 * a pointer, so zeros of such fields mean "unset" and leave no member; what a pointer points to is always kept. */

static const str magic = S_INIT("k8s\0");

/* What a Go client sends for an unset field. */
static bool is_zero(const struct shape_field *row, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_BOOL:
        return !v->b;
    case JSON_INT:
        return v->i == 0;
    case JSON_REAL:
        return v->d == 0;
    case JSON_STR:
        return v->n == 0 || (row->type == SHAPE_QUANTITY && str_eq(json_text(v), S("0")));
    default:
        return json_len(v) == 0;
    }
}

static int one_field(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f,
                     struct json *obj, struct proto_place at)
{
    str name = str_of(row->name);
    struct json v = json_obj();
    int rc;
    if (row->type == SHAPE_RECORD) {
        struct json *before = json_get_mut(obj, name); /* a message sent in two parts is one */
        if (before)
            v = *before;
        rc = proto_message(d, row->record, 0, f->bytes, &v, at);
    } else {
        rc = proto_value(d, row, f, &v, at);
    }
    if (rc < 0)
        return rc;
    bool unset = row->pointer ? v.type == JSON_NULL : is_zero(row, &v);
    if (!unset)
        json_set(d->arena, obj, name, v);
    else
        json_remove(obj, name);
    return 0;
}

/* The member of a list or map field, made when missing. */
static struct json *container(struct proto_decoder *d, const struct shape_field *row, struct json *obj)
{
    struct json *found = json_get_mut(obj, str_of(row->name));
    if (found)
        return found;
    return json_add(d->arena, obj, str_of(row->name), row->card == SHAPE_MAP ? json_obj() : json_arr());
}

static int packed(struct proto_decoder *d, const struct shape_field *row, str bytes, struct json *list,
                  struct proto_place at)
{
    struct wire w = {bytes, NULL};
    struct wire_field f = {.type = WIRE_VARINT};
    while (w.rest.n) {
        struct json item = json_null();
        if (!wire_varint(&w, &f.value))
            return proto_bad(d, at, w.error);
        if (proto_value(d, row, &f, &item, at) < 0)
            return ERR_BAD_REQUEST;
        json_push(d->arena, list, item);
    }
    return 0;
}

static int list_field(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f,
                      struct json *obj, struct proto_place at)
{
    struct json item = json_obj();
    if (f->type == WIRE_BYTES && proto_wire_type(row) == WIRE_VARINT)
        return packed(d, row, f->bytes, container(d, row, obj), at);
    int rc = row->type == SHAPE_RECORD ? proto_message(d, row->record, 0, f->bytes, &item, at)
                                       : proto_value(d, row, f, &item, at);
    if (rc < 0)
        return rc;
    json_push(d->arena, container(d, row, obj), item);
    return 0;
}

/* One entry of a map: {key=1 value=2}. Entries are only appended here; finish looks for doubles. */
static int map_field(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f,
                     struct json *obj, struct proto_place at)
{
    struct wire w = {f->bytes, NULL};
    struct wire_field part, val = {.number = 2, .type = proto_wire_type(row)};
    enum wire_step step;
    str key = {0};
    while ((step = wire_next(&w, &part)) == WIRE_FIELD) {
        if ((part.number == 1 && part.type != WIRE_BYTES) || (part.number == 2 && part.type != val.type))
            return proto_bad(d, at, "wrong wire type in a map");
        if (part.number == 1)
            key = part.bytes;
        else if (part.number == 2)
            val = part;
    }
    if (step == WIRE_BROKEN)
        return proto_bad(d, at, w.error);
    struct json name, v = json_obj();
    if (proto_text(d, key, &name, at) < 0)
        return ERR_BAD_REQUEST;
    int rc = row->type == SHAPE_RECORD ? proto_message(d, row->record, 0, val.bytes, &v, at)
                                       : proto_value(d, row, &val, &v, at);
    if (rc < 0)
        return rc;
    json_add(d->arena, container(d, row, obj), json_text(&name), v);
    return 0;
}

/* Of entries with the same key the last one counts. */
static void drop_doubles(struct proto_decoder *d, struct json *entries)
{
    struct map seen = {0}; /* key → its member in `kept` */
    struct json kept = json_obj_sized(d->arena, entries->n);
    json_each_member(entries, m)
    {
        struct json_member *before = map_get(&seen, json_key(m));
        if (before) {
            before->val = m->val;
            continue;
        }
        json_add(d->arena, &kept, json_key(m), m->val);
        map_set(&seen, json_key(m), &kept.members[kept.n - 1]);
    }
    map_done(&seen);
    *entries = kept;
}

/* Looks through the maps of a record and of all records in it, once everything is there: entries of one map may come
 * in many parts, and looking each time would take forever. */
static void finish(struct proto_decoder *d, const struct shape *s, struct json *v)
{
    if (v->type == JSON_ARR)
        for (size_t i = 0; i < v->n; i++)
            finish(d, s, &v->items[i]);
    if (v->type != JSON_OBJ)
        return;
    for (size_t i = 0; i < v->n; i++) {
        struct json *child = &v->members[i].val;
        const struct shape_field *row = shape_find(s, json_key(&v->members[i]));
        if (row->card == SHAPE_MAP && child->n > 1)
            drop_doubles(d, child);
        if (row->record && row->card == SHAPE_MAP)
            for (size_t k = 0; k < child->n; k++)
                finish(d, row->record, &child->members[k].val);
        else if (row->record)
            finish(d, row->record, child);
    }
}

static int field(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f, struct json *obj,
                 struct proto_place up)
{
    struct json_path step = {up.path, str_of(row->name), 0};
    struct proto_place at = {&step, up.depth};
    bool can_pack = row->card == SHAPE_LIST && proto_wire_type(row) == WIRE_VARINT;
    if (row->card == SHAPE_MAP ? f->type != WIRE_BYTES
                               : f->type != proto_wire_type(row) && !(can_pack && f->type == WIRE_BYTES))
        return proto_bad(d, at, "wrong wire type");
    if (row->card != SHAPE_ONE && proto_deeper(d, &at) < 0)
        return ERR_TOO_LARGE;
    switch (row->card) {
    case SHAPE_LIST:
        return list_field(d, row, f, obj, at);
    case SHAPE_MAP:
        return map_field(d, row, f, obj, at);
    default:
        return one_field(d, row, f, obj, at);
    }
}

/* Adds the fields of a message to obj: those of the record itself (within 0), or those inside message `within`. */
static int proto_message(struct proto_decoder *d, const struct shape *s, uint32_t within, str bytes, struct json *obj,
                         struct proto_place at)
{
    if (proto_deeper(d, &at) < 0)
        return ERR_TOO_LARGE;
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        const struct shape_field *row = shape_find_number(s, within, f.number);
        int rc = 0;
        if (row)
            rc = field(d, row, &f, obj, at);
        else if (within == 0 && shape_has_within(s, f.number))
            rc = f.type == WIRE_BYTES ? proto_message(d, s, f.number, f.bytes, obj, at)
                                      : proto_bad(d, at, "wrong wire type");
        if (rc < 0)
            return rc;
    }
    if (step == WIRE_BROKEN)
        return proto_bad(d, at, w.error);
    return 0;
}

/* ---- The envelope. ---- */

bool proto_is_envelope(str bytes)
{
    return str_has_prefix(bytes, magic);
}

static int check_size(str bytes, const struct json_limits *limits, struct err *err)
{
    size_t max = limits && limits->bytes ? limits->bytes : JSON_MAX_BYTES;
    return bytes.n > max ? err_set(err, ERR_TOO_LARGE, "protobuf: limit is %zu bytes", max) : 0;
}

/* TypeMeta {apiVersion=1 kind=2} */
static int open_type(str bytes, struct proto_envelope *ret, struct err *err)
{
    struct wire w = {bytes, NULL};
    struct wire_field f;
    enum wire_step step;
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number <= 2 && (f.type != WIRE_BYTES || !str_is_utf8(f.bytes)))
            return err_set(err, ERR_BAD_REQUEST, "protobuf: apiVersion and kind must be strings");
        if (f.number == 1)
            ret->api_version = f.bytes;
        else if (f.number == 2)
            ret->kind = f.bytes;
    }
    return step == WIRE_BROKEN ? err_set(err, ERR_BAD_REQUEST, "protobuf: type: %s", w.error) : 0;
}

int proto_open(str bytes, const struct json_limits *limits, struct proto_envelope *ret, struct err *err)
{
    if (check_size(bytes, limits, err) < 0)
        return ERR_TOO_LARGE;
    if (bytes.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "empty data");
    if (!proto_is_envelope(bytes))
        return err_set(err, ERR_BAD_REQUEST,
                       "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
    if (bytes.n == magic.n)
        return err_set(err, ERR_BAD_REQUEST, "empty body");
    struct wire w = {str_from(bytes, magic.n), NULL};
    struct wire_field f;
    enum wire_step step;
    struct proto_envelope env = {0};
    while ((step = wire_next(&w, &f)) == WIRE_FIELD) {
        if (f.number > 4)
            continue;
        if (f.type != WIRE_BYTES)
            return err_set(err, ERR_BAD_REQUEST, "protobuf: envelope: wrong wire type");
        if (f.number == 1 && open_type(f.bytes, &env, err) < 0)
            return ERR_BAD_REQUEST;
        if (f.number > 1)
            *(f.number == 2 ? &env.raw : f.number == 3 ? &env.content_encoding : &env.content_type) = f.bytes;
    }
    if (step == WIRE_BROKEN)
        return err_set(err, ERR_BAD_REQUEST, "protobuf: envelope: %s", w.error);
    *ret = env;
    return 0;
}

int proto_decode(struct arena *a, const struct shape *shape, str message, const struct json_limits *limits,
                 struct json *ret, struct err *err)
{
    if (check_size(message, limits, err) < 0)
        return ERR_TOO_LARGE;
    struct proto_decoder d = {a, limits, limits && limits->depth ? limits->depth : JSON_MAX_DEPTH, err};
    struct json obj = json_obj();
    int rc = proto_message(&d, shape, 0, message, &obj, (struct proto_place){0});
    if (rc < 0)
        return rc;
    finish(&d, shape, &obj);
    *ret = obj;
    return 0;
}
