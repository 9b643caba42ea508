/* SPDX-License-Identifier: Apache-2.0 */
/* What the server fills in, and the one form in which the four kinds are stored. */
#include "authz/validate.h"

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
