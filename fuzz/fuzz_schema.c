/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema in the first line, an object in the others. Any JSON may be tried as a schema. Pruning twice and defaulting
 * twice is as good as once; and by a schema that a CustomResourceDefinition
 * may have, what was admitted once is admitted again without a change.
 */
#include "kinds/builtin.h"
#include "kinds/shapes.h"
#include "schema/crd.h"
#include "schema/schema.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    struct arena *arena;
    const struct schema *schema;
    const struct json *object;
    bool is_checked; /* a CRD could have this schema */
};

static struct schema_prune_args prune_args(struct schema_unknown *unknown)
{
    return (struct schema_prune_args){.is_resource = true, .object_meta = &shape_object_meta, .unknown = unknown};
}

/* Whether the API server would take a CRD with this schema; the check itself must survive anything. */
static bool check_crd(struct arena *a, const struct json *schema)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"as.b.c\"},\"spec\":{\"group\":\"b.c\",\"scope\":\"Cluster\",\"names\":{\"plural\":"
        "\"as\",\"kind\":\"A\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{}}]}}";
    struct json crd;
    struct err err;
    int r = json_decode(a, str_of(text), NULL, NULL, &crd, &err);
    assert(r == 0);
    struct json *version = &json_get_mut(json_get_mut(&crd, S("spec")), S("versions"))->items[0];
    json_set(a, json_get_mut(version, S("schema")), S("openAPIV3Schema"), *schema);
    crd_default(a, &crd);
    crd_prepare_create(a, &crd);
    struct field_errors errs = {.arena = a};
    builtin_validate_crd(&errs, &crd);
    struct buf b = {.arena = a};
    field_errors_format(&b, &errs);
    return errs.list.n == 0;
}

static void check_prune(const struct input *in)
{
    struct arena *a = in->arena;
    struct schema_unknown first = {.arena = a}, second = {.arena = a};
    struct schema_prune_args args = prune_args(&first);
    struct json once = json_dup(a, in->object);
    schema_prune(schema_root(in->schema), &once, &args);
    struct json twice = json_dup(a, &once);
    args.unknown = &second;
    schema_prune(schema_root(in->schema), &twice, &args);
    assert(json_equal(&once, &twice) && second.paths.n == 0);
}

static void check_default(const struct input *in)
{
    struct arena *a = in->arena;
    struct json once = json_dup(a, in->object);
    if (!schema_default(schema_root(in->schema), a, &once))
        return;
    struct json twice = json_dup(a, &once);
    if (schema_default(schema_root(in->schema), a, &twice))
        assert(json_equal(&once, &twice));
}

static bool gave_up(const struct field_errors *errs)
{
    vec_each(&errs->list, e)
    {
        if (str_find(e->detail, S("takes too long")) >= 0)
            return true;
    }
    return false;
}

/* What is stored can be stored again, and is the same. */
static void check_admit(const struct input *in)
{
    struct arena *a = in->arena;
    schema_node root = schema_root(in->schema);
    struct field_errors errs = {.arena = a};
    struct schema_prune_args args = prune_args(NULL);
    struct json once = json_dup(a, in->object);
    schema_prune(root, &once, &args);
    if (!schema_default(root, a, &once))
        return;
    bool ok = schema_validate(root, (str){0}, &once, &errs);
    assert(ok == (errs.list.n == 0));
    if (gave_up(&errs))
        return;
    assert(schema_validate(root, (str){0}, &once, NULL) == ok);
    if (!ok || !in->is_checked)
        return;
    struct json twice = json_dup(a, &once);
    schema_prune(root, &twice, &args);
    bool still = schema_default(root, a, &twice) && schema_validate(root, (str){0}, &twice, NULL);
    assert(still && json_equal(&once, &twice));
}

/* Every member leads somewhere, however deep. */
static void check_nodes(schema_node node, const struct json *v, struct arena *a)
{
    struct json value;
    (void)schema_node_default(node, a, &value);
    for (size_t i = 0; i < schema_node_key_count(node); i++)
        (void)schema_node_key(node, i);
    assert((schema_node_kind(node) == SCHEMA_NONE) == (node.at == 0));
    json_each_member(v, m) check_nodes(schema_property(node, json_key(m)), &m->val, a);
    json_each_item(v, it) check_nodes(schema_items(node), it, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_SCOPE = {0};
    struct json schema, object;
    struct err err;
    str first, rest;
    str_cut((str){(const char *)data, size}, '\n', &first, &rest);
    if (json_decode(&arena, first, NULL, NULL, &schema, &err) < 0)
        return 0;
    bool checked = check_crd(&arena, &schema);
    struct schema *compiled;
    if (schema_compile(&schema, &compiled, &err) < 0) {
        assert(err.code == ERR_INVALID && err.msg[0] && str_is_utf8(str_of(err.msg)) && !checked);
        return 0;
    }
    if (json_decode(&arena, rest, NULL, NULL, &object, &err) == 0 && json_is_obj(&object)) {
        struct input in = {&arena, compiled, &object, checked};
        check_prune(&in);
        check_default(&in);
        check_admit(&in);
        check_nodes(schema_root(compiled), &object, &arena);
    }
    assert(schema_footprint(compiled) > 0);
    schema_free(compiled);
    return 0;
}
