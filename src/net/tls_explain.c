/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a server's certificate was not believed, in words that say what to do about it: another CA, another name, another clock.
 * What the certificate says of itself comes from a stranger: few names, and no character that could be more than a letter.
 */
#include "net/tls_link.h"

#include "base/arena.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <time.h>

enum { NAMES = 8, NAME_BYTES = 80 };

static void add_name(struct buf *b, const GENERAL_NAME *name)
{
    char text[INET6_ADDRSTRLEN] = "";
    str s = {0};
    if (name->type == GEN_DNS) {
        s = (str){(const char *)ASN1_STRING_get0_data(name->d.dNSName), (size_t)ASN1_STRING_length(name->d.dNSName)};
    } else if (name->type == GEN_IPADD) {
        int n = ASN1_STRING_length(name->d.iPAddress);
        int family = n == 4 ? AF_INET : n == 16 ? AF_INET6 : 0;
        if (family && inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text))
            s = str_of(text);
    }
    if (s.n == 0)
        return;
    buf_add_str(b, b->n ? S(", ") : S(""));
    for (size_t i = 0; i < s.n && i < NAME_BYTES; i++)
        buf_add_char(b, s.p[i] > ' ' && s.p[i] < 0x7f ? s.p[i] : '?');
}

/* "a.example, 10.0.0.1" */
static str names_of(struct arena *a, X509 *x)
{
    struct buf b = {.arena = a};
    GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
    int n = names ? sk_GENERAL_NAME_num(names) : 0;
    for (int i = 0; i < n && i < NAMES; i++)
        add_name(&b, sk_GENERAL_NAME_value(names, i));
    if (n > NAMES)
        buf_add_str(&b, S(", …"));
    GENERAL_NAMES_free(names);
    return b.n ? buf_str(&b) : S("no name");
}

static str time_of(struct arena *a, const ASN1_TIME *t)
{
    struct tm tm;
    struct buf b = {.arena = a};
    if (ASN1_TIME_to_tm(t, &tm) != 1)
        return S("an unknown time");
    time_format(&b, (int64_t)timegm(&tm), 0, 0);
    return buf_str(&b);
}

static str expected_name(struct arena *a, X509_STORE_CTX *store)
{
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(store);
    const char *host = X509_VERIFY_PARAM_get0_host(param, 0);
    if (host)
        return str_dup(a, str_of(host));
    char *ip = X509_VERIFY_PARAM_get1_ip_asc(param);
    str s = str_dup(a, str_of(ip));
    OPENSSL_free(ip);
    return s;
}

void tls_explain(X509_STORE_CTX *store, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    X509 *x = X509_STORE_CTX_get_current_cert(store);
    const char *whose = X509_STORE_CTX_get_error_depth(store) > 0 ? "certificate of its authority" : "certificate";
    int code = X509_STORE_CTX_get_error(store);
    switch (code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* an authority of that name is known, but this is another one */
    case X509_V_ERR_CERT_UNTRUSTED:
        err_set(err, ERR_IO, "certificate signed by unknown authority");
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        err_set(err, ERR_IO, "certificate is valid for %.*s, not %.*s", STR(x ? names_of(&a, x) : S("others")),
                STR(expected_name(&a, store)));
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        err_set(err, ERR_IO, "%s has expired: %.*s", whose, STR(time_of(&a, x ? X509_get0_notAfter(x) : NULL)));
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        err_set(err, ERR_IO, "%s is not yet valid: %.*s", whose, STR(time_of(&a, x ? X509_get0_notBefore(x) : NULL)));
        break;
    case X509_V_ERR_INVALID_PURPOSE:
        err_set(err, ERR_IO, "%s may not be used for servers", whose);
        break;
    default:
        err_set(err, ERR_IO, "%s: %s", whose, X509_verify_cert_error_string(code));
    }
}
