/* SPDX-License-Identifier: Apache-2.0 */
/* What: credentials to identity: client certificates and ServiceAccount tokens. Keys and certificates: pki.h; tokens: token.h;
 *       acting as somebody else: impersonate.h.
 * Owns: caches of certificates that were read and tokens whose signature was verified.
 * Threads: one thread.
 * Errors: ERR_UNAUTHORIZED, with a reason for the log that holds nothing of the credential. Fails closed: a credential that is
 *         there but not good is never anonymous.
 *
 *   certificate, good ──────────────────────────► CN, O…                          whatever the Authorization header says
 *   no good certificate, good token ────────────► the ServiceAccount of the token
 *   no good certificate, bad token ─────────────► refused
 *   bad certificate, no token ──────────────────► refused
 *   neither, or a header of another scheme ─────► system:anonymous
 *
 * A token that was obtained by means of other tokens (token.h: requests) is good while each account that requested one on the way
 * exists and may still do so. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"

#define AUTHN_ANONYMOUS S("system:anonymous")
#define AUTHN_AUTHENTICATED S("system:authenticated")
#define AUTHN_UNAUTHENTICATED S("system:unauthenticated")

struct authn;
struct token_claims;
struct token_signer;

/* What a request brought along. */
struct authn_credentials {
    bool has_certificate, is_certificate_bad; /* a bad one: expired, or of another CA */
    str certificate_der;                      /* of a good one */
    int64_t certificate_not_after;            /* seconds; looked at again with every request */
    str authorization;                        /* the first header of that name; empty: none */
};

/* What is known of an object that a token speaks of. */
struct authn_object {
    str uid;
    bool is_deleting;
    int64_t deleted; /* seconds: its deletionTimestamp */
};

struct authn_options {
    struct clock clock;
    const struct token_signer *signer;
    /* Finds a "ServiceAccount", "Secret", "Pod" or, without a namespace, a "Node" as it is now; false: there is none. New
     * texts come from the arena. */
    bool (*find)(void *ctx, struct arena *a, str kind, str namespace, str name, struct authn_object *ret);
    /* Whether a ServiceAccount may create tokens of an account (create serviceaccounts/token) as roles are now. NULL: none may. */
    bool (*can_request)(void *ctx, const struct authz_identity *who, str namespace, str name);
    void *ctx;
};

struct authn *authn_new(const struct authn_options *options);
void authn_free(struct authn *a);

/* 0 and an identity whose texts live in the arena, but for constants. ret_token: the token that it comes from, part of the
 * credentials; empty: it comes from something else. */
int authn_identify(struct authn *a, struct arena *arena, const struct authn_credentials *credentials,
                   struct authz_identity *ret, str *ret_token, struct err *err);
/* Completes the claims of a token that is to be issued to a client which authn_identify knows by `token`: the requests that led to
 * `token`, and this one. ERR_FORBIDDEN: the account of `token` may not create tokens of the account in the claims, whichever user it
 * impersonates; or too many accounts are involved. */
int authn_trace_request(struct authn *a, struct arena *arena, str token, struct token_claims *claims, struct err *err);
/* What to warn the client of that sent this Authorization header; empty: nothing. */
str authn_warning(str authorization);
/* For TokenReview: the token alone, and whom it must be meant for (none: ourselves); ret_audiences are those that fit. The
 * text of the error is what a TokenReview says. */
int authn_review(struct authn *a, struct arena *arena, str token, struct strs audiences, struct authz_identity *ret,
                 struct strs *ret_audiences, struct err *err);

/* ---- Names of ServiceAccounts as users. ---- */

/* "system:serviceaccount:NS:NAME" */
str authn_account_user(struct arena *a, str namespace, str name);
/* The same taken apart; false when it is not the name of a ServiceAccount that there could be. */
bool authn_account_split(str user, str *ret_namespace, str *ret_name);
/* Its two groups, system:serviceaccounts and system:serviceaccounts:NS, in out. */
void authn_account_groups(struct arena *a, str namespace, str out[static 2]);
