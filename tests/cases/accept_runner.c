/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of negotiation: which form of an answer the Accept header of a request leads to.
 *
 *     --- when [table] [metadata] [yaml] [agent=curl/8] [query=pretty=1]     what can be served besides JSON
 *     one Accept header per line; "-" stands for none
 *     --- expect
 *     one line per header: media type, the form if it is not the object itself, pretty if so; or 406 */
#include "api/server.h"
#include "cases/case.h"

static int refused;

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    (void)x;
    (void)headers;
    (void)body;
    refused = status;
}

static const struct http_carrier carrier = {.answer = answer};

static unsigned allowed_by(const struct case_section *when)
{
    return (case_has_arg(when, S("table")) ? ACCEPT_TABLE : 0) |
           (case_has_arg(when, S("metadata")) ? ACCEPT_METADATA : 0) |
           (case_has_arg(when, S("yaml")) ? ACCEPT_YAML : 0);
}

static void show(struct arena *a, const struct case_section *when, str header, struct buf *b)
{
    struct api api = {.options = {.clock = clock_system}};
    struct http_header headers[] = {{S("User-Agent"), case_arg(when, S("agent"))}, {S("Accept"), header}};
    struct http_exchange x = {.carrier = &carrier, .headers = {headers, str_eq(header, S("-")) ? 1 : 2}};
    struct api_request r = {.api = &api, .x = &x, .arena = a};
    struct accept accept;
    struct err err;
    if (query_parse(a, case_arg(when, S("query")), &r.query, &err) < 0) {
        buf_add_str(b, str_of(err.msg));
        return;
    }
    refused = 0;
    if (!negotiate(&r, allowed_by(when), &accept)) {
        buf_fmt(b, "%d", refused);
        return;
    }
    buf_add_str(b, accept.media == MEDIA_YAML ? S("yaml") : S("json"));
    if (accept.as != AS_OBJECT)
        buf_fmt(b, " %.*s %.*s", STR(accept.group_version), STR(accept.kind));
    if (accept.is_pretty)
        buf_add_str(b, S(" pretty"));
}

static void run(struct case_file *c)
{
    for (const struct case_section *when = NULL; (when = case_find(c, when, S("when")));) {
        struct buf got = {.arena = c->arena};
        str text = when->text, line;
        while (text.n) {
            str_cut(text, '\n', &line, &text);
            show(c->arena, when, line, &got);
            buf_add_char(&got, '\n');
        }
        const struct case_section *expect = case_find(c, when, S("expect"));
        if (!expect)
            case_fail(c, when, "no expectation");
        else
            case_expect(c, expect, buf_str(&got));
    }
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
