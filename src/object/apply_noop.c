/* SPDX-License-Identifier: Apache-2.0 */
/* Most applies change nothing: controllers say again what they said before. Seeing that takes one walk over three trees
 * in step, without building anything:
 *
 *     what is applied      the live object       the manager's fieldsV1 inside the live object
 *     spec:                spec:                 f:spec:
 *       size: 3              size: 3               f:size: {}
 *                            phase: up
 *
 * It is a no-op when every applied value is there already, lists in the same order, and the manager owns just the
 * applied fields: none new, none left out. Whatever is unusual makes the answer "maybe", and the full way decides. */
#include "object/apply_parts.h"

struct walk {
    const struct managed_write *write;
    struct arena scratch; /* defaults of keys */
    size_t steps;         /* left to spend on searching, so that trees in another order cost no square */
};

/* How many of the elements below a place the manager must own, or -1: maybe a change. */
typedef int32_t owned;
enum { MAYBE = -1 };

/* Which fields at this place are never owned or reset. */
enum zone { ZONE_OBJECT, ZONE_METADATA, ZONE_OTHER };

static owned walk_value(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                        const struct json *own);

/* ---- Looking up: the next one in order first. ---- */

static const struct json *find_live(struct walk *w, const struct json *live, const struct json_member *m, uint32_t *at)
{
    for (uint32_t k = 0; k < live->n; k++, w->steps--) {
        if (w->steps == 0)
            return NULL;
        uint32_t i = *at;
        *at = i + 1 == live->n ? 0 : i + 1;
        const struct json_member *l = &live->members[i];
        if (l->hash == m->hash && str_eq(json_key(l), json_key(m)))
            return &l->val;
    }
    return NULL;
}

/* The member of own whose key is prefix and text. */
static const struct json *find_own(struct walk *w, const struct json *own, char prefix, str text, uint32_t *at)
{
    for (uint32_t k = 0; k < own->n; k++, w->steps--) {
        if (w->steps == 0)
            return NULL;
        uint32_t i = *at;
        *at = i + 1 == own->n ? 0 : i + 1;
        const struct json_member *o = &own->members[i];
        if (o->key_n == text.n + 2 && o->key[0] == prefix && str_eq((str){o->key + 2, text.n}, text))
            return &o->val;
    }
    return NULL;
}

/* ---- What an entry of fieldsV1 must look like. ---- */

/* True when own is the node of a place with this many elements below, itself owned or not. */
static bool is_node(const struct json *own, owned below, bool in)
{
    if (!json_is_obj(own) || below < 0)
        return false;
    if (below == 0)
        return in && own->n == 0;
    bool dot = own->members[0].key_n == 1 && own->members[0].key[0] == '.';
    return dot == in && own->n == (uint32_t)below + dot;
}

static bool is_leaf_same(const struct json *own, const struct json *config, const struct json *live)
{
    return json_is_obj(own) && own->n == 0 && json_equal(config, live);
}

/* ---- Lists. ---- */

/* Writes {"a":1,"b":"x"} as it stands in fieldsV1, or "x". False: too long, or with anything that is escaped. */
struct text {
    char p[512];
    size_t n;
};

static bool add_bytes(struct text *b, const char *p, size_t n)
{
    if (n > sizeof b->p - b->n)
        return false;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    return true;
}

static bool add_scalar(struct text *b, const struct json *v)
{
    if (json_type(v) == JSON_STR) {
        for (uint32_t i = 0; i < v->n; i++) {
            unsigned char c = (unsigned char)v->s[i];
            if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
                return false;
        }
        return add_bytes(b, "\"", 1) && add_bytes(b, v->s, v->n) && add_bytes(b, "\"", 1);
    }
    if (json_type(v) == JSON_BOOL)
        return add_bytes(b, v->b ? "true" : "false", v->b ? 4 : 5);
    if (json_type(v) != JSON_INT)
        return false;
    char digits[24];
    size_t at = sizeof digits;
    uint64_t u = v->i < 0 ? -(uint64_t)v->i : (uint64_t)v->i;
    do
        digits[--at] = (char)('0' + u % 10);
    while (u /= 10);
    if (v->i < 0)
        digits[--at] = '-';
    return add_bytes(b, digits + at, sizeof digits - at);
}

struct list_keys {
    const struct typed *list;
    str names[TYPED_MAX_KEYS];
    size_t n;
};

static const struct json *key_value(struct walk *w, const struct list_keys *keys, size_t i, const struct json *item,
                                    struct json *space)
{
    const struct json *v = json_get(item, keys->names[i]);
    return v ? v : typed_key_default(keys->list, keys->names[i], &w->scratch, space) ? space : NULL;
}

static bool item_text(struct walk *w, const struct list_keys *keys, const struct json *item, struct text *ret)
{
    ret->n = 0;
    if (keys->list->list == TYPED_LIST_SET)
        return add_scalar(ret, item);
    for (size_t i = 0; i < keys->n; i++) {
        struct json space;
        const struct json *v = key_value(w, keys, i, item, &space);
        if (!v || !add_bytes(ret, i ? ",\"" : "{\"", 2) || !add_bytes(ret, keys->names[i].p, keys->names[i].n) ||
            !add_bytes(ret, "\":", 2) || !add_scalar(ret, v))
            return false;
    }
    return add_bytes(ret, "}", 1);
}

static bool is_same_item(struct walk *w, const struct list_keys *keys, const struct json *x, const struct json *y)
{
    if (keys->list->list == TYPED_LIST_SET)
        return json_equal(x, y);
    for (size_t i = 0; i < keys->n; i++) {
        struct json space[2];
        const struct json *a = key_value(w, keys, i, x, &space[0]), *b = key_value(w, keys, i, y, &space[1]);
        if (!a || !b || !json_equal(a, b))
            return false;
    }
    return true;
}

static owned walk_list(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                       const struct json *own)
{
    struct list_keys keys = {.list = t};
    struct typed item_type = typed_item(t);
    struct text text;
    uint32_t at_live = 0, at_own = 0;
    keys.n = typed_keys(t, keys.names);
    for (uint32_t i = 0; i < config->n; i++) {
        const struct json *item = &config->items[i];
        while (at_live < live->n && !is_same_item(w, &keys, item, &live->items[at_live]))
            at_live++; /* items of the configuration must follow each other in the live list, too */
        if (at_live == live->n || !item_text(w, &keys, item, &text))
            return MAYBE;
        bool keyed = t->list == TYPED_LIST_KEYED;
        const struct json *node = find_own(w, own, keyed ? 'k' : 'v', (str){text.p, text.n}, &at_own);
        owned below = !node ? MAYBE : keyed ? walk_value(w, &item_type, item, &live->items[at_live], node) : 0;
        if (!is_node(node, below, true))
            return MAYBE;
        at_live++;
    }
    return (owned)config->n;
}

/* ---- Maps. ---- */

static bool is_one_of(str key, const str *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(key, names[i]))
            return true;
    }
    return false;
}

static bool is_never_owned(enum zone zone, str key)
{
    static const str object[] = {S_INIT("apiVersion"), S_INIT("kind")};
    static const str metadata[] = {
        S_INIT("name"),       S_INIT("namespace"),     S_INIT("creationTimestamp"),
        S_INIT("selfLink"),   S_INIT("uid"),           S_INIT("clusterName"),
        S_INIT("generation"), S_INIT("managedFields"), S_INIT("resourceVersion"),
    };
    if (zone == ZONE_OBJECT)
        return is_one_of(key, object, 2);
    return zone == ZONE_METADATA && is_one_of(key, metadata, sizeof metadata / sizeof metadata[0]);
}

/* True when this field, or something in it, is reset by the write. */
static bool is_reset(const struct managed_write *write, enum zone zone, str key)
{
    for (size_t i = 0; i < write->n_reset && zone != ZONE_OTHER; i++) {
        str first, rest;
        str_cut(write->reset[i], '.', &first, &rest);
        if (zone == ZONE_METADATA && str_eq(first, S("metadata")))
            str_cut(rest, '.', &first, &rest);
        else if (zone == ZONE_METADATA || (str_eq(first, S("metadata")) && rest.n))
            continue;
        if (str_eq(first, key))
            return true;
    }
    return false;
}

static owned walk_map(struct walk *w, const struct typed *t, enum zone zone, const struct json *config,
                      const struct json *live, const struct json *own);

/* The node for one member: 1 owned as it should be, 0 nothing to own there, MAYBE. */
static owned walk_member(struct walk *w, const struct typed *t, enum zone zone, const struct json_member *m,
                         const struct json *live, const struct json *own, uint32_t *at_own)
{
    static const struct json nothing = {.type = JSON_OBJ};
    struct typed child;
    str key = json_key(m);
    if (is_never_owned(zone, key))
        return json_equal(&m->val, live) ? 0 : MAYBE;
    enum typed_found found = typed_field(t, key, &child);
    if (found == TYPED_UNDECLARED || is_reset(w->write, zone, key))
        return MAYBE;
    const struct json *node = find_own(w, own, 'f', key, at_own);
    owned below;
    if (zone == ZONE_OBJECT && str_eq(key, S("metadata")) && json_is_obj(&m->val) && json_is_obj(live)) {
        below = walk_map(w, &child, ZONE_METADATA, &m->val, live, node ? node : &nothing);
        return below <= 0 ? (node ? MAYBE : below) : is_node(node, below, false) ? 1 : MAYBE;
    }
    if (!node)
        return MAYBE;
    below = walk_value(w, &child, &m->val, live, node);
    if (below == 0)
        return is_node(node, 0, true) ? 1 : MAYBE;
    return is_node(node, below, found != TYPED_FIELD) ? 1 : MAYBE;
}

static owned walk_map(struct walk *w, const struct typed *t, enum zone zone, const struct json *config,
                      const struct json *live, const struct json *own)
{
    uint32_t at_live = 0, at_own = own->n && own->members[0].key_n == 1 ? 1 : 0;
    owned sum = 0;
    for (uint32_t i = 0; i < config->n; i++) {
        const struct json_member *m = &config->members[i];
        const struct json *other = find_live(w, live, m, &at_live);
        owned n = other ? walk_member(w, t, zone, m, other, own, &at_own) : MAYBE;
        if (n < 0)
            return MAYBE;
        sum += n;
    }
    return sum;
}

/* ---- Values. ---- */

static owned walk_value(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                        const struct json *own)
{
    unsigned form = typed_deduce(t, config);
    if (form == TYPED_MAP && !t->atomic && json_is_obj(config) && config->n)
        return json_is_obj(live) ? walk_map(w, t, ZONE_OTHER, config, live, own) : MAYBE;
    if (form == TYPED_LIST && t->list != TYPED_LIST_ATOMIC)
        return json_is_arr(config) && config->n && json_is_arr(live) ? walk_list(w, t, config, live, own) : MAYBE;
    /* An empty or null map takes nothing away from one that is not. */
    return is_leaf_same(own, config, live) ? 0 : MAYBE;
}

bool apply_is_noop(const struct apply_args *args, const struct json *own_entry)
{
    const struct managed_write *write = &args->write;
    const struct json *own = json_get(own_entry, S("fieldsV1"));
    struct walk w = {.write = write, .steps = 1 << 16};
    if (!json_is_obj(own) || !json_is_obj(args->config) || json_len(managed_of(args->config)))
        return false;
    if (!str_eq(json_get_text(args->config, S("apiVersion")), write->api_version) ||
        !str_eq(json_get_text(args->config, S("kind")), write->kind))
        return false;
    if (str_eq(write->manager, S("kubectl")) && last_applied_text(args->live).n)
        return false; /* the annotation may need refreshing */
    owned n = walk_map(&w, &write->type, ZONE_OBJECT, args->config, args->live, own);
    arena_done(&w.scratch);
    return n >= 0 && own->n == (uint32_t)n;
}
