/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object KIND NAME: one of the default objects (NAMESPACE/NAME where there is one). expect: it, as YAML.
 * names KIND: all default objects of that kind. expect: their names, in byte order.
 * aggregated NAME: a default ClusterRole after aggregation. expect: its rules, as YAML.
 *
 * existing, wanted: objects as YAML, or "wanted default KIND NAME". An absent existing is "none".
 * reconcile [remove-extra]: what start-up (or kubectl auth reconcile) does about them.
 * expect action: keep, create, update, recreate; "protected" is added when the object forbids it.
 * expect object: what is stored, as YAML.
 * expect missing/extra rules/subjects/selectors: lists, as YAML.
 */
#include "authz/aggregate.h"
#include "authz/bootstrap.h"
#include "cases/case.h"
#include "object/object.h"
#include "json/yaml.h"

#include <stdlib.h>

struct state {
    struct case_file *c;
    struct json existing, wanted;
    bool is_new;
    struct bootstrap_step step;
    str answer; /* of the last question */
};

static struct json read_yaml(struct case_file *c, const struct case_section *at)
{
    struct json v = {0};
    struct err err;
    if (yaml_decode(c->arena, at->text, NULL, NULL, &v, &err) < 0)
        case_fail(c, at, "%s", err.msg);
    return v;
}

static str show(struct arena *a, const struct json *v)
{
    struct buf text = {.arena = a};
    yaml_encode(&text, v);
    return buf_str(&text);
}

static str place_of(struct arena *a, const struct json *object)
{
    str namespace = object_namespace(object), name = object_name(object);
    return namespace.n ? str_fmt(a, "%.*s/%.*s", STR(namespace), STR(name)) : name;
}

static struct json find_default(struct arena *a, str kind_and_name)
{
    str kind, name;
    str_cut(kind_and_name, ' ', &kind, &name);
    for (size_t i = 0; i < bootstrap_count(); i++) {
        struct json object = bootstrap_object(a, i);
        if (str_eq(object_kind(&object), kind) && str_eq(place_of(a, &object), str_trim(name)))
            return object;
    }
    return json_str(S("there is no such default object"));
}

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

static str names(struct arena *a, str kind)
{
    VEC(str) all = {0};
    struct buf text = {.arena = a};
    for (size_t i = 0; i < bootstrap_count(); i++) {
        struct json object = bootstrap_object(a, i);
        if (str_eq(object_kind(&object), kind))
            *vec_push(a, &all) = place_of(a, &object);
    }
    if (all.n)
        qsort(all.p, all.n, sizeof *all.p, by_text);
    vec_each(&all, it) buf_fmt(&text, "%.*s\n", STR(*it));
    return buf_str(&text);
}

static str aggregated(struct state *s, const struct case_section *at)
{
    struct arena *a = s->c->arena;
    struct aggregate_index *ix = aggregate_index_new();
    struct rules rules = {0};
    struct err err;
    for (size_t i = 0; i < bootstrap_count(); i++) {
        struct json object = bootstrap_object(a, i);
        if (str_eq(object_kind(&object), S("ClusterRole")) && aggregate_index_put(ix, &object, &err) < 0)
            case_fail(s->c, at, "%s", err.msg);
    }
    aggregate_index_settle(ix, a);
    if (!aggregate_index_rules(ix, a, str_trim(at->args), &rules))
        case_fail(s->c, at, "there is no such role");
    struct json list = rules_to_json(a, rules);
    str text = show(a, &list);
    aggregate_index_free(ix);
    return text;
}

static str step_part(struct state *s, str part)
{
    const struct bootstrap_step *step = &s->step;
    const struct {
        str name;
        const struct json *value;
    } parts[] = {
        {S_INIT("object"), &step->object},
        {S_INIT("missing rules"), &step->missing_rules},
        {S_INIT("extra rules"), &step->extra_rules},
        {S_INIT("missing subjects"), &step->missing_subjects},
        {S_INIT("extra subjects"), &step->extra_subjects},
        {S_INIT("missing selectors"), &step->missing_selectors},
        {S_INIT("extra selectors"), &step->extra_selectors},
    };
    if (str_eq(part, S("action")))
        return str_fmt(s->c->arena, "%s%s", bootstrap_action_name(step->action),
                       step->is_protected ? " protected" : "");
    for (size_t i = 0; i < COUNT(parts); i++) {
        if (str_eq(part, parts[i].name))
            return show(s->c->arena, parts[i].value);
    }
    return s->answer;
}

/* Written one way or the other, the same YAML is expected. */
static void expect(struct state *s, const struct case_section *at, bool is_yaml)
{
    struct case_section want = *at;
    if (is_yaml) {
        struct json v = read_yaml(s->c, at);
        want.text = show(s->c->arena, &v);
    }
    case_expect(s->c, &want, step_part(s, at->args));
}

static void run(struct case_file *c)
{
    struct state s = {.c = c, .is_new = true};
    bool is_yaml = true;
    vec_each(&c->sections, at)
    {
        if (str_eq(at->name, S("object"))) {
            struct json object = find_default(c->arena, at->args);
            s.answer = show(c->arena, &object);
            is_yaml = true;
        } else if (str_eq(at->name, S("names"))) {
            s.answer = names(c->arena, at->args);
            is_yaml = false;
        } else if (str_eq(at->name, S("aggregated"))) {
            s.answer = aggregated(&s, at);
            is_yaml = true;
        } else if (str_eq(at->name, S("existing"))) {
            s.is_new = case_has_arg(at, S("none"));
            s.existing = read_yaml(c, at);
        } else if (str_eq(at->name, S("wanted"))) {
            s.wanted = case_has_arg(at, S("default")) ? find_default(c->arena, str_from(at->args, strlen("default ")))
                                                      : read_yaml(c, at);
        } else if (str_eq(at->name, S("reconcile"))) {
            unsigned flags = case_has_arg(at, S("remove-extra")) ? BOOTSTRAP_REMOVE_EXTRA : 0;
            s.step = bootstrap_reconcile(c->arena, s.is_new ? NULL : &s.existing, &s.wanted, flags);
        } else if (str_eq(at->name, S("expect"))) {
            expect(&s, at, is_yaml && !str_eq(at->args, S("action")));
        } else {
            case_fail(c, at, "what is a \"%.*s\"?", STR(at->name));
        }
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
