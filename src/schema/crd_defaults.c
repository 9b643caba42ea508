/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults in a schema: each must have no fields unknown where it stands, and must pass validation there. Most schemas have few:
 * what is below the first on the way down is compiled, once, and walked side by side with its JSON. */
#include "schema/crd_check.h"
#include "schema/schema_check.h"

struct walk {
    struct field_errors *errs;
    bool is_root;
    bool inside_meta; /* below apiVersion, kind or metadata of an embedded resource */
};

static void check_pruned(struct field_errors *errs, schema_node node, bool is_resource, const struct json *value,
                         const struct step *at)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json pruned = json_dup(&scratch, value);
    schema_prune(node, &pruned, &(struct schema_prune_args){.is_resource = is_resource});
    if (!json_equal(&pruned, value))
        crd_invalid(errs, at, field_value(errs->arena, value), "must not have unknown fields");
}

static void check_default(const struct walk *w, schema_node node, const struct json *value, const struct step *at)
{
    struct field_errors *errs = w->errs;
    struct buf base = {.arena = errs->arena};
    schema_path_format(&base, at, true);
    if (!w->inside_meta)
        check_pruned(errs, node, w->is_root || schema_node_is_resource(node), value, at);
    (void)schema_validate_default(node, buf_str(&base), value, w->is_root, errs);
}

static void walk(const struct walk *w, schema_node node, const struct json *schema, const struct step *path);

static void walk_under(const struct walk *w, schema_node node, const struct json *schema, const struct step *path)
{
    const struct json *items = json_get(schema, S("items")), *props = json_get(schema, S("properties"));
    bool is_resource = json_true(json_get(schema, S("x-kubernetes-embedded-resource")));
    struct walk under = {.errs = w->errs, .inside_meta = w->inside_meta && !is_resource};
    if (json_is_obj(items))
        walk(&under, node.schema ? schema_items(node) : node, items, AT(path, S("items")));
    json_each_member(props, m)
    {
        struct walk inside = under;
        if (is_resource && is_meta_field(m))
            inside.inside_meta = true;
        walk(&inside, node.schema ? schema_property(node, json_key(m)) : node, &m->val,
             AT_KEY(AT(path, S("properties")), json_key(m)));
    }
}

static void walk(const struct walk *w, schema_node node, const struct json *schema, const struct step *path)
{
    const struct json *value = json_get(schema, S("default"));
    struct schema *own = NULL;
    if (!json_is_null(value)) {
        if (node.schema == NULL) {
            if (schema_compile(schema, &own, NULL) < 0)
                return; /* a type nobody knows: crd_check_openapi says so */
            node = schema_root(own);
        }
        struct walk here = *w;
        here.inside_meta = w->inside_meta && !schema_node_is_resource(node);
        check_default(&here, node, value, AT(path, S("default")));
    }
    walk_under(w, node, schema, path);
    schema_free(own);
}

void crd_check_defaults(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    walk(&(struct walk){.errs = errs, .is_root = true}, (schema_node){0}, schema, path);
}
