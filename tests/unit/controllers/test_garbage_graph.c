/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of owners: rules one by one, and random changes against a model that keeps objects in a list and reads all of them for
 * every question. */
#include "controllers/garbage/garbage_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/vec.h"

/* ---- What the graph tells, as one line: "visit a, orphan b, …", each once and sorted. ---- */

static struct arena arena;
static VEC(str) told;

static void tell(const char *what, str uid)
{
    str line = str_fmt(&arena, "%s %.*s", what, STR(uid));
    size_t at = 0;
    while (at < told.n && str_cmp(told.p[at], line) < 0)
        at++;
    if (at < told.n && str_eq(told.p[at], line))
        return;
    vec_push(&arena, &told);
    memmove(&told.p[at + 1], &told.p[at], (told.n - 1 - at) * sizeof *told.p);
    told.p[at] = line;
}

static void on_visit(void *ctx, str uid)
{
    tell("visit", uid);
}

static void on_orphan(void *ctx, str uid)
{
    tell("orphan", uid);
}

static void on_absent(void *ctx, const struct graph_id *id)
{
    tell("absent", str_fmt(&arena, "%.*s/%.*s/%.*s/%.*s=%.*s", STR(id->api_version), STR(id->kind), STR(id->namespace),
                           STR(id->name), STR(id->uid)));
}

static void on_misplaced(void *ctx, const struct graph_id *dependent, const struct graph_reference *owner)
{
    tell("misplaced", str_fmt(&arena, "%.*s to %.*s/%.*s/%.*s=%.*s", STR(dependent->uid), STR(owner->api_version),
                              STR(owner->kind), STR(owner->name), STR(owner->uid)));
}

static const struct graph_sink sink = {
    .visit = on_visit, .orphan = on_orphan, .absent = on_absent, .misplaced = on_misplaced};

static str take_told(void)
{
    struct buf b = {.arena = &arena};
    vec_each(&told, line)
    {
        buf_fmt(&b, "%s%.*s", b.n ? ", " : "", STR(*line));
    }
    told.n = 0;
    return buf_str(&b);
}

#define expect_told(text) assert_string_equal(str_cstr(&arena, take_told()), text)

/* ---- Short ways to say things. ---- */

static struct graph *g;

static int setup(void **state)
{
    g = graph_new(&sink);
    return 0;
}

static int teardown(void **state)
{
    graph_free(g);
    arena_done(&arena);
    told.p = NULL;
    told.n = told.cap = 0;
    return 0;
}

/* "ns/name": of kind Pod, apiVersion v1; uid is the name. */
static struct graph_id pod(const char *path)
{
    str namespace, name;
    str_cut(str_of(path), '/', &namespace, &name);
    return (struct graph_id){S("v1"), S("Pod"), namespace, name, name};
}

static struct graph_reference ref(const char *name)
{
    return (struct graph_reference){S("v1"), S("Pod"), str_of(name), str_of(name), false};
}

static struct graph_reference blocking(const char *name)
{
    struct graph_reference r = ref(name);
    r.blocks = true;
    return r;
}

#define put(path, ...)                                                                                        \
    do {                                                                                                      \
        const struct graph_reference owners_[] = {__VA_ARGS__};                                               \
        graph_put(g, &(struct graph_object){.id = pod(path), .owners = owners_, .n_owners = COUNT(owners_)}); \
    } while (0)

static void put_alone(const char *path)
{
    graph_put(g, &(struct graph_object){.id = pod(path)});
}

static void put_foreground(const char *path)
{
    graph_put(g, &(struct graph_object){.id = pod(path), .is_deleting = true, .has_foreground = true});
}

static struct graph_view view(const char *uid)
{
    struct graph_view v;
    assert_true(graph_find(g, &arena, str_of(uid), &v));
    return v;
}

static bool is_known(const char *uid)
{
    struct graph_view v;
    return graph_find(g, &arena, str_of(uid), &v);
}

/* ---- Rules. ---- */

static void test_dependent_of_seen_owner_is_quiet(void **state)
{
    put_alone("shop/owner");
    put("shop/child", ref("owner"));
    expect_told("");
    assert_true(view("child").is_settled);
    assert_true(view("owner").has_dependents);
    assert_int_equal(graph_dependents(g, &arena, S("owner")).n, 1);
}

static void test_unseen_owner_is_visited_until_seen(void **state)
{
    put("shop/child", ref("owner"));
    expect_told("visit owner");
    assert_true(view("owner").is_virtual);
    assert_string_equal(str_cstr(&arena, view("owner").id.namespace), "shop");
    put_alone("shop/owner");
    expect_told("");
    assert_false(view("owner").is_virtual);
    assert_true(view("child").is_settled);
}

static void test_dependents_of_removed_owner_are_visited(void **state)
{
    put_alone("shop/owner");
    put("shop/a", ref("owner"));
    put("shop/b", ref("owner"));
    graph_remove(g, S("owner"));
    expect_told("absent v1/Pod/shop/owner=owner, visit a, visit b");
    assert_false(is_known("owner"));
    graph_remove(g, S("owner"));
    expect_told("");
}

static void test_denied_owner_is_removed(void **state)
{
    put("shop/child", ref("owner"));
    take_told();
    struct graph_id id = pod("shop/owner");
    assert_false(graph_deny(g, &id));
    expect_told("absent v1/Pod/shop/owner=owner, visit child");
    assert_false(is_known("owner"));
    /* Somebody else who names it has it looked for again. */
    put("shop/other", ref("owner"));
    expect_told("visit owner");
}

static void test_unnamed_virtual_owner_is_forgotten(void **state)
{
    put("shop/child", ref("owner"));
    put_alone("shop/child");
    assert_false(is_known("owner"));
    assert_int_equal(graph_stats(g).nodes, 1);
}

static void test_foreground_owner_waits_for_those_who_block(void **state)
{
    put_alone("shop/owner");
    put("shop/a", blocking("owner"));
    put("shop/b", blocking("owner"));
    put("shop/c", ref("owner"));
    put_foreground("shop/owner");
    expect_told("visit a, visit b, visit c, visit owner");
    assert_int_equal(view("owner").n_blocking, 2);
    assert_false(view("a").is_settled);
    graph_remove(g, S("a"));
    expect_told("");
    graph_remove(g, S("c"));
    expect_told("");
    graph_remove(g, S("b"));
    expect_told("visit owner");
    assert_int_equal(view("owner").n_blocking, 0);
}

static void test_owner_is_unblocked_by_a_change_of_the_reference(void **state)
{
    put_foreground("shop/owner");
    put("shop/a", blocking("owner"));
    expect_told("visit a, visit owner");
    put("shop/a", ref("owner"));
    expect_told("visit a, visit owner");
}

static void test_owner_that_is_not_going_is_left_alone(void **state)
{
    put_alone("shop/owner");
    put("shop/a", blocking("owner"));
    put_alone("shop/a");
    expect_told("");
}

static void test_orphaning_is_told_once(void **state)
{
    struct graph_object o = {.id = pod("shop/owner"), .is_deleting = true, .has_orphan = true};
    graph_put(g, &o);
    expect_told("orphan owner");
    graph_put(g, &o);
    expect_told("");
    assert_true(view("owner").is_orphaning);
    assert_false(view("owner").is_deleting_dependents);
}

static void test_owner_in_another_namespace(void **state)
{
    put_alone("shop/owner");
    put("bank/child", ref("owner"));
    expect_told("misplaced child to v1/Pod/owner=owner, visit child");
    put("bank/child", ref("owner"), ref("more"));
    expect_told("visit child, visit more"); /* told once of the namespace */
}

static void test_owner_seen_in_another_namespace_later(void **state)
{
    put("bank/child", ref("owner"));
    put("shop/friend", ref("owner"));
    expect_told("visit friend, visit owner");
    put_alone("shop/owner");
    expect_told("misplaced child to v1/Pod/owner=owner, visit child");
    assert_true(view("friend").is_settled);
    assert_false(view("child").is_settled);
}

static void test_owner_of_the_cluster_is_good_for_all(void **state)
{
    put("bank/child", ref("owner"));
    put("shop/child2", ref("owner"));
    take_told();
    put_alone("/owner");
    expect_told("");
    assert_true(view("child").is_settled);
    assert_true(view("child2").is_settled);
}

static void test_wrong_kind_is_doubtful(void **state)
{
    put_alone("shop/owner");
    put("shop/child", {S_INIT("v1"), S_INIT("Secret"), S_INIT("owner"), S_INIT("owner"), false});
    expect_told("visit child");
    assert_false(view("child").is_settled);
    struct graph_id wrong = {S("v1"), S("Secret"), S("shop"), S("owner"), S("owner")};
    assert_false(graph_deny(g, &wrong));
    expect_told("absent v1/Secret/shop/owner=owner, visit child");
    assert_true(is_known("owner"));
}

static void test_denied_owner_is_tried_by_its_other_names(void **state)
{
    put("shop/a", {S_INIT("v1"), S_INIT("Pod"), S_INIT("right"), S_INIT("u"), false});
    put("shop/b", {S_INIT("v1"), S_INIT("Pod"), S_INIT("wrong"), S_INIT("u"), false});
    put("shop/c", {S_INIT("v1"), S_INIT("Config"), S_INIT("wrong"), S_INIT("u"), false});
    expect_told("visit b, visit c, visit u");
    struct graph_id id = view("u").id;
    assert_true(graph_deny(g, &id));
    expect_told("absent v1/Pod/shop/right=u, visit a");
    id = view("u").id;
    assert_string_equal(str_cstr(&arena, id.name), "wrong");
    assert_string_equal(str_cstr(&arena, id.kind), "Pod");
    assert_true(graph_deny(g, &id));
    id = view("u").id;
    assert_string_equal(str_cstr(&arena, id.kind), "Config");
    take_told();
    /* What is denied under another name than its current one keeps that. */
    struct graph_id former = {S("v1"), S("Pod"), S("shop"), S("right"), S("u")};
    assert_false(graph_deny(g, &former));
    expect_told("absent v1/Pod/shop/right=u, visit a");
    assert_string_equal(str_cstr(&arena, view("u").id.kind), "Config");
}

static void test_texts_are_told_apart_by_their_lengths(void **state)
{
    put("shop/a", {S_INIT("v1 x"), S_INIT("Pod"), S_INIT("u"), S_INIT("u"), false});
    put("shop/b", {S_INIT("v1"), S_INIT("x Pod"), S_INIT("u"), S_INIT("u"), false});
    expect_told("visit b, visit u");
}

static void test_object_that_owns_itself(void **state)
{
    put("shop/a", ref("a"));
    expect_told("");
    put_foreground("shop/a");
    expect_told("visit a");
    put("shop/a", blocking("a"));
    graph_remove(g, S("a"));
    assert_int_equal(graph_stats(g).nodes, 0);
    assert_int_equal(graph_stats(g).references, 0);
}

static void test_forgotten_kind_is_not_gone(void **state)
{
    put_alone("shop/owner");
    put("shop/child", ref("owner"));
    graph_put(g, &(struct graph_object){.id = {S("v1"), S("Secret"), S("shop"), S("s"), S("s")}});
    graph_forget(g, S("v1"), S("Secret"));
    assert_false(is_known("s"));
    graph_put(g, &(struct graph_object){.id = {S("v1"), S("Secret"), S("shop"), S("child2"), S("child2")},
                                        .owners = (struct graph_reference[]){ref("owner")},
                                        .n_owners = 1});
    expect_told("");
    graph_forget(g, S("v1"), S("Pod"));
    expect_told("visit owner");
    assert_true(view("owner").is_virtual);
    assert_false(is_known("child"));
    assert_int_equal(graph_dependents(g, &arena, S("owner")).n, 1);
}

static void test_sweep_tells_of_all_that_is_open(void **state)
{
    put_alone("shop/fine");
    put("shop/child", ref("fine"));
    put("shop/lost", ref("nobody"));
    put_foreground("shop/going");
    graph_put(g, &(struct graph_object){.id = pod("shop/leaving"), .is_deleting = true, .has_orphan = true});
    graph_put(g, &(struct graph_object){.id = pod("shop/gone"),
                                        .owners = (struct graph_reference[]){ref("nobody")},
                                        .n_owners = 1,
                                        .is_deleting = true});
    take_told();
    graph_sweep(g);
    expect_told("orphan leaving, visit going, visit lost, visit nobody");
}

static void test_attempts_are_counted_until_it_is_seen(void **state)
{
    put("shop/child", ref("owner"));
    assert_int_equal(graph_count_attempt(g, S("owner")), 0);
    assert_int_equal(graph_count_attempt(g, S("owner")), 1);
    put_alone("shop/owner");
    assert_int_equal(graph_count_attempt(g, S("owner")), 0);
    for (int i = 0; i < 100; i++)
        graph_count_attempt(g, S("owner"));
    assert_int_equal(graph_count_attempt(g, S("owner")), 30);
    assert_int_equal(graph_count_attempt(g, S("nobody")), 0);
}

static void test_references_to_one_owner_count_as_one_dependent(void **state)
{
    put_alone("shop/owner");
    put("shop/a", ref("owner"), {S_INIT("v1"), S_INIT("Secret"), S_INIT("owner"), S_INIT("owner"), true});
    put("shop/b", ref("owner"));
    assert_int_equal(graph_dependents(g, &arena, S("owner")).n, 2);
    assert_int_equal(graph_stats(g).references, 3);
}

static void test_dependent_that_deletes_its_own(void **state)
{
    put_alone("shop/owner");
    put("shop/a", ref("owner"));
    assert_false(graph_has_deleting_dependent(g, S("owner")));
    graph_put(g, &(struct graph_object){.id = pod("shop/a"),
                                        .owners = (struct graph_reference[]){ref("owner")},
                                        .n_owners = 1,
                                        .is_deleting = true,
                                        .has_foreground = true});
    assert_true(graph_has_deleting_dependent(g, S("owner")));
}

static void test_ten_thousand_dependents(void **state)
{
    put_alone("shop/owner");
    size_t before = graph_stats(g).bytes;
    for (int i = 0; i < 10000; i++) {
        str uid = str_fmt(&arena, "%08d-aaaa-bbbb-cccc-0123456789ab", i);
        struct graph_reference owner = blocking("owner");
        graph_put(
            g, &(struct graph_object){.id = {S("v1"), S("Pod"), S("shop"), uid, uid}, .owners = &owner, .n_owners = 1});
    }
    assert_true((graph_stats(g).bytes - before) / 10000 < 240);
    assert_int_equal(graph_dependents(g, &arena, S("owner")).n, 10000);
    for (int i = 0; i < 10000; i++)
        graph_remove(g, str_fmt(&arena, "%08d-aaaa-bbbb-cccc-0123456789ab", i));
    assert_int_equal(graph_stats(g).nodes, 1);
    assert_false(view("owner").has_dependents);
}

/* ---- The model: slots for all uids there are, and every question answered by reading all of them. ---- */

enum { UIDS = 7, REFS = 3, STEPS = 60, RUNS = 4000 };

struct spot {
    int kind, namespace, name; /* indexes; namespace 0: the cluster */
};

struct claim { /* a reference */
    int uid;
    struct spot spot; /* its namespace is the dependent's */
    bool blocks;
};

struct slot {
    enum { NOTHING, VIRTUAL, OBSERVED } state;
    struct spot spot;
    struct claim claims[REFS];
    int n_claims;
    bool is_deleting, is_foreground, is_orphaning;
};

static const str uids[UIDS] = {S_INIT("u0"), S_INIT("u1"), S_INIT("u2"), S_INIT("u3"),
                               S_INIT("u4"), S_INIT("u5"), S_INIT("u6")};
static const str kinds[] = {S_INIT("Pod"), S_INIT("Secret")};
static const str namespaces[] = {S_INIT(""), S_INIT("bank"), S_INIT("shop")};
static const str names[] = {S_INIT("a"), S_INIT("b"), S_INIT("c"), S_INIT("d"), S_INIT("e"), S_INIT("f"), S_INIT("g")};

static struct slot model[UIDS];

static bool same_spot(struct spot a, struct spot b)
{
    return a.kind == b.kind && a.namespace == b.namespace && a.name == b.name;
}

/* The claim may speak of what is at the spot. */
static bool means(const struct claim *c, struct spot spot)
{
    return c->spot.kind == spot.kind && c->spot.name == spot.name &&
           (spot.namespace == 0 || spot.namespace == c->spot.namespace);
}

static int blocking_claims(int uid)
{
    int n = 0;
    for (int d = 0; d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            n += model[d].claims[i].uid == uid && model[d].claims[i].blocks;
    return n;
}

static bool is_named(int uid)
{
    for (int d = 0; d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            if (model[d].claims[i].uid == uid)
                return true;
    return false;
}

static bool doubts(const struct claim *c)
{
    const struct slot *owner = &model[c->uid];
    if (owner->is_foreground || owner->state == NOTHING)
        return true;
    if (owner->state == VIRTUAL && owner->spot.namespace == 0 && c->spot.namespace > 0)
        return true;
    return !means(c, owner->spot);
}

static bool model_is_settled(const struct slot *s)
{
    for (int i = 0; i < s->n_claims; i++)
        if (model[s->claims[i].uid].state != OBSERVED || doubts(&s->claims[i]))
            return false;
    return true;
}

static void model_misplaced(int dependent, const struct claim *c)
{
    const struct slot *owner = &model[c->uid];
    if (owner->state == OBSERVED && owner->spot.namespace > 0 && owner->spot.namespace != c->spot.namespace)
        tell("misplaced", str_fmt(&arena, "%.*s to v1/%.*s/%.*s=%.*s", STR(uids[dependent]), STR(kinds[c->spot.kind]),
                                  STR(names[c->spot.name]), STR(uids[c->uid])));
}

static void model_absent(int uid, struct spot spot)
{
    tell("absent", str_fmt(&arena, "v1/%.*s/%.*s/%.*s=%.*s", STR(kinds[spot.kind]), STR(namespaces[spot.namespace]),
                           STR(names[spot.name]), STR(uids[uid])));
}

static void model_sweep_virtual(void)
{
    for (int u = 0; u < UIDS; u++)
        if (model[u].state == VIRTUAL && !is_named(u))
            model[u] = (struct slot){0};
}

static void model_claims(int uid, const struct claim *claims, int n)
{
    struct slot *s = &model[uid];
    struct slot old = *s;
    bool is_old[UIDS] = {false}, was_blocked[UIDS] = {false};
    for (int i = 0; i < old.n_claims; i++) {
        is_old[old.claims[i].uid] = true;
        was_blocked[old.claims[i].uid] |= old.claims[i].blocks;
    }
    s->n_claims = n;
    bool same = n == old.n_claims;
    for (int i = 0; i < n; i++) {
        s->claims[i] = claims[i];
        same = same && old.claims[i].uid == claims[i].uid && old.claims[i].blocks == claims[i].blocks &&
               same_spot(old.claims[i].spot, claims[i].spot);
    }
    if (same)
        return;
    bool doubtful = false;
    for (int i = 0; i < n; i++) {
        struct slot *owner = &model[claims[i].uid];
        if (owner->state == NOTHING && !is_old[claims[i].uid]) {
            *owner = (struct slot){.state = VIRTUAL, .spot = claims[i].spot};
            tell("visit", uids[claims[i].uid]);
        }
        doubtful |= doubts(&claims[i]);
        if (!is_old[claims[i].uid])
            model_misplaced(uid, &claims[i]);
    }
    if (doubtful)
        tell("visit", uids[uid]);
    for (int u = 0; u < UIDS; u++)
        if (was_blocked[u] && model[u].is_foreground && blocking_claims(u) == 0)
            tell("visit", uids[u]);
    model_sweep_virtual();
}

static void model_put(int uid, const struct slot *next)
{
    struct slot *s = &model[uid];
    bool moves = s->state == VIRTUAL && !same_spot(s->spot, next->spot);
    s->state = OBSERVED;
    s->spot = next->spot;
    for (int d = 0; moves && d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            if (model[d].claims[i].uid == uid && !means(&model[d].claims[i], s->spot)) {
                model_misplaced(d, &model[d].claims[i]);
                tell("visit", uids[d]);
            }
    model_claims(uid, next->claims, next->n_claims);
    bool starts = next->is_foreground && !s->is_foreground;
    if (next->is_orphaning && !s->is_orphaning)
        tell("orphan", uids[uid]);
    s->is_deleting = next->is_deleting;
    s->is_foreground = next->is_foreground;
    s->is_orphaning = next->is_orphaning;
    if (!starts)
        return;
    tell("visit", uids[uid]);
    for (int d = 0; d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            if (model[d].claims[i].uid == uid)
                tell("visit", uids[d]);
}

static void model_remove(int uid)
{
    model_claims(uid, NULL, 0);
    struct spot spot = model[uid].spot;
    model[uid] = (struct slot){0};
    if (!is_named(uid))
        return;
    model_absent(uid, spot);
    for (int d = 0; d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            if (model[d].claims[i].uid == uid)
                tell("visit", uids[d]);
}

static int spot_cmp(struct spot a, struct spot b)
{
    int c = a.kind - b.kind;
    if (c == 0)
        c = a.namespace - b.namespace;
    return c ? c : a.name - b.name;
}

static bool model_deny(int uid, struct spot spot)
{
    struct slot *s = &model[uid];
    if (s->state == NOTHING)
        return false;
    bool some = false, others = false, has_next = false, has_first = false;
    struct spot first = {0}, next = {0};
    for (int d = 0; d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++) {
            const struct claim *c = &model[d].claims[i];
            if (c->uid != uid)
                continue;
            if (means(c, spot)) {
                some = true;
                continue;
            }
            others = true;
            struct spot other = c->spot;
            if (spot.namespace == 0 && other.kind == spot.kind)
                other.namespace = 0;
            if (!has_first || spot_cmp(other, first) < 0)
                first = other;
            if (spot_cmp(spot, other) < 0 && (!has_next || spot_cmp(other, next) < 0)) {
                next = other;
                has_next = true;
            }
            has_first = true;
        }
    bool here = same_spot(s->spot, spot);
    if (s->state == OBSERVED ? here : !others) {
        if (s->state == VIRTUAL)
            s->spot = spot;
        model_remove(uid);
        return false;
    }
    for (int d = 0; some && d < UIDS; d++)
        for (int i = 0; i < model[d].n_claims; i++)
            if (model[d].claims[i].uid == uid && means(&model[d].claims[i], spot)) {
                model_absent(uid, spot);
                tell("visit", uids[d]);
            }
    if (s->state == OBSERVED || !here)
        return false;
    s->spot = has_next ? next : first;
    return true;
}

static void model_forget(int kind)
{
    bool lost[UIDS];
    for (int u = 0; u < UIDS; u++) /* its own references go first, and nobody is a virtual node before */
        lost[u] = model[u].state == OBSERVED && model[u].spot.kind == kind;
    for (int u = 0; u < UIDS; u++)
        if (lost[u])
            model_claims(u, NULL, 0);
    for (int u = 0; u < UIDS; u++)
        if (lost[u]) {
            struct spot spot = model[u].spot;
            model[u] = (struct slot){0};
            if (is_named(u)) {
                model[u] = (struct slot){.state = VIRTUAL, .spot = spot};
                tell("visit", uids[u]);
            }
        }
}

static void model_sweep(void)
{
    for (int u = 0; u < UIDS; u++) {
        const struct slot *s = &model[u];
        if (s->is_orphaning)
            tell("orphan", uids[u]);
        else if (s->state == VIRTUAL || s->is_foreground ||
                 (s->state == OBSERVED && !s->is_deleting && !model_is_settled(s)))
            tell("visit", uids[u]);
    }
}

/* ---- Both do the same. ---- */

static struct random_seeded seed;
static struct random dice;

static int roll(int n)
{
    return (int)random_below(&dice, (uint32_t)n);
}

static struct graph_id id_at(int uid, struct spot spot)
{
    return (struct graph_id){S("v1"), kinds[spot.kind], namespaces[spot.namespace], names[spot.name], uids[uid]};
}

/* Where an object with this uid would be; claims are sometimes wrong about it. */
static struct spot home(int uid)
{
    return (struct spot){uid % 2, uid % 3, uid};
}

static struct slot random_object(int uid)
{
    struct slot s = {.state = OBSERVED, .spot = home(uid), .n_claims = roll(REFS + 1)};
    for (int i = 0; i < s.n_claims; i++) {
        int owner = roll(UIDS);
        struct spot spot = home(owner);
        if (roll(5) == 0)
            spot.kind = 1 - spot.kind;
        if (roll(5) == 0)
            spot.name = roll(UIDS);
        spot.namespace = s.spot.namespace;
        s.claims[i] = (struct claim){owner, spot, roll(2)};
    }
    s.is_deleting = roll(4) == 0;
    s.is_orphaning = s.is_deleting && roll(4) == 0;
    s.is_foreground = s.is_deleting && !s.is_orphaning && roll(2);
    return s;
}

static void both_put(int uid)
{
    struct slot s = random_object(uid);
    if (model[uid].state == OBSERVED && roll(3) == 0) { /* nothing but flags */
        s.n_claims = model[uid].n_claims;
        memcpy(s.claims, model[uid].claims, sizeof s.claims);
    }
    struct graph_reference owners[REFS];
    for (int i = 0; i < s.n_claims; i++) {
        struct graph_id id = id_at(s.claims[i].uid, s.claims[i].spot);
        owners[i] = (struct graph_reference){id.api_version, id.kind, id.name, id.uid, s.claims[i].blocks};
    }
    graph_put(g, &(struct graph_object){.id = id_at(uid, s.spot),
                                        .owners = owners,
                                        .n_owners = (size_t)s.n_claims,
                                        .is_deleting = s.is_deleting,
                                        .has_foreground = s.is_foreground,
                                        .has_orphan = s.is_orphaning});
    str got = take_told();
    model_put(uid, &s);
    assert_string_equal(str_cstr(&arena, got), str_cstr(&arena, take_told()));
}

static void both_deny(int uid)
{
    struct spot spot = model[uid].state == NOTHING || roll(4) == 0 ? home(roll(UIDS)) : model[uid].spot;
    struct graph_id id = id_at(uid, spot);
    bool got_more = graph_deny(g, &id);
    str got = take_told();
    assert_int_equal(got_more, model_deny(uid, spot));
    assert_string_equal(str_cstr(&arena, got), str_cstr(&arena, take_told()));
}

static void compare(int uid)
{
    struct graph_view v;
    bool known = graph_find(g, &arena, uids[uid], &v);
    const struct slot *s = &model[uid];
    assert_int_equal(known, s->state != NOTHING);
    struct graph_ids ids = graph_dependents(g, &arena, uids[uid]);
    bool listed[UIDS] = {false};
    for (size_t i = 0; i < ids.n; i++) {
        int d = ids.p[i].uid.p[1] - '0';
        assert_false(listed[d]);
        listed[d] = true;
    }
    bool has_deleting = false;
    for (int d = 0; d < UIDS; d++) {
        bool depends = false;
        for (int i = 0; i < model[d].n_claims; i++)
            depends |= model[d].claims[i].uid == uid;
        assert_int_equal(listed[d], depends && known);
        has_deleting |= listed[d] && model[d].is_foreground;
    }
    assert_int_equal(graph_has_deleting_dependent(g, uids[uid]), has_deleting);
    if (!known)
        return;
    struct graph_id id = id_at(uid, s->spot);
    assert_true(str_eq(v.id.kind, id.kind) && str_eq(v.id.namespace, id.namespace) && str_eq(v.id.name, id.name));
    assert_int_equal(v.is_virtual, s->state == VIRTUAL);
    assert_int_equal(v.is_deleting, s->is_deleting);
    assert_int_equal(v.is_deleting_dependents, s->is_foreground);
    assert_int_equal(v.is_orphaning, s->is_orphaning);
    assert_int_equal(v.n_blocking, blocking_claims(uid));
    assert_int_equal(v.has_dependents, is_named(uid));
    assert_int_equal(v.is_settled, model_is_settled(s));
}

static void step(void)
{
    int uid = roll(UIDS);
    switch (roll(10)) {
    case 0:
    case 1:
        graph_remove(g, uids[uid]);
        str got = take_told();
        if (model[uid].state != NOTHING)
            model_remove(uid);
        assert_string_equal(str_cstr(&arena, got), str_cstr(&arena, take_told()));
        break;
    case 2:
    case 3:
        both_deny(uid);
        break;
    default:
        both_put(uid);
    }
    if (roll(30) == 0) {
        int kind = roll(2);
        graph_forget(g, S("v1"), kinds[kind]);
        take_told(); /* in which order its objects go decides which owners are visited on the way; the end is the same */
        model_forget(kind);
        take_told();
    }
    graph_sweep(g);
    str swept = take_told();
    model_sweep();
    assert_string_equal(str_cstr(&arena, swept), str_cstr(&arena, take_told()));
}

static void test_random_changes(void **state)
{
    dice = random_of_seed(&seed);
    for (int run = 0; run < RUNS; run++) {
        seed.state = (uint64_t)run + 1;
        memset(model, 0, sizeof model);
        g = graph_new(&sink);
        for (int i = 0; i < STEPS; i++) {
            step();
            for (int uid = 0; uid < UIDS; uid++)
                compare(uid);
        }
        for (int uid = 0; uid < UIDS; uid++)
            graph_remove(g, uids[uid]);
        assert_int_equal(graph_stats(g).nodes, 0);
        assert_int_equal(graph_stats(g).references, 0);
        graph_free(g);
        g = NULL;
        arena_reset(&arena);
        told.p = NULL;
        told.n = told.cap = 0;
    }
}

#define WITH_GRAPH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_GRAPH(test_dependent_of_seen_owner_is_quiet),
        WITH_GRAPH(test_unseen_owner_is_visited_until_seen),
        WITH_GRAPH(test_dependents_of_removed_owner_are_visited),
        WITH_GRAPH(test_denied_owner_is_removed),
        WITH_GRAPH(test_unnamed_virtual_owner_is_forgotten),
        WITH_GRAPH(test_foreground_owner_waits_for_those_who_block),
        WITH_GRAPH(test_owner_is_unblocked_by_a_change_of_the_reference),
        WITH_GRAPH(test_owner_that_is_not_going_is_left_alone),
        WITH_GRAPH(test_orphaning_is_told_once),
        WITH_GRAPH(test_owner_in_another_namespace),
        WITH_GRAPH(test_owner_seen_in_another_namespace_later),
        WITH_GRAPH(test_owner_of_the_cluster_is_good_for_all),
        WITH_GRAPH(test_wrong_kind_is_doubtful),
        WITH_GRAPH(test_denied_owner_is_tried_by_its_other_names),
        WITH_GRAPH(test_texts_are_told_apart_by_their_lengths),
        WITH_GRAPH(test_object_that_owns_itself),
        WITH_GRAPH(test_forgotten_kind_is_not_gone),
        WITH_GRAPH(test_sweep_tells_of_all_that_is_open),
        WITH_GRAPH(test_attempts_are_counted_until_it_is_seen),
        WITH_GRAPH(test_references_to_one_owner_count_as_one_dependent),
        WITH_GRAPH(test_dependent_that_deletes_its_own),
        WITH_GRAPH(test_ten_thousand_dependents),
        cmocka_unit_test_setup_teardown(test_random_changes, NULL, teardown),
    };
    return cmocka_run_group_tests_name("garbage graph", tests, NULL, NULL);
}
