/* SPDX-License-Identifier: Apache-2.0 */
#include "package/dependency.h"

#include "object/name.h"

const char *dependency_parse(str text, struct package_dependency *ret)
{
    str type = text, plural, group, version = {0};
    if (str_cut(text, '/', &type, &version) && !name_is(NAME_DNS1035_LABEL, version))
        return "the part behind the slash must be a version, such as v1alpha1";
    if (!str_cut(type, '.', &plural, &group))
        return "must be plural.group or *.group, with or without a /version";
    if (!str_eq(plural, S("*")) && !name_is(NAME_DNS1035_LABEL, plural))
        return "must begin with the plural of a kind in small letters, or with *";
    if (!name_is(NAME_DNS_SUBDOMAIN, group) || str_find_char(group, '.') < 0)
        return "its group must be a full one, such as database.example.org";
    if (crd_group_is_protected(group))
        return "its group is protected: packages get no rights to it";
    *ret = (struct package_dependency){text, plural, group, version};
    return NULL;
}
