/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/registry_crd.h"

#include "kinds/builtin.h"
#include "kinds/columns.h"
#include "schema/crd.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { VERBS_TERMINATING = VERB_DELETE | VERB_DELETECOLLECTION | VERB_GET | VERB_LIST | VERB_WATCH };

static const char *text(struct arena *a, const struct json *obj, str key)
{
    return str_cstr(a, json_get_text(obj, key));
}

/* A list of texts, NULL at its end. */
static const char *const *texts(struct arena *a, const struct json *list)
{
    const char **made = ARENA_ARRAY(a, const char *, json_len(list) + 1);
    size_t n = 0;
    json_each_item(list, item)
    {
        made[n++] = str_cstr(a, json_text(item));
    }
    return made;
}

/* ".spec.color" is selected as spec.color. */
static const char *const *selectable(struct arena *a, const struct json *fields)
{
    const char **made = ARENA_ARRAY(a, const char *, json_len(fields) + 1);
    size_t n = 0;
    json_each_item(fields, f)
    {
        str path = json_get_text(f, S("jsonPath"));
        made[n++] = str_cstr(a, str_has_prefix(path, S(".")) ? str_from(path, 1) : path);
    }
    return made;
}

static void subresources(struct arena *a, const struct json *given, struct kind *k)
{
    struct kind_subresource *list = ARENA_ARRAY(a, struct kind_subresource, 2);
    const struct json *scale = json_get(given, S("scale"));
    if (json_is_obj(scale)) {
        struct kind_scale *s = ARENA_NEW(a, struct kind_scale);
        bool selects = json_get_text(scale, S("labelSelectorPath")).n;
        *s = (struct kind_scale){text(a, scale, S("specReplicasPath")), text(a, scale, S("statusReplicasPath")),
                                 selects ? text(a, scale, S("labelSelectorPath")) : NULL};
        k->scale = s;
        list[k->n_subresources++] = (struct kind_subresource){"scale", "autoscaling", "v1", "Scale", VERBS_STATUS};
    }
    if (json_is_obj(json_get(given, S("status"))))
        list[k->n_subresources++] = (struct kind_subresource){"status", NULL, NULL, NULL, VERBS_STATUS};
    k->subresources = list;
}

/* "example.com/v1 Bar is deprecated; use example.com/v2 Bar" */
static const char *deprecation(struct arena *a, const struct json *versions, const struct json *version,
                               const struct kind *k)
{
    str best = json_get_text(version, S("name")), own = json_get_text(version, S("deprecationWarning"));
    if (own.n)
        return str_cstr(a, own);
    json_each_item(versions, v)
    {
        str name = json_get_text(v, S("name"));
        if (json_true(json_get(v, S("served"))) && !json_true(json_get(v, S("deprecated"))) &&
            kind_version_order(name, best) < 0)
            best = name;
    }
    str msg = str_fmt(a, "%s/%s %s is deprecated", k->group, k->version, k->kind);
    if (!str_eq(best, str_of(k->version)))
        msg = str_fmt(a, "%.*s; use %s/%.*s %s", STR(msg), k->group, STR(best), k->kind);
    return str_cstr(a, msg);
}

static void make_kind(struct registry_crd *c, const struct json *crd, const struct json *version, struct kind *k)
{
    struct arena *a = &c->arena;
    bool terminating = condition_is(crd, S("Terminating"), S("True"));
    *k = (struct kind){
        .group = str_cstr(a, c->group),
        .version = text(a, version, S("name")),
        .kind = text(a, &c->names, S("kind")),
        .list_kind = text(a, &c->names, S("listKind")),
        .plural = text(a, &c->names, S("plural")),
        .singular = text(a, &c->names, S("singular")),
        .short_names = texts(a, json_get(&c->names, S("shortNames"))),
        .categories = texts(a, json_get(&c->names, S("categories"))),
        .namespaced = str_eq(json_text(json_dig(crd, "spec.scope")), S("Namespaced")),
        .verbs = terminating ? VERBS_TERMINATING : VERBS_ALL,
        .flags = KIND_CUSTOM | KIND_GENERATION,
        .selectable = selectable(a, json_get(version, S("selectableFields"))),
        .columns = columns_of_crd(a, json_get(version, S("additionalPrinterColumns"))),
        .crd = str_cstr(a, c->name),
        .crd_uid = str_cstr(a, json_text(json_dig(crd, "metadata.uid"))),
    };
    json_each_item(json_dig(crd, "spec.versions"), v)
    {
        if (json_true(json_get(v, S("storage"))))
            k->storage_version = text(a, v, S("name"));
    }
    subresources(a, json_get(version, S("subresources")), k);
    if (json_true(json_get(version, S("deprecated")))) {
        k->flags |= KIND_DEPRECATED;
        k->deprecation_warning = deprecation(a, json_dig(crd, "spec.versions"), version, k);
    }
}

static int by_preference(const void *l, const void *r)
{
    const struct registry_kind *a = l, *b = r;
    return kind_version_order(str_of(a->kind.version), str_of(b->kind.version));
}

static void make_kinds(struct registry_crd *c, const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    c->kinds = ARENA_ARRAY(&c->arena, struct registry_kind, json_len(versions));
    json_each_item(versions, v)
    {
        if (!json_true(json_get(v, S("served"))))
            continue;
        make_kind(c, crd, v, &c->kinds[c->n].kind);
        c->kinds[c->n++].crd = c;
    }
    if (c->n)
        qsort(c->kinds, c->n, sizeof c->kinds[0], by_preference);
}

int registry_crd_new(const struct json *crd, struct registry_crd **ret, struct err *err)
{
    str name = json_text(json_dig(crd, "metadata.name")), group = json_text(json_dig(crd, "spec.group"));
    const struct json *names = json_dig(crd, "status.acceptedNames");
    if (name.n == 0 || group.n == 0)
        return err_set(err, ERR_INVALID, "a CustomResourceDefinition needs a name and a group");
    struct registry_crd *c = xcalloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->name = str_dup(&c->arena, name);
    c->group = str_dup(&c->arena, group);
    c->names = json_is_obj(names) ? json_dup(&c->arena, names) : json_obj();
    if (crd_owns_objects(crd))
        make_kinds(c, crd);
    *ret = c;
    return 0;
}

void registry_crd_unref(struct registry_crd *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_done(&c->arena);
    free(c);
}

static struct registry_crd *crd_of(const struct kind *k)
{
    return k && (k->flags & KIND_CUSTOM) ? ((const struct registry_kind *)(const void *)k)->crd : NULL;
}

const struct kind *registry_hold(const struct kind *k)
{
    struct registry_crd *c = crd_of(k);
    if (c)
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return k;
}

void registry_release(const struct kind *k)
{
    registry_crd_unref(crd_of(k));
}
