/* SPDX-License-Identifier: Apache-2.0 */
/* CRDs that an install no longer has though there are instances: an upgrade dropped them, or the install was removed by force. The label
 * of its namespace on the CRD says who had it. Until the last instance is deleted, the label stays, personas keep their access
 * by roles of their own (plan_retained_roles), and the install reports what is left.
 *
 *   labels of the CRD ─ namespaces that want it ─► namespaces that had it ─► with instances: retained
 *                                                                      └──► without: the label goes, and with the last the CRD
 *
 * Deletions of instances are not watched: that takes the permission to watch everything, and memory for every instance. They are
 * counted again, less and less often, as long as something is retained. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"

#include <stdlib.h>

enum { FEW = 8 }; /* namespaces that are asked one by one */

static const struct share_crd *find_wanted(const struct share_crd *crds, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(crds[i].name, name))
            return &crds[i];
    }
    return NULL;
}

typedef VEC(str) names;

/* Namespaces that the CRD is labelled for and that no install wants it for. */
static names find_former(struct arena *a, const struct json *crd, const struct share_crd *wanted)
{
    names found = {0};
    struct map wants = {0};
    const struct json *labels = object_labels(crd);
    for (size_t i = 0; wanted && i < wanted->sharers.n_namespaces; i++)
        map_set(&wants, wanted->sharers.namespaces[i], (void *)wanted);
    json_each_member(labels, m)
    {
        str key = json_key(m), namespace = str_from(key, sizeof LABEL_NAMESPACE_PREFIX - 1);
        if (str_has_prefix(key, S(LABEL_NAMESPACE_PREFIX)) && !map_get(&wants, namespace))
            *vec_push(a, &found) = namespace;
    }
    map_done(&wants);
    return found;
}

struct counting {
    struct installs *s;
    struct reconcile *r;
    const struct crd_row *row;
    struct err *err;
};

static int count_in(const struct counting *c, str namespace, struct json *ret)
{
    struct client_resource resource = {c->row->crd.group, c->row->version, c->row->crd.plural, c->row->crd.kind,
                                       !c->row->crd.is_cluster_scoped};
    struct client_ref ref = {.resource = &resource, .namespace = namespace};
    struct client_list_options options = {.metadata_only = true};
    int code = client_list(c->r->client, c->r->arena, &ref, &options, ret, NULL, c->err);
    return code < 0 ? err_wrap(c->err, "count the objects of %.*s", STR(c->row->crd.name)) : 0;
}

static int by_namespace(const void *x, const void *y)
{
    const struct retained_place *l = x, *r = y;
    return str_cmp(l->namespace, r->namespace);
}

static void add_place(struct counting *c, struct retained *ret, str namespace, size_t n)
{
    if (n)
        *vec_push(c->r->arena, &ret->places) = (struct retained_place){namespace, n};
    ret->n += n;
}

/* Of the CRD that some install wants: only what is in those namespaces. Else: everything, because the CRD goes with the last. */
static int count_places(struct counting *c, const names *former, bool is_wanted, struct retained *ret)
{
    struct json items;
    int code = 0;
    if (is_wanted && former->n <= FEW) {
        for (size_t i = 0; code == 0 && i < former->n; i++) {
            if ((code = count_in(c, former->p[i], &items)) == 0)
                add_place(c, ret, former->p[i], json_len(&items));
        }
        return code;
    }
    if ((code = count_in(c, (str){0}, &items)) < 0)
        return code;
    vec_each(former, namespace)
    {
        size_t n = 0;
        json_each_item(&items, item)
        {
            n += str_eq(object_namespace(item), *namespace);
        }
        add_place(c, ret, *namespace, n);
    }
    if (!is_wanted)
        ret->n = json_len(&items);
    return 0;
}

static int check_crd(struct counting *c, const struct share_crd *wanted, retained_vec *list)
{
    struct arena *a = c->r->arena;
    struct json crd;
    struct retained one = {.crd = c->row->crd};
    if (!informer_read(c->s->crd_informer, a, (str){0}, c->row->crd.name, &crd))
        return 0;
    str scope = object_label(&crd, S(LABEL_SCOPE));
    names former = find_former(a, &crd, wanted);
    if (wanted && former.n == 0)
        return 0;
    int code = count_places(c, &former, wanted != NULL, &one);
    if (code < 0 || one.n == 0)
        return code;
    one.is_environment = !wanted && str_eq(scope, S("environment"));
    if (one.places.n)
        qsort(one.places.p, one.places.n, sizeof *one.places.p, by_namespace);
    *vec_push(a, list) = one;
    return 0;
}

int retain_find(struct installs *s, struct reconcile *r, str label, const struct share_crd *crds, size_t n,
                retained_vec *ret, struct err *err)
{
    const struct crd_row *rows;
    size_t n_rows = crd_table_of_family(s->crds, r->arena, label, &rows);
    int code = 0;
    for (size_t i = 0; code == 0 && i < n_rows; i++) {
        struct counting c = {s, r, &rows[i], err};
        if (rows[i].crd.is_deleting || !rows[i].is_established || rows[i].version.n == 0)
            continue;
        code = check_crd(&c, find_wanted(crds, n, rows[i].crd.name), ret);
    }
    return code;
}

struct plan_sharers retain_places(struct arena *a, const struct retained *one)
{
    str *list = ARENA_ARRAY(a, str, one->places.n);
    for (size_t i = 0; i < one->places.n; i++)
        list[i] = one->places.p[i].namespace;
    return (struct plan_sharers){.namespaces = list, .n_namespaces = one->places.n};
}

/* The labels of these namespaces stay on the CRD. */
void retain_labels(struct arena *a, const retained_vec *retained, struct share_crd *crds, size_t n)
{
    vec_each(retained, one)
    {
        struct share_crd *c = (struct share_crd *)find_wanted(crds, n, one->crd.name);
        if (!c)
            continue;
        names all = {0};
        size_t i = 0, k = 0;
        while (i < c->sharers.n_namespaces || k < one->places.n) {
            bool is_sharer = k == one->places.n || (i < c->sharers.n_namespaces &&
                                                    str_cmp(c->sharers.namespaces[i], one->places.p[k].namespace) < 0);
            *vec_push(a, &all) = is_sharer ? c->sharers.namespaces[i++] : one->places.p[k++].namespace;
        }
        c->sharers.namespaces = all.p;
        c->sharers.n_namespaces = all.n;
    }
}

static void add_text(struct buf *b, uint64_t n, str crd)
{
    buf_fmt(b, "%s%llu %.*s", b->n ? ", " : "", (unsigned long long)n, STR(crd));
}

str retain_text(struct arena *a, const retained_vec *retained, str namespace)
{
    struct buf list = {.arena = a};
    vec_each(retained, one)
    {
        if (namespace.n == 0 && one->is_environment)
            add_text(&list, one->n, one->crd.name);
        vec_each(&one->places, place)
        {
            if (namespace.n && str_eq(place->namespace, namespace))
                add_text(&list, place->n, one->crd.name);
        }
    }
    if (list.n == 0)
        return (str){0};
    return str_fmt(
        a,
        "Instances of CRDs that this version no longer has: %.*s. Access to them is kept until they are deleted; "
        "then CRDs that no install uses are removed.",
        STR(buf_str(&list)));
}
