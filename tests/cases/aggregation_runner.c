/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put: ClusterRoles that are stored, as a YAML list of {name, labels, clusterRoleSelectors, rules}. A rule is short for
 *      "verbs:apiGroups:resources" or "verbs:apiGroups:resources:resourceNames" or "verbs@nonResourceURLs", each with
 *      commas; the core group is empty. clusterRoleSelectors is what stands below aggregationRule; absent: not aggregated.
 * delete NAME…: they are deleted.
 * expect changes: the aggregates that must be stored anew after all this, each with its rules below it. They are stored.
 * expect rules NAME: the rules of a role.
 * expect picks NAME: the roles that an aggregate selects, and by which selector.
 * expect error: what was wrong with the last ClusterRole that was put.
 * merge NAME: what Kubernetes' controller would make of the rules that the roles have now; then expect its rules.
 *
 * Unless roles select each other in a circle ("expect changes circle"), the changes must also be what Kubernetes' controller
 * comes to. It comes to the same rules in a circle, if not in the same order, unless some are left over there.
 */
#include "authz/aggregate.h"
#include "cases/case.h"
#include "object/object.h"
#include "json/yaml.h"

#include <stdlib.h>

struct state {
    struct case_file *c;
    struct aggregate_index *ix;
    VEC(struct json) roles; /* stored, by name */
    str error;
    struct rules merged;
};

/* ---- Short rules. ---- */

static struct json list_of(struct arena *a, str commas)
{
    struct json list = json_arr();
    str item;
    bool more;
    do {
        more = str_cut(commas, ',', &item, &commas);
        json_push(a, &list, json_str(item));
    } while (more);
    return list;
}

static struct json rule_of(struct arena *a, str text)
{
    static const str fields[] = {S_INIT("verbs"), S_INIT("apiGroups"), S_INIT("resources"), S_INIT("resourceNames")};
    struct json rule = json_obj();
    str part, urls;
    if (str_cut(text, '@', &part, &urls)) {
        json_add(a, &rule, S("verbs"), list_of(a, part));
        json_add(a, &rule, S("nonResourceURLs"), list_of(a, urls));
        return rule;
    }
    bool more = true;
    for (size_t i = 0; more && i < COUNT(fields); i++) {
        more = str_cut(text, ':', &part, &text);
        json_add(a, &rule, fields[i], list_of(a, part));
    }
    return rule;
}

static void show_list(struct buf *b, const char *before, struct strs list)
{
    buf_fmt(b, "%s", before);
    for (size_t i = 0; i < list.n; i++)
        buf_fmt(b, "%s%.*s", i ? "," : "", STR(list.p[i]));
}

static void show_rule(struct buf *b, const struct rule *rule)
{
    show_list(b, "", rule->verbs);
    if (rule->non_resource_urls.n) {
        show_list(b, "@", rule->non_resource_urls);
        return;
    }
    show_list(b, ":", rule->api_groups);
    show_list(b, ":", rule->resources);
    if (rule->resource_names.n)
        show_list(b, ":", rule->resource_names);
}

static void show_rules(struct buf *b, const char *indent, struct rules rules)
{
    rules_each(rules, rule)
    {
        buf_fmt(b, "%s", indent);
        show_rule(b, rule);
        buf_add_char(b, '\n');
    }
}

/* ---- Roles. ---- */

static struct json role_of(struct arena *a, const struct json *row)
{
    const struct json *selectors = json_get(row, S("clusterRoleSelectors")), *short_rules = json_get(row, S("rules"));
    struct json role = json_obj(), meta = json_obj(), rules = json_arr(), aggregation = json_obj();
    json_add(a, &meta, S("name"), json_str(json_get_text(row, S("name"))));
    if (json_get(row, S("labels")))
        json_add(a, &meta, S("labels"), *json_get(row, S("labels")));
    json_each_item(short_rules, r) json_push(a, &rules, json_is_str(r) ? rule_of(a, json_text(r)) : *r);
    json_add(a, &role, S("metadata"), meta);
    json_add(a, &role, S("rules"), rules);
    if (selectors) {
        json_add(a, &aggregation, S("clusterRoleSelectors"), *selectors);
        json_add(a, &role, S("aggregationRule"), aggregation);
    }
    return role;
}

static struct json *find_role(struct state *s, str name)
{
    vec_each(&s->roles, role)
    {
        if (str_eq(object_name(role), name))
            return role;
    }
    return NULL;
}

static int by_name(const void *x, const void *y)
{
    return str_cmp(object_name(x), object_name(y));
}

static void store(struct state *s, struct json role)
{
    struct json *former = find_role(s, object_name(&role));
    if (former)
        *former = role;
    else
        *vec_push(s->c->arena, &s->roles) = role;
    qsort(s->roles.p, s->roles.n, sizeof *s->roles.p, by_name);
}

static void forget(struct state *s, str name)
{
    struct json *role = find_role(s, name);
    if (role == NULL)
        return;
    *role = s->roles.p[--s->roles.n];
    if (s->roles.n)
        qsort(s->roles.p, s->roles.n, sizeof *s->roles.p, by_name);
}

static void put(struct state *s, const struct case_section *at)
{
    struct arena *a = s->c->arena;
    struct json rows;
    struct err err;
    if (yaml_decode(a, at->text, NULL, NULL, &rows, &err) < 0) {
        case_fail(s->c, at, "%s", err.msg);
        return;
    }
    json_each_item(&rows, row)
    {
        struct json role = role_of(a, row);
        s->error = (str){0};
        if (aggregate_index_put(s->ix, &role, &err) == 0) {
            store(s, role);
        } else {
            s->error = str_fmt(a, "%s %s", err_name(err.code), err.msg);
            forget(s, object_name(&role));
        }
    }
}

static void delete_roles(struct state *s, const struct case_section *at)
{
    str name, rest = at->args;
    while (rest.n) {
        str_cut(str_trim(rest), ' ', &name, &rest);
        forget(s, name);
        if (!aggregate_index_delete(s->ix, name))
            case_fail(s->c, at, "there is no ClusterRole %.*s", STR(name));
    }
}

/* ---- What comes out. ---- */

static struct rules merge(struct state *s, const struct case_section *at, const struct json *aggregate)
{
    struct arena *a = s->c->arena;
    struct aggregate_source *sources = ARENA_ARRAY(a, struct aggregate_source, s->roles.n);
    struct aggregate_selectors selectors = {0};
    struct err err;
    size_t n = 0;
    vec_each(&s->roles, role)
    {
        sources[n] = (struct aggregate_source){.name = object_name(role), .labels = object_labels(role)};
        if (rules_from_json(a, json_get(role, S("rules")), &sources[n++].rules, &err) < 0)
            case_fail(s->c, at, "%s", err.msg);
    }
    if (aggregate_selectors_parse(a, json_get(aggregate, S("aggregationRule")), &selectors, &err) < 0)
        case_fail(s->c, at, "%s", err.msg);
    return aggregate_merge(a, object_name(aggregate), selectors, sources, n);
}

/* When all changes are stored, Kubernetes' controller must have nothing left to do. */
static void check_settled(struct state *s, const struct case_section *at)
{
    vec_each(&s->roles, role)
    {
        struct rules rules = {0};
        if (!aggregate_index_rules(s->ix, s->c->arena, object_name(role), &rules))
            case_fail(s->c, at, "%.*s is not known", STR(object_name(role)));
        struct rules merged = aggregate_is(role) ? merge(s, at, role) : rules;
        bool same = case_has_arg(at, S("circle"))
                        ? merged.n == rules.n && rules_union(s->c->arena, merged, rules).n == merged.n
                        : rules_equal(merged, rules);
        if (!same)
            case_fail(s->c, at, "Kubernetes would write %.*s again", STR(object_name(role)));
    }
}

static str changes(struct state *s, const struct case_section *at)
{
    struct arena *a = s->c->arena;
    struct buf text = {.arena = a};
    struct aggregate_changes changes = aggregate_index_settle(s->ix, a);
    for (size_t i = 0; i < changes.n; i++) {
        struct json *role = find_role(s, changes.p[i].name);
        struct json rules = rules_to_json(a, changes.p[i].rules);
        buf_fmt(&text, "%.*s\n", STR(changes.p[i].name));
        show_rules(&text, "  ", changes.p[i].rules);
        if (role)
            json_set(a, role, S("rules"), json_dup(a, &rules));
    }
    check_settled(s, at);
    return buf_str(&text);
}

static void show_pick(void *ctx, str role, str selector)
{
    buf_fmt(ctx, "%.*s by %.*s\n", STR(role), STR(selector.n ? selector : S("everything")));
}

static str answer(struct state *s, const struct case_section *expect)
{
    struct buf text = {.arena = s->c->arena};
    str what, name;
    str_cut(expect->args, ' ', &what, &name);
    if (str_eq(what, S("changes")))
        return changes(s, expect);
    if (str_eq(what, S("error")))
        return s->error;
    if (str_eq(what, S("picks")))
        return aggregate_index_picks(s->ix, name, show_pick, &text) ? buf_str(&text) : S("no such aggregate");
    if (str_eq(what, S("rules")) && !aggregate_index_rules(s->ix, s->c->arena, name, &s->merged))
        return S("no such ClusterRole");
    show_rules(&text, "", s->merged);
    return buf_str(&text);
}

static void run(struct case_file *c)
{
    struct state s = {.c = c, .ix = aggregate_index_new()};
    vec_each(&c->sections, at)
    {
        if (str_eq(at->name, S("put"))) {
            put(&s, at);
        } else if (str_eq(at->name, S("delete"))) {
            delete_roles(&s, at);
        } else if (str_eq(at->name, S("merge"))) {
            const struct json *role = find_role(&s, at->args);
            s.merged = merge(&s, at, role);
        } else if (str_eq(at->name, S("expect"))) {
            case_expect(c, at, answer(&s, at));
        } else {
            case_fail(c, at, "what is a \"%.*s\"?", STR(at->name));
        }
    }
    aggregate_index_free(s.ix);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
