/* SPDX-License-Identifier: Apache-2.0 */
/* Cold discovery: what it costs to tell of 2,000 CRDs, in one group and in a group for each. */
#include "api/discovery_render.h"
#include "base/clock.h"

#include <stdio.h>

enum { CRDS = 2000 };

static void fill(struct registry *r, bool many_groups)
{
    for (int i = 0; i < CRDS; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct json crd;
        struct err err;
        str group = many_groups ? str_fmt(&a, "g%d.example.com", i) : S("example.com");
        str text = str_fmt(
            &a,
            "{\"metadata\":{\"name\":\"things%d.%.*s\"},\"spec\":{\"group\":\"%.*s\",\"scope\":\"Namespaced\","
            "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}}}]},"
            "\"status\":{\"acceptedNames\":{\"plural\":\"things%d\",\"singular\":\"thing%d\",\"kind\":\"Thing%d\","
            "\"listKind\":\"Thing%dList\"},\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}",
            i, STR(group), STR(group), i, i, i, i);
        if (json_decode(&a, text, NULL, NULL, &crd, &err) < 0 || registry_put_crd(r, &crd, &err) < 0)
            printf("# %s\n", err.msg);
    }
}

static void measure(bool many_groups)
{
    struct registry *r = registry_new();
    fill(r, many_groups);
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    struct discovery_groups groups;
    int64_t start = clock_system.mono_ns(NULL);
    groups.p = registry_groups(&a, r, &groups.n);
    int64_t sorted = clock_system.mono_ns(NULL);
    discovery_render_aggregated(&b, groups, false, S("v2"));
    int64_t end = clock_system.mono_ns(NULL);
    printf("%-28s sort %6.2f ms, render %6.2f ms, %zu bytes\n",
           many_groups ? "2,000 CRDs, 2,000 groups" : "2,000 CRDs, one group", (double)(sorted - start) / 1e6,
           (double)(end - sorted) / 1e6, b.n);
    registry_free(r);
}

int main(void)
{
    measure(false);
    measure(true);
    return 0;
}
