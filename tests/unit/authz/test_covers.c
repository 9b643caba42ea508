/* SPDX-License-Identifier: Apache-2.0 */
/* The algebra of rules against an oracle that breaks everything into atoms and tries every pair. The oracle is written
 * from the definition (docs/design/authz.md has it too) and shares no code with src/authz. */
#include "authz/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random_rules.h"

enum { CASES = 100000, REQUESTS = 8 };

static struct arena arena;

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

/* ---- The oracle. ---- */

typedef VEC(struct rule) rule_vec;

static struct strs one(const str *s)
{
    return (struct strs){s, 1};
}

static void break_down(rule_vec *out, const struct rule *r)
{
    for (size_t g = 0; g < r->api_groups.n; g++)
        for (size_t k = 0; k < r->resources.n; k++)
            for (size_t v = 0; v < r->verbs.n; v++) {
                struct rule atom = {.verbs = one(&r->verbs.p[v]),
                                    .api_groups = one(&r->api_groups.p[g]),
                                    .resources = one(&r->resources.p[k])};
                if (r->resource_names.n == 0)
                    *vec_push(&arena, out) = atom;
                for (size_t n = 0; n < r->resource_names.n; n++) {
                    atom.resource_names = one(&r->resource_names.p[n]);
                    *vec_push(&arena, out) = atom;
                }
            }
    for (size_t u = 0; u < r->non_resource_urls.n; u++)
        for (size_t v = 0; v < r->verbs.n; v++)
            *vec_push(&arena, out) =
                (struct rule){.verbs = one(&r->verbs.p[v]), .non_resource_urls = one(&r->non_resource_urls.p[u])};
}

static bool is_in(str s, struct strs list)
{
    for (size_t i = 0; i < list.n; i++)
        if (list.p[i].n == s.n && memcmp(list.p[i].n ? list.p[i].p : "", s.n ? s.p : "", s.n) == 0)
            return true;
    return false;
}

static bool oracle_resource(struct strs owner, str s)
{
    if (is_in(S("*"), owner) || is_in(s, owner))
        return true;
    char rest[64] = "*";
    const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
    if (!slash)
        return false;
    size_t n = s.n - (size_t)(slash - s.p);
    memcpy(rest + 1, slash, n);
    return is_in((str){rest, n + 1}, owner);
}

static bool oracle_url(struct strs owner, str s)
{
    for (size_t i = 0; i < owner.n; i++) {
        str u = owner.p[i];
        size_t stem = u.n;
        while (stem && u.p[stem - 1] == '*')
            stem--;
        if (stem == u.n ? s.n == u.n && memcmp(s.n ? s.p : "", u.n ? u.p : "", u.n) == 0
                        : s.n >= stem && memcmp(s.n ? s.p : "", u.p, stem) == 0)
            return true;
    }
    return false;
}

static bool oracle_covers_atom(const struct rule *owner, const struct rule *atom)
{
    if (!is_in(S("*"), owner->verbs) && !is_in(atom->verbs.p[0], owner->verbs))
        return false;
    if (atom->resource_names.n ? owner->resource_names.n && !is_in(atom->resource_names.p[0], owner->resource_names)
                               : owner->resource_names.n > 0)
        return false;
    if (atom->non_resource_urls.n)
        return oracle_url(owner->non_resource_urls, atom->non_resource_urls.p[0]);
    return (is_in(S("*"), owner->api_groups) || is_in(atom->api_groups.p[0], owner->api_groups)) &&
           oracle_resource(owner->resources, atom->resources.p[0]);
}

static rule_vec oracle_missing(struct rules owner, struct rules servant)
{
    rule_vec atoms = {0}, missing = {0};
    for (size_t i = 0; i < servant.n; i++)
        break_down(&atoms, &servant.p[i]);
    for (size_t i = 0; i < atoms.n; i++) {
        bool covered = false;
        for (size_t k = 0; k < owner.n && !covered; k++)
            covered = oracle_covers_atom(&owner.p[k], &atoms.p[i]);
        if (!covered)
            *vec_push(&arena, &missing) = atoms.p[i];
    }
    return missing;
}

/* ---- Random rules. ---- */

static void print_rules(const char *what, struct rules rules)
{
    for (size_t i = 0; i < rules.n; i++) {
        struct buf b = {.arena = &arena};
        rule_format(&b, &rules.p[i]);
        print_message("# %s %.*s\n", what, STR(buf_str(&b)));
    }
}

static bool is_same(struct rules got, const rule_vec *want)
{
    return rules_equal(got, (struct rules){want->p, want->n});
}

static bool has_atom(const rule_vec *atoms, const struct rule *atom)
{
    for (size_t i = 0; i < atoms->n; i++)
        if (rule_equal(&atoms->p[i], atom))
            return true;
    return false;
}

/* Both hold the same atoms, however often. */
static bool are_same_atoms(struct rules sets, const rule_vec *want)
{
    rule_vec got = {0};
    for (size_t i = 0; i < sets.n; i++)
        break_down(&got, &sets.p[i]);
    for (size_t i = 0; i < got.n; i++)
        if (!has_atom(want, &got.p[i]))
            return false;
    for (size_t i = 0; i < want->n; i++)
        if (!has_atom(&got, &want->p[i]))
            return false;
    return true;
}

static void test_covers_is_what_breaking_down_says(void **state)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct random_seeded fake = {seed};
        struct random r = random_of_seed(&fake);
        struct rules owner = random_rules(&arena, &r, 6), servant = random_rules(&arena, &r, 3);
        rule_vec want = oracle_missing(owner, servant);
        struct covers_missing got;
        bool covered = rules_cover(&arena, owner, servant, &got);
        if (covered != (want.n == 0) || covered != rules_cover(&arena, owner, servant, NULL) || got.cut ||
            !is_same(got.atoms, &want) || !are_same_atoms(got.sets, &want)) {
            print_rules("owner", owner);
            print_rules("servant", servant);
            print_rules("want missing", (struct rules){want.p, want.n});
            print_rules("got missing", got.atoms);
            print_rules("got sets", got.sets);
            fail_msg("seed %llu", (unsigned long long)seed);
        }
        arena_reset(&arena);
    }
}

static bool allow(struct rules rules, const struct authz_attributes *what)
{
    for (size_t i = 0; i < rules.n; i++)
        if (rule_matches(&rules.p[i], what))
            return true;
    return false;
}

static struct strs shuffle_strs(const struct random *r, struct strs list)
{
    str *p = ARENA_ARRAY(&arena, str, list.n);
    for (size_t i = 0; i < list.n; i++) {
        size_t at = random_below(r, (uint32_t)i + 1);
        p[i] = p[at];
        p[at] = list.p[i];
    }
    return (struct strs){p, list.n};
}

static struct rules shuffle(const struct random *r, struct rules rules)
{
    struct rule *p = ARENA_ARRAY(&arena, struct rule, rules.n);
    for (size_t i = 0; i < rules.n; i++) {
        size_t at = random_below(r, (uint32_t)i + 1);
        const struct rule *x = &rules.p[i];
        p[i] = p[at];
        p[at] = (struct rule){shuffle_strs(r, x->verbs), shuffle_strs(r, x->api_groups), shuffle_strs(r, x->resources),
                              shuffle_strs(r, x->resource_names), shuffle_strs(r, x->non_resource_urls)};
    }
    return (struct rules){p, rules.n};
}

/* Kubernetes lets such a rule match URLs but cover none; the normal form takes the halves apart, and then covers them. */
static bool has_names_beside_urls(struct rules rules)
{
    for (size_t i = 0; i < rules.n; i++)
        if (rules.p[i].resource_names.n && rules.p[i].non_resource_urls.n)
            return true;
    return false;
}

static void test_other_forms_grant_the_same(void **state)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct random_seeded fake = {seed};
        struct random r = random_of_seed(&fake);
        struct rules x = random_rules(&arena, &r, 5), y = random_rules(&arena, &r, 5);
        struct rules normal = rules_normal(&arena, x), compact = rules_compact(&arena, x);
        struct rules both = rules_union(&arena, x, y), added = rules_added(&arena, y, x, NULL);
        bool good = rules_equal(normal, rules_normal(&arena, shuffle(&r, x))) &&
                    rules_equal(normal, rules_normal(&arena, normal)) && rules_cover(&arena, normal, x, NULL) &&
                    (has_names_beside_urls(x) || rules_cover(&arena, x, normal, NULL));
        for (int i = 0; i < REQUESTS && good; i++) {
            struct authz_attributes what = random_request(&r);
            bool in_x = allow(x, &what), in_y = allow(y, &what), is_new = allow(added, &what);
            /* A resource "a/b" (no URL makes one) with "c" is matched by a/b/c, whose cover need not match it. */
            bool odd = str_find_char(what.resource, '/') >= 0;
            good = allow(normal, &what) == in_x && allow(compact, &what) == in_x &&
                   allow(both, &what) == (in_x || in_y) && (!is_new || in_x) && (!in_x || in_y || is_new || odd);
        }
        if (!good) {
            print_rules("x", x);
            print_rules("y", y);
            print_rules("normal", normal);
            print_rules("compact", compact);
            print_rules("union", both);
            print_rules("added", added);
            fail_msg("seed %llu", (unsigned long long)seed);
        }
        arena_reset(&arena);
    }
}

static void test_json_and_copies_are_equal(void **state)
{
    for (uint64_t seed = 1; seed <= CASES / 10; seed++) {
        struct random_seeded fake = {seed};
        struct random r = random_of_seed(&fake);
        struct rules rules = random_rules(&arena, &r, 5), back, copy = rules_dup(&arena, rules);
        struct json list = rules_to_json(&arena, rules);
        struct err err;
        if (rules_from_json(&arena, &list, &back, &err) < 0 || !rules_equal(rules, back) || !rules_equal(rules, copy))
            fail_msg("seed %llu", (unsigned long long)seed);
        arena_reset(&arena);
    }
}

/* ---- Rules made to hurt. ---- */

static struct strs numbered(const char *stem, size_t n)
{
    str *p = ARENA_ARRAY(&arena, str, n);
    for (size_t i = 0; i < n; i++)
        p[i] = str_fmt(&arena, "%s%zu", stem, i);
    return (struct strs){p, n};
}

static struct rule wide_rule(size_t n)
{
    return (struct rule){
        .verbs = numbered("verb", n), .api_groups = numbered("group", n), .resources = numbered("r", n)};
}

static void test_a_thousand_to_the_third(void **state)
{
    struct rule wide = wide_rule(1000), narrow = wide, most = wide;
    struct rules servant = {&wide, 1};
    struct covers_missing missing;
    narrow.verbs.n--; /* all but the last verb */
    most.resources.n--;
    assert_true(rules_cover(&arena, (struct rules){&wide, 1}, servant, &missing));
    assert_true(rules_cover(&arena, (struct rules){(struct rule[]){narrow, wide}, 2}, servant, &missing));
    assert_false(rules_cover(&arena, (struct rules){0}, servant, NULL));
    assert_false(rules_cover(&arena, (struct rules){&narrow, 1}, servant, &missing));
    assert_true(missing.cut);
    assert_true(missing.atoms.n > 0 && missing.atoms.n <= COVERS_MAX_ATOMS);
    assert_int_equal(missing.sets.n, 1);
    assert_int_equal(missing.sets.p[0].verbs.n, 1);
    assert_int_equal(missing.sets.p[0].resources.n, 1000);
    assert_false(rules_cover(&arena, (struct rules){(struct rule[]){narrow, most}, 2}, servant, &missing));
    assert_false(missing.cut);
    assert_int_equal(missing.atoms.n, 1000); /* the last verb on the last resource of each group */
    assert_int_equal(missing.sets.n, 1);
    assert_int_equal(missing.sets.p[0].resources.n, 1);
}

/* One owner rule for each verb, group and resource in turn: every value is a class of its own. */
static void test_owners_that_slice_every_axis(void **state)
{
    const size_t n = 300;
    struct rule wide = wide_rule(n), *owner = ARENA_ARRAY(&arena, struct rule, 3 * n);
    for (size_t i = 0; i < n; i++) {
        owner[3 * i] = owner[3 * i + 1] = owner[3 * i + 2] = wide;
        owner[3 * i].verbs = one(&wide.verbs.p[i]);
        owner[3 * i + 1].api_groups = one(&wide.api_groups.p[i]);
        owner[3 * i + 2].resources = one(&wide.resources.p[i]);
    }
    struct covers_missing missing;
    assert_true(rules_cover(&arena, (struct rules){owner, 3 * n}, (struct rules){&wide, 1}, &missing));
    for (size_t i = 0; i < n; i++) /* now each names one thing on every axis: nearly all is missing */
        owner[i] = (struct rule){.verbs = one(&wide.verbs.p[i]),
                                 .api_groups = one(&wide.api_groups.p[i]),
                                 .resources = one(&wide.resources.p[i])};
    assert_false(rules_cover(&arena, (struct rules){owner, n}, (struct rules){&wide, 1}, &missing));
    assert_true(missing.cut);
}

static void test_too_much_work_is_a_no(void **state)
{
    enum { N = 1000 };
    struct rule *owner = ARENA_ARRAY(&arena, struct rule, N), wide = wide_rule(N);
    for (size_t i = 0; i < N; i++) {
        owner[i] = wide;
        owner[i].verbs = one(&wide.verbs.p[i]);
        owner[i].api_groups.n = owner[i].resources.n = N - i;
        owner[i].resources.p += i;
    }
    struct covers_missing missing;
    assert_false(rules_cover(&arena, (struct rules){owner, N}, (struct rules){&wide, 1}, &missing));
    assert_true(missing.cut);
    assert_true(rule_equal(&missing.sets.p[0], &wide));
    struct buf b = {.arena = &arena};
    covers_format(&b, &missing);
    assert_true(str_has_suffix(buf_str(&b), S("\n...")));
}

static void test_many_rules_on_both_sides(void **state)
{
    enum { N = 3000 };
    static const str verbs[] = {S_INIT("create"), S_INIT("delete"), S_INIT("get"), S_INIT("list"), S_INIT("watch")};
    struct strs names = numbered("things", N), group = {(const str[]){S("example.org")}, 1};
    struct rule *rules = ARENA_ARRAY(&arena, struct rule, N);
    for (size_t i = 0; i < N; i++)
        rules[i] = (struct rule){.verbs = {verbs, COUNT(verbs)}, .api_groups = group, .resources = one(&names.p[i])};
    struct covers_missing missing;
    assert_true(rules_cover(&arena, (struct rules){rules, N}, (struct rules){rules, N}, &missing));
    assert_false(rules_cover(&arena, (struct rules){rules, N - 1}, (struct rules){rules, N}, &missing));
    assert_int_equal(missing.atoms.n, COUNT(verbs));
    assert_false(missing.cut);
}

/* Whoever may do everything may grant everything, however much that is and however often he was told. */
static void test_administrators_need_no_work(void **state)
{
    const size_t n = 20000;
    static const str any = S_INIT("*");
    struct rule *owner = ARENA_ARRAY(&arena, struct rule, 2 * n), *servant = ARENA_ARRAY(&arena, struct rule, n);
    for (size_t i = 0; i < n; i++) {
        owner[2 * i] = (struct rule){.verbs = one(&any), .api_groups = one(&any), .resources = one(&any)};
        owner[2 * i + 1] = (struct rule){.verbs = one(&any), .non_resource_urls = one(&any)};
        servant[i] = (struct rule){.verbs = one(&any), .api_groups = one(&any), .resources = one(&any)};
        if (i % 2)
            servant[i].non_resource_urls = (struct strs){some_urls, COUNT(some_urls)};
    }
    assert_true(rules_cover(&arena, (struct rules){owner, 2 * n}, (struct rules){servant, n}, NULL));
    owner[0].resource_names = one(&any); /* not everything any more */
    assert_false(rules_cover(&arena, (struct rules){owner, 2}, (struct rules){servant, n}, NULL));
}

static void test_urls_that_start_alike(void **state)
{
    enum { N = 500 };
    char *a = arena_alloc(&arena, N);
    str *urls = ARENA_ARRAY(&arena, str, N);
    memset(a, '*', N);
    memset(a, 'a', N / 2);
    for (size_t i = 0; i < N; i++)
        urls[i] = (str){a, i}; /* a aa aaa … aaa* aaa** */
    struct rule rule = {.verbs = {some_verbs, 3}, .non_resource_urls = {urls, N}};
    assert_true(rules_cover(&arena, (struct rules){&rule, 1}, (struct rules){&rule, 1}, NULL));
    struct rule open = {.verbs = {some_verbs, 3}, .non_resource_urls = {urls + N / 2 + 1, 1}};
    struct covers_missing missing;
    assert_false(rules_cover(&arena, (struct rules){&open, 1}, (struct rules){&rule, 1}, &missing));
    assert_int_equal(missing.atoms.n, N / 2 * 3);
}

/* Too many classes to go through, before anything was found missing: not covered. */
static void test_giving_up_is_not_covered(void **state)
{
    enum { MANY = 1100 };
    struct arena a ARENA_SCOPE = {0};
    static const str get = S_INIT("get");
    str *texts = ARENA_ARRAY(&a, str, MANY);
    struct rule *owner = ARENA_ARRAY(&a, struct rule, MANY);
    struct rule servant = {.verbs = {&get, 1}, .api_groups = {texts, MANY}, .resources = {texts, MANY}};
    for (size_t i = 0; i < MANY; i++) {
        texts[i] = str_fmt(&a, "t%zu", i);
        owner[i] = (struct rule){.verbs = {&get, 1}, .api_groups = {texts + i, 1}, .resources = {texts + i, 1}};
    }
    assert_false(rules_cover(&a, (struct rules){owner, MANY}, (struct rules){&servant, 1}, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_giving_up_is_not_covered),
        cmocka_unit_test_teardown(test_covers_is_what_breaking_down_says, teardown),
        cmocka_unit_test_teardown(test_other_forms_grant_the_same, teardown),
        cmocka_unit_test_teardown(test_json_and_copies_are_equal, teardown),
        cmocka_unit_test_teardown(test_a_thousand_to_the_third, teardown),
        cmocka_unit_test_teardown(test_owners_that_slice_every_axis, teardown),
        cmocka_unit_test_teardown(test_too_much_work_is_a_no, teardown),
        cmocka_unit_test_teardown(test_many_rules_on_both_sides, teardown),
        cmocka_unit_test_teardown(test_administrators_need_no_work, teardown),
        cmocka_unit_test_teardown(test_urls_that_start_alike, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
