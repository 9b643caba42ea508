/* SPDX-License-Identifier: Apache-2.0 */
#include "control/correlator.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"

#define SIMILAR_NS (600 * NS_PER_S)
#define REFILL_NS (300 * NS_PER_S)

/* ---- Caches. Entries are found by the hash of their key, so each has a bounded size; that two keys have the same one does not
 *      happen, and would miscount an Event. ---- */

struct entry {
    struct entry *newer, *older;
    uint64_t hash; /* the key in the map */
};

struct cache {
    struct map map;
    struct entry *newest, *oldest;
    size_t entry_size;
    void (*drop)(struct entry *e); /* what it holds; NULL: nothing */
};

static void cache_unlink(struct cache *c, struct entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void cache_link(struct cache *c, struct entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static str hash_key(const struct entry *e)
{
    return (str){(const char *)&e->hash, sizeof e->hash};
}

static void cache_drop(struct cache *c, struct entry *e)
{
    cache_unlink(c, e);
    map_del(&c->map, hash_key(e));
    if (c->drop)
        c->drop(e);
    free(e);
}

static void cache_done(struct cache *c)
{
    while (c->oldest)
        cache_drop(c, c->oldest);
    map_done(&c->map);
}

/* The entry, made (all zero) if it was not there, and the newest from now on. */
static void *cache_get(struct cache *c, str key)
{
    uint64_t hash = hash_str(key);
    struct entry *e = map_get(&c->map, (str){(const char *)&hash, sizeof hash});
    if (e) {
        cache_unlink(c, e);
        cache_link(c, e);
        return e;
    }
    if (c->map.n >= CORRELATOR_ENTRIES)
        cache_drop(c, c->oldest);
    e = xcalloc(1, c->entry_size);
    e->hash = hash;
    map_set(&c->map, hash_key(e), e);
    cache_link(c, e);
    return e;
}

/* ---- What is remembered. ---- */

/* Of one object and reason: the messages that have Events of their own. */
struct similar {
    struct entry entry;
    bool is_used;
    int64_t last; /* monotonic, as all times but those that are written */
    uint64_t messages[CORRELATOR_SIMILAR - 1];
    size_t n;
};

/* Of one Event: how often it happened, and what it is called. */
struct told {
    struct entry entry;
    int32_t count; /* 0: never */
    int64_t first; /* civil */
    char *name;
};

/* Of one object: how many more Events there may be, as time: a token is REFILL_NS of it. */
struct budget {
    struct entry entry;
    bool is_used;
    int64_t saved_ns, at;
};

struct correlator {
    struct cache similar, told, budgets;
    int64_t last_name; /* civil time in the last name given, so that names differ */
};

static void told_drop(struct entry *e)
{
    free(((struct told *)e)->name);
}

struct correlator *correlator_new(void)
{
    struct correlator *c = xcalloc(1, sizeof *c);
    c->similar.entry_size = sizeof(struct similar);
    c->told.entry_size = sizeof(struct told);
    c->told.drop = told_drop;
    c->budgets.entry_size = sizeof(struct budget);
    return c;
}

void correlator_free(struct correlator *c)
{
    if (c == NULL)
        return;
    cache_done(&c->similar);
    cache_done(&c->told);
    cache_done(&c->budgets);
    free(c);
}

size_t correlator_size(const struct correlator *c)
{
    return c->similar.map.n + c->told.map.n + c->budgets.map.n;
}

/* ---- Deciding. ---- */

/* Texts one after the other, each with its length in front: no two lists make the same key. */
static str key_of(struct arena *a, const struct correlator_event *e, str reason, str message)
{
    const str parts[] = {e->component, e->api_version, e->kind, e->namespace, e->name,
                         e->uid,       e->type,        reason,  message};
    struct buf b = {.arena = a};
    for (size_t i = 0; i < COUNT(parts); i++)
        buf_fmt(&b, "%zu %.*s", parts[i].n, STR(parts[i]));
    return buf_str(&b);
}

/* Whether there are too many like this to tell each. The first nine messages go on having Events of their own. */
static bool is_one_of_many(struct correlator *c, struct arena *a, const struct correlator_event *e)
{
    struct similar *s = cache_get(&c->similar, key_of(a, e, e->reason, (str){0}));
    uint64_t message = hash_str(e->message);
    if (!s->is_used || e->mono - s->last > SIMILAR_NS)
        s->n = 0;
    s->is_used = true;
    s->last = e->mono;
    for (size_t i = 0; i < s->n; i++)
        if (s->messages[i] == message)
            return false;
    if (s->n == CORRELATOR_SIMILAR - 1)
        return true;
    s->messages[s->n++] = message;
    return false;
}

/* A bucket of CORRELATOR_BURST tokens, full at first. */
static bool can_afford(struct correlator *c, struct arena *a, const struct correlator_event *e)
{
    struct budget *b = cache_get(&c->budgets, key_of(a, e, (str){0}, (str){0}));
    int64_t full = CORRELATOR_BURST * REFILL_NS, passed = e->mono - b->at;
    if (!b->is_used || passed >= full - b->saved_ns)
        b->saved_ns = full;
    else if (passed > 0)
        b->saved_ns += passed;
    b->is_used = true;
    b->at = e->mono;
    if (b->saved_ns < REFILL_NS)
        return false;
    b->saved_ns -= REFILL_NS;
    return true;
}

/* ---- Writing. ---- */

static struct json time_of(struct arena *a, int64_t wall)
{
    struct buf b = {.arena = a};
    time_format(&b, wall / NS_PER_S, 0, 0);
    return json_str(buf_str(&b));
}

static void add_text(struct arena *a, struct json *obj, str key, str value)
{
    if (value.n)
        json_add(a, obj, key, json_str(value));
}

static struct json reference(struct arena *a, const struct correlator_event *e)
{
    struct json ref = json_obj();
    add_text(a, &ref, S("kind"), e->kind);
    add_text(a, &ref, S("namespace"), e->namespace);
    add_text(a, &ref, S("name"), e->name);
    add_text(a, &ref, S("uid"), e->uid);
    add_text(a, &ref, S("apiVersion"), e->api_version);
    add_text(a, &ref, S("resourceVersion"), e->version);
    return ref;
}

static struct json event_of(struct arena *a, const struct correlator_event *e, const struct correlator_result *r,
                            const struct told *told, str message)
{
    struct json event = json_obj(), meta = json_obj(), source = json_obj();
    json_add(a, &meta, S("name"), json_str(r->name));
    json_add(a, &meta, S("namespace"), json_str(r->namespace));
    json_add(a, &source, S("component"), json_str(e->component));
    json_add(a, &event, S("apiVersion"), json_str(S("v1")));
    json_add(a, &event, S("kind"), json_str(S("Event")));
    json_add(a, &event, S("metadata"), meta);
    json_add(a, &event, S("involvedObject"), reference(a, e));
    json_add(a, &event, S("reason"), json_str(e->reason));
    json_add(a, &event, S("message"), json_str(message));
    json_add(a, &event, S("source"), source);
    json_add(a, &event, S("firstTimestamp"), time_of(a, told->first));
    json_add(a, &event, S("lastTimestamp"), time_of(a, e->wall));
    json_add(a, &event, S("count"), json_int(told->count));
    json_add(a, &event, S("type"), json_str(e->type));
    json_add(a, &event, S("reportingComponent"), json_str(e->component));
    json_add(a, &event, S("reportingInstance"), json_str(S("")));
    return event;
}

static struct json patch_of(struct arena *a, const struct correlator_event *e, const struct told *told, str message)
{
    struct json patch = json_obj();
    json_add(a, &patch, S("count"), json_int(told->count));
    json_add(a, &patch, S("lastTimestamp"), time_of(a, e->wall));
    json_add(a, &patch, S("message"), json_str(message));
    return patch;
}

/* "web-0.17b5c1d2e3f40516": the object, and the time in nanoseconds. */
static char *new_name(struct correlator *c, const struct correlator_event *e)
{
    struct buf b = {0};
    c->last_name = e->wall > c->last_name ? e->wall : c->last_name + 1;
    buf_fmt(&b, "%.*s.%llx", STR(e->name), (unsigned long long)c->last_name);
    buf_add_char(&b, '\0');
    return b.p;
}

struct correlator_result correlator_take(struct correlator *c, struct arena *a, const struct correlator_event *e)
{
    struct correlator_result r = {.action = CORRELATOR_CREATE,
                                  .namespace = e->namespace.n ? e->namespace : S("default")};
    bool combined = is_one_of_many(c, a, e);
    str message = combined ? str_fmt(a, "(combined from similar events): %.*s", STR(e->message)) : e->message;
    /* All that are combined are one Event; its key has a message that no text is. */
    struct told *told = cache_get(&c->told, key_of(a, e, e->reason, combined ? S("\xff") : e->message));
    if (told->count == 0) {
        told->first = e->wall;
        told->name = new_name(c, e);
    } else {
        r.action = CORRELATOR_PATCH;
    }
    if (told->count < INT32_MAX)
        told->count++;
    if (!can_afford(c, a, e)) {
        r.action = CORRELATOR_SKIP;
        return r;
    }
    r.name = str_dup(a, str_of(told->name));
    r.event = event_of(a, e, &r, told, message);
    if (r.action == CORRELATOR_PATCH)
        r.patch = patch_of(a, e, told, message);
    return r;
}
