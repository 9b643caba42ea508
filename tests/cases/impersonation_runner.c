/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when: the headers of a request, one to a line. Other headers may be among them.
 * expect: what the requester must be allowed, one question to a line, then who the request is made by:
 *
 *     impersonate RESOURCE NAME [in NAMESPACE] [of API GROUP]
 *     user USER
 *     uid UID
 *     groups GROUP, GROUP
 *     extra KEY = VALUE, VALUE
 *
 * or "nothing" when nobody is impersonated, or HTTP code and message of the refusal. Empty names show as "".
 */
#include "authn/impersonate.h"

#include "cases/case.h"
#include "object/status.h"

static str shown(str s)
{
    return s.n ? s : S("\"\"");
}

static void add_list(struct buf *b, struct strs list)
{
    for (size_t i = 0; i < list.n; i++)
        buf_fmt(b, "%s%.*s", i ? ", " : " ", STR(shown(list.p[i])));
    buf_add_char(b, '\n');
}

static void add_question(struct buf *b, const struct authz_attributes *q)
{
    buf_fmt(b, "%.*s %.*s", STR(q->verb), STR(q->resource));
    if (q->subresource.n)
        buf_fmt(b, "/%.*s", STR(q->subresource));
    buf_fmt(b, " %.*s", STR(shown(q->name)));
    if (q->namespace.n)
        buf_fmt(b, " in %.*s", STR(q->namespace));
    if (q->group.n)
        buf_fmt(b, " of %.*s", STR(q->group));
    buf_add_char(b, '\n');
}

static void add_identity(struct buf *b, const struct authz_identity *who)
{
    buf_fmt(b, "user %.*s\n", STR(shown(who->user)));
    if (who->uid.n)
        buf_fmt(b, "uid %.*s\n", STR(who->uid));
    buf_add_str(b, S("groups"));
    add_list(b, who->groups);
    for (size_t i = 0; i < who->n_extra; i++) {
        buf_fmt(b, "extra %.*s =", STR(shown(who->extra[i].key)));
        add_list(b, who->extra[i].values);
    }
}

static str answer(struct arena *a, const struct impersonate_header *headers, size_t n)
{
    struct impersonation as;
    struct err err = {0};
    struct buf b = {.arena = a};
    int code = impersonate_read(a, headers, n, &as, &err);
    if (code < 0)
        buf_fmt(&b, "%d %s", status_http(err.code), err.msg);
    else if (as.n == 0)
        buf_add_str(&b, S("nothing"));
    for (size_t i = 0; code == 0 && i < as.n; i++)
        add_question(&b, &as.questions[i]);
    if (code == 0 && as.n)
        add_identity(&b, &as.who);
    return buf_str(&b);
}

static void run(struct case_file *c)
{
    const struct case_section *when = case_find(c, NULL, S("when")), *expect = case_find(c, when, S("expect"));
    VEC(struct impersonate_header) headers = {0};
    if (when == NULL || expect == NULL) {
        case_fail(c, when, "when and expect must be there");
        return;
    }
    for (str line, rest = when->text; rest.n;) {
        str name, value;
        str_cut(rest, '\n', &line, &rest);
        str_cut(line, ':', &name, &value);
        *vec_push(c->arena, &headers) = (struct impersonate_header){name, str_trim(value)};
    }
    case_expect(c, expect, answer(c->arena, headers.p, headers.n));
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
