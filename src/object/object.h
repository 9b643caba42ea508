/* SPDX-License-Identifier: Apache-2.0 */
/* What: typed reading of what all objects have: names, labels, finalizers and the like.
 * Owns: nothing; texts and trees are borrowed from the object.
 * Threads: plain reading.
 * Errors: what is absent or of another type reads as empty. */
#pragma once

#include "json/json.h"

static inline str object_kind(const struct json *o)
{
    return json_get_text(o, S("kind"));
}
static inline str object_api_version(const struct json *o)
{
    return json_get_text(o, S("apiVersion"));
}
static inline const struct json *object_meta(const struct json *o)
{
    return json_get(o, S("metadata"));
}
static inline str object_name(const struct json *o)
{
    return json_get_text(object_meta(o), S("name"));
}
static inline str object_namespace(const struct json *o)
{
    return json_get_text(object_meta(o), S("namespace"));
}
static inline str object_uid(const struct json *o)
{
    return json_get_text(object_meta(o), S("uid"));
}
static inline str object_rv(const struct json *o)
{
    return json_get_text(object_meta(o), S("resourceVersion"));
}
static inline const struct json *object_labels(const struct json *o)
{
    return json_get(object_meta(o), S("labels"));
}
/* Empty when there is none; object_labels distinguishes an empty label from no label. */
static inline str object_label(const struct json *o, str key)
{
    return json_get_text(object_labels(o), key);
}
static inline const struct json *object_annotations(const struct json *o)
{
    return json_get(object_meta(o), S("annotations"));
}
static inline str object_annotation(const struct json *o, str key)
{
    return json_get_text(object_annotations(o), key);
}
static inline const struct json *object_finalizers(const struct json *o)
{
    return json_get(object_meta(o), S("finalizers"));
}
static inline const struct json *object_owners(const struct json *o)
{
    return json_get(object_meta(o), S("ownerReferences"));
}
/* 0 when there is none. */
static inline int64_t object_generation(const struct json *o)
{
    int64_t n;
    return json_to_int(json_get(object_meta(o), S("generation")), &n) ? n : 0;
}
/* Deletion was requested; finalizers keep the object. */
static inline bool object_is_deleting(const struct json *o)
{
    return !json_is_null(json_get(object_meta(o), S("deletionTimestamp")));
}
static inline bool object_has_finalizer(const struct json *o, str name)
{
    const struct json *list = object_finalizers(o);
    json_each_item(list, f)
    {
        if (str_eq(json_text(f), name))
            return true;
    }
    return false;
}
/* The group of "apps/v1"; empty for "v1". */
static inline str object_group(const struct json *o)
{
    str group, version;
    return str_cut(object_api_version(o), '/', &group, &version) ? group : (str){0};
}
