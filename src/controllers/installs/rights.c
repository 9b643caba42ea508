/* SPDX-License-Identifier: Apache-2.0 */
/* A controller is not started before the server says yes to what it is granted: servers take a while to learn of new roles. */
#include "controllers/installs/inside.h"
#include "object/object.h"

static const struct client_resource reviews =
    CLIENT_RESOURCE("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false);

/* One question for each rule: rules come into force whole. */
static struct json question(struct arena *a, str user, const struct plan_grant *grant, const struct rule *rule)
{
    struct json review = json_obj(), spec = json_obj(), attributes = json_obj();
    str resource = rule->resources.p[0], sub = {0};
    str_cut(rule->resources.p[0], '/', &resource, &sub);
    if (!grant->is_cluster_wide)
        json_add(a, &attributes, S("namespace"), json_str(grant->namespace));
    json_add(a, &attributes, S("verb"), json_str(str_eq(rule->verbs.p[0], S("*")) ? S("list") : rule->verbs.p[0]));
    json_add(a, &attributes, S("group"), json_str(rule->api_groups.p[0]));
    json_add(a, &attributes, S("resource"), json_str(resource));
    if (sub.n)
        json_add(a, &attributes, S("subresource"), json_str(sub));
    json_add(a, &spec, S("user"), json_str(user));
    json_add(a, &spec, S("resourceAttributes"), attributes);
    json_add(a, &review, S("apiVersion"), json_str(S("authorization.k8s.io/v1")));
    json_add(a, &review, S("kind"), json_str(S("SubjectAccessReview")));
    json_add(a, &review, S("spec"), spec);
    return review;
}

static int is_controller_served(struct visit *v, const struct plan *plan, const struct plan_grant *grant, bool *ret,
                                struct err *err)
{
    str user =
        str_fmt(v->a, "system:serviceaccount:%.*s:%.*s", STR(v->asked.namespace), STR(object_name(&plan->account)));
    rules_each(grant->rules, rule)
    {
        struct json ask = question(v->a, user, grant, rule), answer;
        struct client_ref ref = {.resource = &reviews};
        int code = client_create(v->r->client, v->a, &ref, &ask, NULL, &answer, err);
        if (code < 0)
            return err_wrap(err, "ask whether rights are in force");
        *ret &= json_true(json_dig(&answer, "status.allowed"));
    }
    return 0;
}

/* People's rights follow by aggregation, which is somebody else's work on other servers. Where nobody asked for the roles of a
 * namespace there is nothing to follow. */
static int is_persona_served(struct visit *v, const struct plan_grant *grant, bool *ret, struct err *err)
{
    static const char *const names[] = {[PLAN_ADMIN] = "admin", [PLAN_EDIT] = "edit", [PLAN_VIEW] = "view"};
    str name = grant->is_cluster_wide
                   ? str_fmt(v->a, "crossplane-env-%s", names[grant->who])
                   : str_fmt(v->a, "crossplane:ns:%.*s:%s", STR(grant->namespace), names[grant->who]);
    struct client_ref ref = {.resource = &own_resources[OWN_CLUSTER_ROLE], .name = name};
    struct json role;
    struct rules rules;
    int code = client_get(v->r->client, v->a, &ref, &role, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code < 0)
        return err_wrap(err, "look at ClusterRole %.*s", STR(name));
    *ret &= rules_from_json(v->a, json_get(&role, S("rules")), &rules, NULL) == 0 &&
            rules_cover(v->a, rules, grant->rules, NULL);
    return 0;
}

int rights_are_in_force(struct visit *v, const struct plan *plan, bool *ret, struct err *err)
{
    *ret = true;
    int code = 0;
    for (size_t i = 0; code == 0 && *ret && i < plan->n_grants; i++) {
        const struct plan_grant *grant = &plan->grants[i];
        if (grant->who == PLAN_CONTROLLER)
            code = is_controller_served(v, plan, grant, ret, err);
        else if (!v->s->is_embedded) /* that server has aggregated rules in force at once */
            code = is_persona_served(v, grant, ret, err);
    }
    return code;
}
