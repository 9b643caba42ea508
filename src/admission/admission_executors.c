/* SPDX-License-Identifier: Apache-2.0 */
/* A ManifestWork is carried out with the permissions of its executor on the managed cluster or, if it names none, with those of
 * the agent. So whoever creates one or changes its spec needs the verb execute-as on the executor, and on the one that it had:
 * what a work delivered so far is removed by changing it. */
#include "admission/admission_internal.h"

#include "object/fleet.h"
#include "object/object.h"

static const struct json *spec_of(const struct json *work)
{
    return json_get(work, S("spec"));
}

static bool has_same_spec(const struct admission_write *write)
{
    const struct json *was = spec_of(write->current), *now = spec_of(write->object);
    return write->current &&
           (json_is_null(was) || json_is_null(now) ? json_is_null(was) && json_is_null(now) : json_equal(was, now));
}

/* As ServiceAccounts are called; one whose parts are missing is the name of nobody. */
static str executor_of(struct arena *a, const struct json *work)
{
    const struct json *executor = json_get(spec_of(work), S("executor"));
    const struct json *account = json_dig(executor, "subject.serviceAccount");
    if (json_is_null(executor))
        return S(FLEET_EXECUTOR);
    return str_fmt(a, "system:serviceaccount:%.*s:%.*s", STR(json_get_text(account, S("namespace"))),
                   STR(json_get_text(account, S("name"))));
}

static bool may_execute_as(const struct admission_facts *facts, const struct admission_write *write, str executor)
{
    struct authz_attributes what = {.is_resource = true,
                                    .verb = S("execute-as"),
                                    .group = S(FLEET_WORK_GROUP),
                                    .version = str_of(write->kind->version),
                                    .resource = S("manifestworks"),
                                    .namespace = write->namespace,
                                    .name = executor};
    return authz_check(facts->authz, write->who, &what, NULL).allowed;
}

int executors_step(const struct admission_facts *facts, const struct admission_write *write,
                   struct admission_outcome *ret)
{
    if (write->operation == ADMISSION_DELETE || write->subresource.n ||
        !step_is(write, FLEET_WORK_GROUP, "manifestworks") || has_same_spec(write))
        return 0;
    const struct json *works[] = {write->current, write->object};
    for (size_t i = 0; i < COUNT(works); i++) {
        str executor = works[i] ? executor_of(write->arena, works[i]) : (str){0};
        if (works[i] && !may_execute_as(facts, write, executor))
            return step_forbid(write,
                               str_fmt(write->arena,
                                       "user \"%.*s\" cannot manipulate the Manifestwork with executor \"%.*s\" in "
                                       "namespace \"%.*s\": it needs the verb execute-as on manifestworks of that name",
                                       STR(write->who->user), STR(executor), STR(write->namespace)),
                               ret);
    }
    return 0;
}
