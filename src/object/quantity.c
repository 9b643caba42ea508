/* SPDX-License-Identifier: Apache-2.0 */
#include "object/quantity.h"

static const char wrong_form[] =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char wrong_suffix[] = "unable to parse quantity's suffix";

static size_t skip_digits(str s, size_t at)
{
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    return at;
}

static size_t skip_sign(str s, size_t at)
{
    return at < s.n && (s.p[at] == '+' || s.p[at] == '-') ? at + 1 : at;
}

/* A decimal or binary multiple, or an exponent that fits 32 bits when read as Go does. */
static bool is_suffix(str s)
{
    static const char known[][3] = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                    "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (str_eq(s, str_of(known[i])))
            return true;
    size_t digits = skip_sign(s, 1);
    int64_t exponent;
    str number = s.n > 1 && s.p[1] == '+' ? str_from(s, 2) : str_from(s, 1);
    return (s.p[0] == 'e' || s.p[0] == 'E') && digits < s.n && skip_digits(s, digits) == s.n &&
           str_to_int64(number, &exponent);
}

const char *quantity_check(str s)
{
    if (s.n == 0)
        return wrong_form;
    size_t at = skip_digits(s, skip_sign(s, 0));
    if (at < s.n && s.p[at] == '.')
        at = skip_digits(s, at + 1);
    size_t suffix = at;
    while (at < s.n && strchr("eEinumkKMGTP", s.p[at]) && s.p[at])
        at++;
    at = skip_digits(s, skip_sign(s, at));
    if (at < s.n)
        return wrong_form;
    return is_suffix(str_from(s, suffix)) ? NULL : wrong_suffix;
}
