/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address.h"

#include <arpa/inet.h>

static bool is_ipv6(str host)
{
    return str_find_char(host, ':') >= 0;
}

/* The address as bytes; length 4 or 16, or 0 when it is none. */
static size_t host_bytes(str host, unsigned char bytes[static 16])
{
    char text[INET6_ADDRSTRLEN] = {0};
    if (host.n == 0 || host.n >= sizeof text)
        return 0;
    memcpy(text, host.p, host.n);
    if (strlen(text) != host.n)
        return 0;
    return inet_pton(AF_INET, text, bytes) == 1 ? 4 : inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

bool address_parse(str text, str *ret_host, uint16_t *ret_port)
{
    unsigned char bytes[16];
    uint64_t port;
    ptrdiff_t colon = -1;
    for (size_t i = 0; i < text.n; i++)
        colon = text.p[i] == ':' ? (ptrdiff_t)i : colon;
    if (colon < 0 || !str_to_uint64(str_from(text, (size_t)colon + 1), &port) || port > UINT16_MAX)
        return false;
    str host = str_upto(text, (size_t)colon);
    bool is_bracketed = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (is_bracketed)
        host = (str){host.p + 1, host.n - 2};
    if (is_ipv6(host) != is_bracketed || (!str_eq(host, S("localhost")) && host_bytes(host, bytes) == 0))
        return false;
    *ret_host = host;
    *ret_port = (uint16_t)port;
    return true;
}

bool address_is_local(str host)
{
    static const unsigned char loopback[16] = {[15] = 1};
    unsigned char bytes[16];
    size_t n = host_bytes(host, bytes);
    return str_eq(host, S("localhost")) || (n == 4 && bytes[0] == 127) || (n == 16 && memcmp(bytes, loopback, 16) == 0);
}

bool address_is_any(str host)
{
    static const unsigned char any[16] = {0};
    unsigned char bytes[16];
    size_t n = host_bytes(host, bytes);
    return n && memcmp(bytes, any, n) == 0;
}

str address_format(struct arena *a, str host, uint16_t port)
{
    if (str_eq(host, S("localhost")))
        host = S("127.0.0.1"); /* what it listens at; a resolver may think otherwise */
    else if (address_is_any(host))
        host = is_ipv6(host) ? S("::1") : S("127.0.0.1");
    return str_fmt(a, is_ipv6(host) ? "[%.*s]:%u" : "%.*s:%u", STR(host), port);
}
