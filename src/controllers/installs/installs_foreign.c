/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the ServiceAccount of an install already has access that this install did not give it: by a binding that names it, or all
 * accounts of its namespace, or the user name that it has.
 *
 * All bindings are cached as their keys, their role, whose they are, and marks: texts that stand where owners do, by which the informer
 * finds them. An account without foreign bindings, which is nearly every one, costs two look-ups and no request. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"

#define RBAC "rbac.authorization.k8s.io"
#define USER_PREFIX "system:serviceaccount:"
#define GROUP_PREFIX "system:serviceaccounts:"
#define MARK_EVERYONE "everyone"
#define MARK_ACCOUNT "account/"     /* + namespace/name */
#define MARK_NAMESPACE "namespace/" /* + namespace */

/* ---- What is kept of bindings. ---- */

static str account_mark(struct arena *a, str namespace, str name)
{
    return str_fmt(a, MARK_ACCOUNT "%.*s/%.*s", STR(namespace), STR(name));
}

static str namespace_mark(struct arena *a, str namespace)
{
    return str_fmt(a, MARK_NAMESPACE "%.*s", STR(namespace));
}

/* Empty: it is about no ServiceAccount. */
static str subject_mark(struct arena *a, const struct json *subject, str binding_namespace)
{
    str kind = json_get_text(subject, S("kind")), name = json_get_text(subject, S("name"));
    str namespace = json_get_text(subject, S("namespace")), account;
    if (str_eq(kind, S("ServiceAccount")))
        return account_mark(a, namespace.n ? namespace : binding_namespace, name);
    if (str_eq(kind, S("User")) && str_has_prefix(name, S(USER_PREFIX)) &&
        str_cut(str_from(name, sizeof USER_PREFIX - 1), ':', &namespace, &account))
        return account_mark(a, namespace, account);
    if (!str_eq(kind, S("Group")))
        return (str){0};
    if (str_has_prefix(name, S(GROUP_PREFIX)))
        return namespace_mark(a, str_from(name, sizeof GROUP_PREFIX - 1));
    bool is_everyone = str_eq(name, S("system:authenticated")) || str_eq(name, S("system:serviceaccounts"));
    return is_everyone ? S(MARK_EVERYONE) : (str){0};
}

struct json foreign_trim(struct arena *a, const struct json *binding)
{
    static const str kept[] = {S_INIT("namespace"), S_INIT("name"), S_INIT("uid"), S_INIT("resourceVersion")};
    struct json top = json_obj(), meta = json_obj(), labels = json_obj(), marks = json_arr();
    const struct json *subjects = json_get(binding, S("subjects")), *role = json_get(binding, S("roleRef"));
    static const str own_labels[] = {S_INIT(LABEL_RECORD), S_INIT(LABEL_INSTALL)};
    for (size_t i = 0; i < COUNT(kept); i++) {
        const struct json *value = json_get(object_meta(binding), kept[i]);
        if (value)
            json_add(a, &meta, kept[i], *value);
    }
    json_each_item(subjects, subject)
    {
        str mark = subject_mark(a, subject, object_namespace(binding));
        struct json owner = json_obj();
        json_add(a, &owner, S("uid"), json_str(mark));
        if (mark.n)
            json_push(a, &marks, owner);
    }
    for (size_t i = 0; i < COUNT(own_labels); i++) {
        if (object_label(binding, own_labels[i]).n)
            json_add(a, &labels, own_labels[i], json_str(object_label(binding, own_labels[i])));
    }
    json_add(a, &meta, S("labels"), labels);
    json_add(a, &meta, S("ownerReferences"), marks);
    json_add(a, &top, S("apiVersion"), json_str(object_api_version(binding)));
    json_add(a, &top, S("kind"), json_str(object_kind(binding)));
    json_add(a, &top, S("metadata"), meta);
    if (role && json_len(&marks))
        json_add(a, &top, S("roleRef"), *role);
    return top;
}

/* ---- From a change to the installs concerned. ---- */

static void enqueue_account(struct installs *s, str namespace, str name)
{
    for (size_t i = 0; i < LANES; i++)
        control_enqueue(s->lanes[i].controller, s->lanes[i].is_cluster ? (str){0} : namespace, name);
}

static void enqueue_namespace(struct installs *s, str namespace)
{
    for (size_t i = 0; i < LANES; i++) {
        struct lane *l = &s->lanes[i];
        struct items items ITEMS_SCOPE = informer_list(l->installs, l->is_cluster ? (str){0} : namespace);
        for (size_t k = 0; k < items.n; k++)
            control_enqueue(l->controller, item_namespace(items.p[k]), item_name(items.p[k]));
    }
}

static void enqueue_marked(struct installs *s, const struct item *item)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json tree = item_tree(&scratch, item);
    const struct json *marks = object_owners(&tree);
    json_each_item(marks, owner)
    {
        str mark = json_get_text(owner, S("uid")), namespace, name;
        if (str_has_prefix(mark, S(MARK_NAMESPACE)))
            enqueue_namespace(s, str_from(mark, sizeof MARK_NAMESPACE - 1));
        else if (str_has_prefix(mark, S(MARK_ACCOUNT)) &&
                 str_cut(str_from(mark, sizeof MARK_ACCOUNT - 1), '/', &namespace, &name))
            enqueue_account(s, namespace, name);
    }
}

/* One that an install made is no news, until it is gone: then it no longer is in the way of another of that name. */
void foreign_changed(void *ctx, const struct informer_change *change)
{
    struct installs *s = ctx;
    if (change->now &&
        (object_label(change->tree, S(LABEL_RECORD)).n || object_label(change->tree, S(LABEL_INSTALL)).n))
        return;
    if (change->was)
        enqueue_marked(s, change->was);
    if (change->now)
        enqueue_marked(s, change->now);
}

/* ---- Whether there are any that count. ---- */

static bool is_own(struct visit *v, const struct json *binding)
{
    str record = object_label(binding, S(LABEL_RECORD));
    struct json cached;
    if (str_eq(object_label(binding, S(LABEL_INSTALL)), object_uid(&v->install)))
        return true;
    if (record.n && str_eq(record, json_text(json_dig(&v->install, "status.packageRecord.uid"))))
        return true;
    str namespace = v->lane->is_cluster ? (str){0} : object_namespace(&v->install);
    return record.n && informer_read(v->lane->records, v->a, namespace, object_name(&v->install), &cached) &&
           str_eq(record, object_uid(&cached));
}

/* False: the role is not there, and could come to grant anything. */
static int read_rules(struct visit *v, const struct json *binding, struct rules *ret, bool *ret_is_there,
                      struct err *err)
{
    const struct json *ref = json_get(binding, S("roleRef"));
    bool is_cluster = str_eq(json_get_text(ref, S("kind")), S("ClusterRole"));
    struct client_ref role = {.resource = &own_resources[is_cluster ? OWN_CLUSTER_ROLE : OWN_ROLE],
                              .namespace = is_cluster ? (str){0} : object_namespace(binding),
                              .name = json_get_text(ref, S("name"))};
    struct json *object = ARENA_NEW(v->a, struct json);
    int code = client_get(v->r->client, v->a, &role, object, err);
    *ret = (struct rules){0};
    *ret_is_there = code == 0;
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code < 0)
        return err_wrap(err, "read %.*s %.*s", STR(role.resource->kind), STR(role.name));
    *ret_is_there = rules_from_json(v->a, json_get(object, S("rules")), ret, NULL) == 0;
    return 0;
}

/* What every authenticated account holds: cluster-wide and, in a namespace, there. */
static int read_everyone(struct visit *v, str namespace, struct rules *ret, struct err *err)
{
    struct informer *all[] = {v->s->bindings[0], v->s->bindings[1]};
    *ret = (struct rules){0};
    for (size_t i = 0; i < (namespace.n ? 2 : 1); i++) {
        struct items items ITEMS_SCOPE = informer_by_owner(all[i], S(MARK_EVERYONE));
        for (size_t k = 0; k < items.n; k++) {
            struct json binding = item_tree(v->a, items.p[k]);
            struct rules rules = {0};
            bool is_there = false;
            if (i && !str_eq(object_namespace(&binding), namespace))
                continue;
            int code = read_rules(v, &binding, &rules, &is_there, err);
            if (code < 0)
                return code;
            *ret = rules_union(v->a, *ret, rules);
        }
    }
    return 0;
}

/* Whether this binding gives more than everyone has; then *ret says so. */
static int check_binding(struct visit *v, const struct json *binding, str *ret, struct err *err)
{
    struct rules rules = {0}, everyone = {0};
    bool is_there = false;
    int code = read_rules(v, binding, &rules, &is_there, err);
    if (code == 0)
        code = read_everyone(v, object_namespace(binding), &everyone, err);
    if (code < 0 || (is_there && rules_cover(v->a, everyone, rules, NULL)))
        return code;
    str namespace = object_namespace(binding);
    *ret =
        str_fmt(v->a,
                "ServiceAccount %.*s/%.*s already has access through %.*s \"%.*s%s%.*s\", which this install did not "
                "create. Use another name or namespace for the install, or delete the binding",
                STR(v->asked.namespace), STR(v->asked.name), STR(object_kind(binding)), STR(namespace),
                namespace.n ? "/" : "", STR(object_name(binding)));
    return 0;
}

int foreign_check(struct visit *v, str *ret, bool *ret_any, struct err *err)
{
    str marks[] = {account_mark(v->a, v->asked.namespace, v->asked.name), namespace_mark(v->a, v->asked.namespace)};
    int code = 0;
    *ret = (str){0};
    *ret_any = false;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct items items ITEMS_SCOPE = informer_by_owner(v->s->bindings[i], marks[k]);
            for (size_t n = 0; code == 0 && !ret->n && n < items.n; n++) {
                struct json binding = item_tree(v->a, items.p[n]);
                if (is_own(v, &binding))
                    continue;
                *ret_any = true;
                code = check_binding(v, &binding, ret, err);
            }
        }
    }
    return code;
}
