/* SPDX-License-Identifier: Apache-2.0 */
/* What existing objects or clients could notice of a change to a definition. Both are compared in their one form, place by place;
 * whatever is not known to be harmless is told. */
#include "package/crd_share.h"
#include "package/crd_union_parts.h"
#include "schema/schema_keyword.h"

#include <assert.h>
#include <stdlib.h>

#define REASON S("ApprovalRequired")

static void tell_change(struct crd_union *u, const struct crd_place *at, str what, const struct json *was,
                        const struct json *now)
{
    bool is_new = json_is_null(was), is_gone = json_is_null(now);
    str text = is_new    ? str_fmt(&u->scratch, "%.*s %.*s is added", STR(what), STR(crd_shown(u, now)))
               : is_gone ? str_fmt(&u->scratch, "%.*s %.*s is removed", STR(what), STR(crd_shown(u, was)))
                         : str_fmt(&u->scratch, "%.*s %.*s becomes %.*s", STR(what), STR(crd_shown(u, was)),
                                   STR(crd_shown(u, now)));
    crd_tell_change(u, REASON, at, text);
}

/* ---- Values. ---- */

static int by_value(const void *l, const void *r)
{
    return json_compare(l, r);
}

static struct json sorted_list(struct arena *a, const struct json *list)
{
    struct json copy = json_dup(a, list);
    if (copy.n)
        qsort(copy.items, copy.n, sizeof *copy.items, by_value);
    return copy;
}

static bool is_set(str key)
{
    return str_eq(key, S("required")) || str_eq(key, S("enum")) || str_eq(key, S("x-kubernetes-list-map-keys")) ||
           str_eq(key, S("shortNames")) || str_eq(key, S("categories"));
}

static bool is_same(struct crd_union *u, str key, const struct json *was, const struct json *now)
{
    if (json_equal(was, now))
        return true;
    if (!is_set(key) || !json_is_arr(was) || !json_is_arr(now) || json_len(was) != json_len(now))
        return false;
    struct json l = sorted_list(&u->scratch, was), r = sorted_list(&u->scratch, now);
    return json_equal(&l, &r);
}

struct skipped {
    const str *p;
    size_t n;
};

static bool is_skipped(str key, struct skipped list)
{
    for (size_t i = 0; i < list.n; i++) {
        if (str_eq(key, list.p[i]))
            return true;
    }
    return false;
}

/* All members but those skipped; prefix: of their names in messages. */
static void compare_members(struct crd_union *u, const struct crd_place *at, const struct json *was,
                            const struct json *now, const char *prefix, struct skipped skipped)
{
    json_each_member(was, m)
    {
        const struct json *other = json_get(now, json_key(m));
        if (!is_skipped(json_key(m), skipped) && !is_same(u, json_key(m), &m->val, other))
            tell_change(u, at, str_fmt(&u->scratch, "%s%.*s", prefix, STR(json_key(m))), &m->val, other);
    }
    json_each_member(now, m)
    {
        if (!is_skipped(json_key(m), skipped) && json_is_null(json_get(was, json_key(m))))
            tell_change(u, at, str_fmt(&u->scratch, "%s%.*s", prefix, STR(json_key(m))), NULL, &m->val);
    }
}

/* ---- Schemas. ---- */

static void compare_schemas(struct crd_union *u, const struct crd_place *at, const struct json *was,
                            const struct json *now, bool is_root);

/* apiVersion, kind and metadata of a resource: that they are there need not be said. */
static bool says_nothing(const struct json *schema)
{
    json_each_member(schema, m)
    {
        if (!str_eq(json_key(m), S("type")) && !str_eq(json_key(m), S("description")))
            return false;
    }
    return true;
}

static void tell_new_field(struct crd_union *u, const struct crd_place *at, const struct json *around,
                           const struct json *schema, bool is_implied)
{
    const struct json *value = json_get(schema, S("default"));
    if (is_implied) {
        if (!says_nothing(schema))
            crd_tell_change(u, REASON, at, S("is restricted"));
    } else if (crd_is_open(around)) {
        crd_tell_change(u, REASON, at, S("anything was allowed, and is restricted"));
    } else if (!json_is_null(value)) {
        crd_tell_change(u, REASON, at, str_fmt(&u->scratch, "is new, with the default %.*s", STR(crd_shown(u, value))));
    }
}

static void compare_properties(struct crd_union *u, const struct crd_place *at, const struct json *was,
                               const struct json *now, bool is_root)
{
    const struct json *before = json_get(was, S("properties")), *after = json_get(now, S("properties"));
    struct json_index old JSON_INDEX_SCOPE = {0}, new JSON_INDEX_SCOPE = {0};
    json_index_init(&old, before);
    json_index_init(&new, after);
    json_each_member(before, m)
    {
        struct crd_place place = {at, CRD_FIELD, json_key(m)};
        const struct json_member *other = json_index_find(&new, json_key(m));
        if (other)
            compare_schemas(u, &place, &m->val, &other->val,
                            json_true(json_get(&m->val, S("x-kubernetes-embedded-resource"))));
        else if (!(is_root && crd_is_implied(json_key(m)) && says_nothing(&m->val)))
            crd_tell_change(u, REASON, &place, S("is removed"));
    }
    json_each_member(after, m)
    {
        struct crd_place place = {at, CRD_FIELD, json_key(m)};
        if (!json_index_find(&old, json_key(m)))
            tell_new_field(u, &place, was, &m->val, is_root && crd_is_implied(json_key(m)));
    }
}

static void compare_below(struct crd_union *u, const struct crd_place *at, const struct json *was,
                          const struct json *now, str keyword)
{
    const struct json *before = json_get(was, keyword), *after = json_get(now, keyword);
    struct crd_place place = {at, str_eq(keyword, S("items")) ? CRD_ITEM : CRD_ENTRY, {0}};
    if (json_is_obj(before) && json_is_obj(after))
        compare_schemas(u, &place, before, after, json_true(json_get(before, S("x-kubernetes-embedded-resource"))));
    else if (!json_equal(before, after))
        tell_change(u, at, keyword, before, after);
}

static void compare_schemas(struct crd_union *u, const struct crd_place *at, const struct json *was,
                            const struct json *now, bool is_root)
{
    static const str skipped[] = {S_INIT("properties"),   S_INIT("items"), S_INIT("additionalProperties"),
                                  S_INIT("description"),  S_INIT("title"), S_INIT("example"),
                                  S_INIT("externalDocs"), S_INIT("id"),    S_INIT("$schema")};
    compare_members(u, at, was, now, "", (struct skipped){skipped, COUNT(skipped)});
    compare_properties(u, at, was, now, is_root);
    compare_below(u, at, was, now, S("items"));
    compare_below(u, at, was, now, S("additionalProperties"));
}

/* ---- The definition. ---- */

static void compare_versions(struct crd_union *u, const struct json *was, const struct json *now)
{
    static const str skipped[] = {S_INIT("schema")};
    const struct json *before = json_dig(was, "spec.versions"), *after = json_dig(now, "spec.versions");
    json_each_item(before, it)
    {
        u->version = json_get_text(it, S("name"));
        const struct json *other = crd_find_version(now, u->version);
        if (!other) {
            crd_tell_change(u, REASON, NULL, S("is removed"));
            continue;
        }
        compare_members(u, NULL, it, other, "", (struct skipped){skipped, 1});
        compare_schemas(u, NULL, json_dig(it, "schema.openAPIV3Schema"), json_dig(other, "schema.openAPIV3Schema"),
                        true);
    }
    json_each_item(after, it)
    {
        u->version = json_get_text(it, S("name"));
        if (!crd_find_version(was, u->version) && json_true(json_get(it, S("storage"))))
            crd_tell_change(u, REASON, NULL, S("becomes the storage version"));
    }
    u->version = (str){0};
}

void crd_changes(struct arena *a, const struct json *was, const struct json *now, struct findings *changes)
{
    static const str of_spec[] = {S_INIT("versions"), S_INIT("names")};
    struct crd_union u = {.arena = a, .conflicts = changes};
    struct json before, after;
    u.name = json_get_text(json_get(now, S("metadata")), S("name"));
    bool is_read = crd_one_form(&u.scratch, was, &before) && crd_one_form(&u.scratch, now, &after);
    if (!is_read) {
        crd_tell_change(&u, REASON, NULL, S("its definition cannot be compared"));
    } else {
        const struct json *l = json_get(&before, S("spec")), *r = json_get(&after, S("spec"));
        compare_members(&u, NULL, l, r, "spec.", (struct skipped){of_spec, 2});
        compare_members(&u, NULL, json_get(l, S("names")), json_get(r, S("names")), "spec.names.", (struct skipped){0});
        compare_versions(&u, &before, &after);
    }
    arena_done(&u.scratch);
}
