/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_owners.h"

#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

static bool is_applied_work(const struct json *ref)
{
    str group, version;
    return str_eq(json_get_text(ref, S("kind")), S("AppliedManifestWork")) &&
           str_cut(json_get_text(ref, S("apiVersion")), '/', &group, &version) && str_eq(group, S(FLEET_WORK_GROUP));
}

static bool is_ours(struct visit *v, const struct json *ref)
{
    return is_applied_work(ref) && str_eq(json_get_text(ref, S("name")), v->applied_name);
}

/* An owner that is gone owns nothing. An empty uid stands for any. */
static bool is_alive(struct visit *v, str name, str uid)
{
    const struct item *item = informer_get(v->w->applied, (str){0}, name);
    bool is_there = item && (!uid.n || str_eq(item_uid(item), uid));
    item_unref(item);
    return is_there;
}

/* The consent of who owns the object: it has to stand on the object itself. */
static bool is_consenting(const struct json *object)
{
    return str_eq(object_annotation(object, S(FLEET_ANNOTATION_ADOPT)), S("true")) &&
           !str_eq(object_label(object, S(FLEET_LABEL_DELIVERED)), S("true"));
}

struct owners owners_read(struct visit *v, const struct json *object)
{
    struct owners owners = {0};
    json_each_item(object_owners(object), ref)
    {
        if (is_ours(v, ref)) {
            owners.is_ours = true;
        } else if (is_applied_work(ref) && is_alive(v, json_get_text(ref, S("name")), json_get_text(ref, S("uid")))) {
            if (!owners.is_ours && !owners.leader.n)
                owners.leader = json_get_text(ref, S("name"));
            owners.has_others = true;
        }
    }
    owners.is_adoptable = !owners.is_ours && !owners.has_others && is_consenting(object);
    str adopter = object_annotation(object, S(FLEET_ANNOTATION_ADOPTED_BY));
    if (owners.is_adoptable && adopter.n && !str_eq(adopter, v->applied_name) && is_alive(v, adopter, (str){0}))
        owners.leader = adopter;
    return owners;
}

static bool is_owned(const struct work_item *item)
{
    return !item->is_orphaned && !item->is_adopted;
}

bool owners_are_right(struct visit *v, const struct work_item *item, const struct json *object)
{
    bool is_named = false;
    json_each_item(object_owners(object), ref)
    {
        if (!is_ours(v, ref))
            continue;
        if (!str_eq(json_get_text(ref, S("uid")), object_uid(&v->applied)))
            return false;
        is_named = true;
    }
    return is_named == is_owned(item);
}

struct json owners_next(struct visit *v, const struct work_item *item, const struct json *object, bool is_first)
{
    struct json list = json_arr(), ours = meta_owner_reference(v->a, &v->applied, false, false);
    bool is_named = !is_owned(item);
    json_remove(&ours, S("controller"));
    json_remove(&ours, S("blockOwnerDeletion"));
    if (is_first && is_owned(item))
        json_push(v->a, &list, ours);
    is_named |= is_first;
    json_each_item(object_owners(object), ref)
    {
        bool is_own = is_ours(v, ref);
        if (!is_own)
            json_push(v->a, &list, *ref);
        else if (!is_named)
            json_push(v->a, &list, ours);
        is_named |= is_own;
    }
    if (!is_named)
        json_push(v->a, &list, ours);
    return list;
}

bool owners_are_siblings(struct visit *v, str other)
{
    str work;
    struct json sibling;
    if (!applied_work_of(v->w, other, &work) ||
        !informer_read(v->w->works, v->a, v->w->options.cluster, work, &sibling))
        return false;
    const struct json *mine = meta_controller_of(&v->work), *its = meta_controller_of(&sibling);
    return mine && its && str_eq(json_get_text(mine, S("uid")), json_get_text(its, S("uid")));
}
