/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to load a package of 2,000 CRDs of 30 KB each and to plan its install, and what stays in memory of it. Times are CPU time of this
 * process, the best of a few rounds; memory is what malloc says is in use. */
#include "package/plan.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CRDS = 2000, CRD_BYTES = 30000, ROUNDS = 5 };

static double cpu_ms(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Fields with descriptions, a record and a list, over and over, as generated CRDs have them. */
static void add_fields(struct buf *b, size_t until)
{
    for (size_t i = 0; b->n < until; i++)
        buf_fmt(
            b,
            "%s\"field%zu\":{\"type\":\"object\",\"description\":\"What the provider calls field %zu, said in a sentence or "
            "two so that people know what to write.\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":63,"
            "\"pattern\":\"^[a-z0-9-]+$\"},\"size\":{\"type\":\"integer\",\"minimum\":1},\"tags\":{\"type\":\"array\","
            "\"items\":{\"type\":\"string\"}},\"mode\":{\"type\":\"string\",\"enum\":[\"A\",\"B\",\"C\"]}},"
            "\"required\":[\"name\"]}",
            i ? "," : "", i, i);
}

static void add_crd(struct buf *b, size_t i)
{
    size_t begin = b->n;
    buf_fmt(
        b,
        "{\"path\":\".registry/resources/kind%zu.crd.yaml\",\"index\":0,\"document\":{\"apiVersion\":"
        "\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"kind%zus.example.org\"},"
        "\"spec\":{\"group\":\"example.org\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"Kind%zu\",\"plural\":"
        "\"kind%zus\",\"singular\":\"kind%zu\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
        "\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
        "\"type\":\"object\",\"properties\":{",
        i, i, i, i, i);
    add_fields(b, begin + CRD_BYTES);
    buf_add_str(b, S("}}}}}}]}}}\n"));
}

static void make_lines(struct buf *b)
{
    buf_add_str(b, S("{\"manifest\":{\"digest\":\"sha256:"));
    for (int i = 0; i < 64; i++)
        buf_add_char(b, 'a');
    buf_add_str(b, S("\"}}\n{\"path\":\".registry/app.yaml\",\"document\":{\"title\":\"Large\",\"permissionScope\":"
                     "\"Cluster\"}}\n"));
    buf_add_str(
        b,
        S("{\"path\":\".registry/resources/group.yaml\",\"document\":{\"title\":\"Group\",\"readme\":\"Read me\"}}\n"));
    for (size_t i = 0; i < CRDS; i++)
        add_crd(b, i);
}

static struct package *load(const struct buf *lines)
{
    struct package *p;
    struct err err;
    if (package_load(content_of_text(buf_str(lines)), S("example.org/acme/large:1.0"), &p, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(1);
    }
    if (p->n_crds != CRDS || p->findings.list.n) {
        fprintf(stderr, "%zu CRDs; %.*s\n", p->n_crds, STR(findings_text(p->findings.arena, &p->findings)));
        exit(1);
    }
    return p;
}

static double body_us(const struct package *p)
{
    double start = cpu_ms();
    for (size_t i = 0; i < p->n_crds; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct json body;
        struct err err;
        if (package_crd_body(p, &p->crds[i], &a, &body, &err) < 0)
            exit(1);
    }
    return (cpu_ms() - start) * 1000 / (double)p->n_crds;
}

/* A cluster that has nothing yet. */
static bool has_no_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    (void)ctx, (void)a, (void)name, (void)ret;
    return false;
}

static size_t has_no_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    (void)ctx, (void)a, (void)group, (void)ret;
    return 0;
}

static double plan_ms(const struct package *p)
{
    struct arena a ARENA_SCOPE = {0};
    struct plan_facts facts = {.crd = has_no_crd, .crds_of_group = has_no_group};
    struct plan_install install = {.dialect = &dialect_packages,
                                   .is_cluster = true,
                                   .name = S("large"),
                                   .namespace = S("crossplane-system"),
                                   .image = S("example.org/acme/large:1.0")};
    struct plan plan;
    double start = cpu_ms();
    plan_make(&a, &(struct plan_args){.package = p, .install = &install, .facts = &facts}, &plan);
    double took = cpu_ms() - start;
    if (plan.findings.list.n || plan.n_grants == 0) {
        fprintf(stderr, "%.*s\n", STR(findings_text(&a, &plan.findings)));
        exit(1);
    }
    return took;
}

int main(void)
{
    struct buf lines = {0};
    make_lines(&lines);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    double best = 1e9, plan = 1e9;
    struct package *p = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        package_unref(p);
        double start = cpu_ms();
        p = load(&lines);
        double took = cpu_ms() - start;
        best = took < best ? took : best;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double took = plan_ms(p);
        plan = took < plan ? took : plan;
    }
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    printf("load %d CRDs, %.1f MB\t%.0f ms\n", CRDS, (double)lines.n / 1e6, best);
    printf("plan it\t%.1f ms\tload and plan (< 1000)\n", plan);
    printf("kept in memory\t%.2f MB\n", (double)(after - before) / 1e6);
    printf("body of a CRD\t%.0f us\n", body_us(p));
    package_unref(p);
    buf_done(&lines);
    return 0;
}
