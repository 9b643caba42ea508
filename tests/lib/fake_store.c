/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fake_internal.h"

#include <assert.h>
#include <stdio.h>

#include "object/meta.h"
#include "object/object.h"

/* ---- Keys. ---- */

str fake_table(struct arena *a, const struct kind *kind)
{
    return str_fmt(a, "%s/%s", kind->group, kind->plural);
}

str fake_key(struct arena *a, str table, str namespace, str name)
{
    return str_fmt(a, "%.*s\1%.*s\1%.*s", STR(table), STR(namespace), STR(name));
}

size_t fake_lower_bound(const struct fake *f, str key)
{
    size_t low = 0, high = f->objects.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (str_cmp(f->objects.p[mid].key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct fake_object *fake_find(const struct fake *f, str key)
{
    size_t i = fake_lower_bound(f, key);
    return i < f->objects.n && str_eq(f->objects.p[i].key, key) ? &f->objects.p[i] : NULL;
}

struct json fake_tree(struct arena *a, str text)
{
    struct json tree;
    int code = json_decode(a, text, NULL, NULL, &tree, NULL);
    assert(code == 0); /* it is our own */
    (void)code;
    return tree;
}

/* ---- Changes. ---- */

static bool is_crd(str key)
{
    return str_has_prefix(key, S("apiextensions.k8s.io/customresourcedefinitions\1"));
}

static str next_text(struct fake *f, struct arena *a, struct json *object)
{
    struct buf text = {.arena = &f->arena};
    f->rev++;
    json_set(a, meta_of(a, object), S("resourceVersion"), json_str(str_fmt(a, "%llu", (unsigned long long)f->rev)));
    json_encode(&text, object, 0);
    return buf_str(&text);
}

void fake_store(struct fake *f, struct arena *a, str key, struct json *object)
{
    size_t i = fake_lower_bound(f, key);
    str text = next_text(f, a, object), was = {0};
    bool is_there = i < f->objects.n && str_eq(f->objects.p[i].key, key);
    if (is_there) {
        was = f->objects.p[i].text;
    } else {
        (void)vec_push(&f->arena, &f->objects);
        memmove(f->objects.p + i + 1, f->objects.p + i, (f->objects.n - 1 - i) * sizeof *f->objects.p);
        f->objects.p[i].key = str_dup(&f->arena, key);
    }
    f->objects.p[i].text = text;
    *vec_push(&f->arena, &f->events) =
        (struct fake_event){.rev = f->rev, .key = f->objects.p[i].key, .text = text, .was = was};
    if (is_crd(key))
        (void)registry_put_crd(f->registry, object, NULL);
    fake_watches_wake(f);
}

void fake_drop(struct fake *f, struct arena *a, str key)
{
    size_t i = fake_lower_bound(f, key);
    struct fake_object o = f->objects.p[i];
    struct json object = fake_tree(a, o.text);
    memmove(f->objects.p + i, f->objects.p + i + 1, (f->objects.n - 1 - i) * sizeof *f->objects.p);
    f->objects.n--;
    str text = next_text(f, a, &object);
    *vec_push(&f->arena, &f->events) =
        (struct fake_event){.rev = f->rev, .key = o.key, .text = text, .was = o.text, .is_deletion = true};
    if (is_crd(key))
        (void)registry_remove_crd(f->registry, object_name(&object));
    fake_watches_wake(f);
}

/* ---- As if others changed them. ---- */

uint64_t fake_put(struct fake *f, const char *text)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object;
    struct err err;
    struct random random = random_of_seed(&f->random);
    int code = json_decode(&a, str_of(text), NULL, NULL, &object, &err);
    if (code < 0)
        fprintf(stderr, "fake_put: %s\n", err.msg);
    assert(code == 0);
    const struct kind *kind = registry_by_body(f->registry, object_api_version(&object), object_kind(&object));
    assert(kind && object_name(&object).n && kind->namespaced == (object_namespace(&object).n > 0));
    str key = fake_key(&a, fake_table(&a, kind), object_namespace(&object), object_name(&object));
    const struct fake_object *old = fake_find(f, key);
    struct json was = old ? fake_tree(&a, old->text) : json_null();
    struct json *meta = meta_of(&a, &object);
    if (object_uid(&object).n == 0)
        json_set(&a, meta, S("uid"), json_str(old ? object_uid(&was) : meta_generate_uid(&a, &random)));
    if (json_is_null(json_get(meta, S("creationTimestamp"))))
        json_set(&a, meta, S("creationTimestamp"), meta_now(&a, &f->options.clock));
    fake_store(f, &a, key, &object);
    return f->rev;
}

static str key_of(struct fake *f, struct arena *a, const char *path)
{
    struct fake_place place;
    bool is_known = fake_route(f, a, str_of(path), &place);
    assert(is_known && place.name.n);
    (void)is_known;
    return fake_key(a, place.table, place.namespace, place.name);
}

bool fake_remove(struct fake *f, const char *path)
{
    struct arena a ARENA_SCOPE = {0};
    str key = key_of(f, &a, path);
    if (fake_find(f, key) == NULL)
        return false;
    fake_drop(f, &a, key);
    return true;
}

bool fake_get(struct fake *f, struct arena *a, const char *path, struct json *ret)
{
    const struct fake_object *o = fake_find(f, key_of(f, a, path));
    if (o)
        *ret = fake_tree(a, o->text);
    return o != NULL;
}

uint64_t fake_revision(const struct fake *f)
{
    return f->rev;
}

void fake_expire(struct fake *f)
{
    f->oldest = f->rev;
}
