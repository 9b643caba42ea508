/* SPDX-License-Identifier: Apache-2.0 */
/* Formats, by the rules of the Go library that Kubernetes uses (strfmt), its oddities included. */
#include "schema/schema_format.h"

#include "schema/pattern.h"

static const struct {
    const char *name;
} formats[FORMAT_COUNT] = {
    [FORMAT_NONE] = {""},
    [FORMAT_BSONOBJECTID] = {"bsonobjectid"},
    [FORMAT_URI] = {"uri"},
    [FORMAT_EMAIL] = {"email"},
    [FORMAT_HOSTNAME] = {"hostname"},
    [FORMAT_IPV4] = {"ipv4"},
    [FORMAT_IPV6] = {"ipv6"},
    [FORMAT_CIDR] = {"cidr"},
    [FORMAT_MAC] = {"mac"},
    [FORMAT_UUID] = {"uuid"},
    [FORMAT_UUID3] = {"uuid3"},
    [FORMAT_UUID4] = {"uuid4"},
    [FORMAT_UUID5] = {"uuid5"},
    [FORMAT_ISBN] = {"isbn"},
    [FORMAT_ISBN10] = {"isbn10"},
    [FORMAT_ISBN13] = {"isbn13"},
    [FORMAT_CREDITCARD] = {"creditcard"},
    [FORMAT_SSN] = {"ssn"},
    [FORMAT_HEXCOLOR] = {"hexcolor"},
    [FORMAT_RGBCOLOR] = {"rgbcolor"},
    [FORMAT_BYTE] = {"byte"},
    [FORMAT_PASSWORD] = {"password"},
    [FORMAT_DATE] = {"date"},
    [FORMAT_DURATION] = {"duration"},
    [FORMAT_DATETIME] = {"datetime"},
};

/* The name without its dashes is this one. */
static bool is_named(str name, const char *plain)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '-')
            continue;
        if (*plain == 0 || name.p[i] != *plain++)
            return false;
    }
    return *plain == 0;
}

enum format format_find(str name)
{
    for (size_t i = FORMAT_NONE + 1; i < FORMAT_COUNT; i++) {
        if (is_named(name, formats[i].name))
            return (enum format)i;
    }
    return FORMAT_NONE;
}

static bool is_digit(char c)
{
    return char_is_digit(c);
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool all_hex(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is_hex(s.p[i]))
            return false;
    }
    return true;
}

/* Compares with a mask: 9 is a digit, everything else itself. */
static bool has_mask(str s, const char *mask)
{
    if (s.n != strlen(mask))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (mask[i] == '9' ? !is_digit(s.p[i]) : s.p[i] != mask[i])
            return false;
    }
    return true;
}

/* ---- Time ---- */

static int two(const char *p)
{
    return (p[0] - '0') * 10 + p[1] - '0';
}

static bool is_date(str s)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!has_mask(s, "9999-99-99"))
        return false;
    int year = two(s.p) * 100 + two(s.p + 2), month = two(s.p + 5), day = two(s.p + 8);
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    return month != 2 || day < 29 || leap;
}

/* The end of a time: z or an offset; a fraction, separated by any one character, may come before. */
static bool is_zone(str s)
{
    if (s.n == 1)
        return (s.p[0] | 0x20) == 'z';
    return s.n == 6 && (s.p[0] == '+' || s.p[0] == '-') && has_mask(str_from(s, 1), "99:99");
}

static bool is_fraction_and_zone(str s)
{
    if (is_zone(s))
        return true;
    if (s.n == 0 || s.p[0] == '\n')
        return false;
    size_t i = 1;
    while (i < s.n && ((unsigned char)s.p[i] & 0xc0) == 0x80)
        i++; /* the rest of the one character */
    size_t digits = i;
    while (i < s.n && is_digit(s.p[i]))
        i++;
    return i > digits && is_zone(str_from(s, i));
}

/* What follows a second t is ignored, as upstream. */
static bool is_datetime(str s)
{
    if (s.n < 11 || (s.p[10] | 0x20) != 't' || !is_date(str_upto(s, 10)))
        return false;
    str time = str_from(s, 11);
    for (size_t i = 0; i < time.n; i++) {
        if ((time.p[i] | 0x20) == 't')
            time = str_upto(time, i);
    }
    if (time.n < 9 || !has_mask(str_upto(time, 8), "99:99:99"))
        return false;
    return two(time.p) <= 23 && two(time.p + 3) <= 59 && two(time.p + 6) <= 59 &&
           is_fraction_and_zone(str_from(time, 8));
}

static size_t count_digits(str s)
{
    size_t n = 0;
    while (n < s.n && is_digit(s.p[n]))
        n++;
    return n;
}

static size_t go_unit(str s)
{
    static const char *const units[] = {"ns", "us", "µs", "μs", "ms", "s", "m", "h"};
    for (size_t i = 0; i < COUNT(units); i++) {
        str unit = str_of(units[i]), rest = str_from(s, unit.n);
        if (str_has_prefix(s, unit) && (rest.n == 0 || is_digit(rest.p[0]) || rest.p[0] == '.'))
            return unit.n;
    }
    return 0;
}

/* Go's own durations: 1h30m, -1.5s, 0. */
static bool is_go_duration(str s)
{
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    if (str_eq(s, S("0")))
        return true;
    bool some = s.n > 0;
    while (s.n) {
        size_t whole = count_digits(s), part = 0;
        s = str_from(s, whole);
        if (s.n && s.p[0] == '.') {
            s = str_from(s, 1);
            part = count_digits(s);
            s = str_from(s, part);
        }
        size_t unit = go_unit(s);
        if (whole + part == 0 || whole > 18 || unit == 0)
            return false;
        s = str_from(s, unit);
    }
    return some;
}

static bool is_word_unit(str unit)
{
    static const char *const exact[] = {"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"};
    static const char *const prefixes[] = {"nano", "micro", "milli", "sec", "min", "hour", "day", "week"};
    char low[8];
    size_t n = unit.n < sizeof low ? unit.n : sizeof low;
    for (size_t i = 0; i < n; i++)
        low[i] = (char)(char_is_letter(unit.p[i]) ? unit.p[i] | 0x20 : unit.p[i]);
    for (size_t i = 0; i < COUNT(exact); i++) {
        if (n == unit.n && str_eq((str){low, n}, str_of(exact[i])))
            return true;
    }
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (str_has_prefix((str){low, n}, str_of(prefixes[i])))
            return true;
    }
    return false;
}

/* "22 ns", "3 weeks": anywhere in the text. */
static bool is_word_duration(str s)
{
    bool found = false;
    for (size_t i = 0; i < s.n;) {
        size_t digits = count_digits(str_from(s, i)), k = i + digits, unit;
        if (digits == 0) {
            i++;
            continue;
        }
        while (k < s.n && is_space(s.p[k]))
            k++;
        for (unit = k; unit < s.n && (char_is_letter(s.p[unit]) || str_has_prefix(str_from(s, unit), S("µ")));)
            unit += char_is_letter(s.p[unit]) ? 1 : 2;
        if (unit > k) {
            int64_t n;
            if (!str_to_int64((str){s.p + i, digits}, &n))
                return false;
            found = found || is_word_unit((str){s.p + k, unit - k});
        }
        i = unit > k ? unit : i + digits;
    }
    return found;
}

/* ---- Identifiers ---- */

/* Five blocks of hex digits; dashes between them may be missing. */
static bool is_uuid(str s, char version)
{
    static const uint8_t blocks[] = {8, 4, 4, 4, 12};
    char hex[32];
    size_t at = 0, n = 0;
    for (size_t b = 0; b < sizeof blocks; b++) {
        if (b && at < s.n && s.p[at] == '-')
            at++;
        if (s.n - at < blocks[b] || !all_hex((str){s.p + at, blocks[b]}))
            return false;
        memcpy(hex + n, s.p + at, blocks[b]);
        at += blocks[b];
        n += blocks[b];
    }
    if (at != s.n || (version && hex[12] != version))
        return false;
    return version < '4' || strchr("89abAB", hex[16]) != NULL;
}

/* Copies the characters that keep() likes; false when there are more than max. */
static bool filter(str s, bool (*keep)(char c), char *out, size_t max, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!keep(s.p[i]))
            continue;
        if (n == max)
            return false;
        out[n++] = s.p[i];
    }
    *ret_n = n;
    return true;
}

static bool is_no_separator(char c)
{
    return c != '-' && !is_space(c);
}

static bool is_isbn10(str s)
{
    char c[10];
    size_t n;
    int sum = 0;
    if (!filter(s, is_no_separator, c, sizeof c, &n) || n != 10)
        return false;
    for (int i = 0; i < 10; i++) {
        if (!is_digit(c[i]) && !(i == 9 && c[i] == 'X'))
            return false;
        sum += (i + 1) * (c[i] == 'X' ? 10 : c[i] - '0');
    }
    return sum % 11 == 0;
}

static bool is_isbn13(str s)
{
    char c[13];
    size_t n;
    int sum = 0;
    if (!filter(s, is_no_separator, c, sizeof c, &n) || n != 13)
        return false;
    for (int i = 0; i < 13; i++) {
        if (!is_digit(c[i]))
            return false;
        sum += (i % 2 ? 3 : 1) * (c[i] - '0');
    }
    return sum % 10 == 0;
}

/* Visa, Mastercard, Discover, American Express, Diners Club, JCB: by the first digits and the length. */
static bool is_card_number(const char *c, size_t n)
{
    int head2 = two(c), head3 = head2 * 10 + c[2] - '0', head4 = head3 * 10 + c[3] - '0';
    switch (n) {
    case 13:
        return c[0] == '4';
    case 14:
        return (head3 >= 300 && head3 <= 305) || head2 == 36 || head2 == 38;
    case 15:
        return head2 == 34 || head2 == 37 || head4 == 2131 || head4 == 1800;
    case 16:
        return c[0] == '4' || (head2 >= 51 && head2 <= 55) || head4 == 6011 || head2 == 65 || head2 == 35;
    default:
        return false;
    }
}

static bool is_creditcard(str s)
{
    char c[16];
    size_t n;
    int sum = 0;
    if (!filter(s, is_digit, c, sizeof c, &n) || n < 13 || !is_card_number(c, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        int d = c[n - 1 - i] - '0';
        d = i % 2 ? 2 * d : d;
        sum += d >= 10 ? d - 9 : d;
    }
    return sum % 10 == 0;
}

static bool is_ssn(str s)
{
    if (s.n != 11 || !strchr("- ", s.p[3]) || !strchr("- ", s.p[6]) || !s.p[3] || !s.p[6])
        return false;
    return has_mask(str_upto(s, 3), "999") && has_mask((str){s.p + 4, 2}, "99") && has_mask(str_from(s, 7), "9999");
}

/* ---- Colours, bytes ---- */

static bool is_hexcolor(str s)
{
    if (s.n && s.p[0] == '#')
        s = str_from(s, 1);
    return (s.n == 3 || s.n == 6) && all_hex(s);
}

static str skip_space(str s)
{
    while (s.n && is_space(s.p[0]))
        s = str_from(s, 1);
    return s;
}

static bool is_rgbcolor(str s)
{
    if (!str_has_prefix(s, S("rgb(")))
        return false;
    s = str_from(s, 4);
    for (int i = 0; i < 3; i++) {
        s = skip_space(s);
        size_t n = count_digits(s);
        int64_t v = 0;
        if (n == 0 || n > 3 || s.n == 0 || (n > 1 && s.p[0] == '0') || !str_to_int64(str_upto(s, n), &v) || v > 255)
            return false;
        s = skip_space(str_from(s, n));
        if (s.n == 0 || s.p[0] != (i < 2 ? ',' : ')'))
            return false;
        s = str_from(s, 1);
    }
    return s.n == 0;
}

static bool is_base64(str s)
{
    if (s.n == 0 || s.n % 4)
        return false;
    size_t n = s.n;
    for (int pad = 0; pad < 2 && s.p[n - 1] == '='; pad++)
        n--;
    for (size_t i = 0; i < n; i++) {
        char c = s.p[i];
        if (!char_is_letter(c) && !is_digit(c) && c != '+' && c != '/')
            return false;
    }
    return true;
}

/* ---- Host names ---- */

/* Letters, digits and symbols; of these, ASCII has nine. */
static bool is_host_char(char c)
{
    return char_is_letter(c) || is_digit(c) || (c && strchr("$+<=>^`|~", c));
}

static bool is_host_label(str s)
{
    if (s.n == 0 || s.n > 63 || !is_host_char(s.p[0]) || !is_host_char(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_host_char(s.p[i]) && s.p[i] != '-')
            return false;
    }
    return true;
}

static bool is_top_label(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!char_is_letter(s.p[i]))
            return false;
    }
    return s.n >= 2 && s.n <= 63;
}

/* One label may have a dash only behind its first character, be it the last; more labels end with one of letters. */
static bool is_ascii_hostname(str s)
{
    if (str_find_char(s, '.') < 0) {
        for (size_t i = 0; i < s.n; i++) {
            if (!is_host_char(s.p[i]) && !(i == 1 && s.p[i] == '-'))
                return false;
        }
        return s.n > 0 && s.n <= 63;
    }
    str label;
    while (str_cut(s, '.', &label, &s)) {
        if (!is_host_label(label))
            return false;
        if (str_find_char(s, '.') < 0)
            return is_top_label(s);
    }
    return false;
}

static bool is_unicode_hostname(str s)
{
    static const char expression[] =
        "^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|"
        "([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$";
    struct pattern *p;
    if (pattern_compile(str_of(expression), &p, NULL) < 0)
        return false;
    struct pattern_scratch scratch = {0};
    bool ok = pattern_match(p, s, &scratch) == PATTERN_YES;
    pattern_scratch_done(&scratch);
    pattern_free(p);
    str label;
    for (bool more = true; ok && more;) {
        more = str_cut(s, '.', &label, &s);
        ok = label.n <= 63;
    }
    return ok;
}

static bool is_hostname(str s)
{
    if (s.n > 255)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80)
            return is_unicode_hostname(s);
    }
    return is_ascii_hostname(s);
}

bool format_matches(enum format format, str text)
{
    struct uri uri;
    switch (format) {
    case FORMAT_BSONOBJECTID:
        return text.n == 24 && all_hex(text);
    case FORMAT_URI:
        return uri_parse(text, &uri);
    case FORMAT_EMAIL:
        return format_is_email(text);
    case FORMAT_HOSTNAME:
        return is_hostname(text);
    case FORMAT_IPV4:
        return str_find_char(text, '.') >= 0 && format_is_ip(text, true);
    case FORMAT_IPV6:
        return str_find_char(text, ':') >= 0 && format_is_ip(text, false);
    case FORMAT_CIDR:
        return format_is_cidr(text);
    case FORMAT_MAC:
        return format_is_mac(text);
    case FORMAT_UUID:
        return is_uuid(text, 0);
    case FORMAT_UUID3:
        return is_uuid(text, '3');
    case FORMAT_UUID4:
        return is_uuid(text, '4');
    case FORMAT_UUID5:
        return is_uuid(text, '5');
    case FORMAT_ISBN:
        return is_isbn10(text) || is_isbn13(text);
    case FORMAT_ISBN10:
        return is_isbn10(text);
    case FORMAT_ISBN13:
        return is_isbn13(text);
    case FORMAT_CREDITCARD:
        return is_creditcard(text);
    case FORMAT_SSN:
        return is_ssn(text);
    case FORMAT_HEXCOLOR:
        return is_hexcolor(text);
    case FORMAT_RGBCOLOR:
        return is_rgbcolor(text);
    case FORMAT_BYTE:
        return is_base64(text);
    case FORMAT_DATE:
        return is_date(text);
    case FORMAT_DURATION:
        return is_go_duration(text) || is_word_duration(text);
    case FORMAT_DATETIME:
        return is_datetime(text);
    case FORMAT_PASSWORD:
    case FORMAT_NONE:
    case FORMAT_COUNT:
        break;
    }
    return true;
}
