/* SPDX-License-Identifier: Apache-2.0 */
#include "api/server.h"

enum { SEGMENTS_MAX = 16 };

struct segments {
    str p[SEGMENTS_MAX];
    size_t n;
};

static bool is_trick(str segment)
{
    return str_eq(segment, S(".")) || str_eq(segment, S("..")) || str_find_char(segment, '/') >= 0 ||
           str_find_char(segment, '\0') >= 0 || !str_is_utf8(segment);
}

/* "/api/v1/pods" → api, v1, pods. A slash at the end is allowed, as by the real server. */
static int split(struct arena *a, str path, struct segments *ret, struct err *err)
{
    ret->n = 0;
    if (path.n == 0 || path.p[0] != '/')
        return err_set(err, ERR_BAD_REQUEST, "the path of a request must start with a slash");
    path = str_from(path, 1);
    while (path.n) {
        str raw, segment;
        str_cut(path, '/', &raw, &path);
        if (raw.n == 0 || !percent_decode(a, raw, false, &segment) || is_trick(segment))
            return err_set(err, ERR_BAD_REQUEST, "malformed path: empty, escaped or relative segments are not allowed");
        if (ret->n == SEGMENTS_MAX)
            return err_set(err, ERR_BAD_REQUEST, "malformed path: more than %d segments", SEGMENTS_MAX);
        ret->p[ret->n++] = segment;
    }
    return 0;
}

static str join(struct arena *a, const struct segments *s, bool has_slash)
{
    struct buf b = {.arena = a};
    for (size_t i = 0; i < s->n; i++) {
        buf_add_char(&b, '/');
        buf_add_str(&b, s->p[i]);
    }
    if (has_slash || s->n == 0)
        buf_add_char(&b, '/');
    return buf_str(&b);
}

/* Takes group and version; what is left begins with the resource. False when the path is not about a resource. */
static bool take_version(struct segments *s, struct route *route, size_t *ret_at)
{
    if (s->n >= 3 && str_eq(s->p[0], S("api"))) {
        route->version = s->p[1];
        *ret_at = 2;
        return true;
    }
    if (s->n >= 4 && str_eq(s->p[0], S("apis"))) {
        route->group = s->p[1];
        route->version = s->p[2];
        *ret_at = 3;
        return true;
    }
    return false;
}

/* namespaces/NS/pods/NAME/SUB, pods/NAME/SUB, namespaces/NS, namespaces/NS/status */
static void take_resource(struct route *route, const str *p, size_t n)
{
    bool is_namespace = str_eq(p[0], S("namespaces"));
    bool is_own = n < 3 || str_eq(p[2], S("status")) || str_eq(p[2], S("finalize"));
    if (is_namespace && n > 1) {
        route->namespace = p[1];
        route->is_namespace = is_own;
        if (!is_own) {
            p += 2;
            n -= 2;
        }
    }
    route->resource = p[0];
    route->name = n > 1 ? p[1] : (str){0};
    route->subresource = n > 2 ? p[2] : (str){0};
    route->rest = n > 3 ? p[3] : (str){0};
}

static unsigned verb_of(const struct api_request *r)
{
    const struct route *route = &r->route;
    str method = r->x->method;
    bool is_one = route->name.n > 0, is_read = str_eq(method, S("GET")) || str_eq(method, S("HEAD"));
    if (route->is_watch_path)
        return is_read ? VERB_WATCH : 0; /* there is nothing else to do there */
    if (str_eq(method, S("POST")))
        return VERB_CREATE;
    if (str_eq(method, S("PUT")))
        return VERB_UPDATE;
    if (str_eq(method, S("PATCH")))
        return VERB_PATCH;
    if (str_eq(method, S("DELETE")))
        return is_one ? VERB_DELETE : VERB_DELETECOLLECTION;
    if (!is_read)
        return 0;
    if (is_one)
        return VERB_GET;
    return query_flag(&r->query, S("watch")) ? VERB_WATCH : VERB_LIST;
}

int route_parse(struct api_request *r, struct err *err)
{
    struct route *route = &r->route;
    struct segments s;
    str raw = r->x->path;
    int code = split(r->arena, raw, &s, err);
    if (code < 0)
        return code;
    route->path = join(r->arena, &s, raw.n > 1 && raw.p[raw.n - 1] == '/');
    size_t at;
    if (!take_version(&s, route, &at))
        return 0;
    route->is_resource = true;
    if (str_eq(s.p[at], S("watch")) && at + 1 < s.n) {
        route->is_watch_path = true;
        at++;
    }
    take_resource(route, s.p + at, s.n - at);
    route->verb = verb_of(r);
    return 0;
}

/* A list or watch that asks for one name is authorised like one for that name, so that rules with resourceNames match. The
 * deletion of many is not, nor is a watch by its old path: Kubernetes does not either, and nobody gets more here than there. */
static str selected_name(const struct api_request *r)
{
    if (!(r->route.verb & (VERB_LIST | VERB_WATCH)) || r->route.is_watch_path)
        return (str){0};
    struct field_selector fields;
    str name;
    if (field_selector_parse(r->arena, query_get(&r->query, S("fieldSelector")), &fields, NULL) == 0 &&
        field_selector_requires(&fields, S("metadata.name"), &name))
        return name;
    return (str){0};
}

struct authz_attributes route_attributes(const struct api_request *r)
{
    const struct route *route = &r->route;
    if (!route->is_resource)
        return (struct authz_attributes){.verb = str_lower(r->arena, r->x->method), .path = route->path};
    return (struct authz_attributes){
        .is_resource = true,
        .verb = route->is_watch_path ? S("watch")
                : route->verb        ? str_of(verb_name(route->verb))
                                     : (str){0},
        .group = route->group,
        .version = route->version,
        .resource = route->resource,
        .subresource = route->subresource,
        .name = route->name.n ? route->name : selected_name(r),
        .namespace = route->namespace,
        .path = route->path,
    };
}
