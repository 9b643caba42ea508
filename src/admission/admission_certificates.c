/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever signs certificates decides by who asked for one. So the request says what the server knows of its sender, it stays as
 * it was sent, and it takes the right to approve or to sign for that very signer, besides the right to write it. */
#include "admission/admission_internal.h"

#include "object/meta.h"
#include "object/object.h"

#define GROUP S("certificates.k8s.io")

static bool is_request(const struct admission_write *write)
{
    return write->operation != ADMISSION_DELETE && step_is(write, "certificates.k8s.io", "certificatesigningrequests");
}

/* ---- Who asks. ---- */

static struct json texts(struct arena *a, struct strs list)
{
    struct json v = json_arr_sized(a, list.n);
    strs_each(list, it) json_push(a, &v, json_str(*it));
    return v;
}

/* In place: the sender, whatever the object said of itself. */
static void sign_sender(struct arena *a, struct json *spec, const struct authz_identity *who)
{
    static const char *const fields[] = {"username", "uid", "groups", "extra"};
    struct json extra = json_obj();
    for (size_t i = 0; i < COUNT(fields); i++)
        json_remove(spec, str_of(fields[i]));
    for (size_t i = 0; i < who->n_extra; i++)
        json_set(a, &extra, who->extra[i].key, texts(a, who->extra[i].values));
    json_set(a, spec, S("username"), json_str(who->user));
    if (who->uid.n)
        json_set(a, spec, S("uid"), json_str(who->uid));
    if (who->groups.n)
        json_set(a, spec, S("groups"), texts(a, who->groups));
    if (extra.n)
        json_set(a, spec, S("extra"), extra);
}

int certificates_step(const struct admission_facts *facts, const struct admission_write *write,
                      struct admission_outcome *ret)
{
    (void)facts;
    (void)ret;
    if (!is_request(write))
        return 0;
    struct json *spec = json_get_mut(write->object, S("spec"));
    const struct json *was = json_get(write->current, S("spec"));
    if (write->operation == ADMISSION_UPDATE && was)
        json_set(write->arena, write->object, S("spec"), *was);
    else if (write->operation == ADMISSION_CREATE && json_is_obj(spec))
        sign_sender(write->arena, spec, write->who);
    return 0;
}

/* ---- Who decides. ---- */

static bool may(const struct admission_facts *facts, const struct admission_write *write, const char *verb, str signer)
{
    struct authz_attributes what = {
        .is_resource = true, .verb = str_of(verb), .group = GROUP, .version = S("*"), .resource = S("signers")};
    what.name = signer;
    return authz_check(facts->authz, write->who, &what, NULL).allowed;
}

/* For this signer, or for all of its domain: example.com/…  */
static int check_signer(const struct admission_facts *facts, const struct admission_write *write, const char *verb,
                        struct admission_outcome *ret)
{
    struct arena *a = write->arena;
    str signer = json_text(json_dig(write->current, "spec.signerName")), domain, path;
    str_cut(signer, '/', &domain, &path);
    if (may(facts, write, verb, signer) || may(facts, write, verb, str_fmt(a, "%.*s/*", STR(domain))))
        return 0;
    return step_forbid(
        write, str_fmt(a, "user not permitted to %s requests with signerName \"%.*s\"", verb, STR(signer)), ret);
}

static bool is_same(const struct admission_write *write, const char *path)
{
    const struct json *now = json_dig(write->object, path), *was = json_dig(write->current, path);
    if (json_is_null(now) || json_is_null(was))
        return json_is_null(now) && json_is_null(was);
    return json_equal(now, was);
}

int signers_step(const struct admission_facts *facts, const struct admission_write *write,
                 struct admission_outcome *ret)
{
    if (!is_request(write) || write->operation != ADMISSION_UPDATE)
        return 0;
    if (str_eq(write->subresource, S("approval")))
        return check_signer(facts, write, "approve", ret);
    bool is_signed = str_eq(write->subresource, S("status")) &&
                     !(is_same(write, "status.certificate") && is_same(write, "status.conditions"));
    return is_signed ? check_signer(facts, write, "sign", ret) : 0;
}
