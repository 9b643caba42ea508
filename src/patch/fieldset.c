/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/fieldset.h"

#include "base/budget.h"
#include "object/go_text.h"

#include <stdlib.h>

/* ---- Order. ---- */

/* Numbers, then strings, booleans, lists, maps, null: the order in which Kubernetes sorts values. */
static int value_rank(const struct json *v)
{
    static const uint8_t ranks[] = {
        [JSON_NULL] = 5, [JSON_BOOL] = 2, [JSON_INT] = 0, [JSON_UINT] = 0,
        [JSON_REAL] = 0, [JSON_STR] = 1,  [JSON_ARR] = 3, [JSON_OBJ] = 4,
    };
    return ranks[json_type(v)];
}

/* Zero also when they differ only beyond the precision of a double, or in ways only the text shows. */
static int value_compare(const struct json *a, const struct json *b)
{
    int ra = value_rank(a), rb = value_rank(b);
    if (ra != rb || ra > 2)
        return ra - rb;
    if (ra == 1)
        return str_cmp(json_text(a), json_text(b));
    if (ra == 2)
        return (int)a->b - (int)b->b;
    double da = json_to_real(a), db = json_to_real(b);
    if (da != db)
        return da < db ? -1 : 1;
    if (a->type == JSON_INT && b->type == JSON_INT)
        return (a->i > b->i) - (a->i < b->i);
    return 0;
}

static int key_compare(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int c = str_cmp(json_key(&a->members[i]), json_key(&b->members[i]));
        if (c == 0)
            c = value_compare(&a->members[i].val, &b->members[i].val);
        if (c)
            return c;
    }
    return (a->n > b->n) - (a->n < b->n);
}

int fieldset_elem_compare(const struct fieldset_elem *a, const struct fieldset_elem *b)
{
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    if (a->kind == FIELDSET_NAME)
        return str_cmp(a->text, b->text);
    if (str_eq(a->text, b->text))
        return 0;
    int c = a->kind == FIELDSET_KEY ? key_compare(&a->val, &b->val) : value_compare(&a->val, &b->val);
    return c ? c : str_cmp(a->text, b->text);
}

static int entry_compare(const void *x, const void *y)
{
    const struct fieldset_entry *a = x, *b = y;
    return fieldset_elem_compare(&a->elem, &b->elem);
}

/* The first entry from lo on that is not before elem. */
static uint32_t lower_bound(struct fieldset set, uint32_t lo, const struct fieldset_elem *elem)
{
    uint32_t hi = set.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (fieldset_elem_compare(&set.p[mid].elem, elem) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The entry of y for elem, looked for from *at on; elements asked for must ascend. Steps while that is likely to be
 * cheap, jumps when y is far larger than x: many small sets are held against one large one. */
static const struct fieldset_entry *seek(struct fieldset y, uint32_t *at, const struct fieldset_elem *elem, uint32_t nx)
{
    if (y.n / 8 > nx)
        *at = lower_bound(y, *at, elem);
    int c = 1;
    while (*at < y.n && (c = fieldset_elem_compare(&y.p[*at].elem, elem)) < 0)
        ++*at;
    return *at < y.n && c == 0 ? &y.p[*at] : NULL;
}

const struct fieldset_entry *fieldset_find(struct fieldset set, const struct fieldset_elem *elem)
{
    uint32_t at = lower_bound(set, 0, elem);
    return at < set.n && fieldset_elem_compare(&set.p[at].elem, elem) == 0 ? &set.p[at] : NULL;
}

/* ---- Build. ---- */

size_t fieldset_begin(const struct fieldset_builder *b)
{
    return b->stack.n;
}

void fieldset_put(struct fieldset_builder *b, const struct fieldset_elem *elem, unsigned marks, struct fieldset below)
{
    budget_charge(2);
    if (marks || below.n)
        *vec_push(b->arena, &b->stack) = (struct fieldset_entry){*elem, (uint8_t)marks, below};
}

static uint32_t join_equal(struct arena *a, struct fieldset_entry *p, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < n; i++) {
        if (fieldset_elem_compare(&p[kept].elem, &p[i].elem) == 0) {
            p[kept].marks |= p[i].marks;
            p[kept].below = fieldset_union(a, p[kept].below, p[i].below);
        } else {
            p[++kept] = p[i];
        }
    }
    return n ? kept + 1 : 0;
}

static struct fieldset copy_entries(struct arena *a, const struct fieldset_entry *p, uint32_t n)
{
    if (n == 0)
        return (struct fieldset){0};
    struct fieldset_entry *to = arena_alloc(a, arena_array_size(n, sizeof *p));
    memcpy(to, p, n * sizeof *p);
    return (struct fieldset){to, n};
}

struct fieldset fieldset_end(struct fieldset_builder *b, size_t begin)
{
    uint32_t n = (uint32_t)(b->stack.n - begin);
    if (n == 0)
        return (struct fieldset){0};
    struct fieldset_entry *p = &b->stack.p[begin];
    bool ascending = true;
    for (uint32_t i = 1; i < n && ascending; i++)
        ascending = fieldset_elem_compare(&p[i - 1].elem, &p[i].elem) < 0;
    budget_charge(ascending ? n : (size_t)n * 8);
    if (!ascending) {
        qsort(p, n, sizeof *p, entry_compare);
        n = join_equal(b->arena, p, n);
    }
    b->stack.n = begin;
    return copy_entries(b->arena, p, n);
}

struct fieldset fieldset_of_names(struct arena *a, const str *paths, size_t n)
{
    struct fieldset all = {0};
    for (size_t i = 0; i < n; i++) {
        struct fieldset set = {0};
        str rest = paths[i];
        while (rest.n) { /* from the last name to the first */
            size_t from = rest.n;
            while (from > 0 && rest.p[from - 1] != '.')
                from--;
            struct fieldset_elem name = fieldset_name(str_from(rest, from));
            struct fieldset_entry e = {.elem = name, .marks = set.n ? 0 : FIELDSET_IN, .below = set};
            set = copy_entries(a, &e, 1);
            rest = str_upto(rest, from ? from - 1 : 0);
        }
        all = fieldset_union(a, all, set);
    }
    return all;
}

/* ---- Combine. ---- */

struct fieldset fieldset_union(struct arena *a, struct fieldset x, struct fieldset y)
{
    budget_charge(1 + (size_t)x.n * 2);
    if (x.n == 0 || x.p == y.p)
        return y;
    if (y.n == 0)
        return x;
    struct fieldset_entry *to = arena_alloc(a, arena_array_size((size_t)x.n + y.n, sizeof *to));
    uint32_t i = 0, j = 0, n = 0;
    while (i < x.n && j < y.n) {
        int c = fieldset_elem_compare(&x.p[i].elem, &y.p[j].elem);
        if (c == 0) {
            to[n] = x.p[i];
            to[n].marks |= y.p[j].marks;
            to[n++].below = fieldset_union(a, x.p[i++].below, y.p[j++].below);
        } else {
            to[n++] = c < 0 ? x.p[i++] : y.p[j++];
        }
    }
    while (i < x.n)
        to[n++] = x.p[i++];
    while (j < y.n)
        to[n++] = y.p[j++];
    return (struct fieldset){to, n};
}

struct fieldset fieldset_union_all(struct arena *a, const struct fieldset *sets, size_t n)
{
    if (n < 2)
        return n ? sets[0] : (struct fieldset){0};
    return fieldset_union(a, fieldset_union_all(a, sets, n / 2), fieldset_union_all(a, sets + n / 2, n - n / 2));
}

/* Entries of x, changed as they are visited; copied only from the first change on. */
struct edit {
    struct arena *arena;
    struct fieldset x;
    struct fieldset_entry *to;
    uint32_t n;
};

static void edit_keep(struct edit *e, uint32_t i, uint8_t marks, struct fieldset below)
{
    const struct fieldset_entry *from = &e->x.p[i];
    bool same = marks == from->marks && below.p == from->below.p && below.n == from->below.n;
    if (same && !e->to) {
        e->n++;
        return;
    }
    if (!e->to) {
        e->to = arena_alloc(e->arena, arena_array_size(e->x.n, sizeof *e->to));
        if (e->n)
            memcpy(e->to, e->x.p, e->n * sizeof *e->to);
    }
    if (marks || below.n)
        e->to[e->n++] = (struct fieldset_entry){from->elem, marks, below};
}

static struct fieldset edit_done(const struct edit *e)
{
    return e->to ? (struct fieldset){e->n ? e->to : NULL, e->n} : e->x;
}

struct fieldset fieldset_minus(struct arena *a, struct fieldset x, struct fieldset y, unsigned marks)
{
    budget_charge(1 + (size_t)x.n * 2);
    struct edit e = {.arena = a, .x = x};
    uint32_t at = 0;
    if (y.n == 0)
        return x;
    for (uint32_t i = 0; i < x.n; i++) {
        const struct fieldset_entry *from = &x.p[i], *other = seek(y, &at, &from->elem, x.n);
        if (!other)
            edit_keep(&e, i, from->marks, from->below);
        else
            edit_keep(&e, i, other->marks & marks ? 0 : from->marks,
                      fieldset_minus(a, from->below, other->below, marks));
    }
    return edit_done(&e);
}

struct fieldset fieldset_without(struct arena *a, struct fieldset x, struct fieldset y)
{
    budget_charge(1 + (size_t)x.n * 2);
    struct edit e = {.arena = a, .x = x};
    uint32_t at = 0;
    if (y.n == 0)
        return x;
    for (uint32_t i = 0; i < x.n; i++) {
        const struct fieldset_entry *from = &x.p[i], *other = seek(y, &at, &from->elem, x.n);
        if (!other)
            edit_keep(&e, i, from->marks, from->below);
        else if (other->marks)
            edit_keep(&e, i, 0, (struct fieldset){0});
        else
            edit_keep(&e, i, from->marks, fieldset_without(a, from->below, other->below));
    }
    return edit_done(&e);
}

struct fieldset fieldset_common(struct arena *a, struct fieldset x, struct fieldset y, unsigned marks)
{
    budget_charge(1 + (size_t)x.n * 2);
    struct edit e = {.arena = a, .x = x};
    uint32_t at = 0;
    if (y.n == 0)
        return (struct fieldset){0};
    for (uint32_t i = 0; i < x.n && at < y.n; i++) {
        const struct fieldset_entry *from = &x.p[i], *other = seek(y, &at, &from->elem, x.n);
        if (other)
            edit_keep(&e, i, other->marks & marks ? (uint8_t)(from->marks & marks) : 0,
                      fieldset_common(a, from->below, other->below, marks));
        else
            edit_keep(&e, i, 0, (struct fieldset){0});
    }
    return e.to || e.n == x.n ? edit_done(&e) : (struct fieldset){x.p, e.n};
}

bool fieldset_equal(struct fieldset x, struct fieldset y)
{
    budget_charge(1 + (size_t)x.n);
    if (x.n != y.n)
        return false;
    for (uint32_t i = 0; i < x.n && x.p != y.p; i++) {
        const struct fieldset_entry *a = &x.p[i], *b = &y.p[i];
        if (a->marks != b->marks || fieldset_elem_compare(&a->elem, &b->elem) || !fieldset_equal(a->below, b->below))
            return false;
    }
    return true;
}

/* Field sets as FieldsV1 trees, and paths as the texts of conflicts. */

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

/* The elements below are stored in *ret; *ret_in is set if the path itself is in the set. */
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
