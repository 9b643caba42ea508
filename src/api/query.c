/* SPDX-License-Identifier: Apache-2.0 */
#include "api/request.h"

enum { OPTIONS_MAX = 1000 };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
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
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                        c == '.' || c == '_' || c == '~';
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
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(value, str_of(words[i])))
            return true;
    return false;
}
