/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/authn.h"
#include "authn/authn_internal.h"
#include "authn/authn_token.h"
#include "authn/pki_issue.h"
#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "object/name.h"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <strings.h>

/* Whom a client certificate names: the common name is the user, organisations are groups. */

/* ServiceAccounts as users: names and groups. */

#define PREFIX S("system:serviceaccount:")

str authn_account_user(struct arena *a, str namespace, str name)
{
    return str_fmt(a, "system:serviceaccount:%.*s:%.*s", STR(namespace), STR(name));
}

bool authn_account_split(str user, str *ret_namespace, str *ret_name)
{
    str namespace, name;
    if (!str_has_prefix(user, PREFIX) || !str_cut(str_from(user, PREFIX.n), ':', &namespace, &name) ||
        !name_is(NAME_DNS_LABEL, namespace) || !name_is(NAME_DNS_SUBDOMAIN, name))
        return false;
    *ret_namespace = namespace;
    *ret_name = name;
    return true;
}

void authn_account_groups(struct arena *a, str namespace, str out[static 2])
{
    out[0] = S("system:serviceaccounts");
    out[1] = str_fmt(a, "system:serviceaccounts:%.*s", STR(namespace));
}

struct entry {
    struct arena arena;
    str key;
    const void *value; /* NULL: free */
    uint64_t used;
};

struct authn_cache {
    uint64_t now; /* counts uses */
    struct entry entries[CACHE_SETS][CACHE_WAYS];
};

static struct authn_cache *authn_cache_new(void)
{
    struct authn_cache *c = xcalloc(1, sizeof *c);
    return c;
}

static void authn_cache_free(struct authn_cache *c)
{
    for (size_t i = 0; c && i < (size_t)CACHE_SETS * CACHE_WAYS; i++)
        arena_done(&c->entries[i / CACHE_WAYS][i % CACHE_WAYS].arena);
    free(c);
}

static struct entry *set_of(struct authn_cache *c, str key)
{
    return c->entries[hash_str(key) % CACHE_SETS];
}

/* What was put for this key, borrowed until the next authn_cache_put, or NULL. */
static const void *authn_cache_get(struct authn_cache *c, str key)
{
    struct entry *set = set_of(c, key);
    for (size_t i = 0; i < CACHE_WAYS; i++)
        if (set[i].value && str_eq(set[i].key, key)) {
            set[i].used = ++c->now;
            return set[i].value;
        }
    return NULL;
}

/* Takes the arena, in which key and value live, and leaves an empty one. */
static void authn_cache_put(struct authn_cache *c, struct arena *owner, str key, const void *value)
{
    struct entry *set = set_of(c, key), *place = &set[0];
    for (size_t i = 0; i < CACHE_WAYS; i++) {
        if (set[i].value && str_eq(set[i].key, key)) {
            place = &set[i];
            break;
        }
        if (set[i].used < place->used)
            place = &set[i];
    }
    arena_done(&place->arena);
    *place = (struct entry){.arena = *owner, .key = key, .value = value, .used = ++c->now};
    *owner = (struct arena){0};
}

enum { DER_MAX = 64 * 1024 };

typedef VEC(str) str_vec;

static bool read_text(struct arena *a, const X509_NAME_ENTRY *entry, str *ret)
{
    unsigned char *p = NULL;
    int n = ASN1_STRING_to_UTF8(&p, X509_NAME_ENTRY_get_data(entry));
    bool is_good = n >= 0 && str_is_utf8((str){(char *)p, (size_t)n});
    if (is_good)
        *ret = str_dup(a, (str){(char *)p, (size_t)n});
    OPENSSL_free(p);
    return is_good;
}

/* Of several common names the last one counts, as it does in Go. */
static bool read_subject(struct arena *a, const X509_NAME *subject, str *ret_user, str_vec *groups)
{
    for (int i = 0; i < X509_NAME_entry_count(subject); i++) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
        int what = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        str text;
        if (what != NID_commonName && what != NID_organizationName)
            continue;
        if (!read_text(a, entry, &text))
            return false;
        if (what == NID_commonName)
            *ret_user = text;
        else
            *vec_push(a, groups) = text;
    }
    return true;
}

static void add_credential_id(struct arena *a, str der, struct authz_identity *who)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf id = {.arena = a};
    SHA256((const unsigned char *)der.p, der.n, digest);
    buf_add_str(&id, S("X509SHA256="));
    for (size_t i = 0; i < sizeof digest; i++)
        buf_fmt(&id, "%02x", digest[i]);
    str *value = ARENA_NEW(a, str);
    struct authz_extra *extra = ARENA_NEW(a, struct authz_extra);
    *value = buf_str(&id);
    *extra = (struct authz_extra){S("authentication.kubernetes.io/credential-id"), {value, 1}};
    who->extra = extra;
    who->n_extra = 1;
}

static int certificate_identity(struct arena *a, str der, struct authz_identity *ret, struct err *err)
{
    const unsigned char *at = (const unsigned char *)der.p;
    X509 *certificate PEM_CERTIFICATE_SCOPE = der.n && der.n <= DER_MAX ? d2i_X509(NULL, &at, (long)der.n) : NULL;
    struct authz_identity who = {0};
    str_vec groups = {0};
    bool is_whole = certificate && at == (const unsigned char *)der.p + der.n;
    bool is_client = is_whole && X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1;
    bool is_read = is_client && read_subject(a, X509_get_subject_name(certificate), &who.user, &groups);
    ERR_clear_error();
    if (!is_whole)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate cannot be read");
    if (!is_client)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate is not meant for clients");
    if (!is_read || who.user.n == 0)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate names no user");
    who.groups = (struct strs){groups.p, groups.n};
    add_credential_id(a, der, &who);
    *ret = who;
    return 0;
}

enum {
    CACHED_BYTES_MAX = 4096, /* larger credentials are looked at anew each time */
    CLAIMS_BYTES = 640,      /* that claims of a token usually take, with their key */
    EXTRAS_MAX = 5,
};

struct authn {
    struct authn_options options;
    struct authn_cache *certificates; /* DER → struct authz_identity, without system:authenticated */
    struct authn_cache *tokens;       /* SHA-256 → struct token_claims; only signature and shape are vouched for */
};

struct authn *authn_new(const struct authn_options *options)
{
    struct authn *a = xcalloc(1, sizeof *a);
    a->options = *options;
    a->certificates = authn_cache_new();
    a->tokens = authn_cache_new();
    return a;
}

void authn_free(struct authn *a)
{
    if (a == NULL)
        return;
    authn_cache_free(a->certificates);
    authn_cache_free(a->tokens);
    free(a);
}

static int64_t now_seconds(const struct authn *a)
{
    return clock_seconds(&a->options.clock);
}

/* ---- Identities. ---- */

static struct strs dup_texts(struct arena *a, struct strs list, size_t room)
{
    str *copy = ARENA_ARRAY(a, str, list.n + room);
    for (size_t i = 0; i < list.n; i++)
        copy[i] = str_dup(a, list.p[i]);
    return (struct strs){copy, list.n};
}

/* A copy that may outlive the cache. Everybody who is somebody becomes a member of system:authenticated. */
static struct authz_identity dup_authenticated(struct arena *a, const struct authz_identity *who)
{
    struct authz_identity copy = {.user = str_dup(a, who->user), .uid = str_dup(a, who->uid), .n_extra = who->n_extra};
    struct authz_extra *extra = ARENA_ARRAY(a, struct authz_extra, who->n_extra);
    copy.groups = dup_texts(a, who->groups, 1);
    for (size_t i = 0; i < who->n_extra; i++)
        extra[i] = (struct authz_extra){str_dup(a, who->extra[i].key), dup_texts(a, who->extra[i].values, 0)};
    copy.extra = extra;
    if (!str_eq(who->user, AUTHN_ANONYMOUS) && !strs_have(who->groups, AUTHN_AUTHENTICATED) &&
        !strs_have(who->groups, AUTHN_UNAUTHENTICATED))
        ((str *)copy.groups.p)[copy.groups.n++] = AUTHN_AUTHENTICATED;
    return copy;
}

static struct authz_identity anonymous(void)
{
    static const str groups[] = {S_INIT("system:unauthenticated")};
    return (struct authz_identity){.user = AUTHN_ANONYMOUS, .groups = {groups, 1}};
}

/* ---- Certificates. ---- */

static int identify_certificate(struct authn *a, struct arena *arena, const struct authn_credentials *c,
                                struct authz_identity *ret, struct err *err)
{
    struct arena own ARENA_SCOPE = {0};
    if (c->is_certificate_bad)
        return err_set(err, ERR_UNAUTHORIZED, "client certificate has expired or is not of this server's CA");
    if (c->certificate_not_after < now_seconds(a))
        return err_set(err, ERR_UNAUTHORIZED, "client certificate has expired");
    const struct authz_identity *known = authn_cache_get(a->certificates, c->certificate_der);
    if (known) {
        *ret = dup_authenticated(arena, known);
        return 0;
    }
    struct authz_identity *who = ARENA_NEW(&own, struct authz_identity);
    int code = certificate_identity(&own, c->certificate_der, who, err);
    if (code < 0)
        return code;
    *ret = dup_authenticated(arena, who);
    if (c->certificate_der.n <= CACHED_BYTES_MAX)
        authn_cache_put(a->certificates, &own, str_dup(&own, c->certificate_der), who);
    return 0;
}

/* ---- Tokens. ---- */

static struct token_ref dup_ref(struct arena *a, struct token_ref ref)
{
    return (struct token_ref){.name = str_dup(a, ref.name), .uid = str_dup(a, ref.uid)};
}

/* With room for more. */
static struct token_request *dup_requests(struct arena *a, const struct token_claims *claims, size_t room)
{
    struct token_request *dup = ARENA_ARRAY(a, struct token_request, claims->n_requests + room);
    for (size_t i = 0; i < claims->n_requests; i++) {
        const struct token_request *r = &claims->requests[i];
        dup[i] = (struct token_request){str_dup(a, r->by), str_dup(a, r->uid), str_dup(a, r->to)};
    }
    return dup;
}

/* Without what was needed to read them: there may be thousands. */
static struct token_claims *dup_claims(struct arena *a, const struct token_claims *claims)
{
    struct token_claims *dup = ARENA_NEW(a, struct token_claims);
    str *audiences = ARENA_ARRAY(a, str, claims->audiences.n);
    *dup = *claims;
    for (size_t i = 0; i < claims->audiences.n; i++)
        audiences[i] = str_dup(a, claims->audiences.p[i]);
    dup->audiences.p = audiences;
    dup->id = str_dup(a, claims->id);
    dup->namespace = str_dup(a, claims->namespace);
    dup->account = dup_ref(a, claims->account);
    dup->secret = dup_ref(a, claims->secret);
    dup->pod = dup_ref(a, claims->pod);
    dup->node = dup_ref(a, claims->node);
    dup->requests = dup_requests(a, claims, 0);
    return dup;
}

/* Claims of a token that we signed, in the arena or borrowed from the cache. */
static int verify_token(struct authn *a, struct arena *arena, str token, struct token_claims *ret, struct err *err)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct arena own ARENA_SCOPE = {0};
    if (token.n > CACHED_BYTES_MAX)
        return token_verify(a->options.signer, arena, token, ret, err);
    SHA256((const unsigned char *)token.p, token.n, digest);
    str key = {(const char *)digest, sizeof digest};
    const struct token_claims *known = authn_cache_get(a->tokens, key);
    if (known == NULL) {
        struct token_claims claims;
        int code = token_verify(a->options.signer, arena, token, &claims, err);
        if (code < 0)
            return code;
        arena_begin(&own, CLAIMS_BYTES);
        known = dup_claims(&own, &claims);
        authn_cache_put(a->tokens, &own, str_dup(&own, key), known);
    }
    *ret = *known;
    return 0;
}

static void add_audiences(struct buf *b, struct strs list)
{
    buf_add_char(b, '[');
    for (size_t i = 0; i < list.n && b->n < sizeof((struct err *)0)->msg; i++) {
        if (i)
            buf_add_char(b, ' ');
        buf_add_quoted(b, list.p[i]);
    }
    buf_add_char(b, ']');
}

/* Those asked for that the token is meant for, in the order of the question. */
static int match_audiences(struct arena *a, struct strs meant, struct strs asked, struct strs *ret, struct err *err)
{
    struct map known = {0};
    VEC(str) fit = {0};
    strs_each(meant, it) map_set(&known, *it, (void *)it);
    strs_each(asked, it)
    {
        if (map_get(&known, *it))
            *vec_push(a, &fit) = str_dup(a, *it);
    }
    map_done(&known);
    *ret = (struct strs){fit.p, fit.n};
    if (fit.n)
        return 0;
    struct buf is = {.arena = a}, should = {.arena = a};
    add_audiences(&is, meant);
    add_audiences(&should, asked);
    return err_set(err, ERR_UNAUTHORIZED, "token audiences %.*s is invalid for the target audiences %.*s",
                   STR(buf_str(&is)), STR(buf_str(&should)));
}

static bool is_deleted(const struct authn *a, const struct authn_object *o)
{
    return o->is_deleting && o->deleted < now_seconds(a) - TOKEN_LEEWAY;
}

static int check_account(const struct authn *a, struct arena *arena, str namespace, const struct token_ref *account,
                         struct err *err)
{
    struct authn_object o = {0};
    if (!a->options.find(a->options.ctx, arena, S("ServiceAccount"), namespace, account->name, &o))
        return err_set(err, ERR_UNAUTHORIZED, "serviceaccounts \"%.*s\" not found", STR(account->name));
    if (!str_eq(o.uid, account->uid))
        return err_set(err, ERR_UNAUTHORIZED, "service account UID (%.*s) does not match claim (%.*s)", STR(o.uid),
                       STR(account->uid));
    if (is_deleted(a, &o))
        return err_set(err, ERR_UNAUTHORIZED, "service account %.*s/%.*s has been deleted", STR(namespace),
                       STR(account->name));
    return 0;
}

/* An object that the token is bound to: the token is good no longer than it. */
static int check_bound(const struct authn *a, struct arena *arena, str kind, str namespace, const struct token_ref *ref,
                       struct err *err)
{
    struct authn_object o = {0};
    str lower = str_lower(arena, kind);
    if (!a->options.find(a->options.ctx, arena, kind, namespace, ref->name, &o))
        return err_set(err, ERR_UNAUTHORIZED, "service account token has been invalidated");
    if (!str_eq(o.uid, ref->uid))
        return err_set(err, ERR_UNAUTHORIZED, "%.*s UID (%.*s) does not match service account %.*s ref claim (%.*s)",
                       STR(lower), STR(o.uid), STR(lower), STR(ref->uid));
    if (is_deleted(a, &o))
        return err_set(err, ERR_UNAUTHORIZED, "service account token has been invalidated");
    return 0;
}

/* ---- Requests for tokens that were made with tokens. ---- */

static bool can_request(const struct authn *a, struct arena *arena, const struct token_request *r)
{
    str groups[3], by_namespace, by_name, namespace, name;
    if (!a->options.can_request || !authn_account_split(r->by, &by_namespace, &by_name) ||
        !authn_account_split(r->to, &namespace, &name))
        return false;
    authn_account_groups(arena, by_namespace, groups);
    groups[2] = AUTHN_AUTHENTICATED;
    struct authz_identity who = {.user = r->by, .uid = r->uid, .groups = {groups, 3}};
    return a->options.can_request(a->options.ctx, &who, namespace, name);
}

/* The account of the token itself was checked before: a token that renews itself costs no other lookup. */
static int check_request(const struct authn *a, struct arena *arena, const struct token_claims *c,
                         const struct token_request *r, struct err *err)
{
    struct token_ref by = {.uid = r->uid};
    str namespace;
    if (!authn_account_split(r->by, &namespace, &by.name))
        return err_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
    bool is_checked =
        str_eq(namespace, c->namespace) && str_eq(by.name, c->account.name) && str_eq(by.uid, c->account.uid);
    if (!is_checked && check_account(a, arena, namespace, &by, err) < 0)
        return err_wrap(err, "requester of the service account token");
    if (!can_request(a, arena, r))
        return err_set(err, ERR_UNAUTHORIZED, "%.*s may no longer request tokens of %.*s", STR(r->by), STR(r->to));
    return 0;
}

static bool has_request(const struct token_claims *c, const struct token_request *r)
{
    for (size_t i = 0; i < c->n_requests; i++)
        if (str_eq(c->requests[i].by, r->by) && str_eq(c->requests[i].uid, r->uid) && str_eq(c->requests[i].to, r->to))
            return true;
    return false;
}

int authn_trace_request(struct authn *a, struct arena *arena, str token, struct token_claims *claims, struct err *err)
{
    struct token_claims own;
    int code = verify_token(a, arena, token, &own, err);
    if (code < 0)
        return code;
    struct token_request now = {.by = authn_account_user(arena, own.namespace, own.account.name),
                                .uid = str_dup(arena, own.account.uid),
                                .to = authn_account_user(arena, claims->namespace, claims->account.name)};
    if (!can_request(a, arena, &now))
        return err_set(err, ERR_FORBIDDEN,
                       "serviceaccounts \"%.*s\" is forbidden: User \"%.*s\" cannot create resource "
                       "\"serviceaccounts/token\" in API group \"\" in the namespace \"%.*s\"",
                       STR(claims->account.name), STR(now.by), STR(claims->namespace));
    bool is_known = has_request(&own, &now);
    if (!is_known && own.n_requests == TOKEN_REQUESTS_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "serviceaccounts \"%.*s\" is forbidden: the token of the caller was obtained through %d other "
                       "accounts, which is the limit",
                       STR(claims->account.name), TOKEN_REQUESTS_MAX);
    struct token_request *all = dup_requests(arena, &own, 1);
    all[own.n_requests] = now;
    claims->requests = all;
    claims->n_requests = own.n_requests + !is_known;
    return 0;
}

/* Everything that may have changed since the token was signed, asked each time. */
static int check_now(const struct authn *a, struct arena *arena, const struct token_claims *c, struct err *err)
{
    int code = token_check_time(c, now_seconds(a), err);
    if (code == 0)
        code = check_account(a, arena, c->namespace, &c->account, err);
    if (code == 0 && c->secret.name.n)
        code = check_bound(a, arena, S("Secret"), c->namespace, &c->secret, err);
    if (code == 0 && c->pod.name.n)
        code = check_bound(a, arena, S("Pod"), c->namespace, &c->pod, err);
    if (code == 0 && c->node.name.n && c->pod.name.n == 0) /* with a pod, it only tells where that runs */
        code = check_bound(a, arena, S("Node"), (str){0}, &c->node, err);
    for (size_t i = 0; code == 0 && i < c->n_requests; i++)
        code = check_request(a, arena, c, &c->requests[i], err);
    return code;
}

static void add_extra(struct arena *a, struct authz_identity *who, struct authz_extra *extra, str key, str value)
{
    str *list = ARENA_NEW(a, str);
    if (value.n == 0)
        return;
    *list = value;
    extra[who->n_extra++] = (struct authz_extra){key, {list, 1}};
}

static struct authz_identity account_identity(struct arena *a, const struct token_claims *c)
{
    struct authz_identity who = {.uid = c->account.uid};
    struct authz_extra *extra = ARENA_ARRAY(a, struct authz_extra, EXTRAS_MAX);
    str *groups = ARENA_ARRAY(a, str, 2);
    who.user = authn_account_user(a, c->namespace, c->account.name);
    authn_account_groups(a, c->namespace, groups);
    who.groups = (struct strs){groups, 2};
    add_extra(a, &who, extra, S("authentication.kubernetes.io/credential-id"), str_fmt(a, "JTI=%.*s", STR(c->id)));
    add_extra(a, &who, extra, S("authentication.kubernetes.io/node-name"), c->node.name);
    add_extra(a, &who, extra, S("authentication.kubernetes.io/node-uid"), c->node.uid);
    add_extra(a, &who, extra, S("authentication.kubernetes.io/pod-name"), c->pod.name);
    add_extra(a, &who, extra, S("authentication.kubernetes.io/pod-uid"), c->pod.uid);
    who.extra = extra;
    return dup_authenticated(a, &who); /* the claims may be the cache's */
}

/* audiences: whom the token must be meant for; afterwards, those of them that it is meant for. */
static int identify_token(struct authn *a, struct arena *arena, str token, struct strs *audiences,
                          struct authz_identity *ret, struct err *err)
{
    struct token_claims claims;
    str issuer = token_signer_issuer(a->options.signer);
    struct strs asked = audiences->n ? *audiences : (struct strs){&issuer, 1};
    int code = verify_token(a, arena, token, &claims, err);
    if (code == 0)
        code = match_audiences(arena, claims.audiences, asked, audiences, err);
    if (code == 0)
        code = check_now(a, arena, &claims, err);
    if (code == 0)
        *ret = account_identity(arena, &claims);
    return code;
}

/* ---- The Authorization header. ---- */

static bool is_bearer(str scheme)
{
    return scheme.n == 6 && strncasecmp(scheme.p, "bearer", 6) == 0;
}

/* Blank-separated: the scheme, the token, and what is not looked at. False: there is no token, as with other schemes. */
static bool header_token(str authorization, str *ret, bool *ret_has_more)
{
    str scheme, rest, token;
    if (!str_cut(str_trim(authorization), ' ', &scheme, &rest) || !is_bearer(scheme))
        return false;
    *ret_has_more = str_cut(rest, ' ', &token, &rest);
    *ret = token;
    return true;
}

str authn_warning(str authorization)
{
    str token;
    bool has_more;
    if (!header_token(authorization, &token, &has_more) || token.n || !has_more)
        return (str){0};
    return S("the provided Authorization header contains extra space before the bearer token, and is ignored");
}

/* ---- All together. ---- */

int authn_identify(struct authn *a, struct arena *arena, const struct authn_credentials *credentials,
                   struct authz_identity *ret, str *ret_token, struct err *err)
{
    str token;
    bool has_more;
    int code = 0;
    if (credentials->has_certificate) {
        code = identify_certificate(a, arena, credentials, ret, err);
        if (code == 0) {
            *ret_token = (str){0};
            return 0;
        }
    }
    if (header_token(credentials->authorization, &token, &has_more) && token.n) {
        struct strs audiences = {0};
        code = identify_token(a, arena, token, &audiences, ret, err);
        if (code == 0)
            *ret_token = token;
        return code;
    }
    if (code == 0) {
        *ret = anonymous();
        *ret_token = (str){0};
    }
    return code;
}

int authn_review(struct authn *a, struct arena *arena, str token, struct strs audiences, struct authz_identity *ret,
                 struct strs *ret_audiences, struct err *err)
{
    struct err why = {0};
    int code = token.n ? identify_token(a, arena, token, &audiences, ret, &why)
                       : err_set(&why, ERR_UNAUTHORIZED, "invalid bearer token");
    if (code == 0)
        *ret_audiences = audiences;
    else if (str_eq(str_of(why.msg), S("invalid bearer token")))
        err_set(err, why.code, "%s", why.msg);
    else
        err_set(err, why.code, "[invalid bearer token, %s]", why.msg);
    return code;
}
