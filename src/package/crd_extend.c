/* SPDX-License-Identifier: Apache-2.0 */
/* A definition with what only another has, and without what only some have. Both walk the schemas of all versions; places are
 * fields, items and entries, as in crd_union_schema.c. */
#include "package/crd_share.h"

#include "package/crd_union_parts.h"

bool crd_is_open(const struct json *schema)
{
    const struct json *entries = json_get(schema, S("additionalProperties"));
    return json_true(json_get(schema, S("x-kubernetes-preserve-unknown-fields"))) ||
           (!json_is_null(entries) && !(entries->type == JSON_BOOL && !json_true(entries)));
}

bool crd_is_implied(str field)
{
    return str_eq(field, S("apiVersion")) || str_eq(field, S("kind")) || str_eq(field, S("metadata"));
}

const struct json *crd_find_version(const struct json *crd, str name)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, it)
    {
        if (str_eq(json_get_text(it, S("name")), name))
            return it;
    }
    return NULL;
}

static bool is_resource(const struct json *schema)
{
    return json_true(json_get(schema, S("x-kubernetes-embedded-resource")));
}

/* ---- With what only another has. ---- */

static struct json extend_schema(struct arena *a, const struct json *base, const struct json *more, bool is_root);

static struct json extend_properties(struct arena *a, const struct json *base, const struct json *more, bool is_root)
{
    const struct json *ours = json_get(base, S("properties")), *theirs = json_get(more, S("properties"));
    struct json_index known JSON_INDEX_SCOPE = {0}, wanted JSON_INDEX_SCOPE = {0};
    struct json all = json_obj_sized(a, json_len(ours) + json_len(theirs));
    json_index_init(&known, ours);
    json_index_init(&wanted, theirs);
    json_each_member(ours, m)
    {
        const struct json_member *other = json_index_find(&wanted, json_key(m));
        bool stays = !other || (is_root && crd_is_implied(json_key(m)));
        json_add(a, &all, json_key(m), stays ? m->val : extend_schema(a, &m->val, &other->val, is_resource(&m->val)));
    }
    json_each_member(theirs, m)
    {
        if (!json_index_find(&known, json_key(m)) && !(is_root && crd_is_implied(json_key(m))))
            json_add(a, &all, json_key(m), m->val);
    }
    return all;
}

static struct json extend_schema(struct arena *a, const struct json *base, const struct json *more, bool is_root)
{
    static const char *const below[] = {"items", "additionalProperties"};
    if (!json_is_obj(base) || !json_is_obj(more) ||
        !str_eq(json_get_text(base, S("type")), json_get_text(more, S("type"))))
        return *base;
    struct json all = json_dup_top(a, base);
    if (!crd_is_open(base) && json_len(json_get(more, S("properties"))))
        json_set(a, &all, S("properties"), extend_properties(a, base, more, is_root));
    for (size_t i = 0; i < COUNT(below); i++) {
        const struct json *ours = json_get(base, str_of(below[i])), *theirs = json_get(more, str_of(below[i]));
        if (json_is_obj(ours) && json_is_obj(theirs))
            json_set(a, &all, str_of(below[i]), extend_schema(a, ours, theirs, is_resource(ours)));
    }
    return all;
}

static struct json with_schema(struct arena *a, const struct json *version, struct json root)
{
    struct json all = json_dup_top(a, version), schema = json_obj();
    json_add(a, &schema, S("openAPIV3Schema"), root);
    json_set(a, &all, S("schema"), schema);
    return all;
}

static struct json with_versions(struct arena *a, const struct json *crd, struct json versions)
{
    struct json all = json_dup_top(a, crd), spec = json_dup_top(a, json_get(crd, S("spec")));
    json_set(a, &spec, S("versions"), versions);
    json_set(a, &all, S("spec"), spec);
    return all;
}

struct json crd_extend(struct arena *a, const struct json *base, const struct json *more)
{
    const struct json *ours = json_dig(base, "spec.versions"), *theirs = json_dig(more, "spec.versions");
    struct json versions = json_arr_sized(a, json_len(ours) + json_len(theirs));
    json_each_item(ours, it)
    {
        const struct json *other = crd_find_version(more, json_get_text(it, S("name")));
        const struct json *root = json_dig(it, "schema.openAPIV3Schema"),
                          *more_root = json_dig(other, "schema.openAPIV3Schema");
        json_push(a, &versions, other ? with_schema(a, it, extend_schema(a, root, more_root, true)) : *it);
    }
    json_each_item(theirs, it)
    {
        if (crd_find_version(base, json_get_text(it, S("name"))))
            continue;
        struct json added = json_dup_top(a, it);
        json_set(a, &added, S("storage"), json_bool(false)); /* there is one already */
        json_push(a, &versions, added);
    }
    return with_versions(a, base, versions);
}

/* ---- Without what only some have. ---- */

struct schemas {
    const struct json **p;
    size_t n;
};

static struct schemas schemas_below(struct arena *a, struct schemas of, str keyword, str field)
{
    struct schemas below = {ARENA_ARRAY(a, const struct json *, of.n), 0};
    for (size_t i = 0; i < of.n; i++) {
        const struct json *v = json_get(of.p[i], keyword);
        if (field.n)
            v = json_get(v, field);
        if (!json_is_null(v))
            below.p[below.n++] = v;
    }
    return below;
}

static struct json restrict_schema(struct arena *a, const struct json *schema, struct schemas kept, struct schemas left)
{
    static const char *const below[] = {"items", "additionalProperties"};
    const struct json *properties = json_get(schema, S("properties"));
    struct json all = json_dup_top(a, schema);
    if (json_is_obj(properties)) {
        struct json fields = json_obj_sized(a, json_len(properties));
        json_each_member(properties, m)
        {
            struct schemas keeping = schemas_below(a, kept, S("properties"), json_key(m));
            struct schemas leaving = schemas_below(a, left, S("properties"), json_key(m));
            if (keeping.n || !leaving.n)
                json_add(a, &fields, json_key(m), restrict_schema(a, &m->val, keeping, leaving));
        }
        json_set(a, &all, S("properties"), fields);
    }
    for (size_t i = 0; i < COUNT(below); i++) {
        const struct json *v = json_get(schema, str_of(below[i]));
        if (json_is_obj(v))
            json_set(a, &all, str_of(below[i]),
                     restrict_schema(a, v, schemas_below(a, kept, str_of(below[i]), (str){0}),
                                     schemas_below(a, left, str_of(below[i]), (str){0})));
    }
    return all;
}

static struct schemas roots_of(struct arena *a, const struct json *const *crds, size_t n, str version)
{
    struct schemas roots = {ARENA_ARRAY(a, const struct json *, n), 0};
    for (size_t i = 0; i < n; i++) {
        const struct json *v = crd_find_version(crds[i], version);
        if (v)
            roots.p[roots.n++] = json_dig(v, "schema.openAPIV3Schema");
    }
    return roots;
}

struct json crd_without(struct arena *a, const struct json *crd, struct crd_list kept, struct crd_list left)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    struct json all = json_arr_sized(a, json_len(versions));
    json_each_item(versions, it)
    {
        str name = json_get_text(it, S("name"));
        struct schemas keeping = roots_of(a, kept.p, kept.n, name), leaving = roots_of(a, left.p, left.n, name);
        if (keeping.n || !leaving.n)
            json_push(a, &all,
                      with_schema(a, it, restrict_schema(a, json_dig(it, "schema.openAPIV3Schema"), keeping, leaving)));
    }
    return with_versions(a, crd, all);
}
