/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/owners.h"

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

/* An owner that is gone owns nothing. */
static bool is_alive(struct visit *v, const struct json *ref)
{
    const struct item *item = informer_get(v->w->applied, (str){0}, json_get_text(ref, S("name")));
    bool is_there = item && str_eq(item_uid(item), json_get_text(ref, S("uid")));
    item_unref(item);
    return is_there;
}

struct owners owners_read(struct visit *v, const struct json *object)
{
    struct owners owners = {0};
    json_each_item(object_owners(object), ref)
    {
        if (is_ours(v, ref)) {
            owners.is_ours = true;
        } else if (is_applied_work(ref) && is_alive(v, ref)) {
            if (!owners.is_ours && !owners.leader.n)
                owners.leader = json_get_text(ref, S("name"));
            owners.has_others = true;
        }
    }
    return owners;
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
    return is_named != item->is_orphaned;
}

struct json owners_next(struct visit *v, const struct work_item *item, const struct json *object, bool is_first)
{
    struct json list = json_arr(), ours = meta_owner_reference(v->a, &v->applied, false, false);
    bool is_named = item->is_orphaned;
    json_remove(&ours, S("controller"));
    json_remove(&ours, S("blockOwnerDeletion"));
    if (is_first && !item->is_orphaned)
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
