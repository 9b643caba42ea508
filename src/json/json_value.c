/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "json/json.h"

#include <math.h>
#include <stdlib.h>

uint32_t json_hash(str key)
{
    const uint64_t k1 = UINT64_C(0x9e3779b97f4a7c15), k2 = UINT64_C(0xc2b2ae3d27d4eb4f);
    const char *p = key.p;
    uint64_t a = 0, b = 0, h = key.n * k1;
    size_t n = key.n;
    for (; n > 16; p += 8, n -= 8) {
        memcpy(&a, p, 8);
        h = (h ^ a) * k2;
        h ^= h >> 29;
    }
    if (n >= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + n - 8, 8);
    } else if (n >= 4) {
        uint32_t lo, hi;
        memcpy(&lo, p, 4);
        memcpy(&hi, p + n - 4, 4);
        a = lo;
        b = hi;
    } else if (n) {
        a = (unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << 8 | (uint64_t)(unsigned char)p[n - 1] << 16;
    }
    h ^= (a * k1) ^ ((b * k2) << 31 | (b * k2) >> 33);
    h *= k2;
    return (uint32_t)(h >> 32);
}

static bool has_key(const struct json_member *m, str key, uint32_t hash)
{
    return m->hash == hash && m->key_n == key.n && (key.n == 0 || memcmp(m->key, key.p, key.n) == 0);
}

static const struct json_member *find_hashed(const struct json *obj, str key, uint32_t hash)
{
    if (obj->n > 64)
        budget_charge(obj->n / 16); /* of a loop over wide objects this is what costs */
    for (uint32_t i = 0; i < obj->n; i++) {
        if (has_key(&obj->members[i], key, hash))
            return &obj->members[i];
    }
    return NULL;
}

const struct json_member *json_find(const struct json *obj, str key)
{
    return json_is_obj(obj) ? find_hashed(obj, key, json_hash(key)) : NULL;
}

const struct json *json_get(const struct json *obj, str key)
{
    const struct json_member *m = json_find(obj, key);
    return m ? &m->val : NULL;
}

struct json *json_get_mut(struct json *obj, str key)
{
    return (struct json *)json_get(obj, key); /* the caller's tree is not const */
}

str json_get_text(const struct json *obj, str key)
{
    return json_text(json_get(obj, key));
}

const struct json *json_dig(const struct json *obj, const char *path)
{
    str rest = str_of(path), name;
    while (obj && rest.n) {
        str_cut(rest, '.', &name, &rest);
        obj = json_get(obj, name);
    }
    return obj;
}

enum { INDEX_FROM = 32 }; /* members; below, a linear search is as quick */

void json_index_init(struct json_index *ix, const struct json *obj)
{
    budget_charge(json_len(obj) * 2);
    *ix = (struct json_index){.obj = obj};
    if (json_len(obj) <= INDEX_FROM || !json_is_obj(obj))
        return;
    for (uint32_t i = 0; i < obj->n; i++)
        map_set(&ix->map, json_key(&obj->members[i]), &obj->members[i]);
}

void json_index_done(struct json_index *ix)
{
    map_done(&ix->map);
}

const struct json_member *json_index_find(const struct json_index *ix, str key)
{
    return ix->map.n ? map_get(&ix->map, key) : json_find(ix->obj, key);
}

/* Exactly the range in which a double converts to int64_t. */
static bool is_whole(double d)
{
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0 && d == trunc(d);
}

bool json_to_int(const struct json *v, int64_t *ret)
{
    if (json_type(v) == JSON_INT)
        *ret = v->i;
    else if (json_type(v) == JSON_REAL && is_whole(v->d))
        *ret = (int64_t)v->d;
    else
        return false;
    return true;
}

double json_to_real(const struct json *v)
{
    switch (json_type(v)) {
    case JSON_INT:
        return (double)v->i;
    case JSON_UINT:
        return (double)v->u;
    case JSON_REAL:
        return v->d;
    default:
        return 0;
    }
}

const char *json_type_name(const struct json *v)
{
    static const char *const names[] = {"null", "boolean", "integer", "integer", "number", "string", "array", "object"};
    return json_type(v) == JSON_REAL && is_whole(v->d) ? "integer" : names[json_type(v)];
}

struct json json_bool(bool b)
{
    return (struct json){.type = JSON_BOOL, .b = b};
}

struct json json_int(int64_t i)
{
    return (struct json){.type = JSON_INT, .i = i};
}

struct json json_uint(uint64_t u)
{
    return u <= INT64_MAX ? json_int((int64_t)u) : (struct json){.type = JSON_UINT, .u = u};
}

struct json json_real(double d)
{
    return (struct json){.type = JSON_REAL, .d = d};
}

struct json json_str(str s)
{
    if (s.n > UINT32_MAX)
        abort();
    return (struct json){.type = JSON_STR, .n = (uint32_t)s.n, .s = s.n ? s.p : ""};
}

struct json json_arr(void)
{
    return (struct json){.type = JSON_ARR};
}

struct json json_obj(void)
{
    return (struct json){.type = JSON_OBJ};
}

static size_t child_size(const struct json *v)
{
    return v->type == JSON_OBJ ? sizeof *v->members : sizeof *v->items;
}

/* Moves the children of v to a place with space for at least n of them. */
static void make_room(struct arena *a, struct json *v, size_t n)
{
    uint8_t room = 3;
    while (((size_t)1 << (room - 1)) < n)
        room++;
    if (n > UINT32_MAX)
        abort();
    void *to = arena_alloc(a, arena_array_size((size_t)1 << (room - 1), child_size(v)));
    if (v->n)
        memcpy(to, v->items, v->n * child_size(v));
    v->items = to;
    v->room = room;
}

static void room_for_one(struct arena *a, struct json *v)
{
    if (v->room == 0 || v->n == (size_t)1 << (v->room - 1))
        make_room(a, v, (size_t)v->n + 1);
}

struct json json_arr_sized(struct arena *a, size_t n)
{
    struct json v = json_arr();
    if (n)
        make_room(a, &v, n);
    return v;
}

struct json json_obj_sized(struct arena *a, size_t n)
{
    struct json v = json_obj();
    if (n)
        make_room(a, &v, n);
    return v;
}

static struct json *add_hashed(struct arena *a, struct json *obj, str key, uint32_t hash, struct json v)
{
    room_for_one(a, obj);
    struct json_member *m = &obj->members[obj->n++];
    *m = (struct json_member){key.n ? key.p : "", (uint32_t)key.n, hash, v};
    return &m->val;
}

struct json *json_add(struct arena *a, struct json *obj, str key, struct json v)
{
    return add_hashed(a, obj, key, json_hash(key), v);
}

struct json *json_set(struct arena *a, struct json *obj, str key, struct json v)
{
    uint32_t hash = json_hash(key);
    struct json_member *m = (struct json_member *)find_hashed(obj, key, hash);
    if (m == NULL)
        return add_hashed(a, obj, key, hash, v);
    m->val = v;
    return &m->val;
}

void json_remove_at(struct json *obj, size_t i)
{
    obj->n--;
    memmove(&obj->members[i], &obj->members[i + 1], (obj->n - i) * sizeof *obj->members);
}

bool json_remove(struct json *obj, str key)
{
    const struct json_member *m = json_find(obj, key);
    if (m)
        json_remove_at(obj, (size_t)(m - obj->members));
    return m != NULL;
}

struct json *json_push(struct arena *a, struct json *arr, struct json v)
{
    room_for_one(a, arr);
    arr->items[arr->n] = v;
    return &arr->items[arr->n++];
}

struct json *json_insert(struct arena *a, struct json *arr, size_t i, struct json v)
{
    room_for_one(a, arr);
    memmove(&arr->items[i + 1], &arr->items[i], (arr->n - i) * sizeof *arr->items);
    arr->n++;
    arr->items[i] = v;
    return &arr->items[i];
}

void json_erase(struct json *arr, size_t i)
{
    arr->n--;
    memmove(&arr->items[i], &arr->items[i + 1], (arr->n - i) * sizeof *arr->items);
}

struct json json_dup_top(struct arena *a, const struct json *v)
{
    struct json copy = v ? *v : json_null();
    if (copy.type < JSON_ARR)
        return copy;
    copy.room = 0;
    if (copy.n) {
        size_t size = arena_array_size(copy.n, child_size(&copy));
        copy.items = memcpy(arena_alloc(a, size), v->items, size);
    }
    return copy;
}

struct json json_dup(struct arena *a, const struct json *v)
{
    if (json_is_str(v))
        return json_str(str_dup(a, json_text(v)));
    struct json copy = json_dup_top(a, v);
    for (uint32_t i = 0; copy.type == JSON_ARR && i < copy.n && budget_charge_round(i, copy.n); i++)
        copy.items[i] = json_dup(a, &copy.items[i]);
    for (uint32_t i = 0; copy.type == JSON_OBJ && i < copy.n && budget_charge_round(i, copy.n); i++) {
        struct json_member *m = &copy.members[i];
        m->key = str_dup(a, json_key(m)).p;
        m->val = json_dup(a, &m->val);
    }
    return copy;
}

void json_path_format(struct buf *b, const struct json_path *path)
{
    if (path == NULL)
        return;
    json_path_format(b, path->up);
    if (path->key.p == NULL) {
        buf_fmt(b, "[%zu]", path->index);
        return;
    }
    if (b->n)
        buf_add_char(b, '.');
    buf_add_str(b, path->key);
}

/* Numbers by value. A double is compared with an integer exactly, without rounding the integer. */
static int compare_real_int(double d, const struct json *n)
{
    if (n->type == JSON_UINT) {
        if (d >= 18446744073709551616.0)
            return 1;
        if (d < 9223372036854775808.0)
            return -1;
        return ((uint64_t)d > n->u) - ((uint64_t)d < n->u);
    }
    if (d >= 9223372036854775808.0)
        return 1;
    if (d < -9223372036854775808.0)
        return -1;
    int64_t whole = (int64_t)d;
    if (whole != n->i)
        return whole > n->i ? 1 : -1;
    return (d > (double)whole) - (d < (double)whole);
}

static int compare_numbers(const struct json *a, const struct json *b)
{
    if (a->type == JSON_REAL && b->type == JSON_REAL)
        return (a->d > b->d) - (a->d < b->d);
    if (a->type == JSON_REAL)
        return compare_real_int(a->d, b);
    if (b->type == JSON_REAL)
        return -compare_real_int(b->d, a);
    if (a->type != b->type)
        return a->type == JSON_UINT ? 1 : -1; /* a JSON_UINT is larger than any JSON_INT */
    if (a->type == JSON_UINT)
        return (a->u > b->u) - (a->u < b->u);
    return (a->i > b->i) - (a->i < b->i);
}

static bool equal_members(const struct json *a, const struct json *b)
{
    if (a->n != b->n || !budget_charge(1 + a->n / 2))
        return false;
    /* Nearly always the order is the same; only from the first difference on keys are looked up. */
    uint32_t i = 0;
    for (; i < a->n; i++) {
        const struct json_member *m = &a->members[i], *o = &b->members[i];
        if (m->hash != o->hash || !str_eq(json_key(m), json_key(o)))
            break;
        if (!json_equal(&m->val, &o->val))
            return false;
    }
    if (i == a->n)
        return true;
    struct json_index ix JSON_INDEX_SCOPE;
    json_index_init(&ix, b);
    for (; i < a->n; i++) {
        const struct json_member *o = json_index_find(&ix, json_key(&a->members[i]));
        if (o == NULL || !json_equal(&a->members[i].val, &o->val))
            return false;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    enum json_type t = json_type(a);
    if (json_is_num(a) && json_is_num(b))
        return compare_numbers(a, b) == 0;
    if (t != json_type(b))
        return false;
    switch (t) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->b == b->b;
    case JSON_STR:
        return str_eq(json_text(a), json_text(b));
    case JSON_OBJ:
        return equal_members(a, b);
    default:
        break;
    }
    if (a->n != b->n || !budget_charge(1 + a->n / 4))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!json_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    return str_cmp(json_key(*x), json_key(*y));
}

static const struct json_member **sorted(const struct json *obj)
{
    const struct json_member **list = xmalloc(((size_t)obj->n + 1) * sizeof *list);
    budget_charge((size_t)obj->n * 8);
    for (uint32_t i = 0; i < obj->n; i++)
        list[i] = &obj->members[i];
    qsort(list, obj->n, sizeof *list, by_key);
    return list;
}

static int compare_members(const struct json *a, const struct json *b)
{
    const struct json_member **x = sorted(a), **y = sorted(b);
    int c = 0;
    for (uint32_t i = 0; c == 0 && i < a->n && i < b->n; i++) {
        c = by_key(&x[i], &y[i]);
        if (c == 0)
            c = json_compare(&x[i]->val, &y[i]->val);
    }
    free(x);
    free(y);
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int compare_items(const struct json *a, const struct json *b)
{
    budget_charge(1 + a->n / 4);
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int c = json_compare(&a->items[i], &b->items[i]);
        if (c)
            return c;
    }
    return (a->n > b->n) - (a->n < b->n);
}

int json_compare(const struct json *a, const struct json *b)
{
    if (json_is_num(a) && json_is_num(b))
        return compare_numbers(a, b);
    if (json_type(a) != json_type(b))
        return json_type(a) > json_type(b) ? 1 : -1;
    switch (json_type(a)) {
    case JSON_BOOL:
        return a->b - b->b;
    case JSON_STR:
        return str_cmp(json_text(a), json_text(b));
    case JSON_ARR:
        return compare_items(a, b);
    case JSON_OBJ:
        return compare_members(a, b);
    default:
        return 0;
    }
}
