/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        abort();
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t system_wall(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_mono(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_MONOTONIC);
}

const struct clock clock_system = {system_wall, system_mono, NULL};

static int64_t fake_wall(void *ctx)
{
    return __atomic_load_n(&((struct clock_fake *)ctx)->wall, __ATOMIC_RELAXED);
}

static int64_t fake_mono(void *ctx)
{
    return __atomic_load_n(&((struct clock_fake *)ctx)->mono, __ATOMIC_RELAXED);
}

struct clock clock_of_fake(struct clock_fake *fake)
{
    return (struct clock){fake_wall, fake_mono, fake};
}

void clock_fake_advance(struct clock_fake *fake, int64_t ns)
{
    __atomic_fetch_add(&fake->wall, ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&fake->mono, ns, __ATOMIC_RELAXED);
}

/* Days since 1970-01-01 of a date of the Gregorian calendar. A year is counted from March, so that the leap day is last. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t in_era = year - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t in_era = days - era * 146097;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * in_year + 2) / 153;
    *day = (int)(in_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

/* The last so many decimal digits of v, and what stands before them. */
static void add_digits(struct buf *b, char before, int64_t v, size_t width)
{
    char text[8];
    for (size_t i = width; i > 0; i--, v /= 10)
        text[i] = (char)('0' + v % 10);
    text[0] = before;
    buf_add(b, text, width + 1);
}

void time_format(struct buf *b, int64_t seconds, uint32_t nanos, int digits)
{
    int64_t days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t year;
    int month, day;
    date_of(days, &year, &month, &day);
    if (year >= 1000 && year <= 9999)
        buf_add_uint(b, (uint64_t)year);
    else
        buf_fmt(b, "%04lld", (long long)year);
    add_digits(b, '-', month, 2);
    add_digits(b, '-', day, 2);
    add_digits(b, 'T', rest / 3600, 2);
    add_digits(b, ':', rest / 60 % 60, 2);
    add_digits(b, ':', rest % 60, 2);
    if (digits > 0) {
        char decimals[10];
        (void)snprintf(decimals, sizeof decimals, "%09u", nanos % 1000000000U);
        buf_add_char(b, '.');
        buf_add(b, decimals, (size_t)(digits < 9 ? digits : 9));
    }
    buf_add_char(b, 'Z');
}

/* Takes exactly n digits off the front of *s. */
static bool take_digits(str *s, size_t n, int *ret)
{
    if (s->n < n)
        return false;
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_from(*s, n);
    *ret = v;
    return true;
}

static bool take_char(str *s, const char *any)
{
    if (s->n == 0 || s->p[0] == '\0' || strchr(any, s->p[0]) == NULL)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool take_decimals(str *s, uint32_t *nanos)
{
    *nanos = 0;
    if (s->n == 0 || s->p[0] != '.')
        return true;
    *s = str_from(*s, 1);
    uint32_t unit = 100000000, digits = 0;
    for (; s->n && char_is_digit(s->p[0]); digits++) {
        *nanos += (uint32_t)(s->p[0] - '0') * unit;
        unit /= 10;
        *s = str_from(*s, 1);
    }
    return digits > 0;
}

static bool take_offset(str *s, int *seconds)
{
    int hours, minutes;
    *seconds = 0;
    if (take_char(s, "Z"))
        return true;
    bool minus = s->n && s->p[0] == '-';
    if (!take_char(s, "+-") || !take_digits(s, 2, &hours) || !take_char(s, ":") || !take_digits(s, 2, &minutes) ||
        hours > 23 || minutes > 59)
        return false;
    *seconds = (hours * 60 + minutes) * (minus ? -60 : 60);
    return true;
}

static bool is_date(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

bool time_parse(str s, int64_t *ret_seconds, uint32_t *ret_nanos)
{
    int year, month, day, hour, minute, second, offset;
    uint32_t nanos;
    bool date = take_digits(&s, 4, &year) && take_char(&s, "-") && take_digits(&s, 2, &month) && take_char(&s, "-") &&
                take_digits(&s, 2, &day) && take_char(&s, "T");
    bool rest = date && take_digits(&s, 2, &hour) && take_char(&s, ":") && take_digits(&s, 2, &minute) &&
                take_char(&s, ":") && take_digits(&s, 2, &second) && take_decimals(&s, &nanos) &&
                take_offset(&s, &offset) && s.n == 0;
    if (!rest || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59)
        return false;
    int in_day = (hour * 60 + minute) * 60 + second;
    *ret_seconds = days_of(year, month, day) * 86400 + in_day - offset;
    *ret_nanos = nanos;
    return true;
}
