/* SPDX-License-Identifier: Apache-2.0 */
#include "object/go_text.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

void go_text_real(struct buf *b, double d)
{
    char text[40];
    int precision = 0;
    do
        snprintf(text, sizeof text, "%.*e", precision, d);
    while (strtod(text, NULL) != d && ++precision < 17);
    long exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        buf_fmt(b, "%s", text);
    else
        buf_fmt(b, "%.*f", precision > exponent ? precision - (int)exponent : 0, d);
}

static int by_key(const void *x, const void *y)
{
    const struct json_member *const *a = x, *const *b = y;
    return str_cmp(json_key(*a), json_key(*b));
}

static void object_text(struct buf *b, const struct json *v)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json_member **order = arena_alloc(&scratch, arena_array_size(v->n + 1, sizeof *order));
    for (uint32_t i = 0; i < v->n; i++)
        order[i] = &v->members[i];
    if (v->n)
        qsort(order, v->n, sizeof *order, by_key);
    buf_add_str(b, S("map["));
    for (uint32_t i = 0; i < v->n; i++) {
        if (i)
            buf_add_char(b, ' ');
        buf_add_str(b, json_key(order[i]));
        buf_add_char(b, ':');
        go_text(b, &order[i]->val);
    }
    buf_add_char(b, ']');
}

void go_text(struct buf *b, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        buf_add_str(b, S("<nil>"));
        return;
    case JSON_STR:
        buf_add_str(b, json_text(v));
        return;
    case JSON_UINT:
    case JSON_REAL:
        go_text_real(b, json_to_real(v));
        return;
    case JSON_ARR:
        buf_add_char(b, '[');
        json_each_item(v, it)
        {
            if (it != v->items)
                buf_add_char(b, ' ');
            go_text(b, it);
        }
        buf_add_char(b, ']');
        return;
    case JSON_OBJ:
        object_text(b, v);
        return;
    default:
        json_encode(b, v, 0);
    }
}

const char *go_type_name(const struct json *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "<nil>",         [JSON_BOOL] = "bool",
        [JSON_INT] = "int64",          [JSON_UINT] = "float64",
        [JSON_REAL] = "float64",       [JSON_STR] = "string",
        [JSON_ARR] = "[]interface {}", [JSON_OBJ] = "map[string]interface {}",
    };
    return names[json_type(v)];
}

/* Messages name the piece of Go's layout that the text failed at, so the layout is walked here piece by piece. */

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
