/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/pki_issue.h"

#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <time.h>

enum {
    SERIAL_BYTES = 16,
    NAME_MAX_BYTES = 1024, /* of CN and O; RFC 5280 says 64, but names of ServiceAccounts are longer */
};

int pki_make_key(EVP_PKEY **ret, struct err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    if (key == NULL)
        return pem_fail(err, "make a key");
    *ret = key;
    return 0;
}

/* ---- The parts of a certificate. Each is false when libcrypto refuses. ---- */

static bool add_name(X509_NAME *to, int what, str text)
{
    return text.n <= NAME_MAX_BYTES &&
           X509_NAME_add_entry_by_NID(to, what, V_ASN1_UTF8STRING, (const unsigned char *)text.p, (int)text.n, -1, 0);
}

static bool set_subject(X509 *x, const struct pki_subject *subject)
{
    X509_NAME *name = X509_NAME_new();
    bool is_good = name != NULL;
    strs_each(subject->groups, group) is_good = is_good && add_name(name, NID_organizationName, *group);
    is_good = is_good && add_name(name, NID_commonName, subject->name) && X509_set_subject_name(x, name);
    X509_NAME_free(name);
    return is_good;
}

/* 127 random bits, so that no two are alike and none can be foretold. */
static bool set_serial(X509 *x)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool is_good = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x));
    BN_free(number);
    return is_good;
}

static bool set_time(X509 *x, const struct pki_subject *subject)
{
    return ASN1_TIME_set(X509_getm_notBefore(x), (time_t)subject->not_before) &&
           ASN1_TIME_set(X509_getm_notAfter(x), (time_t)subject->not_after);
}

static bool add_extension(X509 *x, X509V3_CTX *ctx, int what, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, ctx, what, value);
    bool is_good = extension && X509_add_ext(x, extension, -1);
    X509_EXTENSION_free(extension);
    return is_good;
}

static bool add_purpose(X509 *x, X509 *issuer, enum pki_use use)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    bool is_good = add_extension(x, &ctx, NID_subject_key_identifier, "hash") &&
                   add_extension(x, &ctx, NID_authority_key_identifier, "keyid:always");
    if (use == PKI_FOR_CA)
        return is_good && add_extension(x, &ctx, NID_basic_constraints, "critical,CA:TRUE") &&
               add_extension(x, &ctx, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign");
    return is_good && add_extension(x, &ctx, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x, &ctx, NID_key_usage, "critical,digitalSignature") &&
           add_extension(x, &ctx, NID_ext_key_usage, use == PKI_FOR_SERVER ? "serverAuth" : "clientAuth");
}

/* ---- Hosts. ---- */

static bool is_dns_name(str host)
{
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (!(char_is_alnum(c) || c == '-' || c == '.' || c == '_'))
            return false;
    }
    return host.n > 0 && host.n <= 253;
}

/* An address or a DNS name, or NULL when it is neither. */
static GENERAL_NAME *host_name(str host)
{
    struct arena scratch ARENA_SCOPE = {0};
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(str_cstr(&scratch, host));
    GENERAL_NAME *name = address || is_dns_name(host) ? GENERAL_NAME_new() : NULL;
    if (address && name) {
        GENERAL_NAME_set0_value(name, GEN_IPADD, address);
    } else if (name) {
        ASN1_IA5STRING *text = ASN1_IA5STRING_new();
        if (text && ASN1_STRING_set(text, host.p, (int)host.n))
            GENERAL_NAME_set0_value(name, GEN_DNS, text);
    }
    return name;
}

/* Each once, in the order given. */
static GENERAL_NAMES *host_names(struct strs hosts)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    for (size_t i = 0; names && i < hosts.n; i++) {
        GENERAL_NAME *name = host_name(hosts.p[i]);
        bool is_new = name && !strs_have((struct strs){hosts.p, i}, hosts.p[i]);
        if (!is_new || !sk_GENERAL_NAME_push(names, name))
            GENERAL_NAME_free(name);
    }
    ERR_clear_error();
    return names;
}

static bool add_hosts(X509 *x, struct strs hosts)
{
    GENERAL_NAMES *names = host_names(hosts);
    bool is_good = names && X509_add1_ext_i2d(x, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) == 1;
    GENERAL_NAMES_free(names);
    return is_good;
}

bool pki_has_hosts(const X509 *certificate, struct strs hosts)
{
    GENERAL_NAMES *names = host_names(hosts);
    unsigned char *want = NULL;
    int n = names ? i2d_GENERAL_NAMES(names, &want) : -1;
    const X509_EXTENSION *extension =
        X509_get_ext(certificate, X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1));
    const ASN1_OCTET_STRING *have = extension ? X509_EXTENSION_get_data((X509_EXTENSION *)extension) : NULL;
    bool is_same =
        have && want && n == ASN1_STRING_length(have) && memcmp(ASN1_STRING_get0_data(have), want, (size_t)n) == 0;
    OPENSSL_free(want);
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    return is_same;
}

/* ---- The whole. ---- */

int pki_issue(EVP_PKEY *key, const struct pki_subject *subject, const struct pki_issuer *issuer, X509 **ret,
              struct err *err)
{
    if (subject->name.n == 0 || subject->name.n > NAME_MAX_BYTES || !str_is_utf8(subject->name))
        return err_set(err, ERR_INVALID, "a certificate cannot be for a user with this name");
    X509 *x = X509_new();
    X509 *by = issuer->certificate ? issuer->certificate : x;
    bool is_good = x && X509_set_version(x, X509_VERSION_3) && set_serial(x) && set_subject(x, subject) &&
                   X509_set_issuer_name(x, X509_get_subject_name(by)) && set_time(x, subject) &&
                   X509_set_pubkey(x, key) && add_purpose(x, by, subject->use) &&
                   (subject->use != PKI_FOR_SERVER || add_hosts(x, subject->hosts)) &&
                   X509_sign(x, issuer->key, EVP_sha256()) > 0;
    if (!is_good) {
        X509_free(x);
        return pem_fail(err, "make a certificate");
    }
    *ret = x;
    return 0;
}

static bool seconds_of(const ASN1_TIME *t, int64_t *ret)
{
    struct tm tm;
    if (t == NULL || ASN1_TIME_to_tm(t, &tm) != 1)
        return false;
    *ret = timegm(&tm);
    return true;
}

bool pki_life(const X509 *certificate, int64_t *ret_not_before, int64_t *ret_not_after)
{
    bool is_good = seconds_of(X509_get0_notBefore(certificate), ret_not_before) &&
                   seconds_of(X509_get0_notAfter(certificate), ret_not_after);
    ERR_clear_error();
    return is_good;
}
