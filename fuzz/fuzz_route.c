/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request line of a request that is otherwise harmless: "GET /path?query", then Accept headers line by line.
 * A path that is taken must come out the same when it is escaped anew and taken again, and can hold no trick.
 */
#include "api/server.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    (void)x;
    (void)headers;
    (void)body;
    assert(status == 406);
}

static const struct http_carrier carrier = {.answer = answer};

static bool is_same(const struct route *l, const struct route *r)
{
    return l->is_resource == r->is_resource && str_eq(l->group, r->group) && str_eq(l->version, r->version) &&
           str_eq(l->resource, r->resource) && str_eq(l->subresource, r->subresource) &&
           str_eq(l->namespace, r->namespace) && str_eq(l->name, r->name) && str_eq(l->path, r->path);
}

static void check_segment(str segment)
{
    assert(str_find_char(segment, '/') < 0 && str_find_char(segment, '\0') < 0);
    assert(!str_eq(segment, S(".")) && !str_eq(segment, S("..")));
}

static void check_again(struct arena *a, const struct api_request *first)
{
    struct buf path = {.arena = a};
    str rest = first->route.path, segment;
    while (rest.n) {
        str_cut(rest, '/', &segment, &rest);
        check_segment(segment);
        percent_encode(&path, segment);
        buf_add_char(&path, '/');
    }
    if (first->route.path.n > 1 && first->route.path.p[first->route.path.n - 1] != '/')
        path.n--;
    struct http_exchange x = {.method = first->x->method, .path = buf_str(&path)};
    struct api_request second = {.x = &x, .arena = a, .query = first->query};
    struct err err;
    assert(route_parse(&second, &err) == 0);
    assert(is_same(&first->route, &second.route));
}

static void check_accept(struct arena *a, struct api_request *r, str header)
{
    struct http_header headers[] = {{S("Accept"), header}};
    struct accept accept;
    r->x->headers = (struct http_headers){headers, 1};
    r->x->carrier = &carrier;
    r->arena = a;
    for (unsigned allowed = 0; allowed < 8; allowed++)
        if (negotiate(r, allowed, &accept)) {
            assert(accept.as != AS_TABLE || (allowed & ACCEPT_TABLE));
            assert(accept.as != AS_METADATA || (allowed & ACCEPT_METADATA));
            assert(accept.media != MEDIA_YAML || (allowed & ACCEPT_YAML));
        }
    r->x->headers = (struct http_headers){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    if (size > 10000)
        return 0;
    struct api api = {.options = {.clock = clock_system}};
    struct http_exchange x = {0};
    struct api_request r = {.api = &api, .x = &x, .arena = &a};
    struct err err;
    str rest = {(const char *)data, size}, line, target;
    str_cut(rest, '\n', &line, &rest);
    str_cut(line, ' ', &x.method, &target);
    str_cut(target, '?', &x.path, &x.query);
    if (query_parse(&a, x.query, &r.query, &err) == 0 && route_parse(&r, &err) == 0) {
        (void)route_attributes(&r);
        check_again(&a, &r);
    }
    while (rest.n) {
        str_cut(rest, '\n', &line, &rest);
        check_accept(&a, &r, line);
    }
    return 0;
}
