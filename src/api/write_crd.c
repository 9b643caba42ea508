/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about writing CustomResourceDefinitions: with one store and one thread, names are accepted and the kind
 * is established in the very write that asks for it. */
#include "api/write_parts.h"

#include "api/crds.h"
#include "object/conditions.h"
#include "object/object.h"

#include <assert.h>
#include <stdlib.h>

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
