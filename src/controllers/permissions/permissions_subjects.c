/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_draft.h"

#include "authz/validate.h"
#include "controllers/permissions/permissions_text.h"
#include "object/fleet.h"

/* Answers of has_account, as values of a map. */
static const bool account_present = true, account_missing = false;

static bool is_account(const struct json *subject)
{
    return str_eq(json_get_text(subject, S("apiGroup")), S(FLEET_ACCOUNT_GROUP)) &&
           str_eq(json_get_text(subject, S("kind")), S("ManagedServiceAccount"));
}

/* The list if it has any, else the single one; null: neither. */
static struct json subjects_of(struct arena *a, const struct json *binding)
{
    const struct json *list = json_get(binding, S("subjects")), *single = json_get(binding, S("subject"));
    if (json_len(list) || json_is_null(single))
        return json_is_arr(list) ? *list : json_null();
    struct json one = json_arr_sized(a, 1);
    json_push(a, &one, *single);
    return one;
}

/* ---- ManagedServiceAccounts. ---- */

static void note_account(struct permission_draft *d, str name)
{
    if (map_get(&d->accounts, name))
        return;
    bool is_there = d->facts->has_account(d->facts->ctx, name);
    map_set(&d->accounts, name, (void *)(is_there ? &account_present : &account_missing));
    if (!is_there)
        *vec_push(d->a, &d->missing) = name;
}

void permission_note_accounts(struct permission_draft *d, const struct json *binding)
{
    struct json list = subjects_of(d->a, binding);
    json_each_item(&list, subject)
    {
        if (is_account(subject))
            note_account(d, json_get_text(subject, S("name")));
    }
}

str permission_account_namespace(const struct json *addon, bool has_agent)
{
    str told = json_get_text(json_get(addon, S("status")), S("namespace"));
    str asked = json_get_text(json_get(addon, S("spec")), S("installNamespace"));
    if (told.n)
        return told;
    if (asked.n)
        return asked;
    return has_agent ? S(FLEET_ACCOUNT_NAMESPACE) : (str){0};
}

/* ---- As the managed cluster has them. ---- */

static struct json account_subject(struct permission_draft *d, str name)
{
    struct json out = json_obj_sized(d->a, 3);
    json_add(d->a, &out, S("kind"), json_str(S("ServiceAccount")));
    json_add(d->a, &out, S("name"), json_str(name));
    json_add(d->a, &out, S("namespace"), json_str(d->facts->account_namespace));
    return out;
}

static bool add_account(struct permission_draft *d, const struct json *subject, struct json *ret)
{
    str name = json_get_text(subject, S("name"));
    const bool *is_there = map_get(&d->accounts, name);
    if (is_there == &account_missing && !d->facts->is_delivered)
        return permission_fail(d, "managedserviceaccounts." FLEET_ACCOUNT_GROUP " \"%.*s\" not found", STR(name));
    if (d->facts->account_namespace.n == 0)
        return permission_fail(d,
                               "no namespace is known for ManagedServiceAccount \"%.*s\": there is no "
                               "ManagedClusterAddOn \"" FLEET_ADDON "\" that names one",
                               STR(name));
    if (is_there == &account_present)
        json_push(d->a, ret, account_subject(d, name));
    return true;
}

/* The group of users is the one of RBAC where none is given: agents that compare would find the server's copy different for ever. */
static bool add_subject(struct permission_draft *d, str field, const struct json *subject, struct json *ret)
{
    str kind = json_get_text(subject, S("kind")), group = json_get_text(subject, S("apiGroup"));
    bool is_user = str_eq(kind, S("User")) || str_eq(kind, S("Group"));
    if (is_account(subject))
        return add_account(d, subject, ret);
    if (!is_user && !str_eq(kind, S("ServiceAccount")))
        return permission_fail(d,
                               "%.*s: a subject cannot be of kind \"%.*s\" in group \"%.*s\", but a User, a Group, a "
                               "ServiceAccount, or a ManagedServiceAccount of group " FLEET_ACCOUNT_GROUP,
                               STR(field), STR(kind), STR(group));
    struct json out = json_obj_sized(d->a, 4);
    group = is_user && group.n == 0 ? RBAC_GROUP : group;
    if (group.n)
        json_add(d->a, &out, S("apiGroup"), json_str(group));
    json_add(d->a, &out, S("kind"), json_str(kind));
    json_add(d->a, &out, S("name"), json_str(json_get_text(subject, S("name"))));
    if (json_get_text(subject, S("namespace")).n)
        json_add(d->a, &out, S("namespace"), json_str(json_get_text(subject, S("namespace"))));
    json_push(d->a, ret, out);
    return true;
}

bool permission_subjects(struct permission_draft *d, str field, const struct json *binding, struct json *ret,
                         bool *ret_is_dropped)
{
    struct json list = subjects_of(d->a, binding);
    *ret = json_arr_sized(d->a, json_len(&list));
    json_each_item(&list, subject)
    {
        if (!add_subject(d, field, subject, ret))
            return false;
    }
    if (json_len(&list) == 0)
        permission_note(&d->no_subjects, field, PERMISSION_MESSAGE);
    *ret_is_dropped = json_len(&list) && json_len(ret) == 0;
    return true;
}
