/* SPDX-License-Identifier: Apache-2.0 */
#include "admission/admission_internal.h"

#include "object/object.h"
#include "object/status.h"

static bool is_protected(str name)
{
    return str_eq(name, S("default")) || str_eq(name, S("kube-system")) || str_eq(name, S("kube-public"));
}

/* Nothing is created in a namespace that goes away. The write relies on what was seen here. */
static int check_stays(const struct admission_write *write, const struct json *namespace, uint64_t revision,
                       struct admission_outcome *ret)
{
    if (str_eq(json_text(json_dig(namespace, "status.phase")), S("Terminating"))) {
        struct status_subject about = {str_of(write->kind->group), str_of(write->kind->plural), step_name(write)};
        ret->status = status_namespace_terminating(write->arena, about, write->namespace);
        return ERR_FORBIDDEN;
    }
    *vec_push(write->arena, &ret->guards) = (struct admission_guard){
        .resource = S("namespaces"),
        .name = write->namespace,
        .revision = revision,
    };
    return 0;
}

int namespaces_step(const struct admission_facts *facts, const struct admission_write *write,
                    struct admission_outcome *ret)
{
    bool is_namespace = step_is(write, "", "namespaces");
    uint64_t revision;
    if (is_namespace && write->operation == ADMISSION_DELETE && is_protected(write->name))
        return step_forbid(write, S("this namespace may not be deleted"), ret);
    if (is_namespace || write->namespace.n == 0 || write->operation == ADMISSION_DELETE)
        return 0;
    const struct json *namespace =
        facts->get(facts->ctx, write->arena, (str){0}, S("namespaces"), (str){0}, write->namespace, &revision);
    if (!namespace) {
        struct status_subject about = {.kind = S("namespaces"), .name = write->namespace};
        ret->status = status_not_found(write->arena, about);
        return ERR_NOT_FOUND;
    }
    return write->operation == ADMISSION_CREATE ? check_stays(write, namespace, revision, ret) : 0;
}
