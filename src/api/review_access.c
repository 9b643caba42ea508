/* SPDX-License-Identifier: Apache-2.0 */
/* May somebody do something, and what may I do at all? */
#include "api/review_parts.h"
#include "authz/explain.h"
#include "object/name.h"
#include "object/object.h"
#include "object/selector.h"

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

enum write_step review_access(struct write *w)
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

enum write_step review_self_access(struct write *w)
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

enum write_step review_rules(struct write *w)
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
