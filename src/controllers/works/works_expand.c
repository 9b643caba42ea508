/* SPDX-License-Identifier: Apache-2.0 */
/* From a work to the objects that it asks for: one per manifest or, where a manifest has a selector, one per namespace that this
 * cluster has now. */
#include "base/map.h"
#include "controllers/works/works_content.h"
#include "controllers/works/works_internal.h"
#include "object/object.h"
#include "object/selector.h"

#define PATIENCE_NS (5 * NS_PER_S) /* until it is said that namespaces are not known */

/* What is delivered is named in one AppliedManifestWork, and servers take 1.5 MB: a template that comes to more is refused. */
enum { LIST_BYTES = 1200 * 1000, ENTRY_BYTES = 160 };

struct expansion {
    struct visit *v;
    VEC(struct work_item) items;
    struct json *namespaces;
    size_t n_namespaces;
    size_t bytes; /* of the list of what is delivered */
    bool is_asked, is_known;
    struct err err; /* of discovery */
    int code;
};

static str plural_of(void *ctx, str group, str version, str kind)
{
    struct expansion *e = ctx;
    struct client_resource resource;
    str api_version = group.n ? str_fmt(e->v->a, "%.*s/%.*s", STR(group), STR(version)) : version;
    struct err err;
    int code = targets_resource(e->v->w->targets, e->v->a, api_version, kind, &resource, &err);
    if (code < 0 && e->code == 0) {
        e->code = code;
        e->err = err;
    }
    return code < 0 ? (str){0} : resource.plural;
}

static struct work_item *add(struct expansion *e, const struct manifest *m, const struct client_resource *resource,
                             str namespace)
{
    struct work_item *item = vec_push(e->v->a, &e->items);
    e->bytes += ENTRY_BYTES + namespace.n + m->name.n;
    *item = (struct work_item){
        .report = {.manifest = m, .plural = resource->plural, .namespace = namespace},
        .resource = *resource,
        .namespace = namespace,
        .name = m->name,
    };
    return item;
}

static void refuse(struct work_item *item, str problem)
{
    item->report.reason = S(REPORT_FAILED);
    item->report.problem = problem;
}

static void add_selected(struct expansion *e, const struct manifest *m, const struct client_resource *resource)
{
    struct visit *v = e->v;
    struct selector selector;
    struct err err;
    if (!e->is_asked) {
        int64_t opened;
        e->is_asked = true;
        e->is_known = targets_namespaces(v->w->targets, v->a, &e->namespaces, &e->n_namespaces, &opened);
        v->is_early = !e->is_known && clock_mono_ns(&v->r->clock) - opened < PATIENCE_NS;
    }
    if (!e->is_known) {
        v->is_unsure = true;
        refuse(add(e, m, resource, (str){0}), S("the namespaces of this cluster are not known yet"));
        return;
    }
    if (selector_from_object(v->a, m->selector, &selector, &err) < 0) {
        refuse(add(e, m, resource, (str){0}), str_dup(v->a, str_of(err.msg)));
        return;
    }
    size_t n = e->items.n, bytes = e->bytes;
    for (size_t i = 0; i < e->n_namespaces && e->bytes <= LIST_BYTES; i++)
        if (selector_matches(&selector, object_labels(&e->namespaces[i])))
            add(e, m, resource, object_name(&e->namespaces[i]));
    if (e->bytes <= LIST_BYTES)
        return;
    e->items.n = n;
    e->bytes = bytes;
    refuse(add(e, m, resource, (str){0}),
           S("the namespaces that are selected are more than one ManifestWork can deliver to"));
}

static void add_manifest(struct expansion *e, const struct manifest *m)
{
    struct client_resource resource = {0};
    struct err err;
    if (m->version.n && m->kind.n)
        (void)targets_resource(e->v->w->targets, e->v->a, object_api_version(m->object), m->kind, &resource, &err);
    if (!resource.kind.n && m->version.n && m->kind.n && e->code == 0) /* a definition may be on its way */
        e->code = err_set(&e->err, ERR_NOT_FOUND, "%.*s", STR(m->problem));
    if (m->problem.n)
        refuse(add(e, m, &resource, m->namespace), m->problem);
    else if (m->selector && !resource.namespaced)
        refuse(add(e, m, &resource, (str){0}), S("a namespace selector is set for a kind that has no namespaces"));
    else if (m->selector)
        add_selected(e, m, &resource);
    else if (resource.namespaced && !m->namespace.n)
        refuse(add(e, m, &resource, (str){0}), S("an empty namespace may not be set when a resource name is provided"));
    else
        add(e, m, &resource, resource.namespaced ? m->namespace : (str){0});
}

str work_item_key(struct arena *a, str group, str plural, str namespace, str name)
{
    return str_fmt(a, "%.*s/%.*s/%.*s/%.*s", STR(group), STR(plural), STR(namespace), STR(name));
}

/* Two manifests that come to one object: the first stays, and the other is content if it is the same. */
static void meet(struct visit *v, struct work_item *item, const struct work_item *first)
{
    item->twin = first;
    if (json_equal(&item->want, &first->want))
        return;
    item->report.reason = S(REPORT_CONFLICT);
    item->report.problem = str_fmt(v->a, "%.*s \"%.*s\" is in this work already, with other content",
                                   STR(item->resource.kind), STR(item->name));
}

static void finish(struct visit *v)
{
    struct map recorded = {0};
    json_each_item(json_dig(&v->applied, "status.appliedResources"), entry)
    {
        str key = work_item_key(v->a, json_get_text(entry, S("group")), json_get_text(entry, S("resource")),
                                json_get_text(entry, S("namespace")), json_get_text(entry, S("name")));
        map_set(&recorded, key, (void *)entry);
    }
    for (size_t i = 0; i < v->n; i++) {
        struct work_item *item = &v->items[i];
        if (!item->resource.kind.n)
            continue;
        str key = work_item_key(v->a, item->resource.group, item->resource.plural, item->namespace, item->name);
        const struct json *entry = map_get(&recorded, key);
        item->is_recorded = entry != NULL;
        item->recorded = json_get_text(entry, S("uid"));
        item->is_orphaned =
            manifest_is_orphaned(&v->work, item->resource.group, item->resource.plural, item->namespace, item->name);
        item->want = content_want(v->a, item->report.manifest, item->namespace);
        if (!content_is_rbac(&item->want))
            item->hash = content_hash(v->a, &item->want);
        const struct work_item *first = map_get(&v->by_key, key);
        if (first && !item->report.reason.n)
            meet(v, item, first);
        else if (!first)
            map_set(&v->by_key, key, item);
    }
    map_done(&recorded);
}

void expand_work(struct visit *v)
{
    struct expansion e = {.v = v};
    const struct manifest *manifests;
    struct manifest_resources resources = {plural_of, &e};
    size_t n = manifests_read(v->a, &v->work, &resources, &manifests);
    for (size_t i = 0; i < n; i++)
        add_manifest(&e, &manifests[i]);
    v->items = e.items.p;
    v->n = e.items.n;
    if (e.code < 0 && v->failure.code == 0) /* asked again: kinds are not gone because nobody answers */
        v->failure = e.err;
    finish(v);
}
