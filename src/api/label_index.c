/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   table ──► blocks, sorted     [ a/x a/y … │ b/x … │ … ]     each entry: key, revision, label set
 *                                                                                      │
 *             sets, by text      {"app":"shop"} (1,200 entries)  {"app":"blog"} … ◄────┘
 *
 * The index is made in slices, by a walk that reads the newest view in each of them. Events are applied meanwhile, so an entry
 * always shows the newest state, whichever of the two came first.
 */
#include "api/label_index.h"

#include "api/api_value.h"

#include <assert.h>
#include <stdlib.h>

enum {
    BLOCK_ENTRIES = 64,
    BUILD_OBJECTS = 500, /* in one slice */
    MEMO_SETS = 256,     /* whose result a walk remembers */
    PLAIN_MAX = 20000,   /* tables with more objects get no index for lists without a selector */
};
#define UNUSED_NS (600 * NS_PER_S)
#define PLAIN_NS (60 * NS_PER_S) /* between two lists without a selector: the second one makes the index */

struct label_set {
    size_t refs;
    size_t n;
    char text[];
};

struct entry {
    struct key *key;
    struct label_set *set; /* NULL: labels that selector_matches_text does not take */
    rev revision;
};

struct key {
    size_t n;
    char p[]; /* namespace/name */
};

/* Objects of a block as one text. */
struct block_text {
    uint32_t generation, version_hash;
    size_t n;
    char p[];
};

struct block {
    size_t n;
    struct block_text *text; /* NULL: not printed since the last change */
    bool is_long;            /* its text is not kept */
    struct entry p[BLOCK_ENTRIES];
};

struct table {
    struct loop_work turn; /* first: it is what the loop hands back */
    struct label_index *ix;
    uint32_t id;
    bool is_whole;
    bool is_too_large; /* there is no index, and will be none until the table is much smaller */
    uint64_t too_large_count;
    rev floor;           /* states before this revision may hold objects that were deleted since */
    uint64_t epoch;      /* another one after each time it was dropped */
    uint64_t generation; /* counts changes */
    int64_t used;        /* monotonic */
    int64_t listed;      /* the last list without a selector; 0: none */
    size_t walks;
    size_t text_bytes;
    struct block **blocks;
    size_t n_blocks, cap_blocks;
    struct map sets;
    size_t bytes;
    bool is_building;
    struct buf built_to; /* key */
};

struct label_index {
    struct api *api;
    struct table **tables; /* by table - 1; NULL: never asked for */
    size_t n_tables;
    size_t bytes;
    size_t text_bytes;
    int64_t text_used; /* monotonic: the last time a text was */
    struct loop_timer text_timer;
    bool is_text_timed;
    uint64_t epochs;
};

struct label_walk {
    struct label_index *ix;
    struct table *table;
    const struct selector *selector;
    rev at;
    uint64_t epoch, generation;
    size_t block, at_entry; /* the next to look at, if generation is the table's */
    struct buf prefix;      /* of the keys in the range */
    struct buf last;        /* the key to go on behind; empty: from the prefix */
    struct {
        const struct label_set *set;
        bool matches;
    } memo[MEMO_SETS];
};

static void *must_alloc(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static int64_t now_of(const struct label_index *ix)
{
    const struct clock *clock = &ix->api->options.clock;
    return clock_mono_ns(clock);
}

static void count_bytes(struct table *t, ptrdiff_t n)
{
    t->bytes += (size_t)n;
    t->ix->bytes += (size_t)n;
}

/* ---- Texts of blocks. ---- */

static void drop_text(struct table *t, struct block *b)
{
    b->is_long = false;
    if (b->text == NULL)
        return;
    t->text_bytes -= b->text->n;
    t->ix->text_bytes -= b->text->n;
    free(b->text);
    b->text = NULL;
}

static void drop_texts(struct table *t)
{
    for (size_t i = 0; i < t->n_blocks && t->text_bytes; i++)
        drop_text(t, t->blocks[i]);
}

/* Texts that no list used for a while are freed. */
static void on_text_timer(void *ctx)
{
    struct label_index *ix = ctx;
    int64_t left = ix->text_used + LABEL_TEXTS_NS - now_of(ix);
    ix->is_text_timed = left > 0 && ix->text_bytes;
    if (ix->is_text_timed) {
        loop_timer_set(ix->api->options.loop, &ix->text_timer, left);
        return;
    }
    for (size_t i = 0; i < ix->n_tables; i++)
        if (ix->tables[i])
            drop_texts(ix->tables[i]);
}

static void use_texts(struct label_index *ix)
{
    ix->text_used = now_of(ix);
    if (!ix->is_text_timed)
        loop_timer_set(ix->api->options.loop, &ix->text_timer, LABEL_TEXTS_NS);
    ix->is_text_timed = true;
}

/* ---- Label sets. ---- */

static struct label_set *ref_set(struct table *t, str text)
{
    struct label_set *s = map_get(&t->sets, text);
    if (s == NULL) {
        s = must_alloc(malloc(sizeof *s + text.n + 1));
        *s = (struct label_set){.n = text.n};
        if (text.n)
            memcpy(s->text, text.p, text.n);
        map_set(&t->sets, (str){s->text, s->n}, s);
        count_bytes(t, (ptrdiff_t)(sizeof *s + text.n + 64)); /* with its share of the map */
    }
    s->refs++;
    return s;
}

static void unref_set(struct table *t, struct label_set *s)
{
    if (s == NULL || --s->refs > 0)
        return;
    map_del(&t->sets, (str){s->text, s->n});
    count_bytes(t, -(ptrdiff_t)(sizeof *s + s->n + 64));
    free(s);
}

/* ---- Entries. ---- */

static int compare_key(str a, const struct key *b)
{
    return str_cmp(a, (str){b->p, b->n});
}

/* The first entry at or behind this key: *ret_block may be n_blocks. True: it has this key. */
static bool find_entry(const struct table *t, str key, size_t *ret_block, size_t *ret_entry)
{
    size_t low = 0, high = t->n_blocks;
    while (low < high) { /* the last block that begins at or before the key */
        size_t mid = low + (high - low) / 2;
        if (compare_key(key, t->blocks[mid]->p[0].key) < 0)
            high = mid;
        else
            low = mid + 1;
    }
    size_t block = low ? low - 1 : 0;
    *ret_block = block;
    *ret_entry = 0;
    if (block == t->n_blocks)
        return false;
    const struct block *b = t->blocks[block];
    low = 0;
    high = b->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_key(key, b->p[mid].key);
        if (order == 0) {
            *ret_entry = mid;
            return true;
        }
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    *ret_entry = low;
    return false;
}

static struct block *insert_block(struct table *t, size_t at)
{
    if (t->n_blocks == t->cap_blocks) {
        t->cap_blocks = t->cap_blocks ? t->cap_blocks * 2 : 16;
        t->blocks = must_alloc(realloc(t->blocks, t->cap_blocks * sizeof *t->blocks));
    }
    memmove(t->blocks + at + 1, t->blocks + at, (t->n_blocks - at) * sizeof *t->blocks);
    t->n_blocks++;
    t->blocks[at] = must_alloc(malloc(sizeof **t->blocks));
    t->blocks[at]->n = 0;
    t->blocks[at]->text = NULL;
    t->blocks[at]->is_long = false;
    count_bytes(t, sizeof **t->blocks);
    return t->blocks[at];
}

/* Half of a full block moves to a new one; at the end, where tables grow, only the newcomer does. */
static void make_room(struct table *t, size_t *block, size_t *at)
{
    if (*block == t->n_blocks) {
        insert_block(t, *block);
        return;
    }
    struct block *full = t->blocks[*block];
    drop_text(t, full);
    if (full->n < BLOCK_ENTRIES)
        return;
    bool is_end = *block == t->n_blocks - 1 && *at == full->n;
    size_t kept = is_end ? full->n : BLOCK_ENTRIES / 2;
    struct block *next = insert_block(t, *block + 1);
    next->n = full->n - kept;
    memcpy(next->p, full->p + kept, next->n * sizeof *next->p);
    full->n = kept;
    if (*at > kept || is_end) {
        ++*block;
        *at -= kept;
    }
}

static struct entry *insert_entry(struct table *t, size_t block, size_t at, str key)
{
    make_room(t, &block, &at);
    struct block *b = t->blocks[block];
    memmove(b->p + at + 1, b->p + at, (b->n - at) * sizeof *b->p);
    b->n++;
    struct key *copy = must_alloc(malloc(sizeof *copy + key.n));
    copy->n = key.n;
    memcpy(copy->p, key.p, key.n);
    count_bytes(t, (ptrdiff_t)(sizeof *copy + key.n + 16)); /* with malloc's own */
    b->p[at] = (struct entry){.key = copy};
    return &b->p[at];
}

static void free_key(struct table *t, struct key *key)
{
    count_bytes(t, -(ptrdiff_t)(sizeof *key + key->n + 16));
    free(key);
}

static void remove_entry(struct table *t, size_t block, size_t at)
{
    struct block *b = t->blocks[block];
    drop_text(t, b);
    unref_set(t, b->p[at].set);
    free_key(t, b->p[at].key);
    b->n--;
    memmove(b->p + at, b->p + at + 1, (b->n - at) * sizeof *b->p);
    if (b->n > 0)
        return;
    free(b);
    count_bytes(t, -(ptrdiff_t)sizeof *b);
    t->n_blocks--;
    memmove(t->blocks + block, t->blocks + block + 1, (t->n_blocks - block) * sizeof *t->blocks);
}

static void put_entry(struct table *t, str key, const struct store_item *item)
{
    size_t block, at;
    str labels;
    bool is_there = find_entry(t, key, &block, &at);
    if (is_there && t->blocks[block]->p[at].revision != item->revision)
        drop_text(t, t->blocks[block]);
    struct entry *e = is_there ? &t->blocks[block]->p[at] : insert_entry(t, block, at, key);
    struct label_set *before = e->set;
    e->revision = item->revision;
    e->set = value_labels(item, &labels) ? ref_set(t, labels) : NULL;
    unref_set(t, before);
}

/* ---- Tables. ---- */

static void drop_entries(struct table *t)
{
    drop_texts(t);
    for (size_t i = 0; i < t->n_blocks; i++) {
        for (size_t k = 0; k < t->blocks[i]->n; k++) {
            unref_set(t, t->blocks[i]->p[k].set);
            free_key(t, t->blocks[i]->p[k].key);
        }
        count_bytes(t, -(ptrdiff_t)sizeof *t->blocks[i]);
        free(t->blocks[i]);
    }
    free(t->blocks);
    t->blocks = NULL;
    t->n_blocks = t->cap_blocks = 0;
    map_done(&t->sets);
    t->sets = (struct map){0};
    assert(t->bytes == 0);
}

static void drop_table(struct table *t)
{
    if (t->is_building)
        loop_defer_cancel(t->ix->api->options.loop, &t->turn);
    t->is_building = t->is_whole = false;
    buf_done(&t->built_to);
    drop_entries(t);
    t->epoch = ++t->ix->epochs;
}

/* Other tables give way, the longest unused first; then this one does. */
static void keep_within(struct table *t)
{
    struct label_index *ix = t->ix;
    while (ix->bytes > LABEL_INDEX_MAX) {
        struct table *oldest = NULL;
        for (size_t i = 0; i < ix->n_tables; i++) {
            struct table *other = ix->tables[i];
            if (other && other != t && other->bytes && (oldest == NULL || other->used < oldest->used))
                oldest = other;
        }
        if (oldest == NULL) {
            t->is_too_large = true;
            t->too_large_count = store_count(ix->api->store, t->id);
            oldest = t;
        }
        drop_table(oldest);
    }
}

static str key_of(struct buf *b, str namespace, str name)
{
    b->n = 0;
    buf_add_str(b, namespace);
    buf_add_char(b, '/');
    buf_add_str(b, name);
    return buf_str(b);
}

static void build_slice(struct loop_work *work)
{
    struct table *t = (struct table *)work;
    struct store *store = t->ix->api->store;
    str namespace = {0}, name = {0};
    str_cut(buf_str(&t->built_to), '/', &namespace, &name);
    struct store_range range = {
        .table = t->id, .all_namespaces = true, .after_namespace = namespace, .after_name = name};
    struct store_list *walk = store_list_open(store, &range);
    struct buf key = {0};
    struct store_item item;
    struct err err;
    int code = 1;
    for (size_t i = 0; i < BUILD_OBJECTS && code > 0; i++)
        if ((code = store_list_next(walk, &item, &err)) > 0)
            put_entry(t, key_of(&key, item.namespace, item.name), &item);
    store_list_close(walk);
    buf_done(&t->built_to);
    t->built_to = key;
    t->generation++;
    t->is_building = code > 0;
    t->is_whole = code == 0;
    t->floor = store_revision(store);
    if (code < 0) /* a damaged object: lists read the objects, and report it */
        drop_table(t);
    keep_within(t);
    if (t->is_building)
        loop_defer(t->ix->api->options.loop, &t->turn);
}

static struct table *table_of(struct label_index *ix, uint32_t id)
{
    return id - 1 < ix->n_tables ? ix->tables[id - 1] : NULL;
}

static struct table *need_table(struct label_index *ix, uint32_t id)
{
    if (id > ix->n_tables) {
        ix->tables = must_alloc(realloc(ix->tables, id * sizeof *ix->tables));
        memset(ix->tables + ix->n_tables, 0, (id - ix->n_tables) * sizeof *ix->tables);
        ix->n_tables = id;
    }
    struct table **t = &ix->tables[id - 1];
    if (*t == NULL) {
        *t = must_alloc(calloc(1, sizeof **t));
        **t = (struct table){.turn.fn = build_slice, .ix = ix, .id = id, .epoch = ++ix->epochs};
    }
    return *t;
}

/* A list without a selector needs no index, so one is made only for tables that are listed again and again. */
static bool is_worth_it(struct table *t, uint64_t count)
{
    int64_t before = t->listed;
    t->listed = t->used;
    return count <= PLAIN_MAX && before && t->used - before <= PLAIN_NS;
}

static void begin_build(struct table *t, bool is_plain)
{
    uint64_t count = store_count(t->ix->api->store, t->id);
    t->used = now_of(t->ix);
    if (is_plain && !is_worth_it(t, count))
        return;
    if (t->is_too_large && count > t->too_large_count / 2)
        return;
    t->is_too_large = false;
    if (t->is_whole || t->is_building || count < LABEL_INDEX_LEAST)
        return;
    t->is_building = true;
    loop_defer(t->ix->api->options.loop, &t->turn);
}

struct label_index *label_index_new(struct api *api)
{
    struct label_index *ix = must_alloc(calloc(1, sizeof *ix));
    ix->api = api;
    ix->text_timer = (struct loop_timer){.fn = on_text_timer, .ctx = ix};
    return ix;
}

void label_index_free(struct label_index *ix)
{
    if (ix == NULL)
        return;
    for (size_t i = 0; i < ix->n_tables; i++) {
        if (ix->tables[i])
            drop_table(ix->tables[i]);
        free(ix->tables[i]);
    }
    free(ix->tables);
    if (ix->is_text_timed)
        loop_timer_cancel(ix->api->options.loop, &ix->text_timer);
    free(ix);
}

void label_index_event(struct label_index *ix, const struct store_event *event)
{
    struct table *t = table_of(ix, event->table);
    if (t == NULL || (!t->is_whole && !t->is_building))
        return;
    if (t->walks == 0 && now_of(ix) - t->used > UNUSED_NS) {
        drop_table(t);
        return;
    }
    struct buf key = {0};
    str text = key_of(&key, event->namespace, event->name);
    size_t block, at;
    t->generation++;
    if (event->op != STORE_DELETED) {
        struct store_item item = value_of_event(event);
        put_entry(t, text, &item);
    } else {
        t->floor = event->revision;
        if (find_entry(t, text, &block, &at))
            remove_entry(t, block, at);
    }
    buf_done(&key);
    keep_within(t);
}

/* ---- Walks. ---- */

struct label_walk *label_walk_new(struct label_index *ix, const struct label_walk_args *args)
{
    struct label_walk *w = must_alloc(calloc(1, sizeof *w));
    w->ix = ix;
    w->table = need_table(ix, args->table);
    w->table->walks++;
    w->selector = args->selector;
    w->at = args->at;
    begin_build(w->table, args->selector == NULL);
    w->epoch = w->table->epoch;
    w->generation = w->table->generation - 1;
    if (!args->all_namespaces) {
        buf_add_str(&w->prefix, args->namespace);
        buf_add_char(&w->prefix, '/');
    }
    if (args->after_name.n)
        key_of(&w->last, args->all_namespaces ? args->after_namespace : args->namespace, args->after_name);
    return w;
}

void label_walk_free(struct label_walk *w)
{
    if (w == NULL)
        return;
    w->table->walks--;
    buf_done(&w->prefix);
    buf_done(&w->last);
    free(w);
}

/* After changes: places and results that are remembered may be wrong. */
static void renew_walk(struct label_walk *w)
{
    str from = buf_str(w->last.n ? &w->last : &w->prefix);
    bool is_there = find_entry(w->table, from, &w->block, &w->at_entry);
    w->at_entry += is_there && w->last.n;
    w->generation = w->table->generation;
    memset(w->memo, 0, sizeof w->memo);
}

static bool set_matches(struct label_walk *w, const struct label_set *set)
{
    size_t place = (size_t)((uintptr_t)set / 32 % MEMO_SETS);
    if (w->memo[place].set != set) {
        w->memo[place].set = set;
        w->memo[place].matches = selector_matches_text(w->selector, (str){set->text, set->n});
    }
    return w->memo[place].matches;
}

/* Whether the index alone tells if the object matches as of the revision of the walk. */
static bool is_decided(const struct label_walk *w, const struct entry *e)
{
    return e->revision <= w->at && (e->set || w->selector == NULL);
}

static bool entry_matches(struct label_walk *w, const struct entry *e)
{
    return w->selector == NULL || set_matches(w, e->set);
}

static const struct entry *next_entry(struct label_walk *w)
{
    const struct table *t = w->table;
    while (w->block < t->n_blocks && w->at_entry >= t->blocks[w->block]->n) {
        w->block++;
        w->at_entry = 0;
    }
    return w->block < t->n_blocks ? &t->blocks[w->block]->p[w->at_entry++] : NULL;
}

/* Whether the index shows the state as of the revision of the walk, but for objects that changed since. */
static bool enter_walk(struct label_walk *w)
{
    const struct table *t = w->table;
    if (!t->is_whole || t->epoch != w->epoch || w->at < t->floor)
        return false;
    if (w->generation != t->generation)
        renew_walk(w);
    return true;
}

enum label_found label_walk_next(struct label_walk *w, str *ret_namespace, str *ret_name, size_t *looks)
{
    if (!enter_walk(w))
        return LABEL_UNKNOWN;
    for (;;) {
        const struct entry *e = next_entry(w);
        str key = e ? (str){e->key->p, e->key->n} : (str){0};
        if (e == NULL || !str_has_prefix(key, buf_str(&w->prefix)))
            return LABEL_END;
        bool is_sure = is_decided(w, e);
        if (is_sure && !entry_matches(w, e) && --*looks > 0)
            continue;
        w->last.n = 0;
        buf_add_str(&w->last, key);
        str_cut(key, '/', ret_namespace, ret_name);
        return is_sure && *looks > 0 ? LABEL_MATCH : LABEL_CANDIDATE;
    }
}

/* ---- Whole blocks. ---- */

static str entry_key(const struct entry *e)
{
    return (str){e->key->p, e->key->n};
}

/* The keys are sorted, so the first and the last one tell for all. */
static bool is_in_range(const struct label_walk *w, const struct block *b)
{
    str prefix = buf_str(&w->prefix);
    return str_has_prefix(entry_key(&b->p[0]), prefix) && str_has_prefix(entry_key(&b->p[b->n - 1]), prefix);
}

static bool block_matches(struct label_walk *w, const struct block *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (!is_decided(w, &b->p[i]) || !entry_matches(w, &b->p[i]))
            return false;
    return true;
}

/* Every object of the block, read from the store. False: one of them cannot be kept as text. */
static bool print_block(struct table *t, const struct block *b, const struct label_print *print, struct buf *out)
{
    struct store_range range = {.table = t->id, .all_namespaces = true};
    struct store_list *walk = store_list_open(t->ix->api->store, &range);
    struct store_item item;
    struct err err;
    str namespace = {0}, name = {0};
    bool is_good = true;
    str_cut(entry_key(&b->p[0]), '/', &namespace, &name);
    store_list_skip(walk, namespace, name);
    for (size_t i = 0; i < b->n && is_good; i++) {
        if (i)
            buf_add_char(out, ',');
        is_good = store_list_next(walk, &item, &err) == 1 && item.revision == b->p[i].revision &&
                  print->print(print->ctx, &item, out) && out->n <= LABEL_TEXT_MAX;
    }
    store_list_close(walk);
    return is_good;
}

static void make_place(struct label_index *ix, const struct table *keep, size_t n)
{
    for (size_t i = 0; i < ix->n_tables && ix->text_bytes + n > LABEL_TEXTS_MAX; i++)
        if (ix->tables[i] && ix->tables[i] != keep)
            drop_texts(ix->tables[i]);
}

static void keep_text(struct table *t, struct block *b, const struct label_print *print, str text)
{
    drop_text(t, b);
    make_place(t->ix, t, text.n);
    if (t->ix->text_bytes + text.n > LABEL_TEXTS_MAX)
        return;
    b->text = must_alloc(malloc(sizeof *b->text + text.n));
    *b->text = (struct block_text){.generation = print->generation, .version_hash = print->version_hash, .n = text.n};
    if (text.n)
        memcpy(b->text->p, text.p, text.n);
    t->text_bytes += text.n;
    t->ix->text_bytes += text.n;
}

static bool has_text(const struct block *b, const struct label_print *print)
{
    return b->text && b->text->generation == print->generation && b->text->version_hash == print->version_hash;
}

static bool need_text(struct table *t, struct block *b, const struct label_print *print)
{
    if (has_text(b, print))
        return true;
    if (b->is_long || t->text_bytes + LABEL_TEXT_MAX > LABEL_TEXTS_MAX)
        return false;
    struct buf text = {0};
    bool is_good = print_block(t, b, print, &text);
    if (is_good)
        keep_text(t, b, print, buf_str(&text));
    b->is_long = !is_good;
    buf_done(&text);
    return has_text(b, print);
}

bool label_walk_block(struct label_walk *w, const struct label_print *print, struct label_block *ret)
{
    struct table *t = w->table;
    if (!enter_walk(w))
        return false;
    if (w->block < t->n_blocks && w->at_entry == t->blocks[w->block]->n) {
        w->block++;
        w->at_entry = 0;
    }
    if (w->block == t->n_blocks || w->at_entry != 0)
        return false;
    struct block *b = t->blocks[w->block];
    if (!is_in_range(w, b) || !block_matches(w, b) || !need_text(t, b, print))
        return false;
    str last = entry_key(&b->p[b->n - 1]);
    *ret = (struct label_block){.text = {b->text->p, b->text->n}, .n = b->n};
    str_cut(last, '/', &ret->last_namespace, &ret->last_name);
    w->last.n = 0;
    buf_add_str(&w->last, last);
    w->at_entry = b->n;
    use_texts(t->ix);
    return true;
}

size_t label_index_text_bytes(const struct label_index *ix)
{
    return ix->text_bytes;
}
