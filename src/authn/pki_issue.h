/* SPDX-License-Identifier: Apache-2.0 */
/* What: keys and certificates as PEM text.
 * Owns: nothing; what is read is the caller's to free, what is written lives in the arena given.
 * Threads: pure functions.
 * Errors: NULL for text that is not what is asked for. libcrypto's own queue of errors is left empty, because TLS on the same
 *         thread would take what lies there for its own. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

/* The first private key; one that is encrypted is none, nobody is asked for a password. */
EVP_PKEY *pem_read_key(str text);
/* The public half of the first key, which may be private or public. */
EVP_PKEY *pem_read_public_key(str text);
X509 *pem_read_certificate(str text);
str pem_write_key(struct arena *a, EVP_PKEY *key);
str pem_write_public_key(struct arena *a, EVP_PKEY *key);
str pem_write_certificate(struct arena *a, X509 *certificate);

/* An EC key on P-256. */
bool pem_is_p256(const EVP_PKEY *key);
/* Empties libcrypto's queue and says that it failed: ERR_INTERNAL. */
int pem_fail(struct err *err, const char *what);

static inline void pem_key_done(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}
static inline void pem_certificate_done(X509 **certificate)
{
    X509_free(*certificate);
}
#define PEM_KEY_SCOPE __attribute__((cleanup(pem_key_done)))
#define PEM_CERTIFICATE_SCOPE __attribute__((cleanup(pem_certificate_done)))

/* Certificates as this server makes them: P-256 keys, SHA-256, random serial numbers. */

enum pki_use { PKI_FOR_CA, PKI_FOR_SERVER, PKI_FOR_CLIENT };

struct pki_subject {
    enum pki_use use;
    str name;           /* CN */
    struct strs groups; /* O */
    struct strs hosts;  /* of a server: names and addresses; what is neither is passed over */
    int64_t not_before, not_after;
};

/* Who signs; without a certificate it is the subject itself. */
struct pki_issuer {
    EVP_PKEY *key;
    X509 *certificate;
};

int pki_make_key(EVP_PKEY **ret, struct err *err);
int pki_issue(EVP_PKEY *key, const struct pki_subject *subject, const struct pki_issuer *issuer, X509 **ret,
              struct err *err);
/* The certificate was made for these hosts, no more and no less. */
bool pki_has_hosts(const X509 *certificate, struct strs hosts);
/* Seconds since 1970. */
bool pki_life(const X509 *certificate, int64_t *ret_not_before, int64_t *ret_not_after);
