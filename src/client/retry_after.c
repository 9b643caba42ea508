/* SPDX-License-Identifier: Apache-2.0 */
#include "client/retry_after.h"

#include "base/arena.h"
#include "base/clock.h"

enum { DAY = 24 * 60 * 60 };

/*   IMF-fixdate    Sun, 06 Nov 1994 08:49:37 GMT
 *   RFC 850        Sunday, 06-Nov-94 08:49:37 GMT
 *   asctime        Sun Nov  6 08:49:37 1994
 *
 * The day of the week says nothing that the rest does not. */

static const char MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* So many digits, the first of which may be a blank. -1: they are not. */
static int number(str s, size_t at, size_t n)
{
    int v = 0;
    if (at + n > s.n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[at + i];
        if (c == ' ' && i == 0 && n > 1)
            continue;
        if (c < '0' || c > '9')
            return -1;
        v = v * 10 + (c - '0');
    }
    return v;
}

static int month(str s, size_t at)
{
    for (size_t i = 0; i < 12; i++)
        if (str_eq(str_upto(str_from(s, at), 3), (str){MONTHS + 3 * i, 3}))
            return (int)i + 1;
    return -1;
}

/* A year of two digits is the one that is nearest, but at most 50 years ahead. */
static int full_year(int two, int this_year)
{
    int year = this_year / 100 * 100 + two;
    return two < 0 ? -1 : year > this_year + 50 ? year - 100 : year;
}

static int year_of(int64_t wall_ns)
{
    char room[128];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct buf b = {.arena = &scratch};
    time_format(&b, wall_ns / NS_PER_S, 0, 0);
    return number(buf_str(&b), 0, 4);
}

static bool parse_date(str s, int64_t wall_ns, int64_t *ret)
{
    int y, mo, d;
    str time;
    ptrdiff_t comma = str_find_char(s, ',');
    if (comma == 3 && s.n == 29) {
        d = number(s, 5, 2), mo = month(s, 8), y = number(s, 12, 4);
        time = str_from(s, 17);
    } else if (comma > 5 && s.n == (size_t)comma + 24) {
        str rest = str_from(s, (size_t)comma + 2);
        d = number(rest, 0, 2), mo = month(rest, 3), y = full_year(number(rest, 7, 2), year_of(wall_ns));
        time = str_from(rest, 10);
    } else if (comma < 0 && s.n == 24) {
        d = number(s, 8, 2), mo = month(s, 4), y = number(s, 20, 4);
        time = str_upto(str_from(s, 11), 8);
    } else {
        return false;
    }
    if (comma >= 0 && !str_has_suffix(time, S(" GMT")))
        return false;
    int h = number(time, 0, 2), mi = number(time, 3, 2), se = number(time, 6, 2);
    if (y < 0 || mo < 0 || d < 0 || h < 0 || mi < 0 || se < 0)
        return false;
    char room[128];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    uint32_t nanos;
    str text = str_fmt(&scratch, "%04d-%02d-%02dT%02d:%02d:%02dZ", y, mo, d, h, mi, se == 60 ? 59 : se);
    return time_parse(text, ret, &nanos);
}

int64_t retry_after_parse(str value, int64_t wall_ns)
{
    uint64_t seconds;
    int64_t at;
    if (value.n && char_is_digit(value.p[0])) {
        if (!str_to_uint64(value, &seconds))
            return 0;
        return (int64_t)(seconds < DAY ? seconds : DAY) * NS_PER_S;
    }
    if (!parse_date(value, wall_ns, &at) || at <= wall_ns / NS_PER_S)
        return 0;
    int64_t left = at - wall_ns / NS_PER_S;
    return (left < DAY ? left : DAY) * NS_PER_S;
}
