/* SPDX-License-Identifier: Apache-2.0 */
/* CRDs as they are written: the author's, with labels that say for whom they are and whose. Cost is linear in those who share
 * one: labels are added, not looked for, because the package manager's keys are not the author's to use. */
#include "package/plan_parts.h"

#include "object/object.h"

static bool is_ours(str key)
{
    return str_has_prefix(key, S(ANNOTATION_PREFIX));
}

/* What the author wrote, without keys that only Reeve writes. */
static struct json author_map(struct arena *a, const struct json *map, size_t room)
{
    struct json copy = json_obj_sized(a, json_len(map) + room);
    json_each_member(map, m)
    {
        if (!crd_key_is_reserved(json_key(m)))
            json_add(a, &copy, json_key(m), m->val);
    }
    return copy;
}

static struct json labels_of(struct arena *a, const struct dialect *dialect, const struct package *p,
                             const struct json *body, const struct plan_sharers *sharers)
{
    enum { OTHERS = 2 };
    struct json labels = author_map(a, object_labels(body), sharers->n_namespaces + sharers->n_records + OTHERS);
    bool is_cluster = p->scope == PACKAGE_CLUSTER;
    json_add(a, &labels, S(LABEL_MANAGED_BY), json_str(S(LABEL_MANAGER)));
    if (dialect->has_personas)
        json_add(a, &labels, S(LABEL_SCOPE), json_str(is_cluster ? S("environment") : S("namespace")));
    if (dialect->has_personas && !is_cluster)
        plan_add_namespaces(a, &labels, sharers);
    for (size_t i = 0; i < sharers->n_records; i++)
        json_add(a, &labels, plan_join(a, S(LABEL_PARENT_PREFIX), sharers->records[i]), json_str(S("true")));
    return labels;
}

/* packages.crossplane.io/x, or stacks.crossplane.io/x where that is the dialect. */
static str spoken(struct arena *a, const struct dialect *dialect, str key)
{
    if (!is_ours(key) || str_eq(dialect->group, S("packages.crossplane.io")))
        return key;
    return str_fmt(a, "%.*s/%.*s", STR(dialect->group), STR(str_from(key, sizeof ANNOTATION_PREFIX - 1)));
}

static struct json annotations_of(struct arena *a, const struct dialect *dialect, const struct package *p,
                                  const struct package_crd *crd, const struct json *body)
{
    enum { OTHERS = 3 };
    struct json annotations = author_map(a, object_annotations(body), json_len(&crd->annotations) + OTHERS);
    str title = json_get_text(&p->metadata, S("title"));
    json_each_member(&crd->annotations, m)
    {
        json_set(a, &annotations, spoken(a, dialect, json_key(m)), m->val);
    }
    if (title.n)
        json_set(a, &annotations, str_fmt(a, "%.*s/%.*s", STR(dialect->group), STR(dialect->title_annotation)),
                 json_str(title));
    json_set(a, &annotations, S(ANNOTATION_FAMILY), json_str(p->family));
    if (p->source.n)
        json_set(a, &annotations, S(ANNOTATION_SOURCE), json_str(p->source));
    return annotations;
}

struct json plan_crd(struct arena *a, const struct dialect *dialect, const struct package *p,
                     const struct package_crd *crd, const struct json *body, const struct plan_sharers *sharers)
{
    struct json object = json_dup_top(a, body);
    struct json metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(crd->info.name));
    json_add(a, &metadata, S("labels"), labels_of(a, dialect, p, body, sharers));
    json_add(a, &metadata, S("annotations"), annotations_of(a, dialect, p, crd, body));
    json_set(a, &object, S("metadata"), metadata);
    return object;
}
