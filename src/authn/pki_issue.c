/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/pki_issue.h"

#include <limits.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <time.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): libcrypto says what it looks like */
static int no_password(char *p, int size, int is_writing, void *ctx)
{
    (void)p;
    (void)size;
    (void)is_writing;
    (void)ctx;
    return -1;
}

static BIO *open_text(str text)
{
    return text.n && text.n <= INT_MAX ? BIO_new_mem_buf(text.p, (int)text.n) : NULL;
}

EVP_PKEY *pem_read_key(str text)
{
    BIO *in = open_text(text);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_password, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    return key;
}

/* Of a private key the public half is read back from its own text: what is kept has no private half. */
EVP_PKEY *pem_read_public_key(str text)
{
    EVP_PKEY *private = pem_read_key(text), *key = NULL;
    BIO *in = private ? BIO_new(BIO_s_mem()) : open_text(text);
    if (in && (private == NULL || PEM_write_bio_PUBKEY(in, private) == 1))
        key = PEM_read_bio_PUBKEY(in, NULL, no_password, NULL);
    BIO_free(in);
    EVP_PKEY_free(private);
    ERR_clear_error();
    return key;
}

X509 *pem_read_certificate(str text)
{
    BIO *in = open_text(text);
    X509 *certificate = in ? PEM_read_bio_X509(in, NULL, no_password, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    return certificate;
}

/* Takes what was written and drops the BIO. */
static str take_text(struct arena *a, BIO *out, bool is_written)
{
    char *p = NULL;
    long n = is_written ? BIO_get_mem_data(out, &p) : 0;
    str text = n > 0 ? str_dup(a, (str){p, (size_t)n}) : (str){0};
    BIO_free(out);
    ERR_clear_error();
    return text;
}

str pem_write_key(struct arena *a, EVP_PKEY *key)
{
    BIO *out = BIO_new(BIO_s_secmem());
    return take_text(a, out, out && PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, no_password, NULL) == 1);
}

str pem_write_public_key(struct arena *a, EVP_PKEY *key)
{
    BIO *out = BIO_new(BIO_s_mem());
    return take_text(a, out, out && PEM_write_bio_PUBKEY(out, key) == 1);
}

str pem_write_certificate(struct arena *a, X509 *certificate)
{
    BIO *out = BIO_new(BIO_s_mem());
    return take_text(a, out, out && PEM_write_bio_X509(out, certificate) == 1);
}

bool pem_is_p256(const EVP_PKEY *key)
{
    char group[32];
    size_t n;
    bool is = EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, &n) == 1 &&
              str_eq((str){group, n}, S("prime256v1"));
    ERR_clear_error();
    return is;
}

int pem_fail(struct err *err, const char *what)
{
    ERR_clear_error();
    return err_set(err, ERR_INTERNAL, "libcrypto cannot %s", what);
}

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
