/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace package of six CRDs in many namespaces at once, then in one more, then out of all of them. */
#include "rows.h"

#include "ask.h"
#include "image.h"
#include "lookout.h"

#include <stdio.h>

enum { MORE = 5 };

static const struct image many = {"many", "Namespaced", 6, 5000};

static str namespace_of(struct arena *a, size_t i)
{
    return str_fmt(a, "team-%04zu", i);
}

static void make_plain(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    const bool *has_personas = ctx;
    *ret = (struct question){
        .method = S("POST"),
        .target = S("/api/v1/namespaces"),
        .body = str_fmt(a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%.*s\"%s}}",
                        STR(namespace_of(a, i)),
                        *has_personas ? ",\"labels\":{\"rbac.crossplane.io/managed-roles\":\"true\"}" : "")};
}

static void create(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = ask_create(a, namespace_of(a, i), many.name);
}

static void delete (void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    *ret = ask_delete(a, namespace_of(a, i), many.name);
}

static void print(size_t n, bool has_personas, const char *what, double figure, const char *unit, const char *target)
{
    char text[128];
    snprintf(text, sizeof text, "%5zu namespaces%s: %s", n, has_personas ? " with personas" : "", what);
    row_print(text, figure, unit, target);
}

/* One after the other, each Ready before the next begins. */
static void install_more(struct server *s, struct links *l, struct lookout *seen, size_t n, struct cost *ret)
{
    double start = bench_now(), cpu = server_cpu(s);
    for (size_t i = 0; i < MORE; i++) {
        links_load(l, &(struct load){.make = create, .first = n + i, .n = 1, .at_a_time = 1});
        lookout_wait_ready(seen, n + i + 1);
    }
    *ret = (struct cost){.seconds = (bench_now() - start) / MORE, .cpu = (server_cpu(s) - cpu) / MORE};
}

static double measure(const char *binary, size_t n, bool has_personas)
{
    struct server s;
    server_init(&s, binary);
    image_build(&s, &many);
    server_start(&s);
    struct links *l = links_open(&s, 1, true);
    links_load(l, &(struct load){.make = make_plain, .ctx = &has_personas, .n = n + MORE, .at_a_time = 16});
    struct lookout *seen = lookout_open(&s, S(INSTALLS));
    ask_until_quiet(l);

    int64_t revision = ask_revision(l);
    double start = bench_now(), cpu = server_cpu(&s);
    links_load(l, &(struct load){.make = create, .n = n, .at_a_time = 16});
    lookout_wait_ready(seen, n);
    double wall = bench_now() - start;
    ask_until_quiet(l);
    double each = (server_cpu(&s) - cpu) / (double)n * 1e3;
    print(n, has_personas, "all Ready", wall, "s", n == 1000 ? "(< 30)" : "");
    print(n, has_personas, "  server CPU of each", each, "ms", "");
    print(n, has_personas, "  writes of each", (double)(ask_revision(l) - revision) / (double)n, "", "");

    struct cost more;
    install_more(&s, l, seen, n, &more);
    print(n, has_personas, "  one more until Ready", more.seconds * 1e3, "ms", "");
    print(n, has_personas, "  server CPU of it", more.cpu * 1e3, "ms", "");
    ask_until_quiet(l);
    print(n, has_personas, "  writes in a second afterwards", (double)ask_writes(l, 1), "", "(0)");

    start = bench_now();
    cpu = server_cpu(&s);
    links_load(l, &(struct load){.make = delete, .n = n + MORE, .at_a_time = 16});
    lookout_wait_left(seen, 0);
    print(n, has_personas, "  all gone", bench_now() - start, "s", "");
    ask_until_quiet(l);
    print(n, has_personas, "  server CPU of each", (server_cpu(&s) - cpu) / (double)(n + MORE) * 1e3, "ms", "");
    print(n, has_personas, "  peak of memory", server_peak(&s) / 1e6, "MB", "");
    lookout_close(seen);
    links_close(l);
    server_done(&s);
    return each;
}

void rows_many(const char *binary)
{
    static const size_t sizes[] = {100, 300, 1000};
    for (int has_personas = 0; has_personas < 2; has_personas++) {
        double each[3];
        for (size_t i = 0; i < 3; i++)
            each[i] = measure(binary, sizes[i], has_personas);
        row_print(has_personas ? "  CPU of each of 1,000 to each of 100, with personas"
                               : "  CPU of each of 1,000 to each of 100",
                  each[2] / each[0], "", "(< 1.5)");
    }
}
