/* SPDX-License-Identifier: Apache-2.0 */
/* Exactness: of random packages in random clusters, what the authoriser allows once the plan's objects are there is what the
 * plan's grants say, and both are what the specification says. The last is an oracle that asks for each single request whether
 * it ought to be allowed, and shares no code with src/package. */
#include "package/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "authz/authz.h"
#include "base/clock.h"
#include "object/object.h"

enum { RUNS = 400, GROUPS = 2, PLURALS = 4, CRDS = GROUPS * PLURALS };

static const str groups[GROUPS] = {S_INIT("fruit.example.org"), S_INIT("trees.example.org")};
static const str plurals[PLURALS] = {S_INIT("apples"), S_INIT("nuts"), S_INIT("pears"), S_INIT("plums")};
/* Those of the cluster that have no CRD: what every package gets, and what none gets. */
static const str core[] = {S_INIT("configmaps"), S_INIT("events"), S_INIT("secrets"), S_INIT("pods"), S_INIT("nodes")};
static const str parts[] = {S_INIT(""), S_INIT("status"), S_INIT("scale"), S_INIT("finalizers"), S_INIT("other")};
static const str verbs[] = {S_INIT("get"),    S_INIT("list"),  S_INIT("watch"),  S_INIT("create"),
                            S_INIT("update"), S_INIT("patch"), S_INIT("delete"), S_INIT("deletecollection"),
                            S_INIT("bind"),   S_INIT("*")};
/* The empty one asks for the whole cluster. */
static const str namespaces[] = {S_INIT(""), S_INIT("shop"), S_INIT("bank")};
enum { N_READ = 3, N_WRITE = 8 }; /* of the verbs */

struct thing {
    bool owned, exists, depended;
    bool is_namespaced, has_status, has_scale;
    str name;
};

struct world {
    struct arena *a;
    const struct random *r;
    struct thing things[GROUPS][PLURALS];
    bool all_of[GROUPS]; /* the package depends on *.group */
    struct package package;
    struct plan_install install;
    struct plan plan;
};

/* ---- A random world. ---- */

static bool maybe(const struct world *w)
{
    return random_below(w->r, 2);
}

static struct plan_crd crd_of(const struct world *w, size_t g, size_t p)
{
    const struct thing *t = &w->things[g][p];
    return (struct plan_crd){.name = t->name,
                             .group = groups[g],
                             .plural = plurals[p],
                             .kind = plurals[p],
                             .is_cluster_scoped = !t->is_namespaced,
                             .is_managed = true,
                             .family = t->owned ? w->package.family : S("other:one")};
}

static bool find_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    const struct world *w = ctx;
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t p = 0; p < PLURALS; p++)
            if (w->things[g][p].exists && str_eq(w->things[g][p].name, name)) {
                *ret = crd_of(w, g, p);
                return true;
            }
    return false;
}

static size_t find_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    const struct world *w = ctx;
    VEC(struct plan_crd) list = {0};
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t p = 0; p < PLURALS; p++)
            if (w->things[g][p].exists && str_eq(groups[g], group))
                *vec_push(a, &list) = crd_of(w, g, p);
    *ret = list.p;
    return list.n;
}

static void draw_things(struct world *w, bool only_namespaced)
{
    for (size_t g = 0; g < GROUPS; g++) {
        w->all_of[g] = random_below(w->r, 4) == 0;
        for (size_t p = 0; p < PLURALS; p++) {
            struct thing *t = &w->things[g][p];
            bool owned = random_below(w->r, 3) == 0;
            *t = (struct thing){
                .owned = owned,
                .exists = maybe(w),
                .depended = random_below(w->r, 3) == 0,
                .is_namespaced = only_namespaced || (owned && !w->install.is_cluster) || maybe(w),
                .has_status = maybe(w),
                .has_scale = maybe(w),
                .name = str_fmt(w->a, "%.*s.%.*s", STR(plurals[p]), STR(groups[g])),
            };
        }
    }
}

static void draw_package(struct world *w)
{
    VEC(struct package_crd) crds = {0};
    VEC(struct package_dependency) dependencies = {0};
    for (size_t g = 0; g < GROUPS; g++) {
        if (w->all_of[g])
            *vec_push(w->a, &dependencies) = (struct package_dependency){.plural = S("*"), .group = groups[g]};
        for (size_t p = 0; p < PLURALS; p++) {
            const struct thing *t = &w->things[g][p];
            if (t->owned)
                *vec_push(w->a, &crds) = (struct package_crd){.info = {.name = t->name,
                                                                       .group = groups[g],
                                                                       .plural = plurals[p],
                                                                       .kind = plurals[p],
                                                                       .is_namespaced = t->is_namespaced,
                                                                       .has_status = t->has_status,
                                                                       .has_scale = t->has_scale}};
            for (size_t times = t->depended ? 1 + random_below(w->r, 2) : 0; times; times--)
                *vec_push(w->a, &dependencies) = (struct package_dependency){
                    .plural = plurals[p], .group = groups[g], .version = times == 1 ? S("v1") : S("v2")};
        }
    }
    w->package = (struct package){
        .repo = S("acme"),
        .name = S("garden"),
        .version = S("1.0"),
        .family = S("acme:garden"),
        .scope = w->install.is_cluster ? PACKAGE_CLUSTER : PACKAGE_NAMESPACED,
        .crds = crds.p,
        .n_crds = crds.n,
        .dependencies = dependencies.p,
        .n_dependencies = dependencies.n,
    };
}

static void draw_world(struct world *w)
{
    const struct dialect *dialect = maybe(w) ? &dialect_packages : &dialect_stacks;
    bool is_cluster = maybe(w);
    w->install = (struct plan_install){.dialect = dialect,
                                       .is_cluster = is_cluster,
                                       .name = S("green"),
                                       .namespace = is_cluster ? S("crossplane-system") : S("shop"),
                                       .image = S("acme/garden:1.0")};
    draw_things(w, dialect == &dialect_stacks);
    draw_package(w);
    struct plan_facts facts = {.ctx = w, .crd = find_crd, .crds_of_group = find_group};
    struct plan_args args = {.package = &w->package, .install = &w->install, .facts = &facts};
    args.options.namespaced_groups = S("*"); /* several packages share a group here */
    plan_make(w->a, &args, &w->plan);
}

/* ---- What the specification says. ---- */

struct question {
    size_t verb, namespace;
    size_t group, plural, part; /* group GROUPS: the core group, plural counts in core */
};

static bool oracle_resource(const struct world *w, const struct question *q, bool *ret_is_namespaced)
{
    if (q->group == GROUPS) {
        *ret_is_namespaced = true;
        return q->plural < 3 && q->part == 0;
    }
    const struct thing *t = &w->things[q->group][q->plural];
    *ret_is_namespaced = t->is_namespaced;
    if (t->owned)
        return q->part == 0 || (q->part == 1 && t->has_status) || (q->part == 2 && t->has_scale) || q->part == 3;
    return t->exists && (t->depended || w->all_of[q->group]) && q->part == 0;
}

/* The controller. */
static bool oracle_controller(const struct world *w, const struct question *q)
{
    bool is_namespaced;
    if (!oracle_resource(w, q, &is_namespaced))
        return false;
    return w->install.is_cluster || !is_namespaced || str_eq(namespaces[q->namespace], S("shop"));
}

/* People bound to the persona's role where it is meant to be bound. */
static bool oracle_people(const struct world *w, const struct question *q, enum plan_subject who)
{
    if (w->install.dialect == &dialect_stacks || q->group == GROUPS || q->verb >= (who == PLAN_VIEW ? N_READ : N_WRITE))
        return false;
    const struct thing *t = &w->things[q->group][q->plural];
    bool has = q->part == 0 || (q->part == 1 && t->has_status) || (q->part == 2 && t->has_scale);
    return t->owned && has && (w->install.is_cluster || str_eq(namespaces[q->namespace], S("shop")));
}

/* ---- What the plan says, and what its objects do. ---- */

static struct authz_attributes attributes_of(const struct question *q)
{
    return (struct authz_attributes){
        .is_resource = true,
        .verb = verbs[q->verb],
        .group = q->group == GROUPS ? (str){0} : groups[q->group],
        .version = S("v1"),
        .resource = q->group == GROUPS ? core[q->plural] : plurals[q->plural],
        .subresource = parts[q->part],
        .namespace = namespaces[q->namespace],
    };
}

static bool is_granted(const struct world *w, const struct question *q, enum plan_subject who)
{
    struct authz_attributes what = attributes_of(q);
    for (size_t i = 0; i < w->plan.n_grants; i++) {
        const struct plan_grant *g = &w->plan.grants[i];
        if (g->who != who || (!g->is_cluster_wide && !str_eq(g->namespace, what.namespace)))
            continue;
        rules_each(g->rules, rule)
        {
            if (rule_matches(rule, &what))
                return true;
        }
    }
    return false;
}

static void put(struct authz_index *ix, const struct json *object)
{
    struct err err;
    assert_int_equal(authz_index_put(ix, object, &err), 0);
}

/* People are bound as they would be: for the whole cluster, or in the namespace. */
static struct json people_binding(struct world *w, str role, str user)
{
    struct json object, subject = json_obj(), subjects = json_arr(), ref = json_obj(), metadata = json_obj();
    object = json_obj();
    json_add(w->a, &ref, S("apiGroup"), json_str(S("rbac.authorization.k8s.io")));
    json_add(w->a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_add(w->a, &ref, S("name"), json_str(role));
    json_add(w->a, &subject, S("kind"), json_str(S("User")));
    json_add(w->a, &subject, S("apiGroup"), json_str(S("rbac.authorization.k8s.io")));
    json_add(w->a, &subject, S("name"), json_str(user));
    json_push(w->a, &subjects, subject);
    json_add(w->a, &metadata, S("name"), json_str(user));
    if (!w->install.is_cluster)
        json_add(w->a, &metadata, S("namespace"), json_str(S("shop")));
    json_add(w->a, &object, S("kind"), json_str(w->install.is_cluster ? S("ClusterRoleBinding") : S("RoleBinding")));
    json_add(w->a, &object, S("metadata"), metadata);
    json_add(w->a, &object, S("roleRef"), ref);
    json_add(w->a, &object, S("subjects"), subjects);
    return object;
}

static const str people[] = {
    [PLAN_ADMIN] = S_INIT("admin"), [PLAN_EDIT] = S_INIT("edit"), [PLAN_VIEW] = S_INIT("view")};

static struct authz_index *index_of(struct world *w)
{
    struct authz_index *ix = authz_index_new();
    for (size_t i = 0; i < w->plan.n_roles; i++) {
        const struct json *role = &w->plan.roles[i];
        put(ix, role);
        for (int who = PLAN_ADMIN; who <= PLAN_VIEW; who++)
            if (str_has_suffix(object_name(role), people[who])) {
                struct json binding = people_binding(w, object_name(role), people[who]);
                put(ix, &binding);
            }
    }
    if (!json_is_null(&w->plan.cluster_role))
        put(ix, &w->plan.cluster_role);
    for (size_t i = 0; i < w->plan.n_bindings; i++)
        put(ix, &w->plan.bindings[i]);
    return ix;
}

static bool is_allowed(const struct world *w, const struct authz_index *ix, const struct question *q,
                       enum plan_subject who)
{
    struct authz_attributes what = attributes_of(q);
    struct authz_identity identity = {.user = people[who]};
    if (who == PLAN_CONTROLLER)
        identity.user = str_fmt(w->a, "system:serviceaccount:%.*s:green", STR(w->install.namespace));
    return authz_check(ix, &identity, &what, NULL).allowed;
}

static void check(struct world *w, const struct authz_index *ix, const struct question *q)
{
    for (int who = PLAN_CONTROLLER; who <= PLAN_VIEW; who++) {
        bool want = who == PLAN_CONTROLLER ? oracle_controller(w, q) : oracle_people(w, q, who);
        bool granted = is_granted(w, q, who), allowed = is_allowed(w, ix, q, who);
        struct authz_attributes what = attributes_of(q);
        if (granted != want || allowed != want)
            fail_msg("subject %d, %.*s %.*s.%.*s/%.*s in \"%.*s\": ought to be %d, granted %d, allowed %d", who,
                     STR(what.verb), STR(what.resource), STR(what.group), STR(what.subresource), STR(what.namespace),
                     want, granted, allowed);
    }
}

static void ask_all(struct world *w, const struct authz_index *ix)
{
    struct question q;
    for (q.namespace = 0; q.namespace < COUNT(namespaces); q.namespace ++)
        for (q.verb = 0; q.verb < COUNT(verbs); q.verb++)
            for (q.group = 0; q.group <= GROUPS; q.group++)
                for (q.plural = 0; q.plural < (q.group == GROUPS ? COUNT(core) : PLURALS); q.plural++)
                    for (q.part = 0; q.part < COUNT(parts); q.part++)
                        check(w, ix, &q);
}

static void grants_what_the_package_needs_and_nothing_else(void **state)
{
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct random_seeded fake = {seed};
        struct random r = random_of_seed(&fake);
        struct arena arena ARENA_SCOPE = {0};
        struct world w = {.a = &arena, .r = &r};
        draw_world(&w);
        if (w.plan.findings.list.n)
            fail_msg("seed %u: %.*s", (unsigned)seed, STR(findings_text(&arena, &w.plan.findings)));
        struct authz_index *ix = index_of(&w);
        ask_all(&w, ix);
        authz_index_free(ix);
    }
}

/* ---- What no package that was read can bring about. ---- */

/* Bodies come without these keys. Were one to have them all the same, they would not count. */
static void lets_no_body_say_whose_it_is(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct json body;
    struct err err;
    static const char text[] =
        "{\"metadata\":{\"name\":\"x\",\"uid\":\"1\",\"ownerReferences\":[],"
        "\"labels\":{\"crossplane.io/scope\":\"system\",\"app.kubernetes.io/managed-by\":\"me\",\"mine\":\"1\"},"
        "\"annotations\":{\"packages.crossplane.io/family\":\"other:one\",\"mine\":\"1\"}},\"spec\":{\"group\":\"g\"}}";
    assert_int_equal(json_decode(&arena, str_of(text), NULL, NULL, &body, &err), 0);
    struct package p = {.family = S("acme:garden"), .scope = PACKAGE_CLUSTER};
    struct package_crd crd = {.info.name = S("apples.fruit.example.org")};
    struct plan_sharers none = {0};
    struct json got = plan_crd(&arena, &dialect_packages, &p, &crd, &body, &none);
    struct buf b = {.arena = &arena};
    json_encode(&b, &got, JSON_SORTED);
    buf_add_char(&b, '\0');
    assert_string_equal(
        b.p, "{\"metadata\":{\"annotations\":{\"mine\":\"1\",\"packages.crossplane.io/family\":\"acme:garden\"},"
             "\"labels\":{\"app.kubernetes.io/managed-by\":\"package-manager\",\"crossplane.io/scope\":"
             "\"environment\",\"mine\":\"1\"},\"name\":\"apples.fruit.example.org\"},\"spec\":{\"group\":\"g\"}}");
}

static bool no_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    return false;
}

static size_t no_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    return 0;
}

/* n CRDs with names as long as they may be. */
static size_t findings_of(size_t n)
{
    struct arena arena ARENA_SCOPE = {0};
    struct package_crd *crds = ARENA_ARRAY(&arena, struct package_crd, n);
    for (size_t i = 0; i < n; i++) {
        str plural = str_fmt(&arena, "%063zu", i);
        crds[i].info = (struct crd_info){.name = str_fmt(&arena, "%.*s.example.org", STR(plural)),
                                         .group = S("example.org"),
                                         .plural = plural,
                                         .kind = plural,
                                         .is_namespaced = true,
                                         .has_status = true,
                                         .has_scale = true};
    }
    struct package p = {.family = S("acme:garden"), .version = S("1"), .crds = crds, .n_crds = n};
    struct plan_install install = {.dialect = &dialect_packages, .name = S("green"), .namespace = S("shop")};
    struct plan_facts facts = {.crd = no_crd, .crds_of_group = no_group};
    struct plan_args args = {.package = &p, .install = &install, .facts = &facts};
    struct plan plan;
    plan_make(&arena, &args, &plan);
    assert_int_equal(plan.n_roles, plan.findings.list.n ? 0 : 4);
    return plan.findings.list.n;
}

static void refuses_more_rights_than_a_role_can_list(void **state)
{
    assert_int_equal(findings_of(3000), 0);
    assert_int_equal(findings_of(4000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_what_the_package_needs_and_nothing_else),
        cmocka_unit_test(lets_no_body_say_whose_it_is),
        cmocka_unit_test(refuses_more_rights_than_a_role_can_list),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
