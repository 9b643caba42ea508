/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_plan_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/crd_union.h"
#include "package/family.h"
#include "package/semver.h"

#include <stdlib.h>

static bool planning_is_same_source(const struct planning *p, str source);

/* What the server has. A cluster may have thousands of CRDs of 100 KB: of all only the metadata is read, and discovery tells kind and
 * scope. */

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

/* Others in the same place, and of the same family: what the controller would say about them. Their images are read again, because
 * only these tell whether CRDs can be united. */

enum { OTHERS_MAX = 8 }; /* versions of a family that are read; it has one or two while an upgrade goes round */

/* ---- One in one place. ---- */

static void check_place(struct planning *p)
{
    str family = p->source.package->family;
    vec_each(&p->world.list, it)
    {
        struct rival other = {it->dialect, it->is_cluster, &it->object};
        bool is_same_place = it->is_cluster == p->self.is_cluster &&
                             (it->is_cluster || str_eq(object_namespace(&it->object), object_namespace(&p->install)));
        rival_check_account(p->a, &p->self, &other, &p->findings);
        if (is_same_place)
            rival_check_package(p->a, &p->self, family, &other, &p->findings);
    }
}

/* ---- The family. ---- */

static bool planning_is_same_source(const struct planning *p, str source)
{
    str ours = p->source.package->source;
    if (p->source.is_directory || str_eq(source, ours))
        return true;
    return str_eq(source, rival_source(p->a, oci_reference_located(p->a, ours, false)));
}

/* Whether the name is that of a package from another source. What the install has itself is not in its way. */
static void check_source(struct planning *p, const struct planning_install *it)
{
    str installed = json_text(json_dig(&it->object, "status.installedPackage"));
    struct rival other = {it->dialect, it->is_cluster, &it->object};
    if (installed.n == 0 || object_is_deleting(&it->object) || &it->object == p->running.install ||
        p->findings.list.n || !str_eq(rival_family(p->a, installed), p->source.package->family))
        return;
    str source = rival_source(p->a, installed);
    if (!planning_is_same_source(p, source))
        family_check_source(p->source.package, source, rival_title(p->a, &other), &p->findings);
}

/* An image that is installed somewhere. */
struct image {
    str reference, digest, version;
};

static struct image image_of(const struct json *install)
{
    const struct json *status = json_get(install, S("status"));
    return (struct image){json_get_text(status, S("installedPackage")), json_get_text(status, S("resolvedPackage")),
                          json_get_text(status, S("version"))};
}

static bool is_candidate(const struct planning *p, const struct image *image)
{
    const struct package *ours = p->source.package;
    return str_eq(image->digest, ours->digest) && str_eq(image->version, ours->version) &&
           str_eq(rival_family(p->a, image->reference), ours->family);
}

/* By the digest it has on the server, whatever its tag stands for by now. */
static int open_image(struct planning *p, const struct image *image, struct package_source *ret)
{
    struct err err;
    str reference = str_find_char(image->reference, '@') >= 0 || image->digest.n == 0
                        ? image->reference
                        : str_fmt(p->a, "%.*s@%.*s", STR(image->reference), STR(image->digest));
    int code = package_source_pull(p->c, &p->images, reference, ret, &err);
    str why, more;
    (void)str_cut(str_of(code < 0 ? err.msg : ""), '\n', &why, &more); /* a note is one line */
    if (code < 0)
        planning_note(p, "what %.*s holds, which is installed: %.*s", STR(image->reference), STR(why));
    return code;
}

static bool is_open(const struct planning *p, const struct image *image)
{
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image->digest) && str_eq(it->package->version, image->version))
            return true;
    }
    return false;
}

static void meet(struct planning *p, const struct image *image)
{
    struct package_source other;
    if (image->reference.n == 0 || is_candidate(p, image) || is_open(p, image) ||
        !str_eq(rival_family(p->a, image->reference), p->source.package->family))
        return;
    if (p->others.n == OTHERS_MAX) {
        planning_note(p, "more than %d versions of %.*s that are installed", OTHERS_MAX,
                      STR(p->source.package->family));
        return;
    }
    if (open_image(p, image, &other) == 0)
        *vec_push(p->a, &p->others) = other;
    else
        family_check_version(p->source.package, image->version, image->digest, &p->findings);
}

/* ---- CRDs that the family shares, as the controller asks. ---- */

static const struct package *find_open(const struct planning *p, const struct image *image)
{
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image->digest) && str_eq(it->package->version, image->version))
            return it->package;
    }
    return NULL;
}

static struct family_side side_of(struct planning *p, const struct planning_install *it, const struct package *package)
{
    return (struct family_side){.package = package,
                                .install = object_uid(&it->object),
                                .since = family_since(p->a, &it->object),
                                .approved = json_text(json_dig(&it->object, "status.crds.approvedAt")),
                                .is_cluster = it->is_cluster};
}

static int read_crd(void *ctx, struct arena *a, str name, struct family_live *ret, struct err *err)
{
    struct planning *p = ctx;
    struct client_ref ref = {.resource = &definitions, .name = name};
    *ret = (struct family_live){.body = json_null()};
    int code = client_get(p->c->session.client, a, &ref, &ret->body, err);
    if (code == ERR_FORBIDDEN)
        planning_note(p, "CRD %.*s as it is: you may not get it", STR(name));
    if (code < 0)
        return code == ERR_NOT_FOUND || code == ERR_FORBIDDEN ? 0 : err_wrap(err, "get CRD %.*s", STR(name));
    str written = object_annotation(&ret->body, S(ANNOTATION_SPEC));
    ret->approved = object_annotation(&ret->body, S(ANNOTATION_APPROVED));
    ret->is_foreign = written.n && !str_eq(written, crd_spec_digest(a, &ret->body));
    return 0;
}

static int check_crds(struct planning *p, struct err *err)
{
    VEC(struct family_side) sides = {0};
    struct family_answer answer;
    struct family_question q = {.candidate = p->source.package, .ctx = p, .live = read_crd};
    q.self.is_cluster = p->self.is_cluster;
    q.self.since = S("9"); /* after all that are there */
    vec_each(&p->world.list, it)
    {
        struct image image = image_of(&it->object);
        const struct package *package = find_open(p, &image);
        if (!package || object_is_deleting(&it->object))
            continue;
        struct family_side side = side_of(p, it, package);
        if (&it->object == p->running.install)
            q.self = side;
        else
            *vec_push(p->a, &sides) = side;
    }
    q.others = sides.p;
    q.n_others = sides.n;
    int code = family_check_crds(p->a, &q, &answer, &p->findings, err);
    for (size_t i = 0; code == 0 && i < answer.needs.n; i++)
        *vec_push(p->a, &p->approvals) = answer.needs.p[i].text;
    return code;
}

static int check_family(struct planning *p, struct err *err)
{
    vec_each(&p->world.list, it)
    {
        struct image image = image_of(&it->object);
        check_source(p, it);
        if (object_is_deleting(&it->object))
            continue;
        p->is_held |= is_candidate(p, &image);
        meet(p, &image);
    }
    for (size_t i = 0; i < p->others.n; i++)
        family_check_identity(p->source.package, p->others.p[i].package, &p->findings);
    return p->is_held || p->findings.list.n ? 0 : check_crds(p, err);
}

/* The package that the install runs now. */
static void open_running(struct planning *p)
{
    struct image image = image_of(p->running.install);
    if (image.reference.n == 0 || is_candidate(p, &image))
        return;
    vec_each(&p->others, it)
    {
        if (str_eq(it->package->digest, image.digest) && str_eq(it->package->family, p->running.family)) {
            p->running.old = *it;
            (void)package_ref(it->package);
            return;
        }
    }
    if (!str_eq(p->running.family, p->source.package->family)) /* else it was tried */
        (void)open_image(p, &image, &p->running.old);
}

int planning_meet_others(struct planning *p, struct err *err)
{
    check_place(p);
    int code = p->source.package->findings.list.n ? 0 : check_family(p, err);
    open_running(p);
    return code;
}

/* The rights that are in force now: the rules of the very roles and bindings on the server, so that what somebody has changed by hand
 * shows, too. */

#define RBAC "rbac.authorization.k8s.io"

static const struct client_resource role_binding = CLIENT_RESOURCE(RBAC, "v1", "rolebindings", "RoleBinding", true),
                                    cluster_binding =
                                        CLIENT_RESOURCE(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false),
                                    role = CLIENT_RESOURCE(RBAC, "v1", "roles", "Role", true),
                                    cluster_role = CLIENT_RESOURCE(RBAC, "v1", "clusterroles", "ClusterRole", false),
                                    account = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
                                    deployment = CLIENT_RESOURCE("apps", "v1", "deployments", "Deployment", true);

/* ---- Asking. ---- */

static int get(struct planning *p, const struct client_resource *resource, str namespace, str name, struct json *ret,
               struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = namespace, .name = name};
    command_needs(p->c, (struct command_need){.verb = "get",
                                              .group = resource->group,
                                              .resource = resource->plural,
                                              .namespace = namespace,
                                              .name = name});
    int code = client_get(p->c->session.client, p->a, &ref, ret, err);
    if (code == ERR_NOT_FOUND) {
        *ret = json_null();
        return 0;
    }
    return code < 0 ? err_wrap(err, "look at %.*s %.*s", STR(resource->kind), STR(name)) : 0;
}

static int list(struct planning *p, const struct client_resource *resource, str namespace, str selector,
                struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = namespace};
    struct client_list_options options = {.label_selector = selector};
    command_needs(p->c,
                  (struct command_need){
                      .verb = "list", .group = resource->group, .resource = resource->plural, .namespace = namespace});
    int code = client_list(p->c->session.client, p->a, &ref, &options, ret, NULL, err);
    return code < 0 ? err_wrap(err, "list %.*s", STR(resource->plural)) : 0;
}

/* ---- Grants. ---- */

typedef VEC(struct plan_grant) grant_vec;

static int add_rules(struct planning *p, grant_vec *grants, enum plan_subject who, str namespace,
                     const struct json *object, struct err *err)
{
    struct plan_grant g = {.who = who, .is_cluster_wide = namespace.n == 0, .namespace = namespace};
    if (rules_from_json(p->a, json_get(object, S("rules")), &g.rules, err) < 0)
        return err_wrap(err, "%.*s %.*s", STR(object_kind(object)), STR(object_name(object)));
    vec_each(grants, it)
    {
        if (it->who == who && str_eq(it->namespace, namespace)) {
            it->rules = rules_normal(p->a, rules_union(p->a, it->rules, g.rules));
            return 0;
        }
    }
    g.rules = rules_normal(p->a, g.rules);
    if (g.rules.n)
        *vec_push(p->a, grants) = g;
    return 0;
}

/* ---- The controller's: by the bindings that belong to the record. ---- */

static bool binds_account(const struct planning *p, const struct json *binding)
{
    const struct json *subjects = json_get(binding, S("subjects"));
    json_each_item(subjects, s)
    {
        if (str_eq(object_kind(s), S("ServiceAccount")) && str_eq(json_get_text(s, S("name")), p->asked.name) &&
            str_eq(json_get_text(s, S("namespace")), p->asked.namespace))
            return true;
    }
    return false;
}

static int add_bound(struct planning *p, grant_vec *grants, const struct json *bindings, struct err *err)
{
    json_each_item(bindings, b)
    {
        const struct json *ref = json_get(b, S("roleRef"));
        bool is_role = str_eq(object_kind(ref), S("Role"));
        struct json object;
        if (!binds_account(p, b))
            continue;
        if (get(p, is_role ? &role : &cluster_role, is_role ? object_namespace(b) : (str){0},
                json_get_text(ref, S("name")), &object, err) < 0 ||
            add_rules(p, grants, PLAN_CONTROLLER, object_namespace(b), &object, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_controller(struct planning *p, grant_vec *grants, struct err *err)
{
    struct json bindings;
    str selector = str_fmt(p->a, LABEL_RECORD "=%.*s", STR(object_uid(&p->running.record)));
    if (json_is_null(&p->running.record))
        return 0;
    if (!p->asked.is_cluster && (list(p, &role_binding, p->asked.namespace, selector, &bindings, err) < 0 ||
                                 add_bound(p, grants, &bindings, err) < 0))
        return err->code;
    if (!p->asked.is_cluster) /* such objects have no owner */
        selector = str_fmt(p->a, LABEL_INSTALL "=%.*s", STR(object_uid(p->running.install)));
    if (list(p, &cluster_binding, (str){0}, selector, &bindings, err) < 0)
        return err->code;
    return add_bound(p, grants, &bindings, err);
}

/* ---- People's: by the roles of the family that are labelled for this place. ---- */

static int add_people(struct planning *p, grant_vec *grants, struct err *err)
{
    static const char *const names[] = {"admin", "edit", "view"};
    struct json roles;
    bool is_cluster = p->asked.is_cluster;
    str where = is_cluster ? (str){0} : p->asked.namespace;
    struct buf selector = {.arena = p->a};
    if (!p->self.dialect->has_personas || p->running.family.n == 0)
        return 0;
    buf_fmt(&selector, LABEL_FAMILY "=%.*s", STR(plan_family_label(p->a, p->running.family)));
    if (!is_cluster)
        buf_fmt(&selector, "," LABEL_NAMESPACE_PREFIX "%.*s=true", STR(where));
    int code = list(p, &cluster_role, (str){0}, buf_str(&selector), &roles, err);
    for (size_t i = 0; code == 0 && i < json_len(&roles); i++) {
        for (int k = 0; code == 0 && k < PLANNING_PERSONAS; k++) {
            str label = str_fmt(p->a, "%s%s", is_cluster ? LABEL_TO_ENVIRONMENT : LABEL_TO_NAMESPACE, names[k]);
            if (str_eq(object_label(&roles.items[i], label), S("true")))
                code = add_rules(p, grants, (enum plan_subject)(PLAN_ADMIN + k), where, &roles.items[i], err);
        }
    }
    return code;
}

/* ---- All. ---- */

/* Who may not read roles is shown what the package that runs was given when nobody has changed it since. */
static bool plan_running(struct planning *p, struct plan *ret)
{
    const struct package *running = p->running.old.package;
    struct plan_install asked = p->asked;
    if (!running && str_eq(p->running.digest, p->source.package->digest))
        running = p->source.package;
    if (!running)
        return false;
    asked.image = p->running.reference;
    plan_make(p->a,
              &(struct plan_args){.package = running,
                                  .install = &asked,
                                  .facts = &p->facts,
                                  .options = {.pass_full_deployment = p->pass_full_deployment},
                                  .is_kept = true},
              ret);
    return ret->findings.list.n == 0;
}

static bool guess(struct planning *p)
{
    struct plan plan;
    if (!plan_running(p, &plan))
        return false;
    p->before = (struct plan_grants){plan.grants, plan.n_grants};
    planning_note(p, "the rights in force: you may not read roles; compared is with those that %.*s should have",
                  STR(p->running.version));
    return true;
}

int planning_see_before(struct planning *p, struct err *err)
{
    const struct dialect_kind *kind = &p->self.dialect->record[p->self.is_cluster];
    struct client_resource record = {p->self.dialect->group, p->self.dialect->version, kind->plural, kind->kind,
                                     !p->self.is_cluster};
    grant_vec grants = {0};
    if (!p->running.install || p->running.reference.n == 0)
        return 0;
    str namespace = p->self.is_cluster ? (str){0} : p->asked.namespace;
    int code = get(p, &record, namespace, p->asked.name, &p->running.record, err);
    if (code == 0)
        code = add_controller(p, &grants, err);
    if (code == 0)
        code = add_people(p, &grants, err);
    if (code == ERR_FORBIDDEN && guess(p))
        return 0;
    p->before = (struct plan_grants){grants.p, grants.n};
    return code;
}

/* ---- Names that others have. ---- */

/* As the controller objects. */
static void check_owner(struct planning *p, const struct json *object, const struct json *there)
{
    bool is_by_install = !p->asked.is_cluster && object_namespace(object).n == 0;
    const struct json *controller = meta_controller_of(there),
                      *label = json_get(object_labels(there), is_by_install ? S(LABEL_INSTALL) : S(LABEL_RECORD));
    str uid = object_uid(is_by_install ? p->running.install : &p->running.record), kind = object_kind(object),
        name = object_name(object);
    if (controller && !(uid.n && str_eq(json_get_text(controller, S("uid")), uid)))
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" belongs to %.*s \"%.*s\"", STR(kind), STR(name),
                     STR(json_get_text(controller, S("kind"))), STR(json_get_text(controller, S("name"))));
    else if (label && !(uid.n && str_eq(json_text(label), uid)))
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" belongs to another install", STR(kind), STR(name));
    else if (!label && !controller)
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" exists already and belongs to nobody", STR(kind),
                     STR(name));
}

static const struct client_resource *const owned[] = {&account,         &role,      &cluster_role, &role_binding,
                                                      &cluster_binding, &deployment};
enum { OWNED = COUNT(owned) };

static size_t kind_of(const struct json *object)
{
    size_t i = 0;
    while (!str_eq(owned[i]->kind, object_kind(object)))
        i++; /* plans have no other kinds */
    return i;
}

/* What could not be read is taken for what it should be. */
static void pass_over(struct planning *p, const struct json *object)
{
    struct plan plan;
    p->unread |= 1U << kind_of(object);
    if (owned[kind_of(object)] == &deployment && plan_running(p, &plan))
        p->deployment = plan.deployment;
}

static void tell_unread(struct planning *p)
{
    struct buf kinds = {.arena = p->a};
    for (size_t i = 0; i < OWNED; i++) {
        if (p->unread >> i & 1U)
            buf_fmt(&kinds, "%s%.*ss", kinds.n ? ", " : "", STR(owned[i]->kind));
    }
    if (kinds.n)
        planning_note(p, "whether somebody else has objects of these names: you may not read %.*s",
                      STR(buf_str(&kinds)));
}

static int check_one(struct planning *p, const struct json *object, bool is_shared, struct err *err)
{
    struct json there;
    struct client_ref ref = {
        .resource = owned[kind_of(object)], .namespace = object_namespace(object), .name = object_name(object)};
    int code = client_get(p->c->session.client, p->a, &ref, &there, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code == ERR_FORBIDDEN) {
        pass_over(p, object);
        return 0;
    }
    if (code < 0)
        return err_wrap(err, "look at %.*s %.*s", STR(object_kind(object)), STR(ref.name));
    if (!is_shared)
        check_owner(p, object, &there);
    else if (!str_eq(object_label(&there, S(LABEL_FAMILY)), plan_family_label(p->a, p->source.package->family)))
        findings_add(&p->findings, S("Conflict"), "ClusterRole \"%.*s\" exists already, and no package brought it",
                     STR(ref.name));
    if (ref.resource == &deployment)
        p->deployment = there;
    return 0;
}

/* The one that goes, because the package has none any more. */
static int see_deployment(struct planning *p, struct err *err)
{
    struct client_ref ref = {
        .resource = &deployment, .namespace = p->asked.namespace, .name = plan_deployment_name(p->a, p->asked.name)};
    struct json there;
    int code =
        json_is_null(&p->running.record) ? ERR_NOT_FOUND : client_get(p->c->session.client, p->a, &ref, &there, err);
    if (code == 0 && str_eq(object_label(&there, S(LABEL_RECORD)), object_uid(&p->running.record)))
        p->deployment = there;
    return code == ERR_NOT_FOUND || code == ERR_FORBIDDEN ? 0 : code;
}

int planning_check_names(struct planning *p, struct err *err)
{
    bool is_shared = !p->self.dialect->has_own_role;
    int code = check_one(p, &p->plan.account, false, err);
    for (size_t i = 0; code == 0 && i < p->plan.n_roles; i++)
        code = check_one(p, &p->plan.roles[i], is_shared, err);
    if (code == 0 && !json_is_null(&p->plan.cluster_role))
        code = check_one(p, &p->plan.cluster_role, false, err);
    for (size_t i = 0; code == 0 && i < p->plan.n_bindings; i++)
        code = check_one(p, &p->plan.bindings[i], false, err);
    if (code == 0)
        code =
            json_is_null(&p->plan.deployment) ? see_deployment(p, err) : check_one(p, &p->plan.deployment, false, err);
    tell_unread(p);
    return code;
}
