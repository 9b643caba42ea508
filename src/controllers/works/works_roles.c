/* SPDX-License-Identifier: Apache-2.0 */
/* The index: from roles to works.
 *
 *   delivered: plural, namespace, name ─► works     the namespace of a template is a star
 *   bound:     plural,            name ─► works     wherever: who is woken looks for himself
 *   works:     name ─► uid of its controller */
#include "controllers/works/works_roles.h"

#include "base/map.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

#include <pthread.h>
#include <stdlib.h>

#define EVERYWHERE S("*") /* no namespace has that name */

struct work {
    str name, controller;
    char text[]; /* of both */
};

struct role {
    struct map works; /* name → struct work * */
    size_t n;
    char key[];
};

struct roles {
    pthread_mutex_t lock;
    struct map delivered, bound; /* key → struct role * */
    struct map works;            /* name → struct work * */
};

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static str key_of(struct arena *a, str plural, str namespace, str name)
{
    return str_fmt(a, "%.*s/%.*s/%.*s", STR(plural), STR(namespace), STR(name));
}

/* ---- Made and freed. ---- */

struct roles *roles_new(void)
{
    struct roles *r = must(calloc(1, sizeof *r));
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void role_free(struct role *role)
{
    map_done(&role->works);
    free(role);
}

static void roles_done(struct map *roles)
{
    str key;
    void *role;
    for (size_t at = 0; map_next(roles, &at, &key, &role);)
        role_free(role);
    map_done(roles);
}

void roles_free(struct roles *r)
{
    str key;
    void *value;
    if (!r)
        return;
    roles_done(&r->delivered);
    roles_done(&r->bound);
    for (size_t at = 0; map_next(&r->works, &at, &key, &value);)
        free(value);
    map_done(&r->works);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- What a work delivers, and binds. ---- */

struct mention {
    str plural, namespace, name; /* the namespace of a delivered one */
    bool is_delivered;
};

typedef VEC(struct mention) mentions;

static void mention(struct arena *a, mentions *all, const struct json *manifest)
{
    str kind = object_kind(manifest);
    bool is_role = str_eq(kind, S("Role")), is_cluster_role = str_eq(kind, S("ClusterRole"));
    const struct json *ref = json_get(manifest, S("roleRef"));
    if (!str_has_prefix(object_api_version(manifest), S(WORKS_RBAC "/")))
        return;
    struct mention m = {.is_delivered = is_role || is_cluster_role, .name = object_name(manifest)};
    if (!m.is_delivered) {
        m.name = json_get_text(ref, S("name"));
        is_role = str_eq(json_get_text(ref, S("kind")), S("Role"));
    } else if (is_role) {
        bool is_template = json_get(object_annotations(manifest), S(FLEET_ANNOTATION_SELECTOR)) != NULL;
        m.namespace = is_template ? EVERYWHERE : object_namespace(manifest);
    }
    m.plural = is_role ? S("roles") : S("clusterroles");
    *vec_push(a, all) = m;
}

/* A work that goes delivers nothing any more. */
static mentions mentions_of(struct arena *a, const struct json *work)
{
    mentions all = {0};
    if (json_is_null(work) || object_is_deleting(work))
        return all;
    json_each_item(json_dig(work, "spec.workload.manifests"), manifest)
    {
        mention(a, &all, manifest);
    }
    return all;
}

/* ---- Noted; the lock is held. ---- */

static void drop(struct map *roles, str key, str work)
{
    struct role *role = map_get(roles, key);
    if (!role)
        return;
    map_del(&role->works, work);
    if (role->works.n)
        return;
    map_del(roles, key);
    role_free(role);
}

static void keep(struct map *roles, str key, struct work *work)
{
    struct role *role = map_get(roles, key);
    if (!role) {
        role = must(calloc(1, sizeof *role + key.n + 1));
        role->n = key.n;
        memcpy(role->key, key.p, key.n);
        map_set(roles, (str){role->key, role->n}, role);
    }
    map_set(&role->works, work->name, work);
}

static struct map *map_for(struct roles *r, const struct mention *m)
{
    return m->is_delivered ? &r->delivered : &r->bound;
}

static str key_for(struct arena *a, const struct mention *m)
{
    return m->is_delivered ? key_of(a, m->plural, m->namespace, m->name) : key_of(a, m->plural, (str){0}, m->name);
}

static struct work *work_new(const struct json *tree)
{
    str name = object_name(tree), controller = json_get_text(meta_controller_of(tree), S("uid"));
    struct work *work = must(calloc(1, sizeof *work + name.n + controller.n + 1));
    work->name = (str){work->text, name.n};
    work->controller = (str){work->text + name.n, controller.n};
    memcpy(work->text, name.p, name.n);
    if (controller.n)
        memcpy(work->text + name.n, controller.p, controller.n);
    return work;
}

/* Keys of the maps are the work's own text: what it was goes before the text does. */
static void replace(struct roles *r, struct arena *a, const mentions *was, const mentions *now, const struct json *tree)
{
    str name = object_name(tree);
    vec_each(was, m)
    {
        drop(map_for(r, m), key_for(a, m), name);
    }
    free(map_del(&r->works, name));
    if (!now->n)
        return;
    struct work *work = work_new(tree);
    map_set(&r->works, work->name, work);
    vec_each(now, m)
    {
        keep(map_for(r, m), key_for(a, m), work);
    }
}

static void wake_binders(struct roles *r, str key, roles_waker *wake, void *ctx)
{
    str name;
    void *work;
    const struct role *role = map_get(&r->bound, key);
    for (size_t at = 0; role && map_next(&role->works, &at, &name, &work);)
        wake(ctx, name);
}

static void wake_all(struct roles *r, struct arena *a, const mentions *all, roles_waker *wake, void *ctx)
{
    vec_each(all, m)
    {
        if (m->is_delivered)
            wake_binders(r, key_of(a, m->plural, (str){0}, m->name), wake, ctx);
    }
}

/* Most changes are those of its status. */
static bool is_same(const struct json *was, const struct json *now)
{
    return !json_is_null(was) && !json_is_null(now) && object_is_deleting(was) == object_is_deleting(now) &&
           json_equal(object_owners(was), object_owners(now)) &&
           json_equal(json_get(was, S("spec")), json_get(now, S("spec")));
}

void roles_note(struct roles *r, const struct json *was, const struct json *now, roles_waker *wake, void *ctx)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (is_same(was, now))
        return;
    mentions before = mentions_of(&scratch, was), after = mentions_of(&scratch, now);
    pthread_mutex_lock(&r->lock);
    replace(r, &scratch, &before, &after, json_is_null(now) ? was : now);
    wake_all(r, &scratch, &before, wake, ctx);
    wake_all(r, &scratch, &after, wake, ctx);
    pthread_mutex_unlock(&r->lock);
}

/* ---- Asked. ---- */

void roles_each_binder(struct roles *r, str plural, str name, roles_waker *wake, void *ctx)
{
    struct arena scratch ARENA_SCOPE = {0};
    str key = key_of(&scratch, plural, (str){0}, name);
    pthread_mutex_lock(&r->lock);
    wake_binders(r, key, wake, ctx);
    pthread_mutex_unlock(&r->lock);
}

size_t roles_deliverers(struct roles *r, struct arena *a, str plural, str namespace, str name,
                        const struct role_deliverer **ret)
{
    VEC(struct role_deliverer) found = {0};
    str places[] = {namespace, EVERYWHERE};
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < (namespace.n ? 2 : 1); i++) {
        str work;
        void *value;
        const struct role *role = map_get(&r->delivered, key_of(a, plural, places[i], name));
        for (size_t at = 0; role && map_next(&role->works, &at, &work, &value);) {
            const struct work *known = value;
            *vec_push(a, &found) = (struct role_deliverer){str_dup(a, work), str_dup(a, known->controller)};
        }
    }
    pthread_mutex_unlock(&r->lock);
    *ret = found.p;
    return found.n;
}

str roles_controller(struct roles *r, struct arena *a, str work)
{
    pthread_mutex_lock(&r->lock);
    const struct work *known = map_get(&r->works, work);
    str uid = known ? str_dup(a, known->controller) : (str){0};
    pthread_mutex_unlock(&r->lock);
    return uid;
}
