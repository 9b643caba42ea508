/* SPDX-License-Identifier: Apache-2.0 */
#include "api/reviews.h"
#include "api/api_value.h"
#include "api/write_internal.h"
#include "authn/authn_token.h"
#include "authz/explain.h"
#include "kinds/builtin.h"
#include "kinds/strict.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/name.h"
#include "object/object.h"
#include "object/selector.h"

#include <inttypes.h>

/* A review is the creation of an object that is not stored: w->next is the question, w->answer the answer. All reviews end with
 * WRITE_SAME or WRITE_REFUSED. */

/* ---- What reviews share. ---- */

static enum write_step review_answer(struct write *w, struct json object)
{
    canonical_form(&w->work, w->kind->shape, &object, CANONICAL_KEEP_EMPTY);
    w->answer = object;
    w->has_answer = true;
    w->code = 201;
    return WRITE_SAME;
}

static struct json review_blank(struct write *w)
{
    struct arena *a = &w->work;
    struct json object = json_obj();
    json_add(a, &object, S("kind"), json_str(str_of(w->kind->kind)));
    json_add(a, &object, S("apiVersion"), json_str(decode_api_version(a, w->kind)));
    return object;
}

static struct json review_strings(struct arena *a, struct strs list)
{
    struct json v = json_arr_sized(a, list.n);
    strs_each(list, it) json_push(a, &v, json_str(*it));
    return v;
}

static struct strs review_strs(struct arena *a, const struct json *list)
{
    VEC(str) texts = {0};
    json_each_item(list, it) * vec_push(a, &texts) = json_text(it);
    return (struct strs){texts.p, texts.n};
}

static struct json review_user(struct arena *a, const struct authz_identity *who)
{
    struct json user = json_obj(), extra = json_obj();
    json_add(a, &user, S("username"), json_str(who->user));
    json_add(a, &user, S("uid"), json_str(who->uid));
    json_add(a, &user, S("groups"), review_strings(a, who->groups));
    for (size_t i = 0; i < who->n_extra; i++)
        json_set(a, &extra, who->extra[i].key, review_strings(a, who->extra[i].values));
    json_add(a, &user, S("extra"), extra);
    return user;
}

/* May somebody do something, and what may I do at all? */

/* ---- What is wrong with a question. ---- */

static const str in_resource = S_INIT("spec.resourceAttributes");

/* Go shows this struct by its name. */
static str show_path(struct arena *a, const struct json *v)
{
    return str_fmt(a, "authorization.NonResourceAttributes{Path:%.*s, Verb:%.*s}",
                   STR(field_quote(a, json_get_text(v, S("path")))), STR(field_quote(a, json_get_text(v, S("verb")))));
}

static void check_values(struct field_errors *errs, str at, const struct json *requirement)
{
    str operator= json_get_text(requirement, S("operator")), values = field_child(errs->arena, at, S("values"));
    bool has_values = json_len(json_get(requirement, S("values"))) > 0;
    if ((str_eq(operator, S("In")) || str_eq(operator, S("NotIn"))) && !has_values)
        field_error_add(errs, FIELD_REQUIRED, values, (str){0}, "must be specified when `operator` is 'In' or 'NotIn'");
    if ((str_eq(operator, S("Exists")) || str_eq(operator, S("DoesNotExist"))) && has_values)
        field_error_add(errs, FIELD_FORBIDDEN, values, (str){0},
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

static void check_field_requirement(struct field_errors *errs, str at, const struct json *requirement)
{
    if (json_get_text(requirement, S("key")).n == 0)
        field_error_add(errs, FIELD_REQUIRED, field_child(errs->arena, at, S("key")), (str){0}, "must be specified");
    check_values(errs, at, requirement);
}

static void check_label_requirement(struct field_errors *errs, str at, const struct json *requirement)
{
    struct arena *a = errs->arena;
    const struct json *values = json_get(requirement, S("values"));
    check_values(errs, at, requirement);
    name_validate(errs, field_child(a, at, S("key")), NAME_QUALIFIED, json_get_text(requirement, S("key")));
    json_each_item(values, it)
    {
        if (field_errors_full(errs))
            return;
        name_validate(errs, field_index(a, field_child(a, at, S("values")), (size_t)(it - values->items)),
                      NAME_LABEL_VALUE, json_text(it));
    }
}

/* Either a text or requirements, not both and not neither. */
static void check_selector(struct field_errors *errs, const struct json *attributes, str name,
                           void (*check)(struct field_errors *errs, str at, const struct json *requirement))
{
    struct arena *a = errs->arena;
    const struct json *selector = json_get(attributes, name), *list = json_get(selector, S("requirements"));
    str at = field_child(a, in_resource, name), requirements = field_child(a, at, S("requirements"));
    str raw = json_get_text(selector, S("rawSelector"));
    if (!json_is_obj(selector))
        return;
    if (raw.n && json_len(list))
        field_error_add(errs, FIELD_INVALID, field_child(a, at, S("rawSelector")), field_quote(a, raw),
                        "may not specified at the same time as requirements");
    if (raw.n == 0 && json_len(list) == 0)
        field_error_add(errs, FIELD_REQUIRED, requirements, (str){0},
                        "when %.*s is specified, requirements or rawSelector is required", STR(at));
    json_each_item(list, it)
    {
        if (!field_errors_full(errs))
            check(errs, field_index(a, requirements, (size_t)(it - list->items)), it);
    }
}

static void check_question(struct field_errors *errs, const struct json *spec, bool is_of_self)
{
    struct arena *a = errs->arena;
    const struct json *resource = json_get(spec, S("resourceAttributes"));
    const struct json *path = json_get(spec, S("nonResourceAttributes"));
    if (json_is_obj(resource) && json_is_obj(path))
        field_error_add(errs, FIELD_INVALID, S("spec.nonResourceAttributes"), show_path(a, path),
                        "cannot be specified in combination with resourceAttributes");
    if (!json_is_obj(resource) && !json_is_obj(path))
        field_error_add(errs, FIELD_INVALID, in_resource, S("\"null\""),
                        "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    if (!is_of_self && json_get_text(spec, S("user")).n == 0 && json_len(json_get(spec, S("groups"))) == 0)
        field_error_add(errs, FIELD_INVALID, S("spec.user"), S("\"\""),
                        "at least one of user or group must be specified");
    check_selector(errs, resource, S("fieldSelector"), check_field_requirement);
    check_selector(errs, resource, S("labelSelector"), check_label_requirement);
}

/* Of metadata, only managedFields (and, of a local review, the namespace) may be there. */
static void check_metadata(struct field_errors *errs, const struct json *object, bool is_local)
{
    const struct json *meta = object_meta(object);
    json_each_member(meta, m)
    {
        bool is_fine = json_is_null(&m->val) || str_eq(json_key(m), S("managedFields")) ||
                       (is_local && str_eq(json_key(m), S("namespace")));
        if (is_fine)
            continue;
        field_error_add(errs, FIELD_INVALID, S("metadata"), field_value(errs->arena, meta),
                        is_local ? "must be empty except for namespace" : "must be empty");
        return;
    }
}

static void check_place(struct field_errors *errs, const struct json *object)
{
    const struct json *spec = json_get(object, S("spec")), *resource = json_get(spec, S("resourceAttributes"));
    const struct json *path = json_get(spec, S("nonResourceAttributes"));
    str namespace = json_get_text(resource, S("namespace"));
    if (json_is_obj(resource) && !str_eq(namespace, object_namespace(object)))
        field_error_add(errs, FIELD_INVALID, S("spec.resourceAttributes.namespace"),
                        field_quote(errs->arena, namespace), "must match metadata.namespace");
    if (json_is_obj(path))
        field_error_add(errs, FIELD_INVALID, S("spec.nonResourceAttributes"), show_path(errs->arena, path),
                        "disallowed on this kind of request");
}

/* Refusals of these reviews name no kind and no object, as those of Kubernetes do not. */
static enum write_step refuse_invalid(struct write *w, const struct field_errors *errs)
{
    struct status_subject nothing = {.group = str_of(w->kind->group)};
    return write_refused(w, status_invalid(&w->work, nothing, errs));
}

/* ---- The answer. ---- */

static struct authz_attributes attributes_of(const struct json *spec)
{
    const struct json *resource = json_get(spec, S("resourceAttributes"));
    const struct json *path = json_get(spec, S("nonResourceAttributes"));
    if (!json_is_obj(resource))
        return (struct authz_attributes){.path = json_get_text(path, S("path")),
                                         .verb = json_get_text(path, S("verb"))};
    return (struct authz_attributes){
        .is_resource = true,
        .verb = json_get_text(resource, S("verb")),
        .group = json_get_text(resource, S("group")),
        .version = json_get_text(resource, S("version")),
        .resource = json_get_text(resource, S("resource")),
        .subresource = json_get_text(resource, S("subresource")),
        .name = json_get_text(resource, S("name")),
        .namespace = json_get_text(resource, S("namespace")),
    };
}

/* A SubjectAccessReview names the groups itself: nothing is added to them. */
static struct authz_identity identity_of(struct arena *a, const struct json *spec)
{
    const struct json *extra = json_get(spec, S("extra"));
    VEC(struct authz_extra) extras = {0};
    json_each_member(extra, m) * vec_push(a, &extras) = (struct authz_extra){json_key(m), review_strs(a, &m->val)};
    return (struct authz_identity){
        .user = json_get_text(spec, S("user")),
        .groups = review_strs(a, json_get(spec, S("groups"))),
        .uid = json_get_text(spec, S("uid")),
        .extra = extras.p,
        .n_extra = extras.n,
    };
}

/* RBAC does not look at selectors, but those that cannot be read are told. */
static str selector_trouble(struct arena *a, const struct json *spec)
{
    const struct json *resource = json_get(spec, S("resourceAttributes"));
    str fields = json_get_text(json_get(resource, S("fieldSelector")), S("rawSelector"));
    str labels = json_get_text(json_get(resource, S("labelSelector")), S("rawSelector"));
    struct field_selector field;
    struct selector label;
    struct buf b = {.arena = a};
    if (field_selector_parse(a, fields, &field, NULL) < 0)
        buf_add_str(&b, S("spec.resourceAttributes.fieldSelector ignored due to parse error"));
    if (selector_parse(a, labels, &label, NULL) < 0)
        buf_fmt(&b, "%sspec.resourceAttributes.labelSelector ignored due to parse error", b.n ? "; " : "");
    return buf_str(&b);
}

static enum write_step decide(struct write *w, const struct authz_identity *who)
{
    struct arena *a = &w->work;
    const struct json *spec = json_get(&w->next, S("spec"));
    struct authz_attributes what = attributes_of(spec);
    struct authz_decision decision = authz_check(w->api->authz, who, &what, a);
    struct json status = json_obj();
    json_add(a, &status, S("allowed"), json_bool(decision.allowed));
    json_add(a, &status, S("reason"), json_str(decision.reason));
    json_add(a, &status, S("evaluationError"), json_str(selector_trouble(a, spec)));
    json_set(a, &w->next, S("status"), status);
    return review_answer(w, w->next);
}

static enum write_step review_access(struct write *w)
{
    struct field_errors errs = {.arena = &w->work};
    const struct json *spec = json_get(&w->next, S("spec"));
    bool is_local = w->kind->namespaced;
    check_question(&errs, spec, false);
    check_metadata(&errs, &w->next, is_local);
    if (is_local)
        check_place(&errs, &w->next);
    if (errs.list.n)
        return refuse_invalid(w, &errs);
    struct authz_identity who = identity_of(&w->work, spec);
    return decide(w, &who);
}

static enum write_step review_self_access(struct write *w)
{
    struct field_errors errs = {.arena = &w->work};
    check_question(&errs, json_get(&w->next, S("spec")), true);
    check_metadata(&errs, &w->next, false);
    return errs.list.n ? refuse_invalid(w, &errs) : decide(w, &w->r->who);
}

/* ---- All rules of the asker. ---- */

static struct json show_rules(struct arena *a, struct rules rules, bool is_resource)
{
    struct json list = json_arr_sized(a, rules.n);
    rules_each(rules, rule)
    {
        struct json v = json_obj_sized(a, 4);
        json_add(a, &v, S("verbs"), review_strings(a, rule->verbs));
        if (is_resource) {
            json_add(a, &v, S("apiGroups"), review_strings(a, rule->api_groups));
            json_add(a, &v, S("resources"), review_strings(a, rule->resources));
            json_add(a, &v, S("resourceNames"), review_strings(a, rule->resource_names));
        } else {
            json_add(a, &v, S("nonResourceURLs"), review_strings(a, rule->non_resource_urls));
        }
        json_push(a, &list, v);
    }
    return list;
}

static enum write_step review_rules(struct write *w)
{
    struct arena *a = &w->work;
    str namespace = json_text(json_dig(&w->next, "spec.namespace"));
    if (namespace.n == 0)
        return write_refused(w, status_bad_request(a, S("no namespace on request")));
    budget_hold(); /* until the rules are copied: the index may change while this is suspended */
    struct explain_rules found = explain_rules_for(a, w->api->authz, &w->r->who, namespace);
    found.resource_rules = rules_dup(a, found.resource_rules);
    found.non_resource_rules = rules_dup(a, found.non_resource_rules);
    budget_release();
    struct json answer = review_blank(w), status = json_obj();
    json_add(a, &status, S("resourceRules"), show_rules(a, found.resource_rules, true));
    json_add(a, &status, S("nonResourceRules"), show_rules(a, found.non_resource_rules, false));
    json_add(a, &status, S("incomplete"), json_bool(false));
    json_add(a, &status, S("evaluationError"), json_str(found.evaluation_error));
    json_add(a, &answer, S("status"), status);
    return review_answer(w, answer);
}

/* Who am I, who is that, and a token for an account. */

static int64_t now_seconds(const struct write *w)
{
    const struct clock *clock = &w->api->options.clock;
    return clock_seconds(clock);
}

static enum write_step review_self(struct write *w)
{
    struct arena *a = &w->work;
    struct json answer = review_blank(w), status = json_obj();
    json_set(a, meta_of(a, &answer), S("creationTimestamp"), meta_now(a, &w->api->options.clock));
    json_add(a, &status, S("userInfo"), review_user(a, &w->r->who));
    json_add(a, &answer, S("status"), status);
    return review_answer(w, answer);
}

/* ---- Whose token is this? ---- */

static enum write_step review_token(struct write *w)
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

static enum write_step review_token_request(struct write *w)
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

static const struct {
    const char *plural;
    enum write_step (*answer)(struct write *w);
} reviews[] = {
    {"localsubjectaccessreviews", review_access}, {"selfsubjectaccessreviews", review_self_access},
    {"selfsubjectreviews", review_self},          {"selfsubjectrulesreviews", review_rules},
    {"subjectaccessreviews", review_access},      {"tokenreviews", review_token},
};

/* ---- From the request to the answer. ---- */

static enum write_step take_review(struct write *w)
{
    struct decoded body;
    if (decode_body(w->r, &w->work, w->kind, &body, &w->status) < 0)
        return WRITE_REFUSED;
    write_warn_all(w, &body.notes);
    w->next = body.object;
    return WRITE_SAME;
}

static enum write_step build_review(struct write *w)
{
    struct meta_place place = write_place(w);
    struct err err = {0};
    if (take_review(w) == WRITE_REFUSED)
        return WRITE_REFUSED;
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    write_track(w);
    for (size_t i = 0; i < COUNT(reviews); i++) {
        if (strcmp(reviews[i].plural, w->kind->plural) == 0)
            return reviews[i].answer(w);
    }
    return write_refused(w, status_no_such_resource(&w->work));
}

/* The body is of another kind than the account that the path speaks of, and names it once more at most. */
static enum write_step build_token_request(struct write *w)
{
    struct err err = {0};
    if (take_review(w) == WRITE_REFUSED)
        return WRITE_REFUSED;
    struct meta_place place = {.kind = w->kind, .namespace = w->namespace};
    if (meta_place(&w->work, &place, &w->next, &err) < 0)
        return write_failed(w, &err);
    write_track(w);
    return review_token_request(w);
}

static void run_review(struct api_request *r, const struct kind *kind, write_build *how)
{
    struct write *w;
    if (!write_begin(r, how, &w))
        return;
    w->kind = kind;
    if (write_options_parse(w, WRITE_CREATE) < 0)
        write_refuse(w, w->status);
    else
        write_run(w);
}

void reviews_create(struct api_request *r)
{
    run_review(r, r->route.kind, build_review);
}

void reviews_token_request(struct api_request *r)
{
    run_review(r, kind_builtin_by_body(S("authentication.k8s.io/v1"), S("TokenRequest")), build_token_request);
}
