/* SPDX-License-Identifier: Apache-2.0 */
/* What a package is, for programs: reeve-package(1), OUTPUT, says what is in it. */
#include "cli/package_inspect.h"

#include "cli/document.h"
#include "cli/planning.h"

static struct json crds_of(struct arena *a, const struct package *p)
{
    struct json list = json_arr();
    for (size_t i = 0; i < p->n_crds; i++) {
        const struct crd_info *crd = &p->crds[i].info;
        struct json o = json_obj(), versions = json_arr();
        vec_each(&crd->versions, v)
        {
            struct json version = json_obj();
            json_add(a, &version, S("name"), json_str(v->name));
            json_add(a, &version, S("served"), json_bool(v->served));
            json_add(a, &version, S("storage"), json_bool(v->storage));
            json_push(a, &versions, version);
        }
        json_add(a, &o, S("name"), json_str(crd->name));
        json_add(a, &o, S("kind"), json_str(crd->kind));
        json_add(a, &o, S("group"), json_str(crd->group));
        json_add(a, &o, S("scope"), json_str(crd->is_namespaced ? S("Namespaced") : S("Cluster")));
        json_add(a, &o, S("versions"), versions);
        document_add_text(a, &o, "file", p->crds[i].path);
        json_push(a, &list, o);
    }
    return list;
}

static struct json needs_of(struct arena *a, const struct package *p)
{
    struct json list = json_arr();
    for (size_t i = 0; i < p->n_dependencies; i++) {
        struct json o = json_obj();
        json_add(a, &o, S("crd"), json_str(p->dependencies[i].text));
        json_push(a, &list, o);
    }
    for (size_t i = 0; i < p->n_requirements; i++) {
        struct json o = json_obj();
        json_add(a, &o, S("package"), json_str(p->requirements[i].package));
        document_add_text(a, &o, "version", p->requirements[i].constraint);
        json_push(a, &list, o);
    }
    return list;
}

/* image is missing where the package's own image runs. */
static void add_containers(struct arena *a, struct json *to, const struct json *list, bool is_init)
{
    json_each_item(list, c)
    {
        struct json o = json_obj();
        json_add(a, &o, S("name"), json_str(json_get_text(c, S("name"))));
        document_add_text(a, &o, "image", json_get_text(c, S("image")));
        if (is_init)
            json_add(a, &o, S("init"), json_bool(true));
        json_push(a, to, o);
    }
}

static struct json grants_of(struct arena *a, const struct plan *plan)
{
    struct json list = json_arr();
    for (size_t i = 0; i < plan->n_grants; i++) {
        const struct plan_grant *g = &plan->grants[i];
        struct json o = json_obj();
        json_add(a, &o, S("who"), json_str(str_of(planning_who(g->who))));
        json_add(a, &o, S("isClusterWide"), json_bool(g->is_cluster_wide));
        json_add(a, &o, S("rules"), rules_to_json(a, g->rules));
        json_push(a, &list, o);
    }
    return list;
}

static struct json findings_of(struct arena *a, const struct findings *findings)
{
    struct json list = json_arr();
    vec_each(&findings->list, f)
    {
        struct json o = json_obj();
        document_add_text(a, &o, "reason", f->reason);
        json_add(a, &o, S("message"), json_str(f->message));
        json_push(a, &list, o);
    }
    return list;
}

struct json package_describe(const struct inspection *s)
{
    struct arena *a = s->arena;
    const struct package *p = s->source->package;
    struct json tree = document_new(a, "PackageDescription"), containers = json_arr();
    str from = s->source->is_directory ? S("directory") : s->source->is_from_store ? S("store") : S("registry");
    json_add(a, &tree, S("package"), json_str(str_of(s->what)));
    json_add(a, &tree, S("from"), json_str(from));
    json_add(a, &tree, S("digest"), json_str(p->digest));
    if (s->source->size)
        json_add(a, &tree, S("size"), json_uint(s->source->size));
    json_add(a, &tree, S("format"), json_str(p->format == PACKAGE_FORMAT_XPKG ? S("xpkg") : S("registry")));
    json_add(a, &tree, S("repository"), json_str(p->repo));
    json_add(a, &tree, S("name"), json_str(p->name));
    json_add(a, &tree, S("version"), json_str(p->version));
    json_add(a, &tree, S("scope"), json_str(p->scope == PACKAGE_CLUSTER ? S("Cluster") : S("Namespaced")));
    json_add(a, &tree, S("metadata"), p->metadata);
    json_add(a, &tree, S("crds"), crds_of(a, p));
    json_add(a, &tree, S("dependsOn"), needs_of(a, p));
    add_containers(a, &containers, json_dig(&p->deployment, "spec.template.spec.initContainers"), true);
    add_containers(a, &containers, json_dig(&p->deployment, "spec.template.spec.containers"), false);
    json_add(a, &tree, S("containers"), containers);
    planning_add_pod(a, &tree, &p->deployment);
    json_add(a, &tree, S("grants"), grants_of(a, &s->plan));
    json_add(a, &tree, S("findings"), findings_of(a, &s->plan.findings));
    json_add(a, &tree, S("warnings"), findings_of(a, &p->warnings));
    return tree;
}
