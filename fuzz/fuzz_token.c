/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a token, as the payload of a token that we signed, and as the headers of an impersonation.
 * No bytes are a token of a key that was just made up. Claims that can be read must print as the same claims; so whatever we sign
 * we believe. A signature that fits is never got by changing the text.
 */
#include "authn/authn.h"
#include "authn/authn_internal.h"
#include "authn/impersonate.h"
#include "authn/pki_issue.h"

#include "base/vec.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct token_signer *the_signer(void)
{
    static struct token_signer *signer; /* one for all inputs: making keys takes longer than everything else */
    if (signer == NULL) {
        struct arena a ARENA_SCOPE = {0};
        struct err err;
        EVP_PKEY *key PEM_KEY_SCOPE = NULL;
        if (pki_make_key(&key, &err) < 0 || token_signer_new(pem_write_key(&a, key), TOKEN_ISSUER, &signer, &err) < 0)
            abort();
    }
    return signer;
}

static void check_claims(struct arena *a, str payload)
{
    struct token_claims claims, again;
    struct err err = {0};
    if (token_claims_parse(a, payload, TOKEN_ISSUER, &claims, &err) < 0) {
        assert(err.code == ERR_UNAUTHORIZED);
        return;
    }
    str text = token_claims_format(a, &claims, TOKEN_ISSUER);
    assert(token_claims_parse(a, text, TOKEN_ISSUER, &again, &err) == 0);
    assert(str_eq(text, token_claims_format(a, &again, TOKEN_ISSUER)));
    (void)token_check_time(&claims, INT64_C(1794789083), &err);
}

static void check_seal(struct arena *a, str payload)
{
    str token, back;
    struct err err = {0};
    if (token_seal(the_signer(), a, payload, &token, &err) < 0) {
        assert(err.code == ERR_TOO_LARGE);
        return;
    }
    assert(token.n <= TOKEN_MAX_BYTES);
    assert(token_unseal(the_signer(), a, token, &back, &err) == 0 && str_eq(back, payload));
    ((char *)token.p)[payload.n * 31 % token.n] ^= 1;
    assert(token_unseal(the_signer(), a, token, &back, &err) == ERR_UNAUTHORIZED);
}

static void check_headers(struct arena *a, str text)
{
    VEC(struct impersonate_header) headers = {0};
    struct impersonation as;
    struct err err = {0};
    for (str line, rest = text; rest.n;) {
        struct impersonate_header h;
        str_cut(rest, '\n', &line, &rest);
        str_cut(line, ':', &h.name, &h.value);
        *vec_push(a, &headers) = h;
    }
    if (impersonate_read(a, headers.p, headers.n, &as, &err) < 0)
        return;
    assert((as.n == 0) == (as.who.user.n == 0));
    size_t values = 0; /* nothing of the new identity that was not asked about */
    for (size_t i = 0; i < as.who.n_extra; i++)
        values += as.who.extra[i].values.n;
    assert(as.n == 0 || as.n >= 1 + values + (as.who.uid.n > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err = {0};
    struct token_claims claims;
    str text = {size ? (const char *)data : NULL, size};
    assert(token_verify(the_signer(), &a, text, &claims, &err) == ERR_UNAUTHORIZED);
    check_claims(&a, text);
    check_seal(&a, text);
    check_headers(&a, text);
    (void)authn_warning(text);
    return 0;
}
