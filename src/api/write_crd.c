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
