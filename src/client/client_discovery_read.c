/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_discovery_read.h"

#include <stdlib.h>

#include "object/kind.h"

void discovery_reader_done(struct discovery_reader *r)
{
    map_done(&r->known);
}

str discovery_group_version(struct arena *a, str group, str version)
{
    return group.n ? str_fmt(a, "%.*s/%.*s", STR(group), STR(version)) : version;
}

void discovery_fail(struct discovery_reader *r, str group_version, str text)
{
    *vec_push(r->arena, &r->failures) = (struct discovery_failure){group_version, text};
}

/* ---- Gathering. ---- */

static unsigned verbs_of(const struct json *list)
{
    unsigned verbs = 0;
    json_each_item(list, v)
    {
        for (unsigned bit = 1; bit <= VERBS_ALL; bit <<= 1)
            if (str_eq(json_text(v), str_of(verb_name(bit))))
                verbs |= bit;
    }
    return verbs;
}

/* Of a resource that several versions have, the one of the preferred version counts, else that of the first. NULL: the one that
 * is known is to stay. */
static struct discovery_found *add(struct discovery_reader *r, const struct discovery_version *v, str plural)
{
    str key = str_fmt(r->arena, "%.*s/%.*s", STR(v->group), STR(plural));
    struct discovery_found *found = map_get(&r->known, key);
    bool is_new = found == NULL;
    if (is_new) {
        found = ARENA_NEW(r->arena, struct discovery_found);
        found->rank = r->found.n;
        *vec_push(r->arena, &r->found) = found;
        map_set(&r->known, key, found);
    }
    *vec_push(r->arena, &found->versions) = v->version;
    if (!is_new && (!v->is_preferred || found->is_preferred))
        return NULL;
    found->is_preferred = v->is_preferred;
    found->subresources.n = found->short_names.n = 0;
    found->what = (struct client_discovered){0};
    found->what.resource = (struct client_resource){.group = v->group, .version = v->version, .plural = plural};
    return found;
}

static void read_names(struct discovery_reader *r, struct discovery_found *found, str singular, const struct json *list)
{
    found->what.singular = singular;
    json_each_item(list, name)
    {
        if (json_text(name).n)
            *vec_push(r->arena, &found->short_names) = json_text(name);
    }
}

/* ---- All groups in one document. ---- */

static void read_subresources(struct discovery_reader *r, struct discovery_found *found, const struct json *list)
{
    json_each_item(list, sub)
    {
        str name = json_get_text(sub, S("subresource"));
        if (name.n && json_len(json_get(sub, S("responseKind"))))
            *vec_push(r->arena, &found->subresources) = name;
    }
}

static void read_resource(struct discovery_reader *r, const struct discovery_version *v, const struct json *doc)
{
    str plural = json_get_text(doc, S("resource")), kind = json_text(json_dig(doc, "responseKind.kind"));
    if (plural.n == 0 || kind.n == 0)
        return;
    struct discovery_found *found = add(r, v, plural);
    if (found == NULL)
        return;
    found->what.resource.kind = kind;
    found->what.resource.namespaced = str_eq(json_get_text(doc, S("scope")), S("Namespaced"));
    found->what.verbs = verbs_of(json_get(doc, S("verbs")));
    read_names(r, found, json_get_text(doc, S("singularResource")), json_get(doc, S("shortNames")));
    read_subresources(r, found, json_get(doc, S("subresources")));
}

/* Versions come by preference: the first that has a resource is the one. Stale: what the server says of this version is old,
 * because whoever serves it does not answer. */
static void read_aggregated_group(struct discovery_reader *r, const struct json *doc)
{
    struct discovery_version v = {.group = json_text(json_dig(doc, "metadata.name")), .is_preferred = true};
    const struct json *versions = json_get(doc, S("versions"));
    json_each_item(versions, it)
    {
        v.version = json_get_text(it, S("version"));
        if (v.version.n == 0)
            continue;
        if (str_eq(json_get_text(it, S("freshness")), S("Stale"))) {
            str name = discovery_group_version(r->arena, v.group, v.version);
            discovery_fail(r, name, str_fmt(r->arena, "stale GroupVersion discovery: %.*s", STR(name)));
            continue;
        }
        const struct json *resources = json_get(it, S("resources"));
        json_each_item(resources, resource)
        {
            read_resource(r, &v, resource);
        }
    }
}

/* ---- One document per version. ---- */

static void read_plain_group(struct discovery_reader *r, const struct json *doc)
{
    str group = json_get_text(doc, S("name")), preferred = json_text(json_dig(doc, "preferredVersion.version"));
    const struct json *versions = json_get(doc, S("versions"));
    json_each_item(versions, it)
    {
        str version = json_get_text(it, S("version"));
        if (group.n && version.n)
            *vec_push(r->arena, &r->todo) = (struct discovery_version){group, version, str_eq(version, preferred)};
    }
}

static void read_core_versions(struct discovery_reader *r, const struct json *list)
{
    bool is_first = true;
    json_each_item(list, version)
    {
        if (json_text(version).n)
            *vec_push(r->arena, &r->todo) = (struct discovery_version){{0}, json_text(version), is_first};
        is_first = false;
    }
}

/* Go's lists are there, be they empty. */
static bool is_list(const struct json *v)
{
    return v && (json_is_arr(v) || json_is_null(v));
}

bool discovery_read_groups(struct discovery_reader *r, const struct json *doc)
{
    const struct json *items = json_get(doc, S("items")), *groups = json_get(doc, S("groups"));
    const struct json *versions = json_get(doc, S("versions"));
    if (str_eq(json_get_text(doc, S("kind")), S("APIGroupDiscoveryList"))) {
        json_each_item(items, group)
        {
            read_aggregated_group(r, group);
        }
        return is_list(items);
    }
    read_core_versions(r, versions);
    json_each_item(groups, group)
    {
        read_plain_group(r, group);
    }
    return is_list(groups) || is_list(versions);
}

/* "pods/status" belongs to "pods", which may come before or after it: two rounds. */
static void read_plain_subresources(struct discovery_reader *r, const struct discovery_version *v,
                                    const struct json *list)
{
    json_each_item(list, it)
    {
        str plural, sub, name = json_get_text(it, S("name"));
        if (!str_cut(name, '/', &plural, &sub) || sub.n == 0)
            continue;
        struct discovery_found *found = map_get(&r->known, str_fmt(r->arena, "%.*s/%.*s", STR(v->group), STR(plural)));
        if (found && str_eq(found->what.resource.version, v->version))
            *vec_push(r->arena, &found->subresources) = sub;
    }
}

bool discovery_read_version(struct discovery_reader *r, const struct discovery_version *v, const struct json *doc)
{
    const struct json *list = json_get(doc, S("resources"));
    json_each_item(list, it)
    {
        str name = json_get_text(it, S("name")), kind = json_get_text(it, S("kind"));
        if (name.n == 0 || kind.n == 0 || str_find_char(name, '/') >= 0)
            continue;
        struct discovery_found *found = add(r, v, name);
        if (found == NULL)
            continue;
        found->what.resource.kind = kind;
        found->what.resource.namespaced = json_true(json_get(it, S("namespaced")));
        found->what.verbs = verbs_of(json_get(it, S("verbs")));
        read_names(r, found, json_get_text(it, S("singularName")), json_get(it, S("shortNames")));
    }
    read_plain_subresources(r, v, list);
    return is_list(list);
}

/* ---- The result. ---- */

static int compare_places(const void *l, const void *r)
{
    const struct client_discovered *x = l, *y = r;
    int c = str_cmp(x->resource.group, y->resource.group);
    return c ? c : str_cmp(x->resource.plural, y->resource.plural);
}

static int compare_kinds(const void *l, const void *r)
{
    const struct client_discovered *x = *(const struct client_discovered *const *)l;
    const struct client_discovered *y = *(const struct client_discovered *const *)r;
    int c = str_cmp(x->resource.group, y->resource.group);
    if (c == 0)
        c = str_cmp(x->resource.kind, y->resource.kind);
    return c ? c : str_cmp(x->resource.plural, y->resource.plural);
}

static int compare_failures(const void *l, const void *r)
{
    const struct discovery_failure *x = l, *y = r;
    int c = str_cmp(x->group_version, y->group_version);
    return c ? c : str_cmp(x->text, y->text);
}

/* In the words of client-go's ErrGroupDiscoveryFailed. */
static void finish_failures(struct discovery_reader *r, struct client_discovery *ret)
{
    struct buf text = {.arena = r->arena};
    str *failed = ARENA_ARRAY(r->arena, str, r->failures.n);
    if (r->failures.n == 0)
        return;
    qsort(r->failures.p, r->failures.n, sizeof *r->failures.p, compare_failures);
    buf_add_str(&text, S("unable to retrieve the complete list of server APIs: "));
    for (size_t i = 0; i < r->failures.n; i++) {
        const struct discovery_failure *f = &r->failures.p[i];
        failed[i] = f->group_version;
        buf_fmt(&text, "%s%.*s: %.*s", i ? ", " : "", STR(f->group_version), STR(f->text));
    }
    ret->failed = failed;
    ret->n_failed = r->failures.n;
    ret->text = buf_str(&text);
}

void discovery_finish(struct discovery_reader *r, struct client_discovery *ret)
{
    size_t n = r->found.n;
    struct client_discovered *p = ARENA_ARRAY(r->arena, struct client_discovered, n);
    const struct client_discovered **by_kind = ARENA_ARRAY(r->arena, const struct client_discovered *, n);
    for (size_t i = 0; i < n; i++) {
        p[i] = r->found.p[i]->what;
        p[i].versions = r->found.p[i]->versions.p;
        p[i].n_versions = r->found.p[i]->versions.n;
        p[i].subresources = r->found.p[i]->subresources.p;
        p[i].n_subresources = r->found.p[i]->subresources.n;
        p[i].short_names = r->found.p[i]->short_names.p;
        p[i].n_short_names = r->found.p[i]->short_names.n;
        p[i].rank = r->found.p[i]->rank;
    }
    if (n)
        qsort(p, n, sizeof *p, compare_places);
    for (size_t i = 0; i < n; i++)
        by_kind[i] = &p[i];
    if (n)
        qsort(by_kind, n, sizeof(*by_kind), compare_kinds);
    *ret = (struct client_discovery){.p = p, .n = n, .by_kind = by_kind};
    finish_failures(r, ret);
}

const struct client_discovered *client_discovery_find(const struct client_discovery *d, str group, str kind)
{
    size_t low = 0, high = d->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct client_resource *r = &d->by_kind[mid]->resource;
        int c = str_cmp(r->group, group);
        if (c == 0)
            c = str_cmp(r->kind, kind);
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == d->n)
        return NULL;
    const struct client_resource *r = &d->by_kind[low]->resource;
    return str_eq(r->group, group) && str_eq(r->kind, kind) ? d->by_kind[low] : NULL;
}

bool client_discovered_has_version(const struct client_discovered *d, str version)
{
    for (size_t i = 0; i < d->n_versions; i++)
        if (str_eq(d->versions[i], version))
            return true;
    return false;
}
