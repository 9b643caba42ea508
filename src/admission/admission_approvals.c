/* SPDX-License-Identifier: Apache-2.0 */
/* Who may approve, so that an annotation can be believed:
 *
 *   ClusterPermission   its approval, or what the status says about it, is changed by users with the verb `approve` only
 *   install             its approval is set only to what status.pendingApproval asks for, by a user who holds all of the access
 *                       listed there; to anything else by a user who holds everything. Anybody who may write the install may take an
 *                       approval away: that grants nothing. */
#include "admission/admission_internal.h"

#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

static bool is_same(const struct json *was, const struct json *now)
{
    return json_is_null(was) || json_is_null(now) ? json_is_null(was) && json_is_null(now) : json_equal(was, now);
}

/* ---- ClusterPermissions. ---- */

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

/* ---- Installs. ---- */

static bool holds(const struct admission_facts *facts, const struct admission_write *write, const struct json *access)
{
    struct authz_attributes what = {.is_resource = true,
                                    .verb = json_get_text(access, S("verb")),
                                    .group = json_get_text(access, S("group")),
                                    .resource = json_get_text(access, S("resource")),
                                    .subresource = json_get_text(access, S("subresource")),
                                    .name = json_get_text(access, S("name"))};
    return what.verb.n && what.resource.n && authz_check(facts->authz, write->who, &what, NULL).allowed;
}

static int forbid_missing(const struct admission_write *write, const struct json *access, struct admission_outcome *ret)
{
    str verb = json_get_text(access, S("verb")), resource = json_get_text(access, S("resource")),
        group = json_get_text(access, S("group")), sub = json_get_text(access, S("subresource"));
    return step_forbid(write,
                       str_fmt(write->arena,
                               "approving this install takes the access that it needs: user \"%.*s\" cannot %.*s "
                               "resource \"%.*s%s%.*s\" in API group \"%.*s\" at the cluster scope",
                               STR(write->who->user), STR(verb), STR(resource), sub.n ? "/" : "", STR(sub), STR(group)),
                       ret);
}

static int check_approver(const struct admission_facts *facts, const struct admission_write *write, str id,
                          struct admission_outcome *ret)
{
    const struct json *pending = json_get(json_get(write->current, S("status")), S("pendingApproval"));
    const struct json *access = json_get(pending, S("access"));
    struct json everything = json_obj();
    json_add(write->arena, &everything, S("verb"), json_str(S("*")));
    json_add(write->arena, &everything, S("group"), json_str(S("*")));
    json_add(write->arena, &everything, S("resource"), json_str(S("*")));
    if (holds(facts, write, &everything))
        return 0;
    if (!str_eq(json_get_text(pending, S("id")), id) || json_len(access) == 0)
        return step_forbid(write, str_fmt(write->arena, "no approval \"%.*s\" is pending for this install", STR(id)),
                           ret);
    json_each_item(access, one)
    {
        if (!holds(facts, write, one))
            return forbid_missing(write, one, ret);
    }
    return 0;
}

int install_approvals_step(const struct admission_facts *facts, const struct admission_write *write,
                           struct admission_outcome *ret)
{
    str group = str_of(write->kind->group);
    bool is_install = (str_eq(group, S("packages.crossplane.io")) || str_eq(group, S("stacks.crossplane.io"))) &&
                      str_has_suffix(str_of(write->kind->plural), S("installs"));
    if (!is_install || write->operation == ADMISSION_DELETE)
        return 0;
    str annotation = str_fmt(write->arena, "%.*s/approved", STR(group));
    const struct json *was = json_get(object_annotations(write->current), annotation);
    const struct json *now = json_get(object_annotations(write->object), annotation);
    if (json_is_null(now) || is_same(was, now))
        return 0;
    return check_approver(facts, write, json_text(now), ret);
}
