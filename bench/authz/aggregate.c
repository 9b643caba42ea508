/* SPDX-License-Identifier: Apache-2.0 */
/* What aggregation costs: merging more and more rules, and changing one role among few or among thousands. Figures are the
 * medians of rounds in which all steps take turns, in CPU time of this process; the ratios are what counts. */
#include "authz/aggregate.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 21, TURNS = 200, MERGES = 5, SELECTED_BY = 3 };

static double cpu_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct json decode(struct arena *a, str text)
{
    struct json v;
    struct err err;
    if (json_decode(a, text, NULL, NULL, &v, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    return v;
}

static void put(struct aggregate_index *ix, const struct json *role)
{
    struct err err;
    if (aggregate_index_put(ix, role, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
}

static double median(double *us, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && us[k] < us[k - 1]; k--) {
            double t = us[k];
            us[k] = us[k - 1];
            us[k - 1] = t;
        }
    return us[n / 2];
}

/* ---- Merging n rules of n roles, a tenth of which are there twice. ---- */

struct merging {
    struct aggregate_source *sources;
    struct aggregate_selectors selectors;
    size_t n;
};

static struct merging merging_of(struct arena *a, size_t n)
{
    struct merging m = {ARENA_ARRAY(a, struct aggregate_source, n), {0}, n};
    struct json rule = decode(a, S("{\"clusterRoleSelectors\":[{\"matchLabels\":{\"t\":\"a\"}}]}"));
    struct json *labels = ARENA_NEW(a, struct json);
    struct err err;
    *labels = decode(a, S("{\"t\":\"a\"}"));
    if (aggregate_selectors_parse(a, &rule, &m.selectors, &err) < 0)
        exit(1);
    for (size_t i = 0; i < n; i++) {
        struct json rules = decode(a, str_fmt(a,
                                              "[{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"apps\"],"
                                              "\"resources\":[\"things-%zu\"]}]",
                                              i % 10 ? i : i / 10));
        m.sources[i] = (struct aggregate_source){.name = str_fmt(a, "role-%06zu", i), .labels = labels};
        if (rules_from_json(a, &rules, &m.sources[i].rules, &err) < 0)
            exit(1);
    }
    return m;
}

static void show_merging(void)
{
    static const size_t sizes[] = {1000, 2000, 4000};
    enum { SIZES = COUNT(sizes) };
    struct arena data ARENA_SCOPE = {0}, scratch ARENA_SCOPE = {0};
    struct merging m[SIZES];
    double us[SIZES][ROUNDS], mid[SIZES];
    for (int i = 0; i < SIZES; i++)
        m[i] = merging_of(&data, sizes[i]);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < SIZES; i++) {
            double from = cpu_us();
            for (int t = 0; t < MERGES; t++) {
                arena_reset(&scratch);
                aggregate_merge(&scratch, S("all"), m[i].selectors, m[i].sources, m[i].n);
            }
            us[i][r] = (cpu_us() - from) / MERGES;
        }
    for (int i = 0; i < SIZES; i++) {
        mid[i] = median(us[i], ROUNDS);
        printf("  merge %zu rules%33.1f us\n", sizes[i], mid[i]);
    }
    printf("  %-44s %7.2f   (linear: 2, quadratic: 4)\n", "2,000 rules / 1,000 rules", mid[1] / mid[0]);
    printf("  %-44s %7.2f   (linear: 2, quadratic: 4)\n", "4,000 rules / 2,000 rules", mid[2] / mid[1]);
}

/* ---- Changing a leaf that three aggregates select. ---- */

struct cluster {
    struct aggregate_index *ix;
    struct json *leaves[2]; /* each with one rule, and with another */
    size_t n_leaves, n_aggregates;
    double load_us;
};

static struct json leaf_of(struct arena *a, const struct cluster *c, size_t i, int variant)
{
    struct buf labels = {.arena = a};
    for (size_t k = 0; k < SELECTED_BY; k++)
        buf_fmt(&labels, ",\"aggregate-to-%zu\":\"true\"", (i * SELECTED_BY + k) % c->n_aggregates);
    return decode(a, str_fmt(a,
                             "{\"metadata\":{\"name\":\"leaf-%06zu\",\"labels\":{\"app\":\"x\"%.*s}},\"rules\":"
                             "[{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"g\"],\"resources\":[\"r%zu-%d\"]}]}",
                             i, STR(buf_str(&labels)), i, variant));
}

static struct json aggregate_of(struct arena *a, size_t i)
{
    return decode(a, str_fmt(a,
                             "{\"metadata\":{\"name\":\"aggregate-%06zu\"},\"rules\":[],\"aggregationRule\":"
                             "{\"clusterRoleSelectors\":[{\"matchLabels\":{\"aggregate-to-%zu\":\"true\"}}]}}",
                             i, i));
}

static struct cluster cluster_of(struct arena *a, size_t leaves, size_t aggregates)
{
    struct cluster c = {.ix = aggregate_index_new(), .n_leaves = leaves, .n_aggregates = aggregates};
    struct arena scratch ARENA_SCOPE = {0};
    struct json *roles = ARENA_ARRAY(a, struct json, aggregates);
    for (size_t i = 0; i < aggregates; i++)
        roles[i] = aggregate_of(a, i);
    for (int v = 0; v < 2; v++) {
        c.leaves[v] = ARENA_ARRAY(a, struct json, leaves);
        for (size_t i = 0; i < leaves; i++)
            c.leaves[v][i] = leaf_of(a, &c, i, v);
    }
    double from = cpu_us();
    for (size_t i = 0; i < aggregates; i++)
        put(c.ix, &roles[i]);
    for (size_t i = 0; i < leaves; i++)
        put(c.ix, &c.leaves[0][i]);
    if (aggregate_index_settle(c.ix, &scratch).n != aggregates)
        abort();
    c.load_us = cpu_us() - from;
    return c;
}

/* Leaves among the first n at random, there and back. They are copied first: who stores a role has just read it. */
static double change_leaves(struct cluster *c, size_t n, size_t changes, const struct random *random)
{
    struct arena out ARENA_SCOPE = {0}, read ARENA_SCOPE = {0};
    struct json roles[TURNS][2];
    for (int t = 0; t < TURNS; t++) {
        size_t i = random_below(random, (uint32_t)n);
        roles[t][0] = json_dup(&read, &c->leaves[1][i]);
        roles[t][1] = json_dup(&read, &c->leaves[0][i]);
    }
    double from = cpu_us();
    for (int t = 0; t < 2 * TURNS; t++) {
        arena_reset(&out);
        put(c->ix, &roles[t / 2][t % 2]);
        if (aggregate_index_settle(c->ix, &out).n != changes)
            abort();
    }
    return (cpu_us() - from) / TURNS / 2;
}

static void show_changes(const struct random *random)
{
    struct arena data ARENA_SCOPE = {0};
    struct cluster few = cluster_of(&data, 50, 30), many = cluster_of(&data, 5000, 3000);
    double us[4][ROUNDS], mid[4];
    for (int r = 0; r < ROUNDS; r++) {
        us[0][r] = change_leaves(&few, few.n_leaves, SELECTED_BY, random);
        us[1][r] = change_leaves(&many, many.n_leaves, SELECTED_BY, random);
        us[2][r] = change_leaves(&few, 1, SELECTED_BY, random);
        us[3][r] = change_leaves(&many, 1, SELECTED_BY, random);
    }
    for (int i = 0; i < 4; i++)
        mid[i] = median(us[i], ROUNDS);
    printf("  load 5,000 leaves and 3,000 aggregates%12.1f ms\n", many.load_us / 1000);
    printf("  change a leaf among 50, with 30 aggregates%8.2f us\n", mid[0]);
    printf("  change a leaf among 5,000, with 3,000%13.2f us\n", mid[1]);
    printf("  %-44s %7.2f   (at most 3)\n", "many / few, any leaf at random", mid[1] / mid[0]);
    printf("  %-44s %7.2f   (at most 3)\n", "many / few, the same leaf again and again", mid[3] / mid[2]);
    aggregate_index_free(few.ix);
    aggregate_index_free(many.ix);
}

/* Kubernetes' controller took 4.4 s for this, on a machine of two processors. */
static void show_large_aggregate(const struct random *random)
{
    struct arena data ARENA_SCOPE = {0};
    struct cluster c = cluster_of(&data, 2000, SELECTED_BY);
    struct json all = decode(&data, S("{\"metadata\":{\"name\":\"all\"},\"aggregationRule\":{\"clusterRoleSelectors\":"
                                      "[{\"matchLabels\":{\"app\":\"x\"}}]}}"));
    double us[ROUNDS];
    for (size_t i = 0; i < SELECTED_BY; i++)
        aggregate_index_delete(c.ix, str_fmt(&data, "aggregate-%06zu", i));
    put(c.ix, &all);
    aggregate_index_settle(c.ix, &data);
    for (int r = 0; r < ROUNDS; r++)
        us[r] = change_leaves(&c, c.n_leaves, 1, random);
    printf("  change a leaf of an aggregate of 2,000%12.2f us\n", median(us, ROUNDS));
    aggregate_index_free(c.ix);
}

int main(void)
{
    struct random_seeded fake = {3};
    struct random random = random_of_seed(&fake);
    printf("aggregation\n");
    show_merging();
    show_changes(&random);
    show_large_aggregate(&random);
    return 0;
}
