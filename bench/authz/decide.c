/* SPDX-License-Identifier: Apache-2.0 */
/* What a decision costs, for somebody with ten bindings, in an index where others have ten or 100,000; and what the index
 * itself costs to build and to keep. Times are CPU time of this process, the median of rounds in which the two indexes take
 * turns; memory is what malloc says is in use. */
#include "authz/authz.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FEW = 10, MANY = 100000, MINE = 10, SPACES = 500, ROLES = 200, ROUNDS = 31, TURNS = 20000 };

static double cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

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

/* Every other one is a RoleBinding in one of many namespaces. */
static struct json binding(struct arena *a, size_t i, const char *subject)
{
    bool local = i % 2;
    struct json o =
        named(a, local ? "RoleBinding" : "ClusterRoleBinding",
              local ? str_fmt(a, "namespace-%zu", i % SPACES) : (str){0}, str_fmt(a, "%s-binding-%06zu", subject, i));
    struct json ref = json_obj(), who = json_obj(), list = json_arr();
    json_set(a, &ref, S("apiGroup"), json_str(S("rbac.authorization.k8s.io")));
    json_set(a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_set(a, &ref, S("name"), json_str(str_fmt(a, "role-%zu", i % ROLES)));
    json_set(a, &who, S("kind"), json_str(S("User")));
    json_set(a, &who, S("apiGroup"), json_str(S("rbac.authorization.k8s.io")));
    json_set(a, &who, S("name"), json_str(str_fmt(a, "%s", subject)));
    json_push(a, &list, who);
    json_set(a, &o, S("roleRef"), ref);
    json_set(a, &o, S("subjects"), list);
    return o;
}

/* Twelve rules of the usual kind; rule 11 of each role is about widgets of its own number. */
static struct json role(struct arena *a, size_t number)
{
    static const str verbs[] = {S_INIT("get"), S_INIT("list"), S_INIT("watch"), S_INIT("update"), S_INIT("patch")};
    static const str groups[] = {S_INIT(""), S_INIT("apps"), S_INIT("example.org")};
    struct rule *rules = ARENA_ARRAY(a, struct rule, 12);
    for (size_t i = 0; i < 12; i++) {
        str *resources = ARENA_ARRAY(a, str, 3);
        resources[0] = i == 11 ? str_fmt(a, "widgets%zu", number) : str_fmt(a, "things%zu", i);
        resources[1] = str_fmt(a, "%.*s/status", STR(resources[0]));
        resources[2] = str_fmt(a, "%.*s/scale", STR(resources[0]));
        rules[i] =
            (struct rule){.verbs = {verbs, 3 + i % 3}, .api_groups = {groups + i % 3, 1}, .resources = {resources, 3}};
    }
    struct json o = named(a, "ClusterRole", (str){0}, str_fmt(a, "role-%zu", number));
    json_set(a, &o, S("rules"), rules_to_json(a, (struct rules){rules, 12}));
    return o;
}

static void must_put(struct authz_index *ix, const struct json *o)
{
    struct err err;
    if (authz_index_put(ix, o, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
}

/* An index with these many bindings of others, and ten of alice: five cluster-wide, five in namespace-1. */
static struct authz_index *build(size_t others, double *ret_ns, double *ret_bytes)
{
    struct arena a ARENA_SCOPE = {0};
    struct authz_index *ix = authz_index_new();
    struct json *objects = ARENA_ARRAY(&a, struct json, others);
    for (size_t i = 0; i < ROLES; i++) {
        struct json o = role(&a, i);
        must_put(ix, &o);
    }
    for (size_t i = 0; i < MINE; i++) {
        struct json o = binding(&a, i % 2 ? i * SPACES + 1 : i * 2, "alice");
        must_put(ix, &o);
    }
    for (size_t i = 0; i < others; i++)
        objects[i] = binding(&a, i, str_fmt(&a, "user-%06zu@example.org", i * 7919 % others).p);
    double bytes = (double)mallinfo2().uordblks, start = cpu_ns();
    for (size_t i = 0; i < others; i++)
        must_put(ix, &objects[i]);
    *ret_ns = cpu_ns() - start;
    *ret_bytes = (double)mallinfo2().uordblks - bytes;
    return ix;
}

struct question {
    const char *name;
    struct authz_attributes what;
    bool allowed, reason;
};

static double ask(const struct authz_index *ix, const struct question *q)
{
    static const str groups[] = {S_INIT("system:authenticated"), S_INIT("developers")};
    struct authz_identity alice = {.user = S("alice"), .groups = {groups, 2}};
    struct arena a ARENA_SCOPE = {0};
    double start = cpu_ns();
    for (size_t i = 0; i < TURNS; i++) {
        if (authz_check(ix, &alice, &q->what, q->reason ? &a : NULL).allowed != q->allowed)
            abort();
        if (q->reason)
            arena_reset(&a);
    }
    return (cpu_ns() - start) / TURNS;
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

static void compare(const struct authz_index *few, const struct authz_index *many, const struct question *q)
{
    double small[ROUNDS], large[ROUNDS], ratio[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++) {
        small[i] = ask(few, q);
        large[i] = ask(many, q);
        ratio[i] = large[i] / small[i];
    }
    printf("%-36s %7.0f ns %7.0f ns   ratio %.2f\n", q->name, median(small, ROUNDS), median(large, ROUNDS),
           median(ratio, ROUNDS));
}

/* Each time another user, with one binding: what is not in the processor's caches counts too. */
static double ask_everybody(const struct authz_index *ix, size_t users, const struct question *q)
{
    struct arena a ARENA_SCOPE = {0};
    str *names = ARENA_ARRAY(&a, str, TURNS);
    for (size_t i = 0; i < TURNS; i++)
        names[i] = str_fmt(&a, "user-%06zu@example.org", i * 7793 % users);
    double start = cpu_ns();
    for (size_t i = 0; i < TURNS; i++)
        if (authz_check(ix, &(struct authz_identity){.user = names[i]}, &q->what, NULL).allowed)
            abort();
    return (cpu_ns() - start) / TURNS;
}

int main(void)
{
    double ns, bytes, ignored;
    struct authz_index *few = build(FEW, &ignored, &ignored), *many = build(MANY, &ns, &bytes);
    struct authz_attributes what = {.is_resource = true,
                                    .verb = S("get"),
                                    .group = S("example.org"),
                                    .resource = S("things5"),
                                    .subresource = S("status"),
                                    .name = S("w"),
                                    .namespace = S("namespace-1")};
    struct authz_attributes local = what, no = what;
    local.resource = S("widgets101"); /* only role-101 has them, and alice only in namespace-1 */
    no.verb = S("delete");
    const struct question questions[] = {
        {"allowed by the first binding", what, true, false},
        {"the same, with the reason", what, true, true},
        {"allowed by the sixth", local, true, false},
        {"the same, with the reason", local, true, true},
        {"refused by all ten", no, false, false},
    };
    printf("a decision for a user with %d bindings       among %d  among %d of others\n", MINE, FEW, MANY);
    for (size_t i = 0; i < COUNT(questions); i++)
        compare(few, many, &questions[i]);
    ask_everybody(many, MANY, &questions[4]);
    printf("another user each time, one binding  %7.0f ns %7.0f ns\n", ask_everybody(few, FEW, &questions[4]),
           ask_everybody(many, MANY, &questions[4]));
    printf("building an index of %d bindings: %.0f ms, %.0f bytes each\n", MANY, ns / 1e6, bytes / MANY);
    authz_index_free(few);
    authz_index_free(many);
    return 0;
}
