/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/validate.h"
#include "base/budget.h"
#include "object/selector.h"

/* What the server fills in, and the one form in which the four kinds are stored. */

static size_t list_len(const struct json *list)
{
    return json_is_arr(list) ? json_len(list) : 0;
}

static void drop_empty_list(struct json *object, str list)
{
    const struct json *v = json_get(object, list);
    if (v && (json_is_null(v) || json_is_arr(v)) && json_len(v) == 0)
        json_remove(object, list); /* a value of a wrong type stays: without it a rule could mean more */
}

static void drop_empty_text(struct json *object, str field)
{
    const struct json *v = json_get(object, field);
    if (v && (json_is_null(v) || json_is_str(v)) && json_text(v).n == 0)
        json_remove(object, field);
}

static void default_rule(struct json *rule)
{
    drop_empty_list(rule, S("apiGroups"));
    drop_empty_list(rule, S("resources"));
    drop_empty_list(rule, S("resourceNames"));
    drop_empty_list(rule, S("nonResourceURLs"));
}

static void default_role(struct arena *a, struct json *object)
{
    struct json *rules = json_get_mut(object, S("rules"));
    for (size_t i = 0; i < list_len(rules); i++)
        default_rule(&rules->items[i]);
    if (list_len(rules) == 0)
        json_set(a, object, S("rules"), json_null());
}

static void default_subject(struct arena *a, struct json *subject)
{
    str kind = json_get_text(subject, S("kind"));
    bool of_rbac = str_eq(kind, S("User")) || str_eq(kind, S("Group"));
    drop_empty_text(subject, S("apiGroup"));
    drop_empty_text(subject, S("namespace"));
    if (of_rbac && !json_get(subject, S("apiGroup")))
        json_set(a, subject, S("apiGroup"), json_str(RBAC_GROUP));
}

static void default_binding(struct arena *a, struct json *object)
{
    struct json *subjects = json_get_mut(object, S("subjects"));
    for (size_t i = 0; i < list_len(subjects); i++)
        default_subject(a, &subjects->items[i]);
    drop_empty_list(object, S("subjects"));
    struct json *ref = json_get_mut(object, S("roleRef"));
    if (!json_is_obj(ref))
        ref = json_set(a, object, S("roleRef"), json_obj());
    if (json_get_text(ref, S("apiGroup")).n == 0)
        json_set(a, ref, S("apiGroup"), json_str(RBAC_GROUP));
}

void rbac_default(struct arena *a, const struct kind *kind, struct json *object)
{
    enum authz_kind k = rbac_kind_of(kind);
    if (!json_is_obj(object))
        return;
    if (k == AUTHZ_ROLE || k == AUTHZ_CLUSTER_ROLE)
        default_role(a, object);
    if (k == AUTHZ_ROLE_BINDING || k == AUTHZ_CLUSTER_ROLE_BINDING)
        default_binding(a, object);
}

/* Validation of the four kinds, in the order in which Kubernetes finds faults. */

enum authz_kind rbac_kind_of(const struct kind *kind)
{
    bool ours = kind && str_eq(str_of(kind->group), RBAC_GROUP);
    return ours ? authz_kind_of(str_of(kind->kind)) : AUTHZ_UNKNOWN;
}

/* ---- Errors. ---- */

/* Where the walk is; the text of a path is only made for an error. */
struct spot {
    struct field_errors *errs;
    struct json_path path;
};

static str path_of(struct spot at, const char *field)
{
    struct buf b = {.arena = at.errs->arena};
    struct json_path leaf = {&at.path, str_of(field), 0};
    json_path_format(&b, field ? &leaf : &at.path);
    return buf_str(&b);
}

static void required(struct spot at, const char *field, const char *why)
{
    field_error_add(at.errs, FIELD_REQUIRED, path_of(at, field), (str){0}, "%s", why);
}

static void unsupported(struct spot at, const char *field, str value, const char *supported)
{
    field_error_add(at.errs, FIELD_NOT_SUPPORTED, path_of(at, field), field_quote(at.errs->arena, value),
                    "supported values: %s", supported);
}

static str shown_list(struct arena *a, const struct json *list)
{
    VEC(str) texts = {0};
    json_each_item(list, item) * vec_push(a, &texts) = json_text(item);
    return field_strings(a, texts.p, texts.n);
}

/* ---- Rules. ---- */

static bool has_any(const struct json *rule, const char *list)
{
    const struct json *values = json_get(rule, str_of(list));
    return json_is_arr(values) && json_len(values) > 0;
}

static void validate_urls(struct spot at, const struct json *rule, bool namespaced)
{
    struct arena *a = at.errs->arena;
    const struct json *urls = json_get(rule, S("nonResourceURLs"));
    if (namespaced)
        field_error_add(at.errs, FIELD_INVALID, path_of(at, "nonResourceURLs"), shown_list(a, urls),
                        "namespaced rules cannot apply to non-resource URLs");
    if (has_any(rule, "apiGroups") || has_any(rule, "resources") || has_any(rule, "resourceNames"))
        field_error_add(at.errs, FIELD_INVALID, path_of(at, "nonResourceURLs"), shown_list(a, urls),
                        "rules cannot apply to both regular resources and non-resource URLs");
}

static void validate_rule(struct spot at, const struct json *rule, bool namespaced)
{
    budget_charge(20);
    if (!has_any(rule, "verbs"))
        required(at, "verbs", "verbs must contain at least one value");
    if (has_any(rule, "nonResourceURLs")) {
        validate_urls(at, rule, namespaced);
        return;
    }
    if (!has_any(rule, "apiGroups"))
        required(at, "apiGroups", "resource rules must supply at least one api group");
    if (!has_any(rule, "resources"))
        required(at, "resources", "resource rules must supply at least one resource");
}

static void validate_rules(struct field_errors *errs, const struct json *object, bool namespaced)
{
    const struct json *rules = json_get(object, S("rules"));
    struct json_path list = {NULL, S("rules"), 0};
    size_t i = 0;
    json_each_item(rules, rule) validate_rule((struct spot){errs, {&list, (str){0}, i++}}, rule, namespaced);
}

/* ---- Aggregation. ---- */

static const struct json *selectors_of(const struct json *object)
{
    return json_get(json_get(object, S("aggregationRule")), S("clusterRoleSelectors"));
}

/* Whether a stored object holds a selector that a new one could not. */
static bool has_bad_selector(const struct json *object)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &scratch};
    const struct json *selectors = selectors_of(object);
    json_each_item(selectors, s)
    {
        selector_validate(&errs, (str){0}, s);
        if (errs.list.n)
            return true;
    }
    return false;
}

static void validate_aggregation(struct field_errors *errs, const struct json *object, bool tolerant)
{
    const struct json *aggregation = json_get(object, S("aggregationRule")), *selectors = selectors_of(object);
    if (json_is_null(aggregation))
        return;
    struct json_path top = {NULL, S("aggregationRule"), 0}, list = {&top, S("clusterRoleSelectors"), 0};
    if (!json_is_arr(selectors) || json_len(selectors) == 0)
        required((struct spot){errs, top}, "clusterRoleSelectors",
                 "at least one clusterRoleSelector required if aggregationRule is non-nil");
    size_t i = 0;
    json_each_item(selectors, s)
    {
        struct arena scratch ARENA_SCOPE = {0};
        struct spot at = {errs, {&list, (str){0}, i++}};
        struct selector compiled;
        if (tolerant)
            selector_validate_stored(errs, path_of(at, NULL), s);
        else
            selector_validate(errs, path_of(at, NULL), s);
        if (selector_from_object(&scratch, s, &compiled, NULL) < 0)
            field_error_add(errs, FIELD_INVALID, path_of(at, NULL), S("\"null\""), "invalid label selector.");
    }
}

/* ---- Bindings. ---- */

static void validate_role_ref(struct field_errors *errs, const struct json *object, bool namespaced)
{
    const struct json *ref = json_get(object, S("roleRef"));
    struct spot at = {errs, {NULL, S("roleRef"), 0}};
    str group = json_get_text(ref, S("apiGroup"));
    str kind = json_get_text(ref, S("kind")), name = json_get_text(ref, S("name"));
    if (!str_eq(group, RBAC_GROUP))
        unsupported(at, "apiGroup", group, "\"rbac.authorization.k8s.io\"");
    if (!str_eq(kind, S("ClusterRole")) && !(namespaced && str_eq(kind, S("Role"))))
        unsupported(at, "kind", kind, namespaced ? "\"Role\", \"ClusterRole\"" : "\"ClusterRole\"");
    if (name.n == 0)
        required(at, "name", "");
    else
        name_validate(errs, path_of(at, "name"), NAME_PATH_SEGMENT, name);
}

static void validate_service_account(struct spot at, const struct json *subject, bool namespaced)
{
    str name = json_get_text(subject, S("name")), group = json_get_text(subject, S("apiGroup"));
    if (name.n && !name_is(NAME_DNS_SUBDOMAIN, name))
        name_validate(at.errs, path_of(at, "name"), NAME_DNS_SUBDOMAIN, name);
    if (group.n)
        unsupported(at, "apiGroup", group, "\"\"");
    if (!namespaced && json_get_text(subject, S("namespace")).n == 0)
        required(at, "namespace", "");
}

static void validate_subject(struct spot at, const struct json *subject, bool namespaced)
{
    budget_charge(20);
    str kind = json_get_text(subject, S("kind")), group = json_get_text(subject, S("apiGroup"));
    if (json_get_text(subject, S("name")).n == 0)
        required(at, "name", "");
    if (str_eq(kind, S("ServiceAccount"))) {
        validate_service_account(at, subject, namespaced);
    } else if (str_eq(kind, S("User")) || str_eq(kind, S("Group"))) {
        if (!str_eq(group, RBAC_GROUP))
            unsupported(at, "apiGroup", group, "\"rbac.authorization.k8s.io\"");
    } else {
        unsupported(at, "kind", kind, "\"ServiceAccount\", \"User\", \"Group\"");
    }
}

static void validate_binding(struct field_errors *errs, const struct json *object, bool namespaced)
{
    const struct json *subjects = json_get(object, S("subjects"));
    struct json_path list = {NULL, S("subjects"), 0};
    size_t i = 0;
    validate_role_ref(errs, object, namespaced);
    json_each_item(subjects, s) validate_subject((struct spot){errs, {&list, (str){0}, i++}}, s, namespaced);
}

/* What a binding gives is fixed: whoever may edit its subjects must not be able to point it at a stronger role. */
static void validate_same_role(struct field_errors *errs, const struct json *object, const struct json *current)
{
    static const char *const fields[][2] = {{"apiGroup", "APIGroup"}, {"kind", "Kind"}, {"name", "Name"}};
    const struct json *now = json_get(object, S("roleRef")), *was = json_get(current, S("roleRef"));
    struct buf shown = {.arena = errs->arena};
    bool same = true;
    buf_add_str(&shown, S("rbac.RoleRef{"));
    for (size_t i = 0; i < COUNT(fields); i++) {
        str value = json_get_text(now, str_of(fields[i][0]));
        same = same && str_eq(value, json_get_text(was, str_of(fields[i][0])));
        buf_fmt(&shown, "%s%s:", i ? ", " : "", fields[i][1]);
        buf_add_quoted(&shown, value);
    }
    buf_add_char(&shown, '}');
    if (!same)
        field_error_add(errs, FIELD_INVALID, S("roleRef"), buf_str(&shown), "cannot change roleRef");
}

/* ---- Whole objects. ---- */

/* current is NULL for a new object. */
static void validate(struct field_errors *errs, enum authz_kind kind, const struct json *object,
                     const struct json *current)
{
    bool namespaced = kind == AUTHZ_ROLE || kind == AUTHZ_ROLE_BINDING;
    switch (kind) {
    case AUTHZ_UNKNOWN:
        break;
    case AUTHZ_CLUSTER_ROLE:
        validate_rules(errs, object, namespaced);
        validate_aggregation(errs, object, current && has_bad_selector(current));
        break;
    case AUTHZ_ROLE:
        validate_rules(errs, object, namespaced);
        break;
    case AUTHZ_ROLE_BINDING:
    case AUTHZ_CLUSTER_ROLE_BINDING:
        validate_binding(errs, object, namespaced);
        if (current)
            validate_same_role(errs, object, current);
        break;
    }
}

void rbac_validate(struct field_errors *errs, const struct kind *kind, const struct json *object)
{
    validate(errs, rbac_kind_of(kind), object, NULL);
}

void rbac_validate_update(struct field_errors *errs, const struct kind *kind, const struct json *object,
                          const struct json *current)
{
    validate(errs, rbac_kind_of(kind), object, current);
}
