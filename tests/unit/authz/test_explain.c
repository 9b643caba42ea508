/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations never disagree with the decision: random clusters, each asked many questions. */
#include "authz/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random_rules.h"

enum { CLUSTERS = 1000, QUESTIONS = 100, ROLES = 5, BINDINGS = 8 };

static const str users[] = {S_INIT("ann"), S_INIT("bob"), S_INIT("system:serviceaccount:a:bot"),
                            S_INIT("system:serviceaccount:b:bot"), S_INIT("system:serviceaccount::bot")};
static const str groups[] = {S_INIT("devs"), S_INIT("ops"), S_INIT("system:masters")};
static const str namespaces[] = {S_INIT("a"), S_INIT("b"), S_INIT("c")};
static const str role_names[] = {S_INIT("r0"), S_INIT("r1"), S_INIT("r2"), S_INIT("r3"), S_INIT("missing")};

struct world {
    struct arena arena;
    struct random_seeded source;
    struct random random;
    struct authz_index *ix;
    VEC(struct json) bindings; /* all that were put */
    uint64_t seed;
};

static struct json named(struct arena *a, const char *kind, str namespace, str name)
{
    struct json o = json_obj(), meta = json_obj();
    json_set(a, &meta, S("name"), json_str(name));
    if (namespace.n)
        json_set(a, &meta, S("namespace"), json_str(namespace));
    json_set(a, &o, S("kind"), json_str(str_of(kind)));
    json_set(a, &o, S("metadata"), meta);
    return o;
}

static void put(struct world *w, const struct json *object)
{
    struct err err = {0};
    if (authz_index_put(w->ix, object, &err) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, err.msg);
}

/* ---- Random clusters. ---- */

/* Labels and selectors from two letters, so that chains and cycles come about. */
static struct json random_letter(struct world *w)
{
    static const str letters[] = {S_INIT("x"), S_INIT("y")};
    struct json map = json_obj();
    json_set(&w->arena, &map, S("to"), json_str(random_of(&w->random, letters, COUNT(letters))));
    return map;
}

static void put_role(struct world *w)
{
    struct arena *a = &w->arena;
    bool local = random_below(&w->random, 3) == 0;
    struct json role = named(a, local ? "Role" : "ClusterRole",
                             local ? random_of(&w->random, namespaces, COUNT(namespaces)) : (str){0},
                             random_of(&w->random, role_names, COUNT(role_names) - 1));
    json_set(a, &role, S("rules"), rules_to_json(a, random_rules(a, &w->random, 4)));
    if (random_below(&w->random, 2))
        json_set(a, json_get_mut(&role, S("metadata")), S("labels"), random_letter(w));
    if (!local && random_below(&w->random, 4) == 0) {
        struct json rule = json_obj(), list = json_arr(), selector = json_obj();
        json_set(a, &selector, S("matchLabels"), random_letter(w));
        json_push(a, &list, selector);
        json_set(a, &rule, S("clusterRoleSelectors"), list);
        json_set(a, &role, S("aggregationRule"), rule);
    }
    put(w, &role);
}

static struct json random_subject(struct world *w)
{
    struct arena *a = &w->arena;
    struct json s = json_obj();
    uint32_t kind = random_below(&w->random, 3);
    json_set(a, &s, S("kind"), json_str(kind == 0 ? S("User") : kind == 1 ? S("Group") : S("ServiceAccount")));
    if (kind == 2 && random_below(&w->random, 2))
        json_set(a, &s, S("namespace"), json_str(random_of(&w->random, namespaces, 2)));
    json_set(a, &s, S("name"),
             json_str(kind == 0   ? random_of(&w->random, users, COUNT(users))
                      : kind == 1 ? random_of(&w->random, groups, COUNT(groups))
                                  : S("bot")));
    return s;
}

static struct json binding_to(struct world *w, str namespace, str name, enum authz_kind role_kind, str role)
{
    struct arena *a = &w->arena;
    struct json b = named(a, namespace.n ? "RoleBinding" : "ClusterRoleBinding", namespace, name), ref = json_obj();
    json_set(a, &ref, S("kind"), json_str(authz_kind_name(role_kind)));
    json_set(a, &ref, S("name"), json_str(role));
    json_set(a, &b, S("roleRef"), ref);
    return b;
}

static void put_binding(struct world *w, size_t number)
{
    struct arena *a = &w->arena;
    bool local = random_below(&w->random, 2);
    str namespace = local ? random_of(&w->random, namespaces, COUNT(namespaces)) : (str){0};
    struct json list = json_arr();
    for (uint32_t i = 0, n = random_below(&w->random, 4); i < n; i++)
        json_push(a, &list, random_subject(w));
    struct json b = binding_to(w, namespace, str_fmt(a, "b%zu", number),
                               local && random_below(&w->random, 2) ? AUTHZ_ROLE : AUTHZ_CLUSTER_ROLE,
                               random_of(&w->random, role_names, COUNT(role_names)));
    json_set(a, &b, S("subjects"), list);
    put(w, &b);
    *vec_push(a, &w->bindings) = b;
}

static struct authz_identity random_identity(struct world *w)
{
    struct authz_identity who = {0};
    str *list = ARENA_ARRAY(&w->arena, str, 2);
    if (random_below(&w->random, 8))
        who.user = random_of(&w->random, users, COUNT(users));
    who.groups = (struct strs){list, random_below(&w->random, 3)};
    for (size_t i = 0; i < who.groups.n; i++)
        list[i] = random_of(&w->random, groups, random_below(&w->random, 8) ? 2 : 3);
    return who;
}

static struct authz_attributes random_question(struct world *w)
{
    struct authz_attributes what = random_request(&w->random);
    if (what.is_resource && random_below(&w->random, 4))
        what.namespace = random_of(&w->random, namespaces, COUNT(namespaces));
    return what;
}

/* ---- What must hold. ---- */

static bool can(const struct world *w, const struct authz_identity *who, const struct authz_attributes *what)
{
    return authz_check(w->ix, who, what, NULL).allowed;
}

static void check_paths(struct world *w, const struct explanation *e)
{
    if (e->decision.allowed != can(w, &e->who, &e->what) || e->decision.allowed != (e->is_master || e->n_paths > 0))
        fail_msg("seed %llu: the explanation contradicts the decision", (unsigned long long)w->seed);
    for (size_t i = 0; i < e->n_paths; i++) {
        const struct explain_path *p = &e->paths[i];
        assert_non_null(p->grant.role);
        assert_true(rule_matches(p->rule, &e->what));
        assert_true(p->n_rules > 0);
        assert_int_equal(p->is_aggregated, p->grant.role->aggregation_rule != NULL);
        for (size_t k = 0; k < p->n_sources; k++) {
            assert_true(rule_matches(p->sources[k].rule, &e->what));
            assert_null(p->sources[k].role->aggregation_rule);
        }
    }
}

/* With the one thing changed that a miss is about, the answer is yes. */
static bool is_real_miss(struct world *w, const struct explanation *e, const struct explain_miss *miss, str instead)
{
    struct authz_attributes what = e->what;
    switch (miss->kind) {
    case MISS_VERB:
        what.verb = instead;
        break;
    case MISS_NAME:
        what.name = instead;
        break;
    case MISS_SUBRESOURCE:
        if (!str_cut(instead, '/', &what.resource, &what.subresource)) {
            what.resource = instead;
            what.subresource = (str){0};
        }
        break;
    case MISS_GROUP:
        what.group = instead;
        break;
    case MISS_PATH:
        what.path = instead;
        break;
    case MISS_NAMESPACE:
    case MISS_ROLE:
    case MISS_BINDING:
        return false;
    }
    return can(w, &e->who, &what);
}

static void check_misses(struct world *w, const struct explanation *e)
{
    for (size_t i = 0; i < e->n_misses; i++) {
        const struct explain_miss *miss = &e->misses[i];
        struct authz_attributes there = e->what;
        there.namespace = miss->grant.namespace;
        if (i && miss[-1].kind > miss->kind)
            fail_msg("seed %llu: misses are not ranked", (unsigned long long)w->seed);
        if (miss->kind == MISS_NAMESPACE && e->what.is_resource && !can(w, &e->who, &there))
            fail_msg("seed %llu: not allowed there", (unsigned long long)w->seed);
        strs_each(miss->instead, text)
        {
            if (!is_real_miss(w, e, miss, *text))
                fail_msg("seed %llu: a miss of kind %d is none", (unsigned long long)w->seed, (int)miss->kind);
        }
    }
}

static struct json subject_of(struct world *w, const struct authz_subject *s)
{
    static const char *const kinds[] = {"User", "Group", "ServiceAccount"};
    struct json o = json_obj();
    json_set(&w->arena, &o, S("kind"), json_str(str_of(kinds[s->kind])));
    json_set(&w->arena, &o, S("name"), json_str(s->name));
    if (s->namespace.n)
        json_set(&w->arena, &o, S("namespace"), json_str(s->namespace));
    return o;
}

/* What the remedy says is done, and undone. */
static void check_remedy(struct world *w, const struct explanation *e, const struct authz_role *other)
{
    struct arena *a = &w->arena;
    const struct explain_remedy *r = &e->remedy;
    str role = other ? other->name : S("remedy");
    enum authz_kind kind = other ? other->kind : r->role_kind;
    if (r->subject.name.n == 0)
        return;
    struct json object = named(a, kind == AUTHZ_ROLE ? "Role" : "ClusterRole", r->namespace, role);
    struct json binding = binding_to(w, r->namespace, S("remedy"), kind, role), list = json_arr();
    json_set(a, &object, S("rules"), rules_to_json(a, (struct rules){&r->rule, 1}));
    json_push(a, &list, subject_of(w, &r->subject));
    json_set(a, &binding, S("subjects"), list);
    if (!other)
        put(w, &object);
    put(w, &binding);
    bool helped = can(w, &e->who, &e->what);
    authz_index_delete(w->ix, r->binding_kind, r->namespace, S("remedy"));
    if (!other)
        authz_index_delete(w->ix, kind, r->namespace, role);
    if (!helped || can(w, &e->who, &e->what))
        fail_msg("seed %llu: the remedy does not help, or stays", (unsigned long long)w->seed);
}

static bool is_holder(struct world *w, const struct explain_holders *holders, struct authz_subject want)
{
    str user = authz_subject_user(&w->arena, &want);
    for (size_t i = 0; i < holders->n; i++) {
        const struct authz_subject *s = &holders->list[i].subject;
        if ((s->kind == AUTHZ_GROUP) == (want.kind == AUTHZ_GROUP) && str_eq(authz_subject_user(&w->arena, s), user))
            return true;
    }
    return false;
}

static void check_who_can(struct world *w, const struct authz_attributes *what)
{
    struct explain_holders holders = explain_who_can(&w->arena, w->ix, what, false);
    size_t known = 0;
    for (size_t i = 0; i < COUNT(users) + COUNT(groups); i++) {
        bool is_user = i < COUNT(users);
        const str *name = is_user ? &users[i] : &groups[i - COUNT(users)];
        struct authz_identity who = {.user = is_user ? *name : (str){0}, .groups = {name, !is_user}};
        bool found = is_holder(w, &holders, (struct authz_subject){is_user ? AUTHZ_USER : AUTHZ_GROUP, *name, {0}});
        known += found;
        if (found != can(w, &who, what))
            fail_msg("seed %llu: who can, and %.*s", (unsigned long long)w->seed, STR(*name));
    }
    /* ServiceAccounts of namespace c are nobody's user name above. */
    struct authz_subject bot = {AUTHZ_SERVICE_ACCOUNT, S("bot"), S("c")};
    known += is_holder(w, &holders, bot);
    if (known != holders.n)
        fail_msg("seed %llu: strangers can", (unsigned long long)w->seed);
}

static void ask(struct world *w)
{
    struct authz_identity who = random_identity(w);
    struct authz_attributes what = random_question(w);
    struct explanation e = explain_request(&w->arena, w->ix, &who, &what);
    check_paths(w, &e);
    check_misses(w, &e);
    check_who_can(w, &what);
    if (!e.decision.allowed)
        check_remedy(w, &e, NULL);
}

/* The index changes while remedies are tried, so roles that are not bound are asked for anew. */
static void ask_unbound(struct world *w)
{
    struct authz_identity who = random_identity(w);
    struct authz_attributes what = random_question(w);
    struct explanation e = explain_request(&w->arena, w->ix, &who, &what);
    for (size_t i = 0; i < e.n_misses; i++) {
        if (e.misses[i].kind == MISS_BINDING && e.misses[i].role->kind == e.remedy.role_kind) {
            check_remedy(w, &e, e.misses[i].role);
            return;
        }
    }
}

/* A cluster of its own for each seed. */
static void make(struct world *w, uint64_t seed)
{
    *w = (struct world){.source = {.state = seed}, .ix = authz_index_new(), .seed = seed};
    w->random = random_of_seed(&w->source);
    for (size_t i = 0; i < ROLES; i++)
        put_role(w);
    for (size_t i = 0; i < BINDINGS; i++)
        put_binding(w, i);
}

static void agrees_with_the_decision(void **state)
{
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        struct world w;
        make(&w, seed);
        for (size_t i = 0; i < QUESTIONS; i++)
            i % 8 ? ask(&w) : ask_unbound(&w);
        authz_index_free(w.ix);
        arena_done(&w.arena);
    }
}

/* ---- Bindings that matter. ---- */

static bool put_role_too(void *ctx, const struct authz_role *role)
{
    struct world *w = ctx;
    struct arena *a = &w->arena;
    struct json o = named(a, role->kind == AUTHZ_ROLE ? "Role" : "ClusterRole", role->namespace, role->name);
    json_set(a, &o, S("rules"), rules_to_json(a, role->rules));
    if (role->labels)
        json_set(a, json_get_mut(&o, S("metadata")), S("labels"), *role->labels);
    if (role->aggregation_rule)
        json_set(a, &o, S("aggregationRule"), *role->aggregation_rule);
    put(w, &o);
    return true;
}

/* The same roles, and of the bindings those that are kept. */
static struct world part_of(struct world *w, struct explain_keep *k, size_t *ret_kept)
{
    struct world part = {.ix = authz_index_new_growing(), .seed = w->seed};
    authz_visit_roles(w->ix, put_role_too, &part);
    explain_keep_begin(k);
    vec_each(&w->bindings, binding)
    {
        if (!explain_keeps(k, part.ix, binding))
            continue;
        put(&part, binding);
        ++*ret_kept;
    }
    return part;
}

static void ask_part(struct world *w, size_t *ret_kept)
{
    struct arena *a = &w->arena;
    struct authz_identity who = random_identity(w);
    struct authz_attributes what = random_question(w);
    for (int is_why = 0; is_why < 2; is_why++) {
        struct explain_keep k = {.what = &what, .who = is_why ? &who : NULL};
        struct world part = part_of(w, &k, ret_kept);
        struct buf whole = {.arena = a}, kept = {.arena = a};
        for (int i = 0; i < 2; i++) {
            const struct authz_index *ix = i ? part.ix : w->ix;
            struct buf *b = i ? &kept : &whole;
            struct explain_holders holders = explain_who_can(a, ix, &what, true);
            struct explanation e = explain_request(a, ix, &who, &what);
            if (is_why) {
                explanation_format(b, &e);
                explain_command(b, &e.remedy, true);
            } else {
                explain_holders_format(b, &what, &holders);
            }
        }
        if (!str_eq(buf_str(&whole), buf_str(&kept)))
            fail_msg("seed %llu: of all:\n%.*s\nof those that matter:\n%.*s", (unsigned long long)w->seed,
                     STR(buf_str(&whole)), STR(buf_str(&kept)));
        explain_keep_done(&k);
        authz_index_free(part.ix);
        arena_done(&part.arena);
    }
}

static void bindings_that_matter_are_enough(void **state)
{
    size_t kept = 0, all = 0;
    for (uint64_t seed = 1; seed <= CLUSTERS; seed++) {
        struct world w;
        make(&w, seed);
        for (size_t i = 0; i < QUESTIONS / 10; i++, all += (size_t)2 * BINDINGS)
            ask_part(&w, &kept);
        authz_index_free(w.ix);
        arena_done(&w.arena);
    }
    assert_true(kept > 0 && kept < all / 2); /* and many are not needed */
}

/* ---- What is not a question. ---- */

static void nobody_is_refused(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct authz_identity nobody = {0}, bob = {.user = S("bob")};
    struct authz_attributes nothing = {0}, pods = {.is_resource = true, .verb = S("get"), .resource = S("pods")};
    assert_false(explain_request(&a, ix, &nobody, &pods).decision.allowed);
    assert_false(explain_request(&a, ix, &bob, &nothing).decision.allowed);
    assert_false(explain_request(&a, ix, NULL, &pods).decision.allowed);
    assert_false(explain_request(&a, ix, &bob, NULL).decision.allowed);
    assert_false(explain_request(&a, NULL, &bob, &pods).decision.allowed);
    assert_int_equal(explain_who_can(&a, ix, &nothing, false).n, 0);
    assert_int_equal(explain_who_can(&a, ix, NULL, false).n, 0);
    assert_int_equal(explain_who_can(&a, NULL, &pods, false).n, 0);
    authz_index_free(ix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_decision),
        cmocka_unit_test(bindings_that_matter_are_enough),
        cmocka_unit_test(nobody_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
