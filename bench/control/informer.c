/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache of an informer costs: bytes of memory per byte of JSON, and time per object taken in, per change and per question.
 * Memory is what the allocator took from the system between an empty cache and a full one, divided by the JSON that is kept
 * (without managedFields), and by the JSON as it came. The aim: at most 1.5 per byte kept. */
#include "control/frames.h"
#include "control/informer_cache.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OBJECTS = 20000, LIST_ROUNDS = 20 };

static double cpu_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        abort();
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static size_t taken(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* ---- Objects as they are met: the event of a watch. ---- */

static const char managed[] =
    "\"managedFields\":[{\"manager\":\"kubectl-client-side-apply\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":"
    "\"2026-11-15T21:22:23Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},"
    "\"f:data\":{\".\":{},\"f:config\":{}},\"f:rules\":{}}}]";

static void add_meta(struct buf *b, const char *name, int i, int version)
{
    buf_fmt(b,
            "\"metadata\":{\"name\":\"%s-%d\",\"namespace\":\"team-%d\",\"uid\":\"6f9619ff-8b86-d011-b42d-%012d\","
            "\"resourceVersion\":\"%d\",\"creationTimestamp\":\"2026-11-15T21:22:23Z\",\"labels\":{\"app\":\"app-%d\","
            "\"app.kubernetes.io/managed-by\":\"reeve\"},\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
            "\"ConfigMap\",\"name\":\"owner\",\"uid\":\"00000000-8b86-d011-b42d-%012d\"}],%s}",
            name, i, i % 50, i, version, i % 100, i % 1000, managed);
}

struct kind {
    const char *title;
    const char *head, *name;
    int filler; /* rules, or bytes of data */
    bool is_role;
};

static str event(struct arena *a, const struct kind *k, int i, int version)
{
    struct buf b = {.arena = a};
    buf_fmt(&b, "{\"type\":\"MODIFIED\",\"object\":{%s,", k->head);
    add_meta(&b, k->name, i, version);
    if (k->is_role) {
        buf_add_str(&b, S(",\"rules\":["));
        for (int r = 0; r < k->filler; r++)
            buf_fmt(
                &b,
                "%s{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\",\"things-%d\"],\"verbs\":[\"get\",\"list\","
                "\"watch\"]}",
                r ? "," : "", (i + r) % 977);
        buf_add_str(&b, S("]"));
    } else {
        buf_add_str(&b, S(",\"data\":{\"config\":\""));
        for (int n = 0; n < k->filler; n++)
            buf_add_char(&b, (char)('a' + (i + n) % 26));
        buf_add_str(&b, S("\"}"));
    }
    buf_add_str(&b, S("}}"));
    return buf_str(&b);
}

/* ---- What it costs. ---- */

static struct item *read_event(struct arena *a, str bytes, const struct item_shape *shape)
{
    struct frames f = {0};
    struct frame frame;
    struct err err = {0};
    str text;
    if (frames_next(&f, &bytes, &text, &err) != 1 || frame_decode(a, text, &frame, &err) < 0) {
        (void)fprintf(stderr, "bench: %s\n", err.msg);
        exit(1);
    }
    frames_done(&f);
    struct item *item = item_new_shaped(&frame.object, shape);
    if (item == NULL)
        abort();
    return item;
}

/* Takes all objects in; returns the bytes of their JSON as it came. */
static size_t fill(struct cache *c, const struct kind *k, int version, double *ret_us)
{
    struct arena a ARENA_SCOPE = {0};
    size_t came = 0;
    double us = 0;
    for (int n = 0; n < OBJECTS; n++) {
        int i = version == 1 ? n : (int)((unsigned)n * 7919U % OBJECTS); /* lists come in order, changes do not */
        str bytes = event(&a, k, i, version);
        came += bytes.n - sizeof "{\"type\":\"MODIFIED\",\"object\":}" + 1;
        double from = cpu_us();
        item_unref(cache_put(c, read_event(&a, bytes, cache_shape(c))));
        us += cpu_us() - from;
        arena_reset(&a);
    }
    *ret_us = us / OBJECTS;
    return came;
}

static void ask(struct cache *c, const struct kind *k)
{
    struct arena a ARENA_SCOPE = {0};
    double get = 0;
    for (int i = 0; i < OBJECTS; i++) {
        str namespace = str_fmt(&a, "team-%d", i % 50), name = str_fmt(&a, "%s-%d", k->name, i);
        double from = cpu_us();
        item_unref(cache_get(c, namespace, name));
        get += cpu_us() - from;
        arena_reset(&a);
    }
    size_t listed = 0;
    double from = cpu_us();
    for (int i = 0; i < LIST_ROUNDS; i++) {
        struct items all ITEMS_SCOPE = cache_list(c, (str){0});
        listed += all.n;
    }
    double list = cpu_us() - from;
    from = cpu_us();
    size_t found = 0;
    for (int i = 0; i < 1000; i++) {
        struct items some ITEMS_SCOPE = cache_by_owner(c, str_fmt(&a, "00000000-8b86-d011-b42d-%012d", i));
        found += some.n;
    }
    double owner = cpu_us() - from;
    printf("    get %.2f us, list of all %.3f us an object, by owner %.2f us a question (%zu objects each)\n",
           get / OBJECTS, list / (double)listed, owner / 1000, found / 1000);
}

static void measure(const struct kind *k, bool is_indexed)
{
    static const str labels[] = {S_INIT("app")};
    struct item_shape shape = {.labels = labels, .n_labels = is_indexed, .by_owner = is_indexed};
    size_t before = taken();
    double first, later;
    struct cache *c = cache_new(&shape);
    size_t came = fill(c, k, 1, &first);
    struct cache_size size = cache_size(c);
    size_t fresh = taken() - before;
    fill(c, k, 2, &later);
    size_t churned = taken() - before;
    struct cache_size after = cache_size(c);
    double kept = (double)size.text;
    printf("  %-34s %5zu bytes came, %5zu kept, %zu of memory each\n", k->title, came / OBJECTS, size.text / OBJECTS,
           fresh / OBJECTS);
    printf("    memory per byte kept: %.3f fresh, %.3f when all have changed once; per byte that came: %.3f%s\n",
           (double)fresh / kept, (double)churned / (double)after.text, (double)fresh / (double)came,
           is_indexed ? "   (1.5)" : "");
    printf("    by its own count: %.3f; taken in %.2f us each, changed %.2f us\n", (double)size.bytes / kept, first,
           later);
    ask(c, k);
    cache_free(c);
}

int main(void)
{
    static const struct kind kinds[] = {
        {"ConfigMap, small", "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"", "config", 10, false},
        {"ConfigMap, large", "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"", "config", 1500, false},
        {"ClusterRole of 1 rule", "\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\"", "role", 1,
         true},
        {"ClusterRole of 15 rules", "\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\"", "role",
         15, true},
    };
    for (int is_indexed = 0; is_indexed < 2; is_indexed++) {
        printf("%d objects, %s\n", OBJECTS, is_indexed ? "found by name, a label and an owner" : "found by name");
        for (size_t i = 0; i < COUNT(kinds); i++)
            measure(&kinds[i], is_indexed);
    }
    return 0;
}
