/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <limits.h>

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
