/* SPDX-License-Identifier: Apache-2.0 */
#include "object/quantity.h"

static const char wrong_form[] =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char wrong_suffix[] = "unable to parse quantity's suffix";
static const char wrong_number[] = "unable to parse numeric part of quantity";

static size_t skip_digits(str s, size_t at)
{
    while (at < s.n && char_is_digit(s.p[at]))
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
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_eq(s, str_of(known[i])))
            return true;
    size_t digits = skip_sign(s, 1);
    int64_t exponent;
    str number = s.n > 1 && s.p[1] == '+' ? str_from(s, 2) : str_from(s, 1);
    return (s.p[0] == 'e' || s.p[0] == 'E') && digits < s.n && skip_digits(s, digits) == s.n &&
           str_to_int64(number, &exponent);
}

/* No digits at all count as 0, but not in front of the suffixes for which Kubernetes takes its long way. */
static bool is_taken_for_zero(str s, size_t suffix)
{
    for (size_t i = 0; i < suffix; i++) {
        if (char_is_digit(s.p[i]))
            return true;
    }
    str rest = str_from(s, suffix);
    int64_t exponent;
    if (str_eq(rest, S("Pi")) || str_eq(rest, S("Ei")))
        return false;
    return rest.n < 3 || rest.p[1] != '-' || (str_to_int64(str_from(rest, 1), &exponent) && exponent >= -9);
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
    if (!is_suffix(str_from(s, suffix)))
        return wrong_suffix;
    return is_taken_for_zero(s, suffix) ? NULL : wrong_number;
}

/* ---- The value of an amount. ----
 *
 *   -  12 . 50  Mi        negative, digits "1250" with 2 of them behind the point, suffix
 *
 * Decimal amounts are kept as their digits and a power of ten, however many digits that are; binary ones become whole
 * billionths, which fit 128 bits because they end at 2^63 - 1. */

enum format { DECIMAL, BINARY, EXPONENT };

struct amount {
    bool negative;
    str whole, part; /* digits in front of the point, without leading zeros, and behind it */
    enum format format;
    int64_t power; /* of ten or, if binary, of two */
};

static const char decimal_suffixes[] = "num kMGTPE"; /* from 10^-9 on in steps of 10^3; the blank is none */

static void read_suffix(str s, struct amount *ret)
{
    if (s.n == 2 && s.p[1] == 'i') {
        ret->format = BINARY;
        ret->power = 10 * (1 + (int64_t)(strchr("KMGTPE", s.p[0]) - "KMGTPE"));
    } else if (s.n == 0) {
        ret->power = 0;
    } else if (s.n == 1) {
        ret->power = 3 * (int64_t)(strchr(decimal_suffixes, s.p[0]) - decimal_suffixes) - 9;
    } else {
        ret->format = EXPONENT;
        str digits = str_from(s, s.p[1] == '+' ? 2 : 1);
        if (!str_to_int64(digits, &ret->power))
            ret->power = 0;
    }
}

static struct amount amount_of(str s)
{
    struct amount v = {.negative = s.p[0] == '-'};
    size_t at = skip_sign(s, 0), end;
    while (at < s.n && s.p[at] == '0')
        at++;
    end = skip_digits(s, at);
    v.whole = (str){s.p + at, end - at};
    at = end;
    if (at < s.n && s.p[at] == '.') {
        end = skip_digits(s, at + 1);
        v.part = (str){s.p + at + 1, end - at - 1};
        at = end;
    }
    read_suffix(str_from(s, at), &v);
    return v;
}

/* ---- As a number of billionths. ---- */

typedef unsigned __int128 wide;

#define WIDE_MAX ((wide)INT64_MAX * 1000000000) /* 2^63 - 1 whole ones: where binary amounts end */

enum { PART_MAX = 18 };

static wide read_digits(str s)
{
    wide v = 0;
    for (size_t i = 0; i < s.n; i++)
        v = v * 10 + (wide)(s.p[i] - '0');
    return v;
}

static bool has_nonzero(str digits)
{
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] != '0')
            return true;
    }
    return false;
}

/* Rounded up; no more than WIDE_MAX. */
static wide binary_nanos(const struct amount *v)
{
    enum { WHOLE_MAX = 20 };
    if (v->whole.n > WHOLE_MAX)
        return WIDE_MAX;
    str part = str_upto(v->part, PART_MAX);
    wide unit = 1, factor = (wide)1 << v->power;
    for (size_t i = 0; i < part.n; i++)
        unit *= 10;
    wide scaled = read_digits(part) * factor, whole = read_digits(v->whole) * factor + scaled / unit;
    if (whole >= INT64_MAX)
        return WIDE_MAX;
    wide rest = scaled % unit * 1000000000;
    bool up = rest % unit != 0 || has_nonzero(str_from(v->part, PART_MAX));
    wide nanos = whole * 1000000000 + rest / unit + up;
    return nanos > WIDE_MAX ? WIDE_MAX : nanos;
}

/* The digits of an amount in front of, and the power of ten behind it, rounded up to the grain. */
static struct buf decimal_digits(struct arena *a, const struct amount *v, int64_t *power, int64_t grain)
{
    struct buf b = {.arena = a};
    buf_add_char(&b, '0'); /* room to carry into */
    buf_add_str(&b, v->whole);
    buf_add_str(&b, v->part);
    *power = v->power - (int64_t)v->part.n;
    if (*power >= grain)
        return b;
    size_t drop = (uint64_t)(grain - *power) < b.n ? (size_t)(grain - *power) : b.n - 1;
    bool up = has_nonzero(str_from(buf_str(&b), b.n - drop));
    b.n -= drop;
    *power = grain;
    for (size_t i = b.n; up && i-- > 0;) {
        up = b.p[i] == '9';
        b.p[i] = (char)(up ? '0' : b.p[i] + 1);
    }
    return b;
}

static wide decimal_nanos(const struct amount *v)
{
    enum { DIGITS_MAX = 37 };
    struct arena scratch ARENA_SCOPE = {0};
    int64_t power;
    struct buf digits = decimal_digits(&scratch, v, &power, QUANTITY_NANO);
    str s = buf_str(&digits);
    while (s.n && s.p[0] == '0')
        s = str_from(s, 1);
    if (s.n == 0)
        return 0;
    if (power > DIGITS_MAX || s.n + (size_t)(power - QUANTITY_NANO) > DIGITS_MAX)
        return (wide)-1 >> 2; /* more than any binary amount, and that is all anybody asks */
    wide nanos = read_digits(s);
    for (; power > QUANTITY_NANO; power--)
        nanos *= 10;
    return nanos;
}

static __int128 nanos_of(str s)
{
    struct amount v = amount_of(s);
    wide nanos = v.format == BINARY ? binary_nanos(&v) : decimal_nanos(&v);
    return v.negative ? -(__int128)nanos : (__int128)nanos;
}

int quantity_sign(str s)
{
    __int128 v = nanos_of(s);
    return (v > 0) - (v < 0);
}

int quantity_cmp(str l, str r)
{
    __int128 x = nanos_of(l), y = nanos_of(r);
    return (x > y) - (x < y);
}

bool quantity_to_int(str s, int64_t *ret)
{
    __int128 v = nanos_of(s), whole = v / 1000000000;
    whole += v % 1000000000 > 0;
    whole -= v % 1000000000 < 0;
    if (whole > INT64_MAX || whole < INT64_MIN)
        return false;
    *ret = (int64_t)whole;
    return true;
}

/* ---- The one text. ---- */

/* Kubernetes keeps the text of numbers up to 18 digits that look canonical at a glance. */
static bool looks_canonical(const struct amount *v, enum quantity_grain grain)
{
    str whole = v->whole.n ? v->whole : S("0");
    if (v->format == BINARY) {
        int64_t precision = 14 - (int64_t)whole.n - (int64_t)((float)v->power * 3 / 10);
        return v->part.n == 0 && precision >= 0 && ((uint64_t)read_digits(whole) & 7) != 0;
    }
    int64_t scale = v->power - (int64_t)v->part.n;
    if (whole.n + v->part.n > 18 || scale < QUANTITY_NANO || scale < (int64_t)grain || scale % 3 != 0)
        return false;
    if (whole.p[0] == '0')
        return false;
    size_t zeros = 0;
    while (zeros < v->part.n && v->part.p[v->part.n - 1 - zeros] == '0')
        zeros++;
    while (zeros >= v->part.n && zeros < v->part.n + whole.n && whole.p[whole.n - 1 - (zeros - v->part.n)] == '0')
        zeros++;
    return zeros < 3;
}

static void add_suffix(struct buf *b, enum format format, int64_t power)
{
    enum { EXA = 18 };
    if (format == EXPONENT) {
        if (power)
            buf_fmt(b, "e%lld", (long long)power);
        return;
    }
    for (; power > EXA; power--)
        buf_add_char(b, '0');
    if (power)
        buf_add_char(b, decimal_suffixes[(power - QUANTITY_NANO) / 3]);
}

static str format_decimal(struct arena *a, const struct amount *v, int64_t grain)
{
    int64_t power;
    struct buf digits = decimal_digits(a, v, &power, grain), b = {.arena = a};
    str s = buf_str(&digits);
    while (s.n && s.p[0] == '0')
        s = str_from(s, 1);
    if (s.n == 0)
        return S("0");
    for (; s.p[s.n - 1] == '0'; power++)
        s.n--;
    if (v->negative)
        buf_add_char(&b, '-');
    buf_add_str(&b, s);
    for (; power % 3; power--)
        buf_add_char(&b, '0');
    add_suffix(&b, v->format, power);
    return buf_str(&b);
}

static str format_nanos(struct arena *a, wide nanos, bool negative)
{
    char text[40];
    size_t at = sizeof text;
    for (wide v = nanos; v || at == sizeof text; v /= 10)
        text[--at] = (char)('0' + (int)(v % 10));
    struct amount decimal = {
        .negative = negative, .whole = {text + at, sizeof text - at}, .format = DECIMAL, .power = QUANTITY_NANO};
    return format_decimal(a, &decimal, QUANTITY_NANO);
}

static str format_binary(struct arena *a, const struct amount *v, enum quantity_grain grain)
{
    wide nanos = binary_nanos(v);
    if (grain == QUANTITY_MILLI)
        nanos = (nanos + 999999) / 1000000 * 1000000;
    /* What is small or broken is clearer without the binary suffix. */
    if (nanos < (wide)1024 * 1000000000 || nanos % 1000000000)
        return format_nanos(a, nanos, v->negative);
    uint64_t whole = (uint64_t)(nanos / 1000000000);
    size_t steps = 0;
    for (; whole % 1024 == 0; steps++)
        whole /= 1024;
    static const char suffixes[][3] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    return str_fmt(a, "%s%llu%s", v->negative ? "-" : "", (unsigned long long)whole, suffixes[steps]);
}

str quantity_canonical(struct arena *a, str s, enum quantity_grain grain)
{
    struct amount v = amount_of(s);
    if (looks_canonical(&v, grain))
        return s;
    return v.format == BINARY ? format_binary(a, &v, grain) : format_decimal(a, &v, (int64_t)grain);
}
