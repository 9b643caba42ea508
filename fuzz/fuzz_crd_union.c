/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two documents, each in a line of its own: CustomResourceDefinitions of a package, or, without an apiVersion, the
 * openAPIV3Schema of a plain one. A third line is an object. Any JSON may be tried as a definition. Of two that pass the
 * check the union must not depend on their order, must pass it too, and must take what was stored under one of them.
 */
#include "kinds/shapes.h"
#include "package/crd_check.h"
#include "package/crd_union.h"
#include "schema/schema.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json wrapped(struct arena *a, const struct json *schema)
{
    static const char text[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"as.b.c\"},\"spec\":{\"group\":\"b.c\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"as\",\"kind\":\"A\"},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{}}]}}";
    struct json crd;
    int rc = json_decode(a, str_of(text), NULL, NULL, &crd, NULL);
    assert(rc == 0);
    (void)rc;
    struct json *version = &json_get_mut(json_get_mut(&crd, S("spec")), S("versions"))->items[0];
    json_set(a, json_get_mut(version, S("schema")), S("openAPIV3Schema"), *schema);
    return crd;
}

static bool read_source(struct arena *a, str line, const char *version, struct crd_source *ret)
{
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked *checked = ARENA_NEW(a, struct crd_checked);
    struct json doc;
    if (json_decode(a, line, NULL, NULL, &doc, NULL) < 0)
        return false;
    if (json_is_obj(&doc) && json_is_null(json_get(&doc, S("apiVersion"))))
        doc = wrapped(a, &doc);
    bool is_good = crd_check(a, &doc, checked, &findings, &warnings);
    assert(is_good == (findings.list.n == 0));
    vec_each(&findings.list, f) assert(str_is_utf8(f->message) && f->reason.n);
    *ret = (struct crd_source){S("a/b"), str_of(version), &checked->crd};
    return is_good;
}

static const struct json *first_schema(const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    return json_dig(&versions->items[0], "schema.openAPIV3Schema");
}

/* Whether the object can be stored under the definition; then it is in the form in which it is. */
static bool admit(struct arena *a, const struct json *crd, struct json *object)
{
    struct schema_prune_args args = {.is_resource = true, .object_meta = &shape_object_meta};
    struct field_errors errs = {.arena = a};
    struct schema *s;
    struct err err;
    int rc = schema_compile(first_schema(crd), &s, &err);
    assert(rc == 0);
    (void)rc;
    schema_prune(schema_root(s), object, &args);
    bool ok = schema_default(schema_root(s), a, object) && schema_validate(schema_root(s), (str){0}, object, &errs);
    vec_each(&errs.list, e) assert(!ok || e->detail.n);
    schema_free(s);
    return ok;
}

static bool has_one_version(const struct json *crd)
{
    return json_len(json_dig(crd, "spec.versions")) == 1;
}

static void check_union(struct arena *a, const struct crd_source sources[2], const struct json *all,
                        const struct json *object)
{
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked checked;
    bool is_good = crd_check(a, all, &checked, &findings, &warnings);
    assert(is_good || findings.list.n == 1); /* two that are nearly too large may come to one that is */
    for (size_t i = 0; i < 2 && json_is_obj(object) && has_one_version(all); i++) {
        struct json stored = json_dup(a, object);
        if (!admit(a, sources[i].crd, &stored))
            continue;
        bool still = admit(a, all, &stored);
        assert(still);
        (void)still;
    }
    (void)is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct crd_source sources[2];
    str first, second, third;
    str_cut((str){(const char *)data, size}, '\n', &first, &third);
    str_cut(third, '\n', &second, &third);
    bool l = read_source(&a, first, "1.0", &sources[0]), r = read_source(&a, second, "1.1", &sources[1]);
    if (!l || !r)
        return 0;
    assert(crd_is_same(sources[0].crd, sources[0].crd));
    struct crd_source swapped[2] = {sources[1], sources[0]};
    struct findings conflicts = {.arena = &a}, others = {.arena = &a};
    struct json all, other, object = {0};
    bool is_good = crd_union(&a, sources, 2, &all, &conflicts);
    bool again = crd_union(&a, swapped, 2, &other, &others);
    assert(is_good == again && conflicts.list.n == others.list.n && is_good == (conflicts.list.n == 0));
    vec_each(&conflicts.list, f) assert(str_is_utf8(f->message));
    if (!is_good)
        return 0;
    assert(crd_is_same(&all, &other));
    if (json_decode(&a, third, NULL, NULL, &object, NULL) < 0)
        object = json_null();
    check_union(&a, sources, &all, &object);
    return 0;
}
