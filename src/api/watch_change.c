/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of the store is to those who watch, and the lines it is told in. */
#include "api/watch_internal.h"

#include "api/api_value.h"
#include "json/base64.h"

/* ---- The two sides of a change. ---- */

static struct watch_side *side_now(struct watch_change *c)
{
    if (!c->now.is_read)
        c->now = (struct watch_side){.is_read = true, .item = value_of_event(c->event)};
    return &c->now;
}

static struct watch_side *side_before(struct watch_change *c, struct err *err)
{
    struct watch_side *s = &c->before;
    if (!s->is_read) {
        *s = (struct watch_side){.is_read = true};
        s->code = store_previous(c->api->store, c->event, &s->item, err);
    }
    return s;
}

/* As much of the object as the selectors look at. */
static int side_object(struct watch_change *c, struct watch_side *s, const struct kind *kind, enum read_need need,
                       const struct json **ret, struct err *err)
{
    if (need == READ_NEEDS_OBJECT) {
        int code = s->tree_kind == kind ? 0 : value_decode(c->api, c->arena, kind, &s->item, &s->tree, err);
        s->tree_kind = code < 0 ? NULL : kind;
        *ret = &s->tree;
        return code;
    }
    *ret = &s->metadata_only;
    if (s->has_metadata)
        return 0;
    struct json metadata;
    int code = value_metadata(c->arena, &s->item, &metadata, err);
    if (code < 0)
        return code;
    s->metadata_only = json_obj_sized(c->arena, 1);
    json_add(c->arena, &s->metadata_only, S("metadata"), metadata);
    s->has_metadata = true;
    return 0;
}

static int side_matches(struct watch_change *c, struct watch_side *s, const struct kind *kind,
                        const struct read_options *filter, struct err *err)
{
    const struct json *object;
    int code = s->code < 0 ? s->code : side_object(c, s, kind, filter->need, &object, err);
    return code < 0 ? code : read_options_match(filter, object);
}

/* ---- Its type. ---- */

static const enum watch_type type_of_op[] = {
    [STORE_CREATED] = WATCH_ADDED,
    [STORE_UPDATED] = WATCH_MODIFIED,
    [STORE_DELETED] = WATCH_DELETED,
};

enum watch_type watch_op_type(enum store_op op)
{
    return type_of_op[op];
}

int watch_change_type(struct watch_change *c, const struct kind *kind, const struct read_options *filter,
                      enum watch_type *ret, struct err *err)
{
    *ret = type_of_op[c->event->op];
    if (!filter)
        return 1;
    int now = side_matches(c, side_now(c), kind, filter, err);
    if (now < 0 || c->event->op != STORE_UPDATED)
        return now;
    int before = side_matches(c, side_before(c, err), kind, filter, err);
    if (before < 0)
        return before;
    *ret = now && before ? WATCH_MODIFIED : now ? WATCH_ADDED : WATCH_DELETED;
    return now || before;
}

/* ---- Lines. ---- */

static void open_line(struct buf *b, const char *type)
{
    buf_fmt(b, "{\"type\":\"%s\",\"object\":", type);
}

static void close_line(struct buf *b)
{
    buf_add_str(b, S("}\n"));
}

int watch_item_print(const struct view *view, struct arena *scratch, enum watch_type type,
                     const struct store_item *item, bool with_columns, struct buf *b, struct err *err)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED"};
    size_t start = b->n;
    int code;
    open_line(b, names[type]);
    if (view->as == AS_TABLE) {
        struct json table;
        if ((code = view_whole(view, scratch, item, with_columns, &table, err)) == 0)
            json_encode(b, &table, 0);
    } else {
        code = view_text(view, scratch, item, false, b, err);
    }
    close_line(b);
    if (code < 0)
        b->n = start;
    return code;
}

/* An object that no longer fits is told as it was when it did, with the revision at which it ceased to. */
int watch_change_print(struct watch_change *c, const struct view *view, enum watch_type type, bool with_columns,
                       struct buf *b, struct err *err)
{
    bool has_left = type == WATCH_DELETED && c->event->op != STORE_DELETED;
    struct watch_side *s = has_left ? side_before(c, err) : side_now(c);
    if (s->code < 0)
        return s->code;
    struct store_item item = s->item;
    item.revision = c->event->revision;
    return watch_item_print(view, c->arena, type, &item, with_columns, b, err);
}

void watch_error_print(struct buf *b, const struct json *status)
{
    open_line(b, "ERROR");
    json_encode(b, status, 0);
    close_line(b);
}

/* An empty list of the kind, for clients that would otherwise not know what a list of them looks like. */
static str blueprint(const struct view *view, struct arena *a)
{
    struct json list = json_obj_sized(a, 4);
    bool is_partial = view->as == AS_METADATA;
    bool is_custom = (view->kind->flags & KIND_CUSTOM) && !is_partial;
    struct json kind = json_str(is_partial ? S("PartialObjectMetadataList") : str_of(view->kind->list_kind));
    if (!is_custom)
        json_add(a, &list, S("kind"), kind);
    json_add(a, &list, S("apiVersion"), json_str(is_partial ? view->group_version : view_api_version(a, view->kind)));
    if (!is_custom)
        json_add(a, &list, S("metadata"), json_obj());
    json_add(a, &list, S("items"), is_custom ? json_arr() : json_null());
    if (is_custom)
        json_add(a, &list, S("kind"), kind);
    struct buf text = {.arena = a};
    json_encode(&text, &list, 0);
    buf_add_char(&text, '\n');
    return base64_encode(a, buf_str(&text));
}

void watch_bookmark_print(const struct view *view, rev revision, bool is_initial_end, bool with_columns, struct buf *b)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json annotations = json_obj();
    if (is_initial_end) {
        json_add(&scratch, &annotations, S("k8s.io/initial-events-end"), json_str(S("true")));
        json_add(&scratch, &annotations, S("kubernetes.io/initial-events-list-blueprint"),
                 json_str(blueprint(view, &scratch)));
    }
    struct json object = view_bookmark(view, &scratch, revision, is_initial_end ? &annotations : NULL, with_columns);
    open_line(b, "BOOKMARK");
    json_encode(b, &object, 0);
    close_line(b);
}
