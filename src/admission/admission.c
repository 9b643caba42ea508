/* SPDX-License-Identifier: Apache-2.0 */
#include "admission/admission.h"

#include "admission/admission_internal.h"
#include "object/object.h"
#include "object/status.h"

static admission_step *const mutating[] = {namespaces_step, requester_step,   accounts_step,
                                           priorities_step, aggregation_step, certificates_step};
static admission_step *const validating[] = {owners_step,    signers_step,           priority_classes_step,
                                             approvals_step, install_approvals_step, executors_step};

static int run(admission_step *const *steps, size_t n, const struct admission_facts *facts,
               const struct admission_write *write, struct admission_outcome *ret)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = steps[i](facts, write, ret);
    return rc;
}

int admission_mutate(const struct admission_facts *facts, struct admission_write *write, struct admission_outcome *ret)
{
    return run(mutating, COUNT(mutating), facts, write, ret);
}

int admission_validate(const struct admission_facts *facts, const struct admission_write *write,
                       struct admission_outcome *ret)
{
    return run(validating, COUNT(validating), facts, write, ret);
}

/* ---- What the steps share. ---- */

str step_name(const struct admission_write *write)
{
    str name = write->name.n ? write->name : object_name(write->object);
    str base = json_get_text(object_meta(write->object), S("generateName"));
    return name.n ? name : base.n ? base : S("Unknown");
}

bool step_is(const struct admission_write *write, const char *group, const char *plural)
{
    return strcmp(write->kind->group, group) == 0 && strcmp(write->kind->plural, plural) == 0;
}

int step_forbid(const struct admission_write *write, str why, struct admission_outcome *ret)
{
    struct status_subject about = {str_of(write->kind->group), str_of(write->kind->plural), step_name(write)};
    ret->status = status_forbidden(write->arena, about, why);
    return ERR_FORBIDDEN;
}
