/* SPDX-License-Identifier: Apache-2.0 */
/* Who am I, who is that, and a token for an account. */
#include "api/review_parts.h"
#include "api/value.h"
#include "authn/token.h"
#include "kinds/builtin.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#include <inttypes.h>

static int64_t now_seconds(const struct write *w)
{
    const struct clock *clock = &w->api->options.clock;
    return clock_seconds(clock);
}

enum write_step review_self(struct write *w)
{
    struct arena *a = &w->work;
    struct json answer = review_blank(w), status = json_obj();
    json_set(a, meta_of(a, &answer), S("creationTimestamp"), meta_now(a, &w->api->options.clock));
    json_add(a, &status, S("userInfo"), review_user(a, &w->r->who));
    json_add(a, &answer, S("status"), status);
    return review_answer(w, answer);
}

/* ---- Whose token is this? ---- */

enum write_step review_token(struct write *w)
{
    struct arena *a = &w->work;
    struct authz_identity who;
    struct strs audiences;
    struct err err = {0};
    const struct json *spec = json_get(&w->next, S("spec"));
    str token = json_get_text(spec, S("token"));
    struct json status = json_obj();
    if (token.n == 0)
        return write_refused(w, status_bad_request(a, S("token is required for TokenReview in authentication")));
    struct strs meant = review_strs(a, json_get(spec, S("audiences")));
    struct budget *own = budget_swap(NULL); /* it borrows from caches, so it must not be suspended */
    int rc = authn_review(w->api->authn, a, token, meant, &who, &audiences, &err);
    budget_swap(own);
    if (rc < 0) {
        json_add(a, &status, S("error"), json_str(str_dup(a, str_of(err.msg))));
    } else {
        json_add(a, &status, S("authenticated"), json_bool(true));
        json_add(a, &status, S("user"), review_user(a, &who));
        json_add(a, &status, S("audiences"), review_strings(a, audiences));
    }
    json_set(a, &w->next, S("status"), status);
    return review_answer(w, w->next);
}

/* ---- A token for an account. ---- */

enum {
    DAY = 24 * 60 * 60,
    MIN_SECONDS = 600,
    AGENT_SECONDS = 30 * DAY, /* agents may be cut off from their hub for weeks */
    POD_SECONDS = 3607,       /* what kubelets ask for… */
    POD_GRACE = 365 * DAY,    /* …lasts longer, with a warning, for clients that never read it again */
};
static const int64_t max_seconds = INT64_C(1) << 32;

static enum write_step invalid(struct write *w, str name, str field, const struct json *value, const char *text)
{
    struct field_errors errs = {.arena = &w->work};
    struct status_subject about = {str_of(w->kind->group), str_of(w->kind->kind), name};
    field_error_add(&errs, FIELD_INVALID, field, field_value(&w->work, value), "%s", text);
    return write_refused(w, status_invalid(&w->work, about, &errs));
}

static enum write_step not_found(struct write *w, const char *plural, str name)
{
    return write_refused(w, status_not_found(&w->work, (struct status_subject){{0}, str_of(plural), name}));
}

/* An object of the core group; false: there is none, and the request is refused. */
static bool load(struct write *w, const char *kind, str namespace, str name, struct json *ret)
{
    const struct kind *k = kind_builtin_by_body(S("v1"), str_of(kind));
    struct err err = {0};
    int rc = value_get(w->api, &w->work, k, namespace, name, ret, NULL, &err);
    if (rc == 0)
        return true;
    if (rc == ERR_NOT_FOUND)
        (void)not_found(w, k->plural, name);
    else
        (void)write_failed(w, &err);
    return false;
}

static struct token_ref ref_to(const struct json *object)
{
    return (struct token_ref){object_name(object), object_uid(object)};
}

/* A pod must run under the account, and brings its node along. */
static bool bind_pod(struct write *w, str name, struct token_claims *claims, str *ret_uid)
{
    struct json pod, node;
    if (!load(w, "Pod", w->namespace, name, &pod))
        return false;
    if (!str_eq(w->name, json_text(json_dig(&pod, "spec.serviceAccountName")))) {
        str account = field_quote(&w->work, w->name);
        (void)write_refused(
            w, status_bad_request(&w->work, str_fmt(&w->work,
                                                    "cannot bind token for serviceaccount %.*s to pod running with "
                                                    "different serviceaccount name.",
                                                    STR(account))));
        return false;
    }
    claims->pod = ref_to(&pod);
    *ret_uid = claims->pod.uid;
    str node_name = json_text(json_dig(&pod, "spec.nodeName"));
    if (node_name.n && load(w, "Node", (str){0}, node_name, &node))
        claims->node = ref_to(&node);
    else
        claims->node = (struct token_ref){.name = node_name};
    w->status = json_null();
    return true;
}

static bool bind_object(struct write *w, const char *kind, str namespace, str name, struct token_ref *ret, str *ret_uid)
{
    struct json object;
    if (!load(w, kind, namespace, name, &object))
        return false;
    *ret = ref_to(&object);
    *ret_uid = ret->uid;
    return true;
}

static bool refuse_binding(struct write *w, str version, str kind)
{
    str group, v;
    if (!kind_split_api_version(version, &group, &v))
        group = v = (str){0};
    (void)write_refused(
        w, status_bad_request(&w->work, str_fmt(&w->work, "cannot bind token to object of type %.*s/%.*s, Kind=%.*s",
                                                STR(group), STR(v), STR(kind))));
    return false;
}

/* Ties the token to the life of an object; false: refused. */
static bool bind(struct write *w, const struct json *ref, struct token_claims *claims)
{
    str kind = json_get_text(ref, S("kind")), version = json_get_text(ref, S("apiVersion"));
    str name = json_get_text(ref, S("name")), wanted = json_get_text(ref, S("uid")), uid = {0};
    bool is_core = str_find_char(version, '/') < 0, ok;
    if (is_core && str_eq(kind, S("Pod")))
        ok = bind_pod(w, name, claims, &uid);
    else if (is_core && str_eq(kind, S("Node")))
        ok = bind_object(w, "Node", (str){0}, name, &claims->node, &uid);
    else if (is_core && str_eq(kind, S("Secret")))
        ok = bind_object(w, "Secret", w->namespace, name, &claims->secret, &uid);
    else
        ok = refuse_binding(w, version, kind);
    if (!ok || wanted.n == 0 || str_eq(wanted, uid))
        return ok;
    str why = str_fmt(&w->work,
                      "the UID in the bound object reference (%.*s) does not match the UID in record. The object might "
                      "have been deleted and then recreated",
                      STR(wanted));
    (void)write_refused(w, status_conflict(&w->work, (struct status_subject){{0}, kind, name}, why));
    return false;
}

/* In place: what the request leaves open. */
static void complete(struct write *w)
{
    struct arena *a = &w->work;
    struct json *meta = meta_of(a, &w->next), *spec = json_get_mut(&w->next, S("spec"));
    str issuer = token_signer_issuer(w->api->options.signer);
    json_set(a, meta, S("name"), json_str(w->name));
    json_set(a, meta, S("namespace"), json_str(w->namespace));
    json_set(a, meta, S("creationTimestamp"), meta_now(a, &w->api->options.clock));
    if (json_len(json_get(spec, S("audiences"))) == 0)
        json_set(a, spec, S("audiences"), review_strings(a, (struct strs){&issuer, 1}));
}

/* ---- How long it may live. ---- */

/* The account of an agent is called reeve-agent, and the hub has accepted the ManagedCluster that its namespace is named after. Who
 * administers a namespace can make such an account, but neither the ManagedCluster, which is cluster-scoped, nor its status. */
static bool is_agent(struct write *w)
{
    const struct kind *kind = registry_by_path(w->api->registry, S(FLEET_CLUSTER_GROUP), S("v1"), S("managedclusters"));
    struct json cluster;
    struct err err;
    return str_eq(w->name, S(FLEET_AGENT)) && kind && !kind->namespaced &&
           value_get(w->api, &w->work, kind, (str){0}, w->namespace, &cluster, NULL, &err) == 0 &&
           json_true(json_dig(&cluster, "spec.hubAcceptsClient")) &&
           condition_is(&cluster, S(FLEET_ACCEPTED), S("True"));
}

static int64_t longest_life(struct write *w)
{
    int64_t longest = w->api->options.token_seconds ? w->api->options.token_seconds : DAY;
    return longest < AGENT_SECONDS && is_agent(w) ? AGENT_SECONDS : longest;
}

/* In Kubernetes' words. The request shows what was granted. */
static int64_t shorten(struct write *w, struct json *spec, int64_t seconds, int64_t longest)
{
    if (seconds <= longest)
        return seconds;
    write_warn(w, str_fmt(&w->work, "requested expiration of %" PRId64 " seconds shortened to %" PRId64 " seconds",
                          seconds, longest));
    json_set(&w->work, spec, S("expirationSeconds"), json_int(longest));
    return longest;
}

/* ---- All of it. ---- */

static enum write_step issue(struct write *w, struct token_claims *claims, int64_t seconds, int64_t longest)
{
    struct arena *a = &w->work;
    struct json status = json_obj();
    struct buf end = {.arena = a};
    struct err err = {0};
    str token, issuer = token_signer_issuer(w->api->options.signer);
    claims->issued = claims->not_before = now_seconds(w);
    claims->expires = claims->issued + seconds;
    if (claims->pod.name.n && seconds == POD_SECONDS && strs_have(claims->audiences, issuer)) {
        claims->warn_after = claims->expires;
        claims->expires = claims->issued + (longest < POD_GRACE ? longest : POD_GRACE);
    }
    claims->id = meta_generate_uid(a, &w->api->options.random);
    if (w->r->token.n && authn_trace_request(w->api->authn, a, w->r->token, claims, &err) < 0)
        return write_failed(w, &err);
    if (token_sign(w->api->options.signer, a, claims, &token, &err) < 0)
        return write_failed(w, &err);
    time_format(&end, claims->issued + seconds, 0, 0);
    json_add(a, &status, S("token"), json_str(token));
    json_add(a, &status, S("expirationTimestamp"), json_str(buf_str(&end)));
    json_set(a, &w->next, S("status"), status);
    return review_answer(w, w->next);
}

enum write_step review_token_request(struct write *w)
{
    struct arena *a = &w->work;
    struct json account, *spec = json_get_mut(&w->next, S("spec"));
    const struct json *wanted = json_get(spec, S("expirationSeconds"));
    str name = object_name(&w->next);
    int64_t seconds = 0;
    if (name.n && !str_eq(name, w->name))
        return invalid(w, w->name, S("metadata.name"), json_get(object_meta(&w->next), S("name")),
                       "must match the service account name if specified");
    if (!load(w, "ServiceAccount", w->namespace, w->name, &account))
        return WRITE_REFUSED;
    json_to_int(wanted, &seconds);
    if (seconds < MIN_SECONDS)
        return invalid(w, (str){0}, S("spec.expirationSeconds"), wanted,
                       "may not specify a duration less than 10 minutes");
    if (seconds > max_seconds)
        return invalid(w, (str){0}, S("spec.expirationSeconds"), wanted,
                       "may not specify a duration larger than 2^32 seconds");
    complete(w);
    struct token_claims claims = {.namespace = w->namespace, .account = ref_to(&account)};
    const struct json *ref = json_dig(&w->next, "spec.boundObjectRef");
    claims.audiences = review_strs(a, json_dig(&w->next, "spec.audiences"));
    if (json_is_obj(ref) && !bind(w, ref, &claims))
        return WRITE_REFUSED;
    int64_t longest = longest_life(w);
    return issue(w, &claims, shorten(w, json_get_mut(&w->next, S("spec")), seconds, longest), longest);
}
