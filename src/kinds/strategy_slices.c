/* SPDX-License-Identifier: Apache-2.0 */
/* EndpointSlice: addresses that somebody serves from. */
#include "kinds/strategy_check.h"
#include "kinds/strategy_internal.h"

#include "base/map.h"

#include <arpa/inet.h>

enum {
    MAX_ENDPOINTS = 1000,
    MAX_ADDRESSES = 100,
    MAX_PORTS = 20000,
    MAX_ZONES = 8,
};

static void fill_slice(struct arena *a, struct json *object)
{
    json_each_item_mut(json_get_mut(object, S("ports")), port)
    {
        if (json_is_null(json_get(port, S("name"))))
            json_set(a, port, S("name"), json_str((str){0}));
        default_str(a, port, S("protocol"), S("TCP"));
    }
}

/* ---- Addresses. ---- */

struct address {
    int family; /* 0: none */
    unsigned char bytes[16];
};

static struct address parse(str text)
{
    char terminated[INET6_ADDRSTRLEN];
    struct address ip = {0};
    if (text.n == 0 || text.n >= sizeof terminated)
        return ip;
    memcpy(terminated, text.p, text.n);
    terminated[text.n] = 0;
    if (inet_pton(AF_INET, terminated, ip.bytes) == 1)
        ip.family = AF_INET;
    else if (inet_pton(AF_INET6, terminated, ip.bytes) == 1)
        ip.family = AF_INET6;
    return ip;
}

/* Addresses that mean another machine on each machine. */
static void check_special(struct field_errors *errs, const struct place *at, str text, const struct address *ip)
{
    static const unsigned char zero[16] = {0}, one[16] = {[15] = 1};
    const unsigned char *b = ip->bytes;
    bool is_v4 = ip->family == AF_INET;
    if (memcmp(b, zero, is_v4 ? 4 : 16) == 0)
        check_invalid_text(errs, at, text,
                           str_cstr(errs->arena, str_fmt(errs->arena, "may not be unspecified (%.*s)", STR(text))));
    if (is_v4 ? b[0] == 127 : memcmp(b, one, 16) == 0)
        check_invalid_text(errs, at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    if (is_v4 ? b[0] == 169 && b[1] == 254 : b[0] == 0xfe && (b[1] & 0xc0) == 0x80)
        check_invalid_text(errs, at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    if (is_v4 ? b[0] == 224 && b[1] == 0 && b[2] == 0 : b[0] == 0xff && (b[1] & 0x0f) == 0x02)
        check_invalid_text(errs, at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

static void check_address(struct field_errors *errs, const struct place *at, str type, str text)
{
    struct address ip = parse(text);
    if (str_eq(type, S("FQDN"))) {
        if (str_has_suffix(text, S(".")))
            text.n--;
        if (text.n == 0)
            check_required(errs, at, "");
        else
            check_name(errs, at, NAME_DNS_SUBDOMAIN, text);
        return;
    }
    if (!is_choice(type, "IPv4 IPv6"))
        return;
    if (str_eq(type, S("IPv4")) && ip.family != AF_INET)
        check_invalid_text(errs, at, text, "must be a valid IPv4 address");
    if (str_eq(type, S("IPv6")) && ip.family != AF_INET6)
        check_invalid_text(errs, at, text, "must be a valid IPv6 address");
    if (ip.family == 0)
        check_invalid_text(errs, at, text, "must be a valid IP address");
    else
        check_special(errs, at, text, &ip);
}

/* ---- Endpoints and ports. ---- */

static bool has_too_many(struct field_errors *errs, const struct place *at, const struct json *list, size_t max)
{
    if (json_len(list) <= max)
        return false;
    check_too_many(errs, at, json_len(list), max);
    return true;
}

static void check_hints(struct field_errors *errs, const struct place *at, const struct json *zones)
{
    static char taken;
    struct map names = {0};
    if (has_too_many(errs, at, zones, MAX_ZONES))
        return;
    json_each_item(zones, it)
    {
        const struct place *here = AT(AT_ITEM(at, (size_t)(it - zones->items)), "name");
        str name = json_get_text(it, S("name"));
        if (map_set(&names, name, &taken))
            check_duplicate(errs, here, name);
        check_name(errs, here, NAME_LABEL_VALUE, name);
    }
    map_done(&names);
}

static void check_endpoint(struct field_errors *errs, const struct place *at, const struct json *endpoint, str type)
{
    const struct json *addresses = json_get(endpoint, S("addresses")), *node = json_get(endpoint, S("nodeName")),
                      *host = json_get(endpoint, S("hostname"));
    const struct place *list = AT(at, "addresses");
    if (json_len(addresses) == 0)
        check_required(errs, list, "must contain at least 1 address");
    has_too_many(errs, list, addresses, MAX_ADDRESSES);
    json_each_item(addresses, it)
        check_address(errs, AT_ITEM(list, (size_t)(it - addresses->items)), type, json_text(it));
    if (!json_is_null(node))
        check_name(errs, AT(at, "nodeName"), NAME_DNS_SUBDOMAIN, json_text(node));
    check_labels(errs, AT(at, "deprecatedTopology"), json_get(endpoint, S("deprecatedTopology")));
    if (!json_is_null(host))
        check_name(errs, AT(at, "hostname"), NAME_DNS_LABEL, json_text(host));
    check_hints(errs, AT(AT(at, "hints"), "forZones"), json_dig(endpoint, "hints.forZones"));
}

static void check_slice_ports(struct field_errors *errs, const struct place *at, const struct json *ports)
{
    static char taken;
    struct map names = {0};
    if (has_too_many(errs, at, ports, MAX_PORTS))
        return;
    json_each_item(ports, it)
    {
        const struct place *here = AT_ITEM(at, (size_t)(it - ports->items));
        const struct json *app = json_get(it, S("appProtocol"));
        str name = json_get_text(it, S("name")), protocol = json_get_text(it, S("protocol"));
        if (name.n)
            check_name(errs, AT(here, "name"), NAME_DNS_LABEL, name);
        if (map_set(&names, name, &taken))
            check_duplicate(errs, AT(here, "name"), name);
        if (!is_choice(protocol, "SCTP TCP UDP"))
            check_unsupported(errs, AT(here, "protocol"), protocol, "SCTP TCP UDP");
        if (!json_is_null(app))
            check_name(errs, AT(here, "appProtocol"), NAME_QUALIFIED, json_text(app));
    }
    map_done(&names);
}

static void validate_slice(struct field_errors *errs, const struct json *object)
{
    const struct place *at = AT(NULL, "endpoints");
    const struct json *endpoints = json_get(object, S("endpoints"));
    str type = json_get_text(object, S("addressType"));
    check_choice(errs, AT(NULL, "addressType"), type, "FQDN IPv4 IPv6");
    if (!has_too_many(errs, at, endpoints, MAX_ENDPOINTS)) {
        json_each_item(endpoints, it) check_endpoint(errs, AT_ITEM(at, (size_t)(it - endpoints->items)), it, type);
    }
    check_slice_ports(errs, AT(NULL, "ports"), json_get(object, S("ports")));
}

static void validate_slice_update(struct field_errors *errs, const struct json *object, const struct json *current)
{
    check_immutable(errs, AT(NULL, "addressType"), json_get(object, S("addressType")),
                    json_get(current, S("addressType")));
}

static const struct strategy rows[] = {
    {
        .group = "discovery.k8s.io",
        .kind = "EndpointSlice",
        .fill = fill_slice,
        .validate = validate_slice,
        .validate_update = validate_slice_update,
        .changes_come_last = true,
    },
};
STRATEGIES(strategies_slices, rows);
