/* SPDX-License-Identifier: Apache-2.0 */
/* What there is, in both forms: all groups in one document, or one document per group version. */
#include "lib/fake_internal.h"

static struct json verbs_of(struct arena *a, unsigned verbs)
{
    struct json list = json_arr();
    for (unsigned bit = 1; bit <= VERBS_ALL; bit <<= 1)
        if (verbs & bit)
            json_push(a, &list, json_str(str_of(verb_name(bit))));
    return list;
}

static void add_text(struct arena *a, struct json *obj, str key, const char *text)
{
    json_add(a, obj, key, json_str(str_of(text)));
}

static struct json kind_of(struct arena *a, const char *group, const char *version, const char *name)
{
    struct json kind = json_obj();
    add_text(a, &kind, S("group"), group);
    add_text(a, &kind, S("version"), version);
    add_text(a, &kind, S("kind"), name);
    return kind;
}

static void add_short_names(struct arena *a, struct json *obj, const struct kind *k)
{
    struct json list = json_arr();
    for (size_t i = 0; k->short_names && k->short_names[i]; i++)
        json_push(a, &list, json_str(str_of(k->short_names[i])));
    if (list.n)
        json_add(a, obj, S("shortNames"), list);
}

/* ---- All in one. ---- */

static struct json resource_of(struct arena *a, const struct kind *k)
{
    struct json r = json_obj(), subs = json_arr();
    add_text(a, &r, S("resource"), k->plural);
    json_add(a, &r, S("responseKind"), kind_of(a, k->group, k->version, k->kind));
    add_text(a, &r, S("scope"), k->namespaced ? "Namespaced" : "Cluster");
    add_text(a, &r, S("singularResource"), k->singular);
    json_add(a, &r, S("verbs"), verbs_of(a, k->verbs));
    add_short_names(a, &r, k);
    for (size_t i = 0; i < k->n_subresources; i++) {
        const struct kind_subresource *sub = &k->subresources[i];
        struct json s = json_obj();
        add_text(a, &s, S("subresource"), sub->name);
        json_add(a, &s, S("responseKind"),
                 sub->kind ? kind_of(a, sub->group, sub->version, sub->kind)
                           : kind_of(a, k->group, k->version, k->kind));
        json_add(a, &s, S("verbs"), verbs_of(a, sub->verbs));
        json_push(a, &subs, s);
    }
    if (subs.n)
        json_add(a, &r, S("subresources"), subs);
    return r;
}

static struct json group_of(struct arena *a, const struct registry_group *g)
{
    struct json item = json_obj(), meta = json_obj(), versions = json_arr();
    if (g->name[0])
        add_text(a, &meta, S("name"), g->name);
    json_add(a, &item, S("metadata"), meta);
    for (size_t i = 0; i < g->n; i++) {
        struct json v = json_obj(), resources = json_arr();
        add_text(a, &v, S("version"), g->versions[i].version);
        for (size_t k = 0; k < g->versions[i].n; k++)
            json_push(a, &resources, resource_of(a, g->versions[i].kinds[k]));
        json_add(a, &v, S("resources"), resources);
        add_text(a, &v, S("freshness"), "Current");
        json_push(a, &versions, v);
    }
    json_add(a, &item, S("versions"), versions);
    return item;
}

static void serve_aggregated(struct transport_call *call, const struct registry_group *groups, size_t n, bool is_core)
{
    struct arena *a = &call->arena;
    struct json doc = json_obj(), items = json_arr();
    add_text(a, &doc, S("kind"), "APIGroupDiscoveryList");
    add_text(a, &doc, S("apiVersion"), "apidiscovery.k8s.io/v2");
    json_add(a, &doc, S("metadata"), json_obj());
    for (size_t i = 0; i < n; i++)
        if ((groups[i].name[0] == 0) == is_core)
            json_push(a, &items, group_of(a, &groups[i]));
    json_add(a, &doc, S("items"), items);
    fake_answer_tree(call, 200, &doc);
}

/* ---- One by one. ---- */

static struct json version_of(struct arena *a, const char *group, const char *version)
{
    struct json v = json_obj();
    json_add(a, &v, S("groupVersion"), json_str(str_fmt(a, "%s/%s", group, version)));
    add_text(a, &v, S("version"), version);
    return v;
}

static void serve_groups(struct transport_call *call, const struct registry_group *groups, size_t n)
{
    struct arena *a = &call->arena;
    struct json doc = json_obj(), list = json_arr();
    add_text(a, &doc, S("kind"), "APIGroupList");
    add_text(a, &doc, S("apiVersion"), "v1");
    for (size_t i = 0; i < n; i++) {
        const struct registry_group *g = &groups[i];
        struct json group = json_obj(), versions = json_arr();
        if (g->name[0] == 0)
            continue;
        add_text(a, &group, S("name"), g->name);
        for (size_t k = 0; k < g->n; k++)
            json_push(a, &versions, version_of(a, g->name, g->versions[k].version));
        json_add(a, &group, S("versions"), versions);
        json_add(a, &group, S("preferredVersion"), version_of(a, g->name, g->versions[0].version));
        json_push(a, &list, group);
    }
    json_add(a, &doc, S("groups"), list);
    fake_answer_tree(call, 200, &doc);
}

static void serve_core(struct transport_call *call)
{
    struct arena *a = &call->arena;
    struct json doc = json_obj(), versions = json_arr();
    add_text(a, &doc, S("kind"), "APIVersions");
    json_push(a, &versions, json_str(S("v1")));
    json_add(a, &doc, S("versions"), versions);
    fake_answer_tree(call, 200, &doc);
}

static void add_resource(struct arena *a, struct json *list, const struct kind *k, const struct kind_subresource *sub)
{
    struct json r = json_obj();
    json_add(a, &r, S("name"), json_str(sub ? str_fmt(a, "%s/%s", k->plural, sub->name) : str_of(k->plural)));
    add_text(a, &r, S("singularName"), sub ? "" : k->singular);
    json_add(a, &r, S("namespaced"), json_bool(k->namespaced));
    add_text(a, &r, S("kind"), sub && sub->kind ? sub->kind : k->kind);
    json_add(a, &r, S("verbs"), verbs_of(a, sub ? sub->verbs : k->verbs));
    if (!sub)
        add_short_names(a, &r, k);
    json_push(a, list, r);
}

static void serve_version(struct transport_call *call, const struct registry_version *v, str group_version)
{
    struct arena *a = &call->arena;
    struct json doc = json_obj(), list = json_arr();
    add_text(a, &doc, S("kind"), "APIResourceList");
    add_text(a, &doc, S("apiVersion"), "v1");
    json_add(a, &doc, S("groupVersion"), json_str(group_version));
    for (size_t i = 0; i < v->n; i++) {
        add_resource(a, &list, v->kinds[i], NULL);
        for (size_t k = 0; k < v->kinds[i]->n_subresources; k++)
            add_resource(a, &list, v->kinds[i], &v->kinds[i]->subresources[k]);
    }
    json_add(a, &doc, S("resources"), list);
    fake_answer_tree(call, 200, &doc);
}

bool fake_serve_discovery(struct transport_call *call, str path)
{
    struct arena *a = &call->arena;
    size_t n;
    struct registry_group *groups = registry_groups(a, call->fake->registry, &n);
    bool is_core = str_eq(path, S("/api")), is_apis = str_eq(path, S("/apis"));
    bool is_aggregated = str_find(call->request.accept, S("as=APIGroupDiscoveryList")) >= 0;
    if ((is_core || is_apis) && is_aggregated && !call->fake->options.no_aggregated_discovery) {
        serve_aggregated(call, groups, n, is_core);
        return true;
    }
    if (is_core || is_apis) {
        is_core ? serve_core(call) : serve_groups(call, groups, n);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < groups[i].n; k++) {
            const struct registry_version *v = &groups[i].versions[k];
            str group_version =
                groups[i].name[0] ? str_fmt(a, "%s/%s", groups[i].name, v->version) : str_of(v->version);
            if (!str_eq(path, str_fmt(a, "/api%s/%.*s", groups[i].name[0] ? "s" : "", STR(group_version))))
                continue;
            serve_version(call, v, group_version);
            return true;
        }
    }
    return false;
}
