/* SPDX-License-Identifier: Apache-2.0 */
/* Messages name the piece of Go's layout that the text failed at, so the layout is walked here piece by piece. */
#include "object/timestamp.h"

#include "base/clock.h"

struct reader {
    str whole, rest;
    const char *layout;
    struct err *err;
};

static int cannot(struct reader *r, str at, const char *piece)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf whole = {.arena = &scratch}, part = {.arena = &scratch};
    buf_add_quoted(&whole, r->whole);
    buf_add_quoted(&part, at);
    return err_set(r->err, ERR_BAD_REQUEST, "parsing time %.*s as \"%s\": cannot parse %.*s as \"%s\"",
                   STR(buf_str(&whole)), r->layout, STR(buf_str(&part)), piece);
}

static int refuse(struct reader *r, const char *why)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf whole = {.arena = &scratch};
    buf_add_quoted(&whole, r->whole);
    return err_set(r->err, ERR_BAD_REQUEST, "parsing time %.*s: %s", STR(buf_str(&whole)), why);
}

static bool is_digit(str s, size_t i)
{
    return i < s.n && char_is_digit(s.p[i]);
}

/* A number of `digits` digits (at least `least`) with the character in front of it. */
static int number(struct reader *r, const char *front, const char *piece, size_t least, size_t digits, int *ret)
{
    if (front[0]) {
        if (r->rest.n == 0 || r->rest.p[0] != front[0])
            return cannot(r, r->rest, front);
        r->rest = str_from(r->rest, 1);
    }
    size_t n = 0;
    for (*ret = 0; n < digits && is_digit(r->rest, n); n++)
        *ret = *ret * 10 + (r->rest.p[n] - '0');
    if (n < least)
        return cannot(r, r->rest, piece);
    r->rest = str_from(r->rest, n);
    return 0;
}

/* Decimals: any number of them where the layout has none, exactly six where it asks for them. */
static int fraction(struct reader *r, enum timestamp_form form, uint32_t *ret_nanos)
{
    bool point = r->rest.n && (r->rest.p[0] == '.' || r->rest.p[0] == ',');
    size_t n = 1;
    *ret_nanos = 0;
    if (form == TIMESTAMP_SECONDS) {
        while (point && is_digit(r->rest, n))
            n++;
        r->rest = n > 1 ? str_from(r->rest, n) : r->rest;
        return 0;
    }
    for (; point && n < 7 && is_digit(r->rest, n); n++)
        *ret_nanos = *ret_nanos * 10 + (uint32_t)(r->rest.p[n] - '0');
    if (n < 7)
        return cannot(r, r->rest, ".000000");
    *ret_nanos *= 1000;
    r->rest = str_from(r->rest, 7);
    return 0;
}

/* Z, or an offset: +02:00. In seconds east of UTC. */
static int zone(struct reader *r, int *ret_offset)
{
    str s = r->rest;
    *ret_offset = 0;
    if (s.n && s.p[0] == 'Z') {
        r->rest = str_from(s, 1);
        return 0;
    }
    if (s.n < 6 || (s.p[0] != '+' && s.p[0] != '-') || s.p[3] != ':' || !is_digit(s, 1) || !is_digit(s, 2) ||
        !is_digit(s, 4) || !is_digit(s, 5))
        return cannot(r, s, "Z07:00");
    int hours = (s.p[1] - '0') * 10 + s.p[2] - '0', minutes = (s.p[4] - '0') * 10 + s.p[5] - '0';
    if (hours > 24)
        return refuse(r, "time zone offset hour out of range");
    if (minutes > 60)
        return refuse(r, "time zone offset minute out of range");
    *ret_offset = (hours * 60 + minutes) * 60 * (s.p[0] == '-' ? -1 : 1);
    r->rest = str_from(s, 6);
    return 0;
}

#define YEAR_0 INT64_C(-62167219200)
#define YEAR_1 INT64_C(-62135596800) /* Go's zero time: the same as none */
#define YEAR_10000 INT64_C(253402300800)

struct civil {
    int year, month, day, hour, minute, second, offset;
    uint32_t nanos;
};

static int read_all(struct reader *r, enum timestamp_form form, struct civil *c)
{
    if (number(r, "", "2006", 4, 4, &c->year) < 0 || number(r, "-", "01", 2, 2, &c->month) < 0)
        return ERR_BAD_REQUEST;
    if (c->month < 1 || c->month > 12)
        return refuse(r, "month out of range");
    if (number(r, "-", "02", 2, 2, &c->day) < 0 || number(r, "T", "15", 1, 2, &c->hour) < 0)
        return ERR_BAD_REQUEST;
    if (c->hour > 23)
        return refuse(r, "hour out of range");
    if (number(r, ":", "04", 2, 2, &c->minute) < 0)
        return ERR_BAD_REQUEST;
    if (c->minute > 59)
        return refuse(r, "minute out of range");
    if (number(r, ":", "05", 2, 2, &c->second) < 0)
        return ERR_BAD_REQUEST;
    if (c->second > 59)
        return refuse(r, "second out of range");
    if (fraction(r, form, &c->nanos) < 0 || zone(r, &c->offset) < 0)
        return ERR_BAD_REQUEST;
    if (r->rest.n) {
        struct arena scratch ARENA_SCOPE = {0};
        struct buf rest = {.arena = &scratch};
        buf_add_quoted(&rest, r->rest);
        return refuse(r, str_cstr(&scratch, str_fmt(&scratch, "extra text: %.*s", STR(buf_str(&rest)))));
    }
    return 0;
}

int timestamp_normalize(struct arena *a, str text, enum timestamp_form form, str *ret, struct err *err)
{
    struct reader r = {
        text, text, form == TIMESTAMP_MICROS ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00", err};
    struct civil c = {0};
    if (read_all(&r, form, &c) < 0)
        return ERR_BAD_REQUEST;
    str utc = str_fmt(a, "%04d-%02d-%02dT%02d:%02d:%02dZ", c.year, c.month, c.day, c.hour, c.minute, c.second);
    int64_t seconds;
    uint32_t nanos;
    if (!time_parse(utc, &seconds, &nanos))
        return refuse(&r, "day out of range"); /* everything else has been looked at */
    seconds -= c.offset;
    if (seconds < YEAR_0 || seconds >= YEAR_10000)
        return refuse(&r, "year outside of range");
    *ret = (str){0};
    if (seconds == YEAR_1 && c.nanos == 0)
        return 0;
    struct buf b = {.arena = a};
    time_format(&b, seconds, c.nanos, form == TIMESTAMP_MICROS ? 6 : 0);
    *ret = buf_str(&b);
    return 0;
}
