/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/accounts/accounts_internal.h"
#include "object/conditions.h"
#include "object/object.h"

enum { RESYNC_S = 600, SPREAD_S = 120 };

static const struct client_resource namespaces = CLIENT_RESOURCE("", "v1", "namespaces", "Namespace", false);

static bool is_ours(const struct json *account)
{
    return str_eq(object_label(account, S(FLEET_LABEL_ACCOUNT)), S("true"));
}

/* ---- Gone. ---- */

/* The copy says so, and the hub once more: what is deleted here takes access away from somebody. */
static int is_really_gone(struct account_visit *v, bool *ret, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &accounts_managed, .namespace = v->accounts->options.cluster, .name = r->name};
    struct json managed;
    int code = client_get(r->client, r->arena, &ref, &managed, err);
    *ret = code < 0 ? client_is_gone(err) : object_is_deleting(&managed);
    if (code < 0 && !*ret)
        return err_wrap(err, "make sure that ManagedServiceAccount %.*s is gone", STR(r->name));
    return 0;
}

static int remove_account(struct account_visit *v, const struct json *account, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &accounts_local, .namespace = v->accounts->options.namespace, .name = r->name};
    struct client_delete_options options = {.uid = object_uid(account)};
    bool is_gone = false;
    account_forget(v->accounts, r->name);
    if (!is_ours(account))
        return 0;
    int code = is_really_gone(v, &is_gone, err);
    if (code < 0 || !is_gone)
        return code;
    code = client_delete(v->accounts->options.managed, r->arena, &ref, &options, NULL, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "delete ServiceAccount %.*s/%.*s", STR(ref.namespace), STR(ref.name));
}

/* ---- The ServiceAccount. ---- */

static struct json object_of(struct arena *a, const struct client_resource *resource, str namespace, str name)
{
    struct json object = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(name));
    if (namespace.n)
        json_add(a, &metadata, S("namespace"), json_str(namespace));
    json_add(a, &object, S("apiVersion"), json_str(client_api_version(a, resource)));
    json_add(a, &object, S("kind"), json_str(resource->kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static int create(struct account_visit *v, const struct client_resource *resource, const struct json *object,
                  struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = object_namespace(object)};
    struct client_write_options options = {.field_manager = ACCOUNTS_MANAGER};
    return client_create(v->accounts->options.managed, v->reconcile->arena, &ref, object, &options, ret, err);
}

static int make_account(struct account_visit *v, struct json *ret, struct err *err)
{
    struct arena *a = v->reconcile->arena;
    str place = v->accounts->options.namespace;
    struct json account = object_of(a, &accounts_local, place, v->reconcile->name), labels = json_obj();
    json_add(a, &labels, S(FLEET_LABEL_ACCOUNT), json_str(S("true")));
    json_add(a, json_get_mut(&account, S("metadata")), S("labels"), labels);
    int code = create(v, &accounts_local, &account, ret, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err)) {
        struct json namespace = object_of(a, &namespaces, (str){0}, place);
        code = create(v, &namespaces, &namespace, NULL, err);
        if (code == 0 || code == ERR_ALREADY_EXISTS)
            code = create(v, &accounts_local, &account, ret, err);
    }
    if (code == ERR_ALREADY_EXISTS)
        return err_set(err, ERR_CONFLICT, "the ServiceAccount was just made");
    return code < 0 ? err_wrap(err, "create ServiceAccount %.*s/%.*s", STR(place), STR(v->reconcile->name)) : 0;
}

/* ---- What the hub is told. ---- */

static str time_text(struct arena *a, int64_t seconds)
{
    struct buf text = {.arena = a};
    time_format(&text, seconds, 0, 0);
    return buf_str(&text);
}

static int write_status(struct account_visit *v, const struct json *next, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &accounts_managed,
                             .namespace = v->accounts->options.cluster,
                             .name = r->name,
                             .subresource = S("status")};
    struct client_write_options options = {.field_manager = ACCOUNTS_MANAGER};
    if (json_equal(next, &v->managed))
        return 0;
    int code = client_update(r->client, r->arena, &ref, next, &options, &v->managed, err);
    return code < 0 ? err_wrap(err, "report on ManagedServiceAccount %.*s", STR(r->name)) : 0;
}

static int tell_failure(struct account_visit *v, str reason, str message, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct condition c = {
        .type = S("TokenReported"), .status = S("False"), .reason = reason, .message = str_dup(r->arena, message)};
    struct json next = json_dup(r->arena, &v->managed);
    condition_set(r->arena, conditions_of(r->arena, &next), &c, &r->clock);
    return write_status(v, &next, err);
}

static void set_token(struct arena *a, struct json *status, str name, const struct token_claims *claims)
{
    struct json ref = json_obj();
    json_add(a, &ref, S("name"), json_str(name));
    json_add(a, &ref, S("lastRefreshTimestamp"), json_str(time_text(a, claims->issued)));
    json_set(a, status, S("tokenSecretRef"), ref);
    json_set(a, status, S("expirationTimestamp"), json_str(time_text(a, claims->expires)));
}

/* The token itself says when it was made and how long it lasts, so that this can be told at any time after. */
static int tell_success(struct account_visit *v, str token, struct err *err)
{
    static const struct condition made = {.type = S_INIT("SecretCreated"),
                                          .status = S_INIT("True"),
                                          .reason = S_INIT("SecretCreated"),
                                          .message = S_INIT("the Secret holds a token")};
    static const struct condition reported = {.type = S_INIT("TokenReported"),
                                              .status = S_INIT("True"),
                                              .reason = S_INIT("TokenReported"),
                                              .message = S_INIT("the token is valid")};
    struct reconcile *r = v->reconcile;
    struct token_claims claims;
    struct json next = json_dup(r->arena, &v->managed), *conditions = conditions_of(r->arena, &next);
    condition_set(r->arena, conditions, &made, &r->clock);
    condition_set(r->arena, conditions, &reported, &r->clock);
    if (token_read(r->arena, token, &claims))
        set_token(r->arena, json_get_mut(&next, S("status")), r->name, &claims);
    return write_status(v, &next, err);
}

/* ---- The token. ---- */

/* Whether what the hub has may stay, and for how long. What was just got is not asked for again: a managed cluster that does not
 * believe its own tokens would be asked for ever. */
static int look(struct account_visit *v, str token, bool *ret_stays, int64_t *ret_ns, struct err *err)
{
    str fault = token.n ? account_token_fault(v, token, ret_ns) : S("there is none");
    *ret_stays = false;
    int code = fault.n ? 0 : account_review(v, token, ret_stays, err);
    if (code == 0 && !*ret_stays && account_is_fresh(v, token))
        return err_set(err, ERR_UNAVAILABLE, "the managed cluster does not believe the token that it just gave%s%.*s",
                       fault.n ? ": " : "", STR(fault));
    return code;
}

static int keep_token(struct account_visit *v, int64_t *ret_ns, struct err *err)
{
    struct json secret;
    bool stays = false;
    int code = account_secret_get(v, &secret, err);
    if (code < 0)
        return code;
    if (account_secret_is_foreign(v, &secret))
        return tell_failure(v, S("Conflict"), S("there is a Secret of this name that belongs to somebody else"), err);
    str token = account_secret_token(v, v->reconcile->arena, &secret);
    code = look(v, token, &stays, ret_ns, err);
    if (code == 0 && !stays) {
        code = account_grant(v, &token, err);
        if (code == 0)
            code = account_secret_write(v, &secret, token, err);
        if (code < 0)
            return code;
        account_remember(v, token);
        (void)account_token_fault(v, token, ret_ns);
    }
    return code < 0 ? code : tell_success(v, token, err);
}

/* ---- One account. ---- */

/* Nanoseconds until it goes by itself; 0: now; INT64_MAX: never. */
static int64_t life_of(const struct account_visit *v)
{
    const struct clock *clock = &v->reconcile->clock;
    int64_t ttl = 0, made = 0;
    uint32_t nanos;
    if (!json_to_int(json_dig(&v->managed, "spec.ttlSecondsAfterCreation"), &ttl) || ttl <= 0 || ttl > INT32_MAX ||
        !time_parse(json_get_text(object_meta(&v->managed), S("creationTimestamp")), &made, &nanos))
        return INT64_MAX;
    int64_t left = (made + ttl) * NS_PER_S - clock_wall_ns(clock);
    return left > 0 ? left : 0;
}

static int expire(struct account_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &accounts_managed, .namespace = v->accounts->options.cluster, .name = r->name};
    struct client_delete_options options = {.uid = object_uid(&v->managed)};
    int code = client_delete(r->client, r->arena, &ref, &options, NULL, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "delete ManagedServiceAccount %.*s, whose time is over", STR(r->name));
}

static int64_t resync(struct accounts *x)
{
    pthread_mutex_lock(&x->lock);
    struct random_seeded chance = {.state = x->spread++};
    pthread_mutex_unlock(&x->lock);
    struct random random = random_of_seed(&chance);
    return (RESYNC_S + random_below(&random, SPREAD_S)) * NS_PER_S;
}

static int keep(struct account_visit *v, const struct json *account, int64_t *ret_ns, struct err *err)
{
    struct json made;
    if (!json_is_null(account) && !is_ours(account))
        return tell_failure(
            v, S("Conflict"),
            str_fmt(v->reconcile->arena,
                    "ServiceAccount %.*s/%.*s of the managed cluster is somebody else's: it lacks the label "
                    "" FLEET_LABEL_ACCOUNT,
                    STR(v->accounts->options.namespace), STR(v->reconcile->name)),
            err);
    if (json_is_null(account)) {
        int code = make_account(v, &made, err);
        if (code < 0)
            return code;
        account = &made;
    }
    v->account_uid = object_uid(account);
    return keep_token(v, ret_ns, err);
}

int accounts_reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct account_visit v = {.accounts = ctx, .reconcile = r};
    struct accounts *x = ctx;
    struct json account = json_null();
    struct err untold = {0};
    int64_t left = resync(x), due = INT64_MAX;
    bool has_account = informer_read(x->local, r->arena, x->options.namespace, r->name, &account);
    if (!informer_read(x->managed, r->arena, x->options.cluster, r->name, &v.managed) || object_is_deleting(&v.managed))
        return has_account ? remove_account(&v, &account, err) : 0;
    int64_t life = life_of(&v);
    if (life == 0)
        return expire(&v, err);
    int code = keep(&v, has_account ? &account : &(struct json){0}, &due, err);
    if (code < 0 && code != ERR_CONFLICT)
        (void)tell_failure(&v, S("TokenReportFailed"), str_of(err->msg), &untold);
    left = life < left ? life : left;
    left = due < left ? due : left;
    r->again_ns = left > NS_PER_S ? left : NS_PER_S;
    return code;
}
