/* SPDX-License-Identifier: Apache-2.0 */
#include "base/duration.h"
#include "base/clock.h"

#define SECOND (1000 * NS_PER_MS)

bool duration_parse(str text, int64_t *ret_ns)
{
    static const struct {
        str name;
        int64_t ns;
    } units[] = {
        {S_INIT("ms"), NS_PER_MS}, {S_INIT("s"), SECOND}, {S_INIT("m"), 60 * SECOND}, {S_INIT("h"), 3600 * SECOND}};
    enum { UNITS = COUNT(units) };
    int64_t sum = 0;
    if (text.n == 0)
        return false;
    while (text.n) {
        size_t digits = 0, u = 0;
        int64_t n;
        while (digits < text.n && char_is_digit(text.p[digits]))
            digits++;
        if (!str_to_int64(str_upto(text, digits), &n))
            return false;
        text = str_from(text, digits);
        while (u < UNITS && !str_has_prefix(text, units[u].name))
            u++;
        if (u == UNITS || __builtin_mul_overflow(n, units[u].ns, &n) || __builtin_add_overflow(sum, n, &sum))
            return false;
        text = str_from(text, units[u].name.n);
    }
    *ret_ns = sum;
    return true;
}
