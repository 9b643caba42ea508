/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults in a schema: each must have no fields unknown where it stands, and must pass validation there. The JSON of the
 * schema and its compiled form are walked side by side. */
#include "object/crd_check.h"
#include "object/schema_check.h"

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

static void walk(const struct walk *w, schema_node node, const struct json *schema, const struct step *path)
{
    const struct json *value = json_get(schema, S("default")), *items = json_get(schema, S("items"));
    const struct json *props = json_get(schema, S("properties"));
    struct walk under = *w;
    if (schema_node_is_resource(node))
        under.inside_meta = false;
    if (!json_is_null(value))
        check_default(&under, node, value, AT(path, S("default")));
    under.is_root = false;
    if (json_is_obj(items))
        walk(&under, schema_items(node), items, AT(path, S("items")));
    json_each_member(props, m)
    {
        struct walk inside = under;
        if (schema_node_is_resource(node) && is_meta_field(m))
            inside.inside_meta = true;
        walk(&inside, schema_property(node, json_key(m)), &m->val, AT_KEY(AT(path, S("properties")), json_key(m)));
    }
}

void crd_check_defaults(struct field_errors *errs, const struct json *schema, const struct step *path)
{
    struct schema *compiled;
    if (schema_compile(schema, &compiled, NULL) < 0)
        return; /* a type nobody knows: crd_check_openapi says so */
    walk(&(struct walk){.errs = errs, .is_root = true}, schema_root(compiled), schema, path);
    schema_free(compiled);
}
