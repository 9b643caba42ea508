/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: a CustomResourceDefinition; it counts as established.
 * when document GROUP VERSION: the OpenAPI document of a group ("core" for the one without a name).
 * when v2: the definitions of all groups, in the older form.
 * expect KEY…: the part of the document that these keys lead to, parted by blanks, without descriptions; the order of
 *              members does not count. "absent" when there is no such part.
 * expect text KEY…: a text alone.
 */
#include "cases/established.h"
#include "openapi/openapi_render.h"
#include "openapi/openapi_v2.h"

struct world {
    struct registry *registry;
    VEC(struct json) crds;
    struct json document;
};

static const struct json *crd_of(const struct world *w, const struct kind *k)
{
    vec_each(&w->crds, crd)
    {
        if (str_eq(json_text(json_dig(crd, "metadata.name")), str_of(k->crd)))
            return crd;
    }
    return NULL;
}

static struct json read(struct case_file *c, const struct case_section *s, str text)
{
    struct err err;
    struct json_notes notes = {0};
    struct json made = json_null();
    if (json_decode(c->arena, text, &(struct json_limits){.bytes = text.n}, &notes, &made, &err) < 0)
        case_fail(c, s, "%s", err.msg);
    vec_each(&notes.duplicates, name)
    {
        case_fail(c, s, "%.*s stands there twice", STR(*name));
    }
    return made;
}

static void render(struct case_file *c, const struct case_section *s, struct world *w)
{
    str group, version, rest;
    str_cut(str_trim(str_from(s->args, 8)), ' ', &group, &rest);
    version = str_trim(rest);
    group = str_eq(group, S("core")) ? S("") : group;
    size_t n;
    struct registry_group *groups = registry_groups(c->arena, w->registry, &n);
    struct openapi_kinds kinds = {0};
    for (size_t g = 0; g < n; g++)
        for (size_t v = 0; str_eq(group, str_of(groups[g].name)) && v < groups[g].n; v++)
            if (str_eq(version, str_of(groups[g].versions[v].version)))
                kinds = (struct openapi_kinds){groups[g].versions[v].kinds, groups[g].versions[v].n};
    struct buf b = {.arena = c->arena};
    openapi_render_start(&b, kinds);
    for (size_t i = 0; i < kinds.n; i++)
        openapi_render_paths(&b, kinds, i);
    openapi_render_shapes(&b, kinds);
    for (size_t i = 0; i < kinds.n; i++)
        if (kinds.p[i]->flags & KIND_CUSTOM)
            openapi_render_custom(&b, kinds.p[i], crd_of(w, kinds.p[i]));
    openapi_render_end(&b);
    w->document = read(c, s, buf_str(&b));
}

/* Definitions of v2 are made from schemas of v3. */
static void render_v2(struct case_file *c, const struct case_section *s, struct world *w)
{
    size_t n;
    struct registry_group *groups = registry_groups(c->arena, w->registry, &n);
    VEC(const struct kind *) kinds = {0};
    struct buf v3 = {.arena = c->arena}, v2 = {.arena = c->arena};
    for (size_t g = 0; g < n; g++)
        for (size_t v = 0; v < groups[g].n; v++)
            for (size_t i = 0; i < groups[g].versions[v].n; i++)
                *vec_push(c->arena, &kinds) = groups[g].versions[v].kinds[i];
    struct openapi_shapes shapes = openapi_shapes_find(c->arena, (struct openapi_kinds){kinds.p, kinds.n});
    for (size_t i = 0; i < shapes.n; i++) {
        buf_add_char(&v3, i ? ',' : '{');
        openapi_render_shape(&v3, &shapes.p[i]);
    }
    for (size_t i = 0; i < kinds.n; i++)
        if (kinds.p[i]->flags & KIND_CUSTOM)
            openapi_render_custom(&v3, kinds.p[i], crd_of(w, kinds.p[i]));
    buf_add_char(&v3, '}');
    struct json schemas = read(c, s, buf_str(&v3));
    openapi_v2_start(&v2, OPENAPI_V2_JSON);
    json_each_member(&schemas, m)
    {
        struct json schema = openapi_v2_schema(c->arena, &m->val);
        if (m != schemas.members)
            buf_add_char(&v2, ',');
        openapi_v2_definition(&v2, OPENAPI_V2_JSON, json_key(m), &schema);
    }
    openapi_v2_end(&v2, OPENAPI_V2_JSON);
    w->document = read(c, s, buf_str(&v2));
}

/* A field may be called description too: then it is no text. */
static struct json without_descriptions(struct arena *a, const struct json *v)
{
    struct json made = json_is_arr(v) ? json_arr() : json_is_obj(v) ? json_obj() : *v;
    json_each_item(v, item)
    {
        json_push(a, &made, without_descriptions(a, item));
    }
    json_each_member(v, m)
    {
        if (!str_eq(json_key(m), S("description")) || !json_is_str(&m->val))
            json_add(a, &made, json_key(m), without_descriptions(a, &m->val));
    }
    return made;
}

/* Keys hold slashes and dots, never blanks. */
static const struct json *follow(const struct json *v, str path)
{
    while (v && path.n) {
        str one, rest;
        str_cut(path, ' ', &one, &rest);
        path = str_trim(rest);
        v = json_get(v, one);
    }
    return v;
}

static void expect(struct case_file *c, const struct case_section *s, const struct world *w)
{
    struct buf got = {.arena = c->arena}, want = {.arena = c->arena};
    struct json wanted;
    struct err err;
    bool is_text = str_has_prefix(s->args, S("text "));
    const struct json *part = follow(&w->document, is_text ? str_from(s->args, 5) : s->args);
    if (is_text || !part) {
        case_expect(c, s, part ? json_text(part) : S("absent"));
        return;
    }
    struct json bare = without_descriptions(c->arena, part);
    json_encode(&got, &bare, JSON_SORTED);
    if (json_decode(c->arena, s->text, NULL, NULL, &wanted, &err) < 0) {
        case_fail(c, s, "%s; got %.*s", err.msg, STR(buf_str(&got)));
        return;
    }
    json_encode(&want, &wanted, JSON_SORTED);
    struct case_section as = *s;
    as.text = buf_str(&want);
    case_expect(c, &as, buf_str(&got));
}

static void run(struct case_file *c)
{
    struct world w = {.registry = registry_new()};
    vec_each(&c->sections, s)
    {
        if (str_eq(s->name, S("given")))
            *vec_push(c->arena, &w.crds) = established(c, s, w.registry);
        else if (str_eq(s->name, S("when")) && str_eq(s->args, S("v2")))
            render_v2(c, s, &w);
        else if (str_eq(s->name, S("when")))
            render(c, s, &w);
        else
            expect(c, s, &w);
    }
    registry_free(w.registry);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
