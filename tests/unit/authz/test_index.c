/* SPDX-License-Identifier: Apache-2.0 */
/* The index against an oracle that keeps the objects in a list and reads all of them for every question. The oracle is
 * written from the definition and only shares rule_matches with src/authz, which has case files of its own. */
#include "authz/authz.h"
#include "authz/rule_compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random_rules.h"

enum { EDITS = 40, QUESTIONS = 10, RUNS = 11000, NAMES = 5, SPACES = 3 };

static struct arena arena;

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

/* ---- The oracle's world: what exists, in plain slots. ---- */

static const str spaces[SPACES] = {S_INIT(""), S_INIT("shop"), S_INIT("bank")}; /* "" is the cluster */
static const str names[NAMES] = {S_INIT("a"), S_INIT("b"), S_INIT("c"), S_INIT("d"), S_INIT("e")};
static const str users[] = {S_INIT("ann"), S_INIT("bob"), S_INIT("system:serviceaccount:shop:bot"), S_INIT("*"),
                            S_INIT("")};
static const str groups[] = {S_INIT("ann"), S_INIT("devs"), S_INIT("ops"), S_INIT("")};

struct subject {
    str kind, name, namespace;
};

struct thing {
    bool exists;
    struct rules rules; /* of a role */
    struct subject subjects[4];
    size_t n_subjects;
    str ref_kind, ref_name;
};

/* [0][…] of the cluster, else of a namespace */
struct world {
    struct thing roles[SPACES][NAMES], bindings[SPACES][NAMES];
};

static bool oracle_is(const struct subject *s, size_t space, const struct authz_identity *who)
{
    if (s->name.n == 0)
        return false;
    if (str_eq(s->kind, S("User")))
        return str_eq(s->name, who->user);
    if (str_eq(s->kind, S("Group"))) {
        for (size_t i = 0; i < who->groups.n; i++)
            if (str_eq(who->groups.p[i], s->name))
                return true;
        return false;
    }
    str namespace = s->namespace.n ? s->namespace : spaces[space];
    return str_eq(s->kind, S("ServiceAccount")) && namespace.n &&
           str_eq(who->user, str_fmt(&arena, "system:serviceaccount:%.*s:%.*s", STR(namespace), STR(s->name)));
}

static const struct thing *oracle_role(const struct world *w, const struct thing *binding, size_t space)
{
    bool local = str_eq(binding->ref_kind, S("Role"));
    if ((local && space == 0) || (!local && !str_eq(binding->ref_kind, S("ClusterRole"))))
        return NULL;
    for (size_t i = 0; i < NAMES; i++)
        if (str_eq(names[i], binding->ref_name) && w->roles[local ? space : 0][i].exists)
            return &w->roles[local ? space : 0][i];
    return NULL;
}

static bool oracle_allows(const struct thing *role, const struct authz_attributes *what)
{
    for (size_t i = 0; i < role->rules.n; i++)
        if (rule_matches(&role->rules.p[i], what))
            return true;
    return false;
}

static str oracle_missing(const struct thing *b)
{
    bool local = str_eq(b->ref_kind, S("Role"));
    if (!local && !str_eq(b->ref_kind, S("ClusterRole")))
        return str_fmt(&arena, "unsupported role reference kind: \"%.*s\"", STR(b->ref_kind));
    return str_fmt(&arena, "%s.rbac.authorization.k8s.io \"%.*s\" not found", local ? "role" : "clusterrole",
                   STR(b->ref_name));
}

static str oracle_words(const struct thing *b, size_t space, size_t i, const struct subject *s)
{
    struct buf t = {.arena = &arena};
    buf_fmt(&t, "RBAC: allowed by %s \"%.*s%s%.*s\" of %.*s \"%.*s\" to %.*s \"%.*s",
            space ? "RoleBinding" : "ClusterRoleBinding", STR(names[i]), space ? "/" : "", STR(spaces[space]),
            STR(b->ref_kind), STR(b->ref_name), STR(s->kind), STR(s->name));
    if (str_eq(s->kind, S("ServiceAccount")))
        buf_fmt(&t, "/%.*s", STR(s->namespace.n ? s->namespace : spaces[space]));
    buf_add_char(&t, '"');
    return buf_str(&t);
}

static struct authz_decision oracle(const struct world *w, const struct authz_identity *who,
                                    const struct authz_attributes *what)
{
    VEC(str) missing = {0};
    for (size_t space = 0; space < SPACES; space++)
        for (size_t i = 0; i < NAMES; i++) {
            const struct thing *b = &w->bindings[space][i];
            size_t k = 0;
            if (!b->exists || (space && (!what->is_resource || !str_eq(spaces[space], what->namespace))))
                continue;
            while (k < b->n_subjects && !oracle_is(&b->subjects[k], space, who))
                k++;
            if (k == b->n_subjects)
                continue;
            const struct thing *role = oracle_role(w, b, space);
            if (role && oracle_allows(role, what))
                return (struct authz_decision){true, oracle_words(b, space, i, &b->subjects[k])};
            bool known = role != NULL;
            for (size_t m = 0; m < missing.n && !known; m++)
                known = str_eq(missing.p[m], oracle_missing(b));
            if (!known)
                *vec_push(&arena, &missing) = oracle_missing(b);
        }
    struct buf t = {.arena = &arena};
    for (size_t m = 0; m < missing.n; m++)
        buf_fmt(&t, "%s%.*s", m ? ", " : missing.n > 1 ? "RBAC: [" : "RBAC: ", STR(missing.p[m]));
    buf_fmt(&t, "%s", missing.n > 1 ? "]" : "");
    return (struct authz_decision){false, buf_str(&t)};
}

/* ---- Random edits, made to both. ---- */

static struct json object_of(const char *kind, size_t space, size_t name)
{
    struct json o = json_obj(), meta = json_obj();
    json_set(&arena, &meta, S("name"), json_str(names[name]));
    if (space)
        json_set(&arena, &meta, S("namespace"), json_str(spaces[space]));
    json_set(&arena, &o, S("kind"), json_str(str_fmt(&arena, "%s%s", space ? "" : "Cluster", kind)));
    json_set(&arena, &o, S("metadata"), meta);
    return o;
}

static void put_role(const struct random *r, struct authz_index *ix, struct world *w, size_t space, size_t name)
{
    struct thing *t = &w->roles[space][name];
    struct json o = object_of("Role", space, name);
    *t = (struct thing){.exists = true, .rules = random_rules(&arena, r, 3)};
    json_set(&arena, &o, S("rules"), rules_to_json(&arena, t->rules));
    assert_int_equal(authz_index_put(ix, &o, NULL), 0);
}

static void put_binding(const struct random *r, struct authz_index *ix, struct world *w, size_t space, size_t name)
{
    static const str kinds[] = {S_INIT("User"), S_INIT("Group"), S_INIT("ServiceAccount"), S_INIT("Robot")};
    struct thing *t = &w->bindings[space][name];
    struct json o = object_of("RoleBinding", space, name), ref = json_obj(), list = json_arr();
    *t = (struct thing){.exists = true, .n_subjects = random_below(r, 5), .ref_name = random_of(r, names, NAMES)};
    t->ref_kind = random_below(r, 12) == 0 ? S("Robot") : random_below(r, 2) ? S("Role") : S("ClusterRole");
    for (size_t i = 0; i < t->n_subjects; i++) {
        struct subject *s = &t->subjects[i];
        s->kind = kinds[random_below(r, 20) ? random_below(r, 3) : 3];
        s->name = str_eq(s->kind, S("Group"))  ? random_of(r, groups, COUNT(groups))
                  : str_eq(s->kind, S("User")) ? random_of(r, users, COUNT(users))
                                               : S("bot");
        s->namespace = random_of(r, spaces, SPACES);
        struct json v = json_obj();
        json_set(&arena, &v, S("kind"), json_str(s->kind));
        json_set(&arena, &v, S("name"), json_str(s->name));
        if (s->namespace.n)
            json_set(&arena, &v, S("namespace"), json_str(s->namespace));
        json_push(&arena, &list, v);
    }
    json_set(&arena, &ref, S("kind"), json_str(t->ref_kind));
    json_set(&arena, &ref, S("name"), json_str(t->ref_name));
    json_set(&arena, &o, S("roleRef"), ref);
    json_set(&arena, &o, S("subjects"), list);
    assert_int_equal(authz_index_put(ix, &o, NULL), 0);
}

static bool edit(const struct random *r, struct authz_index *ix, struct world *w)
{
    size_t space = random_below(r, SPACES), name = random_below(r, NAMES);
    switch (random_below(r, 6)) {
    case 0:
    case 1:
        put_role(r, ix, w, space, name);
        return true;
    case 2: {
        bool was = w->roles[space][name].exists;
        w->roles[space][name].exists = false;
        return was == authz_index_delete(ix, space ? AUTHZ_ROLE : AUTHZ_CLUSTER_ROLE, spaces[space], names[name]);
    }
    case 3: {
        bool was = w->bindings[space][name].exists;
        w->bindings[space][name].exists = false;
        return was == authz_index_delete(ix, space ? AUTHZ_ROLE_BINDING : AUTHZ_CLUSTER_ROLE_BINDING, spaces[space],
                                         names[name]);
    }
    default:
        put_binding(r, ix, w, space, name);
        return true;
    }
}

static bool ask(const struct random *r, const struct authz_index *ix, const struct world *w)
{
    str mine[3];
    struct authz_identity who = {.user = random_of(r, users, COUNT(users)), .groups = {mine, random_below(r, 4)}};
    struct authz_attributes what = random_request(r);
    for (size_t i = 0; i < who.groups.n; i++)
        mine[i] = random_of(r, groups, COUNT(groups));
    what.namespace = random_of(r, spaces, SPACES);
    struct authz_decision want = oracle(w, &who, &what), got = authz_check(ix, &who, &what, &arena);
    bool good = want.allowed == got.allowed && str_eq(want.reason, got.reason) &&
                authz_check(ix, &who, &what, NULL).allowed == want.allowed;
    if (!good)
        print_message("# want %d %.*s\n# got  %d %.*s\n", want.allowed, STR(want.reason), got.allowed, STR(got.reason));
    return good;
}

static void test_index_is_what_reading_everything_says(void **state)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct random_seeded fake = {seed};
        struct random r = random_of_seed(&fake);
        struct authz_index *ix = seed % 2 ? authz_index_new() : authz_index_new_growing();
        struct world w = {0};
        bool good = true;
        for (int i = 0; i < EDITS && good; i++)
            good = edit(&r, ix, &w);
        for (int i = 0; i < QUESTIONS && good; i++)
            good = ask(&r, ix, &w) && edit(&r, ix, &w);
        authz_index_free(ix);
        if (!good)
            fail_msg("seed %llu", (unsigned long long)seed);
        arena_reset(&arena);
    }
}

/* ---- Other forms of the same rules. ---- */

static bool count_grant(void *ctx, const struct authz_grant *grant)
{
    ++*(size_t *)ctx;
    return true;
}

static struct json many_subjects(size_t n)
{
    struct json o = object_of("RoleBinding", 1, 0), list = json_arr();
    for (size_t i = 0; i < n; i++) {
        struct json v = json_obj();
        json_add(&arena, &v, S("kind"), json_str(i % 2 ? S("Group") : S("User")));
        json_add(&arena, &v, S("name"), json_str(str_fmt(&arena, "x%zu", i / 4)));
        json_push(&arena, &list, v);
    }
    json_set(&arena, &o, S("subjects"), list);
    return o;
}

/* Everybody's lists grow and shrink past every power of two, in any order. */
static void test_lists_grow_and_shrink(void **state)
{
    struct authz_index *ix = authz_index_new();
    struct json o = many_subjects(40), *meta = json_get_mut(&o, S("metadata"));
    struct authz_identity who = {.user = S("x3"), .groups = {(const str[]){S("x4"), S("x3")}, 2}};
    for (size_t n = 1; n <= 40; n++) {
        json_set(&arena, meta, S("name"), json_str(str_fmt(&arena, "b%zu", n * 17 % 41)));
        assert_int_equal(authz_index_put(ix, &o, NULL), 0);
        size_t found = 0;
        assert_true(authz_visit(ix, &who, S("shop"), count_grant, &found));
        assert_int_equal(found, n);
    }
    for (size_t n = 40; n > 0; n--) {
        assert_true(authz_index_delete(ix, AUTHZ_ROLE_BINDING, S("shop"), str_fmt(&arena, "b%zu", n * 23 % 41)));
        size_t found = 0;
        assert_true(authz_visit_everywhere(ix, &who, count_grant, &found));
        assert_int_equal(found, n - 1);
    }
    authz_index_free(ix);
}

static void test_nothing_allows_nobody(void **state)
{
    struct authz_index *ix = authz_index_new();
    struct authz_identity nobody = {0}, master = {.groups = {&AUTHZ_MASTERS, 1}};
    struct authz_attributes nothing = {0}, get = {.verb = S("get"), .path = S("/")};
    struct random_seeded fake = {1};
    struct random r = random_of_seed(&fake);
    struct world w = {0};
    for (int i = 0; i < EDITS; i++)
        edit(&r, ix, &w);
    assert_false(authz_check(NULL, &master, &get, &arena).allowed);
    assert_false(authz_check(ix, NULL, &get, &arena).allowed);
    assert_false(authz_check(ix, &nobody, &get, &arena).allowed);
    assert_false(authz_check(ix, &master, NULL, &arena).allowed);
    assert_false(authz_check(ix, &master, &nothing, &arena).allowed);
    assert_true(authz_check(ix, &master, &get, &arena).allowed);
    authz_index_free(ix);
    authz_index_free(NULL);
}

/* An identity with rules of its own has these and nothing else, whatever groups it is in. */
static void test_own_rules_decide_alone(void **state)
{
    static const str verb = S_INIT("delete"), group = S_INIT("example.com"), resource = S_INIT("widgets");
    struct rule rule = {.verbs = {&verb, 1}, .api_groups = {&group, 1}, .resources = {&resource, 1}};
    struct rules one = {&rule, 1}, none = {0};
    struct authz_index *ix = authz_index_new();
    struct authz_identity who = {.user = S("system:apiserver"), .groups = {&AUTHZ_MASTERS, 1}, .only = &one};
    struct authz_attributes what = {.is_resource = true, .verb = verb, .group = group, .resource = resource};
    struct authz_attributes get = {.verb = S("get"), .path = S("/")};
    assert_true(authz_check(ix, &who, &what, NULL).allowed);
    assert_false(authz_check(ix, &who, &get, NULL).allowed);
    assert_false(authz_is_master(&who));
    what.group = S("rbac.authorization.k8s.io");
    assert_false(authz_check(ix, &who, &what, &arena).allowed);
    what.group = group;
    what.verb = S("get");
    assert_false(authz_check(ix, &who, &what, &arena).allowed);
    what.verb = verb;
    who.only = &none;
    assert_false(authz_check(ix, &who, &what, &arena).allowed);
    authz_index_free(ix);
}

static void put_text(struct authz_index *ix, const char *text, int want)
{
    struct json o;
    struct err err = {0};
    assert_int_equal(json_decode(&arena, str_of(text), NULL, NULL, &o, &err), 0);
    assert_int_equal(authz_index_put(ix, &o, &err), want);
}

/* What cannot be read counts as gone, even when an older version could be. */
static void test_malformed_objects_grant_nothing(void **state)
{
    struct authz_index *ix = authz_index_new();
    struct authz_identity ann = {.user = S("ann")};
    struct authz_attributes get = {.verb = S("get"), .path = S("/")};
    put_text(
        ix,
        "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]}",
        0);
    put_text(
        ix,
        "{\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"},"
        "\"subjects\":[{\"kind\":\"User\",\"name\":\"ann\"}]}",
        0);
    assert_true(authz_check(ix, &ann, &get, NULL).allowed);
    put_text(ix, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"b\"}}",
             ERR_INVALID); /* not the one that is there */
    put_text(ix, "{\"apiVersion\":\"v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"}}", ERR_INVALID);
    assert_true(authz_check(ix, &ann, &get, NULL).allowed);
    put_text(
        ix,
        "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[7],\"nonResourceURLs\":[\"*\"]}]}",
        ERR_INVALID);
    assert_false(authz_check(ix, &ann, &get, NULL).allowed);
    put_text(
        ix,
        "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]}",
        0);
    assert_true(authz_check(ix, &ann, &get, NULL).allowed);
    put_text(ix, "{\"kind\":\"ClusterRoleBinding\",\"metadata\":{\"name\":\"b\"},\"subjects\":{}}", ERR_INVALID);
    assert_false(authz_check(ix, &ann, &get, NULL).allowed);
    put_text(ix, "{\"kind\":\"Role\",\"metadata\":{\"name\":\"r\"}}", ERR_INVALID);
    put_text(ix, "{\"kind\":\"ClusterRole\",\"metadata\":{}}", ERR_INVALID);
    put_text(ix, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"r\"}}", ERR_INVALID);
    put_text(ix, "[]", ERR_INVALID);
    authz_index_free(ix);
}

/* An object may be made of the very texts that the index lends. */
static void test_role_is_replaced_by_its_own_texts(void **state)
{
    struct authz_index *ix = authz_index_new();
    put_text(ix,
             "{\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[\"get\"],"
             "\"nonResourceURLs\":[\"/a-path-that-is-not-short\"]}]}",
             0);
    const struct authz_role *role = authz_get_role(ix, AUTHZ_CLUSTER_ROLE, (str){0}, S("r"));
    struct json o = json_obj(), meta = json_obj();
    json_set(&arena, &meta, S("name"), json_str(role->name));
    json_set(&arena, &o, S("kind"), json_str(S("ClusterRole")));
    json_set(&arena, &o, S("metadata"), meta);
    json_set(&arena, &o, S("rules"), rules_to_json(&arena, role->rules));
    assert_int_equal(authz_index_put(ix, &o, NULL), 0);
    role = authz_get_role(ix, AUTHZ_CLUSTER_ROLE, (str){0}, S("r"));
    assert_true(str_eq(role->rules.p[0].non_resource_urls.p[0], S("/a-path-that-is-not-short")));
    authz_index_free(ix);
}

/* A question whose hashes are those of another one, as if they collided: the texts have the last word. */
static void test_equal_hashes_are_not_equal_texts(void **state)
{
    static const str verb = S_INIT("get"), group = S_INIT(""), resource = S_INIT("pods"), name = S_INIT("one");
    struct rule rule = {{&verb, 1}, {&group, 1}, {&resource, 1}, {&name, 1}, {0}};
    struct compiled c = rules_compile(&arena, (struct rules){&rule, 1});
    struct authz_attributes held = {.is_resource = true, .verb = verb, .resource = resource, .name = name};
    struct authz_attributes others[] = {held, held, held, held};
    struct question q = question_of(&held);
    assert_true(compiled_allows(&c, &q));
    others[0].verb = S("delete");
    others[1].group = S("apps");
    others[2].resource = S("secrets");
    others[3].name = S("two");
    for (size_t i = 0; i < 4; i++) {
        q.what = &others[i];
        assert_false(compiled_allows(&c, &q));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_index_is_what_reading_everything_says, teardown),
        cmocka_unit_test_teardown(test_lists_grow_and_shrink, teardown),
        cmocka_unit_test_teardown(test_nothing_allows_nobody, teardown),
        cmocka_unit_test_teardown(test_own_rules_decide_alone, teardown),
        cmocka_unit_test_teardown(test_malformed_objects_grant_nothing, teardown),
        cmocka_unit_test_teardown(test_equal_hashes_are_not_equal_texts, teardown),
        cmocka_unit_test_teardown(test_role_is_replaced_by_its_own_texts, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
