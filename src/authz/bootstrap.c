/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/bootstrap.h"
#include "authz/bootstrap_internal.h"
#include "authz/rule.h"
#include "object/object.h"

#include <assert.h>

/* From rows of the tables to objects. */

#define GROUP "rbac.authorization.k8s.io"
#define AGGREGATE_PREFIX GROUP "/"
#define CONTROLLER_PREFIX "system:controller:"

static struct json text(const char *s)
{
    return json_str(str_of(s));
}

static struct json list_of(struct arena *a, str commas)
{
    struct json list = json_arr();
    str item;
    bool more;
    do {
        more = str_cut(commas, ',', &item, &commas);
        json_push(a, &list, json_str(item));
    } while (more);
    return list;
}

/* "get,list::pods" and "get@/version" */
struct json bootstrap_rule(struct arena *a, str source)
{
    static const str fields[] = {S_INIT("apiGroups"), S_INIT("resources"), S_INIT("resourceNames")};
    struct json rule = json_obj();
    str verbs, rest, part;
    if (str_cut(source, '@', &verbs, &rest)) {
        json_add(a, &rule, S("verbs"), list_of(a, verbs));
        json_add(a, &rule, S("nonResourceURLs"), list_of(a, rest));
        return rule;
    }
    enum { FIELDS = COUNT(fields) };
    bool more = str_cut(source, ':', &verbs, &rest);
    json_add(a, &rule, S("verbs"), list_of(a, verbs));
    for (size_t i = 0; more; i++) {
        part = rest;
        more = i + 1 < FIELDS && str_cut(rest, ':', &part, &rest);
        json_add(a, &rule, fields[i], list_of(a, part));
    }
    return rule;
}

static struct json make_object(struct arena *a, const char *kind, str name, const char *namespace, const char *label)
{
    struct json object = json_obj(), labels = json_obj(), notes = json_obj(), meta = json_obj();
    json_add(a, &labels, S("kubernetes.io/bootstrapping"), text("rbac-defaults"));
    if (label)
        json_add(a, &labels, str_fmt(a, AGGREGATE_PREFIX "%s", label), text("true"));
    json_add(a, &notes, S("rbac.authorization.kubernetes.io/autoupdate"), text("true"));
    json_add(a, &meta, S("name"), json_str(name));
    if (namespace)
        json_add(a, &meta, S("namespace"), text(namespace));
    json_add(a, &meta, S("labels"), labels);
    json_add(a, &meta, S("annotations"), notes);
    json_add(a, &object, S("kind"), text(kind));
    json_add(a, &object, S("apiVersion"), text(GROUP "/v1"));
    json_add(a, &object, S("metadata"), meta);
    return object;
}

static struct json aggregation_rule(struct arena *a, const char *label)
{
    struct json labels = json_obj(), selector = json_obj(), selectors = json_arr(), rule = json_obj();
    json_add(a, &labels, str_fmt(a, AGGREGATE_PREFIX "%s", label), text("true"));
    json_add(a, &selector, S("matchLabels"), labels);
    json_push(a, &selectors, selector);
    json_add(a, &rule, S("clusterRoleSelectors"), selectors);
    return rule;
}

static struct json make_role(struct arena *a, const struct bootstrap_role *row, const char *prefix)
{
    struct json rules = json_arr();
    struct json role = make_object(a, row->namespace ? "Role" : "ClusterRole", str_fmt(a, "%s%s", prefix, row->name),
                                   row->namespace, row->label);
    for (size_t i = 0; row->rules[i]; i++)
        json_push(a, &rules, bootstrap_rule(a, str_of(row->rules[i])));
    json_add(a, &role, S("rules"), row->selects ? json_null() : rules);
    if (row->selects)
        json_add(a, &role, S("aggregationRule"), aggregation_rule(a, row->selects));
    return role;
}

/* "Group g" and "ServiceAccount namespace/name" */
static struct json make_subject(struct arena *a, str source)
{
    struct json subject = json_obj();
    str kind, who, namespace, name;
    bool has_kind = str_cut(source, ' ', &kind, &who);
    assert(has_kind);
    json_add(a, &subject, S("kind"), json_str(kind));
    if (str_cut(who, '/', &namespace, &name)) {
        json_add(a, &subject, S("name"), json_str(name));
        json_add(a, &subject, S("namespace"), json_str(namespace));
    } else {
        json_add(a, &subject, S("apiGroup"), text(GROUP));
        json_add(a, &subject, S("name"), json_str(who));
    }
    return subject;
}

static struct json make_binding(struct arena *a, const struct bootstrap_binding *row)
{
    struct json subjects = json_arr(), ref = json_obj();
    struct json binding =
        make_object(a, row->namespace ? "RoleBinding" : "ClusterRoleBinding", str_of(row->name), row->namespace, NULL);
    for (size_t i = 0; row->subjects[i]; i++)
        json_push(a, &subjects, make_subject(a, str_of(row->subjects[i])));
    json_add(a, &ref, S("apiGroup"), text(GROUP));
    json_add(a, &ref, S("kind"), text(row->namespace ? "Role" : "ClusterRole"));
    json_add(a, &ref, S("name"), text(row->role ? row->role : row->name));
    if (json_len(&subjects))
        json_add(a, &binding, S("subjects"), subjects);
    json_add(a, &binding, S("roleRef"), ref);
    return binding;
}

static struct json controller_binding(struct arena *a, const struct bootstrap_role *controller)
{
    str name = str_fmt(a, CONTROLLER_PREFIX "%s", controller->name);
    str subject = str_fmt(a, "ServiceAccount kube-system/%s", controller->name);
    struct bootstrap_binding row = {.name = str_cstr(a, name), {str_cstr(a, subject)}};
    return make_binding(a, &row);
}

size_t bootstrap_count(void)
{
    return bootstrap_cluster_roles_n + 2 * bootstrap_controllers_n + bootstrap_cluster_role_bindings_n +
           bootstrap_namespaced_roles_n + bootstrap_role_bindings_n;
}

struct json bootstrap_object(struct arena *a, size_t i)
{
    assert(i < bootstrap_count());
    if (i < bootstrap_cluster_roles_n)
        return make_role(a, &bootstrap_cluster_roles[i], "");
    i -= bootstrap_cluster_roles_n;
    if (i < bootstrap_controllers_n)
        return make_role(a, &bootstrap_controllers[i], CONTROLLER_PREFIX);
    i -= bootstrap_controllers_n;
    if (i < bootstrap_cluster_role_bindings_n)
        return make_binding(a, &bootstrap_cluster_role_bindings[i]);
    i -= bootstrap_cluster_role_bindings_n;
    if (i < bootstrap_controllers_n)
        return controller_binding(a, &bootstrap_controllers[i]);
    i -= bootstrap_controllers_n;
    if (i < bootstrap_namespaced_roles_n)
        return make_role(a, &bootstrap_namespaced_roles[i], "");
    return make_binding(a, &bootstrap_role_bindings[i - bootstrap_namespaced_roles_n]);
}

/* One object as it is and as it is wanted; what is to be done. Adds what is missing, keeps what somebody else added. */

#define AUTOUPDATE S("rbac.authorization.kubernetes.io/autoupdate")

const char *bootstrap_action_name(enum bootstrap_action action)
{
    static const char *const names[] = {"keep", "create", "update", "recreate"};
    return names[action];
}

/* ---- Lists as sets: which items of one are not in the other? ---- */

static void copy_text(struct arena *a, struct json *to, const struct json *from, str field)
{
    json_add(a, to, field, json_str(json_get_text(from, field)));
}

static struct json plain_subject(struct arena *a, const struct json *subject)
{
    struct json plain = json_obj();
    copy_text(a, &plain, subject, S("kind"));
    copy_text(a, &plain, subject, S("apiGroup"));
    copy_text(a, &plain, subject, S("name"));
    copy_text(a, &plain, subject, S("namespace"));
    return plain;
}

/* Absent and empty are the same; the order of expressions and values matters, as it does in Kubernetes. */
static struct json plain_selector(struct arena *a, const struct json *selector)
{
    const struct json *labels = json_get(selector, S("matchLabels"));
    const struct json *expressions = json_get(selector, S("matchExpressions"));
    struct json plain = json_obj(), list = json_arr();
    json_each_item(expressions, e)
    {
        const struct json *values = json_get(e, S("values"));
        struct json item = json_obj();
        copy_text(a, &item, e, S("key"));
        copy_text(a, &item, e, S("operator"));
        json_add(a, &item, S("values"), json_len(values) ? *values : json_arr());
        json_push(a, &list, item);
    }
    json_add(a, &plain, S("matchLabels"), json_len(labels) ? *labels : json_obj());
    json_add(a, &plain, S("matchExpressions"), list);
    return plain;
}

typedef struct json plain_fn(struct arena *a, const struct json *item);

static str plain_text(struct arena *a, plain_fn *plain, const struct json *item)
{
    struct buf text = {.arena = a};
    struct json v = plain(a, item);
    json_encode(&text, &v, JSON_SORTED);
    return buf_str(&text);
}

/* The items of list that others do not have, each once. */
static struct json not_in(struct arena *a, plain_fn *plain, const struct json *list, const struct json *others)
{
    struct map known = {0};
    struct json rest = json_arr();
    json_each_item(others, it) map_set(&known, plain_text(a, plain, it), a);
    json_each_item(list, it)
    {
        if (map_set(&known, plain_text(a, plain, it), a) == NULL)
            json_push(a, &rest, *it);
    }
    map_done(&known);
    return rest;
}

static struct json concat(struct arena *a, const struct json *list, const struct json *more)
{
    struct json all = json_is_arr(list) ? json_dup_top(a, list) : json_arr();
    json_each_item(more, it) json_push(a, &all, *it);
    return all;
}

/* ---- Labels and annotations: what exists wins. ---- */

static void merge_texts(struct arena *a, struct bootstrap_step *step, const struct json *wanted, str field)
{
    struct json *meta = json_get_mut(&step->object, S("metadata"));
    const struct json *existing = json_get(meta, field), *want = json_get(object_meta(wanted), field);
    struct json merged = json_is_obj(existing) ? json_dup_top(a, existing) : json_obj();
    size_t before = json_len(&merged);
    json_each_member(want, m)
    {
        if (!json_get(&merged, json_key(m)))
            json_add(a, &merged, json_key(m), m->val);
    }
    if (json_len(&merged) == before)
        return;
    json_set(a, meta, field, merged);
    step->action = BOOTSTRAP_UPDATE;
}

static void start_from(struct arena *a, struct bootstrap_step *step, const struct json *existing,
                       const struct json *wanted)
{
    const struct json *meta = object_meta(existing);
    step->object = json_dup_top(a, existing);
    json_set(a, &step->object, S("metadata"), json_is_obj(meta) ? json_dup_top(a, meta) : json_obj());
    merge_texts(a, step, wanted, S("annotations"));
    merge_texts(a, step, wanted, S("labels"));
}

/* ---- Roles. ---- */

/* The rules of a role; none, if they cannot be read. */
static struct rules rules_of(struct arena *a, const struct json *role)
{
    struct rules rules = {0};
    struct err err;
    if (rules_from_json(a, json_get(role, S("rules")), &rules, &err) < 0)
        return (struct rules){0};
    return rules;
}

/* What of the servant's rules the owner does not cover, in single atoms unless they are too many to tell. */
static struct json uncovered(struct arena *a, struct rules owner, struct rules servant)
{
    struct covers_missing missing = {0};
    rules_cover(a, owner, servant, &missing);
    return rules_to_json(a, missing.cut ? missing.sets : missing.atoms);
}

static void reconcile_rules(struct arena *a, struct bootstrap_step *step, const struct json *existing,
                            const struct json *wanted, unsigned flags)
{
    const struct json *rules = json_get(existing, S("rules"));
    struct rules have = rules_of(a, existing), want = rules_of(a, wanted);
    bool both_aggregated = !json_is_null(json_get(existing, S("aggregationRule"))) &&
                           !json_is_null(json_get(wanted, S("aggregationRule")));
    step->missing_rules = uncovered(a, have, want);
    step->extra_rules = both_aggregated ? json_arr() : uncovered(a, want, have);
    bool removes = flags & BOOTSTRAP_REMOVE_EXTRA;
    if (!json_len(&step->missing_rules) && !(removes && json_len(&step->extra_rules)))
        return;
    json_set(a, &step->object, S("rules"),
             removes ? rules_to_json(a, want) : concat(a, have.n ? rules : NULL, &step->missing_rules));
    step->action = BOOTSTRAP_UPDATE;
}

static struct json with_selectors(struct arena *a, struct json selectors)
{
    struct json rule = json_obj();
    json_add(a, &rule, S("clusterRoleSelectors"), selectors);
    return rule;
}

static void reconcile_selectors(struct arena *a, struct bootstrap_step *step, const struct json *existing,
                                const struct json *wanted, unsigned flags)
{
    const struct json *want_rule = json_get(wanted, S("aggregationRule"));
    const struct json *want = json_get(want_rule, S("clusterRoleSelectors"));
    const struct json *have = json_dig(existing, "aggregationRule.clusterRoleSelectors");
    step->missing_selectors = not_in(a, plain_selector, want, have);
    step->extra_selectors = not_in(a, plain_selector, have, want);
    bool removes = flags & BOOTSTRAP_REMOVE_EXTRA;
    if (json_is_null(want_rule)) { /* it was never meant to be aggregated */
        if (json_is_null(json_get(existing, S("aggregationRule"))))
            return;
        json_remove(&step->object, S("aggregationRule"));
    } else if (removes && (json_len(&step->missing_selectors) || json_len(&step->extra_selectors))) {
        json_set(a, &step->object, S("aggregationRule"), *want_rule);
    } else if (json_len(&step->missing_selectors)) {
        struct json all = concat(a, have, &step->missing_selectors);
        json_set(a, &step->object, S("aggregationRule"), with_selectors(a, all));
    } else {
        return;
    }
    step->action = BOOTSTRAP_UPDATE;
}

/* ---- Bindings. ---- */

static bool same_role_ref(const struct json *x, const struct json *y)
{
    return str_eq(json_get_text(x, S("apiGroup")), json_get_text(y, S("apiGroup"))) &&
           str_eq(json_get_text(x, S("kind")), json_get_text(y, S("kind"))) &&
           str_eq(json_get_text(x, S("name")), json_get_text(y, S("name")));
}

static void reconcile_subjects(struct arena *a, struct bootstrap_step *step, const struct json *existing,
                               const struct json *wanted, unsigned flags)
{
    const struct json *have = json_get(existing, S("subjects")), *want = json_get(wanted, S("subjects"));
    step->missing_subjects = not_in(a, plain_subject, want, have);
    step->extra_subjects = not_in(a, plain_subject, have, want);
    bool removes = flags & BOOTSTRAP_REMOVE_EXTRA;
    if (!json_len(&step->missing_subjects) && !(removes && json_len(&step->extra_subjects)))
        return;
    json_set(a, &step->object, S("subjects"),
             removes ? concat(a, want, NULL) : concat(a, have, &step->missing_subjects));
    step->action = BOOTSTRAP_UPDATE;
}

/* ---- All of it. ---- */

static struct json list_or_empty(const struct json *list)
{
    return json_is_arr(list) ? *list : json_arr();
}

static struct bootstrap_step create(const struct json *wanted)
{
    return (struct bootstrap_step){
        .action = BOOTSTRAP_CREATE,
        .object = *wanted,
        .missing_rules = list_or_empty(json_get(wanted, S("rules"))),
        .missing_subjects = list_or_empty(json_get(wanted, S("subjects"))),
        .missing_selectors = list_or_empty(json_dig(wanted, "aggregationRule.clusterRoleSelectors")),
    };
}

struct bootstrap_step bootstrap_reconcile(struct arena *a, const struct json *existing, const struct json *wanted,
                                          unsigned flags)
{
    if (existing == NULL)
        return create(wanted);
    struct bootstrap_step step = {.is_protected = str_eq(object_annotation(existing, AUTOUPDATE), S("false"))};
    const struct json *ref = json_get(wanted, S("roleRef"));
    if (ref && !same_role_ref(json_get(existing, S("roleRef")), ref)) {
        step.action = BOOTSTRAP_RECREATE;
        step.object = *wanted;
        return step;
    }
    start_from(a, &step, existing, wanted);
    if (ref) {
        reconcile_subjects(a, &step, existing, wanted, flags);
    } else {
        reconcile_rules(a, &step, existing, wanted, flags);
        reconcile_selectors(a, &step, existing, wanted, flags);
    }
    if (step.action == BOOTSTRAP_KEEP)
        step.object = json_null();
    return step;
}
