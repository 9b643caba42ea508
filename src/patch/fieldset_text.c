/* SPDX-License-Identifier: Apache-2.0 */
/* Field sets as FieldsV1 trees, and paths as the texts of conflicts. */
#include "patch/fieldset.h"

#include "base/budget.h"

#include <stdlib.h>

#include "object/go_text.h"

/* ---- Elements from values. ---- */

/* Numbers that are whole become integers, so that 1 and 1.0 are one element. */
static struct json canonical_number(struct json v)
{
    int64_t i;
    return v.type == JSON_REAL && json_to_int(&v, &i) ? json_int(i) : v;
}

static str text_of(struct arena *a, const struct json *v)
{
    struct buf b = {.arena = a};
    json_encode(&b, v, JSON_SORTED);
    return buf_str(&b);
}

struct fieldset_elem fieldset_value(struct arena *a, const struct json *v)
{
    struct fieldset_elem e = {.kind = FIELDSET_VALUE, .val = canonical_number(*v)};
    e.text = text_of(a, &e.val);
    return e;
}

static int member_compare(const void *x, const void *y)
{
    return str_cmp(json_key(x), json_key(y));
}

struct fieldset_elem fieldset_key(struct arena *a, struct json key)
{
    for (uint32_t i = 0; i < key.n; i++)
        key.members[i].val = canonical_number(key.members[i].val);
    if (key.n > 1)
        qsort(key.members, key.n, sizeof *key.members, member_compare);
    struct fieldset_elem e = {.kind = FIELDSET_KEY, .val = key};
    e.text = text_of(a, &key);
    return e;
}

/* ---- FieldsV1 in. ---- */

/* 1: an element; 0: of a type only the future knows; negative: none at all. */
static int parse_elem(struct arena *a, str key, struct fieldset_elem *ret, struct err *err)
{
    budget_charge(5);
    struct json v;
    if (key.n < 2)
        return err_set(err, ERR_BAD_REQUEST, "key must be 2 characters long:");
    if (key.p[1] != ':')
        return err_set(err, ERR_BAD_REQUEST, "missing colon: %.*s", STR(key));
    str text = str_from(key, 2);
    switch (key.p[0]) {
    case 'f':
        *ret = fieldset_name(text);
        return 1;
    case 'v':
        if (json_decode(a, text, NULL, NULL, &v, err) < 0)
            return err_wrap(err, "parsing key as path element");
        *ret = fieldset_value(a, &v);
        return 1;
    case 'k':
        if (json_decode(a, text, NULL, NULL, &v, err) < 0)
            return err_wrap(err, "parsing key as path element");
        if (!json_is_obj(&v))
            return err_set(err, ERR_BAD_REQUEST, "parsing key as path element: not an object: %.*s", STR(text));
        *ret = fieldset_key(a, v);
        return 1;
    case 'i':
        if (!str_to_int64(text, &v.i))
            return err_set(err, ERR_BAD_REQUEST, "parsing key as path element: not a number: %.*s", STR(text));
        v = json_int(v.i);
        *ret = fieldset_value(a, &v);
        ret->kind = FIELDSET_INDEX;
        return 1;
    default:
        return 0;
    }
}

/* What is below goes to *ret; *ret_in says whether the place itself is in the set. */
static int parse_below(struct fieldset_builder *b, const struct json *fields, struct fieldset *ret, bool *ret_in,
                       struct err *err)
{
    if (!json_is_obj(fields) && !json_is_null(fields))
        return err_set(err, ERR_BAD_REQUEST, "fields must be an object, got %s", json_type_name(fields));
    size_t begin = fieldset_begin(b);
    *ret_in = false;
    json_each_member(fields, m)
    {
        if (str_eq(json_key(m), S("."))) {
            *ret_in = true;
            continue;
        }
        struct fieldset_elem elem;
        struct fieldset below = {0};
        bool in = false;
        int rc = parse_elem(b->arena, json_key(m), &elem, err);
        if (rc == 0)
            continue;
        if (rc < 0 || (rc = parse_below(b, &m->val, &below, &in, err)) < 0)
            return rc;
        fieldset_put(b, &elem, in ? FIELDSET_IN : 0, below);
    }
    *ret = fieldset_end(b, begin);
    if (ret->n == 0)
        *ret_in = true;
    return 0;
}

int fieldset_parse(struct arena *a, const struct json *fields, struct fieldset *ret, struct err *err)
{
    struct fieldset_builder b = {.arena = a};
    bool in;
    return parse_below(&b, fields, ret, &in, err);
}

/* ---- FieldsV1 out. ---- */

static str elem_key(struct arena *a, const struct fieldset_elem *e)
{
    budget_charge(5);
    static const char prefix[] = {
        [FIELDSET_NAME] = 'f', [FIELDSET_KEY] = 'k', [FIELDSET_VALUE] = 'v', [FIELDSET_INDEX] = 'i'};
    char *p = arena_alloc_aligned(a, e->text.n + 2, 1);
    p[0] = prefix[e->kind];
    p[1] = ':';
    if (e->text.n)
        memcpy(p + 2, e->text.p, e->text.n);
    return (str){p, e->text.n + 2};
}

static struct json format_below(struct arena *a, struct fieldset set, bool in)
{
    struct json obj = json_obj_sized(a, set.n ? set.n + in : 0);
    if (in && set.n)
        json_add(a, &obj, S("."), json_obj());
    for (uint32_t i = 0; i < set.n; i++) {
        const struct fieldset_entry *e = &set.p[i];
        json_add(a, &obj, elem_key(a, &e->elem), format_below(a, e->below, e->marks & FIELDSET_IN));
    }
    return obj;
}

struct json fieldset_format(struct arena *a, struct fieldset set)
{
    return format_below(a, set, false);
}

static bool is_key_of(str key, const struct fieldset_elem *e)
{
    static const char prefix[] = {
        [FIELDSET_NAME] = 'f', [FIELDSET_KEY] = 'k', [FIELDSET_VALUE] = 'v', [FIELDSET_INDEX] = 'i'};
    return key.n == e->text.n + 2 && key.p[0] == prefix[e->kind] && str_eq(str_from(key, 2), e->text);
}

static bool is_format_below(const struct json *fields, struct fieldset set, bool in)
{
    budget_charge(1 + json_len(fields));
    uint32_t dot = in && set.n;
    if (!json_is_obj(fields) || fields->n != set.n + dot || (dot && !str_eq(json_key(&fields->members[0]), S("."))))
        return false;
    for (uint32_t i = 0; i < set.n; i++) {
        const struct json_member *m = &fields->members[i + dot];
        if (!is_key_of(json_key(m), &set.p[i].elem) || !is_format_below(&m->val, set.p[i].below, set.p[i].marks))
            return false;
    }
    return true;
}

bool fieldset_is_format(const struct json *fields, struct fieldset set)
{
    return is_format_below(fields, set, false);
}

/* ---- Paths. ---- */

static void format_value(struct buf *b, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_STR:
        buf_add_quoted(b, json_text(v));
        return;
    case JSON_INT:
    case JSON_UINT:
    case JSON_REAL:
        go_text_real(b, json_to_real(v)); /* keys read back from stored sets are doubles there, whole ones too */
        return;
    case JSON_ARR:
        buf_add_char(b, '[');
        json_each_item(v, it)
        {
            if (it != v->items)
                buf_add_char(b, ',');
            format_value(b, it);
        }
        buf_add_char(b, ']');
        return;
    case JSON_OBJ:
        json_each_member(v, m)
        {
            buf_fmt(b, "%.*s=", STR(json_key(m)));
            format_value(b, &m->val);
        }
        return;
    default:
        json_encode(b, v, 0);
    }
}

static void format_elem(struct buf *b, const struct fieldset_elem *e)
{
    switch (e->kind) {
    case FIELDSET_NAME:
        buf_add_char(b, '.');
        buf_add_str(b, e->text);
        return;
    case FIELDSET_KEY:
        buf_add_char(b, '[');
        json_each_member(&e->val, m)
        {
            if (m != e->val.members)
                buf_add_char(b, ',');
            buf_add_str(b, json_key(m));
            buf_add_char(b, '=');
            format_value(b, &m->val);
        }
        break;
    case FIELDSET_VALUE:
        buf_add_str(b, S("[="));
        format_value(b, &e->val);
        break;
    default:
        buf_add_char(b, '[');
        json_encode_number(b, &e->val);
    }
    buf_add_char(b, ']');
}

void fieldset_path_format(struct buf *b, const struct fieldset_path *path)
{
    if (!path)
        return;
    fieldset_path_format(b, path->up);
    format_elem(b, path->elem);
}

struct visit {
    void (*fn)(void *ctx, const struct fieldset_path *path);
    void *ctx;
};

static void each(struct fieldset set, const struct fieldset_path *up, const struct visit *v)
{
    for (uint32_t i = 0; i < set.n; i++) {
        if (set.p[i].marks)
            v->fn(v->ctx, &(struct fieldset_path){up, &set.p[i].elem});
    }
    for (uint32_t i = 0; i < set.n; i++) {
        if (set.p[i].below.n)
            each(set.p[i].below, &(struct fieldset_path){up, &set.p[i].elem}, v);
    }
}

void fieldset_each(struct fieldset set, void (*fn)(void *ctx, const struct fieldset_path *path), void *ctx)
{
    each(set, NULL, &(struct visit){fn, ctx});
}
