/* SPDX-License-Identifier: Apache-2.0 */
#include "client/header.h"

#include "base/vec.h"

typedef VEC(struct http_header) header_vec;

bool header_is_value(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static void add(struct arena *a, header_vec *v, str name, str value)
{
    *vec_push(a, v) = (struct http_header){name, str_dup(a, value)};
}

static bool is_token_char(unsigned char c)
{
    return char_is_alnum(c) || (c && strchr("!#$&'*+-.^_`|~", c));
}

/* Keys are any text, names of headers are not: what does not fit is percent-encoded, the percent sign included. */
static str extra_name(struct arena *a, str key)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("Impersonate-Extra-"));
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        if (is_token_char(c))
            buf_add_char(&b, (char)c);
        else
            buf_fmt(&b, "%%%02X", c);
    }
    return buf_str(&b);
}

struct http_headers header_identity(struct arena *a, str authorization, const struct client_impersonation *as)
{
    header_vec v = {0};
    if (authorization.n)
        add(a, &v, S("Authorization"), authorization);
    if (as->user.n == 0)
        return (struct http_headers){v.p, v.n};
    add(a, &v, S("Impersonate-User"), as->user);
    if (as->uid.n)
        add(a, &v, S("Impersonate-Uid"), as->uid);
    for (size_t i = 0; i < as->n_groups; i++)
        add(a, &v, S("Impersonate-Group"), as->groups[i]);
    for (size_t i = 0; i < as->n_extra; i++) {
        str name = extra_name(a, as->extra[i].key);
        for (size_t j = 0; j < as->extra[i].n; j++)
            add(a, &v, name, as->extra[i].values[j]);
    }
    return (struct http_headers){v.p, v.n};
}
