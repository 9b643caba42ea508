/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_patch.h"

#include "object/object.h"

static struct json with_metadata(struct arena *a, struct json metadata)
{
    struct json patch = json_obj();
    json_add(a, &patch, S("metadata"), metadata);
    return patch;
}

/* The object as it was read, and no other, and no later. */
static struct json condition(struct arena *a, const struct json *live)
{
    struct json metadata = json_obj();
    json_add(a, &metadata, S("uid"), json_str(object_uid(live)));
    json_add(a, &metadata, S("resourceVersion"), json_str(object_rv(live)));
    return metadata;
}

/* In a merge patch null takes the field away; an empty list would stay. */
static struct json list_or_null(struct json list)
{
    return json_len(&list) ? list : json_null();
}

/* ---- References. ---- */

struct json patch_owners_strategic(struct arena *a, str uid, struct uids owners)
{
    struct json list = json_arr_sized(a, owners.n);
    for (size_t i = 0; i < owners.n; i++) {
        struct json item = json_obj();
        json_add(a, &item, S("$patch"), json_str(S("delete")));
        json_add(a, &item, S("uid"), json_str(owners.p[i]));
        json_push(a, &list, item);
    }
    struct json metadata = json_obj();
    json_add(a, &metadata, S("uid"), json_str(uid));
    json_add(a, &metadata, S("ownerReferences"), list);
    return with_metadata(a, metadata);
}

struct json patch_owners_merge(struct arena *a, const struct json *live, struct uids owners)
{
    struct map going = {0};
    for (size_t i = 0; i < owners.n; i++)
        map_set(&going, owners.p[i], (void *)&owners.p[i]);
    struct json list = json_arr();
    json_each_item(object_owners(live), ref)
    {
        if (!map_get(&going, json_get_text(ref, S("uid"))))
            json_push(a, &list, *ref);
    }
    map_done(&going);
    struct json metadata = condition(a, live);
    json_add(a, &metadata, S("ownerReferences"), list_or_null(list));
    return with_metadata(a, metadata);
}

static struct json unblocked(struct arena *a, const struct json *ref)
{
    struct json changed = json_dup_top(a, ref);
    json_set(a, &changed, S("blockOwnerDeletion"), json_bool(false));
    return changed;
}

bool patch_unblock_strategic(struct arena *a, const struct json *live, struct json *ret)
{
    struct json list = json_arr();
    json_each_item(object_owners(live), ref)
    {
        if (json_true(json_get(ref, S("blockOwnerDeletion"))))
            json_push(a, &list, unblocked(a, ref));
    }
    if (json_len(&list) == 0)
        return false;
    struct json metadata = json_obj();
    json_add(a, &metadata, S("uid"), json_str(object_uid(live)));
    json_add(a, &metadata, S("ownerReferences"), list);
    *ret = with_metadata(a, metadata);
    return true;
}

bool patch_unblock_merge(struct arena *a, const struct json *live, struct json *ret)
{
    bool blocks = false;
    struct json list = json_arr();
    json_each_item(object_owners(live), ref)
    {
        bool does = json_true(json_get(ref, S("blockOwnerDeletion")));
        json_push(a, &list, does ? unblocked(a, ref) : *ref);
        blocks |= does;
    }
    if (!blocks)
        return false;
    struct json metadata = condition(a, live);
    json_add(a, &metadata, S("ownerReferences"), list);
    *ret = with_metadata(a, metadata);
    return true;
}

/* ---- Finalizers. ---- */

bool patch_finalizer(struct arena *a, const struct json *live, str finalizer, struct json *ret)
{
    if (!object_has_finalizer(live, finalizer))
        return false;
    struct json list = json_arr();
    json_each_item(object_finalizers(live), f)
    {
        if (!str_eq(json_text(f), finalizer))
            json_push(a, &list, *f);
    }
    struct json metadata = condition(a, live);
    json_add(a, &metadata, S("finalizers"), list_or_null(list));
    *ret = with_metadata(a, metadata);
    return true;
}
