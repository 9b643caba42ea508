/* SPDX-License-Identifier: Apache-2.0 */
#include "api/list.h"

#include "api/value.h"

#include <assert.h>
#include <stdlib.h>

enum { LOOKS_PER_FILL = 2000 }; /* objects looked at before others have their turn */

enum part { LIST_HEAD, LIST_ITEMS, LIST_TAIL, LIST_DONE };

struct list {
    struct loop_work turn; /* first: it is what the loop hands back */
    struct list_args args;
    struct api *api;
    struct http_exchange *x; /* to resume; NULL: gone meanwhile */
    bool is_deferred;
    struct arena scratch;
    struct store_list *walk; /* NULL: the list is about one name and has no walk */
    bool is_over;            /* the one name was looked up */
    bool is_custom, metadata_last;
    enum part part;
    size_t members; /* of the outermost object, so far */
    int64_t count;  /* items, so far */
    int looks;      /* in this fill */
    struct buf last_namespace, last_name;
    bool has_more;
    int64_t remaining; /* negative: not told */
};

/* ---- The walk. ---- */

/* Objects of the cluster are asked for as those of all namespaces, so that counting them costs nothing. */
static struct store_range range_of(const struct list *l, bool keys_only)
{
    const struct read_options *o = &l->args.options;
    return (struct store_range){
        .table = api_table(l->api, l->args.view.kind),
        .all_namespaces = o->all_namespaces || !l->args.view.kind->namespaced,
        .namespace = o->namespace,
        .after_namespace = o->all_namespaces ? l->args.from.namespace : o->namespace,
        .after_name = l->args.from.name,
        .at = l->args.at,
        .keys_only = keys_only,
    };
}

static bool is_single(const struct read_options *o)
{
    return o->name.n && !o->all_namespaces;
}

static void remember(struct list *l, const struct store_item *item)
{
    l->last_namespace.n = l->last_name.n = 0;
    buf_add_str(&l->last_namespace, item->namespace);
    buf_add_str(&l->last_name, item->name);
}

/* How many objects there are behind the n of this page, at which the walk stands. Those of one revision are counted once, for the first
 * page; each page tells the next what is left. */
static int64_t count_rest(const struct list *l, struct store_list *walk, int64_t n, struct err *err)
{
    int64_t left = l->args.from.left;
    return left > n ? left - n : store_list_rest(walk, err);
}

/* Where the page ends, by the keys alone. */
static int plan(struct list *l, struct err *err)
{
    struct store_range range = range_of(l, true);
    struct store_list *walk = store_list_open(l->api->store, &range);
    struct store_item item;
    int64_t n = 0;
    int code = 1;
    while (n < l->args.limit && (code = store_list_next(walk, &item, err)) > 0)
        if (++n == l->args.limit)
            remember(l, &item);
    if (code > 0)
        l->remaining = count_rest(l, walk, n, err);
    store_list_close(walk);
    l->has_more = code > 0 && l->remaining > 0;
    if (code > 0 && l->remaining < 0)
        return (int)l->remaining;
    return code < 0 ? code : 0;
}

struct list *list_new(const struct list_args *args)
{
    struct list *l = calloc(1, sizeof *l);
    if (l == NULL)
        abort();
    l->args = *args;
    l->api = args->view.api;
    l->remaining = -1;
    l->is_custom = (args->view.kind->flags & KIND_CUSTOM) && args->view.as == AS_OBJECT;
    l->metadata_last = l->is_custom || (args->limit && !read_options_select_all(&args->options));
    if (!is_single(&args->options)) {
        struct store_range range = range_of(l, false);
        l->walk = store_list_open(l->api->store, &range);
    }
    return l;
}

void list_free(struct list *l)
{
    if (l == NULL)
        return;
    if (l->walk)
        store_list_close(l->walk);
    l->walk = NULL;
    arena_done(&l->scratch);
    buf_done(&l->last_namespace);
    buf_done(&l->last_name);
    l->x = NULL;
    if (!l->is_deferred)
        free(l);
}

static int look(struct list *l, struct store_item *ret, struct err *err)
{
    if (l->walk)
        return store_list_next(l->walk, ret, err);
    if (l->is_over)
        return 0;
    l->is_over = true;
    const struct read_options *o = &l->args.options;
    int code =
        store_get_at(l->api->store, api_table(l->api, l->args.view.kind), o->namespace, o->name, l->args.at, ret, err);
    return code == ERR_NOT_FOUND ? 0 : code < 0 ? code : 1;
}

enum { LIST_PAUSE = 2 };

/* 1 and the next item that is selected, 0 at the end of the page, LIST_PAUSE, or a negative code. */
static int next(struct list *l, struct store_item *ret, struct err *err)
{
    bool is_full = l->args.limit && l->count == l->args.limit;
    if (is_full && !l->metadata_last)
        return 0;
    for (;;) {
        arena_reset(&l->scratch);
        if (l->looks++ >= LOOKS_PER_FILL)
            return LIST_PAUSE;
        int code = look(l, ret, err);
        if (code <= 0)
            return code;
        if (is_full) { /* one more than fits: that is all it is good for */
            l->has_more = true;
            if (!read_options_select_all(&l->args.options))
                return 0;
            int64_t rest = count_rest(l, l->walk, l->count + 1, err);
            l->remaining = 1 + rest;
            return rest < 0 ? (int)rest : 0;
        }
        code = read_options_match_item(&l->args.options, l->api, &l->scratch, l->args.view.kind, ret, err);
        if (code == 0)
            continue;
        if (code > 0 && l->args.limit && l->metadata_last)
            remember(l, ret);
        return code;
    }
}

/* ---- Text. ---- */

static void add_indented(struct buf *b, str text, int depth)
{
    for (size_t i = 0; i < text.n; i++) {
        buf_add_char(b, text.p[i]);
        for (int k = 0; text.p[i] == '\n' && k < depth; k++)
            buf_add_str(b, S("  "));
    }
}

static void add_value(struct list *l, struct buf *b, const struct json *v, int depth)
{
    if (!l->args.is_pretty) {
        json_encode(b, v, 0);
        return;
    }
    struct buf text = {.arena = &l->scratch};
    json_encode(&text, v, JSON_PRETTY);
    add_indented(b, buf_str(&text), depth);
}

static void add_key(struct list *l, struct buf *b, str key)
{
    buf_add_char(b, l->members++ ? ',' : '{');
    if (l->args.is_pretty)
        buf_add_str(b, S("\n  "));
    json_encode_str(b, key);
    buf_add_str(b, l->args.is_pretty ? S(": ") : S(":"));
}

static void add_member(struct list *l, struct buf *b, str key, struct json v)
{
    add_key(l, b, key);
    add_value(l, b, &v, 1);
}

static struct json list_kind(struct list *l)
{
    const struct view *v = &l->args.view;
    return json_str(v->as == AS_TABLE      ? S("Table")
                    : v->as == AS_METADATA ? S("PartialObjectMetadataList")
                                           : str_of(v->kind->list_kind));
}

static struct json list_api_version(struct list *l)
{
    const struct view *v = &l->args.view;
    return json_str(v->as == AS_OBJECT ? view_api_version(&l->scratch, v->kind) : v->group_version);
}

static struct json list_metadata(struct list *l)
{
    struct arena *a = &l->scratch;
    struct json m = json_obj_sized(a, 3);
    struct json revision = json_str(str_fmt(a, "%llu", (unsigned long long)l->args.at));
    str token = {0};
    if (l->has_more) {
        struct page_token t = {
            .revision = (int64_t)l->args.at,
            .namespace = buf_str(&l->last_namespace),
            .name = buf_str(&l->last_name),
            .left = l->remaining > 0 ? l->remaining : 0,
        };
        token = page_token_format(a, &t, l->args.options.all_namespaces);
    }
    if (!l->is_custom)
        json_add(a, &m, S("resourceVersion"), revision);
    if (token.n || l->is_custom)
        json_add(a, &m, S("continue"), json_str(token));
    if (l->has_more && l->remaining >= 0)
        json_add(a, &m, S("remainingItemCount"), json_int(l->remaining));
    if (l->is_custom)
        json_add(a, &m, S("resourceVersion"), revision);
    return m;
}

static int add_head(struct list *l, struct buf *b, struct err *err)
{
    arena_reset(&l->scratch);
    if (l->args.limit && !l->metadata_last && l->walk) {
        int code = plan(l, err);
        if (code < 0)
            return code;
    }
    if (!l->is_custom)
        add_member(l, b, S("kind"), list_kind(l));
    add_member(l, b, S("apiVersion"), list_api_version(l));
    if (!l->metadata_last)
        add_member(l, b, S("metadata"), list_metadata(l));
    if (l->args.view.as == AS_TABLE)
        add_member(l, b, S("columnDefinitions"), view_columns(&l->args.view, &l->scratch));
    add_key(l, b, l->args.view.as == AS_TABLE ? S("rows") : S("items"));
    return 0;
}

static int add_item(struct list *l, struct buf *b, const struct store_item *item, struct err *err)
{
    bool is_bare = l->args.view.as == AS_OBJECT && !l->is_custom;
    const struct clock *clock = &l->api->options.clock;
    buf_add_char(b, l->count++ ? ',' : '[');
    if (!l->args.is_pretty)
        return view_text(&l->args.view, &l->scratch, item, is_bare, b, err);
    struct json tree;
    int code = view_tree(&l->args.view, &l->scratch, item, clock->wall_ns(clock->ctx) / 1000000000, &tree, err);
    if (code < 0)
        return code;
    if (is_bare) {
        json_remove(&tree, S("kind"));
        json_remove(&tree, S("apiVersion"));
    }
    buf_add_str(b, S("\n    "));
    add_value(l, b, &tree, 2);
    return 0;
}

static void add_tail(struct list *l, struct buf *b)
{
    arena_reset(&l->scratch);
    if (l->count == 0) /* a quirk of Go's that clients have learnt to live with */
        buf_add_str(b, l->args.view.as == AS_METADATA ? S("null") : S("[]"));
    else
        buf_add_str(b, l->args.is_pretty ? S("\n  ]") : S("]"));
    if (l->is_custom)
        add_member(l, b, S("kind"), list_kind(l));
    if (l->metadata_last)
        add_member(l, b, S("metadata"), list_metadata(l));
    buf_add_str(b, l->args.is_pretty ? S("\n}\n") : S("}\n"));
}

/* ---- Filling. ---- */

static void take_turn(struct loop_work *work)
{
    struct list *l = (struct list *)work;
    l->is_deferred = false;
    if (l->x)
        http_resume(l->x);
    else
        free(l);
}

static enum http_fill step_aside(struct list *l, struct http_exchange *x, bool has_written)
{
    if (has_written)
        return HTTP_MORE;
    l->x = x;
    if (!l->is_deferred) {
        l->is_deferred = true;
        l->turn.fn = take_turn;
        loop_defer(l->api->options.loop, &l->turn);
    }
    return HTTP_WAIT;
}

enum http_fill list_fill(struct list *l, struct http_exchange *x, struct buf *out, size_t room, struct err *err)
{
    size_t start = out->n;
    struct store_item item;
    l->looks = 0;
    if (l->part == LIST_HEAD) {
        if (add_head(l, out, err) < 0)
            return HTTP_ABORT;
        l->part = LIST_ITEMS;
    }
    while (l->part == LIST_ITEMS && out->n - start < room) {
        int code = next(l, &item, err);
        if (code == LIST_PAUSE)
            return step_aside(l, x, out->n > start);
        if (code == 0)
            l->part = LIST_TAIL;
        if (code < 0 || (code > 0 && add_item(l, out, &item, err) < 0))
            return HTTP_ABORT;
    }
    if (l->part != LIST_TAIL)
        return HTTP_MORE;
    add_tail(l, out);
    l->part = LIST_DONE;
    return HTTP_END;
}

int list_tree(struct list *l, struct arena *a, struct json *ret, struct err *err)
{
    const struct view *v = &l->args.view;
    const struct clock *clock = &l->api->options.clock;
    int64_t now = clock->wall_ns(clock->ctx) / 1000000000;
    struct json items = json_arr();
    struct store_item item;
    size_t bytes = 0;
    int code;
    l->metadata_last = true; /* nothing was written yet: the walk itself finds the end of the page */
    while (l->looks = 0, (code = next(l, &item, err)) != 0) {
        if (code == LIST_PAUSE)
            continue; /* there is no turn to give: it is made in one go */
        bytes += code > 0 ? item.value.n : 0;
        if (bytes > LIST_TREE_MAX)
            return err_set(err, ERR_TOO_LARGE, "the list is too large to be sent at once: ask for pages, or for JSON");
        struct json tree;
        if (code > 0)
            code = view_tree(v, a, &item, now, &tree, err);
        if (code < 0)
            return code;
        if (v->as == AS_OBJECT && !l->is_custom) {
            json_remove(&tree, S("kind"));
            json_remove(&tree, S("apiVersion"));
        }
        json_push(a, &items, tree);
        l->count++;
    }
    struct json whole = json_obj_sized(a, 5), kind = list_kind(l), api_version = list_api_version(l);
    struct json metadata = list_metadata(l);
    json_add(a, &whole, S("kind"), json_dup(a, &kind));
    json_add(a, &whole, S("apiVersion"), json_dup(a, &api_version));
    json_add(a, &whole, S("metadata"), json_dup(a, &metadata));
    if (v->as == AS_TABLE)
        json_add(a, &whole, S("columnDefinitions"), view_columns(v, a));
    json_add(a, &whole, v->as == AS_TABLE ? S("rows") : S("items"),
             l->count == 0 && v->as == AS_METADATA ? json_null() : items);
    *ret = whole;
    return 0;
}
