/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas are compiled from the stored CRD when one of its resources is first read or written, and forgotten when they have
 * not been used for a while and there are too many: most CRDs of a cluster are never touched.
 *
 *   by_name: "widgets.example.com" ──► crd: generation, versions ──► version: "v1", struct schema */
#include "api/schemas.h"

#include "api/api_value.h"
#include "api/task.h"
#include "kinds/builtin.h"
#include "object/object.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_BYTES = 16 * 1024 * 1024, /* of compiled schemas; past it those go that nobody used lately */
    VERSIONS = 8,                 /* room of a CRD for a start */
};
static const int64_t keep_ns = 10 * NS_PER_S; /* longer than any request works on what it borrowed */

struct version {
    char *name;
    struct schema *schema; /* NULL: it has none */
    size_t bytes;
};

struct crd {
    struct schemas *schemas;
    unsigned refs; /* the map, and tasks that work with its schemas */
    char *name;
    uint32_t generation;
    int64_t used; /* monotonic */
    struct version *versions;
    size_t n;
};

struct schemas {
    struct api *api;
    const struct kind *kind; /* of CRDs */
    struct map by_name;
    size_t bytes;
};

struct schemas *schemas_new(struct api *api)
{
    struct schemas *s = xcalloc(1, sizeof *s);
    s->api = api;
    s->kind = kind_builtin_by_path(S("apiextensions.k8s.io"), S("v1"), S("customresourcedefinitions"));
    return s;
}

static void crd_unref(void *crd)
{
    struct crd *c = crd;
    struct schemas *s = c->schemas;
    if (--c->refs)
        return;
    for (size_t i = 0; i < c->n; i++) {
        s->bytes -= c->versions[i].bytes;
        schema_free(c->versions[i].schema);
        free(c->versions[i].name);
    }
    free(c->versions);
    free(c->name);
    free(c);
}

void schemas_free(struct schemas *s)
{
    size_t at = 0;
    str key;
    void *crd;
    if (!s)
        return;
    while (map_next(&s->by_name, &at, &key, &crd))
        crd_unref(crd);
    map_done(&s->by_name);
    free(s);
}

void schemas_forget(struct schemas *s, str crd)
{
    struct crd *c = map_del(&s->by_name, crd);
    if (c)
        crd_unref(c);
}

/* Too many: those go that were not used for a while, the others stay, however many they are. */
static void make_room(struct schemas *s, int64_t now)
{
    struct arena scratch ARENA_SCOPE = {0};
    VEC(struct crd *) old = {0};
    size_t at = 0;
    str key;
    void *crd;
    if (s->bytes <= MAX_BYTES)
        return;
    while (map_next(&s->by_name, &at, &key, &crd)) {
        if (now - ((struct crd *)crd)->used > keep_ns)
            *vec_push(&scratch, &old) = crd;
    }
    vec_each(&old, c)
    {
        map_del(&s->by_name, str_of((*c)->name));
        crd_unref(*c);
    }
}

/* ---- Finding, and making what is not there. ---- */

static char *copy(str s)
{
    char *p;
    if (asprintf(&p, "%.*s", STR(s)) < 0)
        abort();
    return p;
}

static struct crd *find_or_add(struct schemas *s, const struct kind *kind, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str name = str_of(kind->crd);
    struct crd *c = map_get(&s->by_name, name);
    const struct clock *clock = &s->api->options.clock;
    struct store_item item;
    struct json meta;
    if (!c) {
        if (store_get(s->api->store, api_table(s->api, s->kind), (str){0}, name, &item, err) < 0 ||
            value_metadata(&scratch, &item, &meta, err) < 0) {
            err_set(err, ERR_INTERNAL, "customresourcedefinitions.apiextensions.k8s.io \"%s\" cannot be read",
                    kind->crd);
            return NULL;
        }
        int64_t generation = 0;
        json_to_int(json_get(&meta, S("generation")), &generation);
        c = xcalloc(1, sizeof *c);
        c->schemas = s;
        c->refs = 1;
        c->name = copy(name);
        c->generation = (uint32_t)generation;
        map_set(&s->by_name, str_of(c->name), c);
    }
    c->used = clock_mono_ns(clock);
    return c;
}

/* What is shared is found and added in one go: it is not charged to a task, which could be suspended by that, or refused. */
static struct crd *find_crd(struct schemas *s, const struct kind *kind, struct err *err)
{
    struct budget *own = budget_swap(NULL);
    struct crd *c = find_or_add(s, kind, err);
    budget_swap(own);
    return c;
}

static struct version *find_version(struct crd *c, const struct kind *kind)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->versions[i].name, kind->version) == 0)
            return &c->versions[i];
    return NULL;
}

static const struct json *find_schema(const struct json *crd, const struct kind *kind)
{
    json_each_item(json_dig(crd, "spec.versions"), v)
    {
        if (str_eq(json_get_text(v, S("name")), str_of(kind->version)))
            return json_dig(v, "schema.openAPIV3Schema");
    }
    return NULL;
}

static struct schema *add_version(struct crd *c, const struct kind *kind, struct schema *schema)
{
    if (c->n % VERSIONS == 0) {
        c->versions = xrealloc(c->versions, (c->n + VERSIONS) * sizeof *c->versions);
    }
    c->versions[c->n] = (struct version){copy(str_of(kind->version)), schema, schema ? schema_footprint(schema) : 0};
    c->schemas->bytes += c->versions[c->n].bytes;
    c->n++;
    return schema;
}

/* A task may be suspended in here: another one may have made the same schema meanwhile. */
static int compile(struct schemas *s, struct crd *c, const struct kind *kind, const struct schema **ret,
                   struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct schema *schema = NULL;
    struct json crd;
    int rc = value_get(s->api, &scratch, s->kind, (str){0}, str_of(kind->crd), &crd, NULL, err);
    if (rc < 0)
        return err_wrap(err, "read CustomResourceDefinition %s", kind->crd);
    const struct json *openapi = find_schema(&crd, kind);
    if (json_is_obj(openapi) && schema_compile(openapi, &schema, err) < 0)
        return err_wrap(err, "compile the schema of %s %s", kind->crd, kind->version);
    const struct version *other = find_version(c, kind);
    if (other || budget_is_exhausted())
        schema_free(schema);
    if (!other && budget_is_exhausted())
        return err_set(err, ERR_TOO_LARGE, "compile the schema of %s %s: it takes too long", kind->crd, kind->version);
    *ret = other ? other->schema : add_version(c, kind, schema);
    return 0;
}

int schemas_get(struct schemas *s, const struct kind *kind, const struct schema **ret, struct err *err)
{
    struct crd *c = find_crd(s, kind, err);
    if (!c)
        return ERR_INTERNAL;
    if (task_is_running(s->api->tasks) && task_keep(s->api->tasks, c, crd_unref))
        c->refs++;
    const struct version *found = find_version(c, kind);
    if (found) {
        *ret = found->schema;
        return 0;
    }
    int rc = compile(s, c, kind, ret, err);
    if (rc == 0)
        make_room(s, c->used);
    return rc;
}

uint32_t schemas_generation(struct schemas *s, const struct kind *kind)
{
    struct crd *c = find_crd(s, kind, NULL);
    return c ? c->generation : 0;
}
