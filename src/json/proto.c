/* SPDX-License-Identifier: Apache-2.0 */
/* A message is decoded straight into the JSON object it stands for. Go clients send the zero of every field that is not
 * a pointer, so zeros of such fields say "unset" and leave no member; what a pointer points to is always kept. */
#include "json/proto.h"

#include "base/map.h"
#include "json/proto_value.h"

static const str magic = S_INIT("k8s\0");

/* What a Go client sends for a field nobody set. */
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

int proto_message(struct proto_decoder *d, const struct shape *s, uint32_t within, str bytes, struct json *obj,
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
