/* SPDX-License-Identifier: Apache-2.0 */
#include "admission/admission_internal.h"

#include "object/object.h"

#define TOKEN_TYPE S("kubernetes.io/service-account-token")
#define ACCOUNT_NAME S("kubernetes.io/service-account.name")
#define MIRROR S("kubernetes.io/config.mirror")

/* The account, on which the write then relies; NULL, and a refusal, when there is none. */
static const struct json *find_account(const struct admission_facts *facts, const struct admission_write *write,
                                       str name, struct admission_outcome *ret)
{
    uint64_t revision;
    const struct json *account =
        facts->get(facts->ctx, write->arena, (str){0}, S("serviceaccounts"), write->namespace, name, &revision);
    if (account)
        return account;
    step_forbid(write,
                str_fmt(write->arena, "error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" not found",
                        STR(write->namespace), STR(name), STR(name)),
                ret);
    return NULL;
}

/* ---- Pods. ---- */

static int check_mirror(const struct admission_write *write, struct admission_outcome *ret)
{
    if (json_get_text(json_get(write->object, S("spec")), S("serviceAccountName")).n)
        return step_forbid(write, S("a mirror pod may not reference service accounts"), ret);
    return 0;
}

static int settle_pod(const struct admission_facts *facts, const struct admission_write *write,
                      struct admission_outcome *ret)
{
    struct arena *a = write->arena;
    struct json *spec = json_get_mut(write->object, S("spec"));
    if (json_get(object_annotations(write->object), MIRROR))
        return check_mirror(write, ret);
    if (!json_is_obj(spec))
        return 0; /* validation says so */
    if (json_get_text(spec, S("serviceAccountName")).n == 0)
        json_set(a, spec, S("serviceAccountName"), json_str(S("default")));
    str name = json_get_text(spec, S("serviceAccountName"));
    const struct json *account = find_account(facts, write, name, ret);
    if (!account)
        return ERR_FORBIDDEN;
    json_set(a, spec, S("serviceAccount"), json_str(name));
    const struct json *secrets = json_get(account, S("imagePullSecrets"));
    if (json_len(json_get(spec, S("imagePullSecrets"))) == 0 && json_len(secrets))
        json_set(a, spec, S("imagePullSecrets"), *secrets);
    return 0;
}

/* ---- Secrets. ---- */

/* Without a name the Secret is not valid, and validation says so. */
static int check_token(const struct admission_facts *facts, const struct admission_write *write,
                       struct admission_outcome *ret)
{
    str name = object_annotation(write->object, ACCOUNT_NAME);
    if (!str_eq(json_get_text(write->object, S("type")), TOKEN_TYPE) || name.n == 0)
        return 0;
    return find_account(facts, write, name, ret) ? 0 : ERR_FORBIDDEN;
}

int accounts_step(const struct admission_facts *facts, const struct admission_write *write,
                  struct admission_outcome *ret)
{
    if (write->operation != ADMISSION_CREATE || write->subresource.n)
        return 0;
    if (step_is(write, "", "pods"))
        return settle_pod(facts, write, ret);
    return step_is(write, "", "secrets") ? check_token(facts, write, ret) : 0;
}
