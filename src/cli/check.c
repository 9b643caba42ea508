/* SPDX-License-Identifier: Apache-2.0 */
/* reeve check: are these objects what Kubernetes would take? Offline; CRDs among the objects say what their instances
 * must look like. */
#include "cli/cli.h"

#include "cli/cli_output.h"
#include "cli/cli_read.h"
#include "cli/command.h"
#include "cli/term.h"

#include "authz/validate.h"
#include "base/map.h"
#include "kinds/builtin.h"
#include "kinds/registry.h"
#include "kinds/strict.h"
#include "object/meta.h"
#include "object/object.h"
#include "schema/crd.h"
#include "schema/schema.h"
#include "json/yaml.h"

#include <stdio.h>

struct check {
    struct arena *arena;
    str namespace; /* of objects that name none, as with kubectl -n */
    bool ignores_unknown;
    size_t ignored;
    struct registry *registry;
    struct map schemas; /* "example.com/v1 Widget" → struct schema */
    size_t bad;
};

static str schema_key(struct arena *a, str api_version, str kind)
{
    return str_fmt(a, "%.*s %.*s", STR(api_version), STR(kind));
}

/* ---- Telling. ---- */

struct report {
    struct check *check;
    const struct read_object *of;
    size_t faults;
};

/* Texts come from files, and are shown as such. */
static void tell(struct report *r, str fault)
{
    const struct json *o = &r->of->object;
    struct buf line = {.arena = r->check->arena};
    str kind = object_kind(o), group = object_group(o), name = object_name(o);
    cli_add_visibly(&line, str_fmt(r->check->arena, "%.*s: document %zu: ", STR(r->of->file), r->of->document));
    if (kind.n)
        cli_add_visibly(&line, str_fmt(r->check->arena, "%.*s%s%.*s \"%.*s\": ", STR(kind), group.n ? "." : "",
                                       STR(group), STR(name)));
    cli_add_visibly(&line, fault);
    (void)fprintf(stderr, "%.*s\n", STR(buf_str(&line)));
    r->faults++;
}

static void tell_errors(struct report *r, const struct field_errors *errs)
{
    for (size_t i = 0; i < errs->list.n; i++) {
        struct buf text = {.arena = r->check->arena};
        field_error_format(&text, &errs->list.p[i]);
        tell(r, buf_str(&text));
    }
    if (errs->dropped)
        tell(r, str_fmt(r->check->arena, "and %zu more errors", errs->dropped));
}

/* ---- CRDs: checked first, because they say what other objects are. ---- */

static bool is_crd(const struct json *o)
{
    return str_eq(object_kind(o), S("CustomResourceDefinition")) && str_eq(object_group(o), S("apiextensions.k8s.io"));
}

static void keep_schema(struct check *c, const struct json *crd, const struct json *version, struct report *r)
{
    struct err err;
    struct schema *schema;
    const struct json *tree = json_dig(version, "schema.openAPIV3Schema");
    str api_version = str_fmt(c->arena, "%.*s/%.*s", STR(json_text(json_dig(crd, "spec.group"))),
                              STR(json_get_text(version, S("name"))));
    str key = schema_key(c->arena, api_version, json_text(json_dig(crd, "spec.names.kind")));
    if (tree == NULL || map_get(&c->schemas, key))
        return;
    if (schema_compile(tree, &schema, &err) < 0)
        tell(r, str_of(err.msg));
    else
        map_set(&c->schemas, key, schema);
}

/* A CRD without errors is taken as established at once, if its names are free. */
static void establish(struct check *c, struct json *crd, struct report *r)
{
    struct condition accepted;
    struct err err;
    struct json names;
    registry_accept_names(c->arena, c->registry, crd, &names, &accepted);
    if (!str_eq(accepted.status, S("True"))) {
        tell(r, accepted.message);
        return;
    }
    struct json *status = json_get_mut(crd, S("status"));
    struct json established = json_obj(), conditions = json_arr();
    json_set(c->arena, &established, S("type"), json_str(S("Established")));
    json_set(c->arena, &established, S("status"), json_str(S("True")));
    json_push(c->arena, &conditions, established);
    json_set(c->arena, status, S("acceptedNames"), names);
    json_set(c->arena, status, S("conditions"), conditions);
    if (registry_put_crd(c->registry, crd, &err) < 0)
        tell(r, str_of(err.msg));
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, version) keep_schema(c, crd, version, r);
}

/* ---- Any object. ---- */

static void check_builtin(struct report *r, const struct kind *kind, struct json *object)
{
    struct arena *a = r->check->arena;
    struct strict_notes notes = {0};
    struct field_errors errs = {.arena = a};
    struct err err;
    if (strict_decode(a, kind->shape, object, NULL, &notes, &err) < 0) {
        tell(r, str_of(err.msg));
        return;
    }
    for (size_t i = 0; i < notes.list.n; i++)
        tell(r, notes.list.p[i]);
    meta_validate(&errs, kind, object);
    if (rbac_kind_of(kind) != AUTHZ_UNKNOWN) {
        rbac_default(a, kind, object);
        rbac_validate(&errs, kind, object);
    } else if (is_crd(object)) {
        crd_default(a, object);
        crd_prepare_create(a, object);
        builtin_validate_crd(&errs, object);
    }
    tell_errors(r, &errs);
    if (is_crd(object) && r->faults == 0)
        establish(r->check, object, r);
}

static void check_custom(struct report *r, const struct kind *kind, struct json *object)
{
    struct arena *a = r->check->arena;
    struct field_errors errs = {.arena = a};
    struct schema_unknown unknown = {.arena = a};
    struct schema_prune_args prune = {.is_resource = true, .unknown = &unknown};
    struct schema *schema = map_get(&r->check->schemas, schema_key(a, object_api_version(object), object_kind(object)));
    if (schema) {
        schema_prune(schema_root(schema), object, &prune);
        if (schema_default(schema_root(schema), a, object))
            (void)schema_validate(schema_root(schema), (str){0}, object, &errs);
        else
            field_error_add(&errs, FIELD_INVALID, S("<nil>"), S("\"object\""), "defaults would add more than %d bytes",
                            SCHEMA_MAX_DEFAULTS);
    }
    for (size_t i = 0; i < unknown.paths.n; i++)
        tell(r, str_fmt(a, "unknown field \"%.*s\"", STR(unknown.paths.p[i])));
    meta_validate(&errs, kind, object);
    tell_errors(r, &errs);
}

static void add_namespace(struct check *c, const struct kind *kind, struct json *object)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    if (kind->namespaced && json_is_obj(meta) && object_namespace(object).n == 0)
        json_set(c->arena, meta, S("namespace"), json_str(c->namespace));
}

static void check_one(struct check *c, struct read_object *o)
{
    struct report r = {c, o, 0};
    struct json *object = &o->object;
    const struct kind *kind = registry_by_body(c->registry, object_api_version(object), object_kind(object));
    if (!json_is_obj(object))
        tell(&r, str_fmt(c->arena, "not an object but %s", json_type_name(object)));
    else if (object_kind(object).n == 0 || object_api_version(object).n == 0)
        tell(&r, object_kind(object).n ? S("apiVersion not set") : S("Object 'Kind' is missing"));
    else if (kind == NULL && c->ignores_unknown)
        c->ignored++;
    else if (kind == NULL)
        tell(&r, S("unknown kind: it is not built in, and none of the files has a CRD of it"));
    if (kind)
        add_namespace(c, kind, object);
    if (kind && kind->shape)
        check_builtin(&r, kind, object);
    else if (kind)
        check_custom(&r, kind, object);
    c->bad += r.faults > 0;
}

/* One document, as kubectl has it: of several objects a List. */
static void print_json(struct arena *a, const read_objects *objects)
{
    struct json items = json_arr_sized(a, objects->n);
    vec_each(objects, o) json_push(a, &items, o->object);
    struct json list = document_list(a, items);
    output_tree(objects->n == 1 ? &objects->p[0].object : &list, false);
}

static void print_yaml(const read_objects *objects)
{
    struct buf out = {0};
    vec_each(objects, o)
    {
        buf_add_str(&out, S("---\n"));
        yaml_encode(&out, &o->object);
    }
    output_text(buf_str(&out));
    buf_done(&out);
}

static int check_all(struct command *command, read_objects *objects, const char *output, bool ignores_unknown)
{
    struct check c = {.arena = &command->arena,
                      .namespace = command->namespace.n ? command->namespace : S("default"),
                      .ignores_unknown = ignores_unknown,
                      .registry = registry_new()};
    size_t at = 0;
    str key;
    void *schema;
    for (int crds = 1; crds >= 0; crds--) {
        for (size_t i = 0; i < objects->n; i++) {
            if (is_crd(&objects->p[i].object) == (crds == 1))
                check_one(&c, &objects->p[i]);
        }
    }
    while (map_next(&c.schemas, &at, &key, &schema))
        schema_free(schema);
    map_done(&c.schemas);
    registry_free(c.registry);
    if (output && c.bad == 0 && output[0] == 'j')
        print_json(c.arena, objects);
    else if (output && c.bad == 0)
        print_yaml(objects);
    if (c.ignored)
        term_say(&command->term, "%zu object%s of unknown kinds ignored", c.ignored, c.ignored == 1 ? "" : "s");
    term_say(&command->term, "%zu object%s, %zu with errors", objects->n, objects->n == 1 ? "" : "s", c.bad);
    return c.bad ? CLI_FAILED : CLI_OK;
}

static int read_all(struct arena *a, char **paths, size_t n, read_objects *objects)
{
    struct err err;
    for (size_t i = 0; i < n; i++) {
        if (read_path(a, paths[i], objects, &err) < 0) {
            term_complain("check", "%s", err.msg);
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

int cli_check(int argc, char **argv)
{
    static const char *const formats[] = {"yaml", "json", NULL};
    struct command c = {.name = "check", .takes = TAKES_NAMESPACE};
    bool ignores_unknown = false;
    struct flag_words words;
    read_objects objects = {0};
    int output = -1; /* nothing */
    const struct flag own[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &output, .words = formats},
        {.name = "ignore-unknown-kinds", .kind = FLAG_YES, .into = &ignores_unknown},
    };
    int code = command_start(&c, own, COUNT(own), argc, argv, &words);
    if (c.is_over)
        return command_end(&c, code);
    if (words.n == 0)
        return command_end(&c, command_misused(&c, "name at least one file, or - for standard input"));
    code = read_all(&c.arena, words.p, words.n, &objects);
    return command_end(&c, code ? code : check_all(&c, &objects, output < 0 ? NULL : formats[output], ignores_unknown));
}
