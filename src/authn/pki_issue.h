/* SPDX-License-Identifier: Apache-2.0 */
/* What: certificates as this server makes them: P-256 keys, SHA-256, random serial numbers.
 * Owns: nothing; what is returned is the caller's.
 * Threads: pure but for libcrypto's randomness.
 * Errors: ERR_INTERNAL when libcrypto cannot, ERR_INVALID for names that fit into no certificate. */
#pragma once

#include "authn/pem.h"

#include "authz/authz_request.h"
#include "base/err.h"

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
