/* SPDX-License-Identifier: Apache-2.0 */
/* What a server can tell of a command line that is not finished. A page of each list at most: nobody reads more. */
#include "cli/complete.h"

#include "cli/resource.h"
#include "object/fleet.h"
#include "object/kind.h"
#include "object/object.h"
#include "package/dialect.h"

#include <stdlib.h>
#include <unistd.h>

enum { PAGE = 500 };

static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);
static const struct client_resource clusters = CLIENT_RESOURCE(FLEET_CLUSTERS);
static const struct client_resource roles =
    CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false);

typedef VEC(str) names;

/* One page; of whole objects, or of their metadata. */
static struct json list_page(struct complete *c, const struct client_ref *ref, bool is_whole)
{
    struct buf target = {.arena = &c->base.arena};
    struct err ignored;
    struct json answer;
    client_path(&target, ref);
    buf_fmt(&target, "?limit=%d", PAGE);
    struct client_request request = {
        .method = S("GET"),
        .target = buf_str(&target),
        .accept = is_whole ? (str){0} : S("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
    };
    if (client_raw(c->base.session.client, &c->base.arena, &request, &answer, &ignored) < 0)
        return json_arr();
    const struct json *items = json_get(&answer, S("items"));
    return json_is_arr(items) ? *items : json_arr();
}

/* prefix: what stands in front of each, "pods/". */
static void add_objects(struct complete *c, names *n, const struct client_ref *ref, str prefix)
{
    struct json items = list_page(c, ref, false);
    json_each_item(&items, object)
    {
        str name = object_name(object);
        *vec_push(&c->base.arena, n) = prefix.n ? str_fmt(&c->base.arena, "%.*s%.*s", STR(prefix), STR(name)) : name;
    }
}

static void add_installs(struct complete *c, names *n, bool is_cluster)
{
    const struct dialect *dialects[] = {&dialect_packages, &dialect_stacks};
    for (size_t i = 0; i < COUNT(dialects); i++) {
        const struct dialect *d = dialects[i];
        const struct dialect_kind *kind = &d->install[is_cluster];
        struct client_resource resource = {d->group, d->version, kind->plural, kind->kind, !is_cluster};
        struct client_ref ref = {.resource = &resource,
                                 .namespace = is_cluster ? (str){0} : command_namespace(&c->base)};
        add_objects(c, n, &ref, (str){0});
    }
}

static void add_subject(struct complete *c, names *n, const struct json *subject)
{
    str name = json_get_text(subject, S("name")), kind = json_get_text(subject, S("kind"));
    if (str_eq(kind, S("User")))
        *vec_push(&c->base.arena, n) = name;
    else if (str_eq(kind, S("ServiceAccount")))
        *vec_push(&c->base.arena, n) = str_fmt(&c->base.arena, "system:serviceaccount:%.*s:%.*s",
                                               STR(json_get_text(subject, S("namespace"))), STR(name));
}

static void add_users(struct complete *c, names *n)
{
    static const struct client_resource bindings[] = {
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false),
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true)};
    for (size_t i = 0; i < COUNT(bindings); i++) {
        struct json items = list_page(c, &(struct client_ref){.resource = &bindings[i]}, true);
        json_each_item(&items, binding)
        {
            const struct json *subjects = json_get(binding, S("subjects"));
            json_each_item(subjects, subject) add_subject(c, n, subject);
        }
    }
}

/* ---- Types. ---- */

/* Which types have the verb that was typed before; one that is none of the usual says nothing. */
static unsigned verb_typed(const struct complete *c)
{
    static const struct {
        const char *name;
        unsigned verb;
    } rows[] = {{"create", VERB_CREATE}, {"delete", VERB_DELETE}, {"deletecollection", VERB_DELETECOLLECTION},
                {"get", VERB_GET},       {"list", VERB_LIST},     {"patch", VERB_PATCH},
                {"update", VERB_UPDATE}, {"watch", VERB_WATCH}};
    for (size_t i = 0; c->words.n && i < COUNT(rows); i++) {
        if (str_eq(c->words.p[c->words.n - 1], str_of(rows[i].name)))
            return rows[i].verb;
    }
    return 0;
}

static void add_types(struct complete *c, names *n)
{
    const struct client_discovery *all;
    struct err ignored;
    unsigned verb = verb_typed(c);
    if (resource_all(&c->base, &all, &ignored) < 0)
        return;
    for (size_t i = 0; i < all->n; i++) {
        const struct client_resource *r = &all->p[i].resource;
        if ((all->p[i].verbs & verb) == verb)
            *vec_push(&c->base.arena, n) =
                r->group.n ? str_fmt(&c->base.arena, "%.*s.%.*s", STR(r->plural), STR(r->group)) : r->plural;
    }
}

/* TYPE/NAME */
static void add_named(struct complete *c, names *n)
{
    struct resource_named found;
    struct err ignored;
    str type, name;
    (void)str_cut(c->typed, '/', &type, &name);
    if (type.n == 0 || resource_find(&c->base, type, &found, &ignored) < 0)
        return;
    const struct client_discovery *all;
    (void)resource_all(&c->base, &all, &ignored);
    for (size_t i = 0; i < all->n; i++) {
        const struct client_resource *r = &all->p[i].resource;
        if (!str_eq(r->group, found.group) || !str_eq(r->plural, found.resource))
            continue;
        struct client_ref ref = {.resource = r, .namespace = r->namespaced ? command_namespace(&c->base) : (str){0}};
        add_objects(c, n, &ref, str_upto(c->typed, type.n + 1));
    }
}

/* ---- All of it. ---- */

/* Only files are read for these. */
static void add_contexts(struct complete *c, names *n)
{
    struct client_config_args args = {.kubeconfig = c->base.server.kubeconfig, .env = (const char *const *)environ};
    struct err ignored;
    const str *list;
    size_t count;
    if (client_config_contexts(&c->base.arena, &args, &list, &count, &ignored) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        *vec_push(&c->base.arena, n) = list[i];
}

static void collect(struct complete *c, names *n, enum complete_what what)
{
    bool is_tree = what == COMPLETE_BRANCHES;
    if (what == COMPLETE_NAMESPACES || is_tree)
        add_objects(c, n, &(struct client_ref){.resource = &namespaces}, (str){0});
    if (what == COMPLETE_ROLES || is_tree)
        add_objects(c, n, &(struct client_ref){.resource = &roles}, (str){0});
    if (what == COMPLETE_INSTALLS || is_tree)
        add_installs(c, n, c->is_cluster);
    if (what == COMPLETE_CLUSTERS)
        add_objects(c, n, &(struct client_ref){.resource = &clusters}, (str){0});
    if (what == COMPLETE_USERS)
        add_users(c, n);
    if (what == COMPLETE_TYPES && str_find_char(c->typed, '/') >= 0)
        add_named(c, n);
    else if (what == COMPLETE_TYPES)
        add_types(c, n);
}

static int by_text(const void *a, const void *b)
{
    const str *x = a, *y = b;
    return str_cmp(*x, *y);
}

void complete_names(struct complete *c, enum complete_what what)
{
    struct err ignored;
    names n = {0};
    if (what == COMPLETE_CONTEXTS)
        add_contexts(c, &n);
    else if (command_connect(&c->base, &ignored) == 0)
        collect(c, &n, what);
    if (n.n)
        qsort(n.p, n.n, sizeof *n.p, by_text);
    for (size_t i = 0; i < n.n; i++) {
        if (i == 0 || !str_eq(n.p[i], n.p[i - 1]))
            complete_add(c, n.p[i], NULL);
    }
}
