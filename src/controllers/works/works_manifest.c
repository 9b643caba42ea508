/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_manifest.h"

#include "object/fleet.h"
#include "object/kind.h"
#include "object/object.h"
#include "object/selector.h"

#include <stdlib.h>

#define RBAC "rbac.authorization.k8s.io"
#define MANAGER "work-agent"

enum {
    SELECTOR_BYTES = 64 * 1024, /* of the annotation */
    NAME_BYTES = 253,           /* of any object */
};

/* ---- Which configuration is for which manifest. ---- */

/* "*" stands for any text, also in between: "app-*". One step back is enough, to the last star. */
static bool matches_wildcard(str pattern, str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;
    if (pattern.n > NAME_BYTES || text.n > NAME_BYTES)
        return false;
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.n && pattern.p[p] == text.p[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

/* Of a manifest that goes to many namespaces a rule for all of them, or for none, speaks. */
static bool matches_identifier(const struct json *id, const struct manifest *m, str plural)
{
    str namespace = json_get_text(id, S("namespace"));
    return str_eq(json_get_text(id, S("group")), m->group) && str_eq(json_get_text(id, S("resource")), plural) &&
           matches_wildcard(json_get_text(id, S("name")), m->name) && matches_wildcard(namespace, m->namespace);
}

static bool read_strategy(const struct json *strategy, struct manifest *m)
{
    static const struct {
        const char *name;
        enum manifest_strategy strategy;
    } names[] = {{"Update", MANIFEST_UPDATE},
                 {"CreateOnly", MANIFEST_CREATE_ONLY},
                 {"ServerSideApply", MANIFEST_SERVER_SIDE},
                 {"ReadOnly", MANIFEST_READ_ONLY}};
    str type = json_get_text(strategy, S("type"));
    const struct json *apply = json_get(strategy, S("serverSideApply"));
    if (json_get_text(apply, S("fieldManager")).n)
        m->field_manager = json_get_text(apply, S("fieldManager"));
    m->is_forced = json_true(json_get(apply, S("force")));
    m->ignored = json_get(apply, S("ignoreFields"));
    for (size_t i = 0; i < COUNT(names); i++) {
        if (str_eq(type, str_of(names[i].name))) {
            m->strategy = names[i].strategy;
            return true;
        }
    }
    return type.n == 0;
}

/* The first configuration that matches and has the attribute counts, for each attribute. */
static void configure(struct arena *a, const struct json *configs, str plural, struct manifest *m)
{
    bool has_strategy = false;
    json_each_item(configs, config)
    {
        const struct json *strategy = json_get(config, S("updateStrategy"));
        const struct json *feedback = json_get(config, S("feedbackRules"));
        const struct json *conditions = json_get(config, S("conditionRules"));
        if (!matches_identifier(json_get(config, S("resourceIdentifier")), m, plural))
            continue;
        if (json_is_obj(strategy) && !has_strategy) {
            has_strategy = true;
            if (!read_strategy(strategy, m) && !m->problem.n)
                m->problem = str_fmt(a, "unknown updateStrategy \"%.*s\"", STR(json_get_text(strategy, S("type"))));
        }
        if (json_len(feedback) && !m->feedback)
            m->feedback = feedback;
        if (json_len(conditions) && !m->conditions)
            m->conditions = conditions;
    }
}

/* ---- One manifest. ---- */

static void object_to(struct arena *a, struct manifest *m, const struct json *annotation)
{
    struct json *selector = ARENA_NEW(a, struct json);
    struct selector parsed;
    struct err err;
    str text = json_text(annotation);
    struct json_limits limits = {.bytes = SELECTOR_BYTES};
    int code = json_decode(a, text, &limits, NULL, selector, &err);
    if (code == 0 && !json_is_obj(selector))
        code = err_set(&err, ERR_BAD_REQUEST, "it is no LabelSelector");
    if (code == 0)
        code = selector_from_object(a, selector, &parsed, &err);
    if (code < 0)
        m->problem = str_fmt(a, "annotation " FLEET_ANNOTATION_SELECTOR ": %s", err.msg);
    else if (m->namespace.n)
        m->problem = S("both a namespace and annotation " FLEET_ANNOTATION_SELECTOR " are set");
    m->selector = selector;
}

static void identify(struct arena *a, struct manifest *m)
{
    str api_version = object_api_version(m->object);
    m->kind = object_kind(m->object);
    m->name = object_name(m->object);
    m->namespace = object_namespace(m->object);
    if (!kind_split_api_version(api_version, &m->group, &m->version) || !m->version.n)
        m->problem = str_fmt(a, "unexpected apiVersion \"%.*s\"", STR(api_version));
    else if (!m->kind.n)
        m->problem = S("kind must be set in manifest");
    else if (!m->name.n)
        m->problem = S("name must be set in manifest");
}

static struct manifest read_one(struct arena *a, const struct json *object, size_t ordinal, const struct json *configs,
                                const struct manifest_resources *resources)
{
    struct manifest m = {.ordinal = ordinal, .object = object, .field_manager = S(MANAGER)};
    identify(a, &m);
    const struct json *annotation = json_get(object_annotations(object), S(FLEET_ANNOTATION_SELECTOR));
    if (annotation && !m.problem.n)
        object_to(a, &m, annotation);
    str plural = m.kind.n && m.version.n ? resources->plural(resources->ctx, m.group, m.version, m.kind) : (str){0};
    if (!plural.n && !m.problem.n)
        m.problem = str_fmt(a, "no matches for kind \"%.*s\" in version \"%.*s\"", STR(m.kind),
                            STR(object_api_version(object)));
    if (plural.n)
        configure(a, configs, plural, &m);
    return m;
}

/* ---- All of them. ---- */

static int rank_of(const struct manifest *m)
{
    bool is_namespace = !m->group.n && str_eq(m->kind, S("Namespace"));
    bool is_definition = str_eq(m->group, S("apiextensions.k8s.io"));
    bool is_binding = str_has_suffix(m->kind, S("Binding"));
    return is_namespace || is_definition ? 0 : !str_eq(m->group, S(RBAC)) ? 3 : is_binding ? 2 : 1;
}

static int by_rank(const void *x, const void *y)
{
    const struct manifest *l = x, *r = y;
    int ranks = rank_of(l) - rank_of(r);
    return ranks ? ranks : l->ordinal < r->ordinal ? -1 : l->ordinal > r->ordinal;
}

size_t manifests_read(struct arena *a, const struct json *work, const struct manifest_resources *resources,
                      const struct manifest **ret)
{
    const struct json *list = json_dig(work, "spec.workload.manifests");
    const struct json *configs = json_dig(work, "spec.manifestConfigs");
    size_t n = 0;
    struct manifest *all = ARENA_ARRAY(a, struct manifest, json_len(list));
    json_each_item(list, object)
    {
        all[n] = read_one(a, object, n, configs, resources);
        n++;
    }
    if (n)
        qsort(all, n, sizeof *all, by_rank);
    *ret = all;
    return n;
}

bool manifest_is_orphaned(const struct json *work, str group, str plural, str namespace, str name)
{
    const struct json *option = json_dig(work, "spec.deleteOption");
    str policy = json_get_text(option, S("propagationPolicy"));
    if (str_eq(policy, S("Orphan")))
        return true;
    if (!str_eq(policy, S("SelectivelyOrphan")))
        return false;
    json_each_item(json_dig(option, "selectivelyOrphans.orphaningRules"), rule)
    {
        if (str_eq(json_get_text(rule, S("group")), group) && str_eq(json_get_text(rule, S("resource")), plural) &&
            str_eq(json_get_text(rule, S("namespace")), namespace) && str_eq(json_get_text(rule, S("name")), name))
            return true;
    }
    return false;
}
