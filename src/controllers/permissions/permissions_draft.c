/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_draft.h"

#include "authz/validate.h"
#include "controllers/permissions/permissions_text.h"
#include "kinds/builtin.h"
#include "object/fleet.h"
#include "object/name.h"
#include "object/object.h"
#include "object/selector.h"

#include <assert.h>
#include <stdarg.h>

#define RBAC_VERSION "rbac.authorization.k8s.io/v1"

/* OCM's webhook counts manifests as protobuf: a tag and the length in front of each. */
enum { MANIFEST_OVERHEAD = 5 };

const struct permission_kind_row permission_kinds[PERMISSION_KINDS] = {
    [PERMISSION_CLUSTER_ROLE] = {"ClusterRole", "clusterroles", false},
    [PERMISSION_CLUSTER_ROLE_BINDING] = {"ClusterRoleBinding", "clusterrolebindings", false},
    [PERMISSION_ROLE] = {"Role", "roles", true},
    [PERMISSION_ROLE_BINDING] = {"RoleBinding", "rolebindings", true},
};

enum permission_kind permission_kind_of(str kind)
{
    enum permission_kind i = 0;
    while (i < PERMISSION_KINDS && !str_eq(kind, str_of(permission_kinds[i].kind)))
        i++;
    return i;
}

void permission_draft_init(struct permission_draft *d, struct arena *a, const struct json *permission,
                           const struct permission_facts *facts)
{
    *d = (struct permission_draft){
        .a = a,
        .permission = permission,
        .spec = json_get(permission, S("spec")),
        .facts = facts,
        .name = object_name(permission),
        .no_subjects.arena = a,
        .no_namespaces.arena = a,
    };
}

void permission_draft_done(struct permission_draft *d)
{
    map_done(&d->taken);
    map_done(&d->accounts);
    map_done(&d->selected);
    buf_done(&d->scratch);
}

bool permission_fail(struct permission_draft *d, const char *fmt, ...)
{
    struct buf b = {.arena = d->a};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    d->problem = permission_clip(d->a, buf_str(&b), PERMISSION_MESSAGE);
    return false;
}

/* ---- One manifest. ---- */

static str identity(struct permission_draft *d, enum permission_kind kind, str namespace, str name)
{
    return str_fmt(d->a, "%s/%.*s/%.*s", permission_kinds[kind].kind, STR(namespace), STR(name));
}

/* Two objects of one name never stand in one work. Templates may share theirs, as they go to different works: each has its layer. */
static bool take(struct permission_draft *d, struct permission_manifest *m, bool is_template)
{
    str key = identity(d, m->kind, m->namespace, m->name);
    size_t *layer = map_get(&d->taken, key);
    if (layer && !is_template)
        return permission_fail(d, "duplicate manifest for resource %.*s/%.*s with resource type " RBAC_VERSION ".%s",
                               STR(m->namespace), STR(m->name), permission_kinds[m->kind].kind);
    if (layer) {
        m->layer = ++*layer;
        return true;
    }
    layer = ARENA_NEW(d->a, size_t);
    map_set(&d->taken, key, layer);
    return true;
}

static size_t encoded(struct permission_draft *d, const struct json *v)
{
    d->scratch.n = 0;
    json_encode(&d->scratch, v, 0);
    return d->scratch.n;
}

static bool count(struct permission_draft *d, struct permission_manifest *m)
{
    if (m->bytes > FLEET_WORK_BYTES)
        return permission_fail(d, "%s %.*s: the size of manifests is %zu bytes which exceeds the %d limit",
                               permission_kinds[m->kind].kind, STR(m->name), m->bytes, FLEET_WORK_BYTES);
    d->bytes += m->bytes;
    if (d->manifests.n == PERMISSION_MANIFESTS || d->bytes > (size_t)PERMISSION_PARTS * FLEET_WORK_BYTES)
        return permission_fail(d, "too much to deliver: at most %d objects, and %d ManifestWorks of %d bytes each",
                               PERMISSION_MANIFESTS, PERMISSION_PARTS, FLEET_WORK_BYTES);
    return true;
}

/* apiVersion, kind and metadata. selector: as JSON, for the agent; empty: none. */
static struct json head_of(struct arena *a, const struct permission_manifest *m, str selector)
{
    struct json object = json_obj_sized(a, 5), meta = json_obj_sized(a, 2);
    json_add(a, &meta, S("name"), json_str(m->name));
    if (m->namespace.n)
        json_add(a, &meta, S("namespace"), json_str(m->namespace));
    if (selector.n) {
        struct json annotations = json_obj_sized(a, 1);
        json_add(a, &annotations, S(FLEET_ANNOTATION_SELECTOR), json_str(selector));
        json_add(a, &meta, S("annotations"), annotations);
    }
    json_add(a, &object, S("apiVersion"), json_str(S(RBAC_VERSION)));
    json_add(a, &object, S("kind"), json_str(str_of(permission_kinds[m->kind].kind)));
    json_add(a, &object, S("metadata"), meta);
    return object;
}

/* body_bytes: of the body as JSON, so that what is delivered to many namespaces is not written out for each. */
static bool add(struct permission_draft *d, struct permission_manifest m, str selector, const struct json *body,
                size_t body_bytes)
{
    if (!take(d, &m, selector.n > 0))
        return false;
    m.object = head_of(d->a, &m, selector);
    m.bytes = encoded(d, &m.object) + body_bytes + MANIFEST_OVERHEAD - (json_len(body) ? 1 : 2);
    if (!count(d, &m))
        return false;
    json_each_member(body, it) json_add(d->a, &m.object, json_key(it), it->val);
    *vec_push(d->a, &d->manifests) = m;
    return true;
}

/* ---- Where it goes. ---- */

static bool check_name(struct permission_draft *d, const char *what, enum name_rule rule, str name)
{
    struct name_faults faults = name_check(rule, name);
    if (name.n == 0)
        return permission_fail(d, "%s is empty", what);
    return faults.n == 0 || permission_fail(d, "%s is not possible: \"%.*s\": %s", what, STR(name), faults.texts[0]);
}

/* What the managed cluster would refuse is refused here: a clear word at once, rather than later from far away. */
static bool check_body(struct permission_draft *d, enum permission_kind kind, str name,
                       const struct permission_place *place, const struct json *body)
{
    struct permission_manifest m = {.kind = kind, .name = name};
    struct json object = head_of(d->a, &m, (str){0});
    struct field_errors errs = {.arena = d->a};
    struct buf b = {.arena = d->a};
    json_each_member(body, it) json_add(d->a, &object, json_key(it), it->val);
    rbac_validate(&errs, kind_builtin_by_body(S(RBAC_VERSION), str_of(permission_kinds[kind].kind)), &object);
    if (errs.list.n == 0)
        return true;
    field_errors_format(&b, &errs);
    return permission_fail(d, "%s %.*s%s%.*s%s is invalid: %.*s", permission_kinds[kind].kind, STR(name),
                           place ? " (" : "", STR(place ? place->field : (str){0}), place ? ")" : "", STR(buf_str(&b)));
}

struct selected {
    str *names;
    size_t n;
};

/* Roles and bindings mostly share their selectors, and each question costs as much as the hub has namespaces. NULL: too many. */
static const struct selected *select_here(struct permission_draft *d, const struct json *selector, str text)
{
    struct selected *known = map_get(&d->selected, text);
    if (known)
        return known;
    if (d->selected.n == PERMISSION_SELECTORS) {
        permission_fail(d, "too many selectors: at most %d, where the hub selects namespaces", PERMISSION_SELECTORS);
        return NULL;
    }
    known = ARENA_NEW(d->a, struct selected);
    known->n = d->facts->namespaces(d->facts->ctx, d->a, selector, &known->names);
    map_set(&d->selected, text, known);
    return known;
}

static bool add_selected(struct permission_draft *d, struct permission_manifest m, const struct permission_place *place,
                         const struct json *body, size_t body_bytes)
{
    struct selector parsed;
    struct err err;
    struct buf text = {.arena = d->a};
    if (selector_from_object(d->a, place->selector, &parsed, &err) < 0)
        return permission_fail(d, "%.*s.namespaceSelector: %s", STR(place->field), err.msg);
    json_encode(&text, place->selector, JSON_SORTED);
    if (d->facts->has_agent)
        return add(d, m, buf_str(&text), body, body_bytes);
    const struct selected *found = select_here(d, place->selector, buf_str(&text));
    if (!found)
        return false;
    if (found->n == 0)
        permission_note(&d->no_namespaces, place->field, PERMISSION_MESSAGE);
    for (size_t i = 0; i < found->n; i++) {
        m.namespace = found->names[i];
        if (!add(d, m, (str){0}, body, body_bytes))
            return false;
    }
    return true;
}

bool permission_deliver(struct permission_draft *d, enum permission_kind kind, str name,
                        const struct permission_place *place, const struct json *body)
{
    struct permission_manifest m = {.kind = kind, .name = name};
    assert(permission_kinds[kind].is_namespaced == (place != NULL));
    if (!check_name(d, "the name of a role or binding", NAME_PATH_SEGMENT, name) ||
        !check_body(d, kind, name, place, body))
        return false;
    size_t body_bytes = encoded(d, body);
    if (place && place->selector)
        return add_selected(d, m, place, body, body_bytes);
    if (place) {
        m.namespace = place->namespace;
        if (!check_name(d, "the name of a namespace", NAME_DNS_LABEL, m.namespace))
            return false;
    }
    return add(d, m, (str){0}, body, body_bytes);
}

bool permission_look_for(struct permission_draft *d, enum permission_kind kind, str namespace, str name)
{
    if (map_get(&d->taken, identity(d, kind, namespace, name)))
        return true;
    /* In a manifestConfig it would mean others, too: they would be looked for instead of being delivered. */
    if (str_find_char(name, '*') >= 0)
        return permission_fail(d, "a role whose name has a * cannot be validated: \"%.*s\"", STR(name));
    struct permission_manifest m = {.kind = kind, .namespace = namespace, .name = name, .is_stub = true};
    struct json body = json_obj();
    return add(d, m, (str){0}, &body, encoded(d, &body));
}
