/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "schema/schema_internal.h"

#include <stdlib.h>

struct defaulting {
    const struct schema *schema;
    struct arena *arena;
    size_t bytes; /* of defaults filled in so far */
};

static void default_value(struct defaulting *d, uint32_t at, struct json *v);

/* Removing what a schema does not know. */

/* Records the path of a member, unless paths are not collected or the limit is reached. */
static bool make_path(struct prune_notes *notes, const struct step *up, const struct json_member *m, bool brackets,
                      str *ret)
{
    struct schema_unknown *out = notes->out;
    if (out == NULL)
        return false;
    if (out->paths.n + notes->metadata.n >= SCHEMA_MAX_UNKNOWN || out->bytes >= SCHEMA_MAX_UNKNOWN_BYTES) {
        out->dropped++;
        return false;
    }
    struct buf b = {.arena = out->arena};
    schema_path_format(&b, &(struct step){.up = up, .key = json_key(m)}, brackets);
    out->bytes += b.n;
    *ret = buf_str(&b);
    return true;
}

static void schema_note_unknown(struct prune_notes *notes, const struct step *up, const struct json_member *m)
{
    str path;
    if (make_path(notes, up, m, false, &path))
        *vec_push(notes->out->arena, &notes->out->paths) = path;
}

static void note_metadata(struct prune_notes *notes, const struct step *up, const struct json_member *m)
{
    str path;
    if (make_path(notes, up, m, true, &path))
        *vec_push(notes->out->arena, &notes->metadata) = path;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* Sorts what was found into notes->out. */
static void schema_notes_finish(struct prune_notes *notes, size_t first)
{
    struct schema_unknown *out = notes->out;
    if (out == NULL)
        return;
    if (out->paths.n > first)
        qsort(out->paths.p + first, out->paths.n - first, sizeof *out->paths.p, by_text);
    if (notes->metadata.n)
        qsort(notes->metadata.p, notes->metadata.n, sizeof *notes->metadata.p, by_text);
    vec_each(&notes->metadata, it) * vec_push(out->arena, &out->paths) = *it;
}

/* ---- Metadata of embedded resources, by the shape of ObjectMeta ---- */

static void prune_record(struct json *v, const struct shape *shape, struct prune_notes *notes, const struct step *path);

static void prune_field(struct json *v, const struct shape_field *f, struct prune_notes *notes, const struct step *path)
{
    if (f->type != SHAPE_RECORD)
        return;
    if (f->card == SHAPE_ONE) {
        prune_record(v, f->record, notes, path);
    } else if (f->card == SHAPE_LIST && json_is_arr(v)) {
        for (uint32_t i = 0; i < v->n; i++)
            prune_record(&v->items[i], f->record, notes, &(struct step){.up = path, .index = i});
    }
}

static void prune_record(struct json *v, const struct shape *shape, struct prune_notes *notes, const struct step *path)
{
    if (!json_is_obj(v))
        return;
    uint32_t kept = 0;
    budget_charge(1 + v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_member *m = &v->members[i];
        const struct shape_field *f = shape_find(shape, json_key(m));
        if (f == NULL) {
            note_metadata(notes, path, m);
            continue;
        }
        if (m->val.type == JSON_NULL)
            continue; /* as reading it into a struct would */
        prune_field(&m->val, f, notes, &(struct step){.up = path, .key = json_key(m)});
        v->members[kept++] = *m;
    }
    v->n = kept;
}

/* Prunes the metadata of an embedded resource. */
static void schema_prune_metadata(struct json *resource, const struct schema_prune_args *args,
                                  struct prune_notes *notes, const struct step *up)
{
    struct json *metadata = args->object_meta ? json_get_mut(resource, S("metadata")) : NULL;
    if (metadata)
        prune_record(metadata, args->object_meta, notes, &(struct step){.up = up, .key = S("metadata")});
}

/* ---- Everything else, by the schema ---- */

struct pruner {
    const struct schema *schema;
    const struct schema_prune_args *args;
    struct prune_notes *notes;
};

static void prune(const struct pruner *p, uint32_t at, struct json *v, bool keep, const struct step *path);

/* Keeps or drops one member and prunes what is below it. */
static bool keep_member(const struct pruner *p, const struct node *node, struct json_member *m, bool keep,
                        const struct step *path)
{
    if (node->flags & NODE_EMBEDDED && is_meta_field(m))
        return true;
    bool extra;
    uint32_t child = schema_member_node(p->schema, node, m, &extra);
    if (extra && !(node->flags & (NODE_EXTRA | NODE_FORBID_EXTRA))) {
        if (!keep)
            schema_note_unknown(p->notes, path, m);
        return keep;
    }
    if (m->val.type >= JSON_ARR)
        prune(p, child, &m->val, false, &(struct step){.up = path, .key = json_key(m), .extra = extra});
    return true;
}

static void prune_members(const struct pruner *p, const struct node *node, struct json *v, bool keep,
                          const struct step *path)
{
    uint32_t kept = 0;
    if (!budget_charge(1 + v->n))
        return;
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_member *m = &v->members[i];
        if (!keep_member(p, node, m, keep, path))
            continue;
        if (kept != i)
            v->members[kept] = *m;
        kept++;
    }
    v->n = kept;
    if (node->flags & NODE_EMBEDDED && path)
        schema_prune_metadata(v, p->args, p->notes, path);
}

/* keep: unknown members here are kept, because of the list around them. */
static void prune(const struct pruner *p, uint32_t at, struct json *v, bool keep, const struct step *path)
{
    static const struct node unknown = {0};
    if (v->type < JSON_ARR || (keep && at == 0))
        return;
    const struct node *node = at ? node_at(p->schema, at) : &unknown;
    keep = keep || node->flags & NODE_PRESERVE;
    if (keep && node->props == 0 && node->extra == 0 && node->items == 0 && !(node->flags & NODE_EMBEDDED) &&
        !(node->flags & NODE_EXTRA))
        return;
    if (v->type == JSON_OBJ) {
        prune_members(p, node, v, keep, path);
        return;
    }
    budget_charge(1 + v->n / 8);
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->items[i].type >= JSON_ARR)
            prune(p, node->items, &v->items[i], keep, &(struct step){.up = path, .index = i});
    }
}

void schema_prune(schema_node n, struct json *v, const struct schema_prune_args *args)
{
    struct prune_notes notes = {.out = args->unknown};
    const struct pruner p = {n.schema, args, &notes};
    size_t first = args->unknown ? args->unknown->paths.n : 0;
    if (args->is_resource && json_is_obj(v)) {
        struct node root = n.at ? *node_at(n.schema, n.at) : (struct node){0};
        root.flags |= NODE_EMBEDDED;
        prune_members(&p, &root, v, root.flags & NODE_PRESERVE, NULL);
    } else {
        prune(&p, n.at, v, false, NULL);
    }
    schema_notes_finish(&notes, first);
}

/* Nulls out, defaults in. */

/* Builds the default of a node that has one. */
static bool default_make(struct defaulting *d, const struct node *node, struct json *ret)
{
    const char *start = d->schema->bytes + schema_check_arg(d->schema, node, CHECK_DEFAULT), *p = start;
    if (d->bytes > SCHEMA_MAX_DEFAULTS)
        return false;
    *ret = schema_unpack(d->arena, &p);
    d->bytes += (size_t)(p - start);
    return budget_charge(2 + (size_t)(p - start) / 8);
}

/* What becomes of a null: stays if nullable, else becomes the default, else false: it has to go. */
static bool default_null(struct defaulting *d, const struct node *node, struct json *v)
{
    if (node->flags & NODE_NULLABLE)
        return true;
    return node->flags & NODE_DEFAULT && default_make(d, node, v);
}

/* Adds the members that are missing and have a default, in the order of the schema. */
static void default_missing(struct defaulting *d, const struct node *node, struct json *obj)
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

/* All of it, for a value and everything below it. */
static void default_value(struct defaulting *d, uint32_t at, struct json *v)
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
