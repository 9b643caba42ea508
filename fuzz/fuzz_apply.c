/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A story of one object. The first line says what it is: "apps/v1 Deployment" of the built-in kinds, an openAPIV3Schema,
 * or anything else for a custom resource without one. Each further line is a write, told by its first letter:
 *
 *     a {...}   manager a applies this       f {...}   manager f applies this by force
 *     u {...}   manager u sends this merge patch
 *     m {...}   is a FieldsV1 tree
 *
 * After each: what was applied can be applied again and again without any change, quickly and thoroughly told alike; what an
 * update changes is only managedFields; records can be read and are written as they would be again; an apply of nothing
 * leaves its manager nothing.
 */
#include "kinds/builtin.h"
#include "patch/apply_internal.h"
#include "patch/json_patch.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct story {
    struct arena *arena;
    struct managed_write write;
    struct json live; /* null: none yet */
};

static bool read_json(struct arena *a, str text, struct json *ret)
{
    struct err err;
    return json_decode(a, text, NULL, NULL, ret, &err) == 0;
}

/* The object with its type, name and uid, whatever else it says. */
static struct json as_object(struct story *s, const struct json *v, bool stored)
{
    struct json out = json_is_obj(v) ? json_dup_top(s->arena, v) : json_obj(),
                *meta = json_get_mut(&out, S("metadata"));
    struct json metadata = json_is_obj(meta) ? json_dup_top(s->arena, meta) : json_obj();
    json_set(s->arena, &metadata, S("name"), json_str(S("x")));
    if (stored)
        json_set(s->arena, &metadata, S("uid"), json_str(S("u")));
    else
        json_remove(&metadata, S("uid"));
    json_set(s->arena, &out, S("apiVersion"), json_str(s->write.api_version));
    json_set(s->arena, &out, S("kind"), json_str(s->write.kind));
    json_set(s->arena, &out, S("metadata"), metadata);
    return out;
}

static void check_record(struct story *s, const struct json *object)
{
    struct managed m;
    struct err err;
    int rc = managed_decode(s->arena, managed_of(object), &m, &err);
    assert(rc == 0);
    vec_each(&m.list, e) assert(e->set.n > 0 && e->fields);
    struct json again = managed_encode(&m);
    assert(json_is_null(&again) ? managed_of(object) == NULL : json_equal(&again, managed_of(object)));
}

static const struct json *entry_of(const struct json *object, str manager)
{
    json_each_item(managed_of(object), e)
    {
        if (str_eq(json_get_text(e, S("manager")), manager) && str_eq(json_get_text(e, S("operation")), S("Apply")))
            return e;
    }
    return NULL;
}

/* Applying the same once more changes nothing; applying nothing leaves nothing. But an empty list is owned by nobody: as
 * in Kubernetes it may go with what was in it before and only come with the second apply, and a configuration with
 * nothing else in it never settles down at once. */
static void check_again(struct story *s, const struct apply_args *before, const struct json *object)
{
    struct json live = as_object(s, object, true), nothing = as_object(s, NULL, false);
    struct apply_args args = *before;
    struct apply_result result;
    struct err err;
    args.live = &live;
    args.force = false;
    int rc = apply_thoroughly(s->arena, &args, &result, &err);
    assert(rc == 0);
    live = as_object(s, &result.object, true);
    rc = apply_thoroughly(s->arena, &args, &result, &err);
    assert(rc == 0 && (!result.changed || !entry_of(&live, args.write.manager)));
    args.config = &nothing;
    rc = apply_patch(s->arena, &args, &result, &err);
    assert(rc == 0 && !entry_of(&result.object, args.write.manager));
}

static void apply(struct story *s, str manager, bool force, const struct json *body)
{
    struct json config = as_object(s, body, false);
    struct apply_args args = {
        .write = s->write, .live = json_is_null(&s->live) ? NULL : &s->live, .config = &config, .force = force};
    struct apply_result result;
    struct err err;
    args.write.manager = manager;
    const struct json *own = entry_of(args.live, manager);
    bool noop = own && apply_is_noop(&args, own);
    int rc = apply_thoroughly(s->arena, &args, &result, &err);
    assert(!noop || (rc == 0 && !result.changed));
    if (rc < 0) {
        assert(err.msg[0] && (rc != ERR_CONFLICT || (!force && result.conflicts.n && result.message.n)));
        return;
    }
    check_record(s, &result.object);
    check_again(s, &args, &result.object);
    s->live = as_object(s, &result.object, true);
}

static struct json without_record(struct story *s, const struct json *object)
{
    return managed_attach(s->arena, object, &(struct managed){.arena = s->arena});
}

static void update(struct story *s, const struct json *patch)
{
    struct json merged = json_merge_patch(s->arena, &s->live, patch);
    struct json next = as_object(s, &merged, !json_is_null(&s->live));
    struct managed_args args = {.write = s->write, .old = json_is_null(&s->live) ? NULL : &s->live, .next = &next};
    args.write.manager = S("u");
    struct json object = managed_update(s->arena, &args);
    struct json want = without_record(s, &next), got = without_record(s, &object);
    assert(json_equal(&want, &got));
    check_record(s, &object);
    s->live = as_object(s, &object, true);
}

static void round_trip(struct arena *a, const struct json *fields)
{
    struct fieldset set, again;
    struct err err;
    if (fieldset_parse(a, fields, &set, &err) < 0) {
        assert(err.msg[0]);
        return;
    }
    struct json text = fieldset_format(a, set);
    int rc = fieldset_parse(a, &text, &again, &err);
    assert(rc == 0 && fieldset_equal(set, again) && fieldset_is_format(&text, set));
    struct fieldset none = fieldset_minus(a, set, set, FIELDSET_IN), all = fieldset_union(a, set, set);
    struct fieldset common = fieldset_common(a, set, set, FIELDSET_IN);
    assert(none.n == 0 && fieldset_equal(all, set) && fieldset_equal(common, set));
    assert(fieldset_without(a, set, set).n == 0 || set.n);
}

static void run_line(struct story *s, str line)
{
    struct json body;
    if (line.n < 2 || !read_json(s->arena, str_from(line, 1), &body))
        return;
    switch (line.p[0]) {
    case 'a':
        apply(s, S("a"), false, &body);
        break;
    case 'f':
        apply(s, S("f"), true, &body);
        break;
    case 'u':
        update(s, &body);
        break;
    case 'm':
        round_trip(s->arena, &body);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena ARENA_SCOPE = {0};
    struct story s = {.arena = &arena, .live = json_null()};
    struct schema *schema = NULL;
    str rest = {(const char *)data, size}, line;
    struct json openapi;
    struct err err;
    str_cut(rest, '\n', &line, &rest);
    str version, kind;
    str_cut(line, ' ', &version, &kind);
    const struct kind *k = kind_builtin_by_body(version, kind);
    if (!k && read_json(&arena, line, &openapi) && schema_compile(&openapi, &schema, &err) < 0)
        schema = NULL;
    s.write.type = k && k->shape ? typed_of_shape(k->shape) : typed_of_schema(schema);
    s.write.api_version = k ? version : S("example.com/v1");
    s.write.kind = k ? kind : S("Widget");
    s.write.time = S("2026-01-01T00:00:00Z");
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        run_line(&s, line);
    }
    schema_free(schema);
    return 0;
}
