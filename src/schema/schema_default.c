/* SPDX-License-Identifier: Apache-2.0 */
/* Nulls out, defaults in. */
#include "schema/schema_default.h"

#include "base/budget.h"

bool default_make(struct defaulting *d, const struct node *node, struct json *ret)
{
    const char *start = d->schema->bytes + schema_check_arg(d->schema, node, CHECK_DEFAULT), *p = start;
    if (d->bytes > SCHEMA_MAX_DEFAULTS)
        return false;
    *ret = schema_unpack(d->arena, &p);
    d->bytes += (size_t)(p - start);
    return budget_charge(2 + (size_t)(p - start) / 8);
}

bool default_null(struct defaulting *d, const struct node *node, struct json *v)
{
    if (node->flags & NODE_NULLABLE)
        return true;
    return node->flags & NODE_DEFAULT && default_make(d, node, v);
}

void default_missing(struct defaulting *d, const struct node *node, struct json *obj)
{
    if (node->props == 0)
        return;
    const struct table *t = (const struct table *)(d->schema->words + node->props);
    budget_charge(t->defaults);
    struct json_index index JSON_INDEX_SCOPE = {0};
    struct json given = *obj; /* what is added has other names */
    bool wide = is_wide(t->defaults, obj);
    if (wide)
        json_index_init(&index, &given);
    for (uint32_t i = 0; i < t->defaults; i++) {
        const struct prop *p = &t->props[table_defaults(t)[i]];
        str key = text_at(d->schema, p->key);
        struct json v;
        given.members = obj->members;
        if (wide ? json_index_find(&index, key) : schema_find_member(d->schema, &given, p->key, p->hash))
            continue;
        d->bytes += key.n + strlen("\"\":,");
        if (default_make(d, node_at(d->schema, p->node), &v))
            json_add(d->arena, obj, str_dup(d->arena, key), v);
    }
}

static void default_members(struct defaulting *d, const struct node *node, struct json *obj)
{
    uint32_t kept = 0;
    bool extra;
    if (!budget_charge(1 + obj->n))
        return;
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i];
        uint32_t child = m->val.type == JSON_NULL ? schema_member_node(d->schema, node, m, &extra) : 0;
        if (child && !default_null(d, node_at(d->schema, child), &m->val))
            continue;
        if (kept != i)
            obj->members[kept] = *m;
        kept++;
    }
    obj->n = kept;
    default_missing(d, node, obj);
    for (uint32_t i = 0; i < obj->n; i++) {
        struct json_member *m = &obj->members[i];
        if (m->val.type >= JSON_ARR)
            default_value(d, schema_member_node(d->schema, node, m, &extra), &m->val);
    }
}

void default_value(struct defaulting *d, uint32_t at, struct json *v)
{
    if (at == 0 || v->type < JSON_ARR)
        return;
    const struct node *node = node_at(d->schema, at);
    if (v->type == JSON_OBJ) {
        default_members(d, node, v);
        return;
    }
    if (node->items == 0)
        return;
    const struct node *items = node_at(d->schema, node->items);
    if (!budget_charge(1 + v->n / 2))
        return;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->items[i].type == JSON_NULL)
            (void)default_null(d, items, &v->items[i]); /* a null without a default stays, and is found to be wrong */
        default_value(d, node->items, &v->items[i]);
    }
}

bool schema_default(schema_node n, struct arena *a, struct json *v)
{
    struct defaulting d = {.schema = n.schema, .arena = a};
    default_value(&d, n.at, v);
    return d.bytes <= SCHEMA_MAX_DEFAULTS;
}
