/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client.h"

#include "client/client_internal.h"

/* What stands for itself in a path segment and in the value of a query (RFC 3986: unreserved, and ':' as names have it). */
static bool is_plain(char c)
{
    return char_is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~' || c == ':';
}

static void encode(struct buf *b, str s)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (is_plain(s.p[i])) {
            buf_add_char(b, s.p[i]);
            continue;
        }
        buf_add_char(b, '%');
        buf_add_char(b, digits[c >> 4]);
        buf_add_char(b, digits[c & 15]);
    }
}

void client_path_add(struct buf *b, str s)
{
    buf_add_char(b, '/');
    encode(b, s);
}

bool client_is_segment(str s)
{
    return !str_eq(s, S(".")) && !str_eq(s, S("..")) && str_find_char(s, '/') < 0 && str_find_char(s, '%') < 0;
}

/* Names become parts of paths: what would lead elsewhere is refused here, as client-go does. */
int client_ref_check(const struct client_ref *ref, bool needs_name, struct err *err)
{
    if (needs_name && ref->name.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "resource name may not be empty");
    if (!client_is_segment(ref->name))
        return err_set(err, ERR_BAD_REQUEST, "invalid resource name \"%.*s\"", STR(ref->name));
    if (!client_is_segment(ref->namespace))
        return err_set(err, ERR_BAD_REQUEST, "invalid namespace \"%.*s\"", STR(ref->namespace));
    if (!client_is_segment(ref->subresource))
        return err_set(err, ERR_BAD_REQUEST, "invalid subresource \"%.*s\"", STR(ref->subresource));
    if (ref->resource->namespaced && ref->namespace.n == 0 && ref->name.n)
        return err_set(err, ERR_BAD_REQUEST, "an empty namespace may not be set when a resource name is provided");
    return 0;
}

void client_path(struct buf *b, const struct client_ref *ref)
{
    const struct client_resource *r = ref->resource;
    if (r->group.n) {
        buf_add_str(b, S("/apis"));
        client_path_add(b, r->group);
    } else {
        buf_add_str(b, S("/api"));
    }
    client_path_add(b, r->version);
    if (r->namespaced && ref->namespace.n) {
        buf_add_str(b, S("/namespaces"));
        client_path_add(b, ref->namespace);
    }
    client_path_add(b, r->plural);
    if (ref->name.n)
        client_path_add(b, ref->name);
    if (ref->name.n && ref->subresource.n)
        client_path_add(b, ref->subresource);
}

str client_api_version(struct arena *a, const struct client_resource *resource)
{
    if (resource->group.n == 0)
        return str_dup(a, resource->version);
    return str_fmt(a, "%.*s/%.*s", STR(resource->group), STR(resource->version));
}

void client_query(struct buf *target, str name, str value)
{
    if (value.n == 0)
        return;
    buf_add_char(target, str_find_char(buf_str(target), '?') < 0 ? '?' : '&');
    buf_add_str(target, name);
    buf_add_char(target, '=');
    encode(target, value);
}
