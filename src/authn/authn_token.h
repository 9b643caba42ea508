/* SPDX-License-Identifier: Apache-2.0 */
/* What: ServiceAccount tokens: JSON web tokens with ES256 signatures, made and verified; and what OpenID clients ask about them.
 * Owns: a signer owns its keys; claims and tokens live in the arena given.
 * Threads: a signer does not change after the last token_signer_accept and may be shared then.
 * Errors: ERR_INVALID for a key that cannot be used, ERR_TOO_LARGE for claims that make no reasonable token, ERR_UNAUTHORIZED for
 *         tokens that are not ours, without anything of the token in the text.
 *
 *   {"alg":"ES256","kid":…} . {"aud":[…],"exp":…,"iat":…,"iss":…,"jti":…,"kubernetes.io":{…},"nbf":…,"sub":…} . r ‖ s
 *
 * Whether the accounts and objects named still exist is for the caller to find out (authn.h). */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

enum {
    TOKEN_MAX_BYTES = 16 * 1024, /* of a whole token */
    TOKEN_LEEWAY = 60,           /* seconds that clocks may differ, as in Kubernetes */
    TOKEN_REQUESTS_MAX = 8,      /* of one token, see token_request */
};

#define TOKEN_ISSUER S("https://kubernetes.default.svc.cluster.local")

struct token_signer;

/* An EC key on P-256 as PEM; the issuer is copied. */
int token_signer_new(str key_pem, str issuer, struct token_signer **ret, struct err *err);
/* Tokens of this key are verified as well; it never signs. A private or a public key as PEM, also on P-256. */
int token_signer_accept(struct token_signer *s, str key_pem, struct err *err);
void token_signer_free(struct token_signer *s);
str token_signer_issuer(const struct token_signer *s);
/* Names the key that signs: base64url of the SHA-256 of its SubjectPublicKeyInfo. */
str token_signer_key_id(const struct token_signer *s);

/* An object by name and uid; an empty name: none. */
struct token_ref {
    str name, uid;
};

/* The account `by` showed a token of its own to create a token of the account `to`. Both are user names of ServiceAccounts. */
struct token_request {
    str by, uid, to; /* uid: of `by` */
};

struct token_claims {
    struct strs audiences;
    int64_t issued, not_before, expires; /* seconds */
    str id;                              /* jti: a uid of its own */
    str namespace;
    struct token_ref account;
    struct token_ref secret, pod, node; /* it ends with that object; a pod may come with its node */
    int64_t warn_after;                 /* 0: none */
    /* How the token was obtained by means of other tokens, a set in order of time; TOKEN_REQUESTS_MAX at most. None: it was requested
     * with a certificate. It is good as long as each of these requests would still be allowed. */
    const struct token_request *requests;
    size_t n_requests;
};

int token_sign(const struct token_signer *s, struct arena *a, const struct token_claims *claims, str *ret,
               struct err *err);
/* Signature, issuer and shape; not the time. What is no token of ours at all is "invalid bearer token". */
int token_verify(const struct token_signer *s, struct arena *a, str token, struct token_claims *ret, struct err *err);
/* now in seconds. */
int token_check_time(const struct token_claims *claims, int64_t now, struct err *err);

/* /openid/v1/jwks: all public keys, the one that signs first, for clients that verify tokens by themselves. */
str token_jwks(const struct token_signer *s, struct arena *a);
/* /.well-known/openid-configuration; address is ours: "127.0.0.1:6443". */
str token_openid_configuration(const struct token_signer *s, struct arena *a, str address);
