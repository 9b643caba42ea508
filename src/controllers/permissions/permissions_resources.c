/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_resources.h"

#include "authz/validate.h"
#include "controllers/permissions/permissions_text.h"
#include "object/conditions.h"
#include "object/meta.h"

enum {
    ENTRY_BYTES = 240,    /* of an entry besides its texts, about */
    MESSAGE_BYTES = 1024, /* of one object */
    MISSING_BYTES = 30000,
};

static const str list_names[PERMISSION_KINDS] = {
    [PERMISSION_CLUSTER_ROLE] = S_INIT("clusterRoles"),
    [PERMISSION_CLUSTER_ROLE_BINDING] = S_INIT("clusterRoleBindings"),
    [PERMISSION_ROLE] = S_INIT("roles"),
    [PERMISSION_ROLE_BINDING] = S_INIT("roleBindings"),
};

static str identity(struct arena *a, enum permission_kind kind, str namespace, str name)
{
    return str_fmt(a, "%s/%.*s/%.*s", permission_kinds[kind].kind, STR(namespace), STR(name));
}

/* ---- Reading works. ---- */

static enum permission_kind kind_of_plural(str plural)
{
    enum permission_kind i = 0;
    while (i < PERMISSION_KINDS && !str_eq(plural, str_of(permission_kinds[i].plural)))
        i++;
    return i;
}

/* What a work only looks for: set of identities. */
static void read_stubs(struct arena *a, const struct json *work, struct map *ret)
{
    const struct json *configs = json_dig(work, "spec.manifestConfigs");
    json_each_item(configs, config)
    {
        const struct json *id = json_get(config, S("resourceIdentifier"));
        enum permission_kind kind = kind_of_plural(json_get_text(id, S("resource")));
        if (kind < PERMISSION_KINDS &&
            str_eq(json_get_text(json_get(config, S("updateStrategy")), S("type")), S("ReadOnly")))
            map_set(ret, identity(a, kind, json_get_text(id, S("namespace")), json_get_text(id, S("name"))),
                    (void *)config);
    }
}

static bool is_true(const struct json *condition)
{
    return str_eq(json_get_text(condition, S("status")), S("True"));
}

/* The worse of two that speak of the same object: it moves between works, or two templates met in a namespace. */
static void unite(struct permission_resource *known, const struct permission_resource *other)
{
    known->is_available = known->is_available && other->is_available;
    if (known->is_applied && !other->is_applied) {
        known->is_applied = false;
        known->applied = other->applied;
    }
    known->is_stub = known->is_stub && other->is_stub;
}

static void add(struct permission_resources *r, const struct permission_resource *one)
{
    str key = identity(r->a, one->kind, one->namespace, one->name);
    uintptr_t at = (uintptr_t)map_get(&r->known, key);
    if (at) {
        unite(&r->list.p[at - 1], one);
        return;
    }
    *vec_push(r->a, &r->list) = *one;
    map_set(&r->known, key, (void *)(uintptr_t)r->list.n);
}

static void read_manifest(struct permission_resources *r, const struct json *manifest, const struct map *stubs)
{
    const struct json *meta = json_get(manifest, S("resourceMeta")), *conditions = json_get(manifest, S("conditions"));
    str group = json_get_text(meta, S("group"));
    struct permission_resource one = {
        .kind = permission_kind_of(json_get_text(meta, S("kind"))),
        .namespace = json_get_text(meta, S("namespace")),
        .name = json_get_text(meta, S("name")),
        .applied = condition_find(conditions, S("Applied")),
        .is_available = is_true(condition_find(conditions, S("Available"))),
    };
    if (one.kind == PERMISSION_KINDS || (group.n && !str_eq(group, RBAC_GROUP)))
        return;
    one.is_applied = is_true(one.applied);
    one.is_stub = map_get(stubs, identity(r->a, one.kind, one.namespace, one.name)) != NULL;
    /* A template that is fine in itself: no namespace matches. */
    if (permission_kinds[one.kind].is_namespaced && one.namespace.n == 0 && one.is_applied)
        return;
    add(r, &one);
}

void permission_resources_read(struct permission_resources *r, struct arena *a, const struct json *works, size_t n)
{
    *r = (struct permission_resources){.a = a};
    for (size_t i = 0; i < n; i++) {
        const struct json *manifests = json_dig(&works[i], "status.resourceStatus.manifests");
        struct map stubs = {0};
        read_stubs(a, &works[i], &stubs);
        json_each_item(manifests, manifest) read_manifest(r, manifest, &stubs);
        map_done(&stubs);
    }
}

void permission_resources_done(struct permission_resources *r)
{
    map_done(&r->known);
}

/* ---- What is missing. ---- */

str permission_resources_missing(const struct permission_resources *r, enum permission_kind kind)
{
    struct buf b = {.arena = r->a};
    vec_each(&r->list, it)
    {
        if (it->kind != kind || it->is_available)
            continue;
        str name = it->namespace.n ? str_fmt(r->a, "%.*s/%.*s", STR(it->namespace), STR(it->name)) : it->name;
        permission_note(&b, name, MISSING_BYTES);
    }
    return buf_str(&b);
}

/* ---- resourceStatus. ---- */

/* Conditions of the status that was, by identity: for the times of conditions that an agent gave none. */
static void index_old(struct arena *a, const struct json *old, struct map *ret)
{
    for (enum permission_kind kind = 0; kind < PERMISSION_KINDS; kind++) {
        const struct json *list = json_get(old, list_names[kind]);
        json_each_item(list, it)
        {
            const struct json *condition = condition_find(json_get(it, S("condition")), S("Applied"));
            if (condition)
                map_set(ret, identity(a, kind, json_get_text(it, S("namespace")), json_get_text(it, S("name"))),
                        (void *)condition);
        }
    }
}

static bool is_time(str text)
{
    int64_t seconds;
    uint32_t nanos;
    return time_parse(text, &seconds, &nanos);
}

struct writer {
    struct arena *a;
    struct map old;
    const struct clock *clock;
};

/* That of the agent; else the one it had while the status was the same; else now. */
static struct json transition_of(struct writer *w, const struct permission_resource *it)
{
    str told = json_get_text(it->applied, S("lastTransitionTime"));
    if (is_time(told))
        return json_str(told);
    const struct json *was = map_get(&w->old, identity(w->a, it->kind, it->namespace, it->name));
    str time = json_get_text(was, S("lastTransitionTime"));
    return is_true(was) == it->is_applied && is_time(time) ? json_str(time) : meta_now(w->a, w->clock);
}

static struct json condition_of(struct writer *w, const struct permission_resource *it)
{
    str reason = S("FailedGetManifestCondition"), message = S("Failed to get the manifest condition");
    struct json c = json_obj_sized(w->a, 5);
    if (it->is_applied) {
        reason = S("AppliedManifestComplete");
        message = S("Apply manifest complete");
    } else if (it->applied) {
        reason = S("FailedApplyManifest");
        message = permission_clip(w->a, json_get_text(it->applied, S("message")), MESSAGE_BYTES);
    }
    json_add(w->a, &c, S("type"), json_str(S("Applied")));
    json_add(w->a, &c, S("status"), json_str(it->is_applied ? S("True") : S("False")));
    json_add(w->a, &c, S("lastTransitionTime"), transition_of(w, it));
    json_add(w->a, &c, S("reason"), json_str(reason));
    json_add(w->a, &c, S("message"), json_str(message));
    return c;
}

static struct json entry_of(struct writer *w, const struct permission_resource *it)
{
    struct json entry = json_obj_sized(w->a, 3), conditions = json_arr_sized(w->a, 1);
    json_push(w->a, &conditions, condition_of(w, it));
    json_add(w->a, &entry, S("name"), json_str(it->name));
    if (permission_kinds[it->kind].is_namespaced)
        json_add(w->a, &entry, S("namespace"), json_str(it->namespace));
    json_add(w->a, &entry, S("condition"), conditions);
    return entry;
}

/* About what an entry comes to, as JSON. */
static size_t entry_bytes(struct arena *a, struct buf *scratch, const struct permission_resource *it)
{
    scratch->n = 0;
    json_encode_str(scratch, it->namespace);
    json_encode_str(scratch, it->name);
    if (!it->is_applied)
        json_encode_str(scratch, permission_clip(a, json_get_text(it->applied, S("message")), MESSAGE_BYTES));
    return ENTRY_BYTES + scratch->n;
}

/* Marks those for which there is room: failures before the others. How many are left out. */
static size_t choose(const struct permission_resources *r, bool *chosen)
{
    size_t room = PERMISSION_STATUS_BYTES, left_out = 0;
    struct buf scratch = {0};
    for (int want_applied = 0; want_applied < 2; want_applied++) {
        for (size_t i = 0; i < r->list.n; i++) {
            const struct permission_resource *it = &r->list.p[i];
            if (it->is_stub || it->is_applied != (bool)want_applied)
                continue;
            size_t bytes = entry_bytes(r->a, &scratch, it);
            chosen[i] = bytes <= room;
            room -= chosen[i] ? bytes : 0;
            left_out += !chosen[i];
        }
    }
    buf_done(&scratch);
    return left_out;
}

struct json permission_resources_status(const struct permission_resources *r, const struct json *old,
                                        const struct clock *clock, size_t *ret_left_out)
{
    struct writer w = {.a = r->a, .clock = clock};
    struct json lists[PERMISSION_KINDS], status = json_obj_sized(r->a, PERMISSION_KINDS);
    bool *chosen = ARENA_ARRAY(r->a, bool, r->list.n);
    *ret_left_out = choose(r, chosen);
    index_old(r->a, old, &w.old);
    for (size_t i = 0; i < PERMISSION_KINDS; i++)
        lists[i] = json_arr();
    for (size_t i = 0; i < r->list.n; i++) {
        const struct permission_resource *it = &r->list.p[i];
        if (chosen[i])
            json_push(r->a, &lists[it->kind], entry_of(&w, it));
    }
    for (size_t i = 0; i < PERMISSION_KINDS; i++) {
        if (json_len(&lists[i]))
            json_add(r->a, &status, list_names[i], lists[i]);
    }
    map_done(&w.old);
    return json_len(&status) ? status : json_null();
}
