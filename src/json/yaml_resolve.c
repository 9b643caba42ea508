/* SPDX-License-Identifier: Apache-2.0 */
#include "json/base64.h"
#include "json/yaml_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Words of YAML 1.1. */
struct word {
    str text;
    enum yaml_scalar_type type;
    bool truth;
    const char *number; /* of YAML_FLOAT */
};

/* clang-format off */
#define YES(word) {S_INIT(word), YAML_BOOL, true, NULL}
#define NO(word) {S_INIT(word), YAML_BOOL, false, NULL}
#define NOTHING(word) {S_INIT(word), YAML_NULL, false, NULL}
#define NUMBER(word, number) {S_INIT(word), YAML_FLOAT, false, number}

static const struct word words[] = {
    YES("y"), YES("Y"), YES("yes"), YES("Yes"), YES("YES"), YES("true"), YES("True"), YES("TRUE"),
    YES("on"), YES("On"), YES("ON"),
    NO("n"), NO("N"), NO("no"), NO("No"), NO("NO"), NO("false"), NO("False"), NO("FALSE"),
    NO("off"), NO("Off"), NO("OFF"),
    NOTHING("~"), NOTHING("null"), NOTHING("Null"), NOTHING("NULL"),
    NUMBER(".nan", ".nan"), NUMBER(".NaN", ".nan"), NUMBER(".NAN", ".nan"),
    NUMBER(".inf", ".inf"), NUMBER(".Inf", ".inf"), NUMBER(".INF", ".inf"),
    NUMBER("+.inf", ".inf"), NUMBER("+.Inf", ".inf"), NUMBER("+.INF", ".inf"),
    NUMBER("-.inf", "-.inf"), NUMBER("-.Inf", "-.inf"), NUMBER("-.INF", "-.inf"),
};
/* clang-format on */

enum { WORD_MAX = 5 }; /* "false" */

/* "!!null" "!!bool" … for messages. */
static const char *yaml_scalar_name(enum yaml_scalar_type type)
{
    static const char *const names[] = {"!!null", "!!bool", "!!int", "!!float", "!!timestamp", "!!str"};
    return names[type];
}

static bool find_word(str text, struct yaml_scalar *ret)
{
    if (text.n == 0) {
        *ret = (struct yaml_scalar){.type = YAML_NULL};
        return true;
    }
    for (size_t i = 0; text.n <= WORD_MAX && i < COUNT(words); i++) {
        if (text.p[0] != words[i].text.p[0] || !str_eq(text, words[i].text)) /* most differ in the first letter */
            continue;
        ret->type = words[i].type;
        ret->value = words[i].number              ? json_str(str_of(words[i].number))
                     : words[i].type == YAML_BOOL ? json_bool(words[i].truth)
                                                  : json_null();
        return true;
    }
    return false;
}

static int digit_of(char c)
{
    if (char_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Base from the prefix, which is cut off: 0x 0o 0b, or a leading 0 for octal. */
static unsigned take_base(str *s)
{
    static const char marks[] = "xXoObB";
    static const unsigned bases[] = {16, 8, 2};
    if (s->n == 0 || s->p[0] != '0')
        return 10;
    const char *mark = s->n >= 3 && s->p[1] ? strchr(marks, s->p[1]) : NULL;
    *s = str_from(*s, mark ? 2 : 1);
    return mark ? bases[(mark - marks) / 2] : 8;
}

static bool take_sign(str *s, bool *minus)
{
    *minus = s->n && s->p[0] == '-';
    bool sign = *minus || (s->n && s->p[0] == '+');
    *s = str_from(*s, sign);
    return sign;
}

/* An integer of 64 bits, with sign or without; of binary ones go-yaml takes the sign behind the prefix too: 0b-1.
 * Underscores are removed already. */
static bool parse_int(str s, struct json *ret)
{
    bool minus, prefix = str_has_prefix(s, S("0b")), sign = take_sign(&s, &minus);
    if (s.n == 0)
        return false;
    unsigned base = take_base(&s);
    if (prefix && take_sign(&s, &minus) && s.n == 0)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = (unsigned)digit_of(s.p[i]);
        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) || __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    if (v <= (uint64_t)INT64_MAX + minus) {
        *ret = json_int(minus ? (int64_t)(0 - v) : (int64_t)v);
        return true;
    }
    if (sign)
        return false;
    *ret = json_uint(v);
    return true;
}

/* [sign] (.digits | digits[.digits]) [e [sign] digits] */
static bool is_float(str s)
{
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');
    size_t before = 0, after = 0;
    for (; i < s.n && char_is_digit(s.p[i]); i++)
        before++;
    if (i < s.n && s.p[i] == '.') {
        for (i++; i < s.n && char_is_digit(s.p[i]); i++)
            after++;
    }
    if (before + after == 0)
        return false;
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i += 1 + (i + 1 < s.n && (s.p[i + 1] == '-' || s.p[i + 1] == '+'));
        size_t start = i;
        while (i < s.n && char_is_digit(s.p[i]))
            i++;
        if (i == start)
            return false;
    }
    return i == s.n;
}

/* False for what overflows to infinity: Kubernetes leaves that a string. */
static bool parse_float(const char *text, struct json *ret)
{
    double d = strtod(text, NULL);
    if (!isfinite(d))
        return false;
    *ret = json_real(d);
    return true;
}

/* A copy without underscores, or an empty string when one is not between digits though it must be. */
static str without_underscores(char *to, str s, bool between_digits)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_')
            to[n++] = s.p[i];
        else if (between_digits && (i == 0 || i + 1 == s.n || !char_is_digit(s.p[i - 1]) || !char_is_digit(s.p[i + 1])))
            return (str){0};
    }
    to[n] = '\0';
    return (str){to, n};
}

/* ---- Dates: the layouts Go is given, 2006-1-2[T15:4:5[.9]zone] and 2006-1-2 15:4:5[.9] ---- */

/* One or two digits, at least low and below high. */
static bool take_number(str *s, int low, int high, int *ret)
{
    if (s->n == 0 || !char_is_digit(s->p[0]))
        return false;
    size_t n = s->n > 1 && char_is_digit(s->p[1]) ? 2 : 1;
    int v = n == 2 ? (s->p[0] - '0') * 10 + (s->p[1] - '0') : s->p[0] - '0';
    *s = str_from(*s, n);
    *ret = v;
    return v >= low && v < high;
}

static bool take(str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool take_clock(str *s)
{
    int v;
    if (!take_number(s, 0, 24, &v) || !take(s, ':') || !take_number(s, 0, 60, &v) || !take(s, ':') ||
        !take_number(s, 0, 60, &v))
        return false;
    if (s->n >= 2 && (s->p[0] == '.' || s->p[0] == ',') && char_is_digit(s->p[1])) {
        for (*s = str_from(*s, 1); s->n && char_is_digit(s->p[0]);)
            *s = str_from(*s, 1);
    }
    return true;
}

static bool take_zone(str *s)
{
    int v;
    if (take(s, 'Z'))
        return true;
    if (s->n != 6 || s->p[3] != ':' || !char_is_digit(s->p[2]) || !char_is_digit(s->p[5]))
        return false;
    return (take(s, '+') || take(s, '-')) && take_number(s, 0, 25, &v) && take(s, ':') && take_number(s, 0, 61, &v);
}

static bool is_timestamp(str s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 0, month, day;
    for (size_t i = 0; i < 4; i++) {
        if (i >= s.n || !char_is_digit(s.p[i]))
            return false;
        year = year * 10 + (s.p[i] - '0');
    }
    s = str_from(s, 4);
    if (!take(&s, '-') || !take_number(&s, 1, 13, &month) || !take(&s, '-') || !take_number(&s, 1, 32, &day))
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > days[month - 1] + (month == 2 && leap))
        return false;
    if (s.n == 0)
        return true;
    if (take(&s, 'T') || take(&s, 't'))
        return take_clock(&s) && take_zone(&s) && s.n == 0;
    if (!take(&s, ' '))
        return false;
    while (take(&s, ' '))
        continue;
    return take_clock(&s) && s.n == 0;
}

/* ---- All together. ---- */

enum { NUMBER_MAX = 1100 }; /* bytes of a number that still means something; longer text stays a string */

static struct yaml_scalar resolve_number(str text, bool dates)
{
    struct yaml_scalar string = {YAML_STR, json_str(text)}, r = {.type = YAML_INT};
    char copy[NUMBER_MAX + 1];
    if (dates && is_timestamp(text))
        return (struct yaml_scalar){YAML_TIMESTAMP, json_str(text)};
    if (text.n > NUMBER_MAX)
        return string;
    bool dot = text.p[0] == '.';
    str plain = without_underscores(copy, text, dot);
    if (plain.n == 0)
        return string;
    if (!dot && parse_int(plain, &r.value))
        return r;
    r.type = YAML_FLOAT;
    return is_float(plain) && parse_float(copy, &r.value) ? r : string;
}

struct yaml_scalar yaml_resolve(str text, bool dates)
{
    struct yaml_scalar r;
    if (find_word(text, &r))
        return r;
    if (char_is_digit(text.p[0]) || text.p[0] == '-' || text.p[0] == '+' || text.p[0] == '.')
        return resolve_number(text, dates);
    return (struct yaml_scalar){YAML_STR, json_str(text)};
}

/* ---- Numbers out. ---- */

/* The fewest digits that read back as the same number of single precision. */
static void encode_single(struct buf *b, float f)
{
    char text[40];
    for (int digits = 1; digits <= FLT_DECIMAL_DIG; digits++) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, (double)f);
        if (strtof(text, NULL) == f)
            break;
    }
    buf_add_str(b, str_of(text));
}

/* The digits of a number without zeros at either end, and the power of ten of the first: 0.025 is "25" and -2. */
static size_t split_number(str text, char digits[32], int *ret_exponent)
{
    size_t n = 0;
    int exponent = -1;
    bool point = false;
    for (; text.n && text.p[0] != 'e'; text = str_from(text, 1)) {
        bool digit = char_is_digit(text.p[0]);
        point |= text.p[0] == '.';
        if (digit && (n || text.p[0] != '0') && n < 31)
            digits[n++] = text.p[0];
        if (digit && !point && n)
            exponent++;
        else if (digit && point && n == 0)
            exponent--;
    }
    while (n && digits[n - 1] == '0')
        n--;
    if (text.n > 1)
        exponent += (int)strtol(text.p + 1, NULL, 10);
    *ret_exponent = exponent;
    return n;
}

void yaml_format_real(struct buf *b, double d, int bits)
{
    char memory[64], digits[32] = "0";
    struct arena scratch ARENA_SCOPE = {0};
    struct buf text = {.p = memory, .cap = sizeof memory, .arena = &scratch};
    int exponent;
    if (bits == 32 && isinf((float)d)) {
        buf_add_str(b, d < 0 ? S("-.inf") : S(".inf"));
        return;
    }
    if (bits == 32)
        encode_single(&text, (float)d);
    else
        json_encode_number(&text, &(struct json){.type = JSON_REAL, .d = d});
    buf_add_char(&text, '\0');
    int n = (int)split_number((str){text.p, text.n - 1}, digits, &exponent);
    if (text.p[0] == '-')
        buf_add_char(b, '-');
    if (n == 0) {
        buf_add_char(b, '0');
    } else if (exponent < -4 || exponent >= 6) {
        buf_add_char(b, digits[0]);
        if (n > 1)
            buf_fmt(b, ".%.*s", n - 1, digits + 1);
        buf_fmt(b, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        buf_fmt(b, "0.%.*s%.*s", -exponent - 1, "0000", n, digits);
    } else {
        for (int i = 0; i < n || i <= exponent; i++) {
            if (i == exponent + 1)
                buf_add_char(b, '.');
            buf_add_char(b, i < n ? digits[i] : '0');
        }
    }
}

/* The tags that ask for a type; any other one is ignored, and the scalar is a string. */
static const struct {
    str tag;
    enum yaml_scalar_type type;
} tags[] = {
    {S_INIT("tag:yaml.org,2002:null"), YAML_NULL}, {S_INIT("tag:yaml.org,2002:bool"), YAML_BOOL},
    {S_INIT("tag:yaml.org,2002:int"), YAML_INT},   {S_INIT("tag:yaml.org,2002:float"), YAML_FLOAT},
    {S_INIT("tag:yaml.org,2002:str"), YAML_STR},   {S_INIT("tag:yaml.org,2002:timestamp"), YAML_TIMESTAMP},
};

static int resolve_binary(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    str data;
    size_t at;
    if (base64_decode(b->arena, node->text, &data, &at) < 0)
        return yaml_fail(b, node->at, "!!binary value contains invalid base64 data at input byte %zu", at);
    if (!str_is_utf8(data))
        return yaml_fail(b, node->at, "!!binary value is not UTF-8 text, which is all that JSON can hold");
    *ret = (struct yaml_scalar){YAML_STR, json_str(data)};
    return 0;
}

/* The text must have the type of its tag; an integer may be a !!float. */
static int resolve_typed(struct yaml_build *b, const struct yaml_node *node, enum yaml_scalar_type want,
                         struct yaml_scalar *ret)
{
    *ret = yaml_resolve(node->text, want == YAML_TIMESTAMP);
    if (want == YAML_FLOAT && ret->type == YAML_INT && ret->value.type == JSON_INT)
        *ret = (struct yaml_scalar){YAML_FLOAT, json_real((double)ret->value.i)};
    if (ret->type == want)
        return 0;
    return yaml_fail(b, node->at, "cannot decode %s `%.*s` as a %s", yaml_scalar_name(ret->type), STR(node->text),
                     yaml_scalar_name(want));
}

static int resolve_tagged(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    if (str_eq(node->tag, S("tag:yaml.org,2002:binary")))
        return resolve_binary(b, node, ret);
    for (size_t i = 0; i < COUNT(tags); i++) {
        if (str_eq(tags[i].tag, node->tag) && tags[i].type != YAML_STR)
            return resolve_typed(b, node, tags[i].type, ret);
    }
    *ret = (struct yaml_scalar){YAML_STR, json_str(node->text)};
    return 0;
}

int yaml_build_resolve(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret)
{
    if (node->tag.n) {
        int r = resolve_tagged(b, node, ret);
        if (r < 0)
            return r;
    } else if (node->plain) {
        *ret = yaml_resolve(node->text, true);
    } else {
        *ret = (struct yaml_scalar){YAML_STR, json_str(node->text)};
    }
    if (json_is_str(&ret->value))
        ret->value = json_str(str_dup(b->arena, json_text(&ret->value)));
    b->bytes += json_text(&ret->value).n;
    return 0;
}
