/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_share.h"
#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "oci/digest.h"
#include "package/crd_union_internal.h"
#include "package/semver.h"
#include "schema/crd.h"
#include "schema/schema_keyword.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Who counts first. ---- */

static int by_rank(const struct crd_holder *l, const struct crd_holder *r)
{
    if (l->is_cluster != r->is_cluster)
        return l->is_cluster ? -1 : 1;
    int order = str_cmp(r->approved, l->approved); /* the last first; never is before all times */
    return order ? order : str_cmp(l->since, r->since);
}

static int by_rank_of(const void *l, const void *r)
{
    return by_rank(*(const struct crd_holder *const *)l, *(const struct crd_holder *const *)r);
}

bool crd_holder_counts_first(const struct crd_holder *one, const struct crd_holder *other)
{
    return by_rank(one, other) < 0;
}

static const struct crd_holder **in_order(struct arena *a, const struct crd_holder *holders, size_t n)
{
    const struct crd_holder **sorted = ARENA_ARRAY(a, const struct crd_holder *, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &holders[i];
    qsort(sorted, n, sizeof *sorted, by_rank_of);
    return sorted;
}

/* ---- The definition that serves all. ---- */

static bool is_one(const struct json *l, const struct json *r)
{
    return l == r || json_equal(l, r);
}

/* The one definition that all have; NULL: they differ. */
static const struct json *common(const struct crd_holder *holders, size_t n)
{
    const struct json *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct json *both[] = {holders[i].now, holders[i].old};
        for (size_t k = 0; k < 2; k++) {
            if (both[k] && !first)
                first = both[k];
            if (both[k] && !is_one(first, both[k]))
                return NULL;
        }
    }
    return first;
}

/* While it changes its version, both of an install have to be served. */
static struct json body_of_one(struct arena *a, const struct crd_holder *h)
{
    struct findings ignored = {.arena = a};
    struct crd_source both[] = {{h->package, h->version, h->now}, {h->package, h->old_version, h->old}};
    struct json body;
    assert(h->now || h->old);
    if (!h->old)
        return *h->now;
    if (!h->now)
        return *h->old;
    return crd_union(a, both, 2, &body, &ignored) ? body : crd_extend(a, h->now, h->old);
}

static struct json add_holders(struct arena *a, struct json body, const struct crd_holder *const *sorted, size_t n)
{
    bool has_cluster = sorted[0]->is_cluster;
    for (size_t i = 0; i < n; i++) {
        const struct crd_holder *h = sorted[i];
        if (has_cluster && !h->is_cluster)
            break;
        if (h->now)
            body = crd_extend(a, &body, h->now);
        if (h->old)
            body = crd_extend(a, &body, h->old);
    }
    return body;
}

struct json crd_share_body(struct arena *a, const struct crd_holder *holders, size_t n, const struct json *live,
                           str approved)
{
    assert(n > 0);
    const struct json *same = common(holders, n);
    if (same)
        return *same;
    if (n == 1)
        return body_of_one(a, &holders[0]);
    const struct crd_holder **sorted = in_order(a, holders, n);
    struct json body = live ? *live : body_of_one(a, sorted[0]);
    for (size_t i = n; i-- > 0;) { /* those approved since, the last of them last */
        const struct crd_holder *h = sorted[i];
        if (live && h->now && str_cmp(h->approved, approved) > 0)
            body = crd_extend(a, h->now, &body);
    }
    return add_holders(a, body, sorted, n);
}

/* Fields and versions that are not there at all. */
static void add_absent(struct arena *a, const struct json *body, const struct crd_holder *holder,
                       struct findings *findings)
{
    struct json with = crd_extend(a, body, holder->now);
    struct findings removed = {.arena = a};
    crd_changes(a, &with, body, &removed);
    vec_each(&removed.list, f)
    {
        str text = f->message, end = S("is removed");
        if (str_has_suffix(text, end))
            text.n -= end.n;
        findings_add(findings, S("Conflict"), "%.*sis missing, and %.*s %.*s needs it", STR(text), STR(holder->package),
                     STR(holder->version));
    }
}

void crd_share_missing(struct arena *a, const struct json *body, const struct crd_holder *holder,
                       struct findings *findings)
{
    struct crd_source wide = {S("the definition"), S("in effect"), body};
    struct crd_source narrow = {holder->package, holder->version, holder->now};
    struct findings conflicts = {.arena = a};
    if (!holder->now)
        return;
    (void)crd_serves(a, &wide, &narrow, &conflicts);
    vec_each(&conflicts.list, f)
    {
        findings_add(findings, S("Conflict"), "%.*s", STR(f->message));
    }
    add_absent(a, body, holder, findings);
}

/* ---- One more. ---- */

static bool is_newest(const struct crd_share_request *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (package_version_compare(r->others[i].version, r->self->version) > 0)
            return false;
    }
    return true;
}

static bool has_changes(struct arena *a, const struct json *was, const struct json *now)
{
    struct findings changes = {.arena = a};
    crd_changes(a, was, now, &changes);
    return changes.list.n != 0;
}

/* Whether nothing of what is in effect has to change, but for what self adds. */
static bool is_served(struct arena *a, const struct crd_share_request *r)
{
    struct findings missing = {.arena = a};
    struct json with = crd_extend(a, r->in_effect, r->self->now);
    crd_share_missing(a, &with, r->self, &missing);
    return !missing.list.n && !has_changes(a, r->in_effect, &with);
}

static void check_beside_cluster(struct arena *a, const struct crd_share_request *r, struct findings *findings)
{
    struct findings missing = {.arena = a};
    struct json with = crd_extend(a, r->in_effect, r->self->now);
    crd_share_missing(a, r->in_effect, r->self, &missing);
    if (!missing.list.n && crd_is_same(r->in_effect, &with))
        return;
    findings_add(findings, S("CRDConflict"),
                 "CRD %.*s: belongs to a cluster package, and %.*s %.*s would change it: a namespaced package cannot",
                 STR(json_get_text(json_get(r->in_effect, S("metadata")), S("name"))), STR(r->self->package),
                 STR(r->self->version));
}

/* What only those added who came later: it gives way. */
static bool differs_from_later_ones(struct arena *a, const struct crd_share_request *r)
{
    const struct json **kept = ARENA_ARRAY(a, const struct json *, 2 * r->n + 1);
    const struct json **left = ARENA_ARRAY(a, const struct json *, 2 * r->n);
    struct crd_list keeping = {kept, 0}, leaving = {left, 0};
    if (!r->self->old)
        return false;
    kept[keeping.n++] = r->self->old;
    for (size_t i = 0; i < r->n; i++) {
        const struct crd_holder *h = &r->others[i];
        const struct json *both[] = {h->now, h->old};
        for (size_t k = 0; k < 2; k++) {
            if (both[k] && by_rank(h, r->self) < 0)
                kept[keeping.n++] = both[k];
            else if (both[k])
                left[leaving.n++] = both[k];
        }
    }
    struct json before = crd_without(a, r->in_effect, keeping, leaving);
    struct json after = crd_extend(a, r->self->now, &before);
    return !has_changes(a, &before, &after);
}

bool crd_share_check(struct arena *a, const struct crd_share_request *r, struct findings *findings)
{
    bool has_cluster = false;
    for (size_t i = 0; i < r->n; i++)
        has_cluster |= r->others[i].is_cluster;
    if (has_cluster && !r->self->is_cluster) {
        check_beside_cluster(a, r, findings);
        return false;
    }
    if (r->self->is_cluster && !has_cluster)
        findings_add(findings, S("ApprovalRequired"), "CRD %.*s: its scope namespace becomes environment",
                     STR(json_get_text(json_get(r->in_effect, S("metadata")), S("name"))));
    struct json with = crd_extend(a, r->self->now, r->in_effect);
    struct findings changes = {.arena = a};
    crd_changes(a, r->in_effect, &with, &changes);
    if (!changes.list.n || (!is_newest(r) && is_served(a, r)))
        return false;
    if (differs_from_later_ones(a, r))
        return true;
    vec_each(&changes.list, f)
    {
        findings_add(findings, f->reason, "%.*s", STR(f->message));
    }
    findings->more += changes.more;
    return false;
}

/* ==== Extending and narrowing a definition ==== */

/* A definition with what only another has, and without what only some have. Both walk the schemas of all versions; places are
 * fields, items and entries, as in crd_union_schema.c. */

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

/* ==== Comparing definitions ==== */

/* Whether writing a definition would change anything. */

static int by_name(const void *l, const void *r)
{
    return str_cmp(json_get_text(l, S("name")), json_get_text(r, S("name")));
}

bool crd_one_form(struct arena *a, const struct json *crd, struct json *ret)
{
    const struct kind *kind = kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
    const struct json *spec = json_get(crd, S("spec"));
    assert(kind && kind->shape);
    *ret = json_obj();
    json_add(a, ret, S("spec"), spec ? json_dup(a, spec) : json_null());
    if (strict_decode(a, kind->shape, ret, NULL, NULL, NULL) < 0)
        return false;
    crd_default(a, ret);
    canonical_form(a, kind->shape, ret, 0);
    struct json *versions = json_get_mut(json_get_mut(ret, S("spec")), S("versions"));
    if (json_is_arr(versions) && versions->n)
        qsort(versions->items, versions->n, sizeof *versions->items, by_name);
    return true;
}

bool crd_is_same(const struct json *l, const struct json *r)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json left, right;
    str name = json_get_text(json_get(l, S("metadata")), S("name"));
    if (!str_eq(name, json_get_text(json_get(r, S("metadata")), S("name"))))
        return false;
    return crd_one_form(&scratch, l, &left) && crd_one_form(&scratch, r, &right) && json_equal(&left, &right);
}

str crd_spec_digest(struct arena *a, const struct json *crd)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.arena = &scratch};
    struct json form;
    if (!crd_one_form(&scratch, crd, &form))
        return (str){0};
    buf_fmt(&text, "%.*s ", STR(json_get_text(json_get(crd, S("metadata")), S("name"))));
    json_encode(&text, &form, JSON_SORTED);
    struct oci_digest digest = oci_digest_of(OCI_SHA256, buf_str(&text));
    return oci_digest_hex(a, &digest);
}

/* What existing objects or clients could notice of a change to a definition. Both are compared in their one form, place by place;
 * whatever is not known to be harmless is told. */

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
