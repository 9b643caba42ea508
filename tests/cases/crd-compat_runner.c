/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CustomResourceDefinitions of several versions of a package, and the one definition that serves them all.
 *
 *   --- spec 1.0                the definition in version 1.0 of acme/wordpress: the schema of "spec" in its one version v1
 *   --- spec 1.1 acme/other     the same of another package
 *   --- crd 1.0                 or what is different from a plain definition of things.example.org, as a merge patch
 *   --- expect                  the schema of spec in the union
 *   --- expect spec.versions    or another part of the union
 *   --- conflicts               or why there is none, one a line, without "CRD things.example.org: "
 *
 * Lines that begin with # are remarks. The first definition behind an expectation begins anew. Each round is played in every order of the definitions, and with
 * one of them given twice; the union must be a good definition again; and what is left after one has gone must have a
 * union if all together have one.
 */
#include "cases/case.h"
#include "package/crd_check.h"
#include "package/crd_union.h"
#include "patch/json_patch.h"
#include "json/yaml.h"

enum { MAX_SOURCES = 5 };

struct round {
    struct case_file *file;
    struct crd_source sources[MAX_SOURCES + 1];
    size_t n;
    bool is_done; /* an expectation was there */
};

static const char plain[] = "apiVersion: apiextensions.k8s.io/v1\n"
                            "kind: CustomResourceDefinition\n"
                            "metadata: {name: things.example.org}\n"
                            "spec:\n"
                            "  group: example.org\n"
                            "  scope: Namespaced\n"
                            "  names: {plural: things, kind: Thing}\n"
                            "  versions:\n"
                            "  - name: v1\n"
                            "    served: true\n"
                            "    storage: true\n"
                            "    schema:\n"
                            "      openAPIV3Schema: {type: object, properties: {spec: {type: object}}}\n";

static struct json parse(struct round *r, const struct case_section *at, str text)
{
    struct json v = {0};
    struct err err = {0};
    if (yaml_decode(r->file->arena, text, NULL, NULL, &v, &err) < 0)
        case_fail(r->file, at, "not YAML: %s", err.msg);
    return v;
}

static struct json *root_schema(struct json *crd)
{
    struct json *versions = json_get_mut(json_get_mut(crd, S("spec")), S("versions"));
    return json_get_mut(json_get_mut(&versions->items[0], S("schema")), S("openAPIV3Schema"));
}

/* A source of a case must itself be a definition that a package may have. */
static const struct json *checked(struct round *r, const struct case_section *at, const struct json *crd)
{
    struct arena *a = r->file->arena;
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked *ret = ARENA_NEW(a, struct crd_checked);
    if (crd_check(a, crd, ret, &findings, &warnings))
        return &ret->crd;
    case_fail(r->file, at, "not a good definition: %.*s", STR(findings_text(a, &findings)));
    return NULL;
}

static void add_source(struct round *r, const struct case_section *at)
{
    struct arena *a = r->file->arena;
    struct json crd = parse(r, at, str_of(plain)), given = parse(r, at, at->text);
    str version, package;
    str_cut(at->args, ' ', &version, &package);
    if (r->is_done)
        r->n = 0;
    r->is_done = false;
    if (str_eq(at->name, S("crd"))) {
        crd = json_merge_patch(a, &crd, &given);
    } else {
        if (json_is_null(json_get(&given, S("type"))))
            json_set(a, &given, S("type"), json_str(S("object")));
        json_set(a, json_get_mut(root_schema(&crd), S("properties")), S("spec"), given);
    }
    const struct json *good = checked(r, at, &crd);
    if (good && r->n < MAX_SOURCES)
        r->sources[r->n++] = (struct crd_source){package.n ? package : S("acme/wordpress"), version, good};
}

/* What comes of it: the union, or the conflicts. */
static str outcome(struct round *r, const struct crd_source *sources, size_t n, struct json *ret)
{
    struct arena *a = r->file->arena;
    struct findings conflicts = {.arena = a};
    struct buf b = {.arena = a};
    if (crd_union(a, sources, n, ret, &conflicts)) {
        yaml_encode(&b, ret);
        return buf_str(&b);
    }
    *ret = json_null();
    vec_each(&conflicts.list, f)
    {
        str text = f->message, prefix = S("CRD things.example.org: ");
        buf_fmt(&b, "%.*s\n", STR(str_has_prefix(text, prefix) ? str_from(text, prefix.n) : text));
    }
    return buf_str(&b);
}

static void swap(struct crd_source *l, struct crd_source *r)
{
    struct crd_source t = *l;
    *l = *r;
    *r = t;
}

/* Every order of the sources from position `at` on must come to the same. */
static void try_orders(struct round *r, const struct case_section *s, size_t at, str want)
{
    struct json v;
    if (at == r->n) {
        if (!str_eq(outcome(r, r->sources, r->n, &v), want))
            case_fail(r->file, s, "the order of definitions matters");
        return;
    }
    for (size_t i = at; i < r->n; i++) {
        swap(&r->sources[at], &r->sources[i]);
        try_orders(r, s, at + 1, want);
        swap(&r->sources[at], &r->sources[i]);
    }
}

static void try_twice(struct round *r, const struct case_section *s, str want)
{
    struct json v;
    for (size_t i = 0; i < r->n; i++) {
        r->sources[r->n] = r->sources[i];
        if (!str_eq(outcome(r, r->sources, r->n + 1, &v), want))
            case_fail(r->file, s, "a definition given twice matters");
    }
}

static void try_leaving(struct round *r, const struct case_section *s)
{
    struct json v;
    for (size_t i = 0; i < r->n && r->n > 1; i++) {
        struct crd_source left[MAX_SOURCES];
        size_t n = 0;
        for (size_t k = 0; k < r->n; k++)
            if (k != i)
                left[n++] = r->sources[k];
        str text = outcome(r, left, n, &v);
        if (json_is_null(&v))
            case_fail(r->file, s, "without %.*s there are conflicts: %.*s", STR(r->sources[i].version), STR(text));
        if (n == 1 && !crd_is_same(&v, left[0].crd))
            case_fail(r->file, s, "the union of one is not that one");
    }
}

/* Without remarks. */
static str plain_lines(struct arena *a, str text)
{
    struct buf b = {.arena = a};
    for (str line; text.n;) {
        str_cut(text, '\n', &line, &text);
        if (!str_has_prefix(line, S("#")))
            buf_fmt(&b, "%.*s\n", STR(line));
    }
    return buf_str(&b);
}

static void expect(struct round *r, const struct case_section *s)
{
    struct arena *a = r->file->arena;
    struct json all;
    str got = outcome(r, r->sources, r->n, &all);
    bool is_good = !json_is_null(&all);
    r->is_done = true;
    try_orders(r, s, 0, got);
    try_twice(r, s, got);
    if (is_good) {
        try_leaving(r, s);
        (void)checked(r, s, &all);
    }
    if (is_good && str_eq(s->name, S("expect"))) {
        const struct json *part =
            s->args.n ? json_dig(&all, str_cstr(a, s->args)) : json_dig(root_schema(&all), "properties.spec");
        struct json want = parse(r, s, s->text);
        struct buf b = {.arena = a}, canonical = {.arena = a};
        yaml_encode(&b, part);
        yaml_encode(&canonical, &want);
        case_expect(r->file, &(struct case_section){.text = buf_str(&canonical), .line = s->line}, buf_str(&b));
        return;
    }
    case_expect(r->file, &(struct case_section){.text = plain_lines(a, s->text), .line = s->line}, got);
}

static void run(struct case_file *c)
{
    struct round r = {.file = c};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("spec")) || str_eq(s->name, S("crd")))
            add_source(&r, s);
        else if (str_eq(s->name, S("expect")) || str_eq(s->name, S("conflicts")))
            expect(&r, s);
        else
            case_fail(c, s, "unknown section");
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
