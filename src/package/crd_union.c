/* SPDX-License-Identifier: Apache-2.0 */
#include "package/crd_union.h"
#include "package/crd_union_internal.h"
#include "package/semver.h"

#include <assert.h>
#include <stdlib.h>

/* The union of definitions, but for their schemas. */

enum { SELECTABLE_MAX = 8 }; /* fields of one version, by the API server */

/* ---- Age ---- */

static int by_age(const void *left, const void *right)
{
    const struct crd_source *l = *(const struct crd_source *const *)left, *r = *(const struct crd_source *const *)right;
    int order = package_version_compare(l->version, r->version);
    if (order == 0)
        order = str_cmp(l->package, r->package);
    return order ? order : json_compare(l->crd, r->crd);
}

/* The sources in order, each once. */
static void put_in_order(struct crd_union *u, const struct crd_source *sources, size_t n)
{
    const struct crd_source **sorted = ARENA_ARRAY(&u->scratch, const struct crd_source *, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &sources[i];
    qsort(sorted, n, sizeof *sorted, by_age);
    u->sources = sorted;
    u->n = 0;
    for (size_t i = 0; i < n; i++)
        if (u->n == 0 || by_age(&sorted[u->n - 1], &sorted[i]) != 0)
            sorted[u->n++] = sorted[i];
}

/* ---- What must be equal ---- */

static bool is_preserving(const struct json *crd)
{
    return json_true(json_dig(crd, "spec.preserveUnknownFields"));
}

static void check_outside(struct crd_union *u, size_t older, size_t newer)
{
    static const char *const fields[] = {"spec.group",        "spec.scope",          "spec.names.kind",
                                         "spec.names.plural", "spec.names.singular", "spec.names.listKind",
                                         "spec.conversion"};
    const struct json *l = u->sources[older]->crd, *r = u->sources[newer]->crd;
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct json *a = json_dig(l, fields[i]), *b = json_dig(r, fields[i]);
        if (!json_equal(a, b))
            crd_tell(u, NULL, fields[i], older, crd_shown(u, a), newer, crd_shown(u, b));
    }
    if (is_preserving(l) != is_preserving(r))
        crd_tell(u, NULL, "spec.preserveUnknownFields", older, is_preserving(l) ? S("true") : S("false"), newer,
                 is_preserving(r) ? S("true") : S("false"));
}

/* ---- Versions ---- */

static const struct json *versions_of(const struct crd_union *u, size_t source)
{
    return json_dig(u->sources[source]->crd, "spec.versions");
}

static const struct json *find_version(const struct json *versions, str name)
{
    json_each_item(versions, it)
    {
        if (str_eq(json_get_text(it, S("name")), name))
            return it;
    }
    return NULL;
}

static str storage_of(const struct crd_union *u, size_t source)
{
    const struct json *versions = versions_of(u, source);
    json_each_item(versions, it)
    {
        if (json_true(json_get(it, S("storage"))))
            return json_get_text(it, S("name"));
    }
    return (str){0};
}

/* Objects are read in the version they were stored in, and lose what its schema does not have. */
static void check_storage(struct crd_union *u, size_t older, size_t newer)
{
    str was = storage_of(u, older), now = storage_of(u, newer);
    if (!str_eq(was, now))
        crd_tell(u, NULL, "storage version", older, was, newer, now);
}

/* Whoever uses a version goes on using it: all that are newer than one that serves it must serve it. */
static void check_served(struct crd_union *u)
{
    size_t server = u->n;
    for (size_t i = 0; i < u->n; i++) {
        const struct json *version = find_version(versions_of(u, i), u->version);
        bool is_served = json_true(json_get(version, S("served")));
        if (is_served)
            server = i;
        else if (server < u->n)
            crd_tell(u, NULL, NULL, server, S("served"), i, version ? S("not served") : S("removed"));
    }
}

/* ---- Subresources and selectable fields ---- */

static const struct json *subresource(const struct crd_side *side, str name)
{
    const struct json *v = json_get(json_get(side->schema, S("subresources")), name);
    return json_is_obj(v) ? v : NULL;
}

static void check_status(struct crd_union *u, const struct crd_side *older, const struct crd_side *newer)
{
    bool was = subresource(older, S("status")), now = subresource(newer, S("status"));
    if (was != now)
        crd_tell(u, NULL, "subresource status", older->source, was ? S("on") : S("off"), newer->source,
                 now ? S("on") : S("off"));
}

/* That of the newest which has one; NULL: nobody. */
static const struct json *unite_scale(struct crd_union *u, struct crd_sides sides)
{
    const struct crd_side *last = NULL;
    for (size_t i = 0; i < sides.n; i++) {
        const struct json *scale = subresource(&sides.p[i], S("scale"));
        if (scale == NULL)
            continue;
        const struct json *before = last ? subresource(last, S("scale")) : scale;
        if (last && !json_equal(before, scale))
            crd_tell(u, NULL, "subresource scale", last->source, crd_shown(u, before), sides.p[i].source,
                     crd_shown(u, scale));
        last = &sides.p[i];
    }
    return last ? subresource(last, S("scale")) : NULL;
}

static bool has_path(const struct json *fields, str path)
{
    json_each_item(fields, it)
    {
        if (str_eq(json_get_text(it, S("jsonPath")), path))
            return true;
    }
    return false;
}

/* Of all, those of the newest first. */
static struct json unite_selectable(struct crd_union *u, struct crd_sides sides)
{
    struct json all = json_arr();
    for (size_t i = sides.n; i-- > 0;) {
        const struct json *fields = json_get(sides.p[i].schema, S("selectableFields"));
        json_each_item(fields, it)
        {
            if (has_path(&all, json_get_text(it, S("jsonPath"))))
                continue;
            if (all.n == SELECTABLE_MAX) {
                crd_tell(u, NULL, "selectableFields", sides.p[i].source, crd_shown(u, it), sides.p[sides.n - 1].source,
                         S("one too many with those"));
                return all;
            }
            json_push(u->arena, &all, *it);
        }
    }
    return all;
}

/* ---- One version ---- */

static struct crd_sides sides_of(struct crd_union *u)
{
    struct crd_sides sides = {ARENA_ARRAY(&u->scratch, struct crd_side, u->n), 0};
    for (size_t i = 0; i < u->n; i++) {
        const struct json *version = find_version(versions_of(u, i), u->version);
        if (version)
            sides.p[sides.n++] = (struct crd_side){i, version};
    }
    return sides;
}

/* From the versions to their schemas. */
static struct crd_sides schemas_of(struct crd_union *u, struct crd_sides versions)
{
    struct crd_sides schemas = {ARENA_ARRAY(&u->scratch, struct crd_side, versions.n), versions.n};
    for (size_t i = 0; i < versions.n; i++) {
        const struct json *schema = json_dig(versions.p[i].schema, "schema.openAPIV3Schema");
        assert(json_is_obj(schema) && "crd_check has seen to that");
        schemas.p[i] = (struct crd_side){versions.p[i].source, schema};
    }
    return schemas;
}

static struct json unite_version(struct crd_union *u)
{
    struct crd_sides sides = sides_of(u);
    const struct json *newest = sides.p[sides.n - 1].schema;
    struct arena *a = u->arena;
    check_served(u);
    if (sides.n == 1)
        return *newest;
    for (size_t i = 1; i < sides.n; i++)
        check_status(u, &sides.p[i - 1], &sides.p[i]);
    const struct json *scale = unite_scale(u, sides);
    struct json all = json_dup_top(a, newest), selectable = unite_selectable(u, sides), schema = json_obj();
    json_add(a, &schema, S("openAPIV3Schema"), crd_union_schema(u, schemas_of(u, sides)));
    json_set(a, &all, S("schema"), schema);
    if (scale) {
        const struct json *given = json_get(newest, S("subresources"));
        struct json subresources = json_is_obj(given) ? json_dup_top(a, given) : json_obj();
        json_set(a, &subresources, S("scale"), *scale);
        json_set(a, &all, S("subresources"), subresources);
    }
    if (selectable.n)
        json_set(a, &all, S("selectableFields"), selectable);
    return all;
}

/* All versions that anybody has, those of the newest first. */
static struct json unite_versions(struct crd_union *u)
{
    struct json all = json_arr();
    for (size_t i = u->n; i-- > 0;) {
        const struct json *versions = versions_of(u, i);
        json_each_item(versions, it)
        {
            u->version = json_get_text(it, S("name"));
            if (!find_version(&all, u->version))
                json_push(u->arena, &all, unite_version(u));
        }
    }
    u->version = (str){0};
    return all;
}

/* ---- The whole ---- */

static struct json unite(struct crd_union *u)
{
    static const str meta[] = {S_INIT("name"), S_INIT("labels"), S_INIT("annotations")};
    const struct json *newest = u->sources[u->n - 1]->crd;
    struct arena *a = u->arena;
    struct json all = json_obj(), metadata = json_obj(), spec = json_dup_top(a, json_get(newest, S("spec")));
    for (size_t i = 1; i < u->n; i++) {
        check_outside(u, i - 1, i);
        check_storage(u, i - 1, i);
    }
    json_set(a, &spec, S("versions"), unite_versions(u));
    for (size_t i = 0; i < COUNT(meta); i++) {
        const struct json *v = json_get(json_get(newest, S("metadata")), meta[i]);
        if (!json_is_null(v))
            json_add(a, &metadata, meta[i], *v);
    }
    json_add(a, &all, S("apiVersion"), json_str(S("apiextensions.k8s.io/v1")));
    json_add(a, &all, S("kind"), json_str(S("CustomResourceDefinition")));
    json_add(a, &all, S("metadata"), metadata);
    json_add(a, &all, S("spec"), spec);
    return all;
}

bool crd_serves(struct arena *a, const struct crd_source *wide, const struct crd_source *narrow,
                struct findings *conflicts)
{
    const struct crd_source *sources[] = {narrow, wide}; /* as if wide were the newer one */
    struct crd_union u = {.arena = a, .sources = sources, .n = 2, .conflicts = conflicts};
    u.name = json_get_text(json_get(wide->crd, S("metadata")), S("name"));
    (void)unite(&u);
    arena_done(&u.scratch);
    return u.n_conflicts == 0;
}

bool crd_union(struct arena *a, const struct crd_source *sources, size_t n, struct json *ret,
               struct findings *conflicts)
{
    assert(n > 0);
    struct crd_union u = {.arena = a, .conflicts = conflicts};
    put_in_order(&u, sources, n);
    u.name = json_get_text(json_get(u.sources[0]->crd, S("metadata")), S("name"));
    struct json all = unite(&u);
    bool is_good = u.n_conflicts == 0;
    if (is_good)
        *ret = all;
    arena_done(&u.scratch);
    return is_good;
}

/* ---- Messages. ---- */

/* Sentences about conflicts. Everything in them that a package chose is cut to a length that can be read. */

enum { SHOWN_MAX = 80, PLACE_MAX = 300 };

str crd_shown(struct crd_union *u, const struct json *v)
{
    struct buf b = {.arena = &u->scratch};
    if (json_is_str(v))
        buf_add_quoted(&b, json_text(v));
    else
        json_encode(&b, v ? v : &(struct json){0}, JSON_SORTED);
    return finding_shown(&u->scratch, buf_str(&b), SHOWN_MAX);
}

static bool is_plain_name(str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = char_is_alnum(c);
        if (!letter && c != '-' && c != '_' && c != '$')
            return false;
    }
    return name.n > 0;
}

static void format_place(struct buf *b, const struct crd_place *at)
{
    if (at == NULL)
        return;
    format_place(b, at->up);
    switch (at->step) {
    case CRD_ITEM:
        buf_add_str(b, S("[]"));
        return;
    case CRD_ENTRY:
        buf_add_str(b, S("[*]"));
        return;
    case CRD_FIELD:
        break;
    }
    if (!is_plain_name(at->field)) {
        buf_add_char(b, '[');
        buf_add_quoted(b, at->field);
        buf_add_char(b, ']');
        return;
    }
    if (b->n)
        buf_add_char(b, '.');
    buf_add_str(b, at->field);
}

/* "CRD things.example.org: v1: spec.size: " */
static void format_head(struct crd_union *u, struct buf *b, const struct crd_place *at)
{
    buf_fmt(b, "CRD %.*s: ", STR(u->name));
    if (u->version.n)
        buf_fmt(b, "%.*s: ", STR(u->version));
    if (at) {
        struct buf place = {.arena = &u->scratch};
        format_place(&place, at);
        buf_fmt(b, "%.*s: ", STR(finding_shown(&u->scratch, buf_str(&place), PLACE_MAX)));
    }
}

void crd_tell_change(struct crd_union *u, str reason, const struct crd_place *at, str text)
{
    struct buf b = {.arena = &u->scratch};
    format_head(u, &b, at);
    u->n_conflicts++;
    findings_add(u->conflicts, reason, "%.*s%.*s", STR(buf_str(&b)), STR(text));
}

void crd_tell(struct crd_union *u, const struct crd_place *at, const char *what, size_t older, str was, size_t newer,
              str now)
{
    const struct crd_source *l = u->sources[older], *r = u->sources[newer];
    bool is_one = str_eq(l->package, r->package);
    u->n_conflicts++;
    struct buf b = {.arena = &u->scratch};
    format_head(u, &b, at);
    if (what)
        buf_fmt(&b, "%s: ", what);
    buf_fmt(&b, "%.*s in %.*s %.*s, %.*s in ", STR(was), STR(l->package), STR(l->version), STR(now));
    if (!is_one)
        buf_fmt(&b, "%.*s ", STR(r->package));
    buf_add_str(&b, r->version);
    findings_add(u->conflicts, S("CRDConflict"), "%.*s", STR(buf_str(&b)));
}
