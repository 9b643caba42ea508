/* SPDX-License-Identifier: Apache-2.0 */
/* An install is carried out with the rights of the server, within what its requester may do; what a ClusterPermission grants may
 * have to be held by who asked for it. So the object must say who that is, and nobody but the server may write it: whoever asks
 * for something new is the requester from then on, and changes of anything else leave the note as it is. */
#include "admission/admission_internal.h"

#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

static const struct {
    const char *group, *plural, *annotation;
} noted[] = {
    {"packages.crossplane.io", "clusterpackageinstalls", "packages.crossplane.io/requester"},
    {"packages.crossplane.io", "packageinstalls", "packages.crossplane.io/requester"},
    {FLEET_PERMISSION_GROUP, "clusterpermissions", FLEET_ANNOTATION_REQUESTER},
    {"stacks.crossplane.io", "clusterstackinstalls", "stacks.crossplane.io/requester"},
    {"stacks.crossplane.io", "stackinstalls", "stacks.crossplane.io/requester"},
};

static const char *annotation_of(const struct admission_write *write)
{
    for (size_t i = 0; i < COUNT(noted); i++) {
        if (step_is(write, noted[i].group, noted[i].plural))
            return noted[i].annotation;
    }
    return NULL;
}

/* {"user":"jane","uid":"…","groups":["dev"]} */
static str describe(struct arena *a, const struct authz_identity *who)
{
    struct json note = json_obj(), groups = json_arr();
    struct buf b = {.arena = a};
    json_add(a, &note, S("user"), json_str(who->user));
    if (who->uid.n)
        json_add(a, &note, S("uid"), json_str(who->uid));
    strs_each(who->groups, group) json_push(a, &groups, json_str(*group));
    json_add(a, &note, S("groups"), groups);
    json_encode(&b, &note, 0);
    return buf_str(&b);
}

static struct json *annotations_of(struct arena *a, struct json *object)
{
    struct json *meta = meta_of(a, object), *annotations = json_get_mut(meta, S("annotations"));
    return json_is_obj(annotations) ? annotations : json_set(a, meta, S("annotations"), json_obj());
}

static void put(const struct admission_write *write, str annotation, str value)
{
    json_set(write->arena, annotations_of(write->arena, write->object), annotation, json_str(value));
}

static bool asks_for_the_same(const struct admission_write *write)
{
    const struct json *now = json_get(write->object, S("spec")), *was = json_get(write->current, S("spec"));
    return (json_is_null(now) && json_is_null(was)) || (now && was && json_equal(now, was));
}

int requester_step(const struct admission_facts *facts, const struct admission_write *write,
                   struct admission_outcome *ret)
{
    (void)facts;
    (void)ret;
    const char *name = annotation_of(write);
    if (!name || write->operation == ADMISSION_DELETE)
        return 0;
    str annotation = str_of(name);
    bool is_status = write->subresource.n > 0;
    if (write->operation == ADMISSION_CREATE || (!is_status && !asks_for_the_same(write)))
        put(write, annotation, describe(write->arena, write->who));
    else if (json_get(object_annotations(write->current), annotation))
        put(write, annotation, object_annotation(write->current, annotation));
    else if (json_get(object_annotations(write->object), annotation))
        json_remove(annotations_of(write->arena, write->object), annotation);
    return 0;
}
