/* SPDX-License-Identifier: Apache-2.0 */
/* A version is taken apart like this, and its parts are compared from left to right:
 *
 *     v 1.2.0 - rc.1 + linux
 *       core    pre    build      no pre is newer than any; build counts only among the bytes, at the very end */
#include "package/version.h"

static bool is_number(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return s.n > 0;
}

static str without_zeros(str number)
{
    while (number.n && number.p[0] == '0')
        number = str_from(number, 1);
    return number;
}

/* Numbers of any length by value, words by bytes, numbers before words. */
static int compare_parts(str l, str r)
{
    bool l_number = is_number(l), r_number = is_number(r);
    if (l_number != r_number)
        return l_number ? -1 : 1;
    if (!l_number)
        return str_cmp(l, r);
    l = without_zeros(l);
    r = without_zeros(r);
    if (l.n != r.n)
        return l.n < r.n ? -1 : 1;
    return str_cmp(l, r);
}

static str next_part(str *rest)
{
    str part;
    if (!str_cut(*rest, '.', &part, rest))
        *rest = (str){0};
    return part;
}

/* Of a core, what is missing counts as 0; of a pre-release, the longer one is newer. */
static int compare_lists(str l, str r, bool is_core)
{
    while (l.n || r.n) {
        if (!is_core && (l.n == 0 || r.n == 0))
            return l.n == 0 ? -1 : 1;
        str a = l.n ? next_part(&l) : S("0"), b = r.n ? next_part(&r) : S("0");
        int order = compare_parts(a, b);
        if (order)
            return order;
    }
    return 0;
}

static str core_of(str version, str *ret_pre, bool *ret_has_pre)
{
    str core, build;
    if (version.n > 1 && version.p[0] == 'v' && char_is_digit(version.p[1]))
        version = str_from(version, 1);
    if (str_cut(version, '+', &core, &build))
        version = core;
    *ret_has_pre = str_cut(version, '-', &core, ret_pre);
    return *ret_has_pre ? core : version;
}

bool package_version_is_numbered(str version)
{
    str pre;
    bool has_pre;
    str core = core_of(version, &pre, &has_pre);
    return is_number(next_part(&core));
}

int package_version_compare(str l, str r)
{
    str l_pre, r_pre;
    bool l_has, r_has;
    str l_core = core_of(l, &l_pre, &l_has), r_core = core_of(r, &r_pre, &r_has);
    int order = compare_lists(l_core, r_core, true);
    if (order == 0 && l_has != r_has)
        order = l_has ? -1 : 1;
    if (order == 0 && l_has)
        order = compare_lists(l_pre, r_pre, false);
    return order ? order : str_cmp(l, r);
}
