/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: roles and bindings, as YAML documents.
 * "when why USER VERB TYPE[/NAME]": may this user do that, and why? A TYPE is pods, deployments.apps or a path (/metrics);
 *     a USER "-" has no name. Options: -n NAMESPACE --groups=a,b --subresource=log.
 * "when fix USER VERB TYPE[/NAME]": the command that would make it a yes. Of a TYPE that begins with "?" the server does not know.
 * "when who-can VERB TYPE[/NAME]": who can do that? -A: in any namespace.
 * "when rules-for USER": what a SelfSubjectRulesReview answers.
 * "when matrix USER VERB,VERB TYPE,TYPE": resources x verbs; "names" means some objects only. The rules that the user has must
 *     tell the same by themselves, but for system:masters.
 * expect: the explanation. Where only those bindings were kept that matter to the question (struct explain_keep), it must be the same.
 */
#include "authz/explain.h"
#include "cases/questions.h"
#include "object/object.h"

enum { MAX_WORDS = 5 };

struct question {
    struct arena *arena;
    str words[MAX_WORDS];
    size_t n;
    str namespace, subresource;
    bool everywhere;
    struct strs groups;
};

static struct strs split(struct arena *a, str list)
{
    VEC(str) items = {0};
    for (str item; list.n;) {
        str_cut(list, ',', &item, &list);
        *vec_push(a, &items) = item;
    }
    return (struct strs){items.p, items.n};
}

static struct question parse(struct arena *a, str args)
{
    struct question q = {.arena = a};
    for (str rest = str_trim(args), word; rest.n; rest = str_trim(rest)) {
        str_cut(rest, ' ', &word, &rest);
        if (str_eq(word, S("-n")))
            str_cut(str_trim(rest), ' ', &q.namespace, &rest);
        else if (str_eq(word, S("-A")))
            q.everywhere = true;
        else if (str_has_prefix(word, S("--groups=")))
            q.groups = split(a, str_from(word, strlen("--groups=")));
        else if (str_has_prefix(word, S("--subresource=")))
            q.subresource = str_from(word, strlen("--subresource="));
        else if (q.n < MAX_WORDS)
            q.words[q.n++] = word;
    }
    return q;
}

static struct authz_identity who(const struct question *q)
{
    str user = q->words[1];
    return (struct authz_identity){.user = str_eq(user, S("-")) ? (str){0} : user, .groups = q->groups};
}

static struct authz_attributes what(const struct question *q, str verb, str type)
{
    struct authz_attributes w = {.verb = verb, .namespace = q->namespace, .subresource = q->subresource};
    if (str_has_prefix(type, S("/"))) {
        w.path = type;
        return w;
    }
    w.is_resource = true;
    str_cut(type, '/', &type, &w.name);
    str_cut(type, '.', &w.resource, &w.group);
    return w;
}

static void add_rules(struct buf *b, const char *title, struct rules rules)
{
    buf_fmt(b, "%s\n", title);
    rules_each(rules, rule)
    {
        rule_format(b, rule);
        buf_add_char(b, '\n');
    }
}

static void answer_matrix(struct buf *b, const struct authz_index *ix, const struct question *q)
{
    static const char *const marks[] = {[CELL_NO] = "-", [CELL_NAMES] = "names", [CELL_YES] = "yes"};
    struct authz_identity id = who(q);
    struct strs types = split(q->arena, q->words[3]);
    struct explain_axes axes = {.verbs = split(q->arena, q->words[2]), .n_resources = types.n};
    struct explain_resource *resources = ARENA_ARRAY(q->arena, struct explain_resource, types.n);
    for (size_t i = 0; i < types.n; i++)
        str_cut(types.p[i], '.', &resources[i].resource, &resources[i].group);
    axes.resources = resources;
    const enum explain_cell *cells = explain_matrix(q->arena, ix, &id, q->namespace, &axes);
    struct rules rules = explain_rules_for(q->arena, ix, &id, q->namespace).resource_rules;
    const enum explain_cell *by_rules = explain_matrix_of(q->arena, rules, &axes);
    if (!authz_is_master(&id) && memcmp(cells, by_rules, types.n * axes.verbs.n * sizeof *cells) != 0)
        buf_fmt(b, "the rules tell something else\n");
    for (size_t i = 0; i < types.n; i++) {
        buf_add_str(b, types.p[i]);
        for (size_t k = 0; k < axes.verbs.n; k++)
            buf_fmt(b, " %s", marks[*cells++]);
        buf_add_char(b, '\n');
    }
}

static str answer(struct case_file *c, const struct authz_index *ix, const struct case_section *when)
{
    struct question q = parse(c->arena, when->args);
    struct buf b = {.arena = c->arena};
    if (str_eq(q.words[0], S("why"))) {
        struct authz_identity id = who(&q);
        struct authz_attributes w = what(&q, q.words[2], q.words[3]);
        struct explanation e = explain_request(c->arena, ix, &id, &w);
        explanation_format(&b, &e);
    } else if (str_eq(q.words[0], S("fix"))) {
        bool is_known = !str_has_prefix(q.words[3], S("?"));
        struct authz_identity id = who(&q);
        struct authz_attributes w = what(&q, q.words[2], is_known ? q.words[3] : str_from(q.words[3], 1));
        struct explanation e = explain_request(c->arena, ix, &id, &w);
        explain_command(&b, &e.remedy, is_known);
        buf_add_char(&b, '\n');
    } else if (str_eq(q.words[0], S("who-can"))) {
        struct authz_attributes w = what(&q, q.words[1], q.words[2]);
        struct explain_holders holders = explain_who_can(c->arena, ix, &w, q.everywhere);
        explain_holders_format(&b, &w, &holders);
    } else if (str_eq(q.words[0], S("rules-for"))) {
        struct authz_identity id = who(&q);
        struct explain_rules rules = explain_rules_for(c->arena, ix, &id, q.namespace);
        add_rules(&b, "resourceRules:", rules.resource_rules);
        add_rules(&b, "nonResourceRules:", rules.non_resource_rules);
        if (rules.evaluation_error.n)
            buf_fmt(&b, "evaluationError: %.*s\n", STR(rules.evaluation_error));
    } else if (str_eq(q.words[0], S("matrix"))) {
        answer_matrix(&b, ix, &q);
    } else {
        case_fail(c, when, "no such question");
    }
    return buf_str(&b);
}

/* Roles first, then the bindings that matter, as commands read them. */
static struct authz_index *keep(struct case_file *c, const json_vec *objects, const struct case_section *when)
{
    struct question q = parse(c->arena, when->args);
    bool is_who_can = str_eq(q.words[0], S("who-can"));
    if (!is_who_can && !str_eq(q.words[0], S("why")) && !str_eq(q.words[0], S("fix")))
        return NULL;
    str type = q.words[is_who_can ? 2 : 3];
    struct authz_attributes w =
        what(&q, q.words[is_who_can ? 1 : 2], str_has_prefix(type, S("?")) ? str_from(type, 1) : type);
    struct authz_identity id = who(&q);
    struct explain_keep k = {.what = &w, .who = is_who_can ? NULL : &id};
    struct authz_index *ix = authz_index_new_growing();
    explain_keep_begin(&k);
    for (int round = 0; round < 2; round++)
        vec_each(objects, object)
        {
            bool is_binding = str_has_suffix(object_kind(object), S("Binding"));
            if (is_binding == (round == 1) && (!is_binding || explain_keeps(&k, ix, object)))
                (void)authz_index_put(ix, object, NULL);
        }
    explain_keep_done(&k);
    return ix;
}

static void run(struct case_file *c)
{
    questions_run(c, answer, keep);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
