/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_crds.h"
#include "api/api_value.h"
#include "api/read.h"
#include "api/write_internal.h"
#include "kinds/strategy.h"
#include "object/conditions.h"
#include "object/object.h"

#include <assert.h>
#include <stdlib.h>

/* The effects: what an attempt came to goes to the store, and then the answer leaves. */

enum {
    MAX_STORED = 1536 * 1024, /* bytes of one object, as etcd has it */
    CLEANUP_GROWTH = 2048,    /* bytes by which a step of a deletion may make an object larger */
    CLEANUP_LIST = 64,        /* finalizers or owners that are compared */
    MAX_AT_ONCE = 16 * 1024,  /* bytes of an object that is answered without a task */
};
static const int64_t patience_ns = 34 * NS_PER_S; /* with an object that changes all the time */

bool write_begin(struct api_request *r, write_build *build, struct write **ret)
{
    struct write *w = ARENA_NEW(r->arena, struct write);
    *w = (struct write){
        .r = r,
        .api = r->api,
        .kind = r->route.kind,
        .namespace = r->route.namespace,
        .name = r->route.name,
        .subresource = r->route.subresource,
        .build = build,
        .code = 200,
    };
    *ret = w;
    bool is_one = r->route.verb != VERB_DELETECOLLECTION;
    return negotiate(r, ACCEPT_TABLE | ACCEPT_METADATA | ACCEPT_YAML, &w->accept) &&
           view_of_request(r, &w->accept, &w->view) && !(is_one && read_refuse_list_form(r, &w->accept));
}

/* ---- The answer. ---- */

static void answer(struct write *w, enum write_step last)
{
    struct api_request *r = w->r;
    struct json *object = w->has_answer ? &w->answer : &w->next;
    struct json other;
    if (last != WRITE_REFUSED && w->reshape)
        w->reshape(w, object);
    vec_each(&w->warnings, text) api_warn(r, str_dup(r->arena, *text));
    if (last != WRITE_REFUSED && w->accept.as != AS_OBJECT && !str_eq(object_kind(object), S("Status"))) {
        other = view_object(&w->view, &w->work, object);
        object = &other;
    }
    struct arena work = w->work; /* the write lives with its exchange, which ends with the answer */
    if (last == WRITE_REFUSED)
        api_refuse(r, &w->status);
    else
        api_answer(r, w->code, object);
    arena_done(&work);
}

/* The last word of a write. What it was made of goes with it. */
static void end(struct write *w, enum write_step last)
{
    if (w->ended)
        w->ended(w, last);
    else
        answer(w, last);
}

void write_refuse(struct write *w, struct json status)
{
    w->status = status;
    end(w, WRITE_REFUSED);
}

/* ---- To the store. ---- */

/* Objects of the same storage kind share a table, whatever kind they were written as. */
static struct value_parts encode(struct write *w)
{
    const struct kind *stored = strategy_storage_kind(w->kind);
    if (stored == w->kind)
        return value_encode(w->api, &w->work, w->kind, &w->next);
    struct json copy = json_dup(&w->work, &w->next);
    strategy_convert(&w->work, w->kind, stored, &copy);
    return value_encode(w->api, &w->work, stored, &copy);
}

/* An object that is too long is given up only if it is so without its record of managers. */
static bool encode_within_limit(struct write *w, struct value_parts *ret)
{
    bool is_apply = str_eq(w->patch_type, S("application/apply-patch+yaml"));
    *ret = encode(w);
    if (ret->header.n + ret->body.n <= MAX_STORED)
        return true;
    if (!is_apply && json_remove(meta_of(&w->work, &w->next), S("managedFields"))) {
        *ret = encode(w);
        if (ret->header.n + ret->body.n <= MAX_STORED)
            return true;
    }
    w->status = status_unknown(&w->work, S("etcdserver: request is too large"));
    return false;
}

static uint32_t crd_table(struct write *w)
{
    return store_table(w->api->store, S("apiextensions.k8s.io/customresourcedefinitions"));
}

/* Whether the definition of a custom kind is not the one any more that this attempt decoded and validated by. */
static bool has_other_crd(struct write *w)
{
    struct store_item crd;
    if (!(w->kind->flags & KIND_CUSTOM) || store_revision(w->api->store) == w->seen)
        return false;
    return store_get(w->api->store, crd_table(w), (str){0}, str_of(w->kind->crd), &crd, NULL) < 0 ||
           crd.revision > w->seen;
}

/* What the write relied on. A custom resource relies on its definition: none may appear behind the last one's back. */
static struct store_guard *guards(struct write *w, size_t *ret_n)
{
    struct store_guard *list = ARENA_ARRAY(&w->work, struct store_guard, w->admission.guards.n + 1);
    struct store_item crd;
    size_t n = 0;
    vec_each(&w->admission.guards, g)
    {
        str table = str_fmt(&w->work, "%.*s/%.*s", STR(g->group), STR(g->resource));
        list[n++] = (struct store_guard){store_table(w->api->store, table), g->namespace, g->name, g->revision};
    }
    uint32_t crds = crd_table(w);
    if (w->is_create && (w->kind->flags & KIND_CUSTOM) &&
        store_get(w->api->store, crds, (str){0}, str_of(w->kind->crd), &crd, NULL) == 0)
        list[n++] = (struct store_guard){crds, (str){0}, str_of(w->kind->crd), crd.revision};
    *ret_n = n;
    return list;
}

static void done(void *ctx, const struct store_result *result);
static void try_again(struct write *w);

static void give_up(struct write *w, struct json status)
{
    if (w->takes_names)
        write_crd_leave(w);
    write_refuse(w, status);
}

/* ---- Steps of deletions, which may use the space that the store keeps for them. ---- */

/* All that next has is in current, which has more. Long lists are not compared. */
static bool is_smaller_set(const struct json *next, const struct json *current)
{
    if (json_len(next) >= json_len(current) || json_len(current) > CLEANUP_LIST)
        return false;
    json_each_item(next, item)
    {
        bool is_there = false;
        json_each_item(current, other) is_there = is_there || json_equal(item, other);
        if (!is_there)
            return false;
    }
    return true;
}

/* Marking an object, removing a finalizer or an owner, and what a namespace shows while it is being deleted. None of these makes
 * an object much larger, and what is removed comes back only with a write of another kind, which is refused. */
static bool is_cleanup(const struct write *w, const struct value_parts *parts)
{
    const struct json *next = object_meta(&w->next), *current = object_meta(&w->current);
    if (w->is_cleanup)
        return true;
    if (!w->exists || w->is_create || parts->header.n + parts->body.n > w->stored_bytes + CLEANUP_GROWTH)
        return false;
    bool is_namespace = str_eq(str_of(w->kind->plural), S("namespaces")) && w->kind->group[0] == 0;
    return is_smaller_set(json_get(next, S("finalizers")), json_get(current, S("finalizers"))) ||
           is_smaller_set(json_get(next, S("ownerReferences")), json_get(current, S("ownerReferences"))) ||
           (is_namespace && object_is_deleting(&w->current));
}

/* Other CRDs may have been stored since the names were accepted; from here to the entry none can. */
static bool enter_crds(struct write *w)
{
    budget_hold();
    crds_accept_names(w->api, &w->work, &w->next);
    bool is_in = write_crd_enter(w);
    budget_release();
    return is_in;
}

/* The one door to the store. Nothing is suspended behind the checks. */
static void submit_parts(struct write *w, enum write_step step, const struct value_parts *parts)
{
    struct err err = {0};
    struct store_change *change = w->changes;
    *change = (struct store_change){
        .table = api_table(w->api, w->kind),
        .namespace = w->kind->namespaced ? w->namespace : (str){0},
        .name = w->name.n ? w->name : object_name(&w->next),
        .expect = w->revision,
        .is_delete = step == WRITE_REMOVE,
        .value = parts->header,
        .value_rest = parts->body,
    };
    struct store_write write = {.changes = change, .n_changes = 1 + w->n_companions, .done = done, .ctx = w};
    write.is_cleanup = w->is_cleanup;
    write.guards = guards(w, &write.n_guards);
    w->is_removal = step == WRITE_REMOVE;
    w->size = change->value.n + change->value_rest.n;
    if (store_submit(w->api->store, &write, &err) < 0)
        give_up(w, status_too_many_requests(&w->work, S("Too many requests, please try again later."), 1));
}

static void submit(struct write *w, enum write_step step)
{
    struct value_parts parts = {0}; /* of a removal: the event shows the object as it is stored */
    if (w->takes_names && !enter_crds(w))
        return;
    bool fits = step == WRITE_REMOVE || encode_within_limit(w, &parts);
    w->is_cleanup = step == WRITE_STORE && fits && is_cleanup(w, &parts);
    w->n_companions = step == WRITE_STORE && fits ? write_companions(w, w->changes + 1) : 0;
    if (task_is_exhausted(w->r))
        give_up(w, task_refusal(w->r, w->r->arena));
    else if (!fits)
        give_up(w, w->status);
    else if (has_other_crd(w))
        try_again(w);
    else
        submit_parts(w, step, &parts);
}

static void set_revision(struct write *w, rev revision)
{
    str text = str_fmt(&w->work, "%llu", (unsigned long long)revision);
    json_set(&w->work, meta_of(&w->work, &w->next), S("resourceVersion"), json_str(text));
}

static bool has_patience(struct write *w)
{
    const struct clock *clock = &w->api->options.clock;
    return clock_mono_ns(clock) - w->r->started < patience_ns;
}

/* What exactly is wrong with the disk, and where it is, is for the log: clients may be anybody. */
static struct json store_trouble(struct write *w, const struct store_result *result)
{
    struct err err;
    log_line_limited(w->api->options.log, &w->api->log_limits.storage, LOG_ERROR, "cannot store",
                     LOG_STR("id", w->r->id),
                     LOG_STR("error", str_of(result->message ? result->message : "no reason given")));
    err_set(&err, (enum err_code)result->code, "%s",
            result->code == ERR_NO_SPACE ? "the server has no space left to store this"
                                         : "the server cannot store this");
    return status_of_err(&w->work, &err);
}

static void try_again(struct write *w)
{
    if (has_patience(w))
        write_run(w);
    else
        write_refuse(w, status_timeout(&w->work,
                                       S("request did not complete within requested timeout - context deadline "
                                         "exceeded"),
                                       0));
}

static void run_end(struct task_step *step)
{
    struct write *w = (struct write *)((char *)step - offsetof(struct write, step));
    task_renew(w->r);
    end(w, w->last);
}

/* It is stored. The answer to a large object takes its time, too. */
static void end_stored(struct write *w)
{
    w->last = w->is_removal ? WRITE_REMOVE : WRITE_STORE;
    w->step.fn = run_end;
    if (w->ended || w->size <= MAX_AT_ONCE)
        end(w, w->last);
    else
        task_run(w->r, &w->step);
}

static void done(void *ctx, const struct store_result *result)
{
    struct write *w = ctx;
    if (w->takes_names)
        write_crd_leave(w);
    switch (result->code) {
    case 0:
        if (!w->is_removal)
            set_revision(w, result->revision);
        end_stored(w);
        return;
    case ERR_CONFLICT:
        try_again(w);
        return;
    default:
        write_refuse(w, store_trouble(w, result));
    }
}

/* ---- Attempts. ---- */

static void forget_attempt(struct write *w)
{
    arena_reset(&w->work);
    w->exists = w->is_create = w->has_answer = w->takes_names = w->is_cleanup = false;
    w->revision = 0;
    w->next = w->current = w->status = json_null();
    memset(&w->admission, 0, sizeof w->admission);
    memset(&w->warnings, 0, sizeof w->warnings);
}

static void run_attempt(struct task_step *task_step)
{
    struct write *w = (struct write *)((char *)task_step - offsetof(struct write, step));
    if (w->tries++)
        forget_attempt(w);
    task_renew(w->r);
    w->seen = store_revision(w->api->store);
    enum write_step step = w->build(w);
    if (task_is_exhausted(w->r))
        step = write_refused(w, task_refusal(w->r, w->r->arena));
    if (step == WRITE_SAME && !w->has_answer) {
        w->answer = w->current;
        w->has_answer = true;
    }
    bool is_change = step == WRITE_STORE || step == WRITE_REMOVE;
    if (is_change && !w->options.is_dry_run)
        submit(w, step);
    else
        end(w, step);
}

void write_run(struct write *w)
{
    w->step.fn = run_attempt;
    task_run(w->r, &w->step);
}

/* ==== CustomResourceDefinitions ==== */

/* What is special about writing CustomResourceDefinitions: with one store and one thread, names are accepted and the kind
 * is established in the very write that asks for it. */

bool write_is_crd(const struct kind *kind)
{
    return strcmp(kind->plural, "customresourcedefinitions") == 0 && strcmp(kind->group, "apiextensions.k8s.io") == 0;
}

/* ---- Rules that are not enforced. ---- */

static bool has_rules(const struct json *schema)
{
    json_each_member(schema, m)
    {
        if (str_eq(json_key(m), S("x-kubernetes-validations")) || has_rules(&m->val))
            return true;
    }
    json_each_item(schema, item)
    {
        if (has_rules(item))
            return true;
    }
    return false;
}

static void warn_rules(struct write *w)
{
    const struct json *versions = json_dig(&w->next, "spec.versions");
    size_t i = 0;
    json_each_item(versions, v)
    {
        if (has_rules(json_get(v, S("schema"))))
            write_warn(w, str_fmt(&w->work,
                                  "spec.versions[%zu].schema.openAPIV3Schema: x-kubernetes-validations are not "
                                  "enforced by this server",
                                  i));
        i++;
    }
}

void write_crd_settle(struct write *w)
{
    crds_accept_names(w->api, &w->work, &w->next);
    warn_rules(w);
    w->takes_names = true;
}

/* ---- One after the other, where two ask for the same name. ---- */

static void add_name(struct write *w, const struct json *name)
{
    if (json_is_str(name))
        *vec_push(w->r->arena, &w->crd_names) = str_dup(w->r->arena, json_text(name));
}

static int by_text(const void *l, const void *r)
{
    return str_cmp(*(const str *)l, *(const str *)r);
}

/* All the names it asks for, in order: those of resources and those of kinds are apart by their case. */
static void note_names(struct write *w)
{
    const struct json *names = json_dig(&w->next, "spec.names");
    static const char *const single[] = {"plural", "singular", "kind", "listKind"};
    const struct json *shorts = json_get(names, S("shortNames"));
    w->crd_group = str_dup(w->r->arena, json_text(json_dig(&w->next, "spec.group")));
    w->crd_names.n = 0;
    for (size_t i = 0; i < COUNT(single); i++)
        add_name(w, json_get(names, str_of(single[i])));
    json_each_item(shorts, name) add_name(w, name);
    if (w->crd_names.n)
        qsort(w->crd_names.p, w->crd_names.n, sizeof *w->crd_names.p, by_text);
}

static bool clash(const struct write *l, const struct write *r)
{
    if (l == r || !str_eq(l->crd_group, r->crd_group))
        return false;
    for (size_t i = 0, k = 0; i < l->crd_names.n && k < r->crd_names.n;) { /* there may be tens of thousands */
        int order = str_cmp(l->crd_names.p[i], r->crd_names.p[k]);
        if (order == 0)
            return true;
        order < 0 ? i++ : k++;
    }
    return false;
}

/* Whether one that is on its way to the store asks for a name of this one. */
static bool has_rival(const struct write *w)
{
    for (const struct write *u = w->api->crd_writes; u; u = u->next_crd)
        if (!u->is_waiting && clash(u, w))
            return true;
    return false;
}

bool write_crd_enter(struct write *w)
{
    struct write **at = &w->api->crd_writes;
    note_names(w);
    w->is_waiting = has_rival(w);
    w->next_crd = NULL;
    while (*at)
        at = &(*at)->next_crd;
    *at = w;
    return !w->is_waiting;
}

static void take_out(struct write *w)
{
    struct write **at = &w->api->crd_writes;
    while (*at != w) {
        assert(*at && "whoever leaves has entered");
        at = &(*at)->next_crd;
    }
    *at = w->next_crd;
}

/* The first that waits for nobody any more. */
static struct write *next_free(struct api *api)
{
    for (struct write *u = api->crd_writes; u; u = u->next_crd)
        if (u->is_waiting && !has_rival(u))
            return u;
    return NULL;
}

void write_crd_leave(struct write *w)
{
    struct api *api = w->api;
    take_out(w);
    for (struct write *next; (next = next_free(api));) {
        take_out(next);
        write_run(next);
    }
}

/* ---- Going. ---- */

struct json write_terminating(struct arena *a, const struct kind *kind)
{
    struct status_args args = {
        .code = ERR_METHOD_NOT_ALLOWED,
        .message = S("create not allowed while custom resource definition is terminating"),
        .about = {str_of(kind->group), str_of(kind->plural), {0}},
    };
    return status_build(a, &args);
}

bool write_crd_stays(struct write *w)
{
    const struct kind *kind = w->kind;
    if (!(kind->flags & KIND_CUSTOM))
        return true;
    const struct kind *now =
        registry_by_path(w->api->registry, str_of(kind->group), str_of(kind->version), str_of(kind->plural));
    bool is_there = now && now->namespaced == kind->namespaced;
    if (is_there && (now->verbs & VERB_CREATE))
        return true;
    w->status = is_there ? write_terminating(&w->work, kind) : status_no_such_resource(&w->work);
    return false;
}

bool write_crd_mark(struct write *w)
{
    static const struct condition terminating = {
        .type = S_INIT("Terminating"),
        .status = S_INIT("True"),
        .reason = S_INIT("InstanceDeletionPending"),
        .message = S_INIT("CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"),
    };
    struct arena *a = &w->work;
    const struct clock *clock = &w->api->options.clock;
    if (object_is_deleting(&w->next))
        return false;
    json_set(a, meta_of(a, &w->next), S("deletionTimestamp"), meta_now(a, clock));
    meta_add_finalizer(a, &w->next, CRDS_FINALIZER);
    condition_set(a, conditions_of(a, &w->next), &terminating, clock);
    return true;
}
