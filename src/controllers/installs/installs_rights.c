/* SPDX-License-Identifier: Apache-2.0 */
/* A controller is not started before what it is granted is in effect: servers take a while to learn of new roles.
 *
 *   rules of the controller   one SubjectAccessReview each. A yes is remembered until what is granted, or an object that grants it,
 *                             is written anew; a no is asked again after 50 ms, 100 ms, … 1.6 s
 *   rules of personas         on servers where another process aggregates them: read from the cache. An install that waits for
 *                             them is woken by the change of a role of its namespace, and asks the server nothing */
#include "controllers/installs/installs_internal.h"
#include "controllers/personas/personas_roles.h"
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

/* ---- What the controller is granted: asked, and asked no more once the server said yes. ---- */

static uint64_t hash_grants(struct arena *a, str user, const struct plan *plan)
{
    struct buf text = {.arena = a};
    buf_add_str(&text, user);
    for (size_t i = 0; i < plan->n_grants; i++) {
        const struct plan_grant *grant = &plan->grants[i];
        if (grant->who != PLAN_CONTROLLER)
            continue;
        struct json rules = rules_to_json(a, grant->rules);
        buf_fmt(&text, "\n%d %.*s ", grant->is_cluster_wide, STR(grant->namespace));
        json_encode(&text, &rules, 0);
    }
    return hash_str(buf_str(&text));
}

void rights_forget(struct visit *v)
{
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (h)
        h->rights = (struct holding_rights){0};
    installs_unlock(v->s);
}

static struct holding_rights recall_rights(struct visit *v, uint64_t grants)
{
    installs_lock(v->s);
    const struct holding *h = holding_get(v->s, object_uid(&v->install));
    struct holding_rights known = h ? h->rights : (struct holding_rights){0};
    installs_unlock(v->s);
    return known.grants == grants ? known : (struct holding_rights){.grants = grants};
}

static void remember_rights(struct visit *v, const struct holding_rights *known)
{
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (h)
        h->rights = *known;
    installs_unlock(v->s);
}

static int ask_rule(struct visit *v, str user, const struct plan_grant *grant, const struct rule *rule, bool *ret,
                    struct err *err)
{
    struct json ask = question(v->a, user, grant, rule), answer;
    struct client_ref ref = {.resource = &reviews};
    int code = client_create(v->r->client, v->a, &ref, &ask, NULL, &answer, err);
    if (code < 0)
        return err_wrap(err, "review the access of %.*s", STR(user));
    *ret = json_true(json_dig(&answer, "status.allowed"));
    return 0;
}

/* The rules that were not confirmed yet, in their order, up to the first that is not in effect. */
static int ask_rules(struct visit *v, const struct plan *plan, str user, struct holding_rights *known, bool *ret,
                     struct err *err)
{
    size_t at = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && *ret && i < plan->n_grants; i++) {
        const struct plan_grant *grant = &plan->grants[i];
        if (grant->who != PLAN_CONTROLLER)
            continue;
        for (size_t k = 0; code == 0 && *ret && k < grant->rules.n; k++) {
            if (at++ < known->confirmed)
                continue;
            code = ask_rule(v, user, grant, &grant->rules.p[k], ret, err);
            known->confirmed += code == 0 && *ret;
        }
    }
    return code;
}

static int is_controller_served(struct visit *v, const struct plan *plan, bool *ret, struct err *err)
{
    static const int64_t first = 50 * NS_PER_MS; /* a server takes a moment to learn of new bindings */
    enum { DOUBLINGS = 5 };
    str user =
        str_fmt(v->a, "system:serviceaccount:%.*s:%.*s", STR(v->asked.namespace), STR(object_name(&plan->account)));
    struct holding_rights known = recall_rights(v, hash_grants(v->a, user, plan));
    int code = ask_rules(v, plan, user, &known, ret, err);
    if (code == 0 && !*ret) {
        v->r->again_ns = first << known.tries;
        known.tries += known.tries < DOUBLINGS;
    }
    remember_rights(v, &known);
    return code;
}

/* ---- What people are granted: read from the cache, whose changes wake the install. ---- */

static str persona_of(struct visit *v, const struct plan_grant *grant)
{
    static const char *const names[] = {[PLAN_ADMIN] = "admin", [PLAN_EDIT] = "edit", [PLAN_VIEW] = "view"};
    if (grant->is_cluster_wide)
        return str_fmt(v->a, PERSONA_ENVIRONMENT "%s", names[grant->who]);
    return str_fmt(v->a, "crossplane:ns:%.*s:%s", STR(grant->namespace), names[grant->who]);
}

/* Where nobody asked for the roles of a namespace there is nothing to follow. */
static bool is_persona_served(struct visit *v, const struct plan_grant *grant)
{
    struct json role;
    struct rules rules;
    if (!informer_read(v->s->personas, v->a, (str){0}, persona_of(v, grant), &role))
        return true;
    return rules_from_json(v->a, json_get(&role, S("rules")), &rules, NULL) == 0 &&
           rules_cover(v->a, rules, grant->rules, NULL);
}

static void await_personas(struct visit *v, bool is_awaiting)
{
    installs_lock(v->s);
    struct holding *h = holding_get(v->s, object_uid(&v->install));
    if (h)
        h->awaits_personas = is_awaiting;
    installs_unlock(v->s);
}

/* The install counts as waiting before the roles are read: a role that changes in between wakes it. */
static bool are_personas_served(struct visit *v, const struct plan *plan)
{
    bool is_served = true;
    await_personas(v, true);
    for (size_t i = 0; is_served && i < plan->n_grants; i++)
        is_served = plan->grants[i].who == PLAN_CONTROLLER || is_persona_served(v, &plan->grants[i]);
    if (is_served)
        await_personas(v, false);
    return is_served;
}

static void enqueue_awaiting(struct installs *s, const struct lane *lane, str namespace)
{
    struct items items ITEMS_SCOPE = informer_list(lane->installs, namespace);
    installs_lock(s);
    for (size_t i = 0; i < items.n; i++) {
        const struct holding *h = holding_get(s, item_uid(items.p[i]));
        if (h && h->awaits_personas)
            control_enqueue(lane->controller, h->namespace, h->name);
    }
    installs_unlock(s);
}

void rights_persona_changed(void *ctx, const struct informer_change *change)
{
    struct installs *s = ctx;
    str name = item_name(change->now ? change->now : change->was), namespace = persona_namespace(name);
    bool is_environment = str_has_prefix(name, S(PERSONA_ENVIRONMENT));
    for (size_t i = 0; (namespace.n || is_environment) && i < LANES; i++) {
        if (s->lanes[i].is_cluster == is_environment)
            enqueue_awaiting(s, &s->lanes[i], namespace);
    }
}

int rights_are_in_force(struct visit *v, const struct plan *plan, bool *ret, struct err *err)
{
    *ret = true;
    int code = is_controller_served(v, plan, ret, err);
    if (code == 0 && *ret && v->s->personas) /* NULL: the server has aggregated rules in effect at once */
        *ret = are_personas_served(v, plan);
    return code;
}
