/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/personas/personas.h"

#include "base/map.h"
#include "base/vec.h"
#include "control/applyset.h"
#include "control/recorder.h"
#include "controllers/aggregation/aggregation.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "controllers/personas/personas_roles.h"
#include "object/object.h"
#include "package/dialect.h"

#include <pthread.h>
#include <stdlib.h>

#define GROUP "rbac.authorization.k8s.io"
#define ONCE S("cluster") /* the key of what there is once */

enum {
    WORKERS = 8, /* of namespaces: what several write at once is one commit to a server */
    FEW = 64,    /* namespaces whose labels are written as soon as there is another */
};

/* The labels of the defaults are as many as there are namespaces, so a write costs as much. With more than a few it waits this long
 * for each, after the one before it: what all writes cost together stays in proportion to the number of namespaces. */
#define PACE_NS INT64_C(100000)

static const struct client_resource roles = CLIENT_RESOURCE(GROUP, "v1", "clusterroles", "ClusterRole", false);
static const struct client_resource bindings =
    CLIENT_RESOURCE(GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", false);

static const struct applyset set = {
    .label_key = S_INIT(LABEL_MANAGED_BY),
    .label_value = S_INIT(LABEL_MANAGER),
    .hash_key = S_INIT(ANNOTATION_APPLIED),
    .field_manager = S_INIT(PERSONAS_FIELD_MANAGER),
};

/* Bindings of which there is one each. */
static const struct {
    const char *role, *group, *selector;
} bound[] = {
    {PERSONA_ADMIN, PERSONA_GROUP, "metadata.name=" PERSONA_ADMIN},
    {PERSONA_CRD_VIEW, "system:authenticated", "metadata.name=" PERSONA_CRD_VIEW},
};
enum { BINDINGS = COUNT(bound) };

struct personas {
    bool no_crd_view; /* --no-crd-view */
    struct control *control;
    struct informer *namespaces, *roles, *bindings[BINDINGS];
    struct controller *once, *each;
    struct recorder *recorder;
    int64_t written; /* when the labels last were; of the one worker of once */
    pthread_mutex_t lock;
    struct map managed; /* name → const struct item *, with its reference: the namespaces that have personas */
};

/* ---- From changes to keys. ---- */

static bool has_personas(const struct json *namespace)
{
    const struct json *label = json_get(object_labels(namespace), S(LABEL_MANAGED_ROLES));
    return json_is_str(label) && str_eq(json_text(label), S("true")) && !object_is_deleting(namespace);
}

size_t personas_of_namespace(struct arena *a, const struct json *was, const struct json *now, struct json **ret)
{
    if (!has_personas(now) || (was && has_personas(was)))
        return 0;
    struct json *list = ARENA_ARRAY(a, struct json, ROLES_IN_NAMESPACE);
    for (size_t i = 0; i < ROLES_IN_NAMESPACE; i++) {
        struct json role = persona_of_namespace(a, object_name(now), i);
        list[i] = applyset_render(a, &set, &role);
    }
    *ret = list;
    return ROLES_IN_NAMESPACE;
}

/* False: it was so before. */
static bool note(struct personas *p, str name, const struct item *item)
{
    pthread_mutex_lock(&p->lock);
    const struct item *was = map_del(&p->managed, name);
    if (item)
        map_set(&p->managed, item_name(item), item_ref(item));
    pthread_mutex_unlock(&p->lock);
    item_unref(was);
    return (was == NULL) != (item == NULL);
}

static void on_namespace(void *ctx, const struct informer_change *change)
{
    struct personas *p = ctx;
    str name = item_name(change->now ? change->now : change->was);
    bool is_managed = change->now && has_personas(change->tree);
    if (note(p, name, is_managed ? change->now : NULL)) {
        control_enqueue(p->once, (str){0}, ONCE);
        control_enqueue(p->each, (str){0}, name);
    }
}

static bool is_once(str name)
{
    for (size_t i = 0; i < persona_roles_n; i++)
        if (str_eq(name, str_of(persona_roles[i].name)))
            return true;
    return false;
}

/* A role that was made by somebody else, changed, or deleted; at start: one whose namespace is gone. */
static void on_role(void *ctx, const struct informer_change *change)
{
    struct personas *p = ctx;
    str name = item_name(change->now ? change->now : change->was), namespace = persona_namespace(name);
    if (namespace.n)
        control_enqueue(p->each, (str){0}, namespace);
    else if (is_once(name))
        control_enqueue(p->once, (str){0}, ONCE);
}

static void on_binding(void *ctx, const struct informer_change *change)
{
    struct personas *p = ctx;
    (void)change;
    control_enqueue(p->once, (str){0}, ONCE);
}

/* ---- Wanted and there. ---- */

typedef VEC(struct applyset_object) object_vec;

static void push(struct arena *a, object_vec *list, const struct client_resource *resource, struct json object)
{
    struct json *kept = ARENA_NEW(a, struct json);
    *kept = object;
    *vec_push(a, list) = (struct applyset_object){*resource, kept};
}

static void push_if_there(struct arena *a, object_vec *have, struct informer *informer,
                          const struct client_resource *resource, str name)
{
    struct json object;
    if (informer_read(informer, a, (str){0}, name, &object))
        push(a, have, resource, object);
}

/* A role that is not ours stands where a persona should be: people are told on about, the one thing that they look at. */
static int report(struct personas *p, const struct applyset_plan *plan, const struct json *about, struct err *err)
{
    str first = {0};
    for (size_t i = 0; i < plan->n; i++) {
        const struct applyset_step *step = &plan->p[i];
        if (step->action != APPLYSET_CONFLICT)
            continue;
        first = first.n ? first : step->text;
        recorder_event(p->recorder, about, RECORDER_WARNING, S("PersonaConflict"), step->text);
    }
    return err_set(err, ERR_ALREADY_EXISTS, "%.*s", STR(first));
}

static int carry_out(struct personas *p, struct reconcile *r, const object_vec *wants, const object_vec *have,
                     const struct json *about, struct err *err)
{
    struct applyset_plan plan = applyset_plan(r->arena, &set, wants->p, wants->n, have->p, have->n);
    int code = applyset_run(r->client, r->arena, &set, &plan, NULL, err);
    for (size_t i = 0; code == 0 && i < plan.n; i++)
        applyset_report_repair(p->control, p->recorder, r->arena, NULL, &plan.p[i]);
    return code == 0 && plan.conflicts ? report(p, &plan, about, err) : code;
}

/* ---- What there is once. ---- */

static int by_text(const void *l, const void *r)
{
    return str_cmp(*(const str *)l, *(const str *)r);
}

/* By name, so that equal sets are equal texts. */
static size_t managed_names(struct personas *p, struct arena *a, str **ret)
{
    pthread_mutex_lock(&p->lock);
    str *names = ARENA_ARRAY(a, str, p->managed.n), name;
    size_t n = 0;
    void *item;
    for (size_t at = 0; map_next(&p->managed, &at, &name, &item);)
        names[n++] = str_dup(a, name);
    pthread_mutex_unlock(&p->lock);
    if (n)
        qsort(names, n, sizeof *names, by_text);
    *ret = names;
    return n;
}

/* How long to wait until the labels may be written again. */
static int64_t pause_of(const struct personas *p, const struct reconcile *r, size_t n)
{
    int64_t since = clock_mono_ns(&r->clock) - p->written;
    int64_t pause = n > FEW && p->written ? (int64_t)n * PACE_NS : 0;
    return since < pause ? pause - since : 0;
}

static int reconcile_once(void *ctx, struct reconcile *r, struct err *err)
{
    struct personas *p = ctx;
    object_vec wants = {0}, have = {0};
    str *names;
    size_t n = managed_names(p, r->arena, &names);
    r->again_ns = pause_of(p, r, n);
    if (r->again_ns)
        return 0;
    for (size_t i = 0; i < persona_roles_n; i++) {
        push(r->arena, &wants, &roles, persona_role_object(r->arena, &persona_roles[i], names, n));
        push_if_there(r->arena, &have, p->roles, &roles, str_of(persona_roles[i].name));
    }
    for (size_t i = 0; i < BINDINGS; i++) {
        str role = str_of(bound[i].role);
        if (!p->no_crd_view || !str_eq(role, S(PERSONA_CRD_VIEW)))
            push(r->arena, &wants, &bindings, persona_binding(r->arena, role, str_of(bound[i].group)));
        push_if_there(r->arena, &have, p->bindings[i], &bindings, role);
    }
    p->written = clock_mono_ns(&r->clock);
    return carry_out(p, r, &wants, &have, wants.p[0].object, err);
}

/* ---- One namespace. ---- */

/* The roles of a namespace that is gone, goes, or has them no more, go. */
static int reconcile_each(void *ctx, struct reconcile *r, struct err *err)
{
    struct personas *p = ctx;
    object_vec wants = {0}, have = {0};
    struct json namespace = json_null();
    bool is_managed = informer_read(p->namespaces, r->arena, (str){0}, r->name, &namespace) && has_personas(&namespace);
    for (size_t i = 0; i < ROLES_IN_NAMESPACE; i++) {
        if (is_managed)
            push(r->arena, &wants, &roles, persona_of_namespace(r->arena, r->name, i));
        push_if_there(r->arena, &have, p->roles, &roles, persona_name(r->arena, r->name, i));
    }
    int code = carry_out(p, r, &wants, &have, &namespace, err);
    return code < 0 ? err_wrap(err, "keep the personas of namespace %.*s", STR(r->name)) : 0;
}

/* ---- Rules of the aggregated roles, where another process aggregates. ---- */

/* kube-controller-manager writes 20 roles a second, and three of each namespace change with a package: installs would wait for it.
 * A role of such a name that somebody else has made is left to it. */
static bool is_persona(const struct json *role)
{
    str name = object_name(role);
    return str_eq(object_label(role, set.label_key), set.label_value) && (persona_namespace(name).n || is_once(name));
}

/* ---- The row. ---- */

static void discard(void *state)
{
    struct personas *p = state;
    str name;
    void *item;
    recorder_free(p->recorder);
    for (size_t at = 0; map_next(&p->managed, &at, &name, &item);)
        item_unref(item);
    map_done(&p->managed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static void open_informers(struct personas *p, const struct controller_env *env)
{
    p->namespaces = namespaces_informer(env);
    p->roles = control_informer(env->control, &(struct informer_options){.client = env->reader, .resource = roles});
    for (size_t i = 0; i < BINDINGS; i++)
        p->bindings[i] =
            control_informer(env->control, &(struct informer_options){.client = env->reader,
                                                                      .resource = bindings,
                                                                      .field_selector = str_of(bound[i].selector)});
}

static struct controller *add_controller(struct personas *p, const struct controller_env *env, const char *name,
                                         unsigned workers,
                                         int (*reconcile)(void *ctx, struct reconcile *r, struct err *err))
{
    struct informer *needs[2 + BINDINGS] = {p->namespaces, p->roles};
    memcpy(needs + 2, p->bindings, sizeof p->bindings);
    return control_add(env->control, &(struct controller_options){.name = name,
                                                                  .client = env->client,
                                                                  .workers = workers,
                                                                  .reconcile = reconcile,
                                                                  .ctx = p,
                                                                  .needs = needs,
                                                                  .n_needs = 2 + BINDINGS});
}

static int add(const struct controller_env *env, struct err *err)
{
    (void)err;
    struct personas *p = xcalloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->control = env->control;
    p->recorder = recorder_new(&(struct recorder_options){
        .loop = env->loop, .client = env->client, .clock = env->clock, .component = S("reeve-personas")});
    p->no_crd_view = env->no_crd_view;
    control_own(env->control, p, discard);
    open_informers(p, env);
    p->once = add_controller(p, env, "personas", 1, reconcile_once);
    p->each = add_controller(p, env, "namespace-personas", WORKERS, reconcile_each);
    informer_add_handler(p->namespaces, &(struct informer_handler){.changed = on_namespace, .ctx = p});
    informer_add_handler(p->roles, &(struct informer_handler){.changed = on_role, .ctx = p});
    for (size_t i = 0; i < BINDINGS; i++)
        informer_add_handler(p->bindings[i], &(struct informer_handler){.changed = on_binding, .ctx = p});
    control_enqueue(p->once, (str){0}, ONCE);
    if (env->has_aggregation)
        return 0;
    return aggregation_add_for(
        env, &(struct aggregation_scope){.controller = "persona-aggregation", .is_included = is_persona});
}

/* escalate: the roles grant what this account does not have itself, and an aggregated one could come to grant anything. bind: of
 * the roles that it binds. */
const struct controller_row personas_row = {
    .name = "personas",
    .account = "personas-controller",
    .summary = "keeps the roles that people are bound to",
    .rights = {"list,watch::namespaces", "create,delete,escalate,list,patch,watch:" GROUP ":clusterroles",
               "bind:" GROUP ":clusterroles:" PERSONA_ADMIN "," PERSONA_CRD_VIEW,
               "create:" GROUP ":clusterrolebindings", "list,patch,watch:" GROUP ":clusterrolebindings:" PERSONA_ADMIN,
               "delete,list,patch,watch:" GROUP ":clusterrolebindings:" PERSONA_CRD_VIEW, "create,patch::events"},
    .add = add,
};
