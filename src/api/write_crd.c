/* SPDX-License-Identifier: Apache-2.0 */
/* What is special about writing CustomResourceDefinitions: with one store and one thread, names are accepted and the kind
 * is established in the very write that asks for it. */
#include "api/write_parts.h"

#include "api/crds.h"
#include "object/conditions.h"
#include "object/object.h"

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

/* ---- One after the other. ---- */

static struct write **find(struct api *api, str group, bool is_waiting)
{
    struct write **at = &api->crd_writes;
    while (*at && ((*at)->is_waiting != is_waiting || !str_eq((*at)->crd_group, group)))
        at = &(*at)->next_crd;
    return at;
}

bool write_crd_enter(struct write *w)
{
    struct write **at = &w->api->crd_writes;
    w->crd_group = str_dup(w->r->arena, json_text(json_dig(&w->next, "spec.group")));
    w->is_waiting = *find(w->api, w->crd_group, false) != NULL;
    w->next_crd = NULL;
    while (*at)
        at = &(*at)->next_crd;
    *at = w;
    return !w->is_waiting;
}

void write_crd_leave(struct write *w)
{
    struct api *api = w->api;
    str group = w->crd_group;
    struct write **at = &api->crd_writes;
    while (*at != w)
        at = &(*at)->next_crd;
    *at = w->next_crd;
    /* Those who wait are asked in turn until one goes to the store; some find that there is nothing to do any more. */
    while (*find(api, group, false) == NULL && *(at = find(api, group, true)) != NULL) {
        struct write *next = *at;
        *at = next->next_crd;
        write_run(next);
    }
}

/* ---- Going. ---- */

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
