/* SPDX-License-Identifier: Apache-2.0 */
/* The store against a model that remembers every change and finds everything by looking through all of them. Random writes
 * (right and wrong expectations, several changes, guards, several writes in one batch), time that passes, restarts; what
 * can be asked must be answered as the model answers it, and what cannot must be older than what is kept. A failure prints
 * the seed; "test_store_model SEED…" runs these alone. */
#include "lib/store_harness.h"

#include "lib/store_audit.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TABLES = 2, NAMES = 24, KEYS = TABLES * NAMES, STEPS = 120, BATCH = 6, CHANGES = 3, GUARDS = 2 };

static const int64_t second = 1000000000;

/* In the order of "namespace/name". */
static const char *const names[NAMES][2] = {
    {"", "a"},   {"", "b"},    {"", "b.c"},  {"", "z"},  {"a-b", "a"}, {"a-b", "b"}, {"a-b", "b-c"}, {"a-b", "z"},
    {"a", "a"},  {"a", "b"},   {"a", "b-c"}, {"a", "z"}, {"b", "a"},   {"b", "b"},   {"b", "b0"},    {"b", "ba"},
    {"b", "bb"}, {"b", "bb0"}, {"b", "c"},   {"b", "d"}, {"b", "e"},   {"b", "f"},   {"b", "g"},     {"b", "h"},
};

struct entry {
    rev revision, created, previous;
    size_t key;
    enum store_op op;
    int64_t time;
    str value;
    size_t stored; /* bytes of it in the record: none of a deletion that shows the last state */
};

struct model {
    struct harness h;
    struct random_seeded source;
    struct random random;
    uint64_t seed;
    uint32_t tables[TABLES];
    VEC(struct entry) log; /* revision 2 is the first */
    rev oldest;
    bool is_bounded; /* keep_bytes is small: history may go before its time */
    /* Walks that stay open over many steps. */
    struct store_list *list;
    size_t list_table, list_next;
    struct store_log *feed;
    rev feed_after;
};

static uint32_t below(struct model *m, uint32_t n)
{
    return random_below(&m->random, n);
}

#define CHECK(m, what)                                                                        \
    do {                                                                                      \
        if (!(what))                                                                          \
            fail_msg("seed %" PRIu64 ", revision %zu: %s", (m)->seed, (m)->log.n + 1, #what); \
    } while (0)

static rev newest(const struct model *m)
{
    return m->log.n + 1;
}

/* The last entry about a key up to a revision, or NULL. */
static const struct entry *last(const struct model *m, size_t key, rev at)
{
    for (size_t i = at - 1; i > 0; i--)
        if (m->log.p[i - 1].key == key)
            return &m->log.p[i - 1];
    return NULL;
}

/* The object under a key after a revision, or NULL. */
static const struct entry *state(const struct model *m, size_t key, rev at)
{
    const struct entry *e = last(m, key, at);
    return e && e->op != STORE_DELETED ? e : NULL;
}

static rev standing(const struct model *m, size_t key)
{
    const struct entry *e = state(m, key, newest(m));
    return e ? e->revision : 0;
}

static str namespace_of(size_t key)
{
    return str_of(names[key % NAMES][0]);
}

static str name_of(size_t key)
{
    return str_of(names[key % NAMES][1]);
}

/* ---- Writing. ---- */

struct job {
    size_t keys[CHANGES + GUARDS];
    struct store_change changes[CHANGES];
    struct store_guard guards[GUARDS];
    struct store_write write;
    struct store_result want;
    struct outcome got;
};

static rev guess(struct model *m, size_t key)
{
    uint32_t luck = below(m, 10);
    return luck < 8 ? standing(m, key) : luck == 8 ? 0 : 2 + below(m, (uint32_t)newest(m));
}

static str some_value(struct model *m)
{
    uint32_t kind = below(m, 20);
    size_t n = kind == 0 ? 0 : kind == 1 ? 5000 + below(m, 20000) : 1 + below(m, 300);
    char *p = arena_alloc(&m->h.arena, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)('a' + (i * 7 + newest(m)) % 26);
    return (str){p, n};
}

static void invent(struct model *m, struct job *j)
{
    *j = (struct job){0};
    j->write = (struct store_write){
        .changes = j->changes, .n_changes = 1 + (below(m, 4) ? 0 : below(m, CHANGES)), .guards = j->guards};
    j->write.n_guards = below(m, 3) ? 0 : below(m, GUARDS + 1);
    size_t first = below(m, KEYS);
    for (size_t i = 0; i < j->write.n_changes; i++) {
        size_t key = j->keys[i] = (first + i * 5) % KEYS; /* each another one */
        rev expect = guess(m, key);
        j->changes[i] = (struct store_change){.table = m->tables[key / NAMES],
                                              .namespace = namespace_of(key),
                                              .name = name_of(key),
                                              .expect = expect,
                                              .is_delete = expect && below(m, 3) == 0,
                                              .value = some_value(m)};
        if (j->changes[i].is_delete && below(m, 2))
            j->changes[i].value = (str){0};
    }
    for (size_t i = 0; i < j->write.n_guards; i++) {
        size_t key = j->keys[CHANGES + i] = below(m, KEYS);
        j->guards[i] = (struct store_guard){m->tables[key / NAMES], namespace_of(key), name_of(key), guess(m, key)};
    }
}

static void remember(struct model *m, size_t key, const struct store_change *c)
{
    const struct entry *before = state(m, key, newest(m));
    rev revision = newest(m) + 1;
    struct entry e = {
        .revision = revision,
        .created = before ? before->created : revision,
        .previous = before ? before->revision : 0,
        .key = key,
        .op = c->is_delete ? STORE_DELETED
              : before     ? STORE_UPDATED
                           : STORE_CREATED,
        .time = m->h.clock.wall,
        .value = c->is_delete && c->value.n == 0 ? before->value : c->value,
        .stored = c->value.n,
    };
    *vec_push(&m->h.arena, &m->log) = e;
}

/* What must become of a write, and its effect on the model. */
static void expect(struct model *m, struct job *j)
{
    for (size_t i = 0; i < j->write.n_guards; i++)
        if (standing(m, j->keys[CHANGES + i]) != j->guards[i].expect) {
            j->want = (struct store_result){.code = ERR_CONFLICT, .by_guard = true, .which = i};
            return;
        }
    for (size_t i = 0; i < j->write.n_changes; i++)
        if (standing(m, j->keys[i]) != j->changes[i].expect) {
            j->want = (struct store_result){.code = ERR_CONFLICT, .which = i};
            return;
        }
    j->want.revision = newest(m) + 1;
    for (size_t i = 0; i < j->write.n_changes; i++)
        remember(m, j->keys[i], &j->changes[i]);
}

static void check_event(struct model *m, const struct entry *want, const struct store_event *e)
{
    CHECK(m, e->revision == want->revision);
    CHECK(m, e->op == want->op);
    CHECK(m, e->table == m->tables[want->key / NAMES]);
    CHECK(m, str_eq(e->namespace, namespace_of(want->key)));
    CHECK(m, str_eq(e->name, name_of(want->key)));
    CHECK(m, e->created == want->created);
    CHECK(m, e->previous == want->previous);
    CHECK(m, str_eq(e->value, want->value));
}

static void check_handed_out(struct model *m)
{
    CHECK(m, m->h.events.n == m->log.n);
    for (size_t i = m->log.n > 20 ? m->log.n - 20 : 0; i < m->log.n; i++) {
        const struct recorded *r = &m->h.events.p[i];
        struct store_event e = {r->revision, r->op, r->table, r->namespace, r->name, r->created, r->previous, r->value};
        check_event(m, &m->log.p[i], &e);
    }
}

static void write_some(struct model *m)
{
    struct job jobs[BATCH];
    size_t n = 1 + below(m, BATCH);
    bool together = below(m, 2);
    if (together)
        harness_hold(&m->h);
    for (size_t i = 0; i < n; i++) {
        invent(m, &jobs[i]);
        expect(m, &jobs[i]);
        harness_submit(&m->h, &jobs[i].write, &jobs[i].got);
    }
    if (together)
        harness_release(&m->h);
    harness_settle(&m->h);
    for (size_t i = 0; i < n; i++) {
        const struct store_result *got = &jobs[i].got.result, *want = &jobs[i].want;
        CHECK(m, jobs[i].got.is_done);
        CHECK(m, got->code == want->code);
        CHECK(m, got->revision == want->revision);
        CHECK(m, got->by_guard == want->by_guard);
        CHECK(m, got->which == want->which);
    }
    check_handed_out(m);
}

/* ---- Reading. ---- */

static void check_item(struct model *m, const struct entry *want, const struct store_item *item)
{
    CHECK(m, item->revision == want->revision);
    CHECK(m, item->created == want->created);
    CHECK(m, str_eq(item->namespace, namespace_of(want->key)));
    CHECK(m, str_eq(item->name, name_of(want->key)));
    CHECK(m, str_eq(item->value, want->value));
}

static rev some_revision(struct model *m)
{
    return m->oldest + below(m, (uint32_t)(newest(m) - m->oldest + 1));
}

static void read_objects(struct model *m)
{
    struct store_item item;
    struct err err;
    for (size_t i = 0; i < 20; i++) {
        size_t key = below(m, KEYS);
        bool past = below(m, 2);
        rev at = past ? some_revision(m) : newest(m);
        const struct entry *want = state(m, key, at);
        uint32_t table = m->tables[key / NAMES];
        int code = past ? store_get_at(m->h.store, table, namespace_of(key), name_of(key), at, &item, &err)
                        : store_get(m->h.store, table, namespace_of(key), name_of(key), &item, &err);
        CHECK(m, code == (want ? 0 : ERR_NOT_FOUND));
        if (want)
            check_item(m, want, &item);
    }
    if (m->oldest > 1) {
        rev at = 1 + below(m, (uint32_t)(m->oldest - 1));
        CHECK(m, store_get_at(m->h.store, m->tables[0], S(""), S("a"), at, &item, &err) == ERR_EXPIRED);
    }
}

/* The next key in a range that has an object then; KEYS: none. */
static size_t next_key(const struct model *m, size_t table, size_t from, const str *namespace, rev at)
{
    for (size_t i = from; i < NAMES; i++) {
        size_t key = table * NAMES + i;
        if ((namespace == NULL || str_eq(*namespace, namespace_of(key))) && state(m, key, at))
            return key;
    }
    return KEYS;
}

static int64_t count_keys(const struct model *m, size_t table, size_t from, const str *namespace, rev at)
{
    int64_t n = 0;
    for (size_t key = table * NAMES + from; (key = next_key(m, table, key % NAMES, namespace, at)) < KEYS; n++)
        if (++key % NAMES == 0)
            return n + 1;
    return n;
}

static void read_list(struct model *m)
{
    size_t table = below(m, TABLES), from = 0;
    str namespace = namespace_of(below(m, NAMES));
    const str *only = below(m, 2) ? &namespace : NULL;
    rev at = below(m, 2) ? some_revision(m) : newest(m);
    struct store_range range = {
        .table = m->tables[table], .all_namespaces = only == NULL, .namespace = namespace, .at = at};
    if (below(m, 2)) {
        size_t after = below(m, NAMES);
        range.after_namespace = namespace_of(after);
        range.after_name = name_of(after);
        if (only == NULL || str_eq(namespace, namespace_of(after)))
            from = after + 1;
        else
            range.after_namespace = range.after_name = (str){0};
    }
    struct store_list *l = store_list_open(m->h.store, &range);
    struct store_item item;
    struct err err;
    CHECK(m, store_list_revision(l) == at);
    for (;;) {
        int64_t rest = from < NAMES ? count_keys(m, table, from, only, at) : 0;
        CHECK(m, store_list_rest(l, &err) == rest);
        size_t key = from < NAMES ? next_key(m, table, from, only, at) : KEYS;
        int code = store_list_next(l, &item, &err);
        CHECK(m, code == (key < KEYS));
        if (code == 0)
            break;
        check_item(m, state(m, key, at), &item);
        from = key % NAMES + 1;
    }
    store_list_close(l);
}

static void read_log(struct model *m)
{
    struct store_log *log;
    struct store_event e;
    struct err err;
    rev after = some_revision(m);
    CHECK(m, store_log_open(m->h.store, after, &log, &err) == 0);
    size_t only = below(m, TABLES + 1);
    if (only < TABLES)
        store_log_only(log, m->tables[only]);
    for (size_t i = after - 1; i < m->log.n; i++) {
        if (only < TABLES && m->log.p[i].key / NAMES != only)
            continue;
        CHECK(m, store_log_next(log, &e, &err) == 1);
        check_event(m, &m->log.p[i], &e);
        struct store_item item;
        int code = store_previous(m->h.store, &e, &item, &err);
        CHECK(m, code == (e.previous ? 0 : ERR_NOT_FOUND));
        if (e.previous)
            check_item(m, &m->log.p[e.previous - 2], &item);
    }
    CHECK(m, store_log_next(log, &e, &err) == 0);
    store_log_close(log);
    if (m->oldest > 1)
        CHECK(m, store_log_open(m->h.store, m->oldest - 1, &log, &err) == ERR_EXPIRED);
}

/* A list that is read a little in every step; it must stay at its revision or say that this is gone. */
static void read_on(struct model *m)
{
    struct store_item item;
    struct err err;
    if (m->list == NULL) {
        m->list_table = below(m, TABLES);
        m->list_next = 0;
        m->list = store_list_open(m->h.store,
                                  &(struct store_range){.table = m->tables[m->list_table], .all_namespaces = true});
    }
    rev at = store_list_revision(m->list);
    for (uint32_t i = below(m, 5); i > 0; i--) {
        size_t key = m->list_next < NAMES ? next_key(m, m->list_table, m->list_next, NULL, at) : KEYS;
        int code = store_list_next(m->list, &item, &err);
        if (code > 0) {
            CHECK(m, key < KEYS);
            check_item(m, state(m, key, at), &item);
            m->list_next = key % NAMES + 1;
            continue;
        }
        CHECK(m, code == (at < m->oldest ? ERR_EXPIRED : 0));
        CHECK(m, code < 0 || key == KEYS);
        store_list_close(m->list);
        m->list = NULL;
        return;
    }
}

static void follow(struct model *m)
{
    struct store_event e;
    struct err err;
    if (m->feed == NULL) {
        m->feed_after = newest(m);
        CHECK(m, store_log_open(m->h.store, m->feed_after, &m->feed, &err) == 0);
    }
    for (uint32_t i = below(m, 30); i > 0; i--) {
        int code = store_log_next(m->feed, &e, &err);
        if (m->feed_after < m->oldest) {
            CHECK(m, code == ERR_EXPIRED);
            store_log_close(m->feed);
            m->feed = NULL;
            return;
        }
        CHECK(m, code == (m->feed_after < newest(m)));
        if (code == 0)
            return;
        check_event(m, &m->log.p[m->feed_after - 1], &e);
        m->feed_after++;
    }
}

/* ---- What is kept. ---- */

static uint64_t size_of(const struct entry *e)
{
    return 48 + namespace_of(e->key).n + name_of(e->key).n + e->stored;
}

static void check_kept(struct model *m)
{
    rev oldest = store_oldest(m->h.store);
    CHECK(m, store_revision(m->h.store) == newest(m));
    CHECK(m, oldest >= m->oldest && oldest <= newest(m));
    m->oldest = oldest;
    if (oldest > 1 && !m->is_bounded)
        CHECK(m, m->h.clock.wall - m->log.p[oldest - 2].time >= m->h.options.keep_ns);
    uint64_t history = 0, objects = 0;
    for (size_t i = oldest - 1; i < m->log.n; i++) {
        const struct entry *e = &m->log.p[i];
        if (e->op != STORE_CREATED)
            history += size_of(&m->log.p[e->previous - 2]);
        if (e->op == STORE_DELETED)
            history += size_of(e);
    }
    for (size_t table = 0; table < TABLES; table++) {
        uint64_t count = (uint64_t)count_keys(m, table, 0, NULL, newest(m));
        CHECK(m, store_count(m->h.store, m->tables[table]) == count);
        objects += count;
    }
    struct store_stats stats = store_stats(m->h.store);
    CHECK(m, stats.log_bytes == history);
    CHECK(m, stats.objects == objects);
}

static void close_walks(struct model *m)
{
    store_list_close(m->list);
    store_log_close(m->feed);
    m->list = NULL;
    m->feed = NULL;
}

static void reopen(struct model *m)
{
    struct err err;
    rev revision;
    close_walks(m);
    harness_close(&m->h);
    if (store_audit(m->h.dir, &revision, &err) < 0)
        fail_msg("seed %" PRIu64 ", revision %" PRIu64 ": %s", m->seed, newest(m), err.msg);
    CHECK(m, revision == newest(m));
    harness_open(&m->h);
    CHECK(m, m->h.table == m->tables[0]);
    CHECK(m, store_table(m->h.store, S("others")) == m->tables[1]);
}

static void run(uint64_t seed)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    harness_init(&m->h);
    harness_close(&m->h);
    m->seed = seed;
    m->source.state = seed;
    m->random = random_of_seed(&m->source);
    m->oldest = 1;
    m->is_bounded = below(m, 2);
    m->h.options.keep_ns = 20 * second;
    m->h.options.keep_bytes = m->is_bounded ? 2000 + below(m, 20000) : 0;
    m->h.options.batch_max = 1 + below(m, 8);
    harness_open(&m->h);
    m->tables[0] = m->h.table;
    m->tables[1] = store_table(m->h.store, S("others"));
    for (size_t i = 0; i < STEPS; i++) {
        write_some(m);
        clock_fake_advance(&m->h.clock, below(m, 3) * second);
        check_kept(m);
        read_objects(m);
        read_list(m);
        read_on(m);
        follow(m);
        if (below(m, 4) == 0)
            read_log(m);
        if (below(m, 25) == 0)
            reopen(m);
    }
    CHECK(m, m->oldest > 1); /* else nothing was tried of compaction */
    reopen(m);
    close_walks(m);
    harness_done(&m->h);
    free(m);
}

static uint64_t seeds[64];
static size_t n_seeds;

static void the_store_is_what_the_model_says(void **state_)
{
    for (size_t i = 0; i < n_seeds; i++)
        run(seeds[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_store_is_what_the_model_says)};
    for (int i = 1; i < argc && n_seeds < COUNT(seeds); i++)
        if (!str_to_uint64(str_of(argv[i]), &seeds[n_seeds++]))
            return 2;
    while (argc < 2 && n_seeds < 12) {
        seeds[n_seeds] = n_seeds + 1;
        n_seeds++;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
