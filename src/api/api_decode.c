/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_decode.h"

#include "api/schemas.h"
#include "authz/validate.h"
#include "kinds/shapes.h"
#include "kinds/strategy.h"
#include "object/object.h"

static void fill_defaults(struct arena *a, const struct kind *kind, struct json *object)
{
    if (rbac_kind_of(kind) != AUTHZ_UNKNOWN)
        rbac_default(a, kind, object);
    strategy_default(a, kind, object);
}

/* ---- Custom resources. ---- */

/* `unknown field "nmae"` of metadata alone becomes `unknown field "metadata.nmae"`. */
static void add_metadata_notes(struct arena *a, struct strict_notes *notes, const struct strict_notes *inside)
{
    vec_each(&inside->list, note)
    {
        ptrdiff_t quote = str_find_char(*note, '"');
        str before = str_upto(*note, (size_t)quote + 1), path = str_from(*note, (size_t)quote + 1);
        if (notes->list.n < STRICT_MAX_NOTES)
            *vec_push(a, &notes->list) = str_fmt(a, "%.*smetadata.%.*s", STR(before), STR(path));
    }
}

/* Metadata of custom resources is decoded as that of all others, whatever their schema says. */
static int decode_metadata(struct arena *a, struct json *object, struct strict_notes *notes, struct err *err)
{
    static const char *const names[] = {"null", "bool", "number", "number", "number", "string", "array", "object"};
    struct json *meta = json_get_mut(object, S("metadata"));
    struct strict_notes inside = {0};
    if (json_is_null(meta))
        return 0;
    if (!json_is_obj(meta))
        return err_set(err, ERR_BAD_REQUEST, "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
                       names[json_type(meta)]);
    int rc = strict_decode(a, &shape_object_meta, meta, NULL, notes ? &inside : NULL, err);
    if (rc == 0 && notes)
        add_metadata_notes(a, notes, &inside);
    return rc;
}

static int decode_custom(struct api *api, struct arena *a, const struct kind *kind, struct json *object,
                         struct strict_notes *notes, struct err *err)
{
    const struct schema *schema;
    struct schema_unknown unknown = {.arena = a};
    int rc = decode_metadata(a, object, notes, err);
    if (rc < 0 || (rc = schemas_get(api->schemas, kind, &schema, err)) < 0)
        return rc;
    if (!schema)
        return 0;
    schema_prune(schema_root(schema), object,
                 &(struct schema_prune_args){
                     .is_resource = true, .object_meta = &shape_object_meta, .unknown = notes ? &unknown : NULL});
    vec_each(&unknown.paths, path) strict_note_unknown(a, notes, *path);
    if (!schema_default(schema_root(schema), a, object))
        return err_set(err, ERR_TOO_LARGE, "defaults of the schema come to more than %d bytes", SCHEMA_MAX_DEFAULTS);
    return 0;
}

/* An empty record of managers is one to be cleared, as [{}] is; no list at all says nothing. Empty lists are left out of what
 * is kept, so it must look like the other one. */
static void keep_reset(struct arena *a, struct json *object)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    struct json *managed = meta ? json_get_mut(meta, S("managedFields")) : NULL;
    if (managed && json_is_arr(managed) && managed->n == 0)
        json_push(a, managed, json_obj());
}

int decode_object(struct api *api, struct arena *a, const struct kind *kind, struct json *object,
                  const struct json_notes *duplicates, struct strict_notes *notes, struct err *err)
{
    if (!kind->shape) {
        for (size_t i = 0; duplicates && notes && i < duplicates->duplicates.n; i++)
            strict_note_duplicate(a, notes, duplicates->duplicates.p[i]);
        return decode_custom(api, a, kind, object, notes, err);
    }
    int rc = strict_decode(a, kind->shape, object, duplicates, notes, err);
    if (rc == 0) {
        keep_reset(a, object);
        fill_defaults(a, kind, object);
    }
    return rc;
}
