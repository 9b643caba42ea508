/* SPDX-License-Identifier: Apache-2.0 */
#include "control/item.h"

#include "object/object.h"

#include <assert.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

enum field { NAMESPACE, NAME, UID, VERSION, FIELDS };

struct item {
    _Atomic uint32_t refs;
    uint32_t text_n;
    uint32_t n_marks;
    uint32_t at[FIELDS]; /* from bytes on, which follow the marks: the text, then what it spells otherwise */
    uint16_t n[FIELDS];
    struct item_mark marks[];
};

/* An item under construction. */
struct draft {
    struct buf bytes;
    uint32_t at[FIELDS];
    uint16_t n[FIELDS];
    VEC(struct item_mark) marks;
};

static const char *bytes_of(const struct item *item)
{
    return (const char *)(item->marks + item->n_marks);
}

/* Where s stands in the block; it is added when it does not. False: it is too long. */
static bool place(struct draft *d, str s, uint32_t *ret_at, uint16_t *ret_n)
{
    if (s.n > UINT16_MAX)
        return false;
    ptrdiff_t at = s.n ? str_find(buf_str(&d->bytes), s) : 0;
    if (at < 0) {
        at = (ptrdiff_t)d->bytes.n;
        buf_add_str(&d->bytes, s);
    }
    *ret_at = (uint32_t)at;
    *ret_n = (uint16_t)s.n;
    return true;
}

/* An object whose owner or label has a text that no object can have is found by its name only. */
static void mark(struct draft *d, struct arena *scratch, str value, size_t index)
{
    struct item_mark m = {.index = (uint16_t)index};
    if (place(d, value, &m.at, &m.n))
        *vec_push(scratch, &d->marks) = m;
}

static void mark_all(struct draft *d, struct arena *scratch, const struct json *object, const struct item_shape *shape)
{
    const struct json *labels = object_labels(object);
    for (size_t i = 0; i < shape->n_labels; i++) {
        const struct json *value = json_get(labels, shape->labels[i]);
        if (json_is_str(value))
            mark(d, scratch, json_text(value), i);
    }
    const struct json *owners = shape->by_owner ? object_owners(object) : NULL;
    json_each_item(owners, owner)
    {
        str uid = json_get_text(owner, S("uid"));
        if (uid.n)
            mark(d, scratch, uid, shape->n_labels);
    }
}

/* managedFields are half of many objects, and nobody here asks for them. */
static void print(struct buf *b, struct arena *scratch, const struct json *object)
{
    if (json_get(object_meta(object), S("managedFields")) == NULL) {
        json_encode(b, object, 0);
        return;
    }
    struct json top = json_dup_top(scratch, object);
    struct json *meta = json_get_mut(&top, S("metadata"));
    *meta = json_dup_top(scratch, meta);
    json_remove(meta, S("managedFields"));
    json_encode(b, &top, 0);
}

static struct item *build(const struct draft *d, size_t text_n)
{
    size_t marks = d->marks.n * sizeof(struct item_mark);
    struct item *item = malloc(sizeof *item + marks + d->bytes.n);
    if (item == NULL)
        abort();
    *item = (struct item){.refs = 1, .text_n = (uint32_t)text_n, .n_marks = (uint32_t)d->marks.n};
    memcpy(item->at, d->at, sizeof item->at);
    memcpy(item->n, d->n, sizeof item->n);
    if (marks)
        memcpy(item->marks, d->marks.p, marks);
    memcpy((char *)(item->marks + item->n_marks), d->bytes.p, d->bytes.n);
    return item;
}

struct item *item_new_shaped(const struct json *object, const struct item_shape *shape)
{
    assert(shape->n_labels < UINT16_MAX);
    if (object_name(object).n == 0)
        return NULL;
    char room[8192];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct draft d = {.bytes = {.arena = &scratch}};
    if (!shape->keys_only)
        print(&d.bytes, &scratch, object);
    size_t text_n = d.bytes.n;
    const str fields[FIELDS] = {
        [NAMESPACE] = object_namespace(object),
        [NAME] = object_name(object),
        [UID] = object_uid(object),
        [VERSION] = object_rv(object),
    };
    for (int i = 0; i < FIELDS; i++) {
        if (!place(&d, fields[i], &d.at[i], &d.n[i]))
            return NULL;
    }
    mark_all(&d, &scratch, object, shape);
    return d.bytes.n > UINT32_MAX ? NULL : build(&d, text_n);
}

struct item *item_new(const struct json *object)
{
    return item_new_shaped(object, &(struct item_shape){0});
}

struct item *item_ref(const struct item *item)
{
    struct item *mine = (struct item *)item; /* only the count changes */
    atomic_fetch_add_explicit(&mine->refs, 1, memory_order_relaxed);
    return mine;
}

void item_unref(const struct item *item)
{
    struct item *mine = (struct item *)item;
    if (mine && atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) == 1)
        free(mine);
}

str item_slice(const struct item *item, uint32_t at, uint32_t n)
{
    return (str){bytes_of(item) + at, n};
}

static str get(const struct item *item, enum field field)
{
    return item_slice(item, item->at[field], item->n[field]);
}

str item_namespace(const struct item *item)
{
    return get(item, NAMESPACE);
}

str item_name(const struct item *item)
{
    return get(item, NAME);
}

str item_uid(const struct item *item)
{
    return get(item, UID);
}

str item_version(const struct item *item)
{
    return get(item, VERSION);
}

str item_text(const struct item *item)
{
    return item_slice(item, 0, item->text_n);
}

struct json item_tree(struct arena *a, const struct item *item)
{
    struct json tree = json_null();
    if (item->text_n == 0)
        return tree;
    struct json_limits limits = {.bytes = item->text_n};
    struct err err;
    int code = json_decode(a, item_text(item), &limits, NULL, &tree, &err);
    assert(code == 0);
    (void)code;
    return tree;
}

size_t item_footprint(const struct item *item)
{
    return malloc_usable_size((void *)item) + sizeof(size_t); /* the allocator's own word in front of the block */
}

size_t item_marks(const struct item *item, const struct item_mark **ret)
{
    *ret = item->marks;
    return item->n_marks;
}

static bool is_decimal(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.n > 0 && (s.p[0] != '0' || s.n == 1);
}

bool item_version_is_older(str version, str than)
{
    if (!is_decimal(version) || !is_decimal(than))
        return false;
    return version.n != than.n ? version.n < than.n : str_cmp(version, than) < 0;
}

void items_done(struct items *items)
{
    for (size_t i = 0; i < items->n; i++)
        item_unref(items->p[i]);
    free(items->p);
    *items = (struct items){0};
}
