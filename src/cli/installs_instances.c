/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the objects that would keep an install from being uninstalled, as the user who asks, before anything is changed.
 *
 *   CRDs of the install (labels) ─► a list of each: in its namespace, or everywhere ─► "2 networks (1 in one, 1 in two)"
 *
 * What the user may not see elsewhere is not counted: the controller counts again before it removes anything. */
#include "cli/installs.h"

#include "object/object.h"
#include "package/rival.h"

static const struct client_resource crds =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

enum { PLACES = 5 };

struct owned_crd {
    struct client_resource resource;
    bool is_shared; /* another install has it, too */
};

struct counting {
    struct command *c;
    const struct installs_target *target;
    str record, family;
    VEC(struct owned_crd) list;
};

/* ---- Which kinds. ---- */

static bool has_other_parent(const struct counting *k, const struct json *crd)
{
    const struct json *labels = object_labels(crd);
    json_each_member(labels, m)
    {
        if (str_has_prefix(json_key(m), S(LABEL_PARENT_PREFIX)) &&
            !str_eq(str_from(json_key(m), sizeof LABEL_PARENT_PREFIX - 1), k->record))
            return true;
    }
    return false;
}

static str served_version(const struct json *spec)
{
    const struct json *versions = json_get(spec, S("versions"));
    json_each_item(versions, v)
    {
        if (json_true(json_get(v, S("served"))))
            return json_get_text(v, S("name"));
    }
    return (str){0};
}

static void begin_crds(void *ctx)
{
    ((struct counting *)ctx)->list.n = 0;
}

static int take_crd(void *ctx, const struct json *crd, struct err *err)
{
    (void)err;
    struct counting *k = ctx;
    struct arena *a = &k->c->arena;
    const struct json *spec = json_get(crd, S("spec")), *names = json_get(spec, S("names"));
    if (!str_eq(object_annotation(crd, S(ANNOTATION_FAMILY)), k->family) || served_version(spec).n == 0)
        return 0;
    *vec_push(a, &k->list) =
        (struct owned_crd){.resource = {.group = str_dup(a, json_get_text(spec, S("group"))),
                                        .version = str_dup(a, served_version(spec)),
                                        .plural = str_dup(a, json_get_text(names, S("plural"))),
                                        .kind = str_dup(a, json_get_text(names, S("kind"))),
                                        .namespaced = !str_eq(json_get_text(spec, S("scope")), S("Cluster"))},
                           .is_shared = has_other_parent(k, crd)};
    return 0;
}

/* Those labelled for the namespace, which include CRDs that an upgrade dropped; else those with the record's label. */
static int find_crds(struct counting *k, struct err *err)
{
    static const struct client_taker taker = {begin_crds, take_crd};
    bool is_by_namespace = !k->target->is_cluster && k->target->dialect->has_personas;
    struct arena *a = &k->c->arena;
    struct client_ref ref = {.resource = &crds};
    struct client_list_options options = {
        .label_selector = is_by_namespace ? str_fmt(a, LABEL_NAMESPACE_PREFIX "%.*s=true", STR(k->target->namespace))
                                          : str_fmt(a, LABEL_PARENT_PREFIX "%.*s=true", STR(k->record))};
    return client_list_each(k->c->session.client, &ref, &options, &taker, k, err);
}

/* As the record has them, for users who may not list CRDs. Whether others have them is not known then: as if they had. */
static int find_recorded(struct counting *k, struct err *err)
{
    const struct dialect *d = k->target->dialect;
    const struct dialect_kind *kind = &d->record[k->target->is_cluster];
    struct arena *a = &k->c->arena;
    struct client_resource resource = {d->group, d->version, kind->plural, kind->kind, !k->target->is_cluster};
    struct client_ref ref = {.resource = &resource, .namespace = k->target->namespace, .name = k->target->name};
    struct json record;
    int code = client_get(k->c->session.client, a, &ref, &record, err);
    const struct json *list = code < 0 ? NULL : json_dig(&record, "spec.customresourcedefinitions");
    json_each_item(list, crd)
    {
        str group, version, plural, rest;
        if (str_cut(json_get_text(crd, S("apiVersion")), '/', &group, &version) &&
            str_cut(json_get_text(crd, S("name")), '.', &plural, &rest))
            *vec_push(a, &k->list) = (struct owned_crd){
                .resource = {group, version, plural, json_get_text(crd, S("kind")), true}, .is_shared = true};
    }
    return code;
}

/* ---- How many. ---- */

static int list_instances(const struct counting *k, const struct owned_crd *crd, struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = &crd->resource};
    struct client_list_options options = {.metadata_only = true};
    int code = ERR_FORBIDDEN;
    if (k->target->is_cluster || !crd->is_shared)
        code = client_list(k->c->session.client, &k->c->arena, &ref, &options, ret, NULL, err);
    if (code != ERR_FORBIDDEN || k->target->is_cluster)
        return code;
    ref.namespace = k->target->namespace;
    return client_list(k->c->session.client, &k->c->arena, &ref, &options, ret, NULL, err);
}

/* " (1 in team-a, 2 in team-b and more)"; items are sorted by namespace. */
static void add_places(struct buf *text, const struct json *items)
{
    size_t n = 0;
    for (size_t i = 0, next; i < json_len(items); i = next) {
        str namespace = object_namespace(&items->items[i]);
        for (next = i; next < json_len(items) && str_eq(object_namespace(&items->items[next]), namespace);)
            next++;
        if (namespace.n == 0)
            return;
        if (n++ == PLACES) {
            buf_add_str(text, S(" and more"));
            break;
        }
        buf_fmt(text, "%s%zu in %.*s", n == 1 ? " (" : ", ", next - i, STR(namespace));
    }
    if (n)
        buf_add_char(text, ')');
}

int cli_installs_count(struct command *c, const struct installs_target *t, const struct json *install, str *ret_text,
                       struct err *err)
{
    const struct json *status = json_get(install, S("status"));
    struct counting k = {.c = c,
                         .target = t,
                         .record = json_get_text(json_get(status, S("packageRecord")), S("uid")),
                         .family = rival_family(&c->arena, json_get_text(status, S("installedPackage")))};
    struct buf text = {.arena = &c->arena};
    *ret_text = (str){0};
    if (k.family.n == 0 || k.record.n == 0)
        return 0; /* it came no further than asking */
    int code = find_crds(&k, err);
    if (code == ERR_FORBIDDEN)
        code = find_recorded(&k, err);
    for (size_t i = 0; code == 0 && i < k.list.n; i++) {
        struct json items = json_arr();
        code = list_instances(&k, &k.list.p[i], &items, err);
        if (code == ERR_NOT_FOUND)
            code = 0; /* it has just been removed */
        if (code < 0 || json_len(&items) == 0)
            continue;
        buf_fmt(&text, "%s%zu %.*s", text.n ? ", " : "", json_len(&items), STR(k.list.p[i].resource.plural));
        add_places(&text, &items);
    }
    *ret_text = buf_str(&text);
    return code < 0 ? err_wrap(err, "cannot count the instances of %.*s", STR(cli_installs_title(&c->arena, t))) : 0;
}
