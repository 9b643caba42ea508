/* SPDX-License-Identifier: Apache-2.0 */
/* What the record of managers (metadata.managedFields) must know about a write. */
#include "api/write_parts.h"

#include "api/schemas.h"
#include "kinds/canonical.h"
#include "object/object.h"
#include "patch/apply.h"

/* Fields that a write through a subresource cannot change, and so does not own. Without a row: status for the object
 * itself if that has a subresource, spec for its status. */
static const struct {
    const char *plural, *subresource;
    const str fields[3];
} resets[] = {
    {"customresourcedefinitions", "status", {S_INIT("metadata"), S_INIT("spec")}},
    {"deployments", "status", {S_INIT("spec"), S_INIT("metadata.labels")}},
    {"namespaces", "finalize", {S_INIT("status")}},
    {"pods", "status", {S_INIT("spec"), S_INIT("metadata.deletionTimestamp"), S_INIT("metadata.ownerReferences")}},
};

static const str spec = S_INIT("spec");
static const str status = S_INIT("status");

static void set_reset(const struct write *w, struct managed_write *m)
{
    for (size_t i = 0; i < COUNT(resets); i++) {
        if (strcmp(w->kind->plural, resets[i].plural) != 0 || !str_eq(w->subresource, str_of(resets[i].subresource)) ||
            (w->kind->flags & KIND_CUSTOM))
            continue;
        m->reset = resets[i].fields;
        while (m->n_reset < 3 && resets[i].fields[m->n_reset].n)
            m->n_reset++;
        return;
    }
    if (str_eq(w->subresource, S("status"))) {
        m->reset = &spec;
        m->n_reset = 1;
    } else if (w->subresource.n == 0 && kind_subresource(w->kind, S("status"))) {
        m->reset = &status;
        m->n_reset = 1;
    }
}

/* Versions that the records of an object speak of and that are still served. */
static void add_versions(struct write *w, const struct json *object, struct managed_write *m)
{
    const struct json *entries = json_get(object_meta(object), S("managedFields"));
    VEC(str) known = {0};
    *vec_push(&w->work, &known) = m->api_version;
    json_each_item(entries, e)
    {
        str version = json_get_text(e, S("apiVersion")), group, v;
        if (kind_split_api_version(version, &group, &v) &&
            registry_by_path(w->api->registry, group, v, str_of(w->kind->plural)))
            *vec_push(&w->work, &known) = version;
    }
    m->versions = known.p;
    m->n_versions = known.n;
}

struct managed_write write_managed(struct write *w)
{
    const struct schema *schema = NULL;
    struct managed_write m = {
        .api_version = decode_api_version(&w->work, w->kind),
        .kind = str_of(w->kind->kind),
        .manager = w->options.manager,
        .subresource = w->subresource,
    };
    struct json now = meta_now(&w->work, &w->api->options.clock);
    m.time = json_text(&now);
    if (w->kind->shape)
        m.type = typed_of_shape(w->kind->shape);
    else
        m.type = typed_of_schema(schemas_get(w->api->schemas, w->kind, &schema, NULL) == 0 ? schema : NULL);
    set_reset(w, &m);
    if (w->kind->flags & KIND_CUSTOM)
        add_versions(w, w->exists ? &w->current : &w->next, &m);
    return m;
}

/* A new object takes the place of one with nothing in it, which has all fields that Go never leaves out. */
static struct json nothing_yet(struct write *w)
{
    struct json nothing = json_obj();
    if (w->kind->shape)
        canonical_form(&w->work, w->kind->shape, &nothing, 0);
    return nothing;
}

void write_track(struct write *w)
{
    struct json nothing = w->exists ? json_null() : nothing_yet(w);
    w->next = managed_update(
        &w->work,
        &(struct managed_args){.write = write_managed(w), .old = w->exists ? &w->current : &nothing, .next = &w->next});
}
