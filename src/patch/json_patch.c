/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/json_patch.h"

#include "base/budget.h"
#include "json/json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* "" or "/…". */
static bool pointer_is_valid(str pointer)
{
    return pointer.n == 0 || pointer.p[0] == '/';
}

/* One pass, so that ~01 is ~1 and not /. Any other ~ is literal, as in the API server. */
static str unescape(struct arena *a, str token)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < token.n; i++) {
        char next = token.p[i] == '~' && i + 1 < token.n ? token.p[i + 1] : 0;
        bool escape = next == '0' || next == '1';
        buf_add_char(&b, !escape ? token.p[i] : next == '1' ? '/' : '~');
        i += escape;
    }
    return buf_str(&b);
}

/* Takes the first token off a valid pointer, ~1 and ~0 replaced; false when the pointer is at its end. */
static bool pointer_take(struct arena *a, str *pointer, str *ret_token)
{
    if (pointer->n == 0)
        return false;
    str rest = str_from(*pointer, 1);
    ptrdiff_t end = str_find_char(rest, '/');
    str token = end < 0 ? rest : str_upto(rest, (size_t)end);
    *pointer = str_from(rest, token.n);
    *ret_token = str_find_char(token, '~') < 0 ? token : unescape(a, token);
    return true;
}

/* The position a token names among n places; from the end if negative. */
static bool pointer_index(str token, size_t n, size_t *ret)
{
    int64_t i;
    if (!str_to_int64(token, &i) || i < -(int64_t)n || i >= (int64_t)n)
        return false;
    *ret = (size_t)(i < 0 ? i + (int64_t)n : i);
    return true;
}

static const struct json *step(const struct json *v, str token)
{
    size_t i;
    if (json_is_arr(v))
        return pointer_index(token, v->n, &i) ? &v->items[i] : NULL;
    return json_get(v, token);
}

const struct json *json_pointer_get(const struct json *doc, str pointer)
{
    struct arena scratch ARENA_SCOPE = {0};
    str token;
    if (!pointer_is_valid(pointer))
        return NULL;
    while (doc && pointer_take(&scratch, &pointer, &token))
        doc = step(doc, token);
    return doc;
}

/* The document is copied once and then changed in place, so that many operations on a wide object do not copy it again
 * and again. */
struct patcher {
    struct arena *arena;
    struct json doc;
    size_t copied, steps;
    struct err *err;
    /* the operation at hand, for messages */
    size_t number;
    str op, path;
};

/* Where a pointer leads: a member or an item of parent, there already or yet to be. Parent is NULL for the root. */
struct place {
    struct json *parent;
    str key;
    size_t depth; /* containers above the value */
};

enum { SHOWN_MAX = 200 }; /* bytes of a path in a message, which must also have room to say what is wrong */

static str shorten(str s)
{
    size_t n = s.n > SHOWN_MAX ? SHOWN_MAX : s.n;
    while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_upto(s, n);
}

static int fail(struct patcher *p, enum err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct patcher *p, enum err_code code, const char *fmt, ...)
{
    char why[sizeof p->err->msg];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (p->op.n == 0)
        return err_set(p->err, code, "operation %zu: %s", p->number, why);
    str op = shorten(p->op), path = shorten(p->path);
    return err_set(p->err, code, "operation %zu (%.*s \"%.*s%s\"): %s", p->number, STR(op), STR(path),
                   path.n < p->path.n ? "…" : "", why);
}

/* ---- Limits. ---- */

static int take_steps(struct patcher *p, size_t n)
{
    p->steps += n;
    if (!budget_charge(1 + n / 8))
        return fail(p, ERR_TOO_LARGE, "the patch takes too many steps");
    return p->steps > PATCH_MAX_STEPS ? fail(p, ERR_TOO_LARGE, "the patch takes too many steps") : 0;
}

/* What a tree comes to. */
struct extent {
    size_t values, text; /* text: bytes of JSON, escapes aside */
    uint32_t height;     /* containers inside containers */
};

static void measure(const struct json *v, uint32_t depth, struct extent *e)
{
    e->values++;
    e->text += json_is_str(v) ? v->n + 2 : 4;
    e->text += json_len(v); /* commas */
    if (json_is_arr(v) || json_is_obj(v))
        depth++;
    e->height = depth > e->height ? depth : e->height;
    json_each_item(v, item) measure(item, depth, e);
    json_each_member(v, m)
    {
        e->text += m->key_n + 3;
        measure(&m->val, depth, e);
    }
}

/* Repeated copies could otherwise nest a document deeper than anything that can be decoded. */
static int check_extent(struct patcher *p, const struct place *at, const struct json *v, bool copied)
{
    struct extent e = {0};
    measure(v, 0, &e);
    if (at->depth + e.height > JSON_MAX_DEPTH)
        return fail(p, ERR_TOO_LARGE, "the document would be nested deeper than the limit of %d", JSON_MAX_DEPTH);
    p->copied += copied ? e.text : 0;
    if (p->copied > PATCH_MAX_COPY)
        return fail(p, ERR_INVALID, "copies come to more than the limit of %d bytes", PATCH_MAX_COPY);
    return take_steps(p, e.values);
}

/* ---- Places. ---- */

/* The value at a place, NULL when there is none. */
static struct json *value_at(struct patcher *p, const struct place *at)
{
    size_t i;
    if (at->parent == NULL)
        return &p->doc;
    if (json_is_arr(at->parent))
        return pointer_index(at->key, at->parent->n, &i) ? &at->parent->items[i] : NULL;
    return json_get_mut(at->parent, at->key);
}

static int find(struct patcher *p, str pointer, struct place *ret)
{
    struct place at = {0};
    str rest = pointer, key;
    if (!pointer_is_valid(pointer))
        return fail(p, ERR_INVALID, "the pointer \"%.*s\" does not start with /", STR(pointer));
    while (pointer_take(p->arena, &rest, &key)) {
        struct json *v = value_at(p, &at);
        if (!json_is_arr(v) && !json_is_obj(v))
            return fail(p, ERR_INVALID, "the document is missing the path \"%.*s\"", STR(pointer));
        int r = json_is_obj(v) ? take_steps(p, v->n) : 0;
        if (r < 0)
            return r;
        at = (struct place){v, key, at.depth + 1};
    }
    *ret = at;
    return 0;
}

/* Like find, but there must be a value: a member that is missing reads as null if the API server has it so. */
static int find_value(struct patcher *p, str pointer, bool or_null, struct place *ret, struct json *ret_value)
{
    int r = find(p, pointer, ret);
    if (r < 0)
        return r;
    const struct json *v = value_at(p, ret);
    if (v == NULL && json_is_arr(ret->parent))
        return fail(p, ERR_INVALID, "no such item: \"%.*s\"", STR(ret->key));
    if (v == NULL && !or_null)
        return fail(p, ERR_INVALID, "no such member: \"%.*s\"", STR(ret->key));
    *ret_value = v ? *v : json_null();
    return 0;
}

/* ---- Changes. v belongs to the patched document from now on. ---- */

static int insert(struct patcher *p, const struct place *at, struct json v)
{
    size_t i;
    if (at->parent == NULL) {
        p->doc = v;
        return 0;
    }
    if (json_is_obj(at->parent)) {
        json_set(p->arena, at->parent, at->key, v);
        return 0;
    }
    if (str_eq(at->key, S("-")))
        i = at->parent->n;
    else if (!pointer_index(at->key, (size_t)at->parent->n + 1, &i))
        return fail(p, ERR_INVALID, "no such place in the array: \"%.*s\"", STR(at->key));
    json_insert(p->arena, at->parent, i, v);
    return take_steps(p, at->parent->n - i);
}

static int erase(struct patcher *p, const struct place *at)
{
    size_t i;
    if (at->parent == NULL)
        return fail(p, ERR_INVALID, "the document itself cannot be removed");
    if (json_is_obj(at->parent)) {
        json_remove(at->parent, at->key);
        return 0;
    }
    if (!pointer_index(at->key, at->parent->n, &i))
        return fail(p, ERR_INVALID, "no such item: \"%.*s\"", STR(at->key));
    json_erase(at->parent, i);
    return take_steps(p, at->parent->n - i);
}

/* ---- Operations. ---- */

static int add(struct patcher *p, const struct json *value)
{
    struct place at = {0};
    int r = find(p, p->path, &at);
    if (r == 0)
        r = check_extent(p, &at, value, false);
    return r < 0 ? r : insert(p, &at, json_dup(p->arena, value));
}

static int replace(struct patcher *p, const struct json *value)
{
    struct place at = {0};
    struct json former;
    int r = find_value(p, p->path, true, &at, &former);
    if (r == 0)
        r = check_extent(p, &at, value, false);
    if (r < 0)
        return r;
    struct json *known = value_at(p, &at);
    if (known == NULL)
        return insert(p, &at, json_dup(p->arena, value));
    *known = json_dup(p->arena, value);
    return 0;
}

static int take_out(struct patcher *p)
{
    struct place at = {0};
    struct json former;
    int r = find_value(p, p->path, false, &at, &former);
    return r < 0 ? r : erase(p, &at);
}

static int test(struct patcher *p, const struct json *value)
{
    struct place at = {0};
    struct json found = {0};
    int r = find_value(p, p->path, true, &at, &found);
    if (r < 0)
        return r;
    return json_equal(&found, value) ? 0 : fail(p, ERR_INVALID, "test failed: the value is another one");
}

static int copy(struct patcher *p, str from)
{
    struct place at = {0};
    struct json v = {0};
    int r = find_value(p, from, true, &at, &v);
    if (r == 0)
        r = find(p, p->path, &at);
    if (r == 0)
        r = check_extent(p, &at, &v, true);
    return r < 0 ? r : insert(p, &at, json_dup(p->arena, &v));
}

static int move(struct patcher *p, str from)
{
    struct place at = {0};
    struct json v = {0};
    if (str_has_prefix(p->path, from) && p->path.n > from.n && p->path.p[from.n] == '/')
        return fail(p, ERR_INVALID, "\"%.*s\" cannot be moved into itself", STR(from));
    int r = find_value(p, from, false, &at, &v);
    if (r < 0 || str_eq(p->path, from))
        return r;
    r = erase(p, &at);
    if (r == 0)
        r = find(p, p->path, &at);
    if (r == 0)
        r = check_extent(p, &at, &v, false);
    return r < 0 ? r : insert(p, &at, v);
}

static int apply_one(struct patcher *p, str from, const struct json *value)
{
    if (str_eq(p->op, S("add")))
        return add(p, value);
    if (str_eq(p->op, S("remove")))
        return take_out(p);
    if (str_eq(p->op, S("replace")))
        return replace(p, value);
    if (str_eq(p->op, S("test")))
        return test(p, value);
    if (str_eq(p->op, S("copy")))
        return copy(p, from);
    if (str_eq(p->op, S("move")))
        return move(p, from);
    return fail(p, ERR_INVALID, "unexpected kind of operation");
}

/* ---- Reading the patch. ---- */

/* A string member; *ret_has is set if there is one. */
static int text_member(struct patcher *p, const struct json *op, const char *name, str *ret, bool *ret_has)
{
    const struct json *v = json_get(op, str_of(name));
    if (!json_is_null(v) && !json_is_str(v))
        return fail(p, ERR_BAD_REQUEST, "\"%s\" is not a string", name);
    *ret = json_text(v);
    *ret_has = json_is_str(v);
    return 0;
}

static int apply_next(struct patcher *p, const struct json *op)
{
    static const struct json null;
    const struct json *value = json_get(op, S("value"));
    bool has_op = false, has_path = false, has_from = false;
    str from = {0};
    p->op = p->path = (str){0};
    p->number++;
    if (!json_is_obj(op) && !json_is_null(op))
        return fail(p, ERR_BAD_REQUEST, "not an object");
    int r = text_member(p, op, "op", &p->op, &has_op);
    if (r == 0)
        r = text_member(p, op, "path", &p->path, &has_path);
    if (r == 0)
        r = text_member(p, op, "from", &from, &has_from);
    if (r < 0)
        return r;
    bool needs_from = str_eq(p->op, S("copy")) || str_eq(p->op, S("move"));
    if (!has_op || !has_path || (needs_from && !has_from))
        return fail(p, ERR_INVALID, "missing \"%s\"", !has_op ? "op" : !has_path ? "path" : "from");
    return apply_one(p, from, value ? value : &null);
}

int json_patch(struct arena *a, const struct json *doc, const struct json *patch, struct json *ret, struct err *err)
{
    if (!json_is_arr(patch) && !json_is_null(patch))
        return err_set(err, ERR_BAD_REQUEST, "a JSON patch is a list of operations, not %s %s",
                       json_type(patch) == JSON_INT || json_is_obj(patch) ? "an" : "a", json_type_name(patch));
    if (json_len(patch) > PATCH_MAX_OPS)
        return err_set(err, ERR_TOO_LARGE, "The allowed maximum operations in a JSON patch is %d, got %zu",
                       PATCH_MAX_OPS, json_len(patch));
    struct patcher p = {.arena = a, .doc = json_dup(a, doc), .err = err};
    json_each_item(patch, op)
    {
        int r = apply_next(&p, op);
        if (r < 0)
            return r;
    }
    *ret = p.doc;
    return 0;
}

/* A value without null members, at any depth. Nulls that are items stay. */
static struct json without_nulls(struct arena *a, const struct json *v)
{
    if (json_is_arr(v)) {
        struct json arr = json_arr_sized(a, v->n);
        json_each_item(v, item) json_push(a, &arr, without_nulls(a, item));
        return arr;
    }
    if (json_is_obj(v)) {
        struct json obj = json_obj_sized(a, v->n);
        json_each_member(v, m)
        {
            if (!json_is_null(&m->val))
                json_add(a, &obj, json_key(m), without_nulls(a, &m->val));
        }
        return obj;
    }
    return v ? *v : json_null();
}

/* Members of doc keep their order; new ones follow in the order of the patch. */
static struct json merge(struct arena *a, const struct json *doc, const struct json *patch)
{
    struct json_index in_doc JSON_INDEX_SCOPE, in_patch JSON_INDEX_SCOPE;
    json_index_init(&in_doc, doc);
    json_index_init(&in_patch, patch);
    struct json obj = json_obj_sized(a, (size_t)doc->n + patch->n);
    json_each_member(doc, m)
    {
        const struct json_member *change = json_index_find(&in_patch, json_key(m));
        if (change == NULL)
            json_add(a, &obj, json_key(m), m->val);
        else if (!json_is_null(&change->val))
            json_add(a, &obj, json_key(m), json_merge_patch(a, &m->val, &change->val));
    }
    json_each_member(patch, m)
    {
        if (!json_is_null(&m->val) && json_index_find(&in_doc, json_key(m)) == NULL)
            json_add(a, &obj, json_key(m), without_nulls(a, &m->val));
    }
    return obj;
}

struct json json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch)
{
    return json_is_obj(doc) && json_is_obj(patch) ? merge(a, doc, patch) : without_nulls(a, patch);
}
