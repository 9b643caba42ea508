/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/strict.h"

#include "base/budget.h"
#include "base/map.h"
#include "object/go_text.h"
#include "object/quantity.h"
#include "json/base64.h"

#include <stdio.h>
#include <stdlib.h>

struct strict_walk {
    struct arena *arena;
    struct strict_notes *notes;
    struct map duplicates; /* paths that came twice */
    struct map hashes;     /* of these paths: most members are told apart without building theirs */
    struct err *err;       /* the first wrong type, while err->code is set */
};

/* The JSON names from the root, for errors. */
struct strict_names {
    const struct strict_names *up;
    const char *name;
};

/* The place of a value. */
struct strict_spot {
    const char *owner;                /* name of the struct around it; NULL at the root */
    const struct strict_names *names; /* for errors */
    const struct json_path *path;     /* for notes */
    bool sealed;                      /* inside a union: errors name the union's field, notes are not taken */
    uint64_t hash;                    /* of the path's text, while there are duplicates to find */
};

static int strict_record(struct strict_walk *w, const struct shape *s, struct json *v, struct strict_spot at);

/* Go's decoder keeps the first wrong type it meets and continues, but stops at once when a type with a parser of its
 * own (time, quantity, int-or-string, the unions of a schema) refuses; the error that stops it is reported instead of
 * the kept one. Both errors name the innermost struct and the JSON names from the root, without list positions and map
 * keys. */

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

/* "number 80.0": a number of the right kind that does not fit is reported with its digits. */
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

/* The value should have been of this Go type; or the list or map of the row. */
static int strict_wrong_type(struct strict_walk *w, struct strict_spot at, const struct json *v, const char *type)
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

/* …and if it refuses because of a JSON type, that is reported like any other. */
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

static int strict_wrong_whole(struct strict_walk *w, struct strict_spot at, const struct json *v,
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

/* One value that is not null: all of a field, or one item or entry of it. */
static int strict_value(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
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

/* What Go has in a list or map where JSON has null. */
static struct json strict_zero(const struct shape_field *row)
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

static void note(struct arena *a, struct strict_notes *notes, const char *what, str path)
{
    if (!notes || notes->list.n >= STRICT_MAX_NOTES)
        return;
    struct buf b = {.arena = a};
    buf_add_str(&b, str_of(what));
    buf_add_char(&b, ' ');
    buf_add_quoted(&b, path);
    *vec_push(a, &notes->list) = buf_str(&b);
}

void strict_note_unknown(struct arena *a, struct strict_notes *notes, str path)
{
    note(a, notes, "unknown field", str_clip(a, path));
}

void strict_note_duplicate(struct arena *a, struct strict_notes *notes, str path)
{
    note(a, notes, "duplicate field", str_clip(a, path));
}

void strict_notes_format(struct buf *b, const struct strict_notes *notes)
{
    buf_add_str(b, S("strict decoding error: "));
    for (size_t i = 0; i < notes->list.n; i++) {
        if (i)
            buf_add_str(b, S(", "));
        buf_add_str(b, notes->list.p[i]);
    }
}

static void note_unknown(struct strict_walk *w, struct strict_spot at, str key)
{
    if (!w->notes || at.sealed || w->notes->list.n >= STRICT_MAX_NOTES)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct json_path step = {at.path, key, 0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, &step);
    strict_note_unknown(w->arena, w->notes, buf_str(&path));
}

/* ---- Duplicates. ---- */

/* FNV-1a, which can go on where a shorter path ended: a path may be a megabyte long and have 100,000 members. */
static uint64_t hash_on(uint64_t hash, str text)
{
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (unsigned char)text.p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static const uint64_t hash_of_nothing = UINT64_C(0xcbf29ce484222325);

static str hash_key(const uint64_t *hash)
{
    return (str){(const char *)hash, sizeof *hash};
}

/* The hash of the path one step further, as json_path_format writes it. */
static uint64_t hash_step(const struct strict_walk *w, struct strict_spot at, const struct json_path *step)
{
    if (w->duplicates.n == 0 || at.sealed)
        return 0;
    if (step->key.p)
        return hash_on(at.path ? hash_on(at.hash, S(".")) : at.hash, step->key);
    char index[32];
    int n = snprintf(index, sizeof index, "[%zu]", step->index);
    return hash_on(at.hash, (str){index, (size_t)n});
}

static void expect_duplicates(struct strict_walk *w, const struct json_notes *found)
{
    vec_each(&found->duplicates, path)
    {
        uint64_t *hash = ARENA_NEW(w->arena, uint64_t);
        *hash = hash_on(hash_of_nothing, *path);
        map_set(&w->duplicates, *path, w);
        map_set(&w->hashes, hash_key(hash), w);
    }
}

/* Called behind a member that has been looked through: Go notices a double when it meets it again. */
static void note_duplicate(struct strict_walk *w, struct strict_spot at, str key)
{
    struct json_path step = {at.path, key, 0};
    if (!w->notes || w->duplicates.n == 0 || at.sealed)
        return;
    uint64_t hash = hash_step(w, at, &step);
    if (!map_get(&w->hashes, hash_key(&hash)))
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    json_path_format(&path, &step);
    if (map_del(&w->duplicates, buf_str(&path)))
        strict_note_duplicate(w->arena, w->notes, buf_str(&path));
}

/* ---- The walk. ---- */

static int list(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    if (v->type != JSON_ARR)
        return strict_wrong_whole(w, at, v, row);
    for (size_t i = 0; i < v->n; i++) {
        struct json_path step = {.up = at.path, .index = i};
        struct strict_spot inside = {at.owner, at.names, &step, at.sealed, hash_step(w, at, &step)};
        if (v->items[i].type == JSON_NULL)
            v->items[i] = strict_zero(row);
        else if (strict_value(w, row, &v->items[i], inside) < 0)
            return ERR_BAD_REQUEST;
    }
    return 0;
}

static int entries(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at)
{
    if (v->type != JSON_OBJ)
        return strict_wrong_whole(w, at, v, row);
    for (size_t i = 0; i < v->n; i++) {
        struct json_member *m = &v->members[i];
        struct json_path step = {at.path, json_key(m), 0};
        struct strict_spot inside = {at.owner, at.names, &step, at.sealed, hash_step(w, at, &step)};
        if (m->val.type == JSON_NULL)
            m->val = strict_zero(row);
        else if (strict_value(w, row, &m->val, inside) < 0)
            return ERR_BAD_REQUEST;
        note_duplicate(w, at, json_key(m));
    }
    return 0;
}

static int decode_field(struct strict_walk *w, const struct shape *s, const struct shape_field *row, struct json *v,
                        struct strict_spot at)
{
    struct strict_names names = {at.names, row->name};
    struct json_path step = {at.path, str_of(row->name), 0};
    struct strict_spot inside = {s->name, &names, &step, at.sealed, hash_step(w, at, &step)};
    if (at.sealed) {
        inside.owner = at.owner;
        inside.names = at.names;
    }
    switch (row->card) {
    case SHAPE_LIST:
        return list(w, row, v, inside);
    case SHAPE_MAP:
        return entries(w, row, v, inside);
    default:
        return strict_value(w, row, v, inside);
    }
}

/* A whole record; strict.c has it. */
static int strict_record(struct strict_walk *w, const struct shape *s, struct json *v, struct strict_spot at)
{
    if (v->type == JSON_NULL)
        return 0;
    if (v->type != JSON_OBJ) {
        struct arena scratch ARENA_SCOPE = {0};
        return strict_wrong_type(w, at, v,
                                 str_cstr(&scratch, str_fmt(&scratch, "%.*s.%s", STR(shape_version(s)), s->name)));
    }
    uint32_t kept = 0; /* members that stay move up */
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_member m = v->members[i];
        const struct shape_field *row = shape_find(s, json_key(&m));
        if (!row) {
            note_unknown(w, at, json_key(&m));
            continue;
        }
        if (m.val.type != JSON_NULL && decode_field(w, s, row, &m.val, at) < 0)
            return ERR_BAD_REQUEST;
        note_duplicate(w, at, json_key(&m));
        if (m.val.type != JSON_NULL)
            v->members[kept++] = m;
    }
    v->n = kept;
    return 0;
}

int strict_decode(struct arena *a, const struct shape *shape, struct json *obj, const struct json_notes *duplicates,
                  struct strict_notes *notes, struct err *err)
{
    struct err own = {0};
    struct strict_walk w = {.arena = a, .notes = notes, .err = err ? err : &own};
    w.err->code = ERR_NONE;
    if (duplicates && notes)
        expect_duplicates(&w, duplicates);
    int rc = strict_record(&w, shape, obj, (struct strict_spot){.hash = hash_of_nothing});
    map_done(&w.duplicates);
    map_done(&w.hashes);
    return rc < 0 ? rc : w.err->code;
}

struct form {
    struct arena *arena;
    bool keeps_empty;
};

static void record(const struct form *f, const struct shape *shape, struct json *v);

/* ---- Values. ---- */

static void unions(const struct form *f, const struct shape_field *row, struct json *v)
{
    if (v->type == JSON_OBJ)
        record(f, row->record, v);
    for (size_t i = 0; v->type == JSON_ARR && i < v->n; i++) {
        if (v->items[i].type == JSON_OBJ)
            record(f, row->record, &v->items[i]);
    }
}

/* One value: all of a field, or one item or entry of it. */
static void value(const struct form *f, const struct shape_field *row, struct json *v)
{
    budget_charge(2);
    switch (row->type) {
    case SHAPE_RECORD:
        record(f, row->record, v);
        break;
    case SHAPE_QUANTITY: /* maps of amounts are resource lists, and those are rounded */
        if (v->type == JSON_STR && v->n && quantity_check(json_text(v)) == NULL)
            *v = json_str(
                quantity_canonical(f->arena, json_text(v), row->card == SHAPE_MAP ? QUANTITY_MILLI : QUANTITY_NANO));
        break;
    case SHAPE_JSON_OR_BOOL:
    case SHAPE_JSON_OR_ARRAY:
    case SHAPE_JSON_OR_STRINGS:
        unions(f, row, v);
        break;
    default:
        break;
    }
}

static int by_key(const void *l, const void *r)
{
    return str_cmp(json_key(l), json_key(r));
}

static void sort_keys(struct json *v)
{
    budget_charge((size_t)json_len(v) * 4);
    for (uint32_t i = 1; i < v->n; i++) {
        if (by_key(&v->members[i - 1], &v->members[i]) > 0) {
            qsort(v->members, v->n, sizeof *v->members, by_key);
            return;
        }
    }
}

static void whole(const struct form *f, const struct shape_field *row, struct json *v)
{
    bool plain = row->type != SHAPE_RECORD && row->type != SHAPE_QUANTITY && row->type < SHAPE_JSON_OR_BOOL;
    switch (row->card) {
    case SHAPE_LIST:
        for (size_t i = 0; !plain && v->type == JSON_ARR && i < v->n; i++)
            value(f, row, &v->items[i]);
        break;
    case SHAPE_MAP:
        if (v->type != JSON_OBJ)
            break;
        sort_keys(v);
        for (size_t i = 0; !plain && i < v->n; i++)
            value(f, row, &v->members[i].val);
        break;
    default:
        value(f, row, v);
    }
}

/* ---- Fields. ---- */

static bool is_zero(const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->b;
    case JSON_INT:
        return v->i == 0;
    case JSON_REAL:
        return v->d == 0;
    case JSON_UINT:
        return false;
    default:
        return v->n == 0;
    }
}

/* Structs of Go, which are never left out unless they are pointers. */
static bool is_struct(const struct shape_field *row)
{
    return row->card == SHAPE_ONE &&
           (row->type == SHAPE_RECORD || row->type == SHAPE_TIME || row->type == SHAPE_MICRO_TIME ||
            row->type == SHAPE_QUANTITY || row->type == SHAPE_INT_OR_STRING);
}

/* What is written for an absent field. A nil slice of Go is null. */
static struct json zero(const struct shape_field *row)
{
    bool is_absent = row->pointer || row->card != SHAPE_ONE || row->type == SHAPE_BYTES || row->type == SHAPE_STRINGS;
    return is_absent ? json_null() : strict_zero(row);
}

/* False when the field is left out. */
static bool write_field(const struct form *f, const struct shape_field *row, struct json *v)
{
    bool is_given = !json_is_null(v), is_always = row->required || row->written || (is_struct(row) && !row->pointer);
    if (!is_given && !is_always)
        return false;
    if (is_given && !is_always && !row->pointer && is_zero(v))
        return false;
    if (!is_given || (row->card != SHAPE_ONE && v->n == 0 && !f->keeps_empty))
        *v = zero(row);
    whole(f, row, v);
    return true;
}

/* ---- Records. ---- */

static bool is_type_meta(const struct shape_field *row)
{
    return row->number == 0;
}

/* The members in the order of the shape; those it does not know stay behind them. */
static void record(const struct form *f, const struct shape *shape, struct json *v)
{
    if (v->type != JSON_OBJ)
        return;
    struct arena *a = f->arena;
    const struct json **given = ARENA_ARRAY(a, const struct json *, shape->n);
    struct json next = json_obj_sized(a, v->n > 4 ? v->n : 4), unknown = json_obj();
    json_each_member(v, m)
    {
        const struct shape_field *row = shape_find(shape, json_key(m));
        if (row)
            given[row - shape->fields] = &m->val;
        else
            json_add(a, &unknown, json_key(m), m->val);
    }
    for (size_t i = 0; i < shape->n; i++) {
        const struct shape_field *row = &shape->fields[i];
        struct json child = given[i] ? *given[i] : json_null();
        if (is_type_meta(row) ? !is_zero(&child) : write_field(f, row, &child))
            json_add(a, &next, str_of(row->name), child);
    }
    json_each_member(&unknown, m) json_add(a, &next, json_key(m), m->val);
    *v = next;
}

void canonical_form(struct arena *a, const struct shape *shape, struct json *object, unsigned flags)
{
    struct form f = {a, flags & CANONICAL_KEEP_EMPTY};
    record(&f, shape, object);
}
