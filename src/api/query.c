/* SPDX-License-Identifier: Apache-2.0 */
#include "api/request.h"

#include "object/field_error.h"

enum { OPTIONS_MAX = 1000 };

static int hex_digit(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool percent_decode(struct arena *a, str s, bool plus_is_space, str *ret)
{
    char *p = arena_alloc_aligned(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '%') {
            int high = s.n - i > 2 ? hex_digit(s.p[i + 1]) : -1;
            int low = s.n - i > 2 ? hex_digit(s.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        p[n++] = c;
    }
    *ret = (str){p, n};
    return true;
}

void percent_encode(struct buf *b, str s)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool is_plain = char_is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
        if (is_plain) {
            buf_add_char(b, (char)c);
        } else {
            buf_add_char(b, '%');
            buf_add_char(b, digits[c >> 4]);
            buf_add_char(b, digits[c & 15]);
        }
    }
}

/* Pairs that cannot be read are passed over, as Go does; texts that are not UTF-8 would end up in messages and are not
 * taken either. */
int query_parse(struct arena *a, str text, struct query *ret, struct err *err)
{
    VEC(struct query_option) list = {0};
    while (text.n) {
        str pair, name, value;
        str_cut(text, '&', &pair, &text);
        if (pair.n == 0 || str_find_char(pair, ';') >= 0)
            continue;
        str_cut(pair, '=', &name, &value);
        if (list.n == OPTIONS_MAX)
            return err_set(err, ERR_BAD_REQUEST, "too many query parameters, limit is %d", OPTIONS_MAX);
        struct query_option o;
        if (percent_decode(a, name, true, &o.name) && percent_decode(a, value, true, &o.value) && str_is_utf8(o.name) &&
            str_is_utf8(o.value))
            *vec_push(a, &list) = o;
    }
    *ret = (struct query){list.p, list.n};
    return 0;
}

static const struct query_option *find(const struct query *q, str name)
{
    for (size_t i = 0; i < q->n; i++)
        if (str_eq(q->p[i].name, name))
            return &q->p[i];
    return NULL;
}

str query_get(const struct query *q, str name)
{
    const struct query_option *o = find(q, name);
    return o ? o->value : (str){0};
}

bool query_has(const struct query *q, str name)
{
    return find(q, name) != NULL;
}

bool query_flag(const struct query *q, str name)
{
    const struct query_option *o = find(q, name);
    if (!o || str_eq(o->value, S("0")))
        return false;
    struct arena scratch ARENA_SCOPE = {0};
    return o->value.n != 5 || !str_eq(str_lower(&scratch, o->value), S("false"));
}

bool query_true(const struct query *q, str name)
{
    static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True"};
    str value = query_get(q, name);
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_eq(value, str_of(words[i])))
            return true;
    return false;
}

/* ---- Durations. ---- */

/* Nanoseconds of one unit; 0: there is no such unit. */
static double unit_ns(str unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\u00b5s", 1e3}, {"\u03bcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},      {"h", 3600e9}};
    for (size_t i = 0; i < COUNT(units); i++)
        if (str_eq(unit, str_of(units[i].name)))
            return units[i].ns;
    return 0;
}

static size_t digits(str s, double *value)
{
    size_t n = 0;
    for (; n < s.n && char_is_digit(s.p[n]); n++)
        *value = *value * 10 + (s.p[n] - '0');
    return n;
}

enum duration { DURATION_GOOD, DURATION_BAD, DURATION_NO_UNIT, DURATION_UNKNOWN_UNIT };

/* One number with its unit, "1.5h"; *rest moves behind it. */
static enum duration take_part(str *rest, double *sum, str *ret_unit)
{
    double whole = 0, ignored = 0;
    size_t n = digits(*rest, &whole), n_fraction = 0;
    str s = str_from(*rest, n);
    if (s.n && s.p[0] == '.') {
        n_fraction = digits(str_from(s, 1), &ignored);
        s = str_from(s, 1 + n_fraction);
    }
    if (n + n_fraction == 0)
        return DURATION_BAD;
    size_t end = 0;
    while (end < s.n && s.p[end] != '.' && (s.p[end] < '0' || s.p[end] > '9'))
        end++;
    if (end == 0)
        return DURATION_NO_UNIT;
    *ret_unit = str_upto(s, end);
    *rest = str_from(s, end);
    double ns = unit_ns(*ret_unit);
    *sum += whole * ns;
    return ns == 0 ? DURATION_UNKNOWN_UNIT : *sum > (double)INT64_MAX ? DURATION_BAD : DURATION_GOOD;
}

static enum duration duration_check(str text, str *ret_unit)
{
    double sum = 0;
    enum duration last = DURATION_GOOD;
    if (text.n && (text.p[0] == '-' || text.p[0] == '+'))
        text = str_from(text, 1);
    if (str_eq(text, S("0")))
        return DURATION_GOOD;
    if (text.n == 0)
        return DURATION_BAD;
    while (text.n && last == DURATION_GOOD)
        last = take_part(&text, &sum, ret_unit);
    return last;
}

int query_timeout_check(struct arena *a, const struct query *q, struct err *err)
{
    static const char where[] = "invalid timeout specified in the request URL - time:";
    str text = query_get(q, S("timeout")), unit = {0};
    enum duration found = text.n ? duration_check(text, &unit) : DURATION_GOOD;
    if (found == DURATION_GOOD)
        return 0;
    str shown = field_quote(a, text);
    if (found == DURATION_UNKNOWN_UNIT)
        return err_set(err, ERR_BAD_REQUEST, "%s unknown unit %.*s in duration %.*s", where, STR(field_quote(a, unit)),
                       STR(shown));
    return err_set(err, ERR_BAD_REQUEST, "%s %s duration %.*s", where,
                   found == DURATION_NO_UNIT ? "missing unit in" : "invalid", STR(shown));
}
