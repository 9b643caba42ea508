/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials become identities: which one counts, what makes a good one bad, and that caches forget nothing they should ask. */
#include "authn/authn.h"
#include "authn/authn_internal.h"
#include "authn/authn_token.h"
#include "authn/impersonate.h"
#include "authn/pki_issue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NOW = 1794789083, OBJECTS = 4, MANY = CACHE_SETS * CACHE_WAYS + 200 };

/* What exists. */
struct world {
    struct arena arena;
    struct clock_fake clock;
    struct {
        const char *kind, *namespace, *name, *uid; /* kind NULL: not there */
        bool is_deleting;
        int64_t deleted;
    } objects[OBJECTS];
    size_t questions;
    const char *granted[4]; /* "a:b may request tokens of c:d", as "a:b c:d" */
    struct token_signer *signer;
    struct authn *authn;
    EVP_PKEY *ca_key;
    X509 *ca;
};

static bool find(void *ctx, struct arena *a, str kind, str namespace, str name, struct authn_object *ret)
{
    struct world *w = ctx;
    w->questions++;
    for (size_t i = 0; i < OBJECTS; i++)
        if (w->objects[i].kind && str_eq(str_of(w->objects[i].kind), kind) &&
            str_eq(str_of(w->objects[i].namespace), namespace) && str_eq(str_of(w->objects[i].name), name)) {
            *ret = (struct authn_object){str_dup(a, str_of(w->objects[i].uid)), w->objects[i].is_deleting,
                                         w->objects[i].deleted};
            return true;
        }
    return false;
}

/* Nothing but the groups that every ServiceAccount has. */
static bool can_request(void *ctx, const struct authz_identity *who, str namespace, str name)
{
    struct world *w = ctx;
    str own_namespace, own;
    assert_true(authn_account_split(who->user, &own_namespace, &own));
    str question = str_fmt(&w->arena, "%.*s:%.*s %.*s:%.*s", STR(own_namespace), STR(own), STR(namespace), STR(name));
    assert_int_equal(who->groups.n, 3);
    assert_true(strs_have(who->groups, S("system:serviceaccounts")) && strs_have(who->groups, AUTHN_AUTHENTICATED));
    assert_true(strs_have(who->groups, str_fmt(&w->arena, "system:serviceaccounts:%.*s", STR(own_namespace))));
    for (size_t i = 0; i < COUNT(w->granted); i++)
        if (w->granted[i] && str_eq(str_of(w->granted[i]), question))
            return true;
    return false;
}

static void open_world(struct world *w)
{
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    *w = (struct world){.clock = {.wall = NOW * INT64_C(1000000000)}};
    w->objects[0].kind = "ServiceAccount";
    w->objects[0].namespace = "default";
    w->objects[0].name = "x";
    w->objects[0].uid = "uid-x";
    assert_int_equal(pki_make_key(&key, &err), 0);
    assert_int_equal(token_signer_new(pem_write_key(&w->arena, key), TOKEN_ISSUER, &w->signer, &err), 0);
    w->authn = authn_new(&(struct authn_options){
        .clock = clock_of_fake(&w->clock), .signer = w->signer, .find = find, .can_request = can_request, .ctx = w});
    struct pki_subject ca = {PKI_FOR_CA, S("ca"), {0}, {0}, NOW - 1000, NOW + 1000000};
    assert_int_equal(pki_make_key(&w->ca_key, &err), 0);
    assert_int_equal(pki_issue(w->ca_key, &ca, &(struct pki_issuer){.key = w->ca_key}, &w->ca, &err), 0);
}

static void close_world(struct world *w)
{
    authn_free(w->authn);
    token_signer_free(w->signer);
    X509_free(w->ca);
    EVP_PKEY_free(w->ca_key);
    arena_done(&w->arena);
}

static struct token_claims some_claims(void)
{
    static const str audience[] = {S_INIT("https://kubernetes.default.svc.cluster.local")};
    return (struct token_claims){
        .audiences = {audience, 1},
        .issued = NOW,
        .not_before = NOW,
        .expires = NOW + 3600,
        .id = S("the-jti"),
        .namespace = S("default"),
        .account = {S("x"), S("uid-x")},
    };
}

static str sign(struct world *w, const struct token_claims *claims)
{
    struct err err = {0};
    str token;
    assert_int_equal(token_sign(w->signer, &w->arena, claims, &token, &err), 0);
    return token;
}

/* "user | uid | group, group | key=value, …", or "! why" */
static const char *identify(struct world *w, const struct authn_credentials *c)
{
    struct authz_identity who;
    struct err err = {0};
    struct buf b = {.arena = &w->arena};
    str token;
    int code = authn_identify(w->authn, &w->arena, c, &who, &token, &err);
    if (code < 0) {
        assert_int_equal(code, ERR_UNAUTHORIZED);
        return str_cstr(&w->arena, str_fmt(&w->arena, "! %s", err.msg));
    }
    buf_fmt(&b, "%.*s | %.*s |", STR(who.user), STR(who.uid));
    strs_each(who.groups, it) buf_fmt(&b, " %.*s", STR(*it));
    buf_add_str(&b, S(" |"));
    for (size_t i = 0; i < who.n_extra; i++) {
        assert_int_equal(who.extra[i].values.n, 1);
        buf_fmt(&b, " %.*s=%.*s", STR(who.extra[i].key), STR(who.extra[i].values.p[0]));
    }
    return str_cstr(&w->arena, buf_str(&b));
}

static const char *identify_header(struct world *w, const char *authorization)
{
    return identify(w, &(struct authn_credentials){.authorization = str_of(authorization)});
}

static const char *identify_token(struct world *w, str token)
{
    return identify_header(w, str_cstr(&w->arena, str_fmt(&w->arena, "Bearer %.*s", STR(token))));
}

static struct authn_credentials show(struct world *w, const struct pki_subject *subject)
{
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    X509 *certificate PEM_CERTIFICATE_SCOPE = NULL;
    unsigned char *der = NULL;
    assert_int_equal(pki_make_key(&key, &err), 0);
    assert_int_equal(pki_issue(key, subject, &(struct pki_issuer){w->ca_key, w->ca}, &certificate, &err), 0);
    int n = i2d_X509(certificate, &der);
    struct authn_credentials c = {.has_certificate = true, .certificate_not_after = subject->not_after};
    c.certificate_der = str_dup(&w->arena, (str){(char *)der, (size_t)n});
    OPENSSL_free(der);
    return c;
}

static const str two_groups[] = {S_INIT("dev"), S_INIT("ops")};
static const struct pki_subject jane = {PKI_FOR_CLIENT, S_INIT("jane"), {two_groups, 2}, {0}, NOW - 100, NOW + 1000};

/* ---- Nobody. ---- */

static void test_anonymous(void **state)
{
    static const char *const headers[] = {"",        " ",           "Bearer",        "Bearer ",        "Bearer  token",
                                          "Basic x", "BearerToken", "Bearer\ttoken", "Negotiate a b c"};
    struct world w;
    open_world(&w);
    for (size_t i = 0; i < COUNT(headers); i++)
        assert_string_equal(identify_header(&w, headers[i]), "system:anonymous |  | system:unauthenticated |");
    assert_int_equal(w.questions, 0);
    close_world(&w);
}

static void test_warning(void **state)
{
    assert_true(
        str_eq(authn_warning(S("Bearer  token")), S("the provided Authorization header contains extra space before "
                                                    "the bearer token, and is ignored")));
    assert_int_equal(authn_warning(S("Bearer token")).n, 0);
    assert_int_equal(authn_warning(S("Bearer token  ")).n, 0);
    assert_int_equal(authn_warning(S("Bearer ")).n, 0);
    assert_int_equal(authn_warning(S("Basic  x")).n, 0);
    assert_int_equal(authn_warning(S("")).n, 0);
}

/* ---- Certificates. ---- */

static void test_certificate(void **state)
{
    struct world w;
    open_world(&w);
    struct authn_credentials c = show(&w, &jane);
    const char *first = identify(&w, &c);
    assert_non_null(strstr(first, "jane |  | dev ops system:authenticated | authentication.kubernetes.io/"
                                  "credential-id=X509SHA256="));
    assert_int_equal(strlen(strchr(first, '=') + 1), strlen("X509SHA256=") + 64);
    assert_string_equal(identify(&w, &c), first); /* now from the cache */
    struct authn_credentials again = show(&w, &jane);
    assert_string_not_equal(identify(&w, &again), first); /* another certificate, another id */
    close_world(&w);
}

/* Connections outlive certificates: a request after its end is refused, the cache notwithstanding. */
static void test_certificate_expires(void **state)
{
    struct world w;
    open_world(&w);
    struct authn_credentials c = show(&w, &jane);
    assert_non_null(strstr(identify(&w, &c), "jane"));
    clock_fake_advance(&w.clock, 1000 * INT64_C(1000000000));
    assert_non_null(strstr(identify(&w, &c), "jane"));
    clock_fake_advance(&w.clock, INT64_C(1000000000));
    assert_string_equal(identify(&w, &c), "! client certificate has expired");
    close_world(&w);
}

static void test_bad_certificates(void **state)
{
    static const struct pki_subject server = {PKI_FOR_SERVER, S_INIT("eve"), {0}, {0}, NOW - 100, NOW + 1000};
    struct world w;
    open_world(&w);
    struct authn_credentials c = {.has_certificate = true, .is_certificate_bad = true};
    assert_string_equal(identify(&w, &c), "! client certificate has expired or is not of this server's CA");
    c = show(&w, &server);
    assert_string_equal(identify(&w, &c), "! client certificate is not meant for clients");
    c = show(&w, &jane);
    c.certificate_der.n--;
    assert_string_equal(identify(&w, &c), "! client certificate cannot be read");
    c.certificate_der = str_fmt(&w.arena, "%.*s%s", 0, "", "0");
    assert_string_equal(identify(&w, &c), "! client certificate cannot be read");
    c.certificate_der = (str){0};
    assert_string_equal(identify(&w, &c), "! client certificate cannot be read");
    close_world(&w);
}

/* No common name at all; then several, of which the last counts, with groups between. */
static void test_names_in_certificates(void **state)
{
    struct world w;
    struct err err;
    EVP_PKEY *key PEM_KEY_SCOPE = NULL;
    open_world(&w);
    assert_int_equal(pki_make_key(&key, &err), 0);
    for (int round = 0; round < 2; round++) {
        X509 *x PEM_CERTIFICATE_SCOPE = X509_new();
        X509_NAME *name = X509_get_subject_name(x);
        unsigned char *der = NULL;
        X509_set_version(x, X509_VERSION_3);
        X509_gmtime_adj(X509_getm_notBefore(x), 0);
        X509_gmtime_adj(X509_getm_notAfter(x), 100);
        X509_set_pubkey(x, key);
        X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"a", 1, -1, 0);
        X509_NAME_add_entry_by_txt(name, "OU", MBSTRING_UTF8, (const unsigned char *)"unit", 4, -1, 0);
        if (round) {
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)"first", 5, -1, 0);
            X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"system:authenticated", 20, -1,
                                       0);
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)"l\xc3\xa4st", 5, -1, 0);
        }
        assert_true(X509_sign(x, w.ca_key, EVP_sha256()) > 0);
        int n = i2d_X509(x, &der);
        struct authn_credentials c = {.has_certificate = true, .certificate_not_after = NOW + 100};
        c.certificate_der = str_dup(&w.arena, (str){(char *)der, (size_t)n});
        OPENSSL_free(der);
        if (round)
            assert_non_null(strstr(identify(&w, &c), "l\xc3\xa4st |  | a system:authenticated | auth"));
        else
            assert_string_equal(identify(&w, &c), "! client certificate names no user");
    }
    close_world(&w);
}

/* As the server of Kubernetes does it: a good certificate wins over any header, a good token makes up for a bad certificate. */
static void test_both(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str token = str_fmt(&w.arena, "Bearer %.*s", STR(sign(&w, &claims)));
    struct authn_credentials c = show(&w, &jane);
    c.authorization = token;
    assert_non_null(strstr(identify(&w, &c), "jane |"));
    c.authorization = S("Bearer nonsense");
    assert_non_null(strstr(identify(&w, &c), "jane |"));
    c = (struct authn_credentials){.has_certificate = true, .is_certificate_bad = true, .authorization = token};
    assert_non_null(strstr(identify(&w, &c), "system:serviceaccount:default:x |"));
    c.authorization = S("Bearer nonsense");
    assert_string_equal(identify(&w, &c), "! invalid bearer token");
    c.authorization = S("Basic nonsense"); /* no credential that we know: the bad certificate is what there is */
    assert_string_equal(identify(&w, &c), "! client certificate has expired or is not of this server's CA");
    close_world(&w);
}

/* ---- Tokens. ---- */

static const char account_x[] = "system:serviceaccount:default:x | uid-x | system:serviceaccounts "
                                "system:serviceaccounts:default system:authenticated | "
                                "authentication.kubernetes.io/credential-id=JTI=the-jti";

static void test_token(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str token = sign(&w, &claims);
    assert_string_equal(identify_token(&w, token), account_x);
    assert_string_equal(identify_header(&w, str_cstr(&w.arena, str_fmt(&w.arena, " bEARER %.*s ", STR(token)))),
                        account_x);
    assert_string_equal(identify_header(&w, str_cstr(&w.arena, str_fmt(&w.arena, "Bearer %.*s more", STR(token)))),
                        account_x);
    assert_string_equal(identify_header(&w, "Bearer x"), "! invalid bearer token");
    assert_string_equal(identify_header(&w, "Bearer a.b.c"), "! invalid bearer token");
    assert_int_equal(w.questions, 3);
    close_world(&w);
}

/* Each is asked first with a fresh cache, then with one that knows the token: both must see the change. */
static void test_account_goes(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str token = sign(&w, &claims);
    assert_string_equal(identify_token(&w, token), account_x);
    w.objects[0].kind = NULL;
    assert_string_equal(identify_token(&w, token), "! serviceaccounts \"x\" not found");
    w.objects[0].kind = "ServiceAccount";
    w.objects[0].uid = "uid-y"; /* deleted and made again */
    assert_string_equal(identify_token(&w, token), "! service account UID (uid-y) does not match claim (uid-x)");
    w.objects[0].uid = "uid-x";
    w.objects[0].is_deleting = true;
    w.objects[0].deleted = NOW - 60;
    assert_string_equal(identify_token(&w, token), account_x); /* a minute of grace */
    w.objects[0].deleted = NOW - 61;
    assert_string_equal(identify_token(&w, token), "! service account default/x has been deleted");
    close_world(&w);
}

static void test_token_expires(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str token = sign(&w, &claims);
    assert_string_equal(identify_token(&w, token), account_x);
    clock_fake_advance(&w.clock, 3661 * INT64_C(1000000000));
    assert_string_equal(identify_token(&w, token), "! service account token has expired");
    clock_fake_advance(&w.clock, -7322 * INT64_C(1000000000));
    assert_string_equal(identify_token(&w, token), "! service account token is not valid yet");
    close_world(&w);
}

static void bind(struct world *w, const char *kind, const char *namespace, const char *uid)
{
    w->objects[1].kind = kind;
    w->objects[1].namespace = namespace;
    w->objects[1].name = "o";
    w->objects[1].uid = uid;
    w->objects[1].is_deleting = false;
}

/* Bound to a Secret, a Pod or a Node, which must be there, the same one, and not long deleted. */
static void test_bound(void **state)
{
    static const struct {
        const char *kind, *namespace, *mismatch, *extra;
    } rows[] = {
        {"Secret", "default", "! secret UID (o-2) does not match service account secret ref claim (o-1)", ""},
        {"Pod", "default", "! pod UID (o-2) does not match service account pod ref claim (o-1)",
         " authentication.kubernetes.io/pod-name=o authentication.kubernetes.io/pod-uid=o-1"},
        {"Node", "", "! node UID (o-2) does not match service account node ref claim (o-1)",
         " authentication.kubernetes.io/node-name=o authentication.kubernetes.io/node-uid=o-1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct world w;
        open_world(&w);
        struct token_claims claims = some_claims();
        struct token_ref ref = {S("o"), S("o-1")};
        *(i == 0 ? &claims.secret : i == 1 ? &claims.pod : &claims.node) = ref;
        str token = sign(&w, &claims);
        assert_string_equal(identify_token(&w, token), "! service account token has been invalidated");
        bind(&w, rows[i].kind, rows[i].namespace, "o-1");
        str want = str_fmt(&w.arena, "%s%s", account_x, rows[i].extra);
        assert_string_equal(identify_token(&w, token), str_cstr(&w.arena, want));
        bind(&w, rows[i].kind, rows[i].namespace, "o-2");
        assert_string_equal(identify_token(&w, token), rows[i].mismatch);
        bind(&w, rows[i].kind, rows[i].namespace, "o-1");
        w.objects[1].is_deleting = true;
        w.objects[1].deleted = NOW - 61;
        assert_string_equal(identify_token(&w, token), "! service account token has been invalidated");
        close_world(&w);
    }
}

/* The node of a pod is told, and not asked about. */
static void test_node_of_pod(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    claims.pod = (struct token_ref){S("o"), S("o-1")};
    claims.node = (struct token_ref){S("n"), S("n-1")};
    bind(&w, "Pod", "default", "o-1");
    str want = str_fmt(&w.arena,
                       "%s authentication.kubernetes.io/node-name=n authentication.kubernetes.io/node-uid=n-1 "
                       "authentication.kubernetes.io/pod-name=o authentication.kubernetes.io/pod-uid=o-1",
                       account_x);
    assert_string_equal(identify_token(&w, sign(&w, &claims)), str_cstr(&w.arena, want));
    close_world(&w);
}

/* ---- Tokens that were requested with tokens. ---- */

static void put_account(struct world *w, size_t i, const char *name, const char *uid)
{
    w->objects[i].kind = "ServiceAccount";
    w->objects[i].namespace = "default";
    w->objects[i].name = name;
    w->objects[i].uid = uid;
}

/* A token of the account for who shows `token`, or the refusal. */
static const char *request(struct world *w, str token, const char *name, const char *uid, str *ret)
{
    struct token_claims claims = some_claims();
    struct err err = {0};
    claims.account = (struct token_ref){str_of(name), str_of(uid)};
    int code = authn_trace_request(w->authn, &w->arena, token, &claims, &err);
    if (code == 0)
        *ret = sign(w, &claims);
    else
        assert_int_equal(code, ERR_FORBIDDEN);
    return str_cstr(&w->arena, str_fmt(&w->arena, "%s%zu", code < 0 ? err.msg : "", claims.n_requests));
}

static const char *user_of(struct world *w, str token)
{
    const char *who = identify_token(w, token);
    return who[0] == '!' ? who : str_cstr(&w->arena, str_upto(str_of(who), strcspn(who, " ")));
}

#define USER(name) "system:serviceaccount:default:" name

/* A token that renewed itself ends with the permission to do so, at once. The one that came from elsewhere does not. */
static void test_renewal(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str first = sign(&w, &claims), second = {0}, third = {0};
    assert_string_equal(request(&w, first, "x", "uid-x", &second),
                        "serviceaccounts \"x\" is forbidden: User \"" USER(
                            "x") "\" cannot create resource "
                                 "\"serviceaccounts/token\" in API group \"\" in the namespace \"default\"0");
    w.granted[0] = "default:x default:x";
    assert_string_equal(request(&w, first, "x", "uid-x", &second), "1");
    assert_string_equal(request(&w, second, "x", "uid-x", &third), "1"); /* renewals do not add up */
    w.questions = 0;
    assert_string_equal(user_of(&w, third), USER("x"));
    assert_int_equal(w.questions, 1); /* its account was looked for once */
    w.granted[0] = NULL;
    assert_string_equal(user_of(&w, first), USER("x"));
    assert_string_equal(user_of(&w, second), "! " USER("x") " may no longer request tokens of " USER("x"));
    assert_string_equal(user_of(&w, third), "! " USER("x") " may no longer request tokens of " USER("x"));
    w.granted[0] = "default:x default:x";
    assert_string_equal(user_of(&w, third), USER("x"));
    w.objects[0].uid = "uid-y"; /* another account of that name */
    assert_string_equal(user_of(&w, third), "! service account UID (uid-y) does not match claim (uid-x)");
    close_world(&w);
}

/* x gets a token of y, with it one of z: what x may no longer do ends both, and so does the end of an account on the way. */
static void test_chain_of_tokens(void **state)
{
    struct world w;
    open_world(&w);
    put_account(&w, 1, "y", "uid-y");
    put_account(&w, 2, "z", "uid-z");
    w.granted[0] = "default:x default:y";
    w.granted[1] = "default:y default:z";
    struct token_claims claims = some_claims();
    str x = sign(&w, &claims), y = {0}, z = {0}, again = {0};
    assert_string_equal(request(&w, x, "y", "uid-y", &y), "1");
    assert_string_equal(request(&w, y, "z", "uid-z", &z), "2");
    assert_string_equal(user_of(&w, y), USER("y"));
    assert_string_equal(user_of(&w, z), USER("z"));
    w.granted[2] = "default:z default:y"; /* in a circle: nothing is added that is there already */
    assert_string_equal(request(&w, z, "y", "uid-y", &again), "3");
    assert_string_equal(request(&w, again, "z", "uid-z", &again), "3");
    assert_string_equal(user_of(&w, again), USER("z"));
    w.granted[0] = NULL;
    assert_string_equal(user_of(&w, y), "! " USER("x") " may no longer request tokens of " USER("y"));
    assert_string_equal(user_of(&w, z), "! " USER("x") " may no longer request tokens of " USER("y"));
    assert_string_equal(user_of(&w, again), "! " USER("x") " may no longer request tokens of " USER("y"));
    w.granted[0] = "default:x default:y";
    assert_string_equal(user_of(&w, z), USER("z"));
    w.objects[1].uid = "uid-2";
    assert_string_equal(user_of(&w, z),
                        "! requester of the service account token: service account UID (uid-2) does not match claim "
                        "(uid-y)");
    w.objects[1].kind = NULL;
    assert_string_equal(user_of(&w, z), "! requester of the service account token: serviceaccounts \"y\" not found");
    close_world(&w);
}

static void test_long_chain(void **state)
{
    struct world w;
    open_world(&w);
    w.granted[0] = "default:x default:x";
    struct token_request requests[TOKEN_REQUESTS_MAX];
    struct token_claims claims = some_claims();
    for (size_t i = 0; i < TOKEN_REQUESTS_MAX; i++)
        requests[i] = (struct token_request){str_fmt(&w.arena, USER("a%zu"), i), S("u"), S(USER("x"))};
    claims.requests = requests;
    claims.n_requests = TOKEN_REQUESTS_MAX;
    str token = sign(&w, &claims), next = {0};
    assert_non_null(strstr(request(&w, token, "x", "uid-x", &next), "was obtained through 8 other accounts"));
    claims.n_requests--;
    assert_string_equal(request(&w, sign(&w, &claims), "x", "uid-x", &next), "8");
    close_world(&w);
}

/* ---- Audiences and reviews. ---- */

static const char *review(struct world *w, str token, struct strs audiences)
{
    struct authz_identity who;
    struct strs fit;
    struct err err = {0};
    struct buf b = {.arena = &w->arena};
    if (authn_review(w->authn, &w->arena, token, audiences, &who, &fit, &err) < 0)
        return str_cstr(&w->arena, str_fmt(&w->arena, "! %s", err.msg));
    buf_fmt(&b, "%.*s", STR(who.user));
    strs_each(fit, it) buf_fmt(&b, " %.*s", STR(*it));
    return str_cstr(&w->arena, buf_str(&b));
}

/* The texts are those of TokenReviews of the server of Kubernetes 1.32.4. */
static void test_audiences(void **state)
{
    static const str foo[] = {S_INIT("foo"), S_INIT("baz")}, asked[] = {S_INIT("bar"), S_INIT("baz"), S_INIT("foo")};
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str ours = sign(&w, &claims);
    claims.audiences = (struct strs){foo, 2};
    str theirs = sign(&w, &claims);
    assert_string_equal(review(&w, ours, (struct strs){0}),
                        "system:serviceaccount:default:x https://kubernetes.default.svc.cluster.local");
    assert_string_equal(review(&w, theirs, (struct strs){asked, 3}), "system:serviceaccount:default:x baz foo");
    assert_string_equal(
        review(&w, theirs, (struct strs){asked, 1}),
        "! [invalid bearer token, token audiences [\"foo\" \"baz\"] is invalid for the target audiences "
        "[\"bar\"]]");
    assert_string_equal(
        review(&w, ours, (struct strs){asked, 3}),
        "! [invalid bearer token, token audiences [\"https://kubernetes.default.svc.cluster.local\"] is "
        "invalid for the target audiences [\"bar\" \"baz\" \"foo\"]]");
    assert_string_equal(identify_token(&w, theirs),
                        "! token audiences [\"foo\" \"baz\"] is invalid for the target audiences "
                        "[\"https://kubernetes.default.svc.cluster.local\"]");
    close_world(&w);
}

static void test_review_errors(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    str token = sign(&w, &claims);
    char *damaged = str_cstr(&w.arena, token);
    damaged[token.n - 10] = damaged[token.n - 10] == 'A' ? 'B' : 'A';
    assert_string_equal(review(&w, S("nonsense"), (struct strs){0}), "! invalid bearer token");
    assert_string_equal(review(&w, S(""), (struct strs){0}), "! invalid bearer token");
    assert_string_equal(review(&w, str_of(damaged), (struct strs){0}),
                        "! [invalid bearer token, square/go-jose: error in cryptographic primitive]");
    w.objects[0].kind = NULL;
    assert_string_equal(review(&w, token, (struct strs){0}),
                        "! [invalid bearer token, serviceaccounts \"x\" not found]");
    close_world(&w);
}

/* ---- Bounds. ---- */

/* More tokens than the cache has room for, and one too large for it: all of them stay good. */
static void test_many_tokens(void **state)
{
    struct world w;
    open_world(&w);
    struct token_claims claims = some_claims();
    static str tokens[MANY];
    for (size_t i = 0; i < MANY; i++) {
        claims.id = str_fmt(&w.arena, "%zu", i);
        tokens[i] = sign(&w, &claims);
    }
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < MANY; i++) {
            const char *id = strstr(identify_token(&w, tokens[i]), "JTI="); /* its own, not that of a neighbour */
            assert_true(id && str_eq(str_of(id + 4), str_fmt(&w.arena, "%zu", i)));
        }
    claims.id = S("the-jti");
    char *long_text = arena_alloc(&w.arena, 8000);
    memset(long_text, 'a', 8000);
    str audiences[] = {TOKEN_ISSUER, {long_text, 8000}};
    claims.audiences = (struct strs){audiences, 2};
    str large = sign(&w, &claims);
    assert_true(large.n > 8000);
    assert_string_equal(identify_token(&w, large), account_x);
    assert_string_equal(identify_token(&w, large), account_x);
    close_world(&w);
}

static void test_accounts(void **state)
{
    static const char *const no[] = {
        "system:serviceaccount:",      "system:serviceaccount:a",    "system:serviceaccount:a:",
        "system:serviceaccount::b",    "system:serviceaccount:A:b",  "system:serviceaccount:a:b:c",
        "system:serviceaccount:a.b:c", "system:serviceaccounts:a:b", "bob"};
    struct arena a ARENA_SCOPE = {0};
    str namespace, name;
    assert_true(authn_account_split(S("system:serviceaccount:a-1:b.c"), &namespace, &name));
    assert_true(str_eq(namespace, S("a-1")) && str_eq(name, S("b.c")));
    assert_true(str_eq(authn_account_user(&a, S("a-1"), S("b.c")), S("system:serviceaccount:a-1:b.c")));
    for (size_t i = 0; i < COUNT(no); i++)
        assert_false(authn_account_split(str_of(no[i]), &namespace, &name));
}

/* Case files hold text only. */
static void test_impersonation_is_text(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct impersonate_header headers[] = {{S("Accept"), S("\xff")}, {S("Impersonate-User"), S("b\xff")}};
    struct impersonation as;
    struct err err = {0};
    assert_int_equal(impersonate_read(&a, headers, 2, &as, &err), ERR_BAD_REQUEST);
    headers[1].value.n = 1;
    assert_int_equal(impersonate_read(&a, headers, 2, &as, &err), 0);
    assert_true(str_eq(as.who.user, S("b")));
    assert_true(impersonate_is_header(S("impersonate-extra-x")) && !impersonate_is_header(S("Accept")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_anonymous),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_certificate),
        cmocka_unit_test(test_certificate_expires),
        cmocka_unit_test(test_bad_certificates),
        cmocka_unit_test(test_names_in_certificates),
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_account_goes),
        cmocka_unit_test(test_token_expires),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_node_of_pod),
        cmocka_unit_test(test_renewal),
        cmocka_unit_test(test_chain_of_tokens),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_audiences),
        cmocka_unit_test(test_review_errors),
        cmocka_unit_test(test_many_tokens),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_impersonation_is_text),
    };
    return cmocka_run_group_tests_name("authn", tests, NULL, NULL);
}
