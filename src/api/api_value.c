/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_value.h"

#include "api/schemas.h"
#include "kinds/shapes.h"
#include "kinds/strategy.h"
#include "schema/schema.h"

enum { VALUE_FORMAT = 1 };

/* In front of every stored object; native byte order, as all of the store. */
struct value_header {
    uint8_t format;
    uint8_t unused[3];
    uint32_t generation;              /* custom resources: that of the CRD whose schema it passed… */
    uint32_t version_hash;            /* …and the version of it */
    uint32_t revision_at;             /* where in the body the resourceVersion belongs */
    uint32_t metadata_at, metadata_n; /* where the metadata is: {"name":…} */
};

/* ---- To the store. ---- */

/* The order in which Kubernetes prints metadata. */
static const char *const metadata_order[] = {
    "name",          "generateName",      "namespace",         "selfLink",
    "uid", /* resourceVersion */
    "generation",    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "labels",        "annotations",       "ownerReferences",   "finalizers",
    "managedFields",
};
enum { METADATA_ROWS = COUNT(metadata_order), REVISION_ROW = 5, LABELS_ROW = 9 };

static bool is_ordered(str key)
{
    for (size_t i = 0; i < METADATA_ROWS; i++)
        if (str_eq(key, str_of(metadata_order[i])))
            return true;
    return str_eq(key, S("resourceVersion"));
}

static void print_member(struct buf *b, str key, const struct json *v)
{
    if (b->p[b->n - 1] != '{')
        buf_add_char(b, ',');
    json_encode_str(b, key);
    buf_add_char(b, ':');
    json_encode(b, v, 0);
}

static void print_metadata(struct buf *b, const struct json *metadata, struct value_header *h)
{
    h->metadata_at = (uint32_t)b->n;
    buf_add_char(b, '{');
    for (size_t i = 0; i < METADATA_ROWS; i++) {
        if (i == REVISION_ROW)
            h->revision_at = (uint32_t)b->n;
        const struct json *v = json_get(metadata, str_of(metadata_order[i]));
        if (v)
            print_member(b, str_of(metadata_order[i]), v);
    }
    json_each_member(metadata, m)
    {
        if (!is_ordered(json_key(m)))
            print_member(b, json_key(m), &m->val);
    }
    buf_add_char(b, '}');
    h->metadata_n = (uint32_t)b->n - h->metadata_at;
}

static void print_body(struct buf *b, const struct json *object, struct value_header *h)
{
    buf_add_str(b, S("{\"metadata\":"));
    print_metadata(b, json_get(object, S("metadata")), h);
    json_each_member(object, m)
    {
        str key = json_key(m);
        if (!str_eq(key, S("metadata")) && !str_eq(key, S("kind")) && !str_eq(key, S("apiVersion")))
            print_member(b, key, &m->val);
    }
    buf_add_char(b, '}');
}

static bool is_custom(const struct kind *kind)
{
    return kind->flags & KIND_CUSTOM;
}

struct value_parts value_encode(struct api *api, struct arena *a, const struct kind *kind, const struct json *object)
{
    struct value_header *h = ARENA_NEW(a, struct value_header);
    h->format = VALUE_FORMAT;
    if (is_custom(kind)) {
        h->generation = schemas_generation(api->schemas, kind);
        h->version_hash = json_hash(str_of(kind->version));
    }
    struct buf b = {.arena = a};
    print_body(&b, object, h);
    return (struct value_parts){{(const char *)h, sizeof *h}, buf_str(&b)};
}

/* ---- Back. ---- */

struct stored {
    struct value_header h;
    str body;
};

/* Its codes are spelled out so that the analyser sees that there is always a body, or an error. */
static int stored_open(str value, struct stored *ret, struct err *err)
{
    if (value.n < sizeof ret->h) {
        err_set(err, ERR_IO, "a stored object is cut short");
        return ERR_IO;
    }
    memcpy(&ret->h, value.p, sizeof ret->h);
    ret->body = str_from(value, sizeof ret->h);
    const struct value_header *h = &ret->h;
    if (h->format != VALUE_FORMAT || h->revision_at > ret->body.n || h->metadata_at > ret->body.n ||
        h->metadata_n > ret->body.n - h->metadata_at || h->revision_at == 0 || h->revision_at == ret->body.n) {
        err_set(err, ERR_IO, "a stored object is in a format this version does not know");
        return ERR_IO;
    }
    return 0;
}

/* Passed the schema that is in force now, in the version asked for? */
static bool is_current(struct api *api, const struct kind *kind, const struct value_header *h)
{
    return !is_custom(kind) || (h->generation == schemas_generation(api->schemas, kind) &&
                                h->version_hash == json_hash(str_of(kind->version)));
}

static void print_type(struct buf *b, const struct kind *kind)
{
    buf_add_str(b, S("\"kind\":\""));
    buf_add_str(b, str_of(kind->kind));
    buf_add_str(b, S("\",\"apiVersion\":\""));
    if (kind->group[0]) {
        buf_add_str(b, str_of(kind->group));
        buf_add_char(b, '/');
    }
    buf_add_str(b, str_of(kind->version));
    buf_add_str(b, S("\","));
}

/* "resourceVersion":"12" with the commas that its neighbours need. */
static void print_revision(struct buf *b, str before, str after, rev revision)
{
    bool is_first = before.p[before.n - 1] == '{', is_alone = after.p[0] != '"';
    buf_add_str(b, is_first ? S("\"resourceVersion\":\"") : S(",\"resourceVersion\":\""));
    buf_add_uint(b, revision);
    buf_add_str(b, is_first && !is_alone ? S("\",") : S("\""));
}

static void print_stored(struct buf *b, const struct kind *kind, const struct stored *s, rev revision, bool bare)
{
    str before = str_upto(s->body, s->h.revision_at), after = str_from(s->body, s->h.revision_at);
    buf_grow(b, s->body.n + 256);
    buf_add_char(b, '{');
    if (!bare)
        print_type(b, kind);
    buf_add_str(b, str_from(before, 1));
    print_revision(b, before, after, revision);
    buf_add_str(b, after);
}

/* Brings an old custom resource in line with the schema of today. */
static int refresh(struct api *api, struct arena *a, const struct kind *kind, struct json *object, struct err *err)
{
    const struct schema *schema;
    int code = schemas_get(api->schemas, kind, &schema, err);
    if (code < 0 || schema == NULL)
        return code;
    struct schema_prune_args args = {.is_resource = true, .object_meta = &shape_object_meta};
    schema_prune(schema_root(schema), object, &args);
    if (!schema_default(schema_root(schema), a, object))
        return err_set(err, ERR_TOO_LARGE, "the defaults of the schema add too much to the object");
    return 0;
}

static int decode_text(struct arena *a, str text, struct json *ret, struct err *err)
{
    struct json_limits limits = {.bytes = SIZE_MAX};
    int code = json_decode(a, text, &limits, NULL, ret, err);
    return code < 0 ? err_set(err, ERR_IO, "a stored object cannot be read") : 0;
}

int value_decode(struct api *api, struct arena *a, const struct kind *kind, const struct store_item *item,
                 struct json *ret, struct err *err)
{
    struct stored s;
    int code = stored_open(item->value, &s, err);
    if (code < 0)
        return code;
    const struct kind *storage = strategy_storage_kind(kind);
    struct buf b = {.arena = a};
    print_stored(&b, storage, &s, item->revision, false);
    struct json object;
    if ((code = decode_text(a, buf_str(&b), &object, err)) < 0)
        return code;
    if (storage != kind)
        strategy_convert(a, storage, kind, &object);
    if (!is_current(api, kind, &s.h) && (code = refresh(api, a, kind, &object, err)) < 0)
        return code;
    *ret = object;
    return 0;
}

static bool is_text(struct api *api, const struct kind *kind, const struct stored *s)
{
    return strategy_storage_kind(kind) == kind && is_current(api, kind, &s->h);
}

bool value_is_text(struct api *api, const struct kind *kind, const struct store_item *item)
{
    struct stored s;
    struct err err;
    return stored_open(item->value, &s, &err) == 0 && is_text(api, kind, &s);
}

int value_print(struct api *api, struct buf *b, const struct kind *kind, const struct store_item *item, bool bare,
                struct err *err)
{
    struct stored s;
    int code = stored_open(item->value, &s, err);
    if (code < 0)
        return code;
    if (is_text(api, kind, &s)) {
        print_stored(b, kind, &s, item->revision, bare);
        return 0;
    }
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    if ((code = value_decode(api, &scratch, kind, item, &object, err)) < 0)
        return code;
    if (bare) {
        json_remove(&object, S("kind"));
        json_remove(&object, S("apiVersion"));
    }
    json_encode(b, &object, 0);
    return 0;
}

int value_metadata(struct arena *a, const struct store_item *item, struct json *ret, struct err *err)
{
    struct stored s;
    int code = stored_open(item->value, &s, err);
    if (code < 0)
        return code;
    str text = {s.body.p + s.h.metadata_at, s.h.metadata_n};
    struct json metadata;
    if ((code = decode_text(a, text, &metadata, err)) < 0)
        return code;
    json_add(a, &metadata, S("resourceVersion"), json_str(str_fmt(a, "%llu", (unsigned long long)item->revision)));
    *ret = metadata;
    return 0;
}

/* ---- Labels, without a tree. ---- */

/* The string without escapes at *p, which is moved behind it. */
static bool scan_string(const char **p, const char *end, str *ret)
{
    if (*p == end || **p != '"')
        return false;
    const char *start = *p + 1, *quote = memchr(start, '"', (size_t)(end - start));
    if (quote == NULL || memchr(start, '\\', (size_t)(quote - start)))
        return false;
    *ret = (str){start, (size_t)(quote - start)};
    *p = quote + 1;
    return true;
}

/* One of the members that come before the labels: strings, numbers and null. */
static bool skip_scalar(const char **p, const char *end)
{
    str ignored;
    if (*p < end && **p == '"')
        return scan_string(p, end, &ignored);
    while (*p < end && **p != ',' && **p != '}' && **p != '{' && **p != '[')
        ++*p;
    return *p < end && (**p == ',' || **p == '}');
}

/* {"a":"b","c":"d"} at p: strings only. */
static bool scan_labels(const char *p, const char *end, str *ret)
{
    const char *start = p;
    str ignored;
    if (end - p >= 4 && memcmp(p, "null", 4) == 0) {
        *ret = (str){0};
        return true;
    }
    if (end - p < 2 || *p != '{')
        return false;
    for (p++; p < end && *p != '}';) {
        if (!scan_string(&p, end, &ignored) || p == end || *p++ != ':' || !scan_string(&p, end, &ignored) || p == end)
            return false;
        p += *p == ',';
    }
    *ret = (str){start, (size_t)(p - start) + 1};
    return p < end;
}

static bool comes_before_labels(str key)
{
    for (size_t i = 0; i < LABELS_ROW; i++)
        if (str_eq(key, str_of(metadata_order[i])))
            return true;
    return false;
}

bool value_labels(const struct store_item *item, str *ret)
{
    struct stored s;
    struct err err;
    if (stored_open(item->value, &s, &err) < 0 || s.h.metadata_n < 2)
        return false;
    const char *p = s.body.p + s.h.metadata_at, *end = p + s.h.metadata_n;
    str key;
    *ret = (str){0};
    for (p++; p < end && *p != '}'; p += *p == ',') {
        if (!scan_string(&p, end, &key) || p == end || *p++ != ':')
            return false;
        if (str_eq(key, str_of(metadata_order[LABELS_ROW])))
            return scan_labels(p, end, ret);
        if (!comes_before_labels(key))
            return true; /* the order is that of print_metadata */
        if (!skip_scalar(&p, end))
            return false;
    }
    return p < end;
}

struct store_item value_of_event(const struct store_event *event)
{
    return (struct store_item){.namespace = event->namespace,
                               .name = event->name,
                               .revision = event->revision,
                               .created = event->created,
                               .value = event->value};
}

int value_get(struct api *api, struct arena *a, const struct kind *kind, str namespace, str name, struct json *ret,
              struct store_item *ret_item, struct err *err)
{
    struct store_item item;
    int code = store_get(api->store, api_table(api, kind), namespace, name, &item, err);
    if (code < 0 || (code = value_decode(api, a, kind, &item, ret, err)) < 0)
        return code;
    if (ret_item)
        *ret_item = item;
    return 0;
}
