/* SPDX-License-Identifier: Apache-2.0 */
/* An owner reference with blockOwnerDeletion holds up the deletion of its owner: only those may set one who could hold it up
 * with a finalizer too. And references decide when an object is deleted, so changing them takes the right to delete it. */
#include "admission/admission_internal.h"

#include "base/budget.h"
#include "object/object.h"

static bool same_owners(const struct json *x, const struct json *y)
{
    if (json_len(x) == 0 && json_len(y) == 0)
        return true;
    return x && y && json_equal(x, y);
}

static bool blocks(const struct json *ref)
{
    return json_true(json_get(ref, S("blockOwnerDeletion")));
}

/* Whether the reference to this owner held its deletion up before. */
static bool blocked_before(const struct map *before, const struct json *ref)
{
    const struct json *old = map_get(before, json_get_text(ref, S("uid")));
    return old && blocks(old);
}

static int check_delete(const struct admission_facts *facts, const struct admission_write *write,
                        struct admission_outcome *ret)
{
    struct authz_attributes what = {
        .is_resource = true,
        .verb = S("delete"),
        .group = str_of(write->kind->group),
        .version = str_of(write->kind->version),
        .resource = str_of(write->kind->plural),
        .subresource = write->subresource,
        .namespace = write->namespace,
        .name = write->name,
    };
    struct authz_decision decision = authz_check(facts->authz, write->who, &what, write->arena);
    if (decision.allowed)
        return 0;
    return step_forbid(write,
                       str_fmt(write->arena, "cannot set an ownerRef on a resource you can't delete: %.*s, <nil>",
                               STR(decision.reason)),
                       ret);
}

static int check_block(const struct admission_facts *facts, const struct admission_write *write, const struct json *ref,
                       struct admission_outcome *ret)
{
    budget_charge(30);
    str version = object_api_version(ref), kind_name = object_kind(ref);
    const struct kind *kind = facts->kind_of(facts->ctx, version, kind_name);
    if (!kind)
        return step_forbid(
            write,
            str_fmt(write->arena,
                    "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %.*s "
                    "Kind %.*s: no matches for kind \"%.*s\" in version \"%.*s\"",
                    STR(version), STR(kind_name), STR(kind_name), STR(version)),
            ret);
    struct authz_attributes what = {
        .is_resource = true,
        .verb = S("update"),
        .group = str_of(kind->group),
        .version = str_of(kind->version),
        .resource = str_of(kind->plural),
        .subresource = S("finalizers"),
        .namespace = kind->namespaced ? write->namespace : (str){0},
        .name = json_get_text(ref, S("name")),
    };
    struct authz_decision decision = authz_check(facts->authz, write->who, &what, write->arena);
    if (decision.allowed)
        return 0;
    return step_forbid(write,
                       str_fmt(write->arena,
                               "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set "
                               "finalizers on: %.*s, <nil>",
                               STR(decision.reason)),
                       ret);
}

int owners_step(const struct admission_facts *facts, const struct admission_write *write, struct admission_outcome *ret)
{
    const struct json *owners = object_owners(write->object), *old = object_owners(write->current);
    bool is_pod_status = step_is(write, "", "pods") && str_eq(write->subresource, S("status"));
    struct map before = {0};
    int rc = 0;
    if (write->operation == ADMISSION_DELETE || is_pod_status || same_owners(owners, old))
        return 0;
    if (write->operation == ADMISSION_UPDATE && (rc = check_delete(facts, write, ret)) < 0)
        return rc;
    json_each_item(old, ref) map_set(&before, json_get_text(ref, S("uid")), (void *)(uintptr_t)ref);
    json_each_item(owners, ref)
    {
        if (rc == 0 && blocks(ref) && !blocked_before(&before, ref))
            rc = check_block(facts, write, ref, ret);
    }
    map_done(&before);
    return rc;
}
