/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of the network: addresses, URIs, e-mail, by the rules of Go's net, net/url and net/mail. */
#include "schema/schema_format.h"

static int hex_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* ---- Addresses ---- */

/* Four numbers; sloppy: with zeros in front, as old versions of Go took them. */
static bool is_ip4(str s, bool sloppy)
{
    for (int i = 0; i < 4; i++) {
        size_t n = 0;
        int v = 0;
        for (; n < s.n && char_is_digit(s.p[n]) && v <= 255; n++)
            v = v * 10 + s.p[n] - '0';
        if (n == 0 || v > 255 || (!sloppy && n > 1 && s.p[0] == '0'))
            return false;
        s = str_from(s, n);
        if (i < 3 && (s.n == 0 || s.p[0] != '.'))
            return false;
        if (i < 3)
            s = str_from(s, 1);
    }
    return s.n == 0;
}

/* Hex digits of one group: how many, 0 when there are none or too many. */
static size_t ip6_group(str s, bool sloppy)
{
    size_t n = 0;
    unsigned v = 0;
    for (; n < s.n && hex_value(s.p[n]) >= 0; n++) {
        v = v * 16 + (unsigned)hex_value(s.p[n]);
        if (v > 0xffff || (!sloppy && n == 4))
            return 0;
    }
    return n;
}

static bool is_ip6(str s, bool sloppy)
{
    int groups = 0;
    bool gap = str_has_prefix(s, S("::"));
    if (gap && (s = str_from(s, 2)).n == 0)
        return true;
    while (groups < 8) {
        size_t n = ip6_group(s, sloppy);
        if (n == 0)
            return false;
        if (n < s.n && s.p[n] == '.') {
            if ((!gap && groups != 6) || groups > 6 || !is_ip4(s, sloppy))
                return false;
            groups += 2;
            s = (str){0};
            break;
        }
        groups++;
        s = str_from(s, n);
        if (s.n == 0)
            break;
        if (s.p[0] != ':' || s.n == 1)
            return false;
        s = str_from(s, 1);
        if (s.p[0] != ':')
            continue;
        if (gap)
            return false;
        gap = true;
        s = str_from(s, 1);
        if (s.n == 0)
            break;
    }
    return s.n == 0 && (gap ? groups < 8 : groups == 8);
}

bool format_is_ip(str s, bool sloppy)
{
    ptrdiff_t dot = str_find_char(s, '.'), colon = str_find_char(s, ':');
    if (dot >= 0 && (colon < 0 || dot < colon))
        return is_ip4(s, sloppy);
    return colon >= 0 && is_ip6(s, sloppy);
}

bool format_is_cidr(str s)
{
    str address, bits;
    uint64_t n;
    if (!str_cut(s, '/', &address, &bits) || !format_is_ip(address, true))
        return false;
    ptrdiff_t dot = str_find_char(address, '.'), colon = str_find_char(address, ':');
    bool four = dot >= 0 && (colon < 0 || dot < colon);
    while (bits.n > 1 && bits.p[0] == '0')
        bits = str_from(bits, 1);
    return bits.n && char_is_digit(bits.p[0]) && str_to_uint64(bits, &n) && n <= (four ? 32 : 128);
}

/* 6, 8 or 20 bytes: in pairs separated by colons or dashes, or in fours separated by dots. */
bool format_is_mac(str s)
{
    if (s.n < 14)
        return false;
    size_t block = s.p[2] == ':' || s.p[2] == '-' ? 2 : s.p[4] == '.' ? 4 : 0;
    if (block == 0 || (s.n + 1) % (block + 1))
        return false;
    size_t bytes = (s.n + 1) / (block + 1) * block / 2;
    if (bytes != 6 && bytes != 8 && bytes != 20)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool parts = i % (block + 1) == block;
        if (parts ? s.p[i] != s.p[block] : hex_value(s.p[i]) < 0)
            return false;
    }
    return true;
}

/* ---- URIs ---- */

enum uri_part { URI_PATH, URI_USER, URI_HOST, URI_ZONE };

static bool is_host_byte(char c)
{
    return char_is_letter(c) || char_is_digit(c) || (unsigned char)c >= 0x80 ||
           (c && strchr("!$&'()*+,;=:[]<>\"-_.~", c));
}

/* Percent signs must be followed by two digits; hosts take only some bytes, and no ASCII written that way. */
static bool is_escaped_well(str s, enum uri_part part)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '%') {
            if (part >= URI_HOST && !is_host_byte(s.p[i]))
                return false;
            continue;
        }
        if (i + 2 >= s.n || hex_value(s.p[i + 1]) < 0 || hex_value(s.p[i + 2]) < 0)
            return false;
        char c = (char)(hex_value(s.p[i + 1]) * 16 + hex_value(s.p[i + 2]));
        if (part == URI_HOST && hex_value(s.p[i + 1]) < 8 && c != '%')
            return false;
        if (part == URI_ZONE && c != '%' && c != ' ' && !is_host_byte(c))
            return false;
        i += 2;
    }
    return true;
}

static bool is_optional_port(str s)
{
    if (s.n == 0)
        return true;
    for (size_t i = 1; i < s.n; i++) {
        if (!char_is_digit(s.p[i]))
            return false;
    }
    return s.p[0] == ':';
}

static ptrdiff_t find_last(str s, char c)
{
    for (size_t i = s.n; i-- > 0;) {
        if (s.p[i] == c)
            return (ptrdiff_t)i;
    }
    return -1;
}

static bool is_uri_host(str s)
{
    if (s.n == 0 || s.p[0] != '[') {
        ptrdiff_t colon = find_last(s, ':');
        return (colon < 0 || is_optional_port(str_from(s, (size_t)colon))) && is_escaped_well(s, URI_HOST);
    }
    ptrdiff_t end = find_last(s, ']');
    if (end < 0 || !is_optional_port(str_from(s, (size_t)end + 1)))
        return false;
    ptrdiff_t zone = str_find(str_upto(s, (size_t)end), S("%25"));
    if (zone < 0)
        return is_escaped_well(s, URI_HOST);
    return is_escaped_well(str_upto(s, (size_t)zone), URI_HOST) &&
           is_escaped_well((str){s.p + zone, (size_t)(end - zone)}, URI_ZONE) &&
           is_escaped_well(str_from(s, (size_t)end), URI_HOST);
}

static bool is_user(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!char_is_letter(c) && !char_is_digit(c) && !(c && strchr("-._:~!$&'()*+,;=%@", c)))
            return false;
    }
    return is_escaped_well(s, URI_USER);
}

/* Cuts "scheme:" off; false when a colon comes first. */
static bool cut_scheme(str *s, str *ret)
{
    *ret = (str){0};
    for (size_t i = 0; i < s->n; i++) {
        char c = s->p[i];
        if (c == ':' && i == 0)
            return false;
        if (c == ':') {
            *ret = str_upto(*s, i);
            *s = str_from(*s, i + 1);
            return true;
        }
        if (!char_is_letter(c) && (i == 0 || !(char_is_digit(c) || c == '+' || c == '-' || c == '.')))
            return true;
    }
    return true;
}

static bool parse_authority(str s, struct uri *ret)
{
    ptrdiff_t at = find_last(s, '@');
    ret->has_user = at >= 0;
    ret->user = at >= 0 ? str_upto(s, (size_t)at) : (str){0};
    ret->host = str_from(s, (size_t)(at + 1));
    return is_uri_host(ret->host) && is_user(ret->user);
}

bool uri_parse(str s, struct uri *ret)
{
    *ret = (struct uri){0};
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    }
    if (str_eq(s, S("*")))
        return true;
    if (s.n == 0 || !cut_scheme(&s, &ret->scheme))
        return false;
    str_cut(s, '?', &s, &ret->query);
    if (s.n == 0 || s.p[0] != '/')
        return ret->scheme.n > 0; /* opaque: mailto:x */
    if (ret->scheme.n && str_has_prefix(s, S("//"))) {
        s = str_from(s, 2);
        ptrdiff_t slash = str_find_char(s, '/');
        if (!parse_authority(slash < 0 ? s : str_upto(s, (size_t)slash), ret))
            return false;
        s = slash < 0 ? (str){0} : str_from(s, (size_t)slash);
    }
    ret->path = s;
    return is_escaped_well(s, URI_PATH);
}

/* ---- E-mail ---- */

static str skip_blanks(str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = str_from(s, 1);
    return s;
}

static bool eat(str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_from(*s, 1);
    return true;
}

static bool is_visible(char c)
{
    return (unsigned char)c > ' ' && c != 0x7f;
}

/* Letters and the like, with dots; strictly: no dot at either end, nor two together. */
static bool eat_atom(str *s, bool strict)
{
    size_t n = 0;
    while (n < s->n && is_visible(s->p[n]) && !strchr("\"(),:;<>@[\\]", s->p[n]))
        n++;
    str atom = str_upto(*s, n);
    *s = str_from(*s, n);
    if (n == 0)
        return false;
    return !strict || (atom.p[0] != '.' && atom.p[n - 1] != '.' && str_find(atom, S("..")) < 0);
}

static bool eat_quoted(str *s, bool *ret_empty)
{
    for (size_t i = 1; i < s->n; i++) {
        char c = s->p[i];
        if (c == '"') {
            *ret_empty = i == 1;
            *s = str_from(*s, i + 1);
            return true;
        }
        if (c == '\\' && ++i == s->n)
            return false;
        if (!is_visible(s->p[i]) && s->p[i] != ' ' && s->p[i] != '\t')
            return false;
    }
    return false;
}

/* (comments (in comments)) and blanks. */
static bool skip_comments(str *s)
{
    *s = skip_blanks(*s);
    while (eat(s, '(')) {
        int depth = 1;
        for (; s->n && depth; *s = str_from(*s, 1)) {
            if (s->p[0] == '\\' && s->n > 1)
                *s = str_from(*s, 1);
            else if (s->p[0] == '(')
                depth++;
            else if (s->p[0] == ')')
                depth--;
        }
        if (depth)
            return false;
        *s = skip_blanks(*s);
    }
    return true;
}

static bool eat_domain(str *s)
{
    if (!eat(s, '['))
        return eat_atom(s, true);
    ptrdiff_t end = str_find_char(*s, ']');
    if (end < 0 || !format_is_ip(str_upto(*s, (size_t)end), false))
        return false;
    *s = str_from(*s, (size_t)end + 1);
    return true;
}

/* local@domain; s is left alone when it is none. */
static bool eat_address(str *s)
{
    str at = skip_blanks(*s);
    bool empty = false;
    bool local = at.n && at.p[0] == '"' ? eat_quoted(&at, &empty) && !empty : eat_atom(&at, true);
    if (!local || !eat(&at, '@'))
        return false;
    at = skip_blanks(at);
    if (at.n == 0 || !eat_domain(&at))
        return false;
    *s = at;
    return true;
}

/* Words before an address in angle brackets. */
static bool eat_phrase(str *s)
{
    size_t words = 0;
    for (;; words++) {
        if (words && !skip_comments(s))
            return false;
        *s = skip_blanks(*s);
        str at = *s;
        bool empty;
        if (at.n == 0 || !(at.p[0] == '"' ? eat_quoted(&at, &empty) : eat_atom(&at, false)))
            return words > 0 || at.n == 0;
        *s = at;
    }
}

static bool eat_mailbox(str *s)
{
    if (eat_address(s)) {
        *s = skip_blanks(*s);
        return true;
    }
    *s = skip_blanks(*s);
    if (s->n == 0 || (s->p[0] != '<' && !eat_phrase(s)))
        return false;
    *s = skip_blanks(*s);
    return eat(s, '<') && eat_address(s) && eat(s, '>');
}

bool format_is_email(str s)
{
    str rest = s;
    if (eat_mailbox(&rest))
        return skip_comments(&rest) && rest.n == 0;
    /* "group: address;" */
    rest = skip_blanks(s);
    if (rest.n == 0 || !eat_phrase(&rest) || !eat(&rest, ':') || !skip_comments(&rest) || !eat_mailbox(&rest))
        return false;
    return skip_comments(&rest) && eat(&rest, ';') && skip_comments(&rest) && rest.n == 0;
}
