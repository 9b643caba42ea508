/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a rule, one request at a time. rule_compile.c answers the same questions for many rules at once. */
#include "authz/rule.h"

static const str star = S_INIT("*");

bool rule_matches_verb(const struct rule *rule, str verb)
{
    return rule && (strs_have(rule->verbs, star) || strs_have(rule->verbs, verb));
}

bool rule_matches_group(const struct rule *rule, str group)
{
    return rule && (strs_have(rule->api_groups, star) || strs_have(rule->api_groups, group));
}

/* Is s the text head + "/" + tail? */
static bool is_joined(str s, str head, str tail)
{
    return s.n == head.n + 1 + tail.n && s.p[head.n] == '/' && str_eq(str_upto(s, head.n), head) &&
           str_eq(str_from(s, head.n + 1), tail);
}

bool rule_matches_resource(const struct rule *rule, str resource, str subresource)
{
    if (!rule)
        return false;
    strs_each(rule->resources, r)
    {
        if (str_eq(*r, star))
            return true;
        if (subresource.n ? is_joined(*r, resource, subresource) || is_joined(*r, star, subresource)
                          : str_eq(*r, resource))
            return true;
    }
    return false;
}

bool rule_matches_name(const struct rule *rule, str name)
{
    return rule && (rule->resource_names.n == 0 || strs_have(rule->resource_names, name));
}

/* The pattern without its trailing stars, all of them. */
static str stem_of(str pattern)
{
    while (pattern.n && pattern.p[pattern.n - 1] == '*')
        pattern.n--;
    return pattern;
}

bool rule_matches_path(const struct rule *rule, str path)
{
    if (!rule)
        return false;
    strs_each(rule->non_resource_urls, url)
    {
        str stem = stem_of(*url);
        if (stem.n < url->n ? str_has_prefix(path, stem) : str_eq(path, stem))
            return true;
    }
    return false;
}

bool rule_matches(const struct rule *rule, const struct authz_attributes *what)
{
    if (!authz_is_request(what) || !rule_matches_verb(rule, what->verb))
        return false;
    if (!what->is_resource)
        return rule_matches_path(rule, what->path);
    return rule_matches_group(rule, what->group) && rule_matches_resource(rule, what->resource, what->subresource) &&
           rule_matches_name(rule, what->name);
}
