/* SPDX-License-Identifier: Apache-2.0 */
#include "api/list.h"

#include "api/api_value.h"
#include "api/label_index.h"
#include "api/schemas.h"
#include "kinds/strategy.h"
#include "json/yaml.h"

#include <assert.h>
#include <stdlib.h>

/* A slice of work is about half a millisecond. */
enum {
    WORK_SLICE = 512 * 1024,
    WORK_KEY = 64,        /* to go past a key */
    WORK_LOOK = 128,      /* to read an object and compare its labels */
    WORK_COPY = 4,        /* bytes that are copied for one: the connection bounds these, too */
    WORK_METADATA = 8192, /* to decode and print metadata */
    WORK_DECODE = 16,     /* for each byte of an object that is decoded */
    WORK_YAML = 64,       /* …and printed as YAML */
    LABELS_A_TIME = 4096, /* compared between two looks at the work */
};

enum part { LIST_PLAN, LIST_HEAD, LIST_ITEMS, LIST_TAIL, LIST_DONE };

struct list {
    struct loop_work turn; /* first: it is what the loop hands back */
    struct list_args args;
    struct api *api;
    struct http_exchange *x; /* to resume; NULL: gone meanwhile */
    bool is_deferred;
    struct arena scratch;
    struct store_list *walk;   /* NULL: the list is about one name and has no walk */
    struct store_list *keys;   /* LIST_PLAN: the walk over the keys alone */
    struct label_walk *labels; /* NULL: objects are read to compare their labels */
    bool is_over;              /* the one name was looked up */
    bool is_custom, metadata_last;
    bool is_copied; /* items are stored as they are sent, but for custom resources of another schema */
    enum part part;
    size_t members;  /* of the outermost object, so far */
    int64_t count;   /* items, so far */
    int64_t planned; /* LIST_PLAN: keys, so far */
    size_t work;     /* in this slice */
    struct buf last_namespace, last_name;
    bool has_more;
    int64_t remaining; /* negative: not known */
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

enum { LIST_PAUSE = 2 };

/* One key of the page, or of those behind it. 1: go on; 0: the end of the page and what is left are known. Objects of one
 * revision are counted once, for the first page; the token of each page has the count for the next. */
static int plan_step(struct list *l, struct err *err)
{
    if (l->planned == l->args.limit && l->args.from.left > l->planned) {
        l->remaining = l->args.from.left - l->planned;
        return 0;
    }
    if (l->planned >= l->args.limit && store_list_knows_rest(l->keys)) {
        int64_t rest = store_list_rest(l->keys, err);
        l->remaining = l->planned - l->args.limit + rest;
        return rest < 0 ? (int)rest : 0;
    }
    struct store_item item = {0};
    int code = store_list_next(l->keys, &item, err);
    l->work += WORK_KEY;
    bool is_counted =
        code > 0 || (l->planned >= l->args.limit && code == ERR_IO && item.name.n); /* damaged, but there */
    if (!is_counted)
        return code;
    if (++l->planned == l->args.limit)
        remember(l, &item);
    return 1;
}

/* Where the page ends and how many objects are behind it, by the keys alone: 0, LIST_PAUSE or a negative code. */
static int plan(struct list *l, struct err *err)
{
    struct store_range range = range_of(l, true);
    if (l->keys == NULL)
        l->keys = store_list_open(l->api->store, &range);
    int code;
    while ((code = plan_step(l, err)) > 0)
        if (l->work >= WORK_SLICE)
            return LIST_PAUSE;
    if (l->remaining < 0 && l->planned > l->args.limit)
        l->remaining = l->planned - l->args.limit;
    l->has_more = l->remaining > 0;
    if (!l->has_more)
        l->remaining = -1;
    store_list_close(l->keys);
    l->keys = NULL;
    return code;
}

/* Whether the text of many objects can be copied at once, as the index of labels keeps it. */
static bool can_copy_blocks(const struct list *l)
{
    const struct read_options *o = &l->args.options;
    return l->is_copied && l->args.limit == 0 && o->fields.n == 0 && o->name.n == 0;
}

static void open_labels(struct list *l, const struct store_range *range)
{
    bool selects_all = selector_is_everything(&l->args.options.labels);
    if (selects_all && !can_copy_blocks(l))
        return;
    struct label_walk_args args = {
        .table = range->table,
        .all_namespaces = range->all_namespaces,
        .namespace = range->namespace,
        .after_namespace = range->after_namespace,
        .after_name = range->after_name,
        .at = l->args.at,
        .selector = selects_all ? NULL : &l->args.options.labels,
    };
    l->labels = label_walk_new(l->api->labels, &args);
}

static void open_walks(struct list *l)
{
    struct store_range range = range_of(l, false);
    l->walk = store_list_open(l->api->store, &range);
    open_labels(l, &range);
}

static void close_walks(struct list *l)
{
    store_list_close(l->walk);
    store_list_close(l->keys);
    label_walk_free(l->labels);
    l->walk = l->keys = NULL;
    l->labels = NULL;
}

static bool is_yaml_table(const struct list *l)
{
    return l->args.form == LIST_YAML && l->args.view.as == AS_TABLE;
}

struct list *list_new(const struct list_args *args)
{
    struct list *l = xcalloc(1, sizeof *l);
    bool selects_all = read_options_select_all(&args->options);
    l->args = *args;
    l->api = args->view.api;
    l->remaining = -1;
    l->is_custom = (args->view.kind->flags & KIND_CUSTOM) && args->view.as == AS_OBJECT;
    l->metadata_last = l->is_custom || (args->limit && !selects_all && !is_yaml_table(l));
    l->is_copied = args->form == LIST_JSON && args->view.as == AS_OBJECT &&
                   strategy_storage_kind(args->view.kind) == args->view.kind;
    if (!is_single(&args->options))
        open_walks(l);
    l->part = l->walk && args->limit && (selects_all || is_yaml_table(l)) ? LIST_PLAN : LIST_HEAD;
    return l;
}

void list_free(struct list *l)
{
    if (l == NULL)
        return;
    close_walks(l);
    arena_done(&l->scratch);
    buf_done(&l->last_namespace);
    buf_done(&l->last_name);
    l->x = NULL;
    if (!l->is_deferred)
        free(l);
}

static int look_up_one(struct list *l, struct store_item *ret, struct err *err)
{
    if (l->is_over)
        return 0;
    l->is_over = true;
    const struct read_options *o = &l->args.options;
    int code =
        store_get_at(l->api->store, api_table(l->api, l->args.view.kind), o->namespace, o->name, l->args.at, ret, err);
    return code == ERR_NOT_FOUND ? 0 : code < 0 ? code : 1;
}

/* Moves the walk to the next object whose labels may match. 0: no other can. *ret_is_match: its labels need not be compared
 * if it has the key that was found. */
static int skip_by_labels(struct list *l, str *ret_namespace, str *ret_name, bool *ret_is_match)
{
    size_t looks = LABELS_A_TIME;
    enum label_found found = label_walk_next(l->labels, ret_namespace, ret_name, &looks);
    l->work += (LABELS_A_TIME - looks) * (WORK_KEY / 8);
    *ret_is_match = found == LABEL_MATCH;
    if (found == LABEL_END)
        return 0;
    if (found == LABEL_UNKNOWN) {
        label_walk_free(l->labels);
        l->labels = NULL;
    } else {
        store_list_skip(l->walk, *ret_namespace, *ret_name);
    }
    return 1;
}

/* 1 and an object; *ret_has_labels: its labels are known to match. 0 at the end, or a negative code. */
static int look(struct list *l, struct store_item *ret, bool *ret_has_labels, struct err *err)
{
    str namespace = {0}, name = {0};
    bool is_match = false;
    *ret_has_labels = false;
    l->work += WORK_LOOK;
    if (l->walk == NULL)
        return look_up_one(l, ret, err);
    if (l->labels && !skip_by_labels(l, &namespace, &name, &is_match))
        return 0;
    int code = store_list_next(l->walk, ret, err);
    *ret_has_labels = code > 0 && is_match && str_eq(ret->name, name) && str_eq(ret->namespace, namespace);
    return code;
}

/* 1, 0 or a negative code. */
static int match(struct list *l, const struct store_item *item, bool has_labels, struct err *err)
{
    const struct read_options *o = &l->args.options;
    if (has_labels && o->fields.n == 0 && o->name.n == 0)
        return 1;
    if (o->need == READ_NEEDS_OBJECT)
        l->work += item->value.n * WORK_DECODE;
    return read_options_match_item(o, l->api, &l->scratch, l->args.view.kind, item, err);
}

/* 1 and the next item that is selected, 0 at the end of the page, LIST_PAUSE, or a negative code. */
static int next(struct list *l, struct store_item *ret, struct err *err)
{
    bool selects_all = read_options_select_all(&l->args.options), has_labels;
    int code;
    if (l->args.limit && l->count == l->args.limit) {
        if (selects_all || l->walk == NULL)
            return 0;
        code = store_list_next(l->walk, ret, err); /* any object behind the page makes another one */
        l->has_more = code > 0;
        return code < 0 ? code : 0;
    }
    for (;;) {
        arena_reset(&l->scratch);
        if (l->work >= WORK_SLICE)
            return LIST_PAUSE;
        if ((code = look(l, ret, &has_labels, err)) <= 0)
            return code;
        if ((code = match(l, ret, has_labels, err)) == 0)
            continue;
        if (code > 0 && l->args.limit && !selects_all)
            remember(l, ret);
        return code;
    }
}

/* The end of a page with selectors, for the form whose metadata comes before the items: the page is walked twice. */
static int plan_selected(struct list *l, struct err *err)
{
    struct store_item item;
    int code;
    while ((code = next(l, &item, err)) == 1)
        l->count++;
    if (code != 0)
        return code;
    l->count = 0;
    close_walks(l);
    open_walks(l);
    return 0;
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

static bool is_pretty(const struct list *l)
{
    return l->args.form == LIST_PRETTY;
}

static bool is_yaml(const struct list *l)
{
    return l->args.form == LIST_YAML;
}

static void add_value(struct list *l, struct buf *b, const struct json *v, int depth)
{
    if (!is_pretty(l) || !api_can_indent(v)) {
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
    if (is_pretty(l))
        buf_add_str(b, S("\n  "));
    json_encode_str(b, key);
    buf_add_str(b, is_pretty(l) ? S(": ") : S(":"));
}

static void add_member(struct list *l, struct buf *b, str key, struct json v)
{
    if (is_yaml(l)) {
        struct json only = json_obj_sized(&l->scratch, 1);
        json_add(&l->scratch, &only, key, v);
        yaml_encode(b, &only);
        return;
    }
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

static str items_key(const struct list *l)
{
    return l->args.view.as == AS_TABLE ? S("rows") : S("items");
}

/* Rows come behind the metadata, items in front of it: keys of YAML are sorted. */
static void add_yaml_head(struct list *l, struct buf *b)
{
    add_member(l, b, S("apiVersion"), list_api_version(l));
    if (l->args.view.as != AS_TABLE)
        return;
    add_member(l, b, S("columnDefinitions"), view_columns(&l->args.view, &l->scratch));
    add_member(l, b, S("kind"), list_kind(l));
    add_member(l, b, S("metadata"), list_metadata(l));
}

static void add_head(struct list *l, struct buf *b)
{
    arena_reset(&l->scratch);
    if (is_yaml(l)) {
        add_yaml_head(l, b);
        return;
    }
    if (!l->is_custom)
        add_member(l, b, S("kind"), list_kind(l));
    add_member(l, b, S("apiVersion"), list_api_version(l));
    if (!l->metadata_last)
        add_member(l, b, S("metadata"), list_metadata(l));
    if (l->args.view.as == AS_TABLE)
        add_member(l, b, S("columnDefinitions"), view_columns(&l->args.view, &l->scratch));
    add_key(l, b, items_key(l));
}

static void add_yaml_item(struct list *l, struct buf *b, const struct json *tree)
{
    if (l->count++ == 0) {
        buf_add_str(b, items_key(l));
        buf_add_str(b, S(":\n"));
    }
    if (api_can_indent(tree)) {
        yaml_encode_item(b, tree);
    } else {
        buf_add_str(b, S("- "));
        json_encode(b, tree, 0);
        buf_add_char(b, '\n');
    }
}

static size_t item_work(const struct list *l, const struct store_item *item)
{
    const struct view *v = &l->args.view;
    size_t factor = is_yaml(l) ? WORK_YAML : WORK_DECODE;
    if (v->is_light)
        return WORK_METADATA / WORK_DECODE * factor;
    if (l->is_copied && (!l->is_custom || value_is_text(l->api, v->kind, item)))
        return item->value.n / WORK_COPY;
    return item->value.n * factor;
}

static int add_item(struct list *l, struct buf *b, const struct store_item *item, struct err *err)
{
    bool is_bare = l->args.view.as == AS_OBJECT && !l->is_custom;
    const struct clock *clock = &l->api->options.clock;
    l->work += item_work(l, item);
    if (l->args.form == LIST_JSON) {
        buf_add_char(b, l->count++ ? ',' : '[');
        return view_text(&l->args.view, &l->scratch, item, is_bare, b, err);
    }
    struct json tree;
    int code = view_tree(&l->args.view, &l->scratch, item, clock_seconds(clock), &tree, err);
    if (code < 0)
        return code;
    if (is_bare) {
        json_remove(&tree, S("kind"));
        json_remove(&tree, S("apiVersion"));
    }
    if (is_yaml(l)) {
        add_yaml_item(l, b, &tree);
    } else {
        buf_add_str(b, l->count++ ? S(",\n    ") : S("[\n    "));
        add_value(l, b, &tree, 2);
    }
    return 0;
}

/* For the index of labels. Only text that is stored like this is kept. */
static bool print_text(void *ctx, const struct store_item *item, struct buf *b)
{
    struct list *l = ctx;
    struct err err;
    l->work += WORK_LOOK + item->value.n / WORK_COPY;
    return value_is_text(l->api, l->args.view.kind, item) &&
           value_print(l->api, b, l->args.view.kind, item, !l->is_custom, &err) == 0;
}

/* True: the text of a whole block of objects was added. */
static bool add_block(struct list *l, struct buf *b)
{
    if (l->labels == NULL || !can_copy_blocks(l) || l->work >= WORK_SLICE)
        return false;
    struct label_print print = {.print = print_text, .ctx = l};
    struct label_block block;
    if (l->is_custom) {
        print.generation = schemas_generation(l->api->schemas, l->args.view.kind);
        print.version_hash = json_hash(str_of(l->args.view.kind->version));
    }
    if (!label_walk_block(l->labels, &print, &block))
        return false;
    buf_add_char(b, l->count ? ',' : '[');
    buf_add_str(b, block.text);
    l->count += (int64_t)block.n;
    l->work += block.text.n / WORK_COPY;
    store_list_pass(l->walk, block.last_namespace, block.last_name);
    return true;
}

static struct json no_items(const struct list *l)
{
    return l->args.view.as == AS_METADATA ? json_null() : json_arr(); /* as Go prints it */
}

static void add_yaml_tail(struct list *l, struct buf *b)
{
    if (l->count == 0)
        add_member(l, b, items_key(l), no_items(l));
    if (l->args.view.as != AS_TABLE)
        add_member(l, b, S("kind"), list_kind(l));
    if (l->args.view.as != AS_TABLE)
        add_member(l, b, S("metadata"), list_metadata(l));
}

static void add_tail(struct list *l, struct buf *b)
{
    arena_reset(&l->scratch);
    if (is_yaml(l)) {
        add_yaml_tail(l, b);
        return;
    }
    if (l->count == 0) {
        struct json none = no_items(l);
        json_encode(b, &none, 0);
    } else {
        buf_add_str(b, is_pretty(l) ? S("\n  ]") : S("]"));
    }
    if (l->is_custom)
        add_member(l, b, S("kind"), list_kind(l));
    if (l->metadata_last)
        add_member(l, b, S("metadata"), list_metadata(l));
    buf_add_str(b, is_pretty(l) ? S("\n}\n") : S("}\n"));
}

/* ---- Filling. ---- */

static void take_turn(struct loop_work *work)
{
    struct list *l = (struct list *)work;
    l->is_deferred = false;
    l->work = 0;
    if (l->x)
        http_resume(l->x);
    else
        free(l);
}

static enum http_fill step_aside(struct list *l, struct http_exchange *x)
{
    l->x = x;
    l->is_deferred = true;
    l->turn.fn = take_turn;
    loop_defer(l->api->options.loop, &l->turn);
    return HTTP_WAIT;
}

/* Up to room bytes of items: 1, 0 at the end of the page, LIST_PAUSE or a negative code. */
static int add_items(struct list *l, struct buf *out, size_t room, struct err *err)
{
    size_t start = out->n;
    struct store_item item;
    int code = 1;
    while (code == 1 && out->n - start < room)
        if (!add_block(l, out) && (code = next(l, &item, err)) == 1)
            code = add_item(l, out, &item, err) < 0 ? err->code : 1;
    return code;
}

enum http_fill list_fill(struct list *l, struct http_exchange *x, struct buf *out, size_t room, struct err *err)
{
    size_t start = out->n;
    int code = 0;
    if (l->is_deferred)
        return HTTP_WAIT;
    if (l->part == LIST_PLAN) {
        code = read_options_select_all(&l->args.options) ? plan(l, err) : plan_selected(l, err);
        l->part = code == 0 ? LIST_HEAD : LIST_PLAN;
    }
    if (l->part == LIST_HEAD) {
        add_head(l, out);
        l->part = LIST_ITEMS;
    }
    if (l->part == LIST_ITEMS) {
        size_t made = out->n - start;
        code = add_items(l, out, made < room ? room - made : 1, err);
        if (code == 0)
            l->part = LIST_TAIL;
    }
    if (code < 0)
        return HTTP_ABORT;
    if (code == LIST_PAUSE)
        return step_aside(l, x);
    if (l->part != LIST_TAIL)
        return HTTP_MORE;
    add_tail(l, out);
    l->part = LIST_DONE;
    return HTTP_END;
}
