/* SPDX-License-Identifier: Apache-2.0 */
/* What the server has. A cluster may have thousands of CRDs of 100 KB: of all only the metadata is read, and discovery tells kind and
 * scope. */
#include "cli/planning.h"

#include "object/object.h"
#include "package/semver.h"

#include <stdlib.h>

static const struct client_resource definitions =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

void planning_note(struct planning *p, const char *fmt, ...)
{
    struct buf text = {.arena = p->a};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    vec_each(&p->notes, known)
    {
        if (str_eq(*known, buf_str(&text)))
            return;
    }
    *vec_push(p->a, &p->notes) = buf_str(&text);
}

/* ---- CRDs. ---- */

static int by_group_and_name(const void *x, const void *y)
{
    const struct plan_crd *l = x, *r = y;
    int order = str_cmp(l->group, r->group);
    return order ? order : str_cmp(l->name, r->name);
}

struct wanted {
    str group, plural;
};

static int by_resource(const void *key, const void *item)
{
    const struct wanted *w = key;
    const struct client_discovered *d = item;
    int order = str_cmp(w->group, d->resource.group);
    return order ? order : str_cmp(w->plural, d->resource.plural);
}

static const struct client_discovered *find(const struct client_discovery *d, str group, str plural)
{
    struct wanted w = {group, plural};
    return d->n ? bsearch(&w, d->p, d->n, sizeof *d->p, by_resource) : NULL;
}

/* One that is not served, and so not in discovery: read whole. */
static int read_whole(struct planning *p, struct plan_crd *crd, struct err *err)
{
    struct client_ref ref = {.resource = &definitions, .name = crd->name};
    struct json object;
    int code = client_get(p->c->session.client, p->a, &ref, &object, err);
    if (code < 0)
        return code == ERR_NOT_FOUND ? 0 : code; /* it has just gone */
    crd->kind = json_text(json_dig(&object, "spec.names.kind"));
    crd->is_cluster_scoped = str_eq(json_text(json_dig(&object, "spec.scope")), S("Cluster"));
    return 0;
}

static int add_crd(struct planning *p, const struct client_discovery *discovery, const struct json *metadata,
                   struct err *err)
{
    struct plan_crd crd = {.name = object_name(metadata), .is_deleting = object_is_deleting(metadata)};
    str family = object_annotation(metadata, S(ANNOTATION_FAMILY));
    int code = 0;
    str_cut(crd.name, '.', &crd.plural, &crd.group);
    crd.is_managed = str_eq(object_label(metadata, S(LABEL_MANAGED_BY)), S(LABEL_MANAGER)) && family.n;
    crd.family = crd.is_managed ? family : (str){0};
    crd.source = crd.is_managed ? object_annotation(metadata, S(ANNOTATION_SOURCE)) : (str){0};
    const struct client_discovered *d = find(discovery, crd.group, crd.plural);
    if (d) {
        crd.kind = d->resource.kind;
        crd.is_cluster_scoped = !d->resource.namespaced;
    } else {
        code = read_whole(p, &crd, err);
    }
    *vec_push(p->a, &p->world.crds) = crd;
    return code;
}

/* What is served is there, whoever brought it. Groups without a dot are those of the server itself. */
static void add_discovered(struct planning *p, const struct client_discovery *discovery)
{
    for (size_t i = 0; i < discovery->n; i++) {
        const struct client_resource *r = &discovery->p[i].resource;
        if (str_find_char(r->group, '.') >= 0)
            *vec_push(p->a, &p->world.crds) =
                (struct plan_crd){.name = str_fmt(p->a, "%.*s.%.*s", STR(r->plural), STR(r->group)),
                                  .group = r->group,
                                  .plural = r->plural,
                                  .kind = r->kind,
                                  .is_cluster_scoped = !r->namespaced,
                                  .is_managed = true};
    }
    planning_note(p, "whose the CustomResourceDefinitions are that exist already: you may not list them");
}

static void index_crds(struct planning_world *w)
{
    if (w->crds.n)
        qsort(w->crds.p, w->crds.n, sizeof *w->crds.p, by_group_and_name);
    vec_each(&w->crds, crd)
    {
        map_set(&w->by_name, crd->name, crd);
    }
}

static int see_crds(struct planning *p, struct err *err)
{
    struct client_discovery discovery;
    struct client_ref ref = {.resource = &definitions};
    struct client_list_options options = {.metadata_only = true};
    struct json items;
    int code = client_discover(p->c->session.client, p->a, &discovery, err);
    if (code < 0)
        return code;
    code = client_list(p->c->session.client, p->a, &ref, &options, &items, NULL, err);
    p->world.knows_owners = code == 0;
    if (code < 0 && code != ERR_FORBIDDEN)
        return err_wrap(err, "list CustomResourceDefinitions");
    if (code < 0)
        add_discovered(p, &discovery);
    for (size_t i = 0; code == 0 && i < json_len(&items); i++)
        code = add_crd(p, &discovery, &items.items[i], err);
    index_crds(&p->world);
    return code == ERR_FORBIDDEN ? 0 : code;
}

/* ---- Installs. ---- */

struct lane {
    const struct dialect *dialect;
    bool is_cluster;
    struct client_resource resource;
};

static struct lane lane_at(size_t i)
{
    const struct dialect *dialect = i < 2 ? &dialect_packages : &dialect_stacks;
    bool is_cluster = i % 2 == 1;
    const struct dialect_kind *kind = &dialect->install[is_cluster];
    return (struct lane){
        dialect, is_cluster, {dialect->group, dialect->version, kind->plural, kind->kind, !is_cluster}};
}

static bool is_own(const struct planning *p, const struct lane *l)
{
    return l->dialect == (p->is_stack ? &dialect_stacks : &dialect_packages) && l->is_cluster == p->is_cluster;
}

static void miss(struct planning *p, const struct lane *l)
{
    buf_fmt(&p->world.unseen, "%s%.*s", p->world.unseen.n ? ", " : "", STR(l->resource.plural));
}

/* Everywhere, or where one may look. What is missing matters only for what it would have told. */
static int see_installs(struct planning *p, const struct lane *l, struct planning_refusal *refusal, struct err *err)
{
    struct client_ref ref = {.resource = &l->resource};
    struct json items;
    int code = client_list(p->c->session.client, p->a, &ref, NULL, &items, NULL, err);
    if (code == ERR_FORBIDDEN)
        miss(p, l);
    if (code == ERR_FORBIDDEN && !l->is_cluster) {
        ref.namespace = command_namespace(p->c);
        code = client_list(p->c->session.client, p->a, &ref, NULL, &items, NULL, err);
    }
    if (code == ERR_FORBIDDEN) {
        *refusal = (struct planning_refusal){true, ref.namespace, *err};
        return 0;
    }
    if (code < 0)
        return code == ERR_NOT_FOUND ? 0 : err_wrap(err, "list %.*s", STR(l->resource.plural));
    p->world.has_kinds = true;
    json_each_item(&items, item)
    {
        *vec_push(p->a, &p->world.list) = (struct planning_install){l->dialect, l->is_cluster, *item};
    }
    return 0;
}

int planning_check_seen(struct planning *p, struct err *err)
{
    for (size_t i = 0; i < PLANNING_LANES; i++) {
        const struct planning_refusal *refusal = &p->world.refusals[i];
        struct lane l = lane_at(i);
        if (!refusal->is_refused || !is_own(p, &l))
            continue;
        command_needs(p->c, (struct command_need){.verb = "list",
                                                  .group = l.resource.group,
                                                  .resource = l.resource.plural,
                                                  .namespace = refusal->namespace});
        *err = refusal->err;
        return err_wrap(err, "list %.*s", STR(l.resource.plural));
    }
    if (p->world.unseen.n)
        planning_note(p, "what is installed elsewhere: you may not list all %.*s", STR(buf_str(&p->world.unseen)));
    return 0;
}

/* ---- Facts, as the plan asks for them. ---- */

static bool fact_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    const struct planning *p = ctx;
    const struct plan_crd *crd = map_get(&p->world.by_name, name);
    (void)a;
    if (!crd)
        return false;
    *ret = *crd;
    if (!p->world.knows_owners) /* not known is not a conflict: a note tells it */
        ret->family = p->source.package->family;
    if (planning_is_same_source(p, ret->source))
        ret->source = p->source.package->source;
    return true;
}

static size_t fact_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    const struct planning *p = ctx;
    size_t low = 0, high = p->world.crds.n;
    (void)a;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(p->world.crds.p[middle].group, group) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t n = 0;
    while (low + n < p->world.crds.n && str_eq(p->world.crds.p[low + n].group, group))
        n++;
    *ret = n ? &p->world.crds.p[low] : NULL;
    return n;
}

static bool fact_package(void *ctx, const struct package_requirement *requirement)
{
    struct planning *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    str family = rival_family(&scratch, requirement->package);
    vec_each(&p->world.list, it)
    {
        const struct json *status = json_get(&it->object, S("status"));
        str installed = json_get_text(status, S("installedPackage"));
        if (installed.n && !object_is_deleting(&it->object) && str_eq(rival_family(&scratch, installed), family) &&
            semver_is_met(requirement->constraint, json_get_text(status, S("version")),
                          json_get_text(status, S("resolvedPackage"))))
            return true;
    }
    return false;
}

int planning_see_world(struct planning *p, struct err *err)
{
    p->facts = (struct plan_facts){p, fact_crd, fact_group, fact_package};
    if (p->is_offline) {
        p->facts.has_package = NULL;
        p->world.knows_owners = true; /* there are none */
        return 0;
    }
    p->world.is_known = true;
    p->world.unseen.arena = p->a;
    int code = see_crds(p, err);
    for (size_t i = 0; code == 0 && i < PLANNING_LANES; i++) {
        struct lane l = lane_at(i);
        code = see_installs(p, &l, &p->world.refusals[i], err);
    }
    return code;
}
