/* SPDX-License-Identifier: Apache-2.0 */
/* CertificateSigningRequest: who approves does not sign, who signs does not approve, and neither takes anything back. */
#include "kinds/strategy_internal.h"

#include "object/object.h"

static const str at = S_INIT("status.conditions");

/* Those of one type, in their order. */
static struct json conditions(struct arena *a, const struct json *object, const char *type)
{
    struct json found = json_arr();
    const struct json *list = json_dig(object, "status.conditions");
    json_each_item(list, it)
    {
        if (str_eq(json_get_text(it, S("type")), str_of(type)))
            json_push(a, &found, *it);
    }
    return found;
}

static void check_kept(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const types[] = {"Approved", "Denied", "Failed"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct json now = conditions(errs->arena, object, types[i]), was = conditions(errs->arena, current, types[i]);
        if (now.n < was.n)
            field_error_add(errs, FIELD_FORBIDDEN, at, (str){0}, "updates may not remove a condition of type \"%s\"",
                            types[i]);
    }
}

static void check_not_decided(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const types[] = {"Approved", "Denied"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct json now = conditions(errs->arena, object, types[i]), was = conditions(errs->arena, current, types[i]);
        if (now.n > was.n || (now.n == was.n && !json_equal(&now, &was)))
            field_error_add(errs, FIELD_FORBIDDEN, at, (str){0}, "updates may not %s a condition of type \"%s\"",
                            now.n > was.n ? "add" : "modify", types[i]);
    }
}

static void validate_status(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *now = json_dig(object, "status.certificate"), *was = json_dig(current, "status.certificate");
    check_kept(errs, object, current);
    check_not_decided(errs, object, current);
    if (json_text(was).n && !str_eq(json_text(now), json_text(was)))
        field_error_add(errs, FIELD_FORBIDDEN, S("status.certificate"), (str){0},
                        "updates may not modify existing certificate content");
}

void strategy_check_approval(struct field_errors *errs, const struct json *object, const struct json *current)
{
    const struct json *list = json_dig(object, "status.conditions");
    bool is_approved = false, is_denied = false;
    json_each_item(list, it)
    {
        str type = json_get_text(it, S("type"));
        bool says_yes = str_eq(type, S("Approved")), says_no = str_eq(type, S("Denied"));
        if ((says_yes && is_denied) || (says_no && is_approved)) {
            str item = field_index(errs->arena, at, (size_t)(it - list->items));
            field_error_add(errs, FIELD_INVALID, field_child(errs->arena, item, S("type")),
                            field_quote(errs->arena, type), "Approved and Denied conditions are mutually exclusive");
        }
        is_approved |= says_yes;
        is_denied |= says_no;
    }
    check_kept(errs, object, current);
}

static const struct strategy rows[] = {
    {
        .group = "certificates.k8s.io",
        .kind = "CertificateSigningRequest",
        .validate_status = validate_status,
    },
};
STRATEGIES(strategies_certificates, rows);
