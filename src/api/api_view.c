/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_view.h"

#include "api/api_value.h"
#include "base/budget.h"
#include "kinds/columns.h"
#include "object/field_error.h"
#include "object/object.h"
#include "object/status.h"

enum { ROW_STEPS = 200000 }; /* for the cells of one row; about four milliseconds */

static const struct columns *columns_of(const struct kind *kind)
{
    return kind->columns ? kind->columns : &columns_default;
}

static bool include_of(str text, enum view_include *ret)
{
    *ret = str_eq(text, S("Object")) ? VIEW_OBJECT : str_eq(text, S("None")) ? VIEW_NONE : VIEW_METADATA;
    return *ret != VIEW_METADATA || text.n == 0 || str_eq(text, S("Metadata"));
}

bool view_of_request(struct api_request *r, const struct accept *accept, struct view *ret)
{
    const struct kind *kind = r->route.kind;
    *ret = (struct view){.api = r->api, .kind = kind, .as = accept->as, .group_version = accept->group_version};
    ret->is_light = accept->as == AS_METADATA;
    if (accept->as != AS_TABLE)
        return true;
    str include = query_get(&r->query, S("includeObject"));
    if (!include_of(include, &ret->include)) {
        struct json status = status_bad_request(
            r->arena, str_fmt(r->arena,
                              "Unable to convert to Table as requested: includeObject: Invalid value: %.*s: must be "
                              "'Metadata', 'Object', 'None', or empty",
                              STR(field_quote(r->arena, include))));
        api_refuse(r, &status);
        return false;
    }
    ret->is_light = ret->include != VIEW_OBJECT && columns_of_metadata(columns_of(kind));
    return true;
}

str view_api_version(struct arena *a, const struct kind *kind)
{
    if (kind->group[0] == 0)
        return str_of(kind->version);
    return str_fmt(a, "%s/%s", kind->group, kind->version);
}

str view_go_type(struct arena *a, const struct kind *kind, bool is_list)
{
    if (kind->flags & KIND_CUSTOM)
        return is_list ? S("*unstructured.UnstructuredList") : S("*unstructured.Unstructured");
    str package, rest;
    if (!str_cut(str_of(kind->group), '.', &package, &rest))
        package = str_of(kind->group);
    if (package.n == 0 || str_eq(package, S("events")))
        package = S("core");
    return str_fmt(a, "*%.*s.%s", STR(package), is_list ? kind->list_kind : kind->kind);
}

/* ---- Trees. ---- */

static struct json partial(const struct view *v, struct arena *a, const struct json *metadata)
{
    struct json o = json_obj_sized(a, 3);
    json_add(a, &o, S("kind"), json_str(S("PartialObjectMetadata")));
    json_add(a, &o, S("apiVersion"), json_str(v->group_version));
    json_add(a, &o, S("metadata"), *metadata);
    return o;
}

/* In lists and watches there is no task that could be suspended: cells that take too long are empty there. */
static struct json cells(const struct view *v, struct arena *a, const struct json *object, int64_t now)
{
    struct budget own, *outer = budget_swap(NULL);
    budget_init(&own, ROW_STEPS);
    budget_swap(&own);
    budget_hold();
    if (outer)
        budget_swap(outer);
    struct json list = columns_cells(a, columns_of(v->kind), object, now);
    budget_swap(outer);
    return list;
}

/* `object` need not be more than its metadata when the view is light. */
static struct json row(const struct view *v, struct arena *a, const struct json *object, int64_t now)
{
    struct json o = json_obj_sized(a, 2);
    json_add(a, &o, S("cells"), cells(v, a, object, now));
    struct json carried = json_null();
    if (v->include == VIEW_OBJECT)
        carried = *object;
    else if (v->include == VIEW_METADATA)
        carried = partial(v, a, json_get(object, S("metadata")));
    json_add(a, &o, S("object"), carried);
    return o;
}

static int64_t now_of(const struct view *v)
{
    const struct clock *clock = &v->api->options.clock;
    return clock_seconds(clock);
}

int view_tree(const struct view *v, struct arena *a, const struct store_item *item, int64_t now, struct json *ret,
              struct err *err)
{
    if (!v->is_light) {
        int code = value_decode(v->api, a, v->kind, item, ret, err);
        if (code == 0 && v->as == AS_TABLE)
            *ret = row(v, a, ret, now);
        return code;
    }
    struct json metadata;
    int code = value_metadata(a, item, &metadata, err);
    if (code < 0)
        return code;
    struct json object = json_obj_sized(a, 1);
    json_add(a, &object, S("metadata"), metadata);
    *ret = v->as == AS_TABLE ? row(v, a, &object, now) : partial(v, a, &metadata);
    return 0;
}

int view_text(const struct view *v, struct arena *scratch, const struct store_item *item, bool bare, struct buf *b,
              struct err *err)
{
    if (v->as == AS_OBJECT)
        return value_print(v->api, b, v->kind, item, bare, err);
    struct json tree;
    int code = view_tree(v, scratch, item, now_of(v), &tree, err);
    if (code == 0)
        json_encode(b, &tree, 0);
    return code;
}

struct json view_columns(const struct view *v, struct arena *a)
{
    return columns_define(a, columns_of(v->kind));
}

static struct json revision_text(struct arena *a, rev revision)
{
    return json_str(str_fmt(a, "%llu", (unsigned long long)revision));
}

/* A Table of one row. Without columns where those were told before. */
static struct json table_of(const struct view *v, struct arena *a, struct json revision, bool with_columns,
                            struct json only)
{
    struct json table = json_obj_sized(a, 5), metadata = json_obj_sized(a, 1), rows = json_arr();
    if (json_text(&revision).n) /* a dry run has none */
        json_add(a, &metadata, S("resourceVersion"), revision);
    json_push(a, &rows, only);
    json_add(a, &table, S("kind"), json_str(S("Table")));
    json_add(a, &table, S("apiVersion"), json_str(v->group_version));
    json_add(a, &table, S("metadata"), metadata);
    json_add(a, &table, S("columnDefinitions"), with_columns ? view_columns(v, a) : json_null());
    json_add(a, &table, S("rows"), rows);
    return table;
}

int view_whole(const struct view *v, struct arena *a, const struct store_item *item, bool with_columns,
               struct json *ret, struct err *err)
{
    struct json seen;
    int code = view_tree(v, a, item, now_of(v), &seen, err);
    if (code == 0)
        *ret = v->as == AS_TABLE ? table_of(v, a, revision_text(a, item->revision), with_columns, seen) : seen;
    return code;
}

struct json view_object(const struct view *v, struct arena *a, const struct json *object)
{
    const struct json *metadata = json_get(object, S("metadata"));
    if (v->as == AS_OBJECT)
        return *object;
    if (v->as == AS_METADATA)
        return partial(v, a, metadata);
    return table_of(v, a, json_str(object_rv(object)), true, row(v, a, object, now_of(v)));
}

/* ---- Bookmarks. ---- */

struct json view_bookmark(const struct view *v, struct arena *a, rev revision, const struct json *annotations,
                          bool with_columns)
{
    struct json object = json_obj_sized(a, 3), metadata = json_obj_sized(a, 3);
    json_add(a, &metadata, S("resourceVersion"), revision_text(a, revision));
    if (!(v->kind->flags & KIND_CUSTOM) || v->as != AS_OBJECT)
        json_add(a, &metadata, S("creationTimestamp"), json_null());
    if (annotations)
        json_add(a, &metadata, S("annotations"), *annotations);
    if (v->as == AS_METADATA)
        return partial(v, a, &metadata);
    json_add(a, &object, S("kind"), json_str(str_of(v->kind->kind)));
    json_add(a, &object, S("apiVersion"), json_str(view_api_version(a, v->kind)));
    json_add(a, &object, S("metadata"), metadata);
    if (v->as == AS_OBJECT)
        return object;
    return table_of(v, a, revision_text(a, revision), with_columns, row(v, a, &object, now_of(v)));
}
