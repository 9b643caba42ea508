/* SPDX-License-Identifier: Apache-2.0 */
/* May somebody do something: what the answer costs when there are few bindings of other people, and when there are many. */
#include "rows.h"

#include "load.h"

enum { ROUNDS = 7, REVIEWS = 4000, FEW = 10, MANY = 10000 };

static const char bindings[] = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

static void bind(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    ret->method = S("POST");
    ret->target = str_of(bindings);
    ret->body =
        str_fmt(a,
                "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{\"name\":"
                "\"b-%zu\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\","
                "\"name\":\"view\"},\"subjects\":[{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\","
                "\"name\":\"user-%zu\"}]}",
                i, i);
}

static void review(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    (void)i;
    (void)a;
    ret->method = S("POST");
    ret->target = S("/apis/authorization.k8s.io/v1/subjectaccessreviews");
    ret->body =
        S("{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{\"user\":\"user-5\","
          "\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"configmaps\",\"namespace\":\"default\"}}}");
}

static double measure(struct links *l)
{
    double cpu[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        cpu[i] = links_load(l, &(struct load){.make = review, .n = REVIEWS, .at_a_time = 32}).cpu / REVIEWS * 1e6;
    return bench_median(cpu, ROUNDS);
}

void rows_reviews(const char *binary)
{
    struct server s;
    server_init(&s, binary);
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    links_load(l, &(struct load){.make = bind, .n = FEW, .at_a_time = FEW});
    double few = measure(l);
    links_load(l, &(struct load){.make = bind, .first = FEW, .n = MANY - FEW, .at_a_time = 64});
    double many = measure(l);
    links_close(l);
    server_done(&s);
    row_print("SubjectAccessReview with 10 bindings, server CPU", few, "us", "");
    row_print("SubjectAccessReview with 10,000 bindings, server CPU", many, "us", "");
    row_print("  ratio", many / few, "", "(~ 1)");
}
