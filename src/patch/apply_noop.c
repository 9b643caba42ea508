/* SPDX-License-Identifier: Apache-2.0 */
/* Most applies change nothing: controllers apply the same configuration again. Detecting that takes one walk over three
 * trees in step, without building anything:
 *
 *     what is applied      the live object       the manager's fieldsV1 inside the live object
 *     spec:                spec:                 f:spec:
 *       size: 3              size: 3               f:size: {}
 *                            phase: up
 *
 * It is a no-op when every applied value is there already, lists in the same order, and the manager owns just the
 * applied fields: none new, none left out. Whatever is unusual makes the answer "maybe", and the full way decides. */
#include "patch/apply_internal.h"

#include "base/budget.h"

struct walk {
    const struct managed_write *write;
    struct arena scratch; /* defaults of keys */
    size_t steps;         /* left to spend on searching, so that trees in another order cost no square */
    struct place {
        uint16_t live, own;
    } places
        [64]; /* where the member of a name like this, by its hash, and its node were last: items of a list are alike */
};

/* How many elements below a place the manager must own, or MAYBE. */
typedef int32_t owned;
enum { MAYBE = -1, MAX_STEPS = 1 << 16 };

/* Which fields at a level are never owned or reset. */
enum zone { ZONE_OBJECT, ZONE_METADATA, ZONE_OTHER };

/* One map of the three trees. */
struct level {
    const struct typed *type;
    enum zone zone;
    const struct json *live, *own;
    uint32_t next; /* member of live to try first: trees are mostly in the same order */
};

static owned walk_value(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                        const struct json *own);

/* ---- Comparing. ---- */

/* Names are short: no call, and mostly one or two comparisons. */
static inline bool is_same(const char *p, const char *q, size_t n)
{
    uint64_t x, y;
    uint32_t u, v;
    if (n < 4)
        return n == 0 || (p[0] == q[0] && p[n / 2] == q[n / 2] && p[n - 1] == q[n - 1]);
    if (n < 8) {
        memcpy(&u, p, 4);
        memcpy(&v, q, 4);
        if (u != v)
            return false;
        memcpy(&u, p + n - 4, 4);
        memcpy(&v, q + n - 4, 4);
        return u == v;
    }
    for (size_t i = 0; i < n - 8; i += 8) {
        memcpy(&x, p + i, 8);
        memcpy(&y, q + i, 8);
        if (x != y)
            return false;
    }
    memcpy(&x, p + n - 8, 8);
    memcpy(&y, q + n - 8, 8);
    return x == y;
}

static bool is_same_value(const struct json *x, const struct json *y)
{
    if (x->type == JSON_STR && y->type == JSON_STR)
        return x->n == y->n && is_same(x->s, y->s, x->n);
    if (x->type == JSON_INT && y->type == JSON_INT)
        return x->i == y->i;
    return json_equal(x, y);
}

/* True when own is the node of a place with this many elements below, itself owned or not. */
static bool is_node(const struct json *own, owned below, bool in)
{
    if (!json_is_obj(own) || below < 0)
        return false;
    if (below == 0)
        return in && own->n == 0;
    bool dot = own->n && own->members[0].key_n == 1 && own->members[0].key[0] == '.';
    return dot == in && own->n == (uint32_t)below + dot;
}

static bool is_leaf_same(const struct json *own, const struct json *config, const struct json *live)
{
    return json_is_obj(own) && own->n == 0 && is_same_value(config, live);
}

/* ---- Elements as written in fieldsV1: f:name, k:{"a":1,"b":"x"}, v:"x". ---- */

struct text {
    char p[512];
    size_t n;
};

static inline bool add_bytes(struct text *b, const char *p, size_t n)
{
    if (n > sizeof b->p - b->n)
        return false;
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    return true;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

/* False: too long, or with anything that would be escaped. */
static bool add_scalar(struct text *b, const struct json *v)
{
    if (json_type(v) == JSON_STR) {
        for (uint32_t i = 0; i < v->n; i++) {
            if (!is_plain((unsigned char)v->s[i]))
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

/* The node of an element, looked for from *at on, and *at behind it. */
static const struct json *find_node(struct walk *w, const struct json *own, const struct text *elem, uint32_t *at)
{
    uint32_t i = *at, hash = json_hash((str){elem->p, elem->n});
    for (uint32_t k = 0; k < own->n && w->steps; k++, w->steps--) {
        const struct json_member *o = &own->members[i];
        i = i + 1 == own->n ? 0 : i + 1;
        if (o->hash == hash && o->key_n == elem->n && is_same(o->key, elem->p, elem->n)) {
            *at = i;
            return &o->val;
        }
    }
    return NULL;
}

/* ---- Lists. ---- */

struct list_keys {
    const struct typed *list;
    str names[TYPED_MAX_KEYS];
    uint32_t hashes[TYPED_MAX_KEYS];
    size_t n;
};

/* What identifies an item: the values of its keys, or itself in a set. */
struct item_values {
    const struct json *p[TYPED_MAX_KEYS];
    struct json defaults[TYPED_MAX_KEYS];
};

static const struct json *key_value(struct walk *w, const struct list_keys *keys, size_t i, const struct json *item,
                                    struct json *space)
{
    json_each_member(item, m)
    {
        if (m->hash == keys->hashes[i] && m->key_n == keys->names[i].n && is_same(m->key, keys->names[i].p, m->key_n))
            return &m->val;
    }
    return typed_key_default(keys->list, keys->names[i], &w->scratch, space) ? space : NULL;
}

static bool read_item(struct walk *w, const struct list_keys *keys, const struct json *item, struct item_values *ret)
{
    ret->p[0] = item;
    for (size_t i = 0; i < keys->n; i++) {
        ret->p[i] = key_value(w, keys, i, item, &ret->defaults[i]);
        if (!ret->p[i])
            return false;
    }
    return true;
}

static bool is_same_item(const struct list_keys *keys, const struct item_values *x, const struct item_values *y)
{
    for (size_t i = 0; i < keys->n || i == 0; i++) {
        if (!is_same_value(x->p[i], y->p[i]))
            return false;
    }
    return true;
}

static bool item_text(const struct list_keys *keys, const struct item_values *values, struct text *ret)
{
    ret->n = 0;
    if (keys->list->list == TYPED_LIST_SET)
        return add_bytes(ret, "v:", 2) && add_scalar(ret, values->p[0]);
    add_bytes(ret, "k:", 2);
    for (size_t i = 0; i < keys->n; i++) {
        if (!add_bytes(ret, i ? ",\"" : "{\"", 2) || !add_bytes(ret, keys->names[i].p, keys->names[i].n) ||
            !add_bytes(ret, "\":", 2) || !add_scalar(ret, values->p[i]))
            return false;
    }
    return add_bytes(ret, "}", 1);
}

/* The items of a live list, in step with those of the configuration. */
struct live_items {
    const struct list_keys *keys;
    const struct json *live, *own;
    uint32_t at;
};

/* Passes the items in front of the one with these values, or all when values is NULL. They are of others: false when
 * the manager owns one, for then it is out of order or there twice. */
static bool pass_others(struct walk *w, struct live_items *l, const struct item_values *values)
{
    struct item_values other;
    struct text elem;
    uint32_t ignored = 0;
    for (; l->at < l->live->n; l->at++) {
        if (!read_item(w, l->keys, &l->live->items[l->at], &other))
            return false;
        if (values && is_same_item(l->keys, values, &other))
            return true;
        if (!item_text(l->keys, &other, &elem) || find_node(w, l->own, &elem, &ignored) || !w->steps)
            return false;
    }
    return !values;
}

/* The nodes of a list, each good for one item. */
struct list_nodes {
    const struct json *own;
    uint32_t at;
    uint64_t few, *taken; /* a bit for each */
};

static const struct json *take_node(struct walk *w, struct list_nodes *l, const struct text *elem)
{
    const struct json *node = find_node(w, l->own, elem, &l->at);
    if (!node)
        return NULL;
    uint32_t i = (l->at ? l->at : l->own->n) - 1;
    uint64_t bit = UINT64_C(1) << i % 64;
    if (!l->taken)
        l->taken = l->own->n <= 64 ? &l->few : ARENA_ARRAY(&w->scratch, uint64_t, l->own->n / 64 + 1);
    if (l->taken[i / 64] & bit)
        return NULL;
    l->taken[i / 64] |= bit;
    return node;
}

static owned walk_list(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                       const struct json *own)
{
    struct list_keys keys = {.list = t};
    struct live_items l = {.keys = &keys, .live = live, .own = own};
    struct typed item_type = typed_item(t);
    bool keyed = t->list == TYPED_LIST_KEYED;
    struct item_values values;
    struct text elem;
    struct list_nodes nodes = {.own = own};
    keys.n = typed_keys(t, keys.names);
    for (size_t i = 0; i < keys.n; i++)
        keys.hashes[i] = json_hash(keys.names[i]);
    for (uint32_t i = 0; i < config->n; i++, l.at++) {
        const struct json *item = &config->items[i];
        if (!read_item(w, &keys, item, &values) || !pass_others(w, &l, &values) || !item_text(&keys, &values, &elem))
            return MAYBE;
        const struct json *node = take_node(w, &nodes, &elem);
        owned below = !node ? MAYBE : keyed ? walk_value(w, &item_type, item, &live->items[l.at], node) : 0;
        if (!is_node(node, below, true))
            return MAYBE;
    }
    return pass_others(w, &l, NULL) ? (owned)config->n : MAYBE;
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
    return zone == ZONE_METADATA && is_one_of(key, metadata, COUNT(metadata));
}

/* True when this field, or something in it, is reset by the write. */
static bool is_reset(const struct managed_write *write, enum zone zone, str key)
{
    for (size_t i = 0; i < write->n_reset; i++) {
        str first, rest;
        str_cut(write->reset[i], '.', &first, &rest);
        bool is_inner = str_eq(first, S("metadata")) && rest.n;
        if (is_inner)
            str_cut(rest, '.', &first, &rest);
        if (is_inner == (zone == ZONE_METADATA) && str_eq(first, key))
            return true;
    }
    return false;
}

static struct place *place_of(struct walk *w, const struct json_member *m)
{
    return &w->places[m->hash % (COUNT(w->places))];
}

static inline bool is_same_key(const struct json_member *x, const struct json_member *y)
{
    return x->hash == y->hash && x->key_n == y->key_n && is_same(x->key, y->key, x->key_n);
}

/* The value of a member in live, or NULL. */
static const struct json *find_live(struct walk *w, struct level *l, const struct json_member *m)
{
    const struct json *live = l->live;
    struct place *place = place_of(w, m);
    uint32_t i = place->live;
    if (l->next < live->n && is_same_key(&live->members[l->next], m))
        return &live->members[l->next++].val;
    if (i < live->n && is_same_key(&live->members[i], m)) {
        l->next = i + 1;
        return &live->members[i].val;
    }
    for (i = 0; i < live->n && w->steps; i++, w->steps--) {
        if (is_same_key(&live->members[i], m)) {
            place->live = (uint16_t)i;
            l->next = i + 1;
            return &live->members[i].val;
        }
    }
    return NULL;
}

/* The node of a member, or NULL. */
static const struct json *find_own(struct walk *w, const struct level *l, const struct json_member *m)
{
    struct place *place = place_of(w, m);
    if (place->own < l->own->n) {
        const struct json_member *o = &l->own->members[place->own];
        if (o->key_n == m->key_n + 2 && o->key[0] == 'f' && o->key[1] == ':' && is_same(o->key + 2, m->key, m->key_n))
            return &o->val;
    }
    struct text elem; /* not cleared: it is large, and only what is added is read */
    uint32_t at = 0;
    elem.n = 0;
    add_bytes(&elem, "f:", 2);
    if (!add_bytes(&elem, m->key, m->key_n))
        return NULL;
    const struct json *node = find_node(w, l->own, &elem, &at);
    place->own = (uint16_t)((at ? at : l->own->n) - 1);
    return node;
}

static owned walk_map(struct walk *w, struct level *l, const struct json *config);

static owned walk_metadata(struct walk *w, const struct typed *t, const struct json *config, const struct json *live,
                           const struct json *own)
{
    static const struct json nothing = {.type = JSON_OBJ};
    struct level l = {.type = t, .zone = ZONE_METADATA, .live = live, .own = own ? own : &nothing};
    if (!json_is_obj(l.own))
        return MAYBE;
    owned below = walk_map(w, &l, config);
    if (below <= 0)
        return own ? MAYBE : below;
    return is_node(own, below, false) ? 1 : MAYBE;
}

/* 1: owned as it should be; 0: nothing to own there; or MAYBE. */
static owned walk_member(struct walk *w, struct level *l, const struct json_member *m)
{
    str key = json_key(m);
    struct typed child;
    const struct json *live = find_live(w, l, m);
    if (!live)
        return MAYBE;
    if (l->zone != ZONE_OTHER) {
        if (is_never_owned(l->zone, key))
            return json_equal(&m->val, live) ? 0 : MAYBE;
        if (is_reset(w->write, l->zone, key))
            return MAYBE;
    }
    const struct json *own = find_own(w, l, m);
    if (m->val.type < JSON_ARR && m->val.type != JSON_NULL) /* whatever its type, a scalar that is there is a leaf */
        return own && is_leaf_same(own, &m->val, live) ? 1 : MAYBE;
    enum typed_found found = typed_member(l->type, m, &child);
    if (found == TYPED_UNDECLARED)
        return MAYBE;
    if (l->zone == ZONE_OBJECT && str_eq(key, S("metadata")) && json_is_obj(&m->val) && json_is_obj(live))
        return walk_metadata(w, &child, &m->val, live, own);
    owned below = own ? walk_value(w, &child, &m->val, live, own) : MAYBE;
    return is_node(own, below, below == 0 || found != TYPED_FIELD) ? 1 : MAYBE;
}

static owned walk_map(struct walk *w, struct level *l, const struct json *config)
{
    owned sum = 0;
    for (uint32_t i = 0; i < config->n; i++) {
        owned n = walk_member(w, l, &config->members[i]);
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
    budget_charge(3);
    unsigned form = typed_deduce(t, config);
    if (!json_is_obj(own))
        return MAYBE;
    if (form == TYPED_MAP && !t->atomic && json_is_obj(config) && config->n) {
        struct level l = {.type = t, .zone = ZONE_OTHER, .live = live, .own = own};
        return json_is_obj(live) ? walk_map(w, &l, config) : MAYBE;
    }
    if (form == TYPED_LIST && t->list != TYPED_LIST_ATOMIC)
        return json_is_arr(config) && config->n && json_is_arr(live) ? walk_list(w, t, config, live, own) : MAYBE;
    /* An empty or null map removes nothing from one that is not empty; the full apply handles that. */
    return is_leaf_same(own, config, live) ? 0 : MAYBE;
}

bool apply_is_noop(const struct apply_args *args, const struct json *own_entry)
{
    const struct managed_write *write = &args->write;
    const struct json *own = json_get(own_entry, S("fieldsV1"));
    struct walk w = {.write = write, .steps = MAX_STEPS};
    struct level l = {.type = &write->type, .zone = ZONE_OBJECT, .live = args->live, .own = own};
    if (!json_is_obj(own) || !json_is_obj(args->live) || !json_is_obj(args->config) ||
        json_len(managed_of(args->config)))
        return false;
    if (!str_eq(json_get_text(args->config, S("apiVersion")), write->api_version) ||
        !str_eq(json_get_text(args->config, S("kind")), write->kind))
        return false;
    if (str_eq(write->manager, S("kubectl")) && last_applied_text(args->live).n)
        return false; /* the annotation may need refreshing */
    owned n = walk_map(&w, &l, args->config);
    arena_done(&w.scratch);
    return n >= 0 && own->n == (uint32_t)n;
}
