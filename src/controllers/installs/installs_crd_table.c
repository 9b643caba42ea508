/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/installs/installs_crd_table.h"

#include "base/map.h"
#include "object/conditions.h"
#include "object/object.h"

#include <pthread.h>
#include <stdlib.h>

/* One CRD; in the table by name, and in the lists of its group and of its family. */
struct node {
    struct arena arena;
    struct crd_row row;
};

/* Nodes by name; sorted when asked. */
struct bunch {
    struct arena arena;
    str key;
    struct map nodes;
};

struct crd_table {
    pthread_mutex_t lock;
    struct map by_name, by_group, by_family;
};

struct crd_table *crd_table_new(void)
{
    struct crd_table *t = xcalloc(1, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

/* ---- Lists. ---- */

static void bunch_put(struct map *bunches, str key, struct node *node)
{
    if (key.n == 0)
        return;
    struct bunch *b = map_get(bunches, key);
    if (!b) {
        b = xcalloc(1, sizeof *b);
        arena_begin(&b->arena, key.n + 8);
        b->key = str_dup(&b->arena, key);
        map_set(bunches, b->key, b);
    }
    map_set(&b->nodes, node->row.crd.name, node);
}

static void bunch_free(struct bunch *b)
{
    map_done(&b->nodes);
    arena_done(&b->arena);
    free(b);
}

static void bunch_del(struct map *bunches, str key, const struct node *node)
{
    struct bunch *b = key.n ? map_get(bunches, key) : NULL;
    if (!b)
        return;
    map_del(&b->nodes, node->row.crd.name);
    if (b->nodes.n == 0) {
        map_del(bunches, b->key);
        bunch_free(b);
    }
}

static void node_free(struct node *n)
{
    arena_done(&n->arena);
    free(n);
}

static void remove_node(struct crd_table *t, str name)
{
    struct node *n = map_get(&t->by_name, name);
    if (!n)
        return;
    bunch_del(&t->by_group, n->row.crd.group, n);
    bunch_del(&t->by_family, n->row.label, n);
    map_del(&t->by_name, name);
    node_free(n);
}

static void free_bunches(struct map *bunches)
{
    size_t at = 0;
    str key;
    void *value;
    while (map_next(bunches, &at, &key, &value))
        bunch_free(value);
    map_done(bunches);
}

void crd_table_free(struct crd_table *t)
{
    if (!t)
        return;
    size_t at = 0;
    str key;
    void *value;
    free_bunches(&t->by_group);
    free_bunches(&t->by_family);
    while (map_next(&t->by_name, &at, &key, &value))
        node_free(value);
    map_done(&t->by_name);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* ---- What is kept of a CRD. ---- */

static const char *const kept_annotations[] = {ANNOTATION_FAMILY,   ANNOTATION_SOURCE,  ANNOTATION_APPLIED,
                                               ANNOTATION_APPROVED, ANNOTATION_RELEASE, ANNOTATION_SPEC};
enum { KEPT_ANNOTATIONS = COUNT(kept_annotations) };

static struct json keep_fields(struct arena *a, const struct json *from, const char *const *fields, size_t n)
{
    struct json kept = json_obj();
    for (size_t i = 0; i < n; i++) {
        const struct json *v = json_get(from, str_of(fields[i]));
        if (v)
            json_add(a, &kept, str_of(fields[i]), *v);
    }
    return kept;
}

static struct json keep_versions(struct arena *a, const struct json *versions)
{
    static const char *const fields[] = {"name", "served", "storage"};
    struct json kept = json_arr();
    json_each_item(versions, v)
    {
        json_push(a, &kept, keep_fields(a, v, fields, 3));
    }
    return kept;
}

static struct json keep_metadata(struct arena *a, const struct json *crd)
{
    static const char *const fields[] = {"name", "uid", "resourceVersion", "generation", "deletionTimestamp", "labels"};
    struct json kept = keep_fields(a, object_meta(crd), fields, COUNT(fields));
    struct json annotations = keep_fields(a, object_annotations(crd), kept_annotations, KEPT_ANNOTATIONS);
    json_add(a, &kept, S("annotations"), annotations);
    return kept;
}

struct json crd_table_trim(struct arena *a, const struct json *crd)
{
    static const char *const of_spec[] = {"group", "names", "scope"};
    static const char *const of_status[] = {"conditions"};
    const struct json *spec = json_get(crd, S("spec"));
    struct json kept = json_obj(), kept_spec = keep_fields(a, spec, of_spec, 3);
    json_add(a, &kept_spec, S("versions"), keep_versions(a, json_get(spec, S("versions"))));
    json_add(a, &kept, S("apiVersion"), json_str(object_api_version(crd)));
    json_add(a, &kept, S("kind"), json_str(object_kind(crd)));
    json_add(a, &kept, S("metadata"), keep_metadata(a, crd));
    json_add(a, &kept, S("spec"), kept_spec);
    json_add(a, &kept, S("status"), keep_fields(a, json_get(crd, S("status")), of_status, 1));
    return kept;
}

/* ---- From a CRD to a row. ---- */

/* Whatever order they are in. */
static uint64_t hash_of_texts(const struct json *object)
{
    uint64_t sum = 0;
    json_each_member(object, m)
    {
        sum += hash_str(json_key(m)) * 31 + (hash_str(json_text(&m->val)) ^ 0x9e3779b97f4a7c15u);
    }
    return sum;
}

static str served_version(const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, v)
    {
        if (json_true(json_get(v, S("served"))))
            return json_get_text(v, S("name"));
    }
    return (str){0};
}

struct crd_row crd_row_of(struct arena *a, const struct json *crd)
{
    const struct json *spec = json_get(crd, S("spec")), *names = json_get(spec, S("names"));
    str family = object_annotation(crd, S(ANNOTATION_FAMILY));
    bool is_managed = str_eq(object_label(crd, S(LABEL_MANAGED_BY)), S(LABEL_MANAGER)) && family.n;
    struct json ours = keep_fields(a, object_annotations(crd), kept_annotations, KEPT_ANNOTATIONS);
    return (struct crd_row){
        .crd = {.name = str_dup(a, object_name(crd)),
                .group = str_dup(a, json_get_text(spec, S("group"))),
                .plural = str_dup(a, json_get_text(names, S("plural"))),
                .kind = str_dup(a, json_get_text(names, S("kind"))),
                .is_cluster_scoped = str_eq(json_get_text(spec, S("scope")), S("Cluster")),
                .is_managed = is_managed,
                .family = is_managed ? str_dup(a, family) : (str){0},
                .source = is_managed ? str_dup(a, object_annotation(crd, S(ANNOTATION_SOURCE))) : (str){0},
                .is_deleting = object_is_deleting(crd)},
        .uid = str_dup(a, object_uid(crd)),
        .label = is_managed ? plan_family_label(a, family) : (str){0},
        .version = str_dup(a, served_version(crd)),
        .applied = str_dup(a, object_annotation(crd, S(ANNOTATION_APPLIED))),
        .generation = object_generation(crd),
        .marks = hash_of_texts(object_labels(crd)) ^ (hash_of_texts(&ours) << 1),
        .is_established = condition_is(crd, S("Established"), S("True")),
    };
}

void crd_table_put(struct crd_table *t, const struct json *crd)
{
    struct node *n = xcalloc(1, sizeof *n);
    arena_begin(&n->arena, 512);
    n->row = crd_row_of(&n->arena, crd);
    pthread_mutex_lock(&t->lock);
    remove_node(t, n->row.crd.name);
    map_set(&t->by_name, n->row.crd.name, n);
    bunch_put(&t->by_group, n->row.crd.group, n);
    bunch_put(&t->by_family, n->row.label, n);
    pthread_mutex_unlock(&t->lock);
}

void crd_table_del(struct crd_table *t, str name)
{
    pthread_mutex_lock(&t->lock);
    remove_node(t, name);
    pthread_mutex_unlock(&t->lock);
}

/* ---- Questions. ---- */

static struct crd_row row_dup(struct arena *a, const struct crd_row *row)
{
    struct crd_row copy = *row;
    str *texts[] = {&copy.crd.name,   &copy.crd.group, &copy.crd.plural, &copy.crd.kind, &copy.crd.family,
                    &copy.crd.source, &copy.uid,       &copy.label,      &copy.version,  &copy.applied};
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = str_dup(a, *texts[i]);
    return copy;
}

bool crd_table_get(struct crd_table *t, struct arena *a, str name, struct crd_row *ret)
{
    pthread_mutex_lock(&t->lock);
    const struct node *n = map_get(&t->by_name, name);
    if (n)
        *ret = row_dup(a, &n->row);
    pthread_mutex_unlock(&t->lock);
    return n != NULL;
}

static int by_name(const void *x, const void *y)
{
    return str_cmp(((const struct crd_row *)x)->crd.name, ((const struct crd_row *)y)->crd.name);
}

static size_t list(struct crd_table *t, const struct map *bunches, struct arena *a, str key, const struct crd_row **ret)
{
    pthread_mutex_lock(&t->lock);
    const struct bunch *b = key.n ? map_get(bunches, key) : NULL;
    struct crd_row *rows = b ? ARENA_ARRAY(a, struct crd_row, b->nodes.n) : NULL;
    size_t n = 0, at = 0;
    str name;
    void *value;
    while (b && map_next(&b->nodes, &at, &name, &value))
        rows[n++] = row_dup(a, &((const struct node *)value)->row);
    pthread_mutex_unlock(&t->lock);
    if (n)
        qsort(rows, n, sizeof *rows, by_name);
    *ret = rows;
    return n;
}

size_t crd_table_of_group(struct crd_table *t, struct arena *a, str group, const struct crd_row **ret)
{
    return list(t, &t->by_group, a, group, ret);
}

size_t crd_table_of_family(struct crd_table *t, struct arena *a, str label, const struct crd_row **ret)
{
    return list(t, &t->by_family, a, label, ret);
}

static bool fact_crd(void *ctx, struct arena *a, str name, struct plan_crd *ret)
{
    struct crd_row row;
    if (!crd_table_get(ctx, a, name, &row))
        return false;
    *ret = row.crd;
    return true;
}

static size_t fact_group(void *ctx, struct arena *a, str group, const struct plan_crd **ret)
{
    const struct crd_row *rows;
    size_t n = crd_table_of_group(ctx, a, group, &rows);
    struct plan_crd *crds = ARENA_ARRAY(a, struct plan_crd, n);
    for (size_t i = 0; i < n; i++)
        crds[i] = rows[i].crd;
    *ret = crds;
    return n;
}

struct plan_facts crd_table_facts(struct crd_table *t)
{
    return (struct plan_facts){.ctx = t, .crd = fact_crd, .crds_of_group = fact_group};
}
