/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_targets.h"

#include "base/map.h"
#include "client/client_discovery.h"
#include "controllers/works/works_internal.h"
#include "controllers/works/works_roles.h"
#include "kinds/builtin.h"
#include "object/fleet.h"
#include "object/object.h"

#include <pthread.h>
#include <stdlib.h>

#define SWEEP_NS (60 * NS_PER_S)

enum { KINDS = 1000 }; /* custom ones that are remembered */

static const struct client_resource always[TARGETS_ALWAYS] = {
    CLIENT_RESOURCE(WORKS_RBAC, "v1", "clusterroles", "ClusterRole", false),
    CLIENT_RESOURCE(WORKS_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false),
    CLIENT_RESOURCE(WORKS_RBAC, "v1", "roles", "Role", true),
    CLIENT_RESOURCE(WORKS_RBAC, "v1", "rolebindings", "RoleBinding", true),
};
static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);

/* A kind that is watched. */
struct target {
    struct target *next;
    struct targets *all;
    struct client_resource resource; /* texts in the arena */
    struct informer *informer;       /* NULL: the loop has yet to open it */
    unsigned readers;                /* inside a question */
    bool is_always;
    bool is_used; /* since the last sweep */
    struct arena arena;
};

/* A kind whose name in paths the server has told. */
struct known {
    struct client_resource resource;
    bool is_doubted;
};

struct targets {
    struct works *w;
    struct loop_work opening;
    struct loop_timer sweep;
    struct arena scratch; /* the loop's */

    pthread_mutex_t lock; /* of what follows */
    struct target *list;
    bool is_posted;
    struct informer *namespaces;
    bool wants_namespaces;
    int64_t opened;     /* when namespaces were first asked for */
    struct map kinds;   /* "apps/v1 Deployment" → struct known * */
    struct arena arena; /* of kinds */
};

/* ---- From changes to keys: on the loop. ---- */

static void enqueue(void *ctx, str work)
{
    struct works *w = ctx;
    control_enqueue(w->visits, (str){0}, work);
}

static bool enqueue_owners(struct works *w, const struct json *object)
{
    bool has_any = false;
    json_each_item(object_owners(object), ref)
    {
        str work;
        if (!str_eq(json_get_text(ref, S("kind")), S("AppliedManifestWork")))
            continue;
        has_any = true;
        if (applied_work_of(w, json_get_text(ref, S("name")), &work))
            enqueue(w, work);
    }
    return has_any;
}

static bool is_entry_of(const struct json *entry, const struct client_resource *r, str namespace, str name)
{
    return str_eq(json_get_text(entry, S("name")), name) && str_eq(json_get_text(entry, S("namespace")), namespace) &&
           str_eq(json_get_text(entry, S("resource")), r->plural) && str_eq(json_get_text(entry, S("group")), r->group);
}

/* Orphans name nobody: who delivered them says so itself. */
static void enqueue_recorders(struct target *t, str namespace, str name)
{
    struct works *w = t->all->w;
    struct items list ITEMS_SCOPE = informer_list(w->applied, (str){0});
    for (size_t i = 0; i < list.n; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        str work;
        if (!applied_work_of(w, item_name(list.p[i]), &work) || str_find(item_text(list.p[i]), name) < 0)
            continue;
        struct json applied = item_tree(&scratch, list.p[i]);
        json_each_item(json_dig(&applied, "status.appliedResources"), entry)
        {
            if (is_entry_of(entry, &t->resource, namespace, name))
                enqueue(w, work);
        }
    }
}

static void on_target(void *ctx, const struct informer_change *change)
{
    struct target *t = ctx;
    struct works *w = t->all->w;
    const struct item *item = change->now ? change->now : change->was;
    bool has_owner = change->tree && enqueue_owners(w, change->tree);
    bool turns = !change->was || !change->now; /* a role is ours, or is not any more */
    if (change->was) {                         /* who it belonged to before may be another */
        struct json was = item_tree(&t->all->scratch, change->was);
        has_owner |= enqueue_owners(w, &was);
        turns |= !json_equal(object_owners(&was), object_owners(change->tree));
        arena_reset(&t->all->scratch);
    }
    if (!has_owner)
        enqueue_recorders(t, item_namespace(item), item_name(item));
    if (turns)
        roles_each_binder(w->roles, t->resource.plural, item_name(item), enqueue, w);
    if (!change->now)
        memos_each(w->memos, false, true, enqueue, w);
}

static void on_namespace(void *ctx, const struct informer_change *change)
{
    struct targets *t = ctx;
    if (change->was && change->now && str_eq(item_text(change->was), item_text(change->now)))
        return; /* neither labels nor its end */
    memos_each(t->w->memos, true, true, enqueue, t->w);
}

static void on_namespaces_synced(void *ctx)
{
    struct targets *t = ctx;
    memos_each(t->w->memos, true, true, enqueue, t->w);
}

/* What selectors ask for. */
static struct json trim_namespace(struct arena *a, const struct json *object)
{
    struct json kept = json_obj(), meta = json_obj();
    static const char *const fields[] = {"name", "labels", "deletionTimestamp"};
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct json *value = json_get(object_meta(object), str_of(fields[i]));
        if (value)
            json_add(a, &meta, str_of(fields[i]), *value);
    }
    json_add(a, &kept, S("apiVersion"), json_str(object_api_version(object)));
    json_add(a, &kept, S("kind"), json_str(object_kind(object)));
    json_add(a, &kept, S("metadata"), meta);
    return kept;
}

/* ---- Opening and closing: on the loop. ---- */

static struct informer *open_target(struct target *t)
{
    struct works *w = t->all->w;
    return control_informer(w->options.control, &(struct informer_options){.client = w->options.managed,
                                                                           .resource = t->resource,
                                                                           .label_selector = S(FLEET_LABEL_DELIVERED),
                                                                           .by_owner = true,
                                                                           .lists_anew = true});
}

/* Handlers are added outside the lock: they are told of what there is at once, and ask. */
static void on_opening(struct loop_work *work)
{
    struct targets *t = (struct targets *)((char *)work - offsetof(struct targets, opening));
    pthread_mutex_lock(&t->lock);
    t->is_posted = false;
    bool opens_namespaces = t->wants_namespaces && !t->namespaces;
    struct target *new = NULL;
    for (struct target *at = t->list; at; at = at->next)
        if (!at->informer)
            new = at;
    pthread_mutex_unlock(&t->lock);
    if (opens_namespaces) {
        struct informer *i =
            control_informer(t->w->options.control, &(struct informer_options){.client = t->w->options.managed,
                                                                               .resource = namespaces,
                                                                               .metadata_only = true,
                                                                               .trim = trim_namespace,
                                                                               .lists_anew = true});
        pthread_mutex_lock(&t->lock);
        t->namespaces = i;
        pthread_mutex_unlock(&t->lock);
        informer_add_handler(
            i, &(struct informer_handler){.changed = on_namespace, .synced = on_namespaces_synced, .ctx = t});
    }
    if (!new)
        return;
    struct informer *i = open_target(new);
    pthread_mutex_lock(&t->lock);
    new->informer = i;
    t->is_posted = true; /* there may be more */
    pthread_mutex_unlock(&t->lock);
    informer_add_handler(i, &(struct informer_handler){.changed = on_target, .ctx = new});
    loop_post(t->w->options.loop, &t->opening);
}

/* The lock is held. */
static void post_opening(struct targets *t)
{
    if (!t->is_posted)
        loop_post(t->w->options.loop, &t->opening);
    t->is_posted = true;
}

static struct target *target_new(struct targets *t, const struct client_resource *resource, bool is_always)
{
    struct target *new = xcalloc(1, sizeof *new);
    arena_begin(&new->arena, 128);
    new->all = t;
    new->is_always = is_always;
    new->is_used = true;
    new->resource = (struct client_resource){
        str_dup(&new->arena, resource->group),
        str_dup(&new->arena, resource->version),
        str_dup(&new->arena, resource->plural),
        str_dup(&new->arena, resource->kind),
        resource->namespaced,
    };
    new->next = t->list;
    t->list = new;
    return new;
}

static void target_free(struct target *t)
{
    arena_done(&t->arena);
    free(t);
}

/* Unlinks one that nobody has used since the last sweep; NULL: there is none left. */
static struct target *take_unused(struct targets *t)
{
    for (struct target **at = &t->list; *at; at = &(*at)->next) {
        struct target *found = *at;
        if (found->is_always || found->is_used || found->readers || !found->informer)
            continue;
        *at = found->next;
        return found;
    }
    return NULL;
}

/* A visit of each work comes more often than sweeps do not: what no visit has asked for in between is of no use. */
static void on_sweep(void *ctx)
{
    struct targets *t = ctx;
    struct target *unused;
    pthread_mutex_lock(&t->lock);
    while ((unused = take_unused(t))) {
        control_informer_drop(t->w->options.control, unused->informer);
        target_free(unused);
    }
    for (struct target *at = t->list; at; at = at->next)
        at->is_used = false;
    pthread_mutex_unlock(&t->lock);
    loop_timer_set(t->w->options.loop, &t->sweep, SWEEP_NS + 2 * t->w->options.resync_ns);
}

struct targets *targets_new(struct works *w)
{
    struct targets *t = xcalloc(1, sizeof *t);
    t->w = w;
    t->opening.fn = on_opening;
    t->sweep = (struct loop_timer){.fn = on_sweep, .ctx = t};
    pthread_mutex_init(&t->lock, NULL);
    for (size_t i = TARGETS_ALWAYS; i-- > 0;) {
        struct target *target = target_new(t, &always[i], true);
        target->informer = open_target(target);
        informer_add_handler(target->informer, &(struct informer_handler){.changed = on_target, .ctx = target});
    }
    loop_timer_set(w->options.loop, &t->sweep, SWEEP_NS + 2 * w->options.resync_ns);
    return t;
}

void targets_free(struct targets *t)
{
    if (!t)
        return;
    loop_post_cancel(t->w->options.loop, &t->opening);
    loop_timer_cancel(t->w->options.loop, &t->sweep);
    for (struct target *target; (target = t->list);) {
        t->list = target->next;
        target_free(target);
    }
    map_done(&t->kinds);
    arena_done(&t->arena);
    arena_done(&t->scratch);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void targets_always(struct targets *t, struct informer **ret)
{
    size_t n = 0;
    for (struct target *at = t->list; at; at = at->next)
        if (at->is_always)
            ret[n++] = at->informer;
}

/* ---- Kinds. ---- */

static bool ask_server(struct targets *t, struct arena *a, str api_version, str kind, struct client_resource *ret,
                       int *ret_code, struct err *err)
{
    struct client_discovery all;
    str group, version;
    if (!kind_split_api_version(api_version, &group, &version))
        return false;
    *ret_code = client_discover_version(t->w->options.managed, a, group, version, &all, err);
    if (*ret_code == ERR_NOT_FOUND)
        *ret_code = 0;
    else if (*ret_code == 0) {
        const struct client_discovered *found = client_discovery_find(&all, group, kind);
        if (found)
            *ret = found->resource;
    }
    return *ret_code == 0 && ret->kind.n;
}

static void remember(struct targets *t, str key, const struct client_resource *r)
{
    pthread_mutex_lock(&t->lock);
    struct known *known = map_get(&t->kinds, key);
    if (known && str_eq(known->resource.plural, r->plural) && known->resource.namespaced == r->namespaced) {
        known->is_doubted = false;
    } else if (known || t->kinds.n < KINDS) {
        struct known *new = ARENA_NEW(&t->arena, struct known);
        new->resource = (struct client_resource){
            str_dup(&t->arena, r->group),
            str_dup(&t->arena, r->version),
            str_dup(&t->arena, r->plural),
            str_dup(&t->arena, r->kind),
            r->namespaced,
        };
        if (known)
            map_del(&t->kinds, key);
        map_set(&t->kinds, str_dup(&t->arena, key), new);
    }
    pthread_mutex_unlock(&t->lock);
}

int targets_resource(struct targets *t, struct arena *a, str api_version, str kind, struct client_resource *ret,
                     struct err *err)
{
    const struct kind *builtin = kind_builtin_by_body(api_version, kind);
    *ret = (struct client_resource){0};
    if (builtin && !(builtin->flags & (KIND_NO_PATH | KIND_NOT_STORED))) {
        *ret = (struct client_resource){str_of(builtin->group), str_of(builtin->version), str_of(builtin->plural),
                                        str_of(builtin->kind), builtin->namespaced};
        return 0;
    }
    str key = str_fmt(a, "%.*s %.*s", STR(api_version), STR(kind));
    pthread_mutex_lock(&t->lock);
    const struct known *known = map_get(&t->kinds, key);
    if (known && !known->is_doubted)
        *ret = known->resource;
    pthread_mutex_unlock(&t->lock);
    int code = 0;
    if (!ret->kind.n && ask_server(t, a, api_version, kind, ret, &code, err))
        remember(t, key, ret);
    return code;
}

void targets_doubt(struct targets *t, const struct client_resource *resource)
{
    struct arena scratch ARENA_SCOPE = {0};
    str key = str_fmt(&scratch, "%.*s %.*s", STR(client_api_version(&scratch, resource)), STR(resource->kind));
    pthread_mutex_lock(&t->lock);
    struct known *known = map_get(&t->kinds, key);
    if (known)
        known->is_doubted = true;
    pthread_mutex_unlock(&t->lock);
}

/* ---- Objects. ---- */

static struct target *find(struct targets *t, const struct client_resource *r)
{
    struct target *at = t->list;
    while (at && !(str_eq(at->resource.plural, r->plural) && str_eq(at->resource.group, r->group) &&
                   str_eq(at->resource.version, r->version)))
        at = at->next;
    return at;
}

/* A synced informer that stays until it is given back; NULL: there is none yet. */
static struct target *begin_reading(struct targets *t, const struct client_resource *resource)
{
    pthread_mutex_lock(&t->lock);
    struct target *target = find(t, resource);
    if (!target) {
        target = target_new(t, resource, false);
        post_opening(t);
    }
    target->is_used = true;
    bool is_ready = target->informer && informer_is_synced(target->informer);
    target->readers += is_ready;
    pthread_mutex_unlock(&t->lock);
    return is_ready ? target : NULL;
}

static void end_reading(struct targets *t, struct target *target)
{
    pthread_mutex_lock(&t->lock);
    target->readers--;
    pthread_mutex_unlock(&t->lock);
}

enum target_answer targets_read(struct targets *t, struct arena *a, const struct client_resource *resource,
                                str namespace, str name, struct json *ret)
{
    struct target *target = begin_reading(t, resource);
    if (!target)
        return TARGET_UNKNOWN;
    bool is_there = informer_read(target->informer, a, namespace, name, ret);
    end_reading(t, target);
    return is_there ? TARGET_THERE : TARGET_ABSENT;
}

size_t targets_owned(struct targets *t, struct arena *a, str uid, struct target_found **ret)
{
    VEC(struct target_found) found = {0};
    pthread_mutex_lock(&t->lock);
    for (struct target *at = t->list; at; at = at->next) {
        if (!at->informer)
            continue;
        struct client_resource resource = {str_dup(a, at->resource.group), str_dup(a, at->resource.version),
                                           str_dup(a, at->resource.plural), str_dup(a, at->resource.kind),
                                           at->resource.namespaced};
        struct items list ITEMS_SCOPE = informer_by_owner(at->informer, uid);
        for (size_t i = 0; i < list.n; i++)
            *vec_push(a, &found) =
                (struct target_found){resource, str_dup(a, item_namespace(list.p[i])), str_dup(a, item_name(list.p[i])),
                                      str_dup(a, item_uid(list.p[i]))};
    }
    pthread_mutex_unlock(&t->lock);
    *ret = found.p;
    return found.n;
}

/* ---- Namespaces. ---- */

void targets_want_namespaces(struct targets *t)
{
    struct clock clock = t->w->options.clock;
    pthread_mutex_lock(&t->lock);
    if (!t->wants_namespaces) {
        t->wants_namespaces = true;
        t->opened = clock_mono_ns(&clock);
        post_opening(t);
    }
    pthread_mutex_unlock(&t->lock);
}

bool targets_namespaces(struct targets *t, struct arena *a, struct json **ret, size_t *ret_n, int64_t *ret_opened)
{
    targets_want_namespaces(t);
    pthread_mutex_lock(&t->lock);
    struct informer *informer = t->namespaces; /* never dropped */
    *ret_opened = t->opened;
    pthread_mutex_unlock(&t->lock);
    if (!informer || !informer_is_synced(informer))
        return false;
    struct items list ITEMS_SCOPE = informer_list(informer, (str){0});
    struct json *trees = ARENA_ARRAY(a, struct json, list.n);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        trees[n] = item_tree(a, list.p[i]);
        n += !object_is_deleting(&trees[n]);
    }
    *ret = trees;
    *ret_n = n;
    return true;
}

bool targets_namespace(struct targets *t, struct arena *a, str name, struct json *ret)
{
    targets_want_namespaces(t);
    pthread_mutex_lock(&t->lock);
    struct informer *informer = t->namespaces; /* never dropped */
    pthread_mutex_unlock(&t->lock);
    return informer && informer_read(informer, a, (str){0}, name, ret) && !object_is_deleting(ret);
}
