/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning, defaulting and validating in one walk. On the way up each value is checked as soon as everything below it is
 * final; nothing is written down about a failure: should there be one, the object is validated again, in the order and
 * with the words of the API server. */
#include "schema/schema_check.h"
#include "schema/schema_default.h"

struct admission {
    struct defaulting defaults;
    const struct schema_prune_args *args;
    struct prune_notes notes;
    struct validation check;
    bool ok; /* so far; once false, nothing is checked any more */
};

static void admit(struct admission *w, uint32_t at, struct json *v, bool keep, const struct step *path);

/* What is not pruned: defaults, and apiVersion, kind and metadata of a resource. */
static void admit_unpruned(struct admission *w, uint32_t child, struct json *v, const struct step *path)
{
    if (child == 0)
        return;
    default_value(&w->defaults, child, v);
    w->ok = w->ok && validate_value(&w->check, child, v, path);
}

/* A scalar whose schema asks for nothing but a type; false when there is more to do. */
static bool admit_plain(const struct admission *w, uint32_t at, const struct json *v)
{
    const struct node *node = node_at(w->check.schema, at);
    return v->type < JSON_ARR && node->checks == 0 && node->accepts >> v->type & 1;
}

/* One member; false when it must go. */
static bool admit_member(struct admission *w, const struct node *node, struct json_member *m, bool keep,
                         const struct step *up)
{
    struct step step = {.up = up, .key = json_key(m)};
    uint32_t child = schema_member_node(w->check.schema, node, m, &step.extra);
    bool was_null = m->val.type == JSON_NULL;
    if (child && was_null && !default_null(&w->defaults, node_at(w->check.schema, child), &m->val))
        return false;
    if ((child && was_null) || (node->flags & NODE_EMBEDDED && is_meta_field(m))) {
        admit_unpruned(w, child, &m->val, &step);
        return true;
    }
    if (step.extra && !(node->flags & (NODE_EXTRA | NODE_FORBID_EXTRA))) {
        if (!keep)
            schema_note_unknown(&w->notes, up, m);
        return keep;
    }
    if (child && !admit_plain(w, child, &m->val))
        admit(w, child, &m->val, false, &step);
    else if (child == 0)
        schema_prune_value(w->check.schema, 0, &m->val, w->args, &w->notes, &step);
    return true;
}

static void admit_members(struct admission *w, const struct node *node, struct json *v, bool keep,
                          const struct step *path)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < v->n; i++) {
        struct json_member *m = &v->members[i];
        if (!admit_member(w, node, m, keep, path))
            continue;
        if (kept != i)
            v->members[kept] = *m;
        kept++;
    }
    v->n = kept;
    default_missing(&w->defaults, node, v);
    for (uint32_t i = kept; i < v->n; i++) {
        struct step step = {.up = path, .key = json_key(&v->members[i])};
        uint32_t child = schema_member_node(w->check.schema, node, &v->members[i], &step.extra);
        admit_unpruned(w, child, &v->members[i].val, &step);
    }
    if (node->flags & NODE_EMBEDDED && path) {
        schema_prune_metadata(v, w->args, &w->notes, path);
        w->ok = w->ok && check_embedded(&w->check, v, path);
    }
}

static void admit_items(struct admission *w, const struct node *node, struct json *v, bool keep,
                        const struct step *path)
{
    for (uint32_t i = 0; i < v->n; i++) {
        struct step step = {.up = path, .index = i};
        if (node->items == 0) {
            if (!keep)
                schema_prune_value(w->check.schema, 0, &v->items[i], w->args, &w->notes, &step);
            continue;
        }
        if (v->items[i].type != JSON_NULL) {
            if (!admit_plain(w, node->items, &v->items[i]))
                admit(w, node->items, &v->items[i], keep, &step);
            continue;
        }
        (void)default_null(&w->defaults, node_at(w->check.schema, node->items), &v->items[i]);
        admit_unpruned(w, node->items, &v->items[i], &step);
    }
    if (node->flags & (NODE_SET | NODE_LIST_MAP))
        w->ok = w->ok && check_unique(&w->check, node, v, path);
}

static void admit(struct admission *w, uint32_t at, struct json *v, bool keep, const struct step *path)
{
    const struct node *node = node_at(w->check.schema, at);
    if (v->type >= JSON_ARR) {
        keep = keep || node->flags & NODE_PRESERVE;
        if (v->type == JSON_OBJ)
            admit_members(w, node, v, keep, path);
        else
            admit_items(w, node, v, keep, path);
    }
    w->ok = w->ok && check_before(&w->check, node, v, path) && check_after(&w->check, node, v, path);
}

/* A resource keeps its apiVersion, kind and metadata. They are looked at here only if the schema itself says at its root
 * that it is one; else that is the business of whoever decoded it. */
static void admit_root(struct admission *w, const struct schema *s, struct json *v)
{
    struct node root = *node_at(s, s->root);
    bool embedded = v->type == JSON_OBJ && root.flags & NODE_EMBEDDED;
    if (w->args->is_resource && v->type == JSON_OBJ) {
        root.flags |= NODE_EMBEDDED;
        admit_members(w, &root, v, root.flags & NODE_PRESERVE, NULL);
        w->ok = w->ok && check_before(&w->check, &root, v, NULL) && check_after(&w->check, &root, v, NULL);
    } else {
        admit(w, s->root, v, false, NULL);
    }
    w->ok = w->ok && (!embedded || check_embedded(&w->check, v, NULL));
}

bool schema_admit(const struct schema *s, struct arena *a, struct json *object, const struct schema_prune_args *args,
                  struct field_errors *errs)
{
    struct pattern_scratch scratch = {0};
    struct admission w = {
        .defaults = {.schema = s, .arena = a},
        .args = args,
        .notes.out = args->unknown,
        .check = {.schema = s, .scratch = &scratch},
        .ok = true,
    };
    size_t first = args->unknown ? args->unknown->paths.n : 0;
    admit_root(&w, s, object);
    schema_notes_finish(&w.notes, first);
    pattern_scratch_done(&scratch);
    if (w.defaults.bytes > SCHEMA_MAX_DEFAULTS) {
        if (errs)
            field_error_add(errs, FIELD_INVALID, S("<nil>"), S("\"object\""), "defaults would add more than %d bytes",
                            SCHEMA_MAX_DEFAULTS);
        return false;
    }
    if (w.ok)
        return true;
    return errs && schema_validate(schema_root(s), (str){0}, object, errs);
}
