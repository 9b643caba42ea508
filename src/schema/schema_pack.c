/* SPDX-License-Identifier: Apache-2.0 */
/* Values inside a compiled schema: one byte for the type, lengths and small numbers seven bits a byte. */
#include "schema/schema_block.h"

#include "base/budget.h"

enum tag { TAG_NULL, TAG_FALSE, TAG_TRUE, TAG_INT, TAG_UINT, TAG_REAL, TAG_STR, TAG_ARR, TAG_OBJ };

static void add_varint(struct buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_add_char(b, (char)(n | 0x80));
    buf_add_char(b, (char)n);
}

static void add_text(struct buf *b, str s)
{
    add_varint(b, s.n);
    buf_add_str(b, s);
}

/* Signed numbers with the sign in the lowest bit, so that small ones are short. */
static uint64_t zigzag(int64_t i)
{
    return (uint64_t)i << 1 ^ (i < 0 ? UINT64_MAX : 0);
}

static int64_t unzigzag(uint64_t n)
{
    uint64_t i = n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
    int64_t v;
    memcpy(&v, &i, sizeof v);
    return v;
}

void schema_pack(struct buf *b, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        buf_add_char(b, TAG_NULL);
        break;
    case JSON_BOOL:
        buf_add_char(b, v->b ? TAG_TRUE : TAG_FALSE);
        break;
    case JSON_INT:
        buf_add_char(b, TAG_INT);
        add_varint(b, zigzag(v->i));
        break;
    case JSON_UINT:
        buf_add_char(b, TAG_UINT);
        add_varint(b, v->u);
        break;
    case JSON_REAL:
        buf_add_char(b, TAG_REAL);
        buf_add(b, &v->d, sizeof v->d);
        break;
    case JSON_STR:
        buf_add_char(b, TAG_STR);
        add_text(b, json_text(v));
        break;
    case JSON_ARR:
        budget_charge(1 + v->n);
        buf_add_char(b, TAG_ARR);
        add_varint(b, v->n);
        json_each_item(v, it) schema_pack(b, it);
        break;
    case JSON_OBJ:
        buf_add_char(b, TAG_OBJ);
        add_varint(b, v->n);
        json_each_member(v, m)
        {
            add_text(b, json_key(m));
            schema_pack(b, &m->val);
        }
        break;
    }
}

static str unpack_text(struct arena *a, const char **p)
{
    size_t n = varint_read(p);
    str s = str_dup(a, (str){*p, n});
    *p += n;
    return s;
}

static struct json unpack_container(struct arena *a, const char **p, enum tag tag)
{
    size_t n = varint_read(p);
    budget_charge(1 + n);
    struct json v = tag == TAG_ARR ? json_arr_sized(a, n) : json_obj_sized(a, n);
    for (size_t i = 0; i < n; i++) {
        str key = tag == TAG_OBJ ? unpack_text(a, p) : (str){0};
        struct json child = schema_unpack(a, p);
        if (tag == TAG_OBJ)
            json_add(a, &v, key, child);
        else
            json_push(a, &v, child);
    }
    return v;
}

struct json schema_unpack(struct arena *a, const char **p)
{
    enum tag tag = (enum tag)(unsigned char)*(*p)++;
    double d;
    switch (tag) {
    case TAG_NULL:
        return json_null();
    case TAG_FALSE:
        return json_bool(false);
    case TAG_TRUE:
        return json_bool(true);
    case TAG_INT:
        return json_int(unzigzag(varint_read(p)));
    case TAG_UINT:
        return json_uint(varint_read(p));
    case TAG_REAL:
        memcpy(&d, *p, sizeof d);
        *p += sizeof d;
        return json_real(d);
    case TAG_STR:
        return json_str(unpack_text(a, p));
    case TAG_ARR:
    case TAG_OBJ:
        return unpack_container(a, p, tag);
    }
    return json_null();
}

bool schema_packed_text(const char *p, str *ret)
{
    if (*p++ != TAG_STR)
        return false;
    ret->n = varint_read(&p);
    ret->p = p;
    return true;
}

void schema_packed_skip(const char **p)
{
    enum tag tag = (enum tag)(unsigned char)*(*p)++;
    uint64_t n = 0;
    if (tag == TAG_REAL)
        *p += sizeof(double);
    else if (tag >= TAG_INT)
        n = varint_read(p);
    if (tag == TAG_STR)
        *p += n;
    for (; tag >= TAG_ARR && n; n--) {
        uint64_t key = tag == TAG_OBJ ? varint_read(p) : 0;
        *p += key;
        schema_packed_skip(p);
    }
}
