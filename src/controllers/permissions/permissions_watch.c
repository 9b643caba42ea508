/* SPDX-License-Identifier: Apache-2.0 */
/* From a change to the permissions concerned, and to nobody else.
 *
 *   ClusterPermission        spec, approval, a status that somebody else wrote   itself
 *   ManifestWork             spec, status, owner, deletion                       the permission that it belongs to
 *   ManagedCluster           comes, goes, is about to; its agent is Reeve's      all of its namespace
 *   ManagedServiceAccount    comes, goes                                         those that name it
 *   ManagedClusterAddOn      its namespace on the managed cluster                those of its namespace with such subjects
 *   Namespace                comes, goes, labels                                 those whose selectors are evaluated here
 *   Role, ClusterRole        whatever                                            those that refer to it
 *
 * A permission is cached as its keys and what others ask for it by, as marks: texts that the informer finds it by. They stand where
 * owners do, because that is where an informer looks for many values of one object. */
#include "base/map.h"
#include "controllers/permissions/permissions_internal.h"
#include "object/fleet.h"
#include "object/object.h"

#define ACCOUNT "account/"

/* ---- What is kept. ---- */

static void copy(struct arena *a, struct json *to, const struct json *from, str key)
{
    const struct json *value = json_get(from, key);
    if (value)
        json_add(a, to, key, *value);
}

/* apiVersion, kind and what tells an object and its state from others. */
static struct json keys_of(struct arena *a, const struct json *object, struct json **ret_meta)
{
    static const str kept[] = {S_INIT("namespace"),       S_INIT("name"),       S_INIT("uid"),
                               S_INIT("resourceVersion"), S_INIT("generation"), S_INIT("deletionTimestamp")};
    struct json top = json_obj_sized(a, 5), meta = json_obj_sized(a, 8);
    for (size_t i = 0; i < COUNT(kept); i++)
        copy(a, &meta, object_meta(object), kept[i]);
    copy(a, &top, object, S("apiVersion"));
    copy(a, &top, object, S("kind"));
    *ret_meta = json_add(a, &top, S("metadata"), meta);
    return top;
}

/* Of this process: nobody else can find another value with the same one. */
static struct json digest_of(struct arena *a, const struct json *value)
{
    struct buf text = {.arena = a};
    if (json_is_null(value))
        return json_str(S(""));
    json_encode(&text, value, JSON_SORTED);
    return json_str(str_fmt(a, "%016llx", (unsigned long long)hash_str(buf_str(&text))));
}

static void mark(struct arena *a, struct json *marks, str text)
{
    struct json owner = json_obj();
    json_add(a, &owner, S("uid"), json_str(text));
    json_push(a, marks, owner);
}

static str account_mark(struct arena *a, str namespace, str name)
{
    return str_fmt(a, ACCOUNT "%.*s/%.*s", STR(namespace), STR(name));
}

/* The namespace of a ClusterRole is empty. */
static str role_mark(struct arena *a, str namespace, str name)
{
    return str_fmt(a, "role/%.*s/%.*s", STR(namespace), STR(name));
}

/* By cluster: most have an agent that selects for itself, and are passed over together. */
static str selector_mark(struct arena *a, str namespace)
{
    return str_fmt(a, "selects/%.*s", STR(namespace));
}

static void mark_subject(struct arena *a, struct json *marks, const struct json *subject, str namespace)
{
    if (str_eq(json_get_text(subject, S("apiGroup")), S(FLEET_ACCOUNT_GROUP)) &&
        str_eq(json_get_text(subject, S("kind")), S("ManagedServiceAccount")))
        mark(a, marks, account_mark(a, namespace, json_get_text(subject, S("name"))));
}

static void mark_binding(struct arena *a, struct json *marks, const struct json *binding, str namespace)
{
    const struct json *subjects = json_get(binding, S("subjects"));
    mark_subject(a, marks, json_get(binding, S("subject")), namespace);
    json_each_item(subjects, subject) mark_subject(a, marks, subject, namespace);
}

static bool has_selector(const struct json *list)
{
    json_each_item(list, it)
    {
        if (!json_is_null(json_get(it, S("namespaceSelector"))))
            return true;
    }
    return false;
}

static struct json marks_of(struct arena *a, const struct json *spec, str namespace)
{
    struct json marks = json_arr();
    const struct json *many = json_get(spec, S("clusterRoleBindings")), *bindings = json_get(spec, S("roleBindings")),
                      *refs = json_get(spec, S("roleRefs"));
    mark_binding(a, &marks, json_get(spec, S("clusterRoleBinding")), namespace);
    json_each_item(many, binding) mark_binding(a, &marks, binding, namespace);
    json_each_item(bindings, binding) mark_binding(a, &marks, binding, namespace);
    json_each_item(refs, ref)
    {
        bool is_role = str_eq(json_get_text(ref, S("kind")), S("Role"));
        mark(a, &marks,
             role_mark(a, is_role ? json_get_text(ref, S("namespace")) : (str){0}, json_get_text(ref, S("name"))));
    }
    if (has_selector(bindings) || has_selector(json_get(spec, S("roles"))))
        mark(a, &marks, selector_mark(a, namespace));
    return marks;
}

struct json watch_trim_permission(struct arena *a, const struct json *object)
{
    struct json *meta, note = json_arr();
    struct json kept = keys_of(a, object, &meta);
    str approved = object_annotation(object, S(FLEET_ANNOTATION_APPROVED)),
        requester = object_annotation(object, S(FLEET_ANNOTATION_REQUESTER));
    struct json marks = marks_of(a, json_get(object, S("spec")), object_namespace(object));
    if (json_len(&marks))
        json_add(a, meta, S("ownerReferences"), marks);
    json_push(a, &note, json_str(approved));
    json_push(a, &note, json_str(requester));
    json_add(a, &kept, S("approval"), approved.n || requester.n ? digest_of(a, &note) : json_str(S("")));
    json_add(a, &kept, S("status"), digest_of(a, json_get(object, S("status"))));
    return kept;
}

/* The permission that it belongs to, or NULL. */
static const struct json *owner_of(const struct json *work)
{
    const struct json *owners = object_owners(work);
    json_each_item(owners, owner)
    {
        str group, version;
        if (json_true(json_get(owner, S("controller"))) &&
            str_eq(json_get_text(owner, S("kind")), S("ClusterPermission")) &&
            str_cut(json_get_text(owner, S("apiVersion")), '/', &group, &version) &&
            str_eq(group, S(FLEET_PERMISSION_GROUP)))
            return owner;
    }
    return NULL;
}

struct json watch_trim_work(struct arena *a, const struct json *object)
{
    struct json *meta, owners = json_arr(), kept = keys_of(a, object, &meta);
    const struct json *owner = owner_of(object);
    if (!owner)
        return kept;
    json_push(a, &owners, *owner);
    json_add(a, meta, S("ownerReferences"), owners);
    json_add(a, &kept, S("status"), digest_of(a, json_get(object, S("status"))));
    return kept;
}

struct json watch_trim_cluster(struct arena *a, const struct json *object)
{
    struct json *meta, labels = json_obj(), kept = keys_of(a, object, &meta);
    bool has_agent = str_eq(object_label(object, S(FLEET_LABEL_AGENT)), S("true"));
    json_add(a, &labels, S(FLEET_LABEL_AGENT), json_str(has_agent ? S("true") : S("false")));
    json_add(a, meta, S("labels"), labels);
    return kept;
}

struct json watch_trim_addon(struct arena *a, const struct json *object)
{
    struct json *meta, spec = json_obj(), status = json_obj(), kept = keys_of(a, object, &meta);
    copy(a, &spec, json_get(object, S("spec")), S("installNamespace"));
    copy(a, &status, json_get(object, S("status")), S("namespace"));
    json_add(a, &kept, S("spec"), spec);
    json_add(a, &kept, S("status"), status);
    return kept;
}

/* ---- Comparing what is kept. ---- */

/* Handlers may be shown whole objects; what was trimmed is of one shape. */
static struct json tree_of(struct arena *a, const struct item *item)
{
    return item ? item_tree(a, item) : json_null();
}

static bool is_same(const struct json *was, const struct json *now, const char *path)
{
    const struct json *l = json_dig(was, path), *r = json_dig(now, path);
    return json_is_null(l) || json_is_null(r) ? json_is_null(l) && json_is_null(r) : json_equal(l, r);
}

static void enqueue_items(struct permissions *p, const struct items *list)
{
    for (size_t i = 0; i < list->n; i++)
        control_enqueue(p->controller, item_namespace(list->p[i]), item_name(list->p[i]));
}

static void enqueue_marked(struct permissions *p, str text)
{
    struct items list ITEMS_SCOPE = informer_by_owner(p->permissions, text);
    enqueue_items(p, &list);
}

/* ---- Permissions and their works. ---- */

void watch_permission(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = tree_of(&scratch, change->was), now = tree_of(&scratch, change->now);
    if (!change->now) { /* what it delivered is garbage now, and somebody else's work */
        echo_forget(p->echoes, item_namespace(change->was), item_name(change->was));
        return;
    }
    str namespace = item_namespace(change->now), name = item_name(change->now);
    bool is_same_wish = change->was && is_same(&was, &now, "metadata.generation") && is_same(&was, &now, "approval") &&
                        is_same(&was, &now, "metadata.deletionTimestamp");
    if (is_same_wish && is_same(&was, &now, "status"))
        return;
    if (!is_same_wish || echo_hear(p->echoes, namespace, name, (str){0}, item_version(change->now)))
        control_enqueue(p->controller, namespace, name);
}

void watch_work(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = tree_of(&scratch, change->was), now = tree_of(&scratch, change->now);
    const struct json *old = owner_of(&was), *owner = owner_of(&now);
    const struct item *item = change->now ? change->now : change->was;
    str name = json_get_text(owner, S("name"));
    bool is_same_owner = old && owner && json_equal(old, owner);
    if (old && !is_same_owner)
        control_enqueue(p->controller, item_namespace(item), json_get_text(old, S("name")));
    if (!owner || (is_same_owner && is_same(&was, &now, "metadata.generation") && is_same(&was, &now, "status") &&
                   is_same(&was, &now, "metadata.deletionTimestamp")))
        return;
    if (echo_hear(p->echoes, item_namespace(item), name, item_name(item), item_version(item)))
        control_enqueue(p->controller, item_namespace(item), name);
}

/* ---- What they are made from. At start all permissions are visited anyway, after all of this is known. ---- */

void watch_cluster(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = tree_of(&scratch, change->was), now = tree_of(&scratch, change->now);
    if (!informer_is_synced(p->clusters) || (change->was && change->now && is_same(&was, &now, "metadata.labels") &&
                                             is_same(&was, &now, "metadata.deletionTimestamp")))
        return;
    struct items list ITEMS_SCOPE = informer_list(p->permissions, item_name(change->now ? change->now : change->was));
    enqueue_items(p, &list);
}

void watch_account(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    const struct item *item = change->now ? change->now : change->was;
    if (informer_is_synced(p->accounts) && (!change->was || !change->now))
        enqueue_marked(p, account_mark(&scratch, item_namespace(item), item_name(item)));
}

static bool has_accounts(struct arena *a, const struct item *permission)
{
    struct json tree = item_tree(a, permission);
    const struct json *marks = object_owners(&tree);
    json_each_item(marks, it)
    {
        if (str_has_prefix(json_get_text(it, S("uid")), S(ACCOUNT)))
            return true;
    }
    return false;
}

void watch_addon(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = tree_of(&scratch, change->was), now = tree_of(&scratch, change->now);
    if (!informer_is_synced(p->addons) ||
        (change->was && change->now && is_same(&was, &now, "spec") && is_same(&was, &now, "status")))
        return;
    struct items list ITEMS_SCOPE =
        informer_list(p->permissions, item_namespace(change->now ? change->now : change->was));
    for (size_t i = 0; i < list.n; i++) {
        if (has_accounts(&scratch, list.p[i]))
            control_enqueue(p->controller, item_namespace(list.p[i]), item_name(list.p[i]));
    }
}

void watch_namespace(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct json was = tree_of(&scratch, change->was), now = tree_of(&scratch, change->now);
    if (!informer_is_synced(p->namespaces) || (change->was && change->now && is_same(&was, &now, "metadata.labels")))
        return;
    struct items clusters ITEMS_SCOPE = informer_by_label(p->clusters, S(FLEET_LABEL_AGENT), S("false"));
    for (size_t i = 0; i < clusters.n; i++)
        enqueue_marked(p, selector_mark(&scratch, item_name(clusters.p[i])));
}

void watch_role(void *ctx, const struct informer_change *change)
{
    struct permissions *p = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    const struct item *item = change->now ? change->now : change->was;
    struct informer *informer = item_namespace(item).n ? p->roles : p->cluster_roles;
    if (informer_is_synced(informer))
        enqueue_marked(p, role_mark(&scratch, item_namespace(item), item_name(item)));
}
