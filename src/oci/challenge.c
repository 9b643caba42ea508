/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/challenge.h"

#include <strings.h>

struct reader {
    str rest;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static void skip(struct reader *r, bool commas)
{
    while (r->rest.n && (is_space(r->rest.p[0]) || (commas && r->rest.p[0] == ',')))
        r->rest = str_from(r->rest, 1);
}

static bool is_token_char(char c)
{
    return char_is_alnum(c) || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static str take_token(struct reader *r)
{
    size_t n = 0;
    while (n < r->rest.n && is_token_char(r->rest.p[n]))
        n++;
    str token = str_upto(r->rest, n);
    r->rest = str_from(r->rest, n);
    return token;
}

/* "a \"b\"": false when it does not end. */
static bool take_quoted(struct arena *a, struct reader *r, str *ret)
{
    struct buf b = {.arena = a};
    for (size_t i = 1; i < r->rest.n; i++) {
        char c = r->rest.p[i];
        if (c == '"') {
            r->rest = str_from(r->rest, i + 1);
            *ret = buf_str(&b);
            return true;
        }
        if (c == '\\' && ++i == r->rest.n)
            return false;
        buf_add_char(&b, r->rest.p[i]);
    }
    return false;
}

/* name=value; false, with nothing taken, when it is something else: the next scheme, or the one word some schemes have. */
static bool take_parameter(struct arena *a, struct reader *r, str *ret_name, str *ret_value)
{
    struct reader at = *r;
    skip(&at, true);
    *ret_name = take_token(&at);
    skip(&at, false);
    if (ret_name->n == 0 || at.rest.n == 0 || at.rest.p[0] != '=')
        return false;
    at.rest = str_from(at.rest, 1);
    skip(&at, false);
    if (at.rest.n && at.rest.p[0] == '"') {
        if (!take_quoted(a, &at, ret_value))
            return false;
    } else {
        *ret_value = take_token(&at);
    }
    *r = at;
    return true;
}

static bool is_word(str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static void take_scheme(struct arena *a, struct reader *r, str scheme, struct challenge *c)
{
    str name, value, realm = {0}, service = {0}, scope = {0};
    while (take_parameter(a, r, &name, &value)) {
        if (is_word(name, "realm"))
            realm = value;
        else if (is_word(name, "service"))
            service = value;
        else if (is_word(name, "scope"))
            scope = value;
    }
    if (is_word(scheme, "basic"))
        c->basic = true;
    if (is_word(scheme, "bearer") && !c->bearer && realm.n) {
        c->bearer = true;
        c->realm = realm;
        c->service = service;
        c->scope = scope;
    }
}

void challenge_add(struct arena *a, str header, struct challenge *c)
{
    struct reader r = {str_upto(header, CHALLENGE_MAX)};
    for (;;) {
        skip(&r, true);
        str scheme = take_token(&r);
        if (scheme.n == 0)
            return; /* the end, or bytes that do not belong here */
        if (r.rest.n && !is_space(r.rest.p[0]) && r.rest.p[0] != ',')
            return;
        take_scheme(a, &r, scheme, c);
    }
}
