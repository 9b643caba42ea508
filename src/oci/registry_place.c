/* SPDX-License-Identifier: Apache-2.0 */
/* From a reference to the place where its image is. */
#include "oci/registry.h"

#include "base/file.h"
#include "oci/auth.h"
#include "oci/place.h"

#include <unistd.h>

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
