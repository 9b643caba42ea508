/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/namespaces/namespaces_pass.h"

#include "object/conditions.h"
#include "object/kind.h"
#include "object/object.h"

#include <stdlib.h>

/* ---- Where to. ---- */

bool pass_is_pods(const struct client_resource *resource)
{
    return resource->group.n == 0 && str_eq(resource->plural, S("pods"));
}

struct pass_targets pass_targets(struct arena *a, const struct client_discovery *discovery)
{
    const struct client_discovered **list = ARENA_ARRAY(a, const struct client_discovered *, discovery->n);
    size_t n = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < discovery->n; i++) {
            const struct client_discovered *d = &discovery->p[i];
            bool is_first = pass_is_pods(&d->resource);
            bool can_go =
                d->resource.namespaced && (d->verbs & VERB_DELETE) && (d->verbs & (VERB_DELETECOLLECTION | VERB_LIST));
            if (can_go && is_first == (round == 0))
                list[n++] = d;
        }
    }
    return (struct pass_targets){list, n};
}

int64_t pass_pods_grace(const struct json *pods)
{
    int64_t longest = 0;
    json_each_item(pods, pod)
    {
        str phase = json_text(json_dig(pod, "status.phase"));
        int64_t grace = 0;
        if (str_eq(phase, S("Succeeded")) || str_eq(phase, S("Failed")))
            continue;
        if (json_to_int(json_dig(pod, "spec.terminationGracePeriodSeconds"), &grace) && grace > longest)
            longest = grace;
    }
    return longest;
}

/* ---- What was found. ---- */

void pass_done(struct pass *p)
{
    map_done(&p->finalizers);
}

static void count_finalizers(struct pass *p, const struct json *object, struct pass_rest *rest)
{
    const struct json *names = object_finalizers(object);
    json_each_item(names, f)
    {
        size_t *n = map_get(&p->finalizers, json_text(f));
        if (!n) {
            n = ARENA_NEW(p->arena, size_t);
            map_set(&p->finalizers, str_dup(p->arena, json_text(f)), n);
        }
        ++*n;
        rest->is_held = true;
    }
}

void pass_add_rest(struct pass *p, const struct client_resource *resource, const struct json *items, bool is_expected)
{
    if (json_len(items) == 0)
        return;
    if (p->rest.n == 0 || p->rest.p[p->rest.n - 1].resource != resource)
        *vec_push(p->arena, &p->rest) = (struct pass_rest){.resource = resource};
    struct pass_rest *rest = &p->rest.p[p->rest.n - 1];
    rest->n += items->n;
    rest->is_expected = rest->is_expected || is_expected;
    json_each_item(items, object)
    {
        count_finalizers(p, object, rest);
    }
}

void pass_check_rests(struct pass *p, str namespace)
{
    vec_each(&p->rest, rest)
    {
        const struct client_resource *r = rest->resource;
        if (!rest->is_held && !rest->is_expected)
            pass_fail(p, str_fmt(p->arena,
                                 "unexpected items still remain in namespace: %.*s for gvr: %.*s/%.*s, Resource=%.*s",
                                 STR(namespace), STR(r->group), STR(r->version), STR(r->plural)));
    }
}

void pass_fail(struct pass *p, str text)
{
    *vec_push(p->arena, &p->failures) = str_dup(p->arena, text);
}

void pass_add_discovery(struct pass *p, const struct client_discovery *discovery, const struct err *err)
{
    if (err)
        p->discovery_failure = str_dup(p->arena, str_of(err->msg));
    else if (discovery->n_failed)
        p->discovery_failure = str_fmt(p->arena, "Discovery failed for some groups, %zu failing: %.*s",
                                       discovery->n_failed, STR(discovery->text));
}

bool pass_is_over(const struct pass *p)
{
    return p->rest.n == 0 && p->failures.n == 0 && p->discovery_failure.n == 0;
}

/* ---- What is told. ---- */

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

/* Sorted, so that the same facts are always the same text. */
static str join(struct arena *a, str start, str *list, size_t n)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, start);
    if (n)
        qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_str(&b, S(", "));
        buf_add_str(&b, list[i]);
    }
    return buf_str(&b);
}

static str resources_text(struct arena *a, const struct pass *p)
{
    str *list = ARENA_ARRAY(a, str, p->rest.n);
    size_t n = 0;
    vec_each(&p->rest, rest)
    {
        list[n++] = str_fmt(a, "%.*s.%.*s has %zu resource instances", STR(rest->resource->plural),
                            STR(rest->resource->group), rest->n);
    }
    return join(a, S("Some resources are remaining: "), list, n);
}

static str finalizers_text(struct arena *a, const struct pass *p)
{
    str *list = ARENA_ARRAY(a, str, p->finalizers.n), name;
    size_t n = 0, at = 0;
    void *count;
    while (map_next(&p->finalizers, &at, &name, &count))
        list[n++] = str_fmt(a, "%.*s in %zu resource instances", STR(name), *(size_t *)count);
    return join(a, S("Some content in the namespace has finalizers remaining: "), list, n);
}

static str failures_text(struct arena *a, const struct pass *p)
{
    str *list = ARENA_ARRAY(a, str, p->failures.n);
    for (size_t i = 0; i < p->failures.n; i++)
        list[i] = p->failures.p[i];
    str start = str_fmt(a, "Failed to delete all resource types, %zu remaining: ", p->failures.n);
    return join(a, start, list, p->failures.n);
}

bool pass_tell(struct arena *a, const struct pass *p, struct json *namespace, const struct clock *clock)
{
    struct {
        bool is_bad;
        const char *type, *good_reason, *good_text, *bad_reason;
        str bad_text;
    } rows[] = {
        {p->discovery_failure.n != 0, "NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
         "All resources successfully discovered", "DiscoveryFailed", p->discovery_failure},
        /* Of group versions that cannot be parsed; those come to us in two parts. */
        {false,
         "NamespaceDeletionGroupVersionParsingFailure",
         "ParsedGroupVersions",
         "All legacy kube types successfully parsed",
         "GroupVersionParsingFailed",
         {0}},
        {p->failures.n != 0, "NamespaceDeletionContentFailure", "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization", "ContentDeletionFailed",
         failures_text(a, p)},
        {p->rest.n != 0, "NamespaceContentRemaining", "ContentRemoved", "All content successfully removed",
         "SomeResourcesRemain", resources_text(a, p)},
        {p->finalizers.n != 0, "NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
         "All content-preserving finalizers finished", "SomeFinalizersRemain", finalizers_text(a, p)},
    };
    struct json *conditions = conditions_of(a, namespace);
    bool changed = false;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct condition c = {
            .type = str_of(rows[i].type),
            .status = rows[i].is_bad ? S("True") : S("False"),
            .reason = str_of(rows[i].is_bad ? rows[i].bad_reason : rows[i].good_reason),
            .message = rows[i].is_bad ? rows[i].bad_text : str_of(rows[i].good_text),
        };
        changed = condition_set(a, conditions, &c, clock) || changed;
    }
    return changed;
}

bool pass_finalize(struct arena *a, const struct json *namespace, struct json *ret)
{
    const struct json *had = json_dig(namespace, "spec.finalizers");
    str *list = ARENA_ARRAY(a, str, json_len(had));
    size_t n = 0;
    json_each_item(had, f)
    {
        if (!str_eq(json_text(f), S("kubernetes")))
            list[n++] = json_text(f);
    }
    if (n == json_len(had))
        return false;
    if (n)
        qsort(list, n, sizeof *list, by_text);
    struct json finalizers = json_arr_sized(a, n), spec = json_obj();
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !str_eq(list[i], list[i - 1]))
            json_push(a, &finalizers, json_str(list[i]));
    }
    json_add(a, &spec, S("finalizers"), finalizers);
    struct json metadata = *object_meta(namespace); /* ret may be the namespace itself */
    *ret = json_obj_sized(a, 4);
    json_add(a, ret, S("apiVersion"), json_str(S("v1")));
    json_add(a, ret, S("kind"), json_str(S("Namespace")));
    json_add(a, ret, S("metadata"), metadata);
    json_add(a, ret, S("spec"), spec);
    return true;
}

int64_t pass_wait_ns(const struct json *namespace, const struct clock *clock)
{
    enum { MS = 1000000 };
    int64_t since = 0, now = clock_wall_ns(clock) / MS;
    uint32_t nanos = 0;
    if (!time_parse(json_get_text(object_meta(namespace), S("deletionTimestamp")), &since, &nanos))
        return (int64_t)PASS_LATE_MS * MS;
    int64_t wait = (now - since * 1000) / 4;
    wait = wait < PASS_SOON_MS ? PASS_SOON_MS : wait > PASS_LATE_MS ? PASS_LATE_MS : wait;
    return wait * MS;
}
