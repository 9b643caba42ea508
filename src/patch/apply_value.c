/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/map.h"
#include "object/field_error.h"
#include "object/go_text.h"
#include "patch/apply_internal.h"

/* The items of sets and keyed lists, found by their identity. */

static int key_elem(struct arena *a, const struct typed *list, const struct json *item, struct fieldset_elem *ret,
                    struct err *err)
{
    budget_charge(5);
    if (json_is_null(item))
        return err_set(err, ERR_INTERNAL, "associative list with keys may not have a null element");
    if (!json_is_obj(item))
        return err_set(err, ERR_INTERNAL, "associative list with keys may not have non-map elements");
    str keys[TYPED_MAX_KEYS];
    size_t n = typed_keys(list, keys);
    struct json key = json_obj_sized(a, n);
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(item, keys[i]);
        struct json preset;
        if (!v && typed_key_default(list, keys[i], a, &preset))
            v = &preset;
        if (!v)
            return err_set(err, ERR_INTERNAL,
                           "associative list with keys has an element that omits key field \"%.*s\" (and doesn't have "
                           "default value)",
                           STR(keys[i]));
        json_add(a, &key, keys[i], *v);
    }
    *ret = fieldset_key(a, key);
    return 0;
}

int item_elem(struct arena *a, const struct typed *list, const struct json *item, struct fieldset_elem *ret,
              struct err *err)
{
    if (list->list == TYPED_LIST_KEYED)
        return key_elem(a, list, item, ret, err);
    switch (json_type(item)) {
    case JSON_OBJ:
        return err_set(err, ERR_INTERNAL, "associative list without keys has an element that's a map type");
    case JSON_ARR:
        return err_set(err, ERR_INTERNAL, "not supported: associative list with lists as elements");
    case JSON_NULL:
        return err_set(err, ERR_INTERNAL, "associative list without keys has an element that's an explicit null");
    default:
        *ret = fieldset_value(a, item);
        return 0;
    }
}

enum { INDEX_FROM = 8 }; /* items; below, a linear search is as quick */

static bool same_elem(const struct fieldset_elem *x, const struct fieldset_elem *y)
{
    /* All items of a list have the same kind of element, and its text is never empty. */
    return x->text.p && y->text.p && str_eq(x->text, y->text);
}

uint32_t items_find(const struct items *set, const struct fieldset_elem *elem)
{
    if (!set->slots) {
        for (uint32_t i = 0; i < set->n; i++) {
            if (same_elem(&set->p[i].elem, elem))
                return i;
        }
        return ITEM_NONE;
    }
    uint32_t at = (uint32_t)hash_str(elem->text) & set->mask;
    for (; set->slots[at] != ITEM_NONE; at = (at + 1) & set->mask) {
        if (same_elem(&set->p[set->slots[at]].elem, elem))
            return set->slots[at];
    }
    return ITEM_NONE;
}

static void make_slots(struct arena *a, struct items *set, uint32_t n)
{
    uint32_t size = 16;
    while (size < n * 2)
        size *= 2;
    set->slots = arena_alloc(a, arena_array_size(size, sizeof *set->slots));
    memset(set->slots, 0xff, size * sizeof *set->slots);
    set->mask = size - 1;
}

static void enter(struct items *set, uint32_t i)
{
    if (!set->slots)
        return;
    uint32_t at = (uint32_t)hash_str(set->p[i].elem.text) & set->mask;
    while (set->slots[at] != ITEM_NONE)
        at = (at + 1) & set->mask;
    set->slots[at] = i;
}

int items_init(struct arena *a, struct items *ret, const struct typed *list, const struct json *v, struct err *err)
{
    uint32_t n = json_is_arr(v) ? v->n : 0;
    *ret = (struct items){0};
    if (n == 0)
        return 0;
    ret->p = arena_alloc(a, arena_array_size(n, sizeof *ret->p));
    if (n >= INDEX_FROM)
        make_slots(a, ret, n);
    for (; ret->n < n; ret->n++) {
        struct item *it = &ret->p[ret->n];
        *it = (struct item){.value = &v->items[ret->n], .next = ITEM_NONE};
        int rc = item_elem(a, list, it->value, &it->elem, err);
        if (rc < 0)
            return err_wrap(err, "element %u", (unsigned)ret->n);
        uint32_t first = items_find(ret, &it->elem);
        if (first == ITEM_NONE) {
            enter(ret, ret->n);
            continue;
        }
        it->is_repeat = true;
        it->next = ret->p[first].next; /* repeated items hang behind the first, the latest in front */
        ret->p[first].next = ret->n;
    }
    return 0;
}

/* Applied configurations: whether they fit their type, and which fields they have an opinion on. */

/* ---- Checking. ---- */

enum { CHECK_MAX_ERRORS = 100 };

struct check {
    struct arena *arena;
    VEC(str) errors;
};

static void fail(struct check *c, const struct fieldset_path *path, const char *fmt, str what)
{
    if (c->errors.n >= CHECK_MAX_ERRORS)
        return;
    struct buf b = {.arena = c->arena};
    fieldset_path_format(&b, path);
    if (b.n)
        buf_add_str(&b, S(": "));
    buf_add_str(&b, str_of(fmt));
    buf_add_str(&b, what);
    *vec_push(c->arena, &c->errors) = buf_str(&b);
}

/* A value as %v prints the pointer it is held by. */
static str pointed(struct arena *a, const struct json *v)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("&{"));
    go_text(&b, v);
    buf_add_char(&b, '}');
    return buf_str(&b);
}

static void check_scalar(struct check *c, const struct typed *t, const struct json *v, const struct fieldset_path *path)
{
    switch (typed_scalar(t)) {
    case TYPED_STRING:
        if (!json_is_str(v))
            fail(c, path, "expected string, got ",
                 str_fmt(c->arena, "&value.valueUnstructured{Value:%.*s}", STR(field_value(c->arena, v))));
        return;
    case TYPED_NUMBER:
        if (!json_is_num(v))
            fail(c, path, "expected numeric (int or float), got ", str_of(go_type_name(v)));
        return;
    case TYPED_BOOL:
        if (v->type != JSON_BOOL)
            fail(c, path, "expected boolean, got ", pointed(c->arena, v));
        return;
    default:
        if (v->type >= JSON_ARR)
            fail(c, path, "expected any scalar, got ", pointed(c->arena, v));
    }
}

static void check(struct check *c, const struct typed *t, const struct json *v, const struct fieldset_path *path);

static void check_list(struct check *c, const struct typed *t, const struct json *v, const struct fieldset_path *path)
{
    struct typed item_type = typed_item(t);
    if (t->list == TYPED_LIST_ATOMIC) {
        for (uint32_t i = 0; i < v->n; i++) {
            const struct fieldset_elem at = {.kind = FIELDSET_INDEX, .val = json_int(i)};
            check(c, &item_type, &v->items[i], &(struct fieldset_path){path, &at});
        }
        return;
    }
    struct items items;
    struct err err;
    if (items_init(c->arena, &items, t, v, &err) < 0) {
        fail(c, path, "", str_dup(c->arena, str_of(err.msg)));
        return;
    }
    for (uint32_t i = 0; i < items.n; i++) {
        const struct fieldset_path here = {path, &items.p[i].elem};
        if (items.p[i].is_repeat) {
            struct buf key = {.arena = c->arena};
            fieldset_path_format(&key, &(struct fieldset_path){NULL, &items.p[i].elem});
            fail(c, path, "duplicate entries for key ", buf_str(&key));
        }
        check(c, &item_type, items.p[i].value, &here);
    }
}

static void check_map(struct check *c, const struct typed *t, const struct json *v, const struct fieldset_path *path)
{
    json_each_member(v, m)
    {
        struct typed child;
        const struct fieldset_elem name = fieldset_name(json_key(m));
        const struct fieldset_path here = {path, &name};
        if (typed_member(t, m, &child) == TYPED_UNDECLARED) {
            fail(c, &here, "field not declared in schema", (str){0});
            return;
        }
        check(c, &child, &m->val, &here);
    }
}

static void check(struct check *c, const struct typed *t, const struct json *v, const struct fieldset_path *path)
{
    if (!budget_charge(4))
        return;
    if (json_is_null(v))
        return;
    switch (typed_deduce(t, v)) {
    case TYPED_SCALAR:
        check_scalar(c, t, v, path);
        return;
    case TYPED_LIST:
        if (!json_is_arr(v))
            fail(c, path, "expected list, got ", pointed(c->arena, v));
        else
            check_list(c, t, v, path);
        return;
    default:
        if (!json_is_obj(v))
            fail(c, path, "expected map, got ", pointed(c->arena, v));
        else
            check_map(c, t, v, path);
    }
}

int value_check(const struct typed *t, const struct json *config, struct arena *a, struct err *err)
{
    struct check c = {.arena = a};
    check(&c, t, config, NULL);
    if (c.errors.n == 0)
        return 0;
    if (c.errors.n == 1)
        return err_set(err, ERR_INTERNAL, "%.*s", STR(c.errors.p[0]));
    struct buf all = {.arena = a};
    buf_add_str(&all, S("errors:"));
    vec_each(&c.errors, e) buf_fmt(&all, "\n  %.*s", STR(*e));
    return err_set(err, ERR_INTERNAL, "%.*s", STR(buf_str(&all)));
}

/* ---- Fields. ---- */

/* What is in the set below a place, and whether the place itself is. */
struct opinion {
    bool in;
    struct fieldset below;
};

static struct opinion fields(struct fieldset_builder *b, const struct typed *t, const struct json *v);

static struct fieldset item_fields(struct fieldset_builder *b, const struct typed *t, const struct json *v)
{
    struct items items;
    if (items_init(b->arena, &items, t, v, NULL) < 0)
        return (struct fieldset){0};
    struct typed item_type = typed_item(t);
    size_t begin = fieldset_begin(b);
    for (uint32_t i = 0; i < items.n; i++) {
        struct opinion below = {0}; /* repeated items count as a whole */
        if (!items.p[i].is_repeat && items.p[i].next == ITEM_NONE)
            below = fields(b, &item_type, items.p[i].value);
        fieldset_put(b, &items.p[i].elem, FIELDSET_IN, below.below);
    }
    return fieldset_end(b, begin);
}

static struct fieldset member_fields(struct fieldset_builder *b, const struct typed *t, const struct json *v)
{
    size_t begin = fieldset_begin(b);
    json_each_member(v, m)
    {
        struct typed child;
        enum typed_found found = typed_member(t, m, &child);
        struct opinion o = fields(b, &child, &m->val);
        if (json_is_null(&m->val) || (json_is_obj(&m->val) && m->val.n == 0) || found != TYPED_FIELD)
            o.in = true;
        const struct fieldset_elem name = fieldset_name(json_key(m));
        fieldset_put(b, &name, o.in ? FIELDSET_IN : 0, o.below);
    }
    return fieldset_end(b, begin);
}

static struct opinion fields(struct fieldset_builder *b, const struct typed *t, const struct json *v)
{
    budget_charge(4);
    switch (typed_deduce(t, v)) {
    case TYPED_SCALAR:
        return (struct opinion){.in = true};
    case TYPED_LIST:
        if (t->list == TYPED_LIST_ATOMIC)
            return (struct opinion){.in = true};
        return (struct opinion){.below = item_fields(b, t, v)};
    default:
        if (t->atomic)
            return (struct opinion){.in = true};
        return (struct opinion){.below = member_fields(b, t, v)};
    }
}

struct fieldset value_fields(struct arena *a, const struct typed *t, const struct json *config)
{
    struct fieldset_builder b = {.arena = a};
    return fields(&b, t, config).below;
}

/* What a write changed, field by field. */

struct diff {
    struct fieldset_builder builder;
    struct err *err;
};

/* What happened to a place, and below it. */
struct change {
    unsigned marks;
    struct fieldset below;
};

static const struct json empty_map = {.type = JSON_OBJ};
static const struct json null = {.type = JSON_NULL};

static int diff(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                struct change *ret);

/* One of old and next may be NULL: the field was added or removed. */
static unsigned leaf_marks(const struct json *old, const struct json *next)
{
    if (!old)
        return FIELDSET_IN;
    if (!next)
        return FIELDSET_REMOVED;
    return json_equal(old, next) ? 0 : FIELDSET_IN;
}

static unsigned presence_marks(const struct json *old, const struct json *next)
{
    return !old ? FIELDSET_IN : !next ? FIELDSET_REMOVED : 0;
}

static int diff_put(struct diff *d, const struct fieldset_elem *elem, const struct typed *t, const struct json *old,
                    const struct json *next)
{
    struct change c = {0};
    int rc = diff(d, t, old, next, &c);
    fieldset_put(&d->builder, elem, c.marks, c.below);
    return rc;
}

/* ---- Lists. ---- */

static uint32_t repeats(const struct items *items, uint32_t first)
{
    uint32_t n = 0;
    for (uint32_t i = first; i != ITEM_NONE; i = items->p[i].next)
        n++;
    return n;
}

static bool same_repeats(const struct items *old, uint32_t i, const struct items *next, uint32_t j)
{
    for (; i != ITEM_NONE && j != ITEM_NONE; i = old->p[i].next, j = next->p[j].next) {
        if (!json_equal(old->p[i].value, next->p[j].value))
            return false;
    }
    return i == j;
}

/* Items that come several times with the same element are one value, together. i and j may be ITEM_NONE. */
static int diff_element(struct diff *d, const struct typed *item_type, const struct items *old, uint32_t i,
                        const struct items *next, uint32_t j)
{
    const struct fieldset_elem *elem = i != ITEM_NONE ? &old->p[i].elem : &next->p[j].elem;
    const struct json *was = i != ITEM_NONE ? old->p[i].value : NULL, *is = j != ITEM_NONE ? next->p[j].value : NULL;
    bool many_were = i != ITEM_NONE && repeats(old, i) > 1, many_are = j != ITEM_NONE && repeats(next, j) > 1;
    struct fieldset none = {0};
    int rc = 0;
    if (!many_were && !many_are)
        return diff_put(d, elem, item_type, was, is);
    if (many_were && many_are) {
        fieldset_put(&d->builder, elem, same_repeats(old, i, next, j) ? 0 : FIELDSET_IN, none);
    } else if (many_were) {
        if (is)
            rc = diff_put(d, elem, item_type, NULL, is);
        fieldset_put(&d->builder, elem, FIELDSET_REMOVED, none);
    } else {
        if (was)
            rc = diff_put(d, elem, item_type, was, NULL);
        fieldset_put(&d->builder, elem, FIELDSET_IN, none);
    }
    return rc;
}

static int diff_items(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                      struct fieldset *ret)
{
    struct items was = {0}, is = {0};
    int rc = items_init(d->builder.arena, &was, t, old, d->err);
    if (rc == 0)
        rc = items_init(d->builder.arena, &is, t, next, d->err);
    if (rc < 0)
        return rc;
    struct typed item_type = typed_item(t);
    size_t begin = fieldset_begin(&d->builder);
    for (uint32_t i = 0; i < was.n && rc == 0; i++) {
        if (!was.p[i].is_repeat)
            rc = diff_element(d, &item_type, &was, i, &is, items_find(&is, &was.p[i].elem));
    }
    for (uint32_t j = 0; j < is.n && rc == 0; j++) {
        if (!is.p[j].is_repeat && items_find(&was, &is.p[j].elem) == ITEM_NONE)
            rc = diff_element(d, &item_type, &was, ITEM_NONE, &is, j);
    }
    *ret = fieldset_end(&d->builder, begin);
    return rc;
}

static int diff_list(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                     struct change *ret)
{
    bool empty = (!json_is_arr(old) || old->n == 0) && (!json_is_arr(next) || next->n == 0);
    if (t->list == TYPED_LIST_ATOMIC || empty) {
        ret->marks |= leaf_marks(old, next);
        return 0;
    }
    /* Two lists with the same bytes need no index. */
    if (old && next && json_equal(old, next))
        return 0;
    struct fieldset below = {0};
    int rc = diff_items(d, t, old, next, &below);
    ret->marks |= presence_marks(old, next);
    ret->below = fieldset_union(d->builder.arena, ret->below, below);
    return rc;
}

/* ---- Maps. ---- */

static int diff_member(struct diff *d, const struct typed *t, str key, const struct json *old, const struct json *next)
{
    struct typed child;
    const struct fieldset_elem name = fieldset_name(key);
    typed_field(t, key, &child);
    if (child.present) { /* what Go cannot leave out was there before and still is */
        const struct json *unset = child.allows & TYPED_MAP ? &empty_map : &null;
        old = old ? old : unset;
        next = next ? next : unset;
    }
    return diff_put(d, &name, &child, old, next);
}

/* A record that is added or removed as a whole includes the fields that Go never omits. */
static int diff_present(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    size_t at = 0;
    str key;
    struct typed child;
    int rc = 0;
    while (rc == 0 && typed_next_present(t, &at, &key, &child)) {
        if (json_get(old ? old : next, key))
            continue;
        const struct fieldset_elem name = fieldset_name(key);
        const struct json *unset = child.allows & TYPED_MAP ? &empty_map : &null;
        rc = diff_put(d, &name, &child, old ? unset : NULL, old ? NULL : unset);
    }
    return rc;
}

static int diff_both(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    struct json_index was JSON_INDEX_SCOPE, is JSON_INDEX_SCOPE;
    int rc = 0;
    json_index_init(&was, old);
    json_index_init(&is, next);
    json_each_member(old, m)
    {
        const struct json_member *other = json_index_find(&is, json_key(m));
        if (!other || !value_is_shared(&m->val, &other->val))
            rc = rc ? rc : diff_member(d, t, json_key(m), &m->val, other ? &other->val : NULL);
    }
    json_each_member(next, m)
    {
        if (!json_index_find(&was, json_key(m)))
            rc = rc ? rc : diff_member(d, t, json_key(m), NULL, &m->val);
    }
    return rc;
}

static int diff_one(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    int rc = 0;
    json_each_member(old ? old : next, m)
    {
        struct typed child;
        const struct fieldset_elem name = fieldset_name(json_key(m));
        typed_member(t, m, &child);
        rc = rc ? rc : diff_put(d, &name, &child, old ? &m->val : NULL, old ? NULL : &m->val);
    }
    return rc ? rc : diff_present(d, t, old, next);
}

/* A record that Go never writes as empty. */
static bool has_present(const struct typed *t)
{
    size_t at = 0;
    str key;
    struct typed child;
    return typed_next_present(t, &at, &key, &child);
}

static int diff_map(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                    struct change *ret)
{
    bool empty = (!json_is_obj(old) || old->n == 0) && (!json_is_obj(next) || next->n == 0);
    if (t->atomic || (empty && ((old && next) || !has_present(t)))) {
        ret->marks |= leaf_marks(old, next);
        return 0;
    }
    size_t begin = fieldset_begin(&d->builder);
    int rc = old && next ? diff_both(d, t, old, next) : diff_one(d, t, old, next);
    ret->marks |= presence_marks(old, next);
    ret->below = fieldset_union(d->builder.arena, ret->below, fieldset_end(&d->builder, begin));
    return rc;
}

/* ---- Places. ---- */

static int diff_as(struct diff *d, unsigned form, const struct typed *t, const struct json *old,
                   const struct json *next, struct change *ret)
{
    if (form == TYPED_MAP)
        return diff_map(d, t, old, next, ret);
    if (form == TYPED_LIST)
        return diff_list(d, t, old, next, ret);
    ret->marks |= leaf_marks(old, next);
    return 0;
}

static int diff(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                struct change *ret)
{
    if (!budget_charge(4))
        return ERR_TOO_LARGE;
    unsigned was = typed_deduce(t, old ? old : next), is = typed_deduce(t, next ? next : old);
    *ret = (struct change){0};
    int rc = was != is ? diff_as(d, was, t, old, next, ret) : 0; /* a map became a list: look at it both ways */
    return rc ? rc : diff_as(d, is, t, old, next, ret);
}

int value_diff(struct arena *a, const struct typed *t, const struct json *old, const struct json *next,
               struct fieldset *ret, struct err *err)
{
    struct diff d = {.builder = {.arena = a}, .err = err};
    struct change c;
    int rc = diff(&d, t, old ? old : &empty_map, next, &c);
    if (rc == 0)
        *ret = c.below;
    return rc;
}
