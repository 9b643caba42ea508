/* SPDX-License-Identifier: Apache-2.0 */
/* A ClusterPermission that grants more than its author holds waits for somebody else's approval. So nobody may approve, or take an
 * approval back, or tell in the status that there is one, without the right to do just that. */
#include "admission/steps.h"

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

static bool is_same(const struct json *was, const struct json *now)
{
    return json_is_null(was) || json_is_null(now) ? json_is_null(was) && json_is_null(now) : json_equal(was, now);
}

static const struct json *annotation_of(const struct json *object)
{
    return json_get(object_annotations(object), S(FLEET_ANNOTATION_APPROVED));
}

static const struct json *verdict_of(const struct json *object)
{
    return condition_find(json_dig(object, "status.conditions"), S("Approved"));
}

/* What the part of the object that this request writes says about it. */
static bool leaves_approval(const struct admission_write *write)
{
    if (str_eq(write->subresource, S("status")))
        return is_same(verdict_of(write->current), verdict_of(write->object));
    return is_same(annotation_of(write->current), annotation_of(write->object));
}

static bool may_approve(const struct admission_facts *facts, const struct admission_write *write)
{
    struct authz_attributes what = {.is_resource = true,
                                    .verb = S("approve"),
                                    .group = S(FLEET_PERMISSION_GROUP),
                                    .version = str_of(write->kind->version),
                                    .resource = S("clusterpermissions"),
                                    .namespace = write->namespace,
                                    .name = write->name.n ? write->name : object_name(write->object)};
    return authz_check(facts->authz, write->who, &what, NULL).allowed;
}

int approvals_step(const struct admission_facts *facts, const struct admission_write *write,
                   struct admission_outcome *ret)
{
    if (write->operation == ADMISSION_DELETE || !step_is(write, FLEET_PERMISSION_GROUP, "clusterpermissions") ||
        leaves_approval(write) || may_approve(facts, write))
        return 0;
    return step_forbid(write, S("to change its approval takes the right to approve clusterpermissions"), ret);
}
