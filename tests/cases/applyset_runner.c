/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of apply sets: what is wanted, what is there, and what is to be done about it.
 *
 *     --- set value=one [owned] [adopts]    the set: label example.com/set=one, its hash in annotation example.com/hash; owned: by
 *                                           the Package "p" with uid p-uid
 *     --- want                              YAML documents: all that is wanted from now on
 *     --- have                              YAML documents: objects that are there besides
 *     --- change                            YAML documents, merged into the objects of the same kind, namespace and name: what the
 *                                           server adds to what it is given, or what others did
 *     --- run                               the plan is carried out: what is applied is merged into what is there, fields that the
 *                                           set no longer wants are NOT dropped, what is deleted is gone
 *     --- expect                            the plan, one line per step: action, kind, [namespace/]name, text of a conflict
 *     --- expect object KIND NAME           what the plan would write, as YAML
 *
 * A plan is made at each of want, have and change. */
#include "cases/case.h"
#include "control/applyset.h"
#include "kinds/builtin.h"
#include "object/meta.h"
#include "object/object.h"
#include "patch/json_patch.h"
#include "json/yaml.h"

struct world {
    struct case_file *c;
    struct arena *a;
    struct applyset set;
    struct json owner;
    VEC(struct applyset_object) wants, have;
    struct applyset_plan plan;
    unsigned uids;
};

static struct client_resource resource_of(struct world *w, const struct json *object)
{
    const struct kind *kind = kind_builtin_by_body(object_api_version(object), object_kind(object));
    struct client_resource r = {.kind = object_kind(object), .namespaced = object_namespace(object).n > 0};
    if (!kind_split_api_version(object_api_version(object), &r.group, &r.version))
        case_fail(w->c, NULL, "an apiVersion is missing");
    r.plural = kind ? str_of(kind->plural) : str_fmt(w->a, "%.*ss", STR(str_lower(w->a, r.kind)));
    return r;
}

static struct applyset_object object_of(struct world *w, struct json tree)
{
    struct json *kept = ARENA_NEW(w->a, struct json);
    *kept = tree;
    return (struct applyset_object){resource_of(w, kept), kept};
}

static json_vec documents(struct world *w, const struct case_section *s)
{
    json_vec list = {0};
    struct err err;
    if (yaml_decode_all(w->a, s->text, NULL, &list, &err) < 0)
        case_fail(w->c, s, "%s", err.msg);
    return list;
}

static struct applyset_object *find(struct world *w, const struct json *object)
{
    vec_each(&w->have, o)
    {
        if (str_eq(object_kind(o->object), object_kind(object)) &&
            str_eq(object_name(o->object), object_name(object)) &&
            str_eq(object_namespace(o->object), object_namespace(object)))
            return o;
    }
    return NULL;
}

static void make_plan(struct world *w)
{
    w->plan = applyset_plan(w->a, &w->set, w->wants.p, w->wants.n, w->have.p, w->have.n);
}

/* ---- What is said. ---- */

static void begin_set(struct world *w, const struct case_section *s)
{
    w->set = (struct applyset){
        .label_key = S("example.com/set"),
        .label_value = case_arg(s, S("value")),
        .hash_key = S("example.com/hash"),
        .field_manager = S("tester"),
        .adopts = case_has_arg(s, S("adopts")),
    };
    static const char *text = "{apiVersion: example.com/v1, kind: Package, metadata: {name: p, uid: p-uid}}";
    if (case_has_arg(s, S("owned")) && yaml_decode(w->a, str_of(text), NULL, NULL, &w->owner, NULL) == 0)
        w->set.owner = &w->owner;
}

static void want(struct world *w, const struct case_section *s)
{
    json_vec list = documents(w, s);
    w->wants.n = 0;
    vec_each(&list, tree) * vec_push(w->a, &w->wants) = object_of(w, *tree);
    make_plan(w);
}

static void have(struct world *w, const struct case_section *s)
{
    json_vec list = documents(w, s);
    vec_each(&list, tree) * vec_push(w->a, &w->have) = object_of(w, *tree);
    make_plan(w);
}

static void change(struct world *w, const struct case_section *s)
{
    json_vec list = documents(w, s);
    vec_each(&list, tree)
    {
        struct applyset_object *o = find(w, tree);
        if (o)
            *o = object_of(w, json_merge_patch(w->a, o->object, tree));
        else
            case_fail(w->c, s, "there is no %.*s %.*s", STR(object_kind(tree)), STR(object_name(tree)));
    }
    make_plan(w);
}

static void forget(struct world *w, const struct applyset_object *o)
{
    size_t i = (size_t)(o - w->have.p);
    w->have.p[i] = w->have.p[--w->have.n];
}

static void carry_out(struct world *w)
{
    for (size_t i = 0; i < w->plan.n; i++) {
        const struct applyset_step *step = &w->plan.p[i];
        struct json named = json_obj(), *metadata = meta_of(w->a, &named);
        json_set(w->a, &named, S("kind"), json_str(step->resource.kind));
        json_set(w->a, metadata, S("name"), json_str(step->name));
        if (step->namespace.n)
            json_set(w->a, metadata, S("namespace"), json_str(step->namespace));
        struct applyset_object *there = find(w, &named);
        if (step->action == APPLYSET_DELETE && there)
            forget(w, there);
        else if (step->action == APPLYSET_APPLY && there)
            *there = object_of(w, json_merge_patch(w->a, there->object, &step->object));
        else if (step->action == APPLYSET_CREATE) {
            struct json stored = json_dup(w->a, &step->object);
            json_set(w->a, meta_of(w->a, &stored), S("uid"), json_str(str_fmt(w->a, "uid-%u", ++w->uids)));
            *vec_push(w->a, &w->have) = object_of(w, stored);
        }
    }
    make_plan(w);
}

/* ---- What comes out. ---- */

static str show(struct world *w)
{
    static const char *const actions[] = {
        [APPLYSET_KEEP] = "keep", [APPLYSET_CREATE] = "create", [APPLYSET_APPLY] = "apply",
        [APPLYSET_TRIM] = "trim", [APPLYSET_DELETE] = "delete", [APPLYSET_CONFLICT] = "conflict"};
    struct buf b = {.arena = w->a};
    size_t changes = 0, conflicts = 0;
    for (size_t i = 0; i < w->plan.n; i++) {
        const struct applyset_step *s = &w->plan.p[i];
        buf_fmt(&b, "%s %.*s %.*s%s%.*s%s%.*s\n", actions[s->action], STR(s->resource.kind), STR(s->namespace),
                s->namespace.n ? "/" : "", STR(s->name), s->text.n ? ": " : "", STR(s->text));
        conflicts += s->action == APPLYSET_CONFLICT;
        changes += s->action != APPLYSET_CONFLICT && s->action != APPLYSET_KEEP;
    }
    if (changes != w->plan.changes || conflicts != w->plan.conflicts)
        case_fail(w->c, NULL, "%zu changes and %zu conflicts were counted as %zu and %zu", changes, conflicts,
                  w->plan.changes, w->plan.conflicts);
    return buf_str(&b);
}

static str show_object(struct world *w, const struct case_section *s)
{
    struct buf b = {.arena = w->a};
    str word, kind, name;
    str_cut(s->args, ' ', &word, &kind);
    str_cut(kind, ' ', &kind, &name);
    for (size_t i = 0; i < w->plan.n; i++) {
        const struct applyset_step *step = &w->plan.p[i];
        if (str_eq(step->resource.kind, kind) && str_eq(step->name, name))
            yaml_encode(&b, &step->object);
    }
    return buf_str(&b);
}

static void run(struct case_file *c)
{
    struct world *w = ARENA_NEW(c->arena, struct world);
    w->c = c;
    w->a = c->arena;
    for (size_t i = 0; i < c->sections.n; i++) {
        const struct case_section *s = &c->sections.p[i];
        if (str_eq(s->name, S("set")))
            begin_set(w, s);
        else if (str_eq(s->name, S("want")))
            want(w, s);
        else if (str_eq(s->name, S("have")))
            have(w, s);
        else if (str_eq(s->name, S("change")))
            change(w, s);
        else if (str_eq(s->name, S("run")))
            carry_out(w);
        else if (str_eq(s->name, S("expect")))
            case_expect(c, s, case_has_arg(s, S("object")) ? show_object(w, s) : show(w));
        else
            case_fail(c, s, "what is \"%.*s\"?", STR(s->name));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
