/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: what we sign we believe, and nothing else. */
#include "authn/authn_internal.h"
#include "authn/base64url.h"
#include "authn/pki_issue.h"

#include "json/json.h"

#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NOW = 1794789083, HUGE_BYTES = 4 << 20 };

static const str audience[] = {S_INIT("https://kubernetes.default.svc.cluster.local")};

static str new_key(struct arena *a)
{
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    assert_int_equal(pki_make_key(&key, &err), 0);
    return pem_write_key(a, key);
}

static struct token_signer *new_signer(struct arena *a)
{
    struct token_signer *s;
    struct err err;
    assert_int_equal(token_signer_new(new_key(a), TOKEN_ISSUER, &s, &err), 0);
    return s;
}

static struct token_claims some_claims(void)
{
    return (struct token_claims){
        .audiences = {audience, 1},
        .issued = NOW,
        .not_before = NOW,
        .expires = NOW + 3600,
        .id = S("9f6164e5-a00f-4aa0-91d3-9b11d5865263"),
        .namespace = S("default"),
        .account = {S("x"), S("802a7e23-84b8-40e5-b6c8-c814a18a1658")},
    };
}

static str sign(const struct token_signer *s, struct arena *a, const struct token_claims *claims)
{
    struct err err = {0};
    str token;
    assert_int_equal(token_sign(s, a, claims, &token, &err), 0);
    return token;
}

static str part(str token, int which)
{
    str before = {0}, rest = token;
    for (int i = 0; i <= which; i++)
        str_cut(rest, '.', &before, &rest);
    return before;
}

static str decoded(struct arena *a, str text)
{
    str bytes = {0};
    assert_true(base64url_decode(a, text, &bytes));
    return bytes;
}

static void assert_text(str got, const char *want)
{
    char text[2048];
    assert_true(got.n < sizeof text);
    (void)snprintf(text, sizeof text, "%.*s", STR(got));
    assert_string_equal(text, want);
}

/* Refused, with words that tell nothing of the token. */
static void assert_refused(const struct token_signer *s, str token, const char *why)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_claims claims = {.expires = 4711};
    struct err err = {0};
    assert_int_equal(token_verify(s, &a, token, &claims, &err), ERR_UNAUTHORIZED);
    assert_string_equal(err.msg, why);
    assert_int_equal(claims.expires, 4711);
}

static const char unknown[] = "invalid bearer token";
static const char forged[] = "square/go-jose: error in cryptographic primitive";

/* ---- Good ones. ---- */

static void test_round_trip(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims in = some_claims(), out;
    struct err err;
    in.pod = (struct token_ref){S("p"), S("p-uid")};
    in.node = (struct token_ref){S("n"), S("n-uid")};
    in.warn_after = NOW + 100;
    in.requests = &(struct token_request){S("system:serviceaccount:a:b"), S("b-uid"), S("system:serviceaccount:c:d")};
    in.n_requests = 1;
    str token = sign(s, &a, &in);
    assert_int_equal(token_verify(s, &a, token, &out, &err), 0);
    assert_true(out.issued == NOW && out.not_before == NOW && out.expires == NOW + 3600 && out.warn_after == NOW + 100);
    assert_true(str_eq(out.id, in.id) && str_eq(out.namespace, in.namespace));
    assert_true(str_eq(out.account.name, S("x")) && str_eq(out.account.uid, in.account.uid));
    assert_true(str_eq(out.pod.name, S("p")) && str_eq(out.pod.uid, S("p-uid")));
    assert_true(str_eq(out.node.name, S("n")) && str_eq(out.node.uid, S("n-uid")));
    assert_int_equal(out.secret.name.n, 0);
    assert_int_equal(out.n_requests, 1);
    assert_true(str_eq(out.requests->by, in.requests->by) && str_eq(out.requests->uid, S("b-uid")));
    assert_true(str_eq(out.requests->to, in.requests->to));
    assert_int_equal(out.audiences.n, 1);
    assert_true(str_eq(out.audiences.p[0], audience[0]));
    token_signer_free(s);
}

/* The payload is, letter by letter, what a server of Kubernetes 1.32 writes for the same claims. */
static void test_text(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims();
    str token = sign(s, &a, &claims);
    assert_text(decoded(&a, part(token, 1)),
                "{\"aud\":[\"https://kubernetes.default.svc.cluster.local\"],\"exp\":1794792683,\"iat\":1794789083,"
                "\"iss\":\"https://kubernetes.default.svc.cluster.local\","
                "\"jti\":\"9f6164e5-a00f-4aa0-91d3-9b11d5865263\",\"kubernetes.io\":{\"namespace\":\"default\","
                "\"serviceaccount\":{\"name\":\"x\",\"uid\":\"802a7e23-84b8-40e5-b6c8-c814a18a1658\"}},"
                "\"nbf\":1794789083,\"sub\":\"system:serviceaccount:default:x\"}");
    str header = str_fmt(&a, "{\"alg\":\"ES256\",\"kid\":\"%.*s\"}", STR(token_signer_key_id(s)));
    assert_true(str_eq(decoded(&a, part(token, 0)), header));
    assert_int_equal(decoded(&a, part(token, 2)).n, 64);
    claims.secret = (struct token_ref){S("s"), S("s-uid")};
    claims.id = S("<&>");
    str payload = decoded(&a, part(sign(s, &a, &claims), 1));
    assert_true(str_find(payload, S("\"secret\":{\"name\":\"s\",\"uid\":\"s-uid\"},\"serviceaccount\"")) > 0);
    assert_true(str_find(payload, S("\\u003c\\u0026\\u003e")) > 0);
    token_signer_free(s);
}

/* r and s with leading zeros, with the top bit set: sooner or later all of them come up. */
static void test_many_signatures(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims(), out;
    struct err err;
    int high = 0, low = 0;
    for (int i = 0; i < 100 || high == 0 || low == 0; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        str token = sign(s, &scratch, &claims), halves = decoded(&scratch, part(token, 2));
        high += (unsigned char)halves.p[0] >= 0x80;
        low += halves.p[0] == 0 || halves.p[32] == 0;
        assert_int_equal(token_verify(s, &scratch, token, &out, &err), 0);
    }
    token_signer_free(s);
}

/* ---- Forgeries. ---- */

static str forge(struct arena *a, const char *header, str payload, str signature)
{
    return str_fmt(a, "%.*s.%.*s.%.*s", STR(base64url_encode(a, str_of(header))), STR(base64url_encode(a, payload)),
                   STR(base64url_encode(a, signature)));
}

static void test_algorithms(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims();
    str good = sign(s, &a, &claims), payload = decoded(&a, part(good, 1)), signature = decoded(&a, part(good, 2));
    assert_refused(s, forge(&a, "{\"alg\":\"none\"}", payload, S("")), unknown);
    assert_refused(s, forge(&a, "{\"alg\":\"none\"}", payload, signature), unknown);
    str kid = token_signer_key_id(s);
    static const char *const algorithms[] = {"none", "None", "HS256", "RS256", "ES384", "es256", "PS256", ""};
    for (size_t i = 0; i < COUNT(algorithms); i++) {
        str header = str_fmt(&a, "{\"alg\":\"%s\",\"kid\":\"%.*s\"}", algorithms[i], STR(kid));
        assert_refused(s, forge(&a, str_cstr(&a, header), payload, signature), unknown);
    }
    token_signer_free(s);
}

/* The classic: the public key, which everybody knows, taken as the secret of an HMAC. */
static void test_hmac_with_public_key(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims();
    str good = sign(s, &a, &claims), jwks = token_jwks(s, &a);
    str header = base64url_encode(&a, S("{\"alg\":\"HS256\"}"));
    str text = str_fmt(&a, "%.*s.%.*s", STR(header), STR(part(good, 1)));
    unsigned char mac[SHA256_DIGEST_LENGTH];
    unsigned n = sizeof mac;
    assert_non_null(HMAC(EVP_sha256(), jwks.p, (int)jwks.n, (const unsigned char *)text.p, text.n, mac, &n));
    str token = str_fmt(&a, "%.*s.%.*s", STR(text), STR(base64url_encode(&a, (str){(char *)mac, n})));
    assert_refused(s, token, unknown);
    token_signer_free(s);
}

static void test_other_keys(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a), *other = new_signer(&a);
    struct token_claims claims = some_claims();
    str good = sign(s, &a, &claims), theirs = sign(other, &a, &claims);
    assert_refused(s, theirs, unknown); /* another kid */
    str mixed = str_fmt(&a, "%.*s.%.*s.%.*s", STR(part(good, 0)), STR(part(theirs, 1)), STR(part(theirs, 2)));
    assert_refused(s, mixed, forged); /* our kid, their signature */
    str no_kid = forge(&a, "{\"alg\":\"ES256\"}", decoded(&a, part(good, 1)), decoded(&a, part(good, 2)));
    assert_refused(s, no_kid, unknown);
    token_signer_free(other);
    token_signer_free(s);
}

/* Several keys: the first signs, and what the others have signed is verified with the key that the token names, no other. */
static void test_old_keys(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str first = new_key(&a), second = new_key(&a);
    struct token_signer *old, *s, *none = new_signer(&a);
    struct token_claims claims = some_claims(), out;
    struct err err = {0};
    EVP_PKEY *key PEM_KEY_SCOPE = pem_read_key(second);
    assert_int_equal(token_signer_new(first, TOKEN_ISSUER, &old, &err), 0);
    assert_int_equal(token_signer_new(second, TOKEN_ISSUER, &s, &err), 0);
    str before = sign(old, &a, &claims), foreign = sign(none, &a, &claims);
    assert_refused(s, before, unknown);
    assert_int_equal(token_signer_accept(s, first, &err), 0);
    assert_int_equal(token_verify(s, &a, before, &out, &err), 0);
    str after = sign(s, &a, &claims);
    assert_int_equal(token_verify(s, &a, after, &out, &err), 0);
    assert_refused(old, after, unknown); /* the new key has signed it */
    assert_refused(s, foreign, unknown);
    /* A signature counts with its own key only, whichever of ours the header names. */
    str swapped = str_fmt(&a, "%.*s.%.*s.%.*s", STR(part(after, 0)), STR(part(before, 1)), STR(part(before, 2)));
    assert_refused(s, swapped, forged);
    swapped = str_fmt(&a, "%.*s.%.*s.%.*s", STR(part(before, 0)), STR(part(after, 1)), STR(part(after, 2)));
    assert_refused(s, swapped, forged);
    /* The public half is enough; and never signs. */
    assert_int_equal(token_signer_accept(none, pem_write_public_key(&a, key), &err), 0);
    assert_int_equal(token_verify(none, &a, after, &out, &err), 0);
    assert_refused(none, before, unknown);
    assert_true(str_eq(part(sign(none, &a, &claims), 0), part(foreign, 0)));
    token_signer_free(none);
    token_signer_free(s);
    token_signer_free(old);
}

static str with_bytes(struct arena *a, str token, str halves)
{
    size_t n = token.n - part(token, 2).n;
    return str_fmt(a, "%.*s%.*s", STR(str_upto(token, n)), STR(base64url_encode(a, halves)));
}

static void test_bad_signatures(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims();
    str good = sign(s, &a, &claims);
    char halves[64];
    memset(halves, 0, sizeof halves); /* r = s = 0, which a careless verifier takes */
    assert_refused(s, with_bytes(&a, good, (str){halves, 64}), forged);
    memset(halves, 0xff, sizeof halves);
    assert_refused(s, with_bytes(&a, good, (str){halves, 64}), forged);
    memcpy(halves, decoded(&a, part(good, 2)).p, 64);
    for (size_t i = 0; i < 64; i++) {
        halves[i] ^= 1;
        assert_refused(s, with_bytes(&a, good, (str){halves, 64}), forged);
        halves[i] ^= 1;
    }
    assert_refused(s, with_bytes(&a, good, (str){halves, 63}), unknown);
    assert_refused(s, with_bytes(&a, good, S("")), unknown);
    token_signer_free(s);
}

/* Any byte of it changed, or cut off anywhere. */
static void test_damaged(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims(), out;
    str good = sign(s, &a, &claims);
    char *copy = str_cstr(&a, good);
    struct err err;
    for (size_t i = 0; i < good.n; i++) {
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        assert_int_equal(token_verify(s, &a, (str){copy, good.n}, &out, &err), ERR_UNAUTHORIZED);
        copy[i] = good.p[i];
        assert_int_equal(token_verify(s, &a, str_upto(good, i), &out, &err), ERR_UNAUTHORIZED);
    }
    static const char *const more[] = {".", "A", "=", " ", "\n", ".A", "AA"};
    for (size_t i = 0; i < COUNT(more); i++)
        assert_refused(s, str_fmt(&a, "%.*s%s", STR(good), more[i]), unknown);
    assert_refused(s, S(""), unknown);
    assert_refused(s, S(".."), unknown);
    assert_refused(s, S("..."), unknown);
    token_signer_free(s);
}

/* base64 leaves room for bits that mean nothing: a second spelling of the same signature is not ours. */
static void test_one_spelling(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims();
    char *copy = str_cstr(&a, sign(s, &a, &claims));
    size_t last = strlen(copy) - 1;
    copy[last] = (char)(copy[last] + 1); /* A Q g w, each with four bits to spare: the next letter decodes alike */
    assert_refused(s, str_of(copy), forged);
    token_signer_free(s);
}

static void test_sizes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims claims = some_claims(), out;
    struct err err = {0};
    char *huge = arena_zalloc(&a, HUGE_BYTES);
    memset(huge, 'A', HUGE_BYTES);
    assert_refused(s, (str){huge, HUGE_BYTES}, unknown);
    /* Too large, though it begins and ends as ours: not even hashed. */
    str ours = sign(s, &a, &claims);
    assert_refused(s, str_fmt(&a, "%.*s.%.*s.%.*s", STR(part(ours, 0)), 20000, huge, STR(part(ours, 2))), unknown);
    assert_refused(s, str_fmt(&a, "%.*s.%.*s.%.*s", STR(part(ours, 0)), 2000, huge, STR(part(ours, 2))), forged);
    str token, list[] = {{huge, 20000}};
    claims.audiences = (struct strs){list, 1};
    assert_int_equal(token_sign(s, &a, &claims, &token, &err), ERR_TOO_LARGE);
    /* What is signed at all is never too large to be believed. */
    for (list[0].n = 11000; token_sign(s, &a, &claims, &token, &err) == 0; list[0].n += 10) {
        assert_true(token.n <= TOKEN_MAX_BYTES);
        assert_int_equal(token_verify(s, &a, token, &out, &err), 0);
    }
    assert_true(list[0].n > 11500 && err.code == ERR_TOO_LARGE);
    token_signer_free(s);
}

/* ---- Claims: signed by us, and still not to be believed. ---- */

#define AUD "\"aud\":[\"a\"]"
#define TIMES "\"exp\":2,\"iat\":1,\"nbf\":1"
#define ISS "\"iss\":\"https://kubernetes.default.svc.cluster.local\""
#define REST "\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":\"x\",\"uid\":\"u\"}}"
#define SUB "\"sub\":\"system:serviceaccount:n:x\""

#define BY "\"by\":\"system:serviceaccount:a:b\""
#define FOR "\"for\":\"system:serviceaccount:n:x\""
#define ONE "{" BY "," FOR ",\"uid\":\"u\"}"
#define EIGHT ONE "," ONE "," ONE "," ONE "," ONE "," ONE "," ONE "," ONE
#define WITH_REQUESTS(list)                                                                              \
    "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"requests\":" list \
    ",\"serviceaccount\":{\"name\":\"x\",\"uid\":\"u\"}}," SUB "}"

static void test_claims(void **state)
{
    static const char *const bad[] = {
        "",
        "null",
        "[]",
        "{}",
        "{" AUD "," TIMES "," ISS "," REST "," SUB "} ,",
        "{" AUD "," TIMES "," ISS "," REST "}", /* a claim is missing */
        "{" TIMES "," ISS "," REST "," SUB "}",
        "{" AUD "," AUD "," TIMES "," ISS "," REST "," SUB "}", /* is there twice */
        "{" AUD "," TIMES "," ISS "," REST "," SUB "," SUB "}",
        "{" AUD "," TIMES ",\"exp\":9," ISS "," REST "," SUB "}",
        "{" AUD "," TIMES "," ISS "," REST "," SUB ",\"act\":{}}", /* is unknown */
        "{\"aud\":\"a\"," TIMES "," ISS "," REST "," SUB "}",      /* of another type */
        "{\"aud\":[]," TIMES "," ISS "," REST "," SUB "}",
        "{\"aud\":[1]," TIMES "," ISS "," REST "," SUB "}",
        "{\"aud\":[\"a\",null]," TIMES "," ISS "," REST "," SUB "}",
        "{\"aud\":[\"a\",\"\"]," TIMES "," ISS "," REST "," SUB "}",
        "{\"aud\":{\"a\":\"a\"}," TIMES "," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":\"2\",\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":2.5,\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":1e300,\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":9223372036854775807,\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":18446744073709551615,\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD ",\"exp\":-1,\"iat\":1,\"nbf\":1," ISS "," REST "," SUB "}",
        "{" AUD "," TIMES ",\"iss\":\"https://kubernetes.default.svc\"," REST "," SUB "}", /* another issuer */
        "{" AUD "," TIMES ",\"iss\":[\"https://kubernetes.default.svc.cluster.local\"]," REST "," SUB "}",
        "{" AUD "," TIMES "," ISS "," REST ",\"sub\":\"system:serviceaccount:n:y\"}", /* about somebody else */
        "{" AUD "," TIMES "," ISS "," REST ",\"sub\":\"system:admin\"}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\"}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\",\"namespace\":\"n\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":[]," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"pod\":{\"name\":\"p\",\"uid\":\"\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"pod\":{}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"pod\":{\"name\":\"p\",\"uid\":\"u\"},\"secret\":{\"name\":\"p\",\"uid\":\"u\"}}," SUB
        "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"configmap\":{\"name\":\"p\",\"uid\":\"u\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\",\"uid\":\"v\"}}," SUB "}",
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"node\":{\"name\":\"p\"}}," SUB "}", /* without a pod */
        "{" AUD "," TIMES "," ISS ",\"jti\":\"j\",\"kubernetes.io\":{\"namespace\":\"n\",\"serviceaccount\":{\"name\":"
        "\"x\",\"uid\":\"u\"},\"pod\":{\"name\":\"p\",\"uid\":\"u\"},\"node\":{\"name\":\"p\",\"uid\":\"\"}}," SUB "}",
        WITH_REQUESTS("{}"),
        WITH_REQUESTS("[]"),
        WITH_REQUESTS("[" BY "]"),
        WITH_REQUESTS("[{" BY "," FOR "}]"),
        WITH_REQUESTS("[{" BY "," FOR ",\"uid\":\"\"}]"),
        WITH_REQUESTS("[{" BY "," FOR ",\"uid\":1}]"),
        WITH_REQUESTS("[{" BY "," FOR ",\"uid\":\"u\",\"zz\":1}]"),
        WITH_REQUESTS("[{" BY ",\"for\":\"admin\",\"uid\":\"u\"}]"),
        WITH_REQUESTS("[{\"by\":\"system:serviceaccount:a\"," FOR ",\"uid\":\"u\"}]"),
        WITH_REQUESTS("[{" BY "," FOR ",\"uid\":\"u\"},null]"),
        WITH_REQUESTS("[" EIGHT "," ONE "]"), /* too many */
    };
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct token_claims out;
    struct err err;
    str token;
    assert_int_equal(token_seal(s, &a, S("{" AUD "," TIMES "," ISS "," REST "," SUB "}"), &token, &err), 0);
    assert_int_equal(token_verify(s, &a, token, &out, &err), 0);
    assert_int_equal(token_seal(s, &a, S(WITH_REQUESTS("[" EIGHT "]")), &token, &err), 0);
    assert_int_equal(token_verify(s, &a, token, &out, &err), 0);
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(token_seal(s, &a, str_of(bad[i]), &token, &err), 0);
        assert_refused(s, token, unknown);
    }
    token_signer_free(s);
}

/* ---- Time: a minute is given for clocks that differ, as Kubernetes does. ---- */

static void test_time(void **state)
{
    struct token_claims c = some_claims();
    struct err err = {0};
    assert_int_equal(token_check_time(&c, NOW, &err), 0);
    assert_int_equal(token_check_time(&c, NOW - 60, &err), 0);
    assert_int_equal(token_check_time(&c, NOW - 61, &err), ERR_UNAUTHORIZED);
    assert_string_equal(err.msg, "service account token is not valid yet");
    assert_int_equal(token_check_time(&c, NOW + 3660, &err), 0);
    assert_int_equal(token_check_time(&c, NOW + 3661, &err), ERR_UNAUTHORIZED);
    assert_string_equal(err.msg, "service account token has expired");
    c.issued = NOW + 120;
    assert_int_equal(token_check_time(&c, NOW, &err), ERR_UNAUTHORIZED);
    assert_string_equal(err.msg, "service account token is issued in the future");
}

/* ---- Keys and documents. ---- */

static void test_bad_keys(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = NULL;
    struct err err = {0};
    EVP_PKEY *p384 PEM_KEY_SCOPE = EVP_EC_gen("P-384"), *ed PEM_KEY_SCOPE = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    str keys[] = {{0}, S_INIT("x"), pem_write_key(&a, p384), pem_write_key(&a, ed)};
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_int_equal(token_signer_new(keys[i], TOKEN_ISSUER, &s, &err), ERR_INVALID);
        assert_string_equal(err.msg, "the key for ServiceAccount tokens is no unencrypted EC key on P-256");
    }
    token_signer_free(NULL);
    s = new_signer(&a);
    for (size_t i = 0; i < COUNT(keys); i++)
        assert_int_equal(token_signer_accept(s, keys[i], &err), ERR_INVALID);
    assert_int_equal(token_signer_accept(s, pem_write_public_key(&a, p384), &err), ERR_INVALID);
    token_signer_free(s);
}

static void test_documents(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct token_signer *s = new_signer(&a);
    struct json keys;
    struct err err;
    assert_int_equal(json_decode(&a, token_jwks(s, &a), NULL, NULL, &keys, &err), 0);
    const struct json *key = &json_get(&keys, S("keys"))->items[0];
    assert_true(str_eq(json_get_text(key, S("kid")), token_signer_key_id(s)));
    assert_true(str_eq(json_get_text(key, S("alg")), S("ES256")));
    assert_int_equal(decoded(&a, json_get_text(key, S("x"))).n, 32);
    assert_int_equal(decoded(&a, json_get_text(key, S("y"))).n, 32);
    assert_int_equal(json_len(json_get(&keys, S("keys"))), 1);
    assert_int_equal(token_signer_accept(s, new_key(&a), &err), 0); /* all keys that are accepted are published */
    assert_int_equal(json_decode(&a, token_jwks(s, &a), NULL, NULL, &keys, &err), 0);
    key = json_get(&keys, S("keys"))->items;
    assert_int_equal(json_len(json_get(&keys, S("keys"))), 2);
    assert_true(str_eq(json_get_text(&key[0], S("kid")), token_signer_key_id(s)));
    assert_false(str_eq(json_get_text(&key[1], S("kid")), token_signer_key_id(s)));
    assert_false(str_eq(json_get_text(&key[0], S("x")), json_get_text(&key[1], S("x"))));
    assert_text(token_openid_configuration(s, &a, S("127.0.0.1:6443")),
                "{\"issuer\":\"https://kubernetes.default.svc.cluster.local\","
                "\"jwks_uri\":\"https://127.0.0.1:6443/openid/v1/jwks\",\"response_types_supported\":[\"id_token\"],"
                "\"subject_types_supported\":[\"public\"],\"id_token_signing_alg_values_supported\":[\"ES256\"]}");
    token_signer_free(s);
}

static void test_base64url(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    static const struct {
        const char *bytes, *text;
    } good[] = {{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"\xfb\xff", "-_8"}, {"\xff\xff\xff", "____"}};
    static const char *const bad[] = {"A", "AAAAA", "Zh", "Zm9", "Zg==", "+/8", "Zm 8", "Zm\n9v", "Zm9v\xff"};
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_text(base64url_encode(&a, str_of(good[i].bytes)), good[i].text);
        assert_text(decoded(&a, str_of(good[i].text)), good[i].bytes);
    }
    str bytes;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(base64url_decode(&a, str_of(bad[i]), &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_many_signatures),
        cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_hmac_with_public_key),
        cmocka_unit_test(test_other_keys),
        cmocka_unit_test(test_old_keys),
        cmocka_unit_test(test_bad_signatures),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_one_spelling),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_base64url),
    };
    return cmocka_run_group_tests_name("token", tests, NULL, NULL);
}
