/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts_internal.h"

#include "base/duration.h"
#include "object/object.h"

#include <stdlib.h>

enum {
    VALID_DEFAULT_S = 8640 * 3600,
    VALID_MIN_S = 600, /* of any API server */
    SLACK_S = 60,
    FRESH_S = 60, /* no other token is asked for sooner, whatever the managed cluster says about the last */
};

static const struct client_resource reviews =
    CLIENT_RESOURCE("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false);

struct account_due {
    uint64_t token, account; /* hashes of it, and of the uid of its account */
    int64_t since, at;       /* monotonic */
    char name[];             /* the key */
};

/* ---- How long. ---- */

static int64_t validity(const struct account_visit *v)
{
    int64_t ns;
    if (!duration_parse(json_text(json_dig(&v->managed, "spec.rotation.validity")), &ns))
        return VALID_DEFAULT_S;
    return ns / NS_PER_S < VALID_MIN_S ? VALID_MIN_S : ns / NS_PER_S;
}

static str subject_of(const struct account_visit *v)
{
    return str_fmt(v->reconcile->arena, "system:serviceaccount:%.*s:%.*s", STR(v->accounts->options.namespace),
                   STR(v->reconcile->name));
}

static int64_t mono(const struct account_visit *v)
{
    return clock_mono_ns(&v->reconcile->clock);
}

void account_forget(struct accounts *x, str name)
{
    pthread_mutex_lock(&x->lock);
    free(map_del(&x->dues, name));
    pthread_mutex_unlock(&x->lock);
}

void account_remember(struct account_visit *v, str token)
{
    str name = v->reconcile->name;
    struct token_claims claims;
    if (!token_read(v->reconcile->arena, token, &claims))
        return;
    struct account_due *due = xcalloc(1, sizeof *due + name.n + 1);
    memcpy(due->name, name.p, name.n);
    due->token = hash_str(token);
    due->account = hash_str(v->account_uid);
    due->since = mono(v);
    due->at = due->since + (token_due(&claims) - claims.issued) * NS_PER_S;
    pthread_mutex_lock(&v->accounts->lock);
    free(map_del(&v->accounts->dues, name));
    map_set(&v->accounts->dues, str_of(due->name), due);
    pthread_mutex_unlock(&v->accounts->lock);
}

/* What is known of it, if this process got it. */
static bool recall(const struct account_visit *v, str token, struct account_due *ret)
{
    pthread_mutex_lock(&v->accounts->lock);
    const struct account_due *due = map_get(&v->accounts->dues, v->reconcile->name);
    bool is_known = due && due->token == hash_str(token);
    if (is_known)
        *ret = (struct account_due){due->token, due->account, due->since, due->at};
    pthread_mutex_unlock(&v->accounts->lock);
    return is_known;
}

bool account_is_fresh(const struct account_visit *v, str token)
{
    struct account_due due;
    return recall(v, token, &due) && due.account == hash_str(v->account_uid) &&
           mono(v) - due.since < FRESH_S * NS_PER_S;
}

/* One that we got lasts by our own clock, and as long as the server would have it; others by the time of day. */
str account_token_fault(struct account_visit *v, str token, int64_t *ret_ns)
{
    const struct clock *clock = &v->reconcile->clock;
    struct token_claims claims;
    struct account_due due;
    if (!token_read(v->reconcile->arena, token, &claims))
        return S("it is no token");
    if (!str_eq(claims.subject, subject_of(v)))
        return S("it is that of another account");
    if (claims.account_uid.n && !str_eq(claims.account_uid, v->account_uid))
        return S("its account was made anew");
    if (recall(v, token, &due)) {
        *ret_ns = due.at - mono(v);
    } else {
        *ret_ns = token_due(&claims) * NS_PER_S - clock_wall_ns(clock);
        if (claims.expires - claims.issued > validity(v) + SLACK_S)
            return S("it lives for longer than it should");
    }
    return *ret_ns <= 0 ? S("four fifths of its life are over") : (str){0};
}

/* ---- Questions to the managed cluster. ---- */

int account_grant(struct account_visit *v, str *ret, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &accounts_local,
                             .namespace = v->accounts->options.namespace,
                             .name = r->name,
                             .subresource = S("token")};
    struct json request = json_obj(), spec = json_obj(), answer;
    struct token_claims claims;
    json_add(r->arena, &spec, S("expirationSeconds"), json_int(validity(v)));
    json_add(r->arena, &request, S("apiVersion"), json_str(S("authentication.k8s.io/v1")));
    json_add(r->arena, &request, S("kind"), json_str(S("TokenRequest")));
    json_add(r->arena, &request, S("spec"), spec);
    int code = client_create(v->accounts->options.managed, r->arena, &ref, &request, NULL, &answer, err);
    if (code < 0)
        return err_wrap(err, "request a token for ServiceAccount %.*s/%.*s", STR(ref.namespace), STR(r->name));
    *ret = json_text(json_dig(&answer, "status.token"));
    if (!token_read(r->arena, *ret, &claims) || !str_eq(claims.subject, subject_of(v)))
        return err_set(err, ERR_IO, "the managed cluster answered a request for a token with something else");
    return 0;
}

int account_review(struct account_visit *v, str token, bool *ret, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &reviews};
    struct json review = json_obj(), spec = json_obj(), answer;
    json_add(r->arena, &spec, S("token"), json_str(token));
    json_add(r->arena, &review, S("apiVersion"), json_str(S("authentication.k8s.io/v1")));
    json_add(r->arena, &review, S("kind"), json_str(reviews.kind));
    json_add(r->arena, &review, S("spec"), spec);
    int code = client_create(v->accounts->options.managed, r->arena, &ref, &review, NULL, &answer, err);
    if (code < 0)
        return err_wrap(err, "review the token of ServiceAccount %.*s/%.*s", STR(v->accounts->options.namespace),
                        STR(r->name));
    *ret = json_true(json_dig(&answer, "status.authenticated")) &&
           str_eq(json_text(json_dig(&answer, "status.user.username")), subject_of(v));
    return 0;
}
