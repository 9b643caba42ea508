/* SPDX-License-Identifier: Apache-2.0 */
/* What: credentials to identity: client certificates and ServiceAccount tokens. Keys and certificates: pki.h; tokens: token.h.
 * Owns: a cache of tokens that were verified.
 * Threads: one thread.
 * Errors: ERR_UNAUTHORIZED, with a reason for the log that holds nothing of the credential. Fails closed: a credential that is
 *         there but not good is never anonymous. */
#pragma once

#include "authz/request.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

struct authn;
struct token_signer;

/* What a request brought along. */
struct authn_credentials {
    bool has_certificate, is_certificate_bad; /* a bad one (expired, of another CA) is refused */
    str certificate_der;
    int64_t certificate_not_after; /* seconds; looked at again with every request */
    str authorization;             /* the header, empty: none */
};

struct authn_options {
    struct clock clock;
    const struct token_signer *signer;
    /* Whether the ServiceAccount is there with this uid; and an object that a token is bound to ("Secret", "Pod"). */
    bool (*account_exists)(void *ctx, str namespace, str name, str uid);
    bool (*object_exists)(void *ctx, str kind, str namespace, str name, str uid);
    void *ctx;
};

struct authn *authn_new(const struct authn_options *options);
void authn_free(struct authn *a);

/* 0 and an identity whose texts live in the arena. Without any credential: system:anonymous in system:unauthenticated. A token
 * counts before a certificate, as in Kubernetes. */
int authn_identify(struct authn *a, struct arena *arena, const struct authn_credentials *credentials,
                   struct authz_identity *ret, struct err *err);
/* For TokenReview: the token alone, and whom it must be meant for (none: ourselves); ret_audiences are those that fit. */
int authn_review(struct authn *a, struct arena *arena, str token, struct strs audiences, struct authz_identity *ret,
                 struct strs *ret_audiences, struct err *err);
