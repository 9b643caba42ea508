/* SPDX-License-Identifier: Apache-2.0 */
/* ServiceAccounts as users: names and groups. */
#include "authn/authn.h"

#include "object/name.h"

#define PREFIX S("system:serviceaccount:")

str authn_account_user(struct arena *a, str namespace, str name)
{
    return str_fmt(a, "system:serviceaccount:%.*s:%.*s", STR(namespace), STR(name));
}

bool authn_account_split(str user, str *ret_namespace, str *ret_name)
{
    str namespace, name;
    if (!str_has_prefix(user, PREFIX) || !str_cut(str_from(user, PREFIX.n), ':', &namespace, &name) ||
        !name_is(NAME_DNS_LABEL, namespace) || !name_is(NAME_DNS_SUBDOMAIN, name))
        return false;
    *ret_namespace = namespace;
    *ret_name = name;
    return true;
}

void authn_account_groups(struct arena *a, str namespace, str out[static 2])
{
    out[0] = S("system:serviceaccounts");
    out[1] = str_fmt(a, "system:serviceaccounts:%.*s", STR(namespace));
}
