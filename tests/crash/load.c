/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "lib/store_audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT = 100, SMALL = 600, LARGE = 15000 };

static void name_key(char to[8], size_t key)
{
    (void)snprintf(to, 8, "key%02zu", key);
}

static void must(int code, const struct err *err)
{
    if (code >= 0)
        return;
    (void)fprintf(stderr, "load: %s\n", err->msg);
    abort();
}

static void keep(struct load *l, str name, rev revision)
{
    uint64_t key;
    if (name.n != 5 || !str_to_uint64(str_from(name, 3), &key) || key >= LOAD_KEYS)
        abort();
    l->standing[key] = revision;
}

void load_start(struct load *l, struct store *s)
{
    struct store_item item;
    struct err err;
    int code;
    l->store = s;
    l->table = store_table(s, S("load"));
    struct store_list *list = store_list_open(s, &(struct store_range){.table = l->table, .all_namespaces = true});
    while ((code = store_list_next(list, &item, &err)) > 0)
        keep(l, item.name, item.revision);
    must(code, &err);
    store_list_close(list);
}

void load_event(struct load *l, const struct store_event *event)
{
    keep(l, event->name, event->op == STORE_DELETED ? 0 : event->revision);
}

struct flight {
    struct load *load;
    struct load_ack ack;
};

static void done(void *ctx, const struct store_result *result)
{
    struct flight *f = ctx;
    f->load->in_flight--;
    if (result->code == 0) {
        f->ack.revision = result->revision;
        f->load->acked++;
        f->load->on_ack(f->load->ctx, &f->ack);
    }
    free(f);
}

/* "number part parts key length " and then letters up to that length. */
static str value(struct load *l, struct arena *a, size_t part, size_t parts, size_t key)
{
    size_t n = TEXT + random_below(&l->random, random_below(&l->random, 8) ? SMALL : LARGE);
    char *p = arena_alloc(a, n);
    memset(p, 'a' + (int)(l->number % 26), n);
    p[snprintf(p, TEXT, "%" PRIu64 " %zu %zu %zu %zu", l->number, part, parts, key, n)] = ' ';
    return (str){p, n};
}

static void submit(struct load *l)
{
    struct arena a ARENA_SCOPE = {0};
    struct store_change changes[LOAD_PARTS];
    char names[LOAD_PARTS][8];
    struct err err;
    size_t parts = random_below(&l->random, 3) ? 1 : 1 + random_below(&l->random, LOAD_PARTS);
    size_t first = random_below(&l->random, LOAD_KEYS);
    for (size_t i = 0; i < parts; i++) {
        size_t key = (first + i * 7) % LOAD_KEYS;
        name_key(names[i], key);
        changes[i] = (struct store_change){
            .table = l->table,
            .namespace = S("ns"),
            .name = str_of(names[i]),
            .expect = l->standing[key],
            .is_delete = l->standing[key] && random_below(&l->random, 4) == 0,
            .value = value(l, &a, i, parts, key),
        };
    }
    struct flight *f = xmalloc(sizeof *f);
    *f = (struct flight){l, {.number = l->number++, .parts = parts}};
    must(store_submit(l->store, &(struct store_write){.changes = changes, .n_changes = parts, .done = done, .ctx = f},
                      &err),
         &err);
    l->in_flight++;
}

void load_submit(struct load *l)
{
    while (l->in_flight < LOAD_IN_FLIGHT)
        submit(l);
}

/* ---- Afterwards. ---- */

void load_acks_add(struct load_acks *acks, const struct load_ack *ack)
{
    rev last = ack->revision + ack->parts - 1;
    while (acks->by_revision.n <= last)
        *vec_push(&acks->arena, &acks->by_revision) = (struct load_ack){0};
    for (rev r = ack->revision; r <= last; r++)
        acks->by_revision.p[r] = *ack;
    if (last > acks->last)
        acks->last = last;
}

struct text {
    uint64_t number, part, parts, key, length;
};

static bool parse(str v, struct text *ret)
{
    uint64_t *fields[] = {&ret->number, &ret->part, &ret->parts, &ret->key, &ret->length};
    str rest = v, word;
    for (size_t i = 0; i < COUNT(fields); i++)
        if (!str_cut(rest, ' ', &word, &rest) || !str_to_uint64(word, fields[i]))
            return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] != (char)('a' + ret->number % 26))
            return false;
    return ret->length == v.n;
}

#define WRONG(...) err_set(err, ERR_INTERNAL, __VA_ARGS__)

/* Parts of one write stand side by side, all of them. */
static int check_part(const struct store_event *e, const struct text *now, const struct text *before, rev oldest,
                      struct err *err)
{
    bool starts = now->part == 0, goes_on = before->number == now->number && before->part + 1 == now->part;
    bool is_cut = e->revision == oldest + 1; /* the parts before it may be given up */
    if (!starts && !goes_on && !is_cut)
        return WRONG("revision %" PRIu64 " is part %" PRIu64 " of a write whose other parts are missing", e->revision,
                     now->part);
    if (starts && !is_cut && before->parts && before->part + 1 != before->parts)
        return WRONG("the write before revision %" PRIu64 " is cut", e->revision);
    return 0;
}

static int check_log(struct store *s, const struct load_acks *acks, struct err *err)
{
    struct store_log *log;
    struct store_event e;
    struct text before = {0}, now = {0};
    rev oldest = store_oldest(s);
    int code = store_log_open(s, oldest, &log, err);
    if (code < 0)
        return code;
    while ((code = store_log_next(log, &e, err)) > 0) {
        char name[8];
        if (!parse(e.value, &now))
            code = WRONG("revision %" PRIu64 " has a value nobody wrote", e.revision);
        name_key(name, now.key);
        const struct load_ack *ack = e.revision < acks->by_revision.n ? &acks->by_revision.p[e.revision] : NULL;
        if (code > 0 && !str_eq(e.name, str_of(name)))
            code = WRONG("revision %" PRIu64 " is under the wrong name", e.revision);
        if (code > 0 && ack && ack->parts && ack->number != now.number)
            code = WRONG("revision %" PRIu64 " was acknowledged to another write", e.revision);
        if (code > 0)
            code = check_part(&e, &now, &before, oldest, err);
        if (code < 0)
            break;
        before = now;
    }
    if (code == 0 && before.parts && before.part + 1 != before.parts)
        code = WRONG("the last write is cut");
    store_log_close(log);
    return code;
}

int load_check(const char *dir, const struct load_acks *acks, rev until, struct err *err)
{
    rev revision;
    struct store *s;
    int code = store_audit(dir, &revision, err);
    if (code < 0)
        return code;
    if (revision < until)
        return WRONG("revision %" PRIu64 " was acknowledged, but the last one is %" PRIu64, until, revision);
    code =
        store_open(&(struct store_options){.dir = dir, .map_bytes = (size_t)256 << 20, .clock = clock_system}, &s, err);
    if (code < 0)
        return code;
    code = check_log(s, acks, err);
    store_close(s);
    return code;
}
