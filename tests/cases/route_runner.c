/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of routing: what a request line asks for, as authorisation sees it.
 *
 *     --- when
 *     GET /api/v1/namespaces/team/pods/web?watch=1      one request per line
 *     --- expect
 *     one line per request: verb, then what it is about: the resource (group/version first), its namespace and name;
 *     or the path, for requests that are not about a resource; or what is wrong with it */
#include "api/request.h"
#include "cases/case.h"

static void show_resource(struct buf *b, const struct route *route, const struct authz_attributes *what)
{
    buf_fmt(b, "%.*s ", STR(what->verb));
    if (route->is_watch_path)
        buf_add_str(b, S("(old path) "));
    if (what->group.n)
        buf_fmt(b, "%.*s/", STR(what->group));
    buf_fmt(b, "%.*s %.*s", STR(what->version), STR(what->resource));
    if (what->subresource.n)
        buf_fmt(b, "/%.*s", STR(what->subresource));
    if (what->namespace.n)
        buf_fmt(b, " namespace=%.*s", STR(what->namespace));
    if (what->name.n)
        buf_fmt(b, " name=%.*s", STR(what->name));
    if (route->rest.n)
        buf_fmt(b, " rest=%.*s", STR(route->rest));
}

static void show(struct arena *a, str line, struct buf *b)
{
    struct http_exchange x = {0};
    struct api_request r = {.x = &x, .arena = a};
    struct err err;
    str target;
    if (!str_cut(line, ' ', &x.method, &target))
        return;
    str_cut(target, '?', &x.path, &x.query);
    if (query_parse(a, x.query, &r.query, &err) < 0 || route_parse(&r, &err) < 0) {
        buf_add_str(b, str_of(err.msg));
        return;
    }
    struct authz_attributes what = route_attributes(&r);
    if (r.route.is_resource)
        show_resource(b, &r.route, &what);
    else
        buf_fmt(b, "%.*s path %.*s", STR(what.verb), STR(what.path));
}

static void run(struct case_file *c)
{
    for (const struct case_section *when = NULL; (when = case_find(c, when, S("when")));) {
        struct buf got = {.arena = c->arena};
        str text = when->text, line;
        while (text.n) {
            str_cut(text, '\n', &line, &text);
            show(c->arena, line, &got);
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
