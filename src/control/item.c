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

/* Where s stands in the block, looked for in the part from here to there; it is added when it does not. False: it is too
 * long. */
static bool place_within(struct draft *d, size_t from, size_t to, str s, struct item_mark *ret)
{
    if (s.n > UINT16_MAX)
        return false;
    ptrdiff_t at = s.n ? str_find(str_from(str_upto(buf_str(&d->bytes), to), from), s) : 0;
    if (at >= 0) {
        ret->at = (uint32_t)(s.n ? from + (size_t)at : 0);
    } else {
        ret->at = (uint32_t)d->bytes.n;
        buf_add_str(&d->bytes, s);
    }
    ret->n = (uint16_t)s.n;
    return true;
}

static bool place(struct draft *d, str s, struct item_mark *ret)
{
    return place_within(d, 0, d->bytes.n, s, ret);
}

/* Owners may be many, so that not each of them can be looked for in all of the text. They stand there one after the other: the
 * next one is near the one before. If not, it is looked for farther away, as long as all that looking costs no more than reading
 * the text a few times. */
static void mark_owners(struct draft *d, struct arena *scratch, const struct json *owners, size_t index)
{
    enum { NEAR = 1024, READINGS = 4 };
    size_t from = 0, reach = d->bytes.n, budget = READINGS * d->bytes.n;
    json_each_item(owners, owner)
    {
        struct item_mark m = {.index = (uint16_t)index};
        str uid = json_get_text(owner, S("uid"));
        size_t end = d->bytes.n, look = reach < budget ? reach : budget;
        if (uid.n == 0 || !place_within(d, from, from + look, uid, &m))
            continue;
        *vec_push(scratch, &d->marks) = m;
        if (m.at < end) {
            budget -= m.at - from;
            from = m.at + m.n;
            reach = NEAR + uid.n;
        } else {
            budget -= look;
            reach = reach > end ? end : reach * 2;
        }
    }
}

/* An object whose label or owner has a text that none can have is found by its name only. */
static void mark_all(struct draft *d, struct arena *scratch, const struct json *object, const struct item_shape *shape)
{
    const struct json *labels = object_labels(object);
    for (size_t i = 0; i < shape->n_labels; i++) {
        struct item_mark m = {.index = (uint16_t)i};
        const struct json *value = json_get(labels, shape->labels[i]);
        if (json_is_str(value) && place(d, json_text(value), &m))
            *vec_push(scratch, &d->marks) = m;
    }
    if (shape->by_owner)
        mark_owners(d, scratch, object_owners(object), shape->n_labels);
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
    struct item *item = xmalloc(sizeof *item + marks + d->bytes.n);
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
    struct json kept;
    if (shape->trim && !shape->keys_only) {
        kept = shape->trim(&scratch, object);
        object = &kept;
    }
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
        struct item_mark m;
        if (!place(&d, fields[i], &m))
            return NULL;
        d.at[i] = m.at;
        d.n[i] = m.n;
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
