/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a compiled schema. */
#include "schema/schema_block.h"

#include <stdlib.h>

uint32_t schema_check_arg(const struct schema *s, const struct node *node, enum check op)
{
    if (node->checks == 0)
        return 0;
    for (const uint32_t *c = s->words + node->checks; *c != CHECK_END; c += 2) {
        if (*c == op)
            return c[1];
    }
    return 0;
}

struct json_member *schema_find_member(const struct schema *s, const struct json *obj, uint32_t key, uint32_t hash)
{
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i];
        if (m->hash == hash && str_eq(json_key(m), text_at(s, key)))
            return m;
    }
    return NULL;
}

const struct pattern *schema_pattern(const struct schema *s, uint32_t index)
{
    _Atomic(struct pattern *) *slot = (_Atomic(struct pattern *) *)&s->slots[index];
    struct pattern *p = atomic_load_explicit(slot, memory_order_acquire);
    if (p)
        return p;
    p = pattern_make(text_at(s, s->words[s->patterns + index]));
    struct pattern *other = NULL;
    if (atomic_compare_exchange_strong_explicit(slot, &other, p, memory_order_acq_rel, memory_order_acquire))
        return p;
    pattern_free(p);
    return other;
}

void schema_path_format(struct buf *b, const struct step *path, bool brackets)
{
    if (path == NULL)
        return;
    schema_path_format(b, path->up, brackets);
    if (path->key.p == NULL) {
        buf_fmt(b, "[%u]", path->index);
    } else if (brackets && path->extra) {
        buf_fmt(b, "[%.*s]", STR(path->key));
    } else {
        if (b->n)
            buf_add_char(b, '.');
        buf_add_str(b, path->key);
    }
}

/* ---- Public ---- */

void schema_trim(struct schema *s)
{
    for (uint32_t i = 0; i < s->n_patterns; i++)
        pattern_free(atomic_exchange(&s->slots[i], NULL));
}

void schema_free(struct schema *s)
{
    if (s == NULL)
        return;
    schema_trim(s);
    free(s);
}

size_t schema_footprint(const struct schema *s)
{
    size_t n = sizeof *s + s->n_patterns * sizeof *s->slots + s->n_words * sizeof *s->words + s->n_bytes;
    for (uint32_t i = 0; i < s->n_patterns; i++)
        n += pattern_footprint(atomic_load((_Atomic(struct pattern *) *)&s->slots[i]));
    return n;
}

bool schema_has_rules(const struct schema *s)
{
    return node_at(s, s->root)->flags & NODE_HAS_RULES;
}

schema_node schema_root(const struct schema *s)
{
    return (schema_node){s, s->root};
}

static const struct node *of(schema_node n)
{
    static const struct node none = {0};
    return n.at ? node_at(n.schema, n.at) : &none;
}

schema_node schema_member(schema_node n, const struct json_member *m, bool *ret_declared)
{
    *ret_declared = false;
    if (n.at == 0)
        return n;
    const struct node *node = of(n);
    bool extra;
    uint32_t at = schema_member_node(n.schema, node, m, &extra);
    *ret_declared = !extra;
    if (at == 0 && node->flags & (NODE_PRESERVE | NODE_EXTRA))
        at = NODE_ANY;
    return (schema_node){n.schema, at};
}

schema_node schema_property(schema_node n, str key)
{
    struct json_member m = {.key = key.n ? key.p : "", .key_n = (uint32_t)key.n, .hash = json_hash(key)};
    bool declared;
    return schema_member(n, &m, &declared);
}

schema_node schema_items(schema_node n)
{
    const struct node *node = of(n);
    return (schema_node){n.schema, node->items ? node->items : node->flags & NODE_PRESERVE ? NODE_ANY : 0};
}

enum schema_kind schema_node_kind(schema_node n)
{
    if (n.at == 0)
        return SCHEMA_NONE;
    switch (of(n)->type) {
    case TYPE_NONE:
        return SCHEMA_ANY;
    case TYPE_ARRAY:
        return SCHEMA_LIST;
    case TYPE_OBJECT:
        return SCHEMA_MAP;
    default:
        return SCHEMA_SCALAR;
    }
}

enum schema_list_type schema_node_list_type(schema_node n)
{
    unsigned flags = of(n)->flags;
    return flags & NODE_SET ? SCHEMA_LIST_SET : flags & NODE_LIST_MAP ? SCHEMA_LIST_MAP : SCHEMA_LIST_ATOMIC;
}

bool schema_node_is_atomic_map(schema_node n)
{
    return of(n)->flags & NODE_ATOMIC_MAP;
}

bool schema_node_is_int_or_string(schema_node n)
{
    return of(n)->type == TYPE_INT_OR_STRING;
}

enum schema_scalar schema_node_scalar(schema_node n)
{
    switch (of(n)->type) {
    case TYPE_INTEGER:
    case TYPE_NUMBER:
        return SCHEMA_NUMBER;
    case TYPE_BOOLEAN:
        return SCHEMA_BOOLEAN;
    case TYPE_STRING:
        return schema_check_arg(n.schema, of(n), CHECK_FORMAT) ? SCHEMA_ANY_SCALAR : SCHEMA_STRING;
    default:
        return SCHEMA_ANY_SCALAR;
    }
}

struct schema_facts schema_node_facts(schema_node n)
{
    const struct node *node = of(n);
    return (struct schema_facts){
        .kind = schema_node_kind(n),
        .list_type = schema_node_list_type(n),
        .is_int_or_string = node->type == TYPE_INT_OR_STRING,
        .is_atomic_map = node->flags & NODE_ATOMIC_MAP,
        .is_resource = node->flags & NODE_EMBEDDED,
        .keeps_unknown = node->flags & NODE_PRESERVE,
        .has_properties = node->props || node->flags & (NODE_EXTRA | NODE_FORBID_EXTRA),
    };
}

bool schema_node_is_resource(schema_node n)
{
    return of(n)->flags & NODE_EMBEDDED;
}

bool schema_node_keeps_unknown(schema_node n)
{
    return of(n)->flags & NODE_PRESERVE;
}

bool schema_node_is_nullable(schema_node n)
{
    return of(n)->flags & NODE_NULLABLE;
}

size_t schema_node_key_count(schema_node n)
{
    uint32_t list = n.at ? schema_check_arg(n.schema, of(n), CHECK_LIST_KEYS) : 0;
    return list ? n.schema->words[list] : 0;
}

str schema_node_key(schema_node n, size_t i)
{
    uint32_t list = schema_check_arg(n.schema, of(n), CHECK_LIST_KEYS);
    return text_at(n.schema, n.schema->words[list + 2 + 2 * i]);
}

bool schema_node_default(schema_node n, struct arena *a, struct json *ret)
{
    if (!(of(n)->flags & NODE_DEFAULT))
        return false;
    const char *p = n.schema->bytes + schema_check_arg(n.schema, of(n), CHECK_DEFAULT);
    *ret = schema_unpack(a, &p);
    return true;
}
