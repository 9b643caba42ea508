/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/keys.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void extend(X509 *x, int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    must(e && X509_add_ext(x, e, -1) == 1);
    X509_EXTENSION_free(e);
}

static void extend_all(X509 *x, struct arena *a, const struct keys_options *o)
{
    if (o->by == NULL) {
        extend(x, NID_basic_constraints, "critical,CA:TRUE");
        extend(x, NID_key_usage, "critical,keyCertSign,digitalSignature");
    } else {
        extend(x, NID_key_usage, "critical,digitalSignature");
        extend(x, NID_ext_key_usage, o->is_client ? "clientAuth" : "serverAuth");
        extend(x, NID_subject_alt_name, str_cstr(a, str_fmt(a, "DNS:%s,IP:127.0.0.1", o->name)));
    }
}

static str text_of(struct arena *a, BIO *b)
{
    char *p;
    long n = BIO_get_mem_data(b, &p);
    str s = str_dup(a, (str){p, (size_t)n});
    BIO_free(b);
    return s;
}

static BIO *open_text(str s)
{
    return BIO_new_mem_buf(s.p, (int)s.n);
}

static void sign(X509 *x, EVP_PKEY *own, const struct keys *by)
{
    if (by == NULL) {
        must(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1 && X509_sign(x, own, EVP_sha256()) > 0);
        return;
    }
    BIO *certificate = open_text(by->certificate), *key = open_text(by->key);
    X509 *issuer = PEM_read_bio_X509(certificate, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    must(issuer && k && X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1 &&
         X509_sign(x, k, EVP_sha256()) > 0);
    X509_free(issuer);
    EVP_PKEY_free(k);
    BIO_free(certificate);
    BIO_free(key);
}

struct keys keys_make(struct arena *a, const struct keys_options *o)
{
    EVP_PKEY *k = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    must(k && x && X509_set_version(x, X509_VERSION_3) == 1 && X509_set_pubkey(x, k) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), o->starts_in);
    X509_gmtime_adj(X509_getm_notAfter(x), o->ends_in);
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8, (const unsigned char *)o->name, -1,
                                    -1, 0) == 1);
    extend_all(x, a, o);
    sign(x, k, o->by);
    BIO *certificate = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_mem());
    must(PEM_write_bio_X509(certificate, x) == 1 && PEM_write_bio_PrivateKey(key, k, NULL, NULL, 0, NULL, NULL) == 1);
    X509_free(x);
    EVP_PKEY_free(k);
    return (struct keys){.certificate = text_of(a, certificate), .key = text_of(a, key)};
}
