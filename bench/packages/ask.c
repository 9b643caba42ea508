/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <time.h>

static str target_of(struct arena *a, str namespace, const char *name)
{
    if (namespace.n == 0)
        return str_fmt(a, CLUSTER_INSTALLS "%s%s", name ? "/" : "", name ? name : "");
    return str_fmt(a, PACKAGES "/namespaces/%.*s/packageinstalls%s%s", STR(namespace), name ? "/" : "",
                   name ? name : "");
}

struct question ask_create(struct arena *a, str namespace, const char *name)
{
    return (struct question){
        .method = S("POST"),
        .target = target_of(a, namespace, NULL),
        .body = str_fmt(a,
                        "{\"apiVersion\":\"packages.crossplane.io/v1alpha1\",\"kind\":\"%sPackageInstall\","
                        "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"package\":\"bench/%s:1.0\"}}",
                        namespace.n ? "" : "Cluster", name, name)};
}

struct question ask_delete(struct arena *a, str namespace, const char *name)
{
    return (struct question){.method = S("DELETE"), .target = target_of(a, namespace, name)};
}

int64_t ask_revision(struct links *l)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text = links_ask(l, &scratch, &(struct question){.target = S("/api/v1/namespaces?limit=1")}),
        mark = S("\"resourceVersion\":\""), number = {0}, rest;
    int64_t n = 0;
    ptrdiff_t at = str_find(text, mark);
    bench_must(at >= 0 && str_cut(str_from(text, (size_t)at + mark.n), '"', &number, &rest) && str_to_int64(number, &n),
               "revision");
    return n;
}

static void pause_for(double seconds)
{
    const struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

int64_t ask_writes(struct links *l, double seconds)
{
    int64_t before = ask_revision(l);
    pause_for(seconds);
    return ask_revision(l) - before;
}

void ask_until_quiet(struct links *l)
{
    while (ask_writes(l, 0.5) > 0)
        ;
}
