/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/escalation.h"

#include "authz/validate.h"
#include "base/budget.h"
#include "object/object.h"
#include "object/status.h"

/* One check under way. */
struct check {
    struct arena *arena;  /* of the answer */
    struct arena scratch; /* of everything else */
    const struct authz_index *ix;
    const struct authz_identity *who;
    const struct escalation_write *write;
    struct json *status;
};

static struct status_subject about(const struct check *c, str name)
{
    return (struct status_subject){RBAC_GROUP, str_of(c->write->kind->plural), name};
}

static int forbid(struct check *c, str why)
{
    *c->status = status_forbidden(c->arena, about(c, object_name(c->write->object)), why);
    return ERR_FORBIDDEN;
}

static int bad_request(struct check *c, str why)
{
    *c->status = status_bad_request(c->arena, why);
    return ERR_BAD_REQUEST;
}

/* ---- What the writer holds. ---- */

struct holdings {
    struct check *check;
    VEC(struct rule) rules;
    VEC(str) missing; /* texts about roles that the writer's bindings refer to in vain */
    struct map seen;
};

/* Kubernetes reads roles through the storage of the kind that is being written, and the texts name that kind. */
static str missing_text(struct check *c, const struct authz_grant *grant)
{
    struct buf b = {.arena = &c->scratch};
    if (grant->role_kind == AUTHZ_UNKNOWN) {
        authz_missing_format(&b, grant);
    } else {
        buf_fmt(&b, "%s.%.*s ", c->write->kind->plural, STR(RBAC_GROUP));
        buf_add_quoted(&b, grant->role_name);
        buf_add_str(&b, S(" not found"));
    }
    return buf_str(&b);
}

static bool collect(void *ctx, const struct authz_grant *grant)
{
    struct holdings *h = ctx;
    struct arena *a = &h->check->scratch;
    if (!grant->role) {
        str text = missing_text(h->check, grant);
        if (!map_set(&h->seen, text, h))
            *vec_push(a, &h->missing) = text;
        return true;
    }
    rules_each(grant->role->rules, rule) * vec_push(a, &h->rules) = *rule;
    return true;
}

static void add_missing_roles(struct buf *b, const struct holdings *h)
{
    if (h->missing.n == 0)
        return;
    buf_add_str(b, h->missing.n > 1 ? S("; resolution errors: [[") : S("; resolution errors: ["));
    for (size_t i = 0; i < h->missing.n; i++) {
        buf_add_str(b, i ? S(", ") : S(""));
        buf_add_str(b, h->missing.p[i]);
    }
    buf_add_str(b, h->missing.n > 1 ? S("]]") : S("]"));
}

static str refusal(struct check *c, const struct covers_missing *missing, const struct holdings *h)
{
    struct buf b = {.arena = &c->scratch};
    buf_add_str(&b, S("user "));
    buf_add_quoted(&b, c->who->user);
    buf_add_str(&b, S(" (groups=["));
    strs_each(c->who->groups, group)
    {
        if (group != c->who->groups.p)
            buf_add_char(&b, ' ');
        buf_add_quoted(&b, *group);
    }
    buf_add_str(&b, S("]) is attempting to grant RBAC permissions not currently held:\n"));
    covers_format(&b, missing);
    add_missing_roles(&b, h);
    return buf_str(&b);
}

/* True when the writer holds all rules wanted; else *ret_why, if not NULL, says what is missing. */
static bool holds(struct check *c, struct rules wanted, str *ret_why)
{
    struct holdings h = {.check = c};
    struct covers_missing missing;
    budget_hold(); /* roles may be replaced while the comparison is suspended: it works on copies */
    authz_visit(c->ix, c->who, c->write->namespace, collect, &h);
    struct rules held = rules_dup(&c->scratch, (struct rules){h.rules.p, h.rules.n});
    wanted = rules_dup(&c->scratch, wanted);
    budget_release();
    bool covered = rules_cover(&c->scratch, held, wanted, ret_why ? &missing : NULL);
    if (!covered && ret_why)
        *ret_why = refusal(c, &missing, &h);
    map_done(&h.seen);
    return covered;
}

static bool may(struct check *c, const char *verb, str group, const char *resource, str name)
{
    struct authz_attributes what = {
        .is_resource = true,
        .verb = str_of(verb),
        .group = group,
        .version = S("*"),
        .resource = str_of(resource),
        .name = name,
        .namespace = c->write->namespace,
    };
    return authz_check(c->ix, c->who, &what, NULL).allowed;
}

/* ---- Updates that change nothing of what is granted. ---- */

static bool is_unset(const struct json *v)
{
    return json_is_null(v) || (v->type >= JSON_STR && v->n == 0);
}

static bool is_same(const struct json *x, const struct json *y);

/* All members of x but the names left out are the same in y. */
static bool has_same_members(const struct json *x, const struct json *y, struct strs left_out)
{
    struct json_index ix JSON_INDEX_SCOPE = {0};
    json_index_init(&ix, y);
    json_each_member(x, m)
    {
        const struct json_member *other = json_index_find(&ix, json_key(m));
        if (!strs_have(left_out, json_key(m)) && !is_same(&m->val, other ? &other->val : NULL))
            return false;
    }
    return true;
}

static bool are_same_members(const struct json *x, const struct json *y, struct strs left_out)
{
    return has_same_members(x, y, left_out) && has_same_members(y, x, left_out);
}

static bool is_same(const struct json *x, const struct json *y)
{
    if (is_unset(x) || is_unset(y))
        return is_unset(x) && is_unset(y);
    if (json_is_obj(x) && json_is_obj(y))
        return are_same_members(x, y, (struct strs){0});
    if (!json_is_arr(x) || !json_is_arr(y))
        return json_equal(x, y);
    for (size_t i = 0; i < x->n && x->n == y->n; i++) {
        if (!is_same(&x->items[i], &y->items[i]))
            return false;
    }
    return x->n == y->n;
}

bool escalation_is_only_gc(const struct json *object, const struct json *current)
{
    static const str gc[] = {S_INIT("ownerReferences"), S_INIT("finalizers"), S_INIT("selfLink"),
                             S_INIT("managedFields")};
    static const str metadata[] = {S_INIT("metadata")};
    if (!json_is_obj(object) || !json_is_obj(current))
        return false;
    return are_same_members(object_meta(object), object_meta(current), (struct strs){gc, 4}) &&
           are_same_members(object, current, (struct strs){metadata, 1});
}

/* ---- Roles. ---- */

static bool selects(const struct json *object)
{
    return json_len(json_get(json_get(object, S("aggregationRule")), S("clusterRoleSelectors"))) > 0;
}

static bool holds_everything(struct check *c)
{
    static const str all[] = {S_INIT("*")};
    static const struct rule everything[] = {
        {.verbs = {all, 1}, .api_groups = {all, 1}, .resources = {all, 1}},
        {.verbs = {all, 1}, .non_resource_urls = {all, 1}},
    };
    return holds(c, (struct rules){everything, 2}, NULL);
}

static int check_role(struct check *c)
{
    const struct escalation_write *w = c->write;
    struct rules rules;
    struct err err = {0};
    str why;
    if (may(c, "escalate", RBAC_GROUP, w->kind->plural, w->name) || escalation_is_only_gc(w->object, w->current))
        return 0;
    if (rules_from_json(&c->scratch, json_get(w->object, S("rules")), &rules, &err) < 0)
        return bad_request(c, str_of(err.msg));
    if (!holds(c, rules, &why))
        return forbid(c, why);
    if (!w->kind->namespaced && (selects(w->object) || selects(w->current)) && !holds_everything(c))
        return forbid(c, S("must have cluster-admin privileges to use the aggregationRule"));
    return 0;
}

/* ---- Bindings. ---- */

static int refuse_kind(struct check *c, str kind)
{
    struct buf b = {.arena = &c->scratch};
    buf_add_str(&b, S("unsupported role reference kind: "));
    buf_add_quoted(&b, kind);
    *c->status = status_unknown(c->arena, buf_str(&b));
    return ERR_INTERNAL;
}

static int check_binding(struct check *c)
{
    const struct escalation_write *w = c->write;
    const struct json *ref = json_get(w->object, S("roleRef"));
    str name = json_get_text(ref, S("name")), why;
    enum authz_kind kind = authz_kind_of(json_get_text(ref, S("kind")));
    if (escalation_is_only_gc(w->object, w->current))
        return 0;
    if (kind != AUTHZ_ROLE && kind != AUTHZ_CLUSTER_ROLE)
        return refuse_kind(c, json_get_text(ref, S("kind")));
    if (may(c, "bind", json_get_text(ref, S("apiGroup")), kind == AUTHZ_ROLE ? "roles" : "clusterroles", name))
        return 0;
    if (kind == AUTHZ_ROLE && !w->kind->namespaced)
        return bad_request(c, S("Namespace parameter required."));
    if (name.n == 0)
        return bad_request(c, S("Name parameter required."));
    const struct authz_role *role = authz_get_role(c->ix, kind, kind == AUTHZ_ROLE ? w->namespace : (str){0}, name);
    if (!role) {
        *c->status = status_not_found(c->arena, about(c, name));
        return ERR_NOT_FOUND;
    }
    return holds(c, role->rules, &why) && holds(c, w->pending, &why) ? 0 : forbid(c, why);
}

static int check_write(struct check *c)
{
    enum authz_kind kind = rbac_kind_of(c->write->kind);
    if (kind == AUTHZ_UNKNOWN || authz_is_master(c->who))
        return 0;
    if (!c->ix || !c->who || (c->who->user.n == 0 && c->who->groups.n == 0))
        return forbid(c, S("no user on context"));
    if (c->write->kind->namespaced && c->write->namespace.n == 0)
        return bad_request(c, S("namespace is required"));
    if (!c->write->kind->namespaced && c->write->namespace.n) /* or what is held there would count everywhere */
        return bad_request(c, S("namespace is not allowed"));
    return kind == AUTHZ_ROLE || kind == AUTHZ_CLUSTER_ROLE ? check_role(c) : check_binding(c);
}

int escalation_check(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                     const struct escalation_write *write, struct json *ret_status)
{
    struct check c = {.arena = a, .ix = ix, .who = who, .write = write, .status = ret_status};
    int rc = check_write(&c);
    arena_done(&c.scratch);
    return rc;
}
