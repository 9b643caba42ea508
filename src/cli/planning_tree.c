/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for programs. What is here stays: fields may be added, none is renamed. The manual describes it. */
#include "cli/planning.h"

#include "cli/document.h"
#include "object/object.h"
#include "package/pod.h"

static void add_text(struct arena *a, struct json *obj, str key, str text)
{
    if (text.n)
        json_add(a, obj, key, json_str(text));
}

static void add_word(struct arena *a, struct json *obj, str key, const char *word)
{
    json_add(a, obj, key, json_str(str_of(word)));
}

static void add_number(struct arena *a, struct json *obj, str key, size_t n)
{
    json_add(a, obj, key, json_uint(n));
}

/* ---- What it is about. ---- */

static struct json package_tree(const struct planning *p)
{
    const struct package *package = p->source.package;
    struct json o = json_obj();
    add_text(p->a, &o, S("reference"), p->source.is_directory ? p->source.reference : p->asked.image);
    if (p->source.is_directory)
        add_word(p->a, &o, S("directory"), p->what);
    if (!p->source.is_directory || !p->images.is_quick)
        add_text(p->a, &o, S("digest"), package->digest);
    add_text(p->a, &o, S("repository"), package->repo);
    add_text(p->a, &o, S("name"), package->name);
    add_text(p->a, &o, S("version"), package->version);
    add_text(p->a, &o, S("family"), package->family);
    add_word(p->a, &o, S("permissionScope"), package->scope == PACKAGE_CLUSTER ? "Cluster" : "Namespaced");
    return o;
}

static struct json install_tree(const struct planning *p)
{
    struct json o = json_obj(), installed = json_obj();
    add_text(p->a, &o, S("apiVersion"), object_api_version(&p->install));
    add_text(p->a, &o, S("kind"), p->self.dialect->install[p->self.is_cluster].kind);
    if (!p->self.is_cluster)
        add_text(p->a, &o, S("namespace"), p->asked.namespace);
    add_text(p->a, &o, S("name"), p->asked.name);
    json_add(p->a, &o, S("exists"), json_bool(p->running.install != NULL));
    if (p->running.reference.n == 0)
        return o;
    add_text(p->a, &installed, S("package"), p->running.reference);
    add_text(p->a, &installed, S("digest"), p->running.digest);
    add_text(p->a, &installed, S("version"), p->running.version);
    json_add(p->a, &o, S("installed"), installed);
    return o;
}

/* ---- Who. ---- */

static struct json account_tree(const struct planning *p)
{
    struct json list = json_arr(), o = json_obj();
    add_word(p->a, &o, S("kind"), "ServiceAccount");
    add_text(p->a, &o, S("namespace"), p->asked.namespace);
    add_text(p->a, &o, S("name"), p->asked.name);
    json_push(p->a, &list, o);
    return list;
}

static struct json binding_tree(const struct planning *p, const struct planning_subject *it)
{
    struct json o = json_obj();
    json_add(p->a, &o, S("kind"), json_str(authz_kind_name(it->binding_kind)));
    add_text(p->a, &o, S("namespace"), it->namespace);
    add_text(p->a, &o, S("name"), it->binding);
    add_text(p->a, &o, S("role"), it->role);
    return o;
}

static struct json people_tree(const struct planning *p, enum plan_subject who)
{
    struct json list = json_arr();
    vec_each(&p->people[who - PLAN_ADMIN].list, it)
    {
        struct json o = document_subject(p->a, &it->subject);
        json_add(p->a, &o, S("binding"), binding_tree(p, it));
        if (it->gains_everywhere)
            json_add(p->a, &o, S("isClusterWide"), json_bool(true));
        json_push(p->a, &list, o);
    }
    return list;
}

/* ---- What. ---- */

static struct json grants_tree(const struct planning *p, struct plan_grants grants)
{
    struct json list = json_arr();
    for (int round = 0; round < 2; round++) { /* what reaches furthest comes first */
        for (size_t i = 0; i < grants.n; i++) {
            const struct plan_grant *g = &grants.p[i];
            struct json o = json_obj();
            if (g->is_cluster_wide != (round == 0))
                continue;
            add_word(p->a, &o, S("who"), planning_who(g->who));
            json_add(p->a, &o, S("isClusterWide"), json_bool(g->is_cluster_wide));
            add_text(p->a, &o, S("namespace"), g->namespace);
            if (g->who == PLAN_CONTROLLER || p->knows_people)
                json_add(p->a, &o, S("subjects"), g->who == PLAN_CONTROLLER ? account_tree(p) : people_tree(p, g->who));
            json_add(p->a, &o, S("rules"), rules_to_json(p->a, g->rules));
            json_push(p->a, &list, o);
        }
    }
    return list;
}

static struct json crds_tree(const struct planning *p)
{
    struct json list = json_arr_sized(p->a, p->crds.n);
    vec_each(&p->crds, it)
    {
        struct json o = json_obj();
        add_text(p->a, &o, S("name"), it->name);
        add_text(p->a, &o, S("kind"), it->kind);
        add_word(p->a, &o, S("scope"), it->is_namespaced ? "Namespaced" : "Cluster");
        add_word(p->a, &o, S("change"), planning_change_name(it->change));
        json_push(p->a, &list, o);
    }
    return list;
}

/* The digest of a directory that was not packed is not known. */
static void push_images(const struct planning *p, struct json *list, const char *path)
{
    const struct json *containers = json_dig(&p->plan.deployment, path);
    bool is_digest_known = !p->source.is_directory || !p->images.is_quick;
    json_each_item(containers, c)
    {
        str image = json_get_text(c, S("image")), name = image, digest;
        if (!is_digest_known)
            str_cut(image, '@', &name, &digest);
        json_push(p->a, list, json_str(name));
    }
}

static void add_facts(struct arena *a, struct json *o, const char *key, const str *facts, size_t n)
{
    struct json list = json_arr();
    for (size_t i = 0; i < n; i++)
        json_push(a, &list, json_str(facts[i]));
    json_add(a, o, str_of(key), list);
}

void planning_add_pod(struct arena *a, struct json *o, const struct json *deployment)
{
    struct pod_facts f = package_describe_pod(a, deployment);
    add_facts(a, o, "ports", f.ports.p, f.ports.n);
    add_facts(a, o, "volumes", f.volumes.p, f.volumes.n);
    add_facts(a, o, "unusual", f.unusual.p, f.unusual.n);
}

static struct json deployment_tree(const struct planning *p)
{
    const struct json *object = json_is_null(&p->plan.deployment) ? &p->deployment : &p->plan.deployment;
    struct json o = json_obj(), images = json_arr();
    if (json_is_null(object))
        return json_null();
    push_images(p, &images, "spec.template.spec.initContainers");
    push_images(p, &images, "spec.template.spec.containers");
    add_text(p->a, &o, S("namespace"), object_namespace(object));
    add_text(p->a, &o, S("name"), object_name(object));
    add_word(p->a, &o, S("change"), planning_change_name(p->deployment_change));
    json_add(p->a, &o, S("images"), images);
    planning_add_pod(p->a, &o, &p->plan.deployment);
    return o;
}

/* ---- The rest. ---- */

static struct json findings_tree(const struct planning *p)
{
    struct json list = json_arr();
    vec_each(&p->findings.list, it)
    {
        struct json o = json_obj();
        add_text(p->a, &o, S("reason"), it->reason);
        add_text(p->a, &o, S("message"), it->message);
        add_text(p->a, &o, S("remedy"), planning_remedy(p, it));
        json_push(p->a, &list, o);
    }
    return list;
}

static struct json warnings_tree(const struct planning *p)
{
    struct json list = json_arr();
    vec_each(&p->plan.warnings.list, it)
    {
        json_push(p->a, &list, json_str(it->message));
    }
    return list;
}

static struct json texts_tree(const struct planning *p, const str *texts, size_t n)
{
    struct json list = json_arr();
    for (size_t i = 0; i < n; i++)
        json_push(p->a, &list, json_str(texts[i]));
    return list;
}

static struct json summary_tree(const struct planning *p)
{
    struct planning_count c = planning_count(p);
    struct json o = json_obj();
    add_number(p->a, &o, S("serviceAccounts"), c.accounts);
    add_number(p->a, &o, S("personas"), c.personas);
    add_number(p->a, &o, S("gained"), c.gained);
    add_number(p->a, &o, S("lost"), c.lost);
    add_number(p->a, &o, S("clusterWide"), c.wide);
    add_number(p->a, &o, S("clusterWideByBindings"), c.by_bindings);
    json_add(p->a, &o, S("mayBeMore"), json_bool(planning_misses_people(p)));
    return o;
}

struct json planning_tree(const struct planning *p)
{
    struct arena *a = p->a;
    struct json o = document_new(a, "Plan"), deployment = deployment_tree(p);
    add_word(a, &o, S("outcome"), planning_outcome(p));
    json_add(a, &o, S("isOffline"), json_bool(p->is_offline));
    json_add(a, &o, S("isClusterWide"), json_bool(planning_count(p).wide > 0));
    json_add(a, &o, S("package"), package_tree(p));
    json_add(a, &o, S("install"), install_tree(p));
    json_add(a, &o, S("gains"), grants_tree(p, p->gains));
    json_add(a, &o, S("losses"), grants_tree(p, p->losses));
    json_add(a, &o, S("crds"), crds_tree(p));
    if (!json_is_null(&deployment) && p->findings.list.n == 0)
        json_add(a, &o, S("deployment"), deployment);
    json_add(a, &o, S("waits"), texts_tree(p, p->plan.waits, p->plan.n_waits));
    json_add(a, &o, S("findings"), findings_tree(p));
    json_add(a, &o, S("warnings"), warnings_tree(p));
    json_add(a, &o, S("notSeen"), texts_tree(p, p->notes.p, p->notes.n));
    json_add(a, &o, S("summary"), summary_tree(p));
    return o;
}
