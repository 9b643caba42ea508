/* SPDX-License-Identifier: Apache-2.0 */
/* A server's URL, taken apart: https://host:6443/base. */
#include "client/config.h"

#include <arpa/inet.h>
#include <strings.h>

static bool is_scheme(str s, str scheme)
{
    return s.n == scheme.n && strncasecmp(s.p, scheme.p, s.n) == 0;
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

/* Names of DNS, with the underscores some have; addresses of IPv4 look like names. */
static bool is_host(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = char_is_letter(c);
        if (!is_letter && !char_is_digit(c) && c != '-' && c != '.' && c != '_')
            return false;
    }
    return s.n > 0 && s.n < 254;
}

/* "host", "host:port", "[::1]", "[::1]:port" */
static int split_host(struct arena *a, str authority, struct client_config *c, struct err *err)
{
    struct in6_addr v6;
    str port = {0};
    uint64_t number = c->is_tls ? 443 : 80;
    if (authority.n && authority.p[0] == '[') {
        ptrdiff_t end = str_find_char(authority, ']');
        str inside = end < 0 ? (str){0} : str_upto(str_from(authority, 1), (size_t)end - 1);
        port = end < 0 ? (str){0} : str_from(authority, (size_t)end + 1);
        if (end < 0 || (port.n && port.p[0] != ':') || inet_pton(AF_INET6, str_cstr(a, inside), &v6) != 1)
            return err_set(err, ERR_INVALID, "server URL has no valid IPv6 address between its brackets");
        c->host = str_dup(a, inside);
        port = str_from(port, 1);
    } else {
        str host;
        (void)str_cut(authority, ':', &host, &port);
        if (!is_host(host))
            return err_set(err, ERR_INVALID, "server URL has no valid host");
        c->host = str_dup(a, host);
    }
    if (port.n && (!str_to_uint64(port, &number) || number == 0 || number > 65535))
        return err_set(err, ERR_INVALID, "server URL has no valid port");
    c->port = (uint16_t)number;
    return 0;
}

/* As it goes onto the wire: visible ASCII, the rest percent-encoded by who wrote it. */
static int take_path(struct arena *a, str path, struct client_config *c, struct err *err)
{
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] <= ' ' || path.p[i] > '~')
            return err_set(err, ERR_INVALID, "server URL has a path that is not percent-encoded");
    }
    c->base_path = str_dup(a, path);
    return 0;
}

static size_t span_until(str s, const char *stops)
{
    size_t n = 0;
    while (n < s.n && strchr(stops, s.p[n]) == NULL)
        n++;
    return n;
}

int client_config_set_server(struct arena *a, str url, struct client_config *c, struct err *err)
{
    struct err mine;
    err = err ? err : &mine;
    str all = str_upto(url, span_until(url, "?#"));
    ptrdiff_t colon = str_find(all, S("://"));
    str scheme = colon < 0 ? S("http") : str_upto(all, (size_t)colon); /* as client-go takes one without */
    str rest = colon < 0 ? all : str_from(all, (size_t)colon + 3);
    str authority = str_upto(rest, span_until(rest, "/"));
    c->is_tls = is_scheme(scheme, S("https"));
    /* Before anything of it is shown. */
    if (str_find_char(authority, '@') >= 0)
        return err_set(err, ERR_INVALID, "server URL holds credentials, which belong to the user,");
    if (!c->is_tls && !is_scheme(scheme, S("http")))
        return err_set(err, ERR_INVALID, "unsupported protocol scheme \"%.*s\"", STR(scheme));
    if (split_host(a, authority, c, err) < 0 || take_path(a, str_from(rest, authority.n), c, err) < 0)
        return err->code;
    if (!c->is_tls && !is_loopback(str_cstr(a, c->host)))
        return err_set(err, ERR_INVALID, "server URL is not https, and %.*s is no loopback address,", STR(c->host));
    c->server = str_dup(a, all);
    c->server_name = c->host;
    return 0;
}
