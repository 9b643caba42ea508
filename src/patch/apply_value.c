/* SPDX-License-Identifier: Apache-2.0 */
/* Applied configurations: whether they fit their type, and which fields they have an opinion on. */
#include "patch/apply_parts.h"

#include "base/budget.h"
#include "object/field_error.h"
#include "object/go_text.h"

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
