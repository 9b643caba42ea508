/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/authn_token.h"
#include "authn/authn.h"
#include "authn/authn_internal.h"
#include "authn/base64url.h"
#include "authn/pki_issue.h"
#include "base/vec.h"
#include "json/json.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <stdlib.h>

/* What a token says, as JSON: written in one way only, and read back with no tolerance at all. A claim that is unknown, missing,
 * doubled or of another type was not written by us, or by a later version that means something by it: the token is refused. */

enum { CLAIMS_DEPTH = 4 };

static const int64_t seconds_max = 253402300799; /* the end of the year 9999: far from where sums overflow */

/* ---- Out. ---- */

static void add_ref(struct arena *a, struct json *to, str key, const struct token_ref *ref)
{
    if (ref->name.n == 0)
        return;
    struct json o = json_obj_sized(a, 2);
    json_add(a, &o, S("name"), json_str(ref->name));
    if (ref->uid.n)
        json_add(a, &o, S("uid"), json_str(ref->uid));
    json_add(a, to, key, o);
}

static void add_requests(struct arena *a, struct json *to, const struct token_claims *claims)
{
    struct json list = json_arr_sized(a, claims->n_requests);
    if (claims->n_requests == 0)
        return;
    for (size_t i = 0; i < claims->n_requests; i++) {
        const struct token_request *r = &claims->requests[i];
        struct json o = json_obj_sized(a, 3);
        json_add(a, &o, S("by"), json_str(r->by));
        json_add(a, &o, S("for"), json_str(r->to));
        json_add(a, &o, S("uid"), json_str(r->uid));
        json_push(a, &list, o);
    }
    json_add(a, to, S("requests"), list);
}

str token_claims_format(struct arena *a, const struct token_claims *claims, str issuer)
{
    struct json audiences = json_arr_sized(a, claims->audiences.n), private = json_obj_sized(a, 7),
                all = json_obj_sized(a, 8);
    strs_each(claims->audiences, it) json_push(a, &audiences, json_str(*it));
    json_add(a, &private, S("namespace"), json_str(claims->namespace));
    add_ref(a, &private, S("node"), &claims->node);
    add_ref(a, &private, S("pod"), &claims->pod);
    add_requests(a, &private, claims);
    add_ref(a, &private, S("secret"), &claims->secret);
    add_ref(a, &private, S("serviceaccount"), &claims->account);
    if (claims->warn_after)
        json_add(a, &private, S("warnafter"), json_int(claims->warn_after));
    json_add(a, &all, S("aud"), audiences);
    json_add(a, &all, S("exp"), json_int(claims->expires));
    json_add(a, &all, S("iat"), json_int(claims->issued));
    json_add(a, &all, S("iss"), json_str(issuer));
    json_add(a, &all, S("jti"), json_str(claims->id));
    json_add(a, &all, S("kubernetes.io"), private);
    json_add(a, &all, S("nbf"), json_int(claims->not_before));
    json_add(a, &all, S("sub"), json_str(authn_account_user(a, claims->namespace, claims->account.name)));
    struct buf text = {.arena = a};
    json_encode(&text, &all, 0);
    return buf_str(&text);
}

/* ---- In. Each of these is false when the value is not what it has to be. ---- */

static bool take_text(const struct json *v, str *ret)
{
    *ret = json_text(v);
    return ret->n > 0;
}

static bool take_seconds(const struct json *v, int64_t *ret)
{
    *ret = json_type(v) == JSON_INT ? v->i : -1;
    return *ret >= 0 && *ret <= seconds_max;
}

static bool take_ref(const struct json *v, struct token_ref *ret)
{
    return json_is_obj(v) && v->n == 2 && take_text(json_get(v, S("name")), &ret->name) &&
           take_text(json_get(v, S("uid")), &ret->uid);
}

/* A pod may be on a node that there is no object of. */
static bool take_node(const struct json *v, struct token_ref *ret)
{
    bool has_uid = json_get(v, S("uid"));
    return has_uid ? take_ref(v, ret) : json_is_obj(v) && v->n == 1 && take_text(json_get(v, S("name")), &ret->name);
}

static bool take_audiences(struct arena *a, const struct json *v, struct strs *ret)
{
    size_t n = json_len(v);
    if (!json_is_arr(v) || n == 0)
        return false;
    str *list = ARENA_ARRAY(a, str, n);
    for (size_t i = 0; i < n; i++)
        if (!take_text(&v->items[i], &list[i]))
            return false;
    *ret = (struct strs){list, n};
    return true;
}

static bool take_user(const struct json *v, str *ret)
{
    str namespace, name;
    return take_text(v, ret) && authn_account_split(*ret, &namespace, &name);
}

static bool take_requests(struct arena *a, const struct json *v, struct token_claims *c)
{
    size_t n = json_len(v);
    if (!json_is_arr(v) || n == 0 || n > TOKEN_REQUESTS_MAX)
        return false;
    struct token_request *list = ARENA_ARRAY(a, struct token_request, n);
    for (size_t i = 0; i < n; i++) {
        const struct json *o = &v->items[i];
        if (!json_is_obj(o) || o->n != 3 || !take_user(json_get(o, S("by")), &list[i].by) ||
            !take_user(json_get(o, S("for")), &list[i].to) || !take_text(json_get(o, S("uid")), &list[i].uid))
            return false;
    }
    c->requests = list;
    c->n_requests = n;
    return true;
}

static bool take_private(struct arena *a, const struct json *v, struct token_claims *c)
{
    json_each_member(v, m)
    {
        str key = json_key(m);
        bool is_good = str_eq(key, S("namespace"))        ? take_text(&m->val, &c->namespace)
                       : str_eq(key, S("node"))           ? take_node(&m->val, &c->node)
                       : str_eq(key, S("pod"))            ? take_ref(&m->val, &c->pod)
                       : str_eq(key, S("requests"))       ? take_requests(a, &m->val, c)
                       : str_eq(key, S("secret"))         ? take_ref(&m->val, &c->secret)
                       : str_eq(key, S("serviceaccount")) ? take_ref(&m->val, &c->account)
                       : str_eq(key, S("warnafter"))      ? take_seconds(&m->val, &c->warn_after)
                                                          : false;
        if (!is_good)
            return false;
    }
    return c->namespace.n && c->account.name.n;
}

static bool take_claims(struct arena *a, const struct json *v, struct token_claims *c, str *issuer, str *subject)
{
    json_each_member(v, m)
    {
        str key = json_key(m);
        bool is_good = str_eq(key, S("aud"))             ? take_audiences(a, &m->val, &c->audiences)
                       : str_eq(key, S("exp"))           ? take_seconds(&m->val, &c->expires)
                       : str_eq(key, S("iat"))           ? take_seconds(&m->val, &c->issued)
                       : str_eq(key, S("iss"))           ? take_text(&m->val, issuer)
                       : str_eq(key, S("jti"))           ? take_text(&m->val, &c->id)
                       : str_eq(key, S("kubernetes.io")) ? take_private(a, &m->val, c)
                       : str_eq(key, S("nbf"))           ? take_seconds(&m->val, &c->not_before)
                       : str_eq(key, S("sub"))           ? take_text(&m->val, subject)
                                                         : false;
        if (!is_good)
            return false;
    }
    return json_is_obj(v) && v->n == 8; /* all of them: no name is there twice */
}

int token_claims_parse(struct arena *a, str json, str issuer, struct token_claims *ret, struct err *err)
{
    struct json_limits limits = {.bytes = TOKEN_MAX_BYTES, .depth = CLAIMS_DEPTH};
    struct json_notes notes = {0};
    struct json v;
    struct token_claims c = {0};
    str its_issuer = {0}, subject = {0};
    struct err unused;
    if (json_decode(a, json, &limits, &notes, &v, &unused) < 0 || notes.duplicates.n ||
        !take_claims(a, &v, &c, &its_issuer, &subject) || !str_eq(its_issuer, issuer))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    if (!str_eq(subject, authn_account_user(a, c.namespace, c.account.name)) ||
        (c.secret.name.n && (c.pod.name.n || c.node.name.n)) || (c.node.name.n && !c.node.uid.n && !c.pod.name.n))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    *ret = c;
    return 0;
}

/* The signature comes before everything else: of a token that we did not sign not one byte is interpreted. The header is not
 * even parsed, only compared with the one text that we write for each key, so there is no algorithm to choose for a forger. */

enum {
    HALF = 32, /* bytes of r, of s, of x and of y */
    HALVES = 2 * HALF,
    POINT = 1 + HALVES,                         /* 4, x, y */
    SIGNATURE_TEXT = (HALVES * 4 + 2) / 3,      /* in base64url */
    SIGNATURE_DER_MAX = 2 + 2 * (2 + HALF + 1), /* two integers that may need a zero in front, in a sequence */
    PAYLOAD_MAX = (TOKEN_MAX_BYTES - 256 - SIGNATURE_TEXT) / 4 * 3, /* so that header and signature fit as well */
};

struct token_key {
    EVP_PKEY *key;
    str id;
    str header; /* as it stands in a token: base64url, without the dot */
    unsigned char point[POINT];
};

struct token_signer {
    struct arena arena; /* of all texts and of the keys */
    str issuer;
    VEC(struct token_key) keys; /* the first one signs, all of them verify */
};

/* ---- The signer. ---- */

static int describe_key(struct arena *a, struct token_key *k, struct err *err)
{
    unsigned char *spki = NULL, *point = NULL, digest[SHA256_DIGEST_LENGTH];
    int spki_n = i2d_PUBKEY(k->key, &spki);
    size_t point_n = EVP_PKEY_get1_encoded_public_key(k->key, &point);
    bool is_good = spki_n > 0 && point_n == POINT && point[0] == POINT_CONVERSION_UNCOMPRESSED;
    if (is_good) {
        memcpy(k->point, point, POINT);
        SHA256(spki, (size_t)spki_n, digest);
        k->id = base64url_encode(a, (str){(char *)digest, sizeof digest});
        k->header = base64url_encode(a, str_fmt(a, "{\"alg\":\"ES256\",\"kid\":\"%.*s\"}", STR(k->id)));
    }
    OPENSSL_free(spki);
    OPENSSL_free(point);
    return is_good ? 0 : pem_fail(err, "tell the public half of a key");
}

/* Takes the key, which may be NULL: one that could not be read. */
static int add_key(struct token_signer *s, EVP_PKEY *key, struct err *err)
{
    struct token_key k = {.key = key};
    int code = key && pem_is_p256(key)
                   ? describe_key(&s->arena, &k, err)
                   : err_set(err, ERR_INVALID, "the key for ServiceAccount tokens is no unencrypted EC key on P-256");
    if (code < 0)
        EVP_PKEY_free(key);
    else
        *vec_push(&s->arena, &s->keys) = k;
    return code;
}

int token_signer_new(str key_pem, str issuer, struct token_signer **ret, struct err *err)
{
    struct token_signer *s = xcalloc(1, sizeof *s);
    s->issuer = str_dup(&s->arena, issuer);
    int code = add_key(s, pem_read_key(key_pem), err);
    if (code < 0)
        token_signer_free(s);
    else
        *ret = s;
    return code;
}

int token_signer_accept(struct token_signer *s, str key_pem, struct err *err)
{
    return add_key(s, pem_read_public_key(key_pem), err);
}

void token_signer_free(struct token_signer *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->keys.n; i++)
        EVP_PKEY_free(s->keys.p[i].key);
    arena_done(&s->arena);
    free(s);
}

str token_signer_issuer(const struct token_signer *s)
{
    return s->issuer;
}

str token_signer_key_id(const struct token_signer *s)
{
    return s->keys.p[0].id;
}

/* ---- Signatures: DER as libcrypto has them, r ‖ s as tokens have them. ---- */

static bool der_to_halves(const unsigned char *der, size_t n, unsigned char halves[static HALVES])
{
    ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
    bool is_good = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), halves, HALF) == HALF &&
                   BN_bn2binpad(ECDSA_SIG_get0_s(sig), halves + HALF, HALF) == HALF;
    ECDSA_SIG_free(sig);
    return is_good;
}

static size_t halves_to_der(const unsigned char halves[static HALVES], unsigned char der[static SIGNATURE_DER_MAX])
{
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(halves, HALF, NULL), *s = BN_bin2bn(halves + HALF, HALF, NULL);
    int n = 0;
    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        unsigned char *at = der;
        n = i2d_ECDSA_SIG(sig, NULL) <= SIGNATURE_DER_MAX ? i2d_ECDSA_SIG(sig, &at) : 0;
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(sig);
    return n > 0 ? (size_t)n : 0;
}

static bool sign(EVP_PKEY *key, str text, unsigned char halves[static HALVES])
{
    unsigned char der[SIGNATURE_DER_MAX];
    size_t n = sizeof der;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_good = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                   EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.p, text.n) == 1 &&
                   der_to_halves(der, n, halves);
    EVP_MD_CTX_free(ctx);
    return is_good;
}

static bool is_signed(EVP_PKEY *key, str text, const unsigned char halves[static HALVES])
{
    unsigned char der[SIGNATURE_DER_MAX];
    size_t n = halves_to_der(halves, der);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool is_good = n && ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                   EVP_DigestVerify(ctx, der, n, (const unsigned char *)text.p, text.n) == 1;
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return is_good;
}

/* ---- Whole tokens. ---- */

int token_seal(const struct token_signer *s, struct arena *a, str payload, str *ret, struct err *err)
{
    unsigned char halves[HALVES];
    if (payload.n > PAYLOAD_MAX)
        return err_set(err, ERR_TOO_LARGE, "a token of %zu bytes would be too large", payload.n);
    str text = str_fmt(a, "%.*s.%.*s", STR(s->keys.p[0].header), STR(base64url_encode(a, payload)));
    if (!sign(s->keys.p[0].key, text, halves))
        return pem_fail(err, "sign a token");
    str signature = base64url_encode(a, (str){(char *)halves, sizeof halves});
    *ret = str_fmt(a, "%.*s.%.*s", STR(text), STR(signature));
    return 0;
}

/* The key whose header this is, by name and algorithm; NULL: none of ours. */
static EVP_PKEY *find_key(const struct token_signer *s, str header)
{
    for (size_t i = 0; i < s->keys.n; i++)
        if (str_eq(header, s->keys.p[i].header))
            return s->keys.p[i].key;
    return NULL;
}

int token_unseal(const struct token_signer *s, struct arena *a, str token, str *ret, struct err *err)
{
    str header, rest, payload, text, signature, halves;
    EVP_PKEY *key = NULL;
    if (token.n > TOKEN_MAX_BYTES || !str_cut(token, '.', &header, &rest) || !str_cut(rest, '.', &payload, &text) ||
        (key = find_key(s, header)) == NULL || text.n != SIGNATURE_TEXT)
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    signature = text;
    text = str_upto(token, token.n - SIGNATURE_TEXT - 1);
    if (!base64url_decode(a, signature, &halves) || halves.n != HALVES ||
        !is_signed(key, text, (const unsigned char *)halves.p))
        return err_set(err, ERR_UNAUTHORIZED, "square/go-jose: error in cryptographic primitive");
    if (!base64url_decode(a, payload, ret))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    return 0;
}

int token_sign(const struct token_signer *s, struct arena *a, const struct token_claims *claims, str *ret,
               struct err *err)
{
    return token_seal(s, a, token_claims_format(a, claims, s->issuer), ret, err);
}

int token_verify(const struct token_signer *s, struct arena *a, str token, struct token_claims *ret, struct err *err)
{
    str payload = {0};
    int code = token_unseal(s, a, token, &payload, err);
    return code < 0 ? code : token_claims_parse(a, payload, s->issuer, ret, err);
}

int token_check_time(const struct token_claims *claims, int64_t now, struct err *err)
{
    if (now + TOKEN_LEEWAY < claims->not_before)
        return err_set(err, ERR_UNAUTHORIZED, "service account token is not valid yet");
    if (now - TOKEN_LEEWAY > claims->expires)
        return err_set(err, ERR_UNAUTHORIZED, "service account token has expired");
    if (now + TOKEN_LEEWAY < claims->issued)
        return err_set(err, ERR_UNAUTHORIZED, "service account token is issued in the future");
    return 0;
}

/* ---- For OpenID clients: members in the order in which Kubernetes writes them. ---- */

static void add_jwk(struct buf *b, const struct token_key *k)
{
    str x = base64url_encode(b->arena, (str){(const char *)k->point + 1, HALF});
    str y = base64url_encode(b->arena, (str){(const char *)k->point + 1 + HALF, HALF});
    buf_fmt(b,
            "{\"use\":\"sig\",\"kty\":\"EC\",\"kid\":\"%.*s\",\"crv\":\"P-256\",\"alg\":\"ES256\","
            "\"x\":\"%.*s\",\"y\":\"%.*s\"}",
            STR(k->id), STR(x), STR(y));
}

str token_jwks(const struct token_signer *s, struct arena *a)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("{\"keys\":["));
    for (size_t i = 0; i < s->keys.n; i++) {
        if (i)
            buf_add_char(&b, ',');
        add_jwk(&b, &s->keys.p[i]);
    }
    buf_add_str(&b, S("]}"));
    return buf_str(&b);
}

str token_openid_configuration(const struct token_signer *s, struct arena *a, str address)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, S("{\"issuer\":"));
    json_encode_str(&b, s->issuer);
    buf_add_str(&b, S(",\"jwks_uri\":"));
    json_encode_str(&b, str_fmt(a, "https://%.*s/openid/v1/jwks", STR(address)));
    buf_add_str(&b, S(",\"response_types_supported\":[\"id_token\"],\"subject_types_supported\":[\"public\"],"
                      "\"id_token_signing_alg_values_supported\":[\"ES256\"]}"));
    return buf_str(&b);
}
