/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/registry_place.h"
#include "base/file.h"
#include "oci/auth.h"
#include "oci/oci_registry.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

struct range {
    uint32_t address;
    uint8_t bits;
    uint8_t class;
};

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* The first that fits; the rest of the world is public. */
static const struct range ranges[] = {
    {V4(0, 0, 0, 0), 8, PLACE_NEVER},        {V4(10, 0, 0, 0), 8, PLACE_PRIVATE},
    {V4(100, 64, 0, 0), 10, PLACE_PRIVATE},  {V4(127, 0, 0, 0), 8, PLACE_THIS},
    {V4(169, 254, 0, 0), 16, PLACE_NEVER},   {V4(172, 16, 0, 0), 12, PLACE_PRIVATE},
    {V4(192, 0, 0, 0), 24, PLACE_NEVER},     {V4(192, 0, 2, 0), 24, PLACE_NEVER},
    {V4(192, 168, 0, 0), 16, PLACE_PRIVATE}, {V4(198, 18, 0, 0), 15, PLACE_PRIVATE},
    {V4(198, 51, 100, 0), 24, PLACE_NEVER},  {V4(203, 0, 113, 0), 24, PLACE_NEVER},
    {V4(224, 0, 0, 0), 3, PLACE_NEVER},
};

static enum place_class classify_v4(uint32_t address)
{
    for (size_t i = 0; i < COUNT(ranges); i++) {
        if ((address ^ ranges[i].address) >> (32 - ranges[i].bits) == 0)
            return ranges[i].class;
    }
    return PLACE_PUBLIC;
}

static uint32_t v4_at(const uint8_t *p)
{
    return V4(p[0], p[1], p[2], p[3]);
}

/* Addresses that stand for one of IPv4 are what that one is. */
static enum place_class classify_v6(const uint8_t p[16])
{
    static const uint8_t zero[16], mapped[12] = {[10] = 0xff, 0xff}, nat64[12] = {0, 0x64, 0xff, 0x9b};
    if (memcmp(p, zero, 15) == 0)
        return p[15] == 1 ? PLACE_THIS : PLACE_NEVER;
    if (memcmp(p, mapped, sizeof mapped) == 0 || memcmp(p, nat64, sizeof nat64) == 0)
        return classify_v4(v4_at(p + 12));
    if (p[0] == 0x20 && p[1] == 0x02) /* 6to4 */
        return classify_v4(v4_at(p + 2));
    if ((p[0] & 0xfe) == 0xfc)
        return PLACE_PRIVATE;
    return (p[0] & 0xe0) == 0x20 ? PLACE_PUBLIC : PLACE_NEVER;
}

static enum place_class place_classify(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return classify_v4(ntohl(in.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return classify_v6(in6.sin6_addr.s6_addr);
    }
    return PLACE_NEVER;
}

/* 1: an address, 0: a name. */
static bool parse_literal(struct arena *a, str host, struct sockaddr_storage *ret)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    const char *text = str_cstr(a, host);
    *ret = (struct sockaddr_storage){0};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        memcpy(ret, &in, sizeof in);
    else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
        memcpy(ret, &in6, sizeof in6);
    else
        return false;
    return true;
}

bool place_is_local_name(str host)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct sockaddr_storage literal;
    if (parse_literal(&scratch, host, &literal))
        return place_classify((struct sockaddr *)&literal) == PLACE_THIS;
    return str_eq(host, S("localhost"));
}

static void add(struct place *p, const struct sockaddr *address, size_t n, enum place_class least)
{
    enum place_class class = place_classify(address);
    if (p->n == PLACE_ADDRESSES || n > sizeof *p->addresses || class == PLACE_NEVER || class < least ||
        (class != PLACE_THIS && place_is_local_name(p->host)))
        return;
    memcpy(&p->addresses[p->n++], address, n);
    p->class = p->n == 1 || class < p->class ? class : p->class;
}

int place_resolve(struct arena *a, str host, uint16_t port, enum place_class least, struct place *ret, struct err *err)
{
    struct place p = {.host = str_dup(a, host), .port = port};
    struct sockaddr_storage literal;
    if (parse_literal(a, host, &literal)) {
        add(&p, (struct sockaddr *)&literal, sizeof literal, least);
    } else {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
        struct addrinfo *found = NULL;
        int code = getaddrinfo(str_cstr(a, host), NULL, &hints, &found);
        if (code != 0)
            return err_set(err, ERR_UNAVAILABLE, "resolve %.*s: %s", STR(host), gai_strerror(code));
        for (const struct addrinfo *it = found; it; it = it->ai_next)
            add(&p, it->ai_addr, it->ai_addrlen, least);
        freeaddrinfo(found);
    }
    if (p.n == 0)
        return err_set(err, ERR_FORBIDDEN, "%.*s is at an address that may not be connected to%s", STR(host),
                       least > PLACE_THIS ? " from there" : "");
    *ret = p;
    return 0;
}

bool place_has(const struct place *p, const struct sockaddr *address)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->addresses[i].ss_family != address->sa_family)
            continue;
        if (address->sa_family == AF_INET) {
            struct sockaddr_in x, y;
            memcpy(&x, &p->addresses[i], sizeof x);
            memcpy(&y, address, sizeof y);
            if (x.sin_addr.s_addr == y.sin_addr.s_addr)
                return true;
        } else {
            struct sockaddr_in6 x, y;
            memcpy(&x, &p->addresses[i], sizeof x);
            memcpy(&y, address, sizeof y);
            if (memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0)
                return true;
        }
    }
    return false;
}

/* From a reference to the place where its image is. */

enum { CA_MAX = 8 * 1024 * 1024, HTTPS_PORT = 443, HTTP_PORT = 80, DNS_PORT = 53 };

const char *const oci_registry_files[] = {"/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
                                          "/etc/host.conf",   "/etc/gai.conf", NULL};

/* Where distributions keep the certificates they trust. */
static const char *const ca_files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                       "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

/* ---- Host and port. ---- */

/* "host:port", "[::1]:5000", "host". */
static bool split_host(str text, str *ret_host, uint64_t *ret_port)
{
    str port = {0};
    *ret_port = 0;
    if (text.n && text.p[0] == '[') {
        if (!str_cut(str_from(text, 1), ']', ret_host, &port) || (port.n && port.p[0] != ':'))
            return false;
        port = str_from(port, 1);
    } else {
        str_cut(text, ':', ret_host, &port);
    }
    return ret_host->n && (port.n == 0 || (str_to_uint64(port, ret_port) && *ret_port > 0 && *ret_port <= UINT16_MAX));
}

static void choose_ports(struct arena *a, const struct oci_request *request, uint16_t port, bool is_local,
                         struct oci_registry_place *place)
{
    VEC(uint16_t) ports = {0};
    *vec_push(a, &ports) = port;
    if (port != HTTPS_PORT)
        *vec_push(a, &ports) = HTTPS_PORT;
    if (!is_local)
        *vec_push(a, &ports) = DNS_PORT; /* long answers of the resolver come over TCP */
    vec_each(&request->ports, it) * vec_push(a, &ports) = *it;
    place->ports = ports.p;
    place->n_ports = ports.n;
}

int oci_registry_place(struct arena *a, const struct oci_request *request, const struct oci_reference *ref,
                       struct oci_registry_place *ret, struct err *err)
{
    struct oci_reference moved;
    str host;
    struct auth auth;
    uint64_t port;
    bool wants_https;
    if (oci_request_name(a, request, ref, &moved, &wants_https, err) < 0)
        return err->code;
    if (auth_find(a, request->auths.p, request->auths.n, moved.registry, moved.path, &auth, err) < 0)
        return err_wrap(err, "pull secret");
    str registry = str_eq(moved.registry, S("docker.io")) ? S("registry-1.docker.io") : moved.registry;
    if (!split_host(registry, &host, &port))
        return err_set(err, ERR_BAD_REQUEST, "\"%.*s\" is no registry", STR(registry));
    bool is_local = place_is_local_name(host), is_v6 = str_find_char(host, ':') >= 0;
    bool is_plain = is_local && !wants_https && port != HTTPS_PORT;
    if (port == 0)
        port = is_plain ? HTTP_PORT : HTTPS_PORT;
    *ret = (struct oci_registry_place){
        .url = str_fmt(a, is_v6 ? "%s://[%.*s]:%u" : "%s://%.*s:%u", is_plain ? "http" : "https", STR(host),
                       (unsigned)port),
        .host = moved.registry,
        .repository = moved.path,
        .user = auth.user,
        .password = auth.password,
        .identity_token = auth.identity_token,
        .timeout_ns = request->timeout_ns,
        .may_push = request->op == OCI_PUSH,
    };
    choose_ports(a, request, (uint16_t)port, is_local, ret);
    return 0;
}

/* ---- What is loaded. ---- */

static int read_ca(struct arena *a, str path, str *ret, struct err *err)
{
    if (file_read(a, path, FILE_ANY, CA_MAX, ret, err) == 0)
        return 0;
    err->code = ERR_IO; /* what is not found is an image */
    return err_wrap(err, "certificates");
}

int oci_registry_prepare(struct arena *a, const struct oci_request *request, struct oci_registry_place *place,
                         struct err *err)
{
    if (curl_load(&place->curl, err) < 0)
        return err->code;
    if (request->ca_file.n)
        return read_ca(a, request->ca_file, &place->ca, err);
    for (size_t i = 0; i < COUNT(ca_files) && place->ca.n == 0; i++) {
        if (access(ca_files[i], R_OK) == 0 && read_ca(a, str_of(ca_files[i]), &place->ca, err) < 0)
            return err->code;
    }
    return 0; /* without any, https is refused */
}
