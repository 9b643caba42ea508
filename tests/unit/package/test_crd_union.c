/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of the union, tried on schemas made at random: some that differ a little, some that differ a lot.
 *
 *   order       the same definitions in another order come to the same, conflicts included
 *   once        a definition given twice says nothing new
 *   grouping    what the older ones come to, united with the newer ones, is the union of all
 *   leaving     a set without conflicts has none after one has left
 *   one         the union of one is that one, and of a union with one of its parts the union
 *   good        the union passes the check that its parts have passed
 *   wide        what the server could store under one of them is valid under the union, and nothing of it is pruned
 *
 * And the test itself is tried: both outcomes must be frequent. */
#include "kinds/shapes.h"
#include "package/crd_check.h"
#include "package/crd_union.h"
#include "schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random_schema.h"

enum { ROUNDS = 2500, SIDES = 3, VALUES = 12 };

static const char *const versions[SIDES] = {"1.9", "1.10", "2.0"};

struct round {
    struct arena arena;
    struct random_seeded fake;
    struct dice dice;
    struct crd_source sources[SIDES];
    size_t n;
};

struct outcome {
    bool is_good;
    struct json crd;
    str conflicts;
};

static struct outcome unite(struct round *r, const struct crd_source *sources, size_t n)
{
    struct findings conflicts = {.arena = &r->arena};
    struct outcome o = {0};
    struct buf b = {.arena = &r->arena};
    o.is_good = crd_union(&r->arena, sources, n, &o.crd, &conflicts);
    assert_int_equal(o.is_good, conflicts.list.n == 0);
    vec_each(&conflicts.list, f) buf_fmt(&b, "%.*s\n", STR(f->message));
    o.conflicts = buf_str(&b);
    return o;
}

static void fail_with(struct round *r, uint64_t seed, const char *law)
{
    for (size_t i = 0; i < r->n; i++) {
        struct buf b = {.arena = &r->arena};
        json_encode(&b, json_dig(r->sources[i].crd, "spec.versions"), 0);
        print_message("%.*s: %.*s\n", STR(r->sources[i].version), STR(buf_str(&b)));
    }
    fail_msg("seed %llu: %s", (unsigned long long)seed, law);
}

static bool is_same(const struct outcome *l, const struct outcome *r)
{
    if (l->is_good != r->is_good)
        return false;
    return l->is_good ? crd_is_same(&l->crd, &r->crd) : str_eq(l->conflicts, r->conflicts);
}

/* Only definitions that a package may have. */
static bool add_source(struct round *r, const struct json *spec)
{
    struct findings findings = {.arena = &r->arena};
    struct crd_checked *checked = ARENA_NEW(&r->arena, struct crd_checked);
    struct json crd = random_crd(&r->arena, spec);
    if (!crd_check(&r->arena, &crd, checked, &findings, &findings))
        return false;
    r->sources[r->n] = (struct crd_source){S("acme/thing"), str_of(versions[r->n]), &checked->crd};
    r->n++;
    return true;
}

static bool begin(struct round *r, uint64_t seed)
{
    *r = (struct round){.fake = {.state = seed}};
    r->dice = (struct dice){&r->arena, random_of_seed(&r->fake)};
    struct json spec = random_schema(&r->dice, 3);
    bool ok = add_source(r, &spec);
    for (size_t i = 1; ok && i < SIDES; i++) {
        for (size_t changes = roll(&r->dice, 3); changes > 0; changes--)
            spec = random_change(&r->dice, &spec);
        ok = add_source(r, &spec);
    }
    return ok;
}

static void check_order(struct round *r, uint64_t seed, const struct outcome *all)
{
    static const size_t orders[][SIDES] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct crd_source mixed[SIDES + 1];
        for (size_t k = 0; k < SIDES; k++)
            mixed[k] = r->sources[orders[i][k]];
        mixed[SIDES] = mixed[0];
        struct outcome other = unite(r, mixed, SIDES), twice = unite(r, mixed, SIDES + 1);
        if (!is_same(all, &other))
            fail_with(r, seed, "the order matters");
        if (!is_same(all, &twice))
            fail_with(r, seed, "one given twice matters");
    }
}

static void check_grouping(struct round *r, uint64_t seed, const struct outcome *all)
{
    struct outcome older = unite(r, r->sources, 2);
    if (!older.is_good && all->is_good)
        fail_with(r, seed, "conflicts of a part are gone in the whole");
    if (!older.is_good)
        return;
    struct crd_source grouped[] = {{r->sources[1].package, r->sources[1].version, &older.crd}, r->sources[2]};
    struct outcome other = unite(r, grouped, 2);
    if (other.is_good != all->is_good || (other.is_good && !crd_is_same(&other.crd, &all->crd)))
        fail_with(r, seed, "grouping matters");
}

static void check_parts(struct round *r, uint64_t seed, const struct outcome *all)
{
    for (size_t i = 0; i < SIDES; i++) {
        struct crd_source left[] = {r->sources[i == 0 ? 1 : 0], r->sources[i == 2 ? 1 : 2]};
        struct outcome rest = unite(r, left, 2), one = unite(r, &r->sources[i], 1);
        if (all->is_good && !rest.is_good)
            fail_with(r, seed, "one has left, and there are conflicts");
        if (!one.is_good || !crd_is_same(&one.crd, r->sources[i].crd))
            fail_with(r, seed, "the union of one is not that one");
        struct crd_source again[] = {r->sources[i], {S("acme/thing"), S("3.0"), &all->crd}};
        struct outcome same = all->is_good ? unite(r, again, 2) : *all;
        if (all->is_good && !is_same(&same, all))
            fail_with(r, seed, "the union and a part of it are not the union");
    }
}

/* ---- Wide ---- */

static struct schema *compile(const struct json *crd)
{
    const struct json *all = json_dig(crd, "spec.versions");
    struct schema *s;
    struct err err;
    assert_int_equal(schema_compile(json_dig(&all->items[0], "schema.openAPIV3Schema"), &s, &err), 0);
    return s;
}

static struct json object_with(struct arena *a, struct json spec)
{
    struct json o = json_obj();
    json_add(a, &o, S("apiVersion"), json_str(S("example.org/v1")));
    json_add(a, &o, S("kind"), json_str(S("Thing")));
    json_add(a, &o, S("spec"), spec);
    return o;
}

static const struct json *spec_schema(const struct json *crd)
{
    const struct json *all = json_dig(crd, "spec.versions");
    return json_dig(&all->items[0], "schema.openAPIV3Schema.properties.spec");
}

/* Whether all of v is still there; defaults may have been added. */
static bool keeps(const struct json *now, const struct json *v)
{
    if (!json_is_obj(v) && !json_is_arr(v))
        return json_equal(now, v);
    if (json_type(now) != json_type(v) || (json_is_arr(v) && now->n != v->n))
        return false;
    for (size_t i = 0; i < v->n; i++) {
        const struct json *l = json_is_arr(v) ? &now->items[i] : json_get(now, json_key(&v->members[i]));
        const struct json *r = json_is_arr(v) ? &v->items[i] : &v->members[i].val;
        if (l == NULL || !keeps(l, r))
            return false;
    }
    return true;
}

/* Whether the object can be stored under the schema; then it is in the form in which it is. */
static bool admit(struct arena *a, const struct schema *s, struct json *object)
{
    struct schema_prune_args args = {.is_resource = true, .object_meta = &shape_object_meta};
    schema_prune(schema_root(s), object, &args);
    return schema_default(schema_root(s), a, object) && schema_validate(schema_root(s), (str){0}, object, NULL);
}

/* How many values were stored under one of them, and are as good under the union. */
static size_t check_wide(struct round *r, uint64_t seed, const struct outcome *all)
{
    struct schema_prune_args args = {.is_resource = true, .object_meta = &shape_object_meta};
    struct schema *wide = compile(&all->crd);
    size_t stored = 0;
    for (size_t i = 0; i < SIDES; i++) {
        struct schema *narrow = compile(r->sources[i].crd);
        for (size_t k = 0; k < VALUES; k++) {
            struct json v = object_with(&r->arena, random_value(&r->dice, spec_schema(r->sources[i].crd), 3));
            if (!admit(&r->arena, narrow, &v))
                continue;
            struct json again = json_dup(&r->arena, &v), pruned = json_dup(&r->arena, &v);
            schema_prune(schema_root(wide), &pruned, &args);
            if (!json_equal(&pruned, &v))
                fail_with(r, seed, "the union prunes what one of them keeps");
            if (!admit(&r->arena, wide, &again))
                fail_with(r, seed, "the union refuses what one of them accepts");
            if (!keeps(&again, &v))
                fail_with(r, seed, "the union changes what was stored");
            stored++;
        }
        schema_free(narrow);
    }
    schema_free(wide);
    return stored;
}

static void laws_hold(void **state)
{
    size_t played = 0, good = 0, different = 0, stored = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct round r;
        if (begin(&r, seed)) {
            struct outcome all = unite(&r, r.sources, SIDES);
            played++;
            check_order(&r, seed, &all);
            check_grouping(&r, seed, &all);
            check_parts(&r, seed, &all);
            if (all.is_good) {
                struct findings findings = {.arena = &r.arena};
                struct crd_checked checked;
                good++;
                different += !crd_is_same(r.sources[0].crd, &all.crd) || !crd_is_same(r.sources[2].crd, &all.crd);
                if (!crd_check(&r.arena, &all.crd, &checked, &findings, &findings))
                    fail_with(&r, seed, "the union is not a good definition");
                stored += check_wide(&r, seed, &all);
            }
        }
        arena_done(&r.arena);
    }
    print_message("# %zu rounds, %zu unions (%zu of them new), %zu objects\n", played, good, different, stored);
    assert_true(played > ROUNDS / 3 && good > played / 5 && played - good > played / 5);
    assert_true(different > good / 5 && stored > good * VALUES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(laws_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
